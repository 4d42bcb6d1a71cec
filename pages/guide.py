"""The pages of docs/ that are generated: one for each scenario, an index, what was reproduced, how long things took.

Everything on them comes from the scenarios as plain values (`kafka-chaos list --json` has most of them) and from what
runs showed (results/). The same code and the same data give the same pages. `kafka-chaos guide RUN_DIR…` counts runs.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import results
from checks import claims
from checks.catalogue import LOST_WRITE
from evidence.run import DEFAULT_CASE
from evidence.rundir import write_atomically, write_json
from evidence.text import markdown as escaped
from evidence.text import plural
from judgement.report import timings
from judgement.report.cells import version_key
from pages import museum, reproduced, survives
from pages.render import render

FOLDER: Final = "scenarios"
PICTURES: Final = "../../results/pictures"
"""Where a page of a scenario finds its pictures, in a checkout."""
ORDER: Final = (
    "",
    "truncation",
    "replication",
    "controller",
    "placement",
    "brokers",
    "partition",
    "producer",
    "durability",
    "museum",
)
"""The sections in the order in which they are read; others follow."""
INDEX: Final = f"{FOLDER}/README.md"
TABLE: Final = "reproduced.md"
DURATIONS: Final = "timings.md"
AUDIT: Final = "audit-"
"""How the names of scenarios begin whose runs are the cells of the audit's matrix."""
LONGEST_SEQUENCE: Final = 60
HELD: Final = claims.HELD
EVERY_VERSION: Final = "every version"

CLIENTS: Final = {
    "write_pause_ms": "longest pause of writes",
    "read_pause_ms": "longest pause of reads",
    "first_success_ms": "first success after a fault",
    "errors": "errors",
}

Value = Mapping[str, Any]


def pages(described: Value, data: Value) -> dict[str, str]:
    """Every page that scenarios and runs make, by its path below docs/: pure."""
    scenarios = in_order(described)
    made = {f"{FOLDER}/{one['name']}.md": page(one, data.get(one["name"]) or {}) for one in scenarios}
    made[INDEX] = index(described, scenarios)
    if index_of_bugs := museum.page(described, scenarios, data):
        made[museum.PAGE] = index_of_bugs
    if data:
        made[TABLE] = table(described, scenarios, data)
        made[DURATIONS] = durations(scenarios, data)
    if any(cell.get("lost_records") for cell in _counted(data)):
        made[survives.PAGE] = survives.page(described, data)
    return made


def _counted(data: Value) -> Iterator[Value]:
    """The cells of the scenarios that the page of what survives what has."""
    for name in {row.scenario for row in survives.ROWS}:
        for of_case in ((data.get(name) or {}).get("cases") or {}).values():
            yield from of_case.values()


def in_order(described: Value) -> list[Value]:
    """The scenarios as they are read: by section, within it as its introduction names them, then by name."""

    def key(one: Value) -> tuple[Any, ...]:
        section, name = one["section"], one["name"]
        known = ORDER.index(section) if section in ORDER else len(ORDER)
        at = described["sections"].get(section, "").find(f"`{name}`")
        return (known, section, at if at >= 0 else 10**6, name)

    return sorted(described["scenarios"], key=key)


# One scenario


def page(one: Value, data: Value) -> str:
    """The page of a scenario."""
    cells = list(_cells(one, data))
    clients = [
        (case, version, *(_spread(cell["clients"].get(key), key) for key in CLIENTS))
        for case, version, cell in cells
        if cell.get("clients")
    ]
    return render(
        "scenario.md",
        one=one,
        paragraphs=_paragraphs(one["told"]),
        shown=data.get("shown"),
        pictures=PICTURES,
        longest=LONGEST_SEQUENCE,
        changes=[(case["name"], _changes(case["changes"])) for case in one["cases"]] if _has_cases(one) else [],
        cases=[
            (case["name"], [(_line(outcome, case), outcome) for outcome in case["documented"]]) for case in one["cases"]
        ],
        claims=claims.CATALOGUE,
        fault=one["name"].removeprefix(AUDIT) if one["name"].startswith(AUDIT) else "",
        runs=[_seen(case, version, cell) for case, version, cell in cells],
        not_good=[(case, version, line) for case, version, cell in cells for line in cell["not_good"]],
        client_headings=("case", "version", *CLIENTS.values()),
        clients=clients,
        timing_headings=timings.HEADINGS,
        timings=_timings(cells),
    )


def _seen(case: str, version: str, cell: Value) -> list[str]:
    """A row of what was seen in runs."""
    time = "" if cell["seconds"] is None else f"{cell['seconds']:.0f} s"
    lost = f"in {plural(cell['lost'], 'run')}" if cell["lost"] else "no"
    return [*map(escaped, (case, version, _of(cell), lost, ", ".join(cell["seen"]) or "none", _held(cell), time))]


def _paragraphs(text: str) -> list[str]:
    """A docstring as paragraphs, each a line; what is indented stays as it is."""
    found: list[str] = []
    for part in text.split("\n\n"):
        found += [part if part.startswith(" ") else " ".join(part.split()), ""]
    return found


def _condition(outcome: Value, case: Value) -> str:
    """The versions that an outcome is stated for, in words. The first outcome that names a version counts, so the last
    one, which is often "every version", is that of all others.
    """
    rest = outcome["on"] == EVERY_VERSION and len(case["documented"]) > 1
    return "all others" if rest else str(outcome["on"])


def _line(outcome: Value, case: Value) -> str:
    """The same as the beginning of a sentence."""
    label = _condition(outcome, case)
    return label[:1].upper() + label[1:]


def losing(one: Value) -> str:
    """Where a scenario's loss is documented: cases, each with its lines of versions; "" if nowhere."""
    parts = []
    for case in one["cases"]:
        lines = [_condition(outcome, case) for outcome in case["documented"] if LOST_WRITE in outcome["required"]]
        if lines:
            parts.append((f"{case['name']}: " if _has_cases(one) else "") + "; ".join(lines))
    return " · ".join(parts)


def _changes(changes: Value) -> str:
    parts = []
    for key, value in changes.items():
        if isinstance(value, Mapping):
            parts += [f"{name}={setting}" for name, setting in value.items()]
        else:
            parts.append(f"{key}={value}")
    return ", ".join(parts)


def _spread(figures: Sequence[float] | None, key: str) -> str:
    if not figures:
        return "–"
    _, *values = figures
    shown = [f"{value / 1000:.2f}" if key.endswith("_ms") else f"{value:.0f}" for value in values]
    return " / ".join(shown) + (" s" if key.endswith("_ms") else "")


def _has_cases(one: Value) -> bool:
    """Whether a scenario declares cases; one that does not has one called "default"."""
    return [case["name"] for case in one["cases"]] != [DEFAULT_CASE]


def _of(cell: Value) -> str:
    return f"{cell['good']} of {cell['runs']}"


def _held(cell: Value) -> str:
    every = list(cell["claims"].values())
    total = sum(sum(outcomes.values()) for outcomes in every)
    return f"{sum(outcomes.get(HELD, 0) for outcomes in every)} of {total}" if total else "–"


def _cells(one: Value, data: Value) -> Iterator[tuple[str, str, Value]]:
    """Case ("–" where a scenario has no cases), version and what runs showed there, in the order of the scenario's
    cases; of former cases nothing.
    """
    cases = data.get("cases") or {}
    for case in one["cases"]:
        of_case, name = cases.get(case["name"]) or {}, case["name"] if _has_cases(one) else "–"
        for version in sorted(of_case, key=version_key):
            yield name, version, of_case[version]


def _timings(cells: Iterable[tuple[str, str, Value]]) -> list[tuple[str, ...]]:
    rows = [
        timings.row(f"`{name}`", case, version, timing)
        for case, version, cell in cells
        for name, timing in cell["timings"].items()
    ]
    return sorted(rows, key=lambda row: row[0])


# The index


def index(described: Value, scenarios: Sequence[Value]) -> str:
    """docs/scenarios/README.md: a guide to Kafka's replication in the order in which it is best read."""
    names = {one["name"] for one in scenarios}
    sections = []
    for section in dict.fromkeys(one["section"] for one in scenarios):
        heading, introduction = "Without any fault", list[str]()
        if section:
            heading, introduction = introduced(described["sections"].get(section, ""), section)
        sections.append(
            {
                "heading": heading,
                "introduction": [_linked(part, names) for part in introduction],
                "scenarios": [(one, losing(one)) for one in scenarios if one["section"] == section],
            }
        )
    return render("index.md", sections=sections)


def introduced(docstring: str, section: str) -> tuple[str, list[str]]:
    """The heading of a section and its introduction, from the docstring of its folder: what stands before the first
    colon or, without one, the first line.
    """
    first, *rest = docstring.strip().split("\n\n") if docstring.strip() else [section]
    before, colon, after = " ".join(first.split()).partition(": ")
    text = [f"{after[:1].upper()}{after[1:]}", ""] if colon else []
    return before.rstrip("."), [*text, *_paragraphs("\n\n".join(rest))] if rest else text


def _linked(text: str, names: set[str]) -> str:
    """Names of scenarios as links to their pages."""
    return re.sub(r"`([a-z0-9-]+)`", lambda m: f"[{m[1]}]({m[1]}.md)" if m[1] in names else m[0], text)


def links(text: str) -> list[str]:
    """What a page links below docs/, pictures included, without the places within pages."""
    found = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    return [link for link in found if "://" not in link]


# All of them


def table(described: Value, scenarios: Sequence[Value], data: Value) -> str:
    """docs/reproduced.md: a row for each scenario and case, a column for each version."""
    listed = [one for one in scenarios if not one.get("exhibit")]
    cells = [(one, *found) for one in listed for found in _cells(one, data.get(one["name"]) or {})]
    versions = [version for version in described["versions"] if any(version == v for _, _, v, _ in cells)]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for one, case, version, cell in cells:
        rows.setdefault((one["name"], case), {})[version] = _reproduced(cell)
    claimed = [outcomes for *_, cell in cells for outcomes in cell["claims"].values()]
    return render(
        TABLE,
        museum=museum.PAGE,
        good=sum(cell["good"] for *_, cell in cells),
        total=sum(cell["runs"] for *_, cell in cells),
        held=sum(outcomes.get(HELD, 0) for outcomes in claimed),
        judged=sum(sum(outcomes.values()) for outcomes in claimed),
        headings=["scenario", "case", *versions],
        rows=[
            [f"[{name}]({FOLDER}/{name}.md)", case, *(of_version.get(v, "") for v in versions)]
            for (name, case), of_version in rows.items()
        ],
        not_good=[(one["name"], case, v, line) for one, case, v, cell in cells for line in cell["not_good"]],
        days=sorted({day for *_, cell in cells for day in cell["days"]}),
        machines=sorted({m for one in data.values() for m in one.get("machines") or ()}),
        commits=textwrap.wrap(
            f"Commits: {', '.join(sorted({commit for *_, cell in cells for commit in cell['commits']}))}.", 118
        ),
    )


def _reproduced(cell: Value) -> str:
    """How many runs of how many ended as documented, bold where records were lost; below it how many claims held."""
    ran = f"{cell['good']}/{cell['runs']}"
    held = _held(cell).replace(" of ", "/")
    return (f"**{ran}**" if cell["lost"] else ran) + ("" if held == "–" else f"<br>{held} claims")


def durations(scenarios: Sequence[Value], data: Value) -> str:
    """docs/timings.md: the spread of every duration."""
    found = [(one["name"], _timings(_cells(one, data.get(one["name"]) or {}))) for one in scenarios]
    return render(
        DURATIONS, folder=FOLDER, headings=timings.HEADINGS, scenarios=[(name, rows) for name, rows in found if rows]
    )


# Files


def write_data(root: Path, described: Value, runs: Sequence[reproduced.Judged], tell: Callable[[str], None]) -> None:
    """Count the cells anew that these runs are of, in a folder as results/ is; others stay as they were counted, and so
    does the run that is shown of a scenario unless its cell is among them, or it is of an exhibit and not on a release
    that has its bug. `tell` hears what is not drawn.
    """
    cases = {one["name"]: [case["name"] for case in one["cases"]] for one in described["scenarios"]}
    affected = {one["name"]: tuple((one.get("exhibit") or {}).get("affected", ())) for one in described["scenarios"]}
    before = results.by_scenario(root)
    for name, counted in reproduced.data(runs).items():
        if name not in cases:
            continue
        value = merged(before.get(name) or {}, counted, cases[name], affected[name])
        if "shown" not in value:
            for old in (root / results.PICTURES).glob(f"{name}.*svg"):
                old.unlink()
            of_it = [one for one in runs if one.run.scenario == name]
            told, pictures = reproduced.described_run(of_it, cases[name], tell, affected[name])
            for file, svg in pictures.items():
                write_atomically(results.picture(file, root), svg)
            value |= {"shown": told} if told else {}
        write_json(root / results.SCENARIOS / f"{name}.json", value)


def merged(before: Value, counted: Value, cases: Sequence[str], affected: Collection[str] = ()) -> dict[str, Any]:
    """A scenario's data with the cells that were counted anew in place of the former ones, without cases that are gone;
    without the run that is shown if that is of such a cell, or not on one of the versions that have an exhibit's bug
    (`affected`): pure.
    """
    old, new = before.get("cases") or {}, counted["cases"]
    value: dict[str, Any] = {
        "cases": {
            case: {version: of_case[version] for version in sorted(of_case, key=version_key)}
            for case in sorted({*old, *new} & {*cases})
            for of_case in [old.get(case, {}) | new.get(case, {})]
        },
        "machines": sorted({*(before.get("machines") or ()), *counted["machines"]}),
    }
    shown = before.get("shown")
    if (
        shown
        and shown["case"] in cases
        and shown["version"] not in new.get(shown["case"], {})
        and (not affected or shown["version"] in affected)
    ):
        value["shown"] = shown
    return value
