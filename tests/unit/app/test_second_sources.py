"""Files beside the ledger that tell of runs: each row is held to the ledger's line of its run (docs/ledger.md)."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import results
from app import ledger as store
from evidence.ledger import RestoredRun, RunEnded, RunJudged, RunStarted

WITHOUT_VERDICT = {
    "20261124t115435-exactly-once-2-8-2-s1-39b6",
    "20261124t121023-min-insync-refusal-2-8-2-s1-84f2",
    "20261124t121054-min-insync-refusal-2-8-2-s1-f5ab",
    "20261124t121829-high-watermark-visibility-catches-up-2-8-2-s1-56ef",
    "20261124t121849-isr-shrink-expand-2-8-2-s1-8bad",
    "20261124t122015-unclean-election-disabled-2-8-2-s1-c699",
    "20261124t122104-offline-leader-election-2-8-2-s1-c449",
}
"""Runs of mutants whose verdict no line has: no other may be without one."""
WITHOUT_LINE = {
    "20261123t121200-double-failover-0-10-2-2-s1-dabc",
    "20261123t121241-double-failover-4-3-1-s1-adaf",
}
"""Runs that are told in full and that no line has: no other may be without one."""
WITHOUT_ROW = 16
"""Runs of the audit that have a line and no row: most were interrupted, and three were of a user's own producers."""

Entered = RunStarted | RestoredRun


@cache
def entered() -> Mapping[str, Entered]:
    return {one.run: one for one in store.load().lines if isinstance(one, RunStarted | RestoredRun)}


@cache
def ends() -> Mapping[str, RunEnded]:
    return {one.run: one for one in store.load().lines if isinstance(one, RunEnded)}


@cache
def verdicts() -> Mapping[str, RunJudged]:
    """The first verdict on each run."""
    every = [one for one in store.load().lines if isinstance(one, RunJudged)]
    return {one.run: one for one in sorted(every, key=lambda one: one.at, reverse=True)}


def about(line: Entered) -> tuple[str, str, str, int | None]:
    return line.scenario, line.case, line.version, line.seed


def commits(line: Entered) -> tuple[str, ...]:
    if isinstance(line, RestoredRun):
        return line.commits
    return (f"{line.commit}{'+' if line.modified else ''}",)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_of_a_mutant_says_what_the_ledger_says() -> None:
    rows = rows_of(results.ROOT / "mutants.csv")
    assert rows
    without = set()
    for row in rows:
        line = entered()[row["run"]]
        assert about(line) == (row["scenario"], row["case"], row["version"], int(row["seed"])), row["run"]
        marks = [one.endswith("+") for one in commits(line)]
        assert any(one.startswith(row["commit"].removesuffix("+")[:8]) for one in commits(line)), row["run"]
        assert row["commit"].endswith("+") == any(marks) or isinstance(line, RestoredRun), row["run"]
        if isinstance(line, RestoredRun):
            assert line.verdict == row["verdict"], row["run"]
            continue
        assert line.mutant == row["mutant"], row["run"]
        assert ends()[row["run"]].state == row["ended"], row["run"]
        if row["run"] in verdicts():
            assert verdicts()[row["run"]].verdict == row["verdict"], row["run"]
        else:
            without.add(row["run"])
    assert without <= WITHOUT_VERDICT


def test_a_run_of_the_audit_is_that_of_its_line_and_lost_as_many_records() -> None:
    folder = results.ROOT / results.AUDIT
    runs = {row["run"]: row for row in rows_of(folder / "runs.csv")}
    lost: Counter[str] = Counter()
    for path in sorted((folder / "counts").glob("*.csv")):
        for row in rows_of(path):
            lost[runs[row["run"]]["id"]] += int(row["lost"] or 0)
    for row in runs.values():
        line = entered()[row["id"]]
        assert (line.scenario, line.version) == (f"audit-{row['fault']}", row["version"]), row["id"]
        assert line.at.startswith(row["date"]), row["id"]
        assert row["commit"] in commits(line), row["id"]
        if row["id"] in verdicts():
            assert verdicts()[row["id"]].lost == lost[row["id"]], row["id"]
    of_audit = {run for run, line in entered().items() if line.scenario.startswith("audit-")}
    assert len(of_audit - {row["id"] for row in runs.values()}) <= WITHOUT_ROW


def told() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each run that is told in full, and its control, with the scenario."""
    for path in sorted((results.ROOT / results.TOLD).glob("*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        yield path.stem, run
        if run.get("control"):
            yield path.stem, run["control"]


def test_a_run_that_is_told_in_full_is_that_of_its_line() -> None:
    without = set()
    for scenario, run in told():
        line = entered().get(run["run"])
        if line is None:
            without.add(run["run"])
            continue
        assert about(line)[:3] == (scenario, run["case"], run["version"]), run["run"]
        assert run.get("seed") in (None, line.seed), run["run"]
        if run["run"] in verdicts():
            assert verdicts()[run["run"]].text == run["outcome"], run["run"]
    assert without <= WITHOUT_LINE
