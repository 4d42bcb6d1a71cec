"""There is a page for each scenario, always in one order: title, versions by outcome, what to do, why, pictures, what
clients saw, how to run it, what was not as documented. Then come, folded, the steps, the documented lines and the
times.

The scenarios of the audit's matrix have the measured cells of the Atlas's columns in place of the ledger's. Each has an
anchor, its runs and the command that repeats one, and a cell of the Atlas links here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

import results
from checks import claims
from evidence.run import DEFAULT_CASE
from harness.cluster.versions import TO
from judgement.rates import telling
from judgement.report.cells import version_key
from judgement.sampling import at_most, percent
from pages import answers, deviations, guide, measurements, pictures
from pages.atlas import model
from pages.counted import contradicted, shown, shows_harm, stated
from pages.sections import introduced
from pages.site import articles, settings, words
from pages.site.render import Place, page
from pages.titles import AUDIT, title
from results import Value

FOLDER: Final = "scenarios"
OWN_NAMES: Final = re.compile(r'(?<=["# ])kc-')
"""How names within a picture begin."""


def pages(described: Value, data: model.Data) -> Iterator[tuple[str, str]]:
    """Path and text of each page, and of the index."""
    every = guide.in_order(described)
    names = frozenset(one["name"] for one in every)
    set_aside = _set_aside(data.runs)
    for index, one in enumerate(every):
        before = _place(every[index - 1]) if index else None
        after = _place(every[index + 1]) if index + 1 < len(every) else None
        yield _path(one), of(one, data, names, set_aside, before, after)
    sections = []
    for section in dict.fromkeys(one["section"] for one in every):
        heading, introduction = "Without any fault", list[str]()
        if section:
            heading, introduction = introduced(described["sections"].get(section, ""), section)
        own = [(one, title(one), outcome_line(one, data)) for one in every if one["section"] == section]
        first = next((part for part in introduction if part), "")
        sections.append((section or "baseline", heading, articles.html(first), own))
    yield (
        f"{FOLDER}/index.html",
        page(
            "scenarios.html.j2",
            f"{FOLDER}/index.html",
            title="Scenarios",
            section="Scenarios",
            sections=sections,
            count=len(every),
            scenarios=names,
        ),
    )


def _path(one: Value) -> str:
    return f"{FOLDER}/{one['name']}.html"


def _place(one: Value) -> Place:
    return title(one), _path(one)


def _set_aside(runs: Value) -> dict[str, str]:
    """Runs that the ledger does not count, by name, each with the reason."""
    found: dict[str, str] = {}
    for of_scenario in runs.values():
        for of_case in of_scenario["cases"].values():
            for cell in of_case.values():
                found |= {one["run"]: one["why"] for one in cell["aside"] if one["run"]}
    return found


HIDES_RECORDS: Final = (
    "transaction-half-committed",
    "torn-transaction",
    "unreadable",
    "stuck-last-stable-offset",
    "replica-divergence",
    "committed-offset-lost",
    "misdelivered",
)
"""Told before other anomalies: readers do not get what was acknowledged."""


def cells(one: Value, data: model.Data) -> list[tuple[str, str, Value]]:
    """Case, version and cell of a scenario's runs that say something."""
    of_cases = results.of(data.runs, one["name"])["cases"]
    return [
        (case["name"], version, of_cases[case["name"]][version])
        for case in one["cases"]
        for version in sorted(of_cases.get(case["name"], {}), key=version_key)
    ]


def kind(cell: Value, *, deletes: bool = False, required: Collection[str] = ()) -> tuple[str, str]:
    """The class and the words of a cell: what became of the records, and how often it was as documented. `deletes`: the
    sequence deletes the records that are gone; `required` are the anomalies that a run must show, told first.
    """
    runs = telling(cell)
    if not runs:
        return "hole", "no verdict"
    if cell["lost"] and deletes and not contradicted(cell):
        return "kept", f"– deleted by request in {cell['lost']} of {max(runs, cell['lost'])}"
    if cell["lost"]:
        return "lost", f"✕ lost in {cell['lost']} of {max(runs, cell['lost'])}"
    if contradicted(cell):
        return "twice", f"! kept, and not as documented in {contradicted(cell)} of {runs}"
    few = " few" if runs < model.FEW else ""
    if seen := {name: times for name, times in cell["seen"].items() if times}:
        name, times = max(seen.items(), key=lambda item: (item[0] in required, item[0] in HIDES_RECORDS, item[1]))
        more = f" and {len(seen) - 1} more" if len(seen) > 1 else ""
        return f"order{few}", f"▲ {name} in {min(times, runs)} of {runs}{more}"
    return f"kept{few}", f"✓ kept, {runs} of {runs}"


def outcome_line(one: Value, data: model.Data) -> str:
    """Where records are lost, in a line: versions, of any case."""
    losing = sorted(
        {
            version
            for case, version, cell in cells(one, data)
            if cell["lost"] and not answers.deletes(one, case, version)
        },
        key=version_key,
    )
    ran = sorted({version for _, version, cell in cells(one, data) if telling(cell)}, key=version_key)
    if one["name"].startswith(AUDIT):
        return "by settings, in the Atlas"
    if not ran:
        return "no run that says something is on record"
    if not losing:
        return f"nothing acknowledged was lost on {', '.join(ran)}"
    kept = [version for version in ran if version not in losing]
    return f"records lost on {', '.join(losing)}" + (f"; none on {', '.join(kept)}" if kept else "")


def table(one: Value, data: model.Data) -> list[tuple[str, list[tuple[str, str, str, str]]]]:
    """Outcomes by case and version, the newest version first: version, class, words, and what is still possible."""
    found: dict[str, list[tuple[str, str, str, str]]] = {}
    for case, version, cell in cells(one, data):
        told = kind(cell, deletes=answers.deletes(one, case, version), required=stated(one, case, version)["required"])
        found.setdefault(case, []).insert(0, (version, *told, _possible(cell)))
    return list(found.items())


def _required(one: Value, case: str, versions: Iterable[str]) -> set[str]:
    """The anomalies that runs of a case must show on any of these versions."""
    return {name for version in versions for name in stated(one, case, version)["required"]}


def bug_in_runs(one: Value, data: model.Data) -> list[tuple[str, list[tuple[str, str]], str]]:
    """How a bug shows in runs of its scenario's first case: on releases that have it and on others, each with how many
    runs were as documented, and what is documented of them.
    """
    exhibit, case = one["exhibit"], one["cases"][0]["name"]
    if not exhibit:
        return []
    without = [version for version in exhibit["fixed"] if version not in exhibit["affected"]]
    found = []
    signs = sorted(_required(one, case, exhibit["affected"]) - _required(one, case, without))
    shows = f"Runs show {', '.join(signs)}." if signs else ""
    sides = (("With the bug", exhibit["affected"], shows), ("Without the bug", without, ""))
    for heading, versions, otherwise in sides:
        ran = [(on, shown(one["name"], on, data.runs, case)) for on in reversed(versions)]
        told = [stated(one, case, on).get("sentence") for on in versions]
        if ran:
            found.append((heading, ran, next(filter(None, told), otherwise)))
    return found


MEANINGS: Final[Mapping[str, str]] = {
    "✕": "✕ lost: acknowledged records are missing.",
    "✓": "✓ kept: every acknowledged record was read, and no anomaly was seen.",
    "▲": "▲ an anomaly that is documented for the version; the brokers have every acknowledged record.",
    "–": "– the sequence deletes a topic, and its records with it.",
    "!": "! the brokers have every acknowledged record; something was seen that is not documented.",
    "n": "no verdict: the run proves nothing about Kafka.",
}
"""Of the first letter of a cell's words."""
KINDS: Final[Mapping[str, str]] = {
    "pinned": "“-pinned”: brokers that still have the inter-broker protocol of 0.10.2.",
    "zk": "“-zk”: with ZooKeeper.",
    "kraft": "“-kraft”: with KRaft.",
    TO: "“-to-”: a cluster of the first release that is upgraded to the second one.",
}


def legend(outcomes: Sequence[tuple[str, Sequence[tuple[str, str, str, str]]]]) -> list[str]:
    """What the symbols and the names of versions mean that a table has, and no others."""
    every = [cell for _, of_case in outcomes for cell in of_case]
    symbols = {words[0] for _, _, words, _ in every}
    kinds = {name.rpartition("-")[2] for version, *_ in every for name in version.split(TO)}
    kinds |= {TO for version, *_ in every if TO in version}
    few = any(kind.endswith(" few") for _, kind, *_ in every)
    return [
        *(words for symbol, words in MEANINGS.items() if symbol in symbols),
        "“5 of 6”: in 5 of 6 runs.",
        *([f"Dashed: fewer than {model.FEW} runs."] if few else []),
        *(words for kind, words in KINDS.items() if kind in kinds),
    ]


def _possible(cell: Value) -> str:
    runs = telling(cell)
    return f"at most {percent(at_most(0, runs))} may lose records" if runs and not cell["lost"] else ""


def of(
    one: Value,
    data: model.Data,
    names: frozenset[str],
    set_aside: Mapping[str, str],
    before: Place | None,
    after: Place | None,
) -> str:
    """The page of a scenario."""
    fault = one["name"].removeprefix(AUDIT) if one["name"].startswith(AUDIT) else ""
    told = results.shown_of(data.runs, one["name"])
    deletes = bool(told and answers.deletes(one, told["case"], told["version"]))
    found = cells(one, data)
    outcomes = table(one, data)
    return page(
        "scenario.html.j2",
        _path(one),
        title=title(one),
        section="Kafka bugs" if one["exhibit"] else "Scenarios",
        description=one["claim"],
        before=before,
        after=after,
        scenarios=names,
        one=one,
        fault=fault,
        default=DEFAULT_CASE,
        table=outcomes,
        legend=legend(outcomes),
        bug=bug_in_runs(one, data),
        harmful=bool(told) and shows_harm(one, told["case"], told["version"]),
        measured=list(measured(fault, data, set_aside)) if fault else [],
        advice=settings.advice(fault, data) if fault else "",
        why=articles.html(one["told"]),
        shown=told,
        control=_control(told, deletes=deletes),
        story=[(at, witness, *proof_apart(text)) for at, witness, text in told.get("sequence", ())[:LONGEST_STORY]],
        outcome=pictures.in_words(told.get("outcome", ""), deletes=deletes),
        pair=_figures(told, f"{one['name']}.svg", f"{one['name']}.control.svg", deletes=deletes, bug=bug_title(one)),
        offsets=_figures(told, f"{one['name']}.offsets.svg"),
        deletes=deletes,
        seen_by_clients=list(_figures(told, f"{one['name']}.clients.svg")),
        claims=claims.CATALOGUE,
        commands=list(answers.commands(one)),
        clients=_clients(found),
        not_good=deviations.of(((case, version), cell) for case, version, cell in found),
        aside=_aside(found),
        timings=measurements.timings(measurements.cells(one, results.of(data.runs, one["name"]))),
        timing_headings=measurements.TIMINGS,
    )


def _control(shown: Value, *, deletes: bool) -> Value | None:
    """What is told of a run's control, with what became of its records in words."""
    found = shown.get("control")
    return {**found, "outcome": pictures.in_words(found["outcome"], deletes=deletes)} if found else None


def bug_title(one: Value) -> str:
    """What is wrong with a bug, without its number; of a scenario without a bug nothing."""
    return str(one["exhibit"]["title"]) if one["exhibit"] else ""


def _figures(shown: Value, *names: str, deletes: bool = False, bug: str = "") -> list[tuple[Markup, str]]:
    """Those of these pictures that there are, each with its caption. Names within the picture of a control are its own,
    for two pictures lie on one page.
    """
    told = shown.get("pictures", {})
    drawn = {name: picture(name, shown, deletes=deletes, bug=bug) for name in names if name in told}
    return [
        (
            Markup(OWN_NAMES.sub("kcc-", text) if ".control." in name else text),
            pictures.in_words(told[name], deletes=deletes),
        )
        for name, text in drawn.items()
    ]


LONGEST_STORY: Final = 80
LONGEST_PROOF: Final = 120


def proof_apart(text: str) -> tuple[str, str]:
    """A line of a story, and its proof by itself if it is long: that is for who doubts it.

    >>> proof_apart("kill -9 of broker-2; proved: exit code 137.")
    ('kill -9 of broker-2; proved: exit code 137.', '')
    """
    what, mark, proof = text.partition("; proved: ")
    return (f"{what}.", proof) if mark and len(proof) > LONGEST_PROOF else (text, "")


def picture(name: str, shown: Value, *, deletes: bool = False, bug: str = "") -> str:
    """A picture of the run that is told of a scenario, or of its control. `bug` is the title of the bug that it shows:
    that stands above the run with it; above the other, what is not so there.
    """
    control = shown.get("control") or {}
    run = control if ".control." in name else shown if name.count(".") == 1 else {}
    outcome, head = run.get("outcome", ""), ""
    if bug and run:
        head = pictures.without_bug(outcome, shown["outcome"]) if run is control else f"With the bug: {bug}"
        head = pictures.in_words(head, deletes=deletes)
    return pictures.drawn(name, outcome, run.get("title") or "", deletes=deletes, head=head)


def _aside(found: Sequence[tuple[str, str, Value]]) -> dict[str, list[str]]:
    """The names of the runs that do not count, by the reason."""
    reasons: dict[str, list[str]] = {}
    for _, _, cell in found:
        for run in cell["aside"]:
            reasons.setdefault(run["why"], []).append(run["run"] or f"{run['runs']} runs without names")
    return reasons


def _clients(found: Sequence[tuple[str, str, Value]]) -> list[tuple[str, ...]]:
    return [
        (case, version, *(measurements.spread(cell["clients"].get(key), key) for key in measurements.CLIENTS))
        for case, version, cell in found
        if cell["clients"]
    ]


def measured(fault: str, data: model.Data, set_aside: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The measured cells of a fault that the Atlas shows, by version: settings, outcome and runs."""
    told: set[str] = set()
    for one in settings.measured(fault, data):
        cell = one.cell
        if cell.cell is None or cell.anchor in told:
            continue
        told.add(cell.anchor)
        yield {
            "anchor": cell.anchor,
            "version": one.version,
            "settings": str(cell.cell.key).partition(": ")[2],
            "class": model.CLASSES[cell.worst],
            "outcome": f"{model.SYMBOLS[cell.worst]} {model.WORDS[cell.worst]}",
            "detail": words.detail(cell),
            "few": cell.few,
            "runs": [(run, set_aside.get(run.run, "")) for run in cell.runs],
            "command": f"kafka-chaos run {AUDIT}{fault} --version {one.version}{_seed(cell.runs[-1].run)}",
        }


def _seed(run: str) -> str:
    """The seed of a run, by its name."""
    for part in reversed(run.split("-")):
        if part.startswith("s") and part[1:].isdigit():
            return f" --seed {part[1:]}"
    return ""
