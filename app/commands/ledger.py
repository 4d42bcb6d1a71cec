"""`kafka-chaos ledger`: every run that was ever started, and what of it counts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import results
from analysis import ledger as derivation
from app import ledger as store
from app import plan
from app.audit_cells import PREFIX
from app.matrix import cells
from app.output import result, say
from audit import matrix
from audit.cells import Cell
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, UsageError
from evidence.run import DEFAULT_CASE, full_name
from evidence.text import plural
from harness.scenario import all_scenarios
from judgement import sampling
from judgement.rates import rate, telling
from judgement.report.cells import version_key
from pages import counted
from pages.scenarios import described


def run(options: argparse.Namespace) -> int:
    """Carry the action out; `check` ends with 1 if a line is gone."""
    root: Path = getattr(options, "results", results.ROOT)
    folder = root / results.LEDGER
    if options.action == "check":
        return check(folder)
    kept = store.load(folder)
    if options.action == "merge":
        folder.mkdir(parents=True, exist_ok=True)
        new = store.merged(kept, options.runs_dirs)
        write(kept, root)
        result(f"{new} new lines; {len(kept.scenario_of)} runs are in the ledger")
    elif options.action == "exclude":
        store.exclude(kept, options.run, options.why)
        write(kept, root)
        result(f"{options.run} counts no more: {options.why}")
    elif options.action == "needs":
        needs(described(), results.by_scenario(root), as_json=options.json)
    elif options.action == "allowances":
        measured = matrix.load(root / results.AUDIT)
        allowances(described(), results.by_scenario(root), measured, least=options.runs, as_json=options.json)
    elif options.action == "coverage":
        coverage(kept, results.by_scenario(root), as_json=options.json, as_page=options.markdown)
    else:
        counts(kept, as_json=options.json)
    return EXIT_AS_DOCUMENTED


def write(kept: store.LedgerFolder, root: Path) -> None:
    """Write the ledger and the rows that are made of it."""
    for path in store.save(kept, root):
        say(f"written: {path}")


def check(folder: Path) -> int:
    """Whether every line that was ever committed stands as it was, and all stand in their order."""
    missing, disordered = store.gone(folder), store.out_of_order(folder)
    for line in missing:
        result(f"gone: {line}")
    for path in disordered:
        result(f"not in order, or twice: {path}")
    kept = store.load(folder)
    if not kept.files:
        raise UsageError(f"{folder}: no ledger here")
    result(f"{sum(map(len, kept.files.values()))} lines of {len(kept.scenario_of)} runs, {len(missing)} gone")
    return EXIT_CONTRADICTED if missing or disordered else EXIT_AS_DOCUMENTED


def needs(scenarios: Mapping[str, Any], data: Mapping[str, Any], *, as_json: bool) -> None:
    """Every documented cell that is not decided: how many more runs as documented it takes, and how many there are."""
    found = list(undecided(scenarios, data))
    if as_json:
        result(json.dumps([one._asdict() for one in found]))
        return
    for one in found:
        result(f"{one.missing:4} more  {full_name(one.scenario, one.case)} on {one.version}: {one.ran}")
    total = sum(one.missing for one in found)
    result(f"{len(found)} cells are not decided; {total} runs as documented would decide them")


def allowances(
    scenarios: Mapping[str, Any], data: Mapping[str, Any], measured: Iterable[Cell], *, least: int, as_json: bool
) -> None:
    """What may be seen and never was, and what may be and always was, in cells with `least` runs or more. Cells of the
    audit for which the same is stated are one.
    """
    every = [*allowed(scenarios, data), *allowed_in_audit(measured)]
    found = sorted((one for one in every if one.runs >= least and one.seen in (0, one.runs)), key=_never_first)
    if as_json:
        result(json.dumps([one._asdict() for one in found]))
        return
    for one in found:
        result(f"{one.word:6}  {full_name(one.scenario, one.case)} on {one.version}: {one.rate}")
    never = sum(one.seen == 0 for one in found)
    result(
        f"{len(every)} allowances were run; in cells with {plural(least, 'run')} or more {never} were never seen "
        f"and {len(found) - never} always"
    )


class Allowance(NamedTuple):
    """What may be seen in a cell, and how often it was."""

    scenario: str
    case: str
    version: str
    anomaly: str
    """Of the audit's cells: the outcome."""
    seen: int
    runs: int
    """Those that say something, or show it. Of the audit: those of each producer."""
    rate: str
    """With the reason that is stated, for the audit's cells."""

    @property
    def word(self) -> str:
        return "never" if self.seen == 0 else "always"


def _never_first(one: Allowance) -> tuple[bool, Allowance]:
    return one.seen > 0, one


def allowed(scenarios: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Allowance]:
    """Whatever may be seen in the cells that were ever run."""
    for one in scenarios["scenarios"]:
        for case in one["cases"]:
            cells = results.cells_of(data, one["name"], case["name"])
            for outcome in case["documented"]:
                for version in outcome["versions"]:
                    if version not in cells:
                        continue
                    cell = cells[version]
                    for name in outcome["allowed"]:
                        seen = int(cell["seen"].get(name, 0))
                        if runs := max(telling(cell), seen):
                            yield Allowance(one["name"], case["name"], version, name, seen, runs, rate(name, [cell]))


def allowed_in_audit(measured: Iterable[Cell]) -> Iterator[Allowance]:
    """Whatever may come of the audit's cells: of all cells of a fault for which the same reason is stated together."""
    together: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in measured:
        for outcome in cell.stated.may:
            together.setdefault((cell.key.fault, cell.stated.why, outcome), []).append(cell)
    for (fault, why, outcome), alike in sorted(together.items()):
        seen, runs = sum(cell.times(outcome) for cell in alike), sum(len(cell.runs) for cell in alike)
        if runs:
            versions = ", ".join(sorted({cell.key.version for cell in alike}))
            told = f"{outcome} in {seen} of {plural(runs, 'run')} ({sampling.between(seen, runs)}): {why}"
            yield Allowance(f"{PREFIX}{fault}", DEFAULT_CASE, versions, outcome, seen, runs, told)


def coverage(kept: store.LedgerFolder, data: Mapping[str, Any], *, as_json: bool, as_page: bool) -> None:
    """Of every version of the matrix: how many cells can be run, how many ever were, and how long ago."""
    mine = [one for one in all_scenarios().values() if not one.name.startswith(PREFIX)]
    rows = plan.coverage(
        cells(mine, None, seed=1, repeat=1),
        plan.known(kept.lines, plan.nothing_changed if as_page else plan.code_changed),
        datetime.now(UTC).date(),
        counted={
            (scenario, case, version): telling(cell)
            for scenario, of in data.items()
            for case, by_version in of["cases"].items()
            for version, cell in by_version.items()
        },
    )
    if as_json:
        result(json.dumps([asdict(row) for row in rows]))
    elif as_page:
        result(coverage_page(rows), end="")
    else:
        _coverage_table(rows)


def _coverage_table(rows: Sequence[plan.Coverage]) -> None:
    within = "".join(f"{f'{days} days':>10}" for days in plan.DAYS)
    result(f"{'version':<22}{'cells':>8}{'ever run':>10}{'5 runs':>8}{'changed':>9}{within}   longest ago")
    for row in rows:
        counted_ = "".join(f"{number:>10}" for number in row.within)
        told = f"{row.version:<22}{row.cells:>8}{row.run:>10}{row.five:>8}{row.changed:>9}{counted_}"
        result(f"{told}   {row.oldest or 'never'}")
    ran, able = sum(row.run for row in rows), sum(row.cells for row in rows)
    result(f"in all {ran} of {able} cells were ever run ({ran / able:.0%})")


def coverage_page(rows: Sequence[plan.Coverage]) -> str:
    """docs/coverage.md: what of each version was run, without the age in days, which changes from day to day."""
    able, ran, five = (sum(getattr(row, name) for row in rows) for name in ("cells", "run", "five"))
    out = [
        "# Coverage: what was run of what can be run",
        "",
        "<!-- `make docs` makes this page from results/ledger/: do not edit it. -->",
        "",
        "A cell is a scenario's case on a version. The audit's cells have [a page of their own](audit-matrix.md).",
        "`kafka-chaos ledger coverage` tells how many cells were run in the last 14 and 30 days, too, and of how many",
        "the code has changed since.",
        "",
        f"There are {able} cells, and {ran} of them ({ran / able:.0%}) were ever run. In {five} of them",
        f"{plan.ENOUGH} runs count and say something. [A night](nights.md) runs cells first that were never run.",
        "",
        f"| version | cells | ever run | {plan.ENOUGH} runs | longest ago |",
        "|---|---:|---:|---:|---|",
        *(
            f"| {row.version} | {row.cells} | {row.run} ({row.run / row.cells:.0%}) | {row.five} | "
            f"{row.oldest or 'never'} |"
            for row in sorted(rows, key=lambda row: version_key(row.version))
        ),
        "",
    ]
    return "\n".join(out)


class Need(NamedTuple):
    """A cell that needs more runs."""

    scenario: str
    case: str
    version: str
    missing: int
    ran: str
    """How many runs there are that say something, and how many of these were as documented."""


def undecided(scenarios: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Need]:
    """The documented cells that are not decided, of scenarios that are neither of the museum nor of the audit, and of
    exhibits where they are shown: those that need most runs first.
    """
    found = []
    for one in scenarios["scenarios"]:
        if one["name"].startswith(PREFIX):
            continue
        for case in one["cases"]:
            cells = results.cells_of(data, one["name"], case["name"])
            for outcome in case["documented"]:
                for version in outcome["versions"]:
                    cell = cells.get(version)
                    if more := counted.missing(cell, outcome):
                        ran = counted.ran(cell) if cell else "not run"
                        found.append(Need(one["name"], case["name"], version, more, ran))
    yield from sorted(found, key=lambda need: (-need.missing, need))


def counts(kept: store.LedgerFolder, *, as_json: bool) -> None:
    """How many runs there are, and how they ended."""
    rows = derivation.rows(kept.lines)
    told = {
        "runs": sum(row.runs + sum(one.runs for one in row.aside) for row in rows),
        "counted": sum(row.runs for row in rows),
        "as_documented": sum(row.good for row in rows),
        "aside": sum(one.runs for row in rows for one in row.aside),
        "restored": sum(row.restored for row in rows),
        "without_a_name": sum(row.unnamed for row in rows),
        "cells": len(rows),
        "lines": dict(store.counted(kept.lines)),
    }
    if as_json:
        result(json.dumps(told))
        return
    lines = ", ".join(f"{number} {kind}" for kind, number in store.counted(kept.lines).items())
    result(
        f"{told['runs']} runs of {told['cells']} cells: {told['counted']} count, {told['as_documented']} of these "
        f"ended as documented; {told['aside']} do not count\n{told['restored']} were restored from what was published, "
        f"{told['without_a_name']} of these without a name\nlines: {lines}\n"
        "`kafka-chaos ledger needs` lists the cells that need more runs"
    )
