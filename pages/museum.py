"""docs/museum.md: Kafka bugs that lose or damage data, by release.

Made of the exhibits as plain values (pages/scenarios.py) and of what runs showed (results/).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evidence.run import DEFAULT_CASE
from evidence.text import markdown as escaped
from judgement.report.cells import version_key
from pages.counted import NOT_RUN, shown
from pages.render import render
from results import Value

PAGE: Final = "museum.md"


def exhibits(scenarios: Sequence[Value]) -> list[Value]:
    """The scenarios that are exhibits, in the order of their bugs; those without a JIRA come last."""

    def place(one: Value) -> tuple[bool, int, str]:
        bug = str(one["exhibit"]["bug"])
        number = bug.removeprefix("KAFKA-")
        return not number.isdigit(), int(number) if number.isdigit() else 0, bug

    return sorted((one for one in scenarios if one.get("exhibit")), key=place)


def shown_here(name: str, version: str, data: Value, case: str, others: Sequence[str]) -> str:
    """The same; of one that was not run in this case, also the `others` that were: "not run; case cut 1 of 1"."""
    here = shown(name, version, data, case)
    if here != NOT_RUN:
        return here
    ran = {other: count for other in others if (count := shown(name, version, data, other)) != NOT_RUN}
    return "; ".join([here, *([", ".join(f"case {other} {count}" for other, count in ran.items())] if ran else [])])


def page(described: Value, scenarios: Sequence[Value], data: Value) -> str:
    """The index; "" if there are no exhibits."""
    found = exhibits(scenarios)
    if not found:
        return ""
    of_brokers = [one for one in found if one["exhibit"]["whose"] == "brokers"]
    plain = [version for version in described["versions"] if not version.endswith("-pinned")]
    return render(
        PAGE,
        rows=[_row(one, data) for one in found],
        came=[(_link(one), escaped(one["exhibit"]["came"])) for one in found],
        borders=[
            [_link(one), *(_side(one, side, data) for side in border)]
            for one in found
            for border in one["exhibit"]["borders"]
        ],
        open=[_to_show(one, data) for one in found if one["exhibit"]["open"]],
        unmended=[
            (*_to_show(one, data), _status(one))
            for one in found
            if one["exhibit"]["status"] and not one["exhibit"]["open"]
        ],
        versions=[
            (version, [_link(one) for one in of_brokers if version in one["exhibit"]["affects"]])
            for version in sorted(plain, key=version_key, reverse=True)
        ],
        clients=[
            [_link(one), *map(escaped, (one["exhibit"]["title"], one["exhibit"]["releases"]))]
            for one in found
            if one not in of_brokers
        ],
    )


def _to_show(one: Value, data: Value) -> tuple[str, str, str, str]:
    """The link, scenario and version that show an open bug, and the cases that show it in other ways, with how often
    they did.
    """
    newest = one["exhibit"]["affected"][-1]
    others = (f"`--case {case}` ({shown(one['name'], newest, data, case)})" for case in one["exhibit"]["also"])
    return _link(one), one["name"], newest, ", ".join(others)


def _status(one: Value) -> str:
    """Where a bug stands that no release of brokers mends, who says so, and who found it."""
    status, credit = one["exhibit"]["status"], one["exhibit"]["credit"]
    also = [f"also {other}" for other in one["exhibit"]["also_known_as"]]
    told = f"{status['state']} ({status['on']}). {status['told']} Sources: {'; '.join(status['sources'])}."
    return " ".join([told, *(f"{extra[0].upper()}{extra[1:]}." for extra in (*also, credit) if extra)])


def _link(one: Value) -> str:
    return f"[{one['exhibit']['bug']}](scenarios/{one['name']}.md)"


def _side(one: Value, side: Value, data: Value) -> str:
    """What runs showed on one side of a border: "3.0.1 has it: 2 of 2"."""
    counts = {version: shown(one["name"], version, data) for version in side["versions"]}
    ran = [f"{version} {count}" if len(counts) > 1 else count for version, count in counts.items()]
    said = ", ".join(ran) or "cannot be run"
    return f"{side['release']} {'has it' if side['has'] else 'has it not'}: {said}"


def _row(one: Value, data: Value) -> list[str]:
    exhibit = one["exhibit"]
    texts = map(escaped, (exhibit["title"], exhibit["whom"], exhibit["releases"]))
    return [_link(one), *texts, *_shown_on(one["name"], exhibit, data)]


def _shown_on(name: str, exhibit: Value, data: Value) -> Iterator[str]:
    sides = (("affected", DEFAULT_CASE, ""), ("fixed", exhibit["fixed_case"], exhibit["fixed_with"]))
    for side, case, how in sides:
        others = exhibit["also"] if case == DEFAULT_CASE else ()
        counts = (f"{version}: {shown_here(name, version, data, case, others)}" for version in exhibit[side])
        yield "; ".join(f"{one} ({how})" if how else one for one in counts) or "no release"
