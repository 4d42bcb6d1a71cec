"""docs/museum.md: what bit whom, when, and which release to be on.

Made of the exhibits as plain values (pages/scenarios.py) and of what runs showed (results/).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evidence.rundir import DEFAULT_CASE
from evidence.text import markdown as escaped
from judgement.report.cells import version_key

Value = Mapping[str, Any]

NOT_RUN: Final = "not run"
PAGE: Final = "museum.md"


def exhibits(scenarios: Sequence[Value]) -> list[Value]:
    """The scenarios that are exhibits, in the order of their bugs; those without a JIRA come last."""

    def place(one: Value) -> tuple[bool, int, str]:
        bug = str(one["exhibit"]["bug"])
        number = bug.removeprefix("KAFKA-")
        return not number.isdigit(), int(number) if number.isdigit() else 0, bug

    return sorted((one for one in scenarios if one.get("exhibit")), key=place)


def shown(name: str, version: str, data: Value, case: str = DEFAULT_CASE) -> str:
    """How often an exhibit ended as documented on a version: "5 of 5"."""
    cell = ((data.get(name) or {}).get("cases") or {}).get(case, {}).get(version)
    return f"{cell['good']} of {cell['runs']}" if cell else NOT_RUN


def page(described: Value, scenarios: Sequence[Value], data: Value, made: str) -> str:
    """The index; "" if there are no exhibits. `made` says how the page is made."""
    found = exhibits(scenarios)
    if not found:
        return ""
    lines = [
        "# What bit whom, when, and which release to be on",
        "",
        made,
        "",
        "Bugs that Kafka had, each shown on real brokers: on a release that has it, and on one that got the fix.",
        "Those that no release has a fix of are open today. “n of m”: of m runs n ended as documented, with the harm",
        "on the one and without it on the other.",
        "`kafka-chaos museum --version 2.6.1` says which of them can happen on one release.",
        "",
        "| bug | what | whom | releases | has it | got the fix |",
        "|---|---|---|---|---|---|",
        *(_row(one, data) for one in found),
        "",
        *_open(found, data),
        "## Which release to be on",
        "",
        "The releases that exhibits are run on, and the bugs of these that each still has.",
        "",
        "| version | bugs |",
        "|---|---|",
    ]
    plain = [version for version in described["versions"] if not version.endswith("-pinned")]
    for version in sorted(plain, key=version_key, reverse=True):
        has = [one for one in found if version in one["exhibit"]["affects"]]
        lines.append(f"| {version} | {', '.join(_link(one) for one in has) or 'none of these'} |")
    return "\n".join(lines)


def _open(found: Sequence[Value], data: Value) -> Iterator[str]:
    """How to show those that no release has a fix of."""
    still = [one for one in found if one["exhibit"]["open"]]
    told = (
        "## Open today",
        "",
        "One command shows each. The run directory that it leaves has the brokers' logs, the files of every replica at",
        "each moment, the timeline, `compose.yml`, and `report.html`, which tells it step by step.",
        "`kafka-chaos museum --report RUN_DIR` prints of it what a maintainer needs: what was done and what proved it,",
        "what was found, what the brokers logged of it, and where in the code it is.",
        "",
        *(line for one in still for line in _ways(one, data)),
        "",
    )
    yield from told if still else ()


def _ways(one: Value, data: Value) -> Iterator[str]:
    """The command that shows a bug, and the cases that show it in other ways, with how often they did."""
    newest = one["exhibit"]["affected"][-1]
    yield f"- {_link(one)}: `kafka-chaos run {one['name']} --version {newest}`"
    told = (f"`--case {case}` ({shown(one['name'], newest, data, case)})" for case in one["exhibit"]["also"])
    if ways := ", ".join(told):
        yield f"  or, of the same bug: {ways}"


def _link(one: Value) -> str:
    return f"[{one['exhibit']['bug']}](scenarios/{one['name']}.md)"


def _row(one: Value, data: Value) -> str:
    exhibit = one["exhibit"]
    cells = [_link(one), *map(escaped, (exhibit["title"], exhibit["whom"], exhibit["releases"]))]
    return f"| {' | '.join([*cells, *_shown_on(one['name'], exhibit, data)])} |"


def _shown_on(name: str, exhibit: Value, data: Value) -> Iterator[str]:
    sides = (("affected", DEFAULT_CASE, ""), ("fixed", exhibit["fixed_case"], exhibit["fixed_with"]))
    for side, case, how in sides:
        told = (f"{version}: {shown(name, version, data, case)}" for version in exhibit[side])
        yield "; ".join(f"{one} ({how})" if how else one for one in told) or "no release"
