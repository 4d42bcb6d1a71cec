"""The pages of docs/ that are generated: one for each scenario, an index, what was reproduced, how long things took.

Everything on them comes from the scenarios as plain values (`kafka-chaos list --json` has most of them) and from the
ledger of runs (results/). The same code and the same data give the same pages.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import results
from checks import claims
from evidence.ledger import in_history
from evidence.run import DEFAULT_CASE
from evidence.rundir import read_json, write_atomically, write_json
from evidence.text import markdown as escaped
from evidence.text import plural
from judgement.rates import NOTHING_SHOWN, telling
from judgement.report.cells import version_key
from judgement.sampling import percent
from pages import answers, delivery, deviations, example_runs, measurements, museum, survives, titles
from pages.counted import allowed, contradicted, decision, interval, ran, shows_harm, stated
from pages.deviations import Deviations
from pages.render import render
from pages.sections import ORDER, introduced, paragraphs
from pages.titles import AUDIT
from results import Value, explained

FOLDER: Final = "scenarios"
PICTURES: Final = "../../results/pictures"
"""Where a page of a scenario finds its pictures, in a checkout."""
INDEX: Final = f"{FOLDER}/README.md"
TABLE: Final = "reproduced.md"
DURATIONS: Final = "timings.md"
LONGEST_SEQUENCE: Final = 60
HELD: Final = claims.HELD
CONTRADICTED: Final = claims.CONTRADICTED

UNMEASURED: Final[Mapping[str, str]] = MappingProxyType({})


def pages(
    described: Value, data: Value, history: Collection[str] | None = None, measured: Mapping[str, str] = UNMEASURED
) -> dict[str, str]:
    """Every page that scenarios and runs make, by its path below docs/: pure. `history` has the commits that there are,
    so that others are told; None: nobody knows. `measured` is what the audit's matrix has of each fault.
    """
    scenarios = in_order(described)
    made = {}
    for before, one, after in zip([None, *scenarios], scenarios, [*scenarios[1:], None], strict=False):
        of_fault = measured.get(one["name"].removeprefix(AUDIT), "")
        made[f"{FOLDER}/{one['name']}.md"] = page(one, results.of(data, one["name"]), before, after, of_fault)
    made[INDEX] = index(described, scenarios, data)
    if index_of_bugs := museum.page(described, scenarios, data):
        made[museum.PAGE] = index_of_bugs
    if any(one["cases"] for one in data.values()):
        made[TABLE] = table(described, scenarios, data, history)
        made[DURATIONS] = durations(scenarios, data)
    if any(cell.get("lost_records") for cell in _counted(data)):
        made[survives.PAGE] = survives.page(described, data)
    if any(way.scenario in data for way in delivery.ROWS):
        made[delivery.PAGE] = delivery.page(data)
    return made


def _counted(data: Value) -> Iterator[Value]:
    """The cells of the scenarios that the page of what survives what has."""
    for name in {row.scenario for row in survives.ROWS}:
        for of_case in results.of(data, name)["cases"].values():
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


def page(one: Value, data: Value, before: Value | None = None, after: Value | None = None, measured: str = "") -> str:
    """The page of a scenario; `before` and `after` are its neighbours as they are read, `measured` is what the audit's
    matrix has of it.
    """
    fault = one["name"].removeprefix(AUDIT) if one["name"].startswith(AUDIT) else ""
    shown = data.get("shown")
    cells = list(measurements.cells(one, data))
    clients = [
        (case, version, *(measurements.spread(cell["clients"].get(key), key) for key in measurements.CLIENTS))
        for case, version, cell in cells
        if cell["clients"]
    ]
    return render(
        "scenario.md",
        one=one,
        title=titles.title(one),
        beside=[(word, titles.title(other), other["name"]) for word, other in _neighbours(before, after)],
        answers=[] if fault else answers.seen(one, data),
        named=measurements.has_cases(one),
        commands=list(answers.commands(one)),
        deletes=bool(shown and answers.deletes(one, shown["case"], shown["version"])),
        measured=measured,
        paragraphs=paragraphs(one["told"]),
        shown=shown,
        pictures=PICTURES,
        longest=LONGEST_SEQUENCE,
        changes=[(case["name"], _changes(case["changes"])) for case in one["cases"]]
        if measurements.has_cases(one)
        else [],
        cases=[
            (
                case["name"],
                [
                    (_line(outcome, case), outcome, allowed(outcome, data["cases"].get(case["name"], {})))
                    for outcome in case["documented"]
                ],
            )
            for case in one["cases"]
        ],
        claims=claims.CATALOGUE,
        fault=fault,
        runs=[_seen(one, case, version, cell) for case, version, cell in cells],
        not_good=deviations.of(((case, version), cell) for case, version, cell in cells),
        aside=[(case, version, run) for case, version, cell in cells for run in cell["aside"]],
        client_headings=("case", "version", *measurements.CLIENTS.values()),
        clients=clients,
        timing_headings=measurements.TIMINGS,
        timings=measurements.timings(cells),
    )


def _neighbours(before: Value | None, after: Value | None) -> Iterator[tuple[str, Value]]:
    if before is not None:
        yield "Before", before
    if after is not None:
        yield "Next", after


def _seen(one: Value, case: str, version: str, cell: Value) -> list[str]:
    """A row of what was seen in runs."""
    outcome = stated(one, _name_of(case), version)
    time = "" if cell["seconds"] is None else f"{cell['seconds']:.0f} s"
    lost = f"in {plural(cell['lost'], 'run')}" if cell["lost"] else "no"
    if cell["lost"] and answers.deletes(one, _name_of(case), version):
        lost = f"deleted by request, {lost}"
    bound = interval(contradicted(cell), telling(cell), "otherwise")
    columns = (case, version, f"{ran(cell)}: {bound}" if bound else ran(cell), decision(cell, outcome), lost)
    return [*map(escaped, (*columns, *_anomalies(cell, outcome), _held(cell), time))]


def _name_of(case: str) -> str:
    """The name of a case that a table shows: "–" where a scenario has none."""
    return DEFAULT_CASE if case == "–" else case


def _anomalies(cell: Value, outcome: Value) -> tuple[str, str]:
    """What was seen of what must or may be, and what beside it: what clients' settings permit, what follows from what
    is documented, and what contradicts it. Each with the number of runs, where that is not all.
    """
    named = {*outcome["required"], *outcome["allowed"]}

    def words(names: Iterable[str]) -> str:
        return ", ".join(
            name if cell["seen"][name] >= cell["runs"] else f"{name} {cell['seen'][name]}" for name in names
        )

    first, beside = sorted(cell["seen"].keys() & named), sorted(cell["seen"].keys() - named)
    return words(first) or "none", words(beside) or "none"


def _condition(outcome: Value, case: Value) -> str:
    """The versions that an outcome is stated for, in words. The first outcome that names a version counts, so the last
    one, which is often "every version", is that of all others.
    """
    rest = outcome["on"] == answers.EVERY_VERSION and len(case["documented"]) > 1
    return "all others" if rest else str(outcome["on"])


def _line(outcome: Value, case: Value) -> str:
    """The same as the beginning of a sentence."""
    label = _condition(outcome, case)
    return label[:1].upper() + label[1:]


def _changes(changes: Value) -> str:
    parts = []
    for key, value in changes.items():
        if isinstance(value, Mapping):
            parts += [f"{name}={setting}" for name, setting in value.items()]
        else:
            parts.append(f"{key}={value}")
    return ", ".join(parts)


def _held(cell: Value) -> str:
    every = list(cell["claims"].values())
    total = sum(outcomes.get(HELD, 0) + outcomes.get(CONTRADICTED, 0) for outcomes in every)
    return f"{sum(outcomes.get(HELD, 0) for outcomes in every)} of {total}" if total else "–"


def _margins(cells: Iterable[Value]) -> list[tuple[str, ...]]:
    """A row for each claim with a bound: the greatest share of it that was measured on each kind of machine."""
    shares: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for cell in cells:
        for name, of_load in cell["timings"].items():
            for timing in of_load:
                if timing["ms"] and timing["bound_ms"] and timing["bound_ms"][0]:
                    share = (int(timing["ms"][0]), timing["ms"][3] / timing["bound_ms"][0])
                    shares.setdefault(name, {}).setdefault(timing["load"], []).append(share)

    def figures(found: Sequence[tuple[int, float]]) -> str:
        most = percent(max((share for _, share in found), default=0.0))
        return f"{most} in {plural(sum(runs for runs, _ in found), 'run')}" if found else "–"

    return [
        (
            f"`{name}`",
            str(known.bound_basis) if (known := claims.CATALOGUE.get(name)) else "–",
            *(figures(of_load.get(load, ())) for load in measurements.MACHINES),
        )
        for name, of_load in sorted(shares.items())
    ]


# The index


def index(described: Value, scenarios: Sequence[Value], data: Value) -> str:
    """docs/scenarios/README.md: a guide to Kafka's replication in the order in which it is best read."""
    names, versions = {one["name"] for one in scenarios}, answers.run_on(scenarios)
    sections = []
    for section in dict.fromkeys(one["section"] for one in scenarios):
        heading, introduction = "Without any fault", list[str]()
        if section:
            heading, introduction = introduced(described["sections"].get(section, ""), section)
        sections.append(
            {
                "heading": heading,
                "introduction": [_linked(part, names) for part in introduction],
                "scenarios": [
                    (one, titles.title(one), _losing(one, results.of(data, one["name"]), versions))
                    for one in scenarios
                    if one["section"] == section
                ],
            }
        )
    return render("index.md", sections=sections)


def _losing(one: Value, data: Value, versions: Sequence[str]) -> str:
    """Where a scenario's loss is documented, and in how many of these cells a run has shown it; "" if nowhere."""
    if not (documented := answers.documented(one, versions)):
        return ""
    seen, stated = answers.lost_in(one, data, versions)
    shown = "each" if seen == stated else f"{seen} of {stated}"
    return f"Acknowledged records must be lost on {documented}; runs lost them in {shown} of these cells."


def _linked(text: str, names: set[str]) -> str:
    """Names of scenarios as links to their pages."""
    return re.sub(r"`([a-z0-9-]+)`", lambda m: f"[{m[1]}]({m[1]}.md)" if m[1] in names else m[0], text)


def links(text: str) -> list[str]:
    """What a page links below docs/, pictures included, without the places within pages."""
    found = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    return [link for link in found if "://" not in link]


# All of them


def table(described: Value, scenarios: Sequence[Value], data: Value, history: Collection[str] | None = None) -> str:
    """docs/reproduced.md: how many runs there were and how they ended; a row for each scenario and case, a column for
    each version, the newest first; all that was seen beside what is documented; every run that contradicts it. Runs
    that show nothing, or do not count, are on the pages of their scenarios; here they are counted, by cause and by
    reason. Those of scenarios that have no page any more are listed here.
    """
    paged = {one["name"] for one in scenarios}
    listed = [one for one in scenarios if not one.get("exhibit") and not one["name"].startswith(AUDIT)]
    cells = [(one, *found) for one in listed for found in measurements.cells(one, results.of(data, one["name"]))]
    ran_on = {version for _, _, version, _ in cells}
    versions = sorted(ran_on.intersection(described["versions"]), key=version_key, reverse=True)
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for one, case, version, cell in cells:
        rows.setdefault((one["name"], case), {})[version] = _reproduced(cell)
    every = _every(data)
    commits = {commit for *_, cell in every for commit in cell["commits"] if commit}
    gone = set() if history is None else {one for one in commits if not in_history(one, history)}
    found = deviations.of(((name, case, version), cell) for name, case, version, cell in every)
    return render(
        TABLE,
        museum=museum.PAGE,
        totals=list(_totals(scenarios, every)),
        **_sums([cell for *_, cell in every]),
        headings=["scenario", "case", *(version.replace("-", "<br>") for version in versions)],
        rows=[
            [f"[{name}]({FOLDER}/{name}.md)", case, *(of_version.get(v, "") for v in versions)]
            for (name, case), of_version in rows.items()
        ],
        others=sorted(ran_on.difference(described["versions"]), key=version_key, reverse=True),
        beside=_beside(cells),
        contradicting=list(_only(found, nothing=False)),
        showing_nothing=_counted_nothing(_only(found, nothing=True), paged),
        causes=deviations.by_cause(explained.entries()),
        reasons=Counter(
            {reason: sum(run["runs"] for run in runs) for reason, runs in _by_reason(every).items()}
        ).most_common(),
        aside=[(*place, run) for *place, cell in every for run in cell["aside"] if place[0] not in paged],
        days=sorted({day for *_, cell in every for day in cell["days"]}),
        machines=sorted({machine for *_, cell in every for machine in cell["machines"]}),
        commits=_listed("Commits", commits - gone),
        gone=_listed("Not in the history any more", gone) if gone else [],
    )


_Cell = tuple[str, str, str, Value]
"""Of which scenario, case and version, and what runs showed."""


def _every(data: Value) -> list[_Cell]:
    """The cells that have runs, of scenarios that are not there any more too."""
    return [
        (name, case, version, cell)
        for name, of in data.items()
        for case, of_case in of["cases"].items()
        for version, cell in of_case.items()
    ]


def _sums(cells: Sequence[Value]) -> dict[str, int]:
    """How many runs there were, and how many of the claims that they showed anything of held."""
    aside = sum(run["runs"] for cell in cells for run in cell["aside"])
    counted = sum(cell["runs"] for cell in cells)
    outcomes = [counts for cell in cells for counts in cell["claims"].values()]
    return {
        "started": counted + aside,
        "counted": counted,
        "restored": sum(cell["restored"] for cell in cells),
        "unnamed": sum(cell["unnamed"] for cell in cells),
        "held": sum(counts.get(HELD, 0) for counts in outcomes),
        "judged": sum(counts.get(HELD, 0) + counts.get(CONTRADICTED, 0) for counts in outcomes),
    }


def _counted_nothing(found: Iterable[Deviations], paged: Collection[str]) -> list[list[str]]:
    """A row for each scenario and cause of its runs that show nothing; the names of those that have no page."""
    counts: dict[tuple[str, str], list[str]] = {}
    for one in found:
        for run in one.runs:
            counts.setdefault((run.place[0], one.cause), []).append(run.run)
    return [
        [
            f"[{name}]({FOLDER}/{name}.md)" if name in paged else f"{name}: {', '.join(runs)}",
            str(len(runs)),
            cause,
        ]
        for (name, cause), runs in sorted(counts.items())
    ]


def _by_reason(every: Iterable[_Cell]) -> dict[str, list[Value]]:
    """The runs that do not count by their reason, without the commit or the change that it names."""
    found: dict[str, list[Value]] = {}
    for *_, cell in every:
        for run in cell["aside"]:
            modified = run["why"].startswith("run by ")
            found.setdefault(MODIFIED if modified else PARTICULAR.sub("", run["why"]), []).append(run)
    return found


MODIFIED: Final = "run by a modified tree, or by one of several trees of which one was modified"
PARTICULAR: Final = re.compile(r"^excluded: |(?<!excluded): .*| \([^)]*\)")
"""What a reason has of one run: the name of a change, words of an error."""


def _only(found: Iterable[Deviations], *, nothing: bool) -> Iterator[Deviations]:
    """Those of the runs alone whose verdict says nothing about Kafka, or something."""
    for one in found:
        if chosen := tuple(run for run in one.runs if bool(NOTHING.search(run.reason)) == nothing):
            yield replace(one, runs=chosen)


NOTHING: Final = re.compile(rf"(^|: )({'|'.join(name for name in NOTHING_SHOWN if ' ' not in name)})(: |$)")
"""In words of a run: its verdict says nothing about Kafka."""


def _listed(heading: str, commits: Iterable[str]) -> list[str]:
    return textwrap.wrap(
        f"{heading}: {', '.join(sorted({one[:8] + '+' * one.endswith('+') for one in commits}))}.", 118
    )


def _totals(scenarios: Sequence[Value], every: Sequence[_Cell]) -> Iterator[list[str]]:
    """How runs of each kind ended: scenarios with faults, the baseline, the museum, the audit's matrix, and all."""
    exhibits = {one["name"] for one in scenarios if one.get("exhibit")} | {
        name for name, *_ in every if name.startswith("museum-")
    }
    kinds: dict[str, Callable[[str], bool]] = {
        "scenarios with faults": lambda name: (
            name not in exhibits and name != "baseline" and not name.startswith(AUDIT)
        ),
        "the baseline, without any fault": lambda name: name == "baseline",
        f"[the museum]({museum.PAGE})": lambda name: name in exhibits,
        "[the audit's matrix](audit-matrix.md)": lambda name: name.startswith(AUDIT),
        "**all**": lambda name: True,
    }
    for kind, fits in kinds.items():
        cells = [cell for name, _, _, cell in every if fits(name)]
        verdicts: Counter[str] = Counter()
        for cell in cells:
            verdicts.update(cell["verdicts"])
        yield [
            kind,
            str(sum(cell["runs"] for cell in cells)),
            str(sum(cell["good"] for cell in cells)),
            str(sum(map(contradicted, cells))),
            *(str(verdicts[name]) for name in NOTHING_SHOWN),
            str(sum(run["runs"] for cell in cells for run in cell["aside"])),
        ]


def _beside(cells: Iterable[tuple[Value, str, str, Value]]) -> list[list[str]]:
    """A row for each anomaly that was seen where it need not be: in how many runs and cells it is documented that it
    may be, and in how many it is not: there clients' settings permit it, it follows from another, or it contradicts.
    """
    may: dict[str, list[int]] = {}
    beside: dict[str, list[int]] = {}
    for one, case, version, cell in cells:
        outcome = stated(one, _name_of(case), version)
        for name, runs in cell["seen"].items():
            if name not in outcome["required"]:
                (may if name in outcome["allowed"] else beside).setdefault(name, []).append(runs)

    def counts(found: Sequence[int]) -> str:
        return f"{plural(sum(found), 'run')} of {plural(len(found), 'cell')}" if found else "–"

    return [[f"`{name}`", counts(may.get(name, ())), counts(beside.get(name, ()))] for name in sorted({*may, *beside})]


def _reproduced(cell: Value) -> str:
    """Whether acknowledged records were lost, and how many runs of those that say something were as documented.

    >>> _reproduced({"runs": 5, "good": 5, "verdicts": {}, "lost": 5})
    '✕ 5/5'
    >>> _reproduced({"runs": 1, "good": 0, "verdicts": {"unknown": 1}, "lost": 0})
    '?'
    """
    if not telling(cell):
        return "?"
    return f"{'✕' if cell['lost'] else '✓' if not contradicted(cell) else '!'} {cell['good']}/{telling(cell)}"


def durations(scenarios: Sequence[Value], data: Value) -> str:
    """docs/timings.md: how long writes stopped, by case and version, and how near to its bound each claim came."""
    cells = [(one, *found) for one in scenarios for found in measurements.cells(one, results.of(data, one["name"]))]
    pauses: dict[tuple[str, str], dict[str, str]] = {}
    for one, case, version, cell in cells:
        if figures := (cell["clients"] or {}).get("write_pause_ms"):
            _, least, median, most = (value / 1000 for value in figures)
            link = f"[{titles.title(one)}]({FOLDER}/{one['name']}.md)"
            pauses.setdefault((link, case), {})[version] = f"{median:.1f} s ({least:.1f}–{most:.1f})"
    versions = sorted(
        {version for of_version in pauses.values() for version in of_version}, key=version_key, reverse=True
    )
    return render(
        DURATIONS,
        pause_headings=["scenario", "case", *versions],
        pauses=[[*place, *(of_version.get(v, "") for v in versions)] for place, of_version in pauses.items()],
        margins=_margins(cell for *_, cell in cells),
    )


# Files


def write_told(
    root: Path, described: Value, runs: Sequence[example_runs.RunWithVerdict], tell: Callable[[str], None]
) -> int:
    """Tell a run of each scenario that these runs are of, in a folder as results/ is, in place of the one that was
    told; how many were. `tell` hears what cannot be drawn.
    """
    written = 0
    for one in described["scenarios"]:
        of_it = [run for run in runs if run.run.scenario == one["name"]]
        about, pictures = example_runs.described_run(of_it, one, tell)
        if not about or not shows_harm(one, about["case"], about["version"]):
            about, pictures = _beside_kept(root, one, of_it, tell) or (about, pictures)
        if not about:
            continue
        for old in (root / results.PICTURES).glob(f"{one['name']}.*svg"):
            old.unlink()
        for file, svg in pictures.items():
            write_atomically(results.picture(file, root), svg)
        write_json(root / results.TOLD / f"{one['name']}.json", about)
        written += 1
    return written


def _beside_kept(
    root: Path, one: Value, runs: Sequence[example_runs.RunWithVerdict], tell: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, str]] | None:
    """What is told already, if it shows the harm, with a control among these runs, none of which shows it; None if
    there is no such control.
    """
    path = root / results.TOLD / f"{one['name']}.json"
    kept: Value = read_json(path) if path.exists() else {}
    if not kept or not shows_harm(one, kept["case"], kept["version"]):
        return None
    beside = example_runs.drawn_control(kept["case"], kept["version"], runs, one, tell)
    return _with_control(root, one["name"], kept, *beside) if beside else None


def _with_control(
    root: Path, name: str, kept: Value, beside: Mapping[str, Any], picture: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """What was told, with a control and its picture."""
    place = f"{name}.control.svg"
    drawn = {
        file: results.picture(file, root).read_text(encoding="utf-8") for file in kept["pictures"] if file != place
    }
    first, *others = ((file, text) for file, text in kept["pictures"].items() if file != place)
    words = dict([first, (place, example_runs.control_words(beside)), *others])
    return {**kept, "control": dict(beside), "pictures": words}, {**drawn, place: picture}
