"""What was published before there was a ledger is restored: every run, no failure less, none twice, nothing guessed."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from analysis import ledger as derivation
from app import ledger as store
from app.restored import (
    CellState,
    GitHistory,
    anomalies_of,
    audits,
    lines_of,
    published,
    restore,
    unnamed_of,
    verdicts_of,
)
from evidence.cells import Aside, CellRow
from evidence.ledger import Counts, RestoredCell, RestoredRun

KEY = ("s", "default", "4.3.1")
NAMES = [f"20261122t00000{n}-s-4-3-1-s{n}-000{n}" for n in range(9)]
LATER = datetime(2026, 11, 23, tzinfo=UTC)


def state(
    commit: str, good: int, *names: str, runs: int | None = None, bad: tuple[str, ...] = (), **counts: Any
) -> CellState:
    number = len(names) if runs is None else runs
    verdicts = {"as-documented": good, "unexpected": number - good}
    about = {"verdicts": {name: count for name, count in verdicts.items() if count}} | counts
    commits = about.pop("commits", ())
    return CellState(
        commit=commit,
        at=LATER,
        counts=Counts(runs=number, good=good, **about),
        runs=names,
        not_good=bad,
        commits=commits,
    )


def runs_of(*states: CellState) -> dict[str, RestoredRun]:
    return {line.run: line for line in lines_of(KEY, states) if isinstance(line, RestoredRun)}


def row_of(*states: CellState) -> CellRow:
    (row,) = derivation.rows(lines_of(KEY, states))
    return row


def test_a_failure_that_was_counted_away_is_back() -> None:
    lost = f"{NAMES[0]}: 1 of 561 acknowledged records LOST: unexpected: lost-write, which nothing documents"
    before = state("a", 1, *NAMES[:2], bad=(lost,), seen={"lost-write": 1, "empty-isr": 2})
    after = state("b", 3, *NAMES[2:5], seen={})
    row = row_of(before, after)
    assert (row.runs, row.good, row.lost, row.lost_records) == (5, 4, 1, (1, 1))
    assert row.not_good == (lost,)
    assert row.seen == {"lost-write": 1, "empty-isr": 2}
    runs = runs_of(before, after)
    assert (runs[NAMES[0]].source, runs[NAMES[0]].gone, runs[NAMES[0]].verdict) == ("a", "b", "unexpected")
    assert (runs[NAMES[2]].source, runs[NAMES[2]].gone, runs[NAMES[2]].verdict) == ("b", None, "as-documented")


def test_a_run_in_several_versions_counts_once() -> None:
    row = row_of(state("a", 2, *NAMES[:2]), state("b", 4, *NAMES[:4]), state("c", 4, *NAMES[:4], seconds=3.0))
    assert (row.runs, row.good, len(row.ids), row.seconds) == (4, 4, 4, 3.0)


def test_a_verdict_is_told_only_where_the_counts_leave_one() -> None:
    listed = tuple(f"{name}: unknown: why" for name in NAMES[:2])
    one = state("a", 5, *NAMES[:8], bad=listed)
    known = verdicts_of([one])
    assert known == {NAMES[0]: "unknown", NAMES[1]: "unknown"}  # a third was not as documented, and nobody knows which
    earlier = state("0", 3, *NAMES[2:5])
    assert verdicts_of([earlier, one])[NAMES[2]] == "as-documented"
    whole = state("a", 5, *NAMES[:8], bad=listed, verdicts={"as-documented": 5, "unknown": 3})
    assert dict(row_of(whole).verdicts) == {"as-documented": 5, "unknown": 3}


def test_an_anomaly_is_of_a_run_if_all_had_it_and_may_be_if_some_had() -> None:
    few, more = state("a", 1, NAMES[0], seen={"x": 1}), state("b", 3, *NAMES[:3], seen={"x": 3, "y": 1, "z": 2})
    assert anomalies_of([more]) == (("x",), ("y", "z"))
    assert anomalies_of([few, more]) == (("x",), ())
    row = row_of(few, more)
    assert row.seen == {"x": 3, "y": 1, "z": 2}


def test_runs_without_names_are_counted_unless_they_may_be_named_ones() -> None:
    named = state("c", 2, *NAMES[:2])
    assert unnamed_of([state("a", 2, runs=2), named], NAMES[:2]) == []
    row = row_of(state("a", 4, runs=5, commits=("k",)), named)
    assert (row.runs, row.unnamed, row.good, dict(row.verdicts)) == (5, 3, 4, {"as-documented": 4, "not told": 1})


def test_two_counts_without_names_are_of_other_runs_only_if_no_commit_is_in_both() -> None:
    same = [state("a", 4, runs=4, commits=("k", "l")), state("b", 5, runs=5, commits=("l",))]
    apart = [state("a", 4, runs=4, commits=("k",)), state("b", 5, runs=5, commits=("l",))]
    assert [row_of(*states).runs for states in (same, apart)] == [5, 9]


def test_counts_of_a_modified_tree_are_shown_and_do_not_count() -> None:
    row = row_of(state("a", 16, runs=16, commits=("k", "l+")))
    assert (row.runs, row.good) == (0, 0)
    assert row.aside == (Aside(runs=16, why="run by one of k, l+; 16 of 16 were as documented"),)


def test_claims_and_times_of_runs_that_were_counted_away_are_not_lost() -> None:
    before = state(
        "a", 1, *NAMES[:2], claims={"c": {"held": 1, "contradicted": 1}}, timings={"c": {"ms": [2, 1.0, 2.0, 9.0]}}
    )
    again = state("b", 2, *NAMES[1:3], claims={"c": {"held": 2}}, timings={"c": {"ms": [2, 3.0, 3.0, 3.0]}})
    apart = state("b", 2, *NAMES[3:5], claims={"c": {"held": 2}}, timings={"c": {"ms": [3, 3.0, 3.0, 3.0]}})
    assert row_of(before, again).claims == {"c": {"held": 2, "contradicted": 1}}
    assert row_of(before, apart).claims == {"c": {"held": 3, "contradicted": 1}}
    (timing,) = row_of(before, apart).timings["c"]
    assert (timing.ms, timing.load) == ((5, 1.0, 3.0, 9.0), "not told")


def test_a_run_that_was_named_only_as_not_as_documented_is_restored() -> None:
    one = state("a", 1, runs=2, bad=(f"{NAMES[0]}: error: the harness failed",))
    assert runs_of(one)[NAMES[0]].verdict == "error"
    assert row_of(one).runs == 2


# From a history


def commit(root: Path, message: str, day: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    dated = os.environ | {"GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
    for words in (["add", "-A"], [*who, "commit", "-qm", message]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, env=dated)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/reproduced.md").write_text(
        "| scenario | version | documented | seen | as documented | median time to verdict | run on | commit |\n"
        "|---|---|---|---|---|---|---|---|\n"
        "| s | 4.3.1 | none | empty-isr (1 of 5), lost-write | 5 of 5 | 40.1 s | 2026-11-21 | 25dd7273 |\n"
        "\nMachine: 2 cores, Linux 6, Docker 20.\n"
    )
    commit(tmp_path, "a table", "2026-11-21")
    data = tmp_path / "docs/scenarios/data"
    data.mkdir(parents=True)
    (data / "README.txt").write_text("no cell")
    cell = {"runs": 2, "good": 1, "ids": NAMES[:2], "not_good": [f"{NAMES[0]}: unknown: why"], "lost": 0, "seen": {}}
    cell |= {"verdicts": {"as-documented": 1, "unknown": 1}, "commits": ["k"]}
    (data / "s.json").write_text(json.dumps({"cases": {"default": {"4.3.1": cell}}, "machines": ["m"]}))
    (tmp_path / "audit").mkdir()
    name = "20261122t000000-audit-none-3-9-2-zk-s1-0000"
    (tmp_path / "audit/matrix.json").write_text(json.dumps({"runs": {name: {"commit": "k+"}}}))
    commit(tmp_path, "files", "2026-11-22")
    cell |= {"runs": 1, "good": 1, "ids": NAMES[2:3], "not_good": [], "verdicts": {"as-documented": 1}}
    (data / "s.json").write_text(json.dumps({"cases": {"default": {"4.3.1": cell}}, "machines": ["m"]}))
    (tmp_path / "audit/matrix.json").unlink()
    (tmp_path / "results/audit").mkdir(parents=True)
    (tmp_path / "results/audit/runs.csv").write_text("run,id,commit\n1,20261122t000001-audit-none-4-3-1-s1-0000,k\n")
    commit(tmp_path, "counted anew", "2026-11-23")
    return tmp_path


def test_every_version_of_every_file_is_read(repository: Path) -> None:
    (states,) = published(GitHistory(repository)).values()
    assert [(len(one.runs), one.counts.good, one.counts.runs) for one in states] == [(0, 5, 5), (2, 1, 2), (1, 1, 1)]
    assert (states[0].counts.seen, states[0].machines) == (
        {"empty-isr": 1, "lost-write": 5},
        ("2 cores, Linux 6, Docker 20",),
    )
    gone, there = sorted(audits(GitHistory(repository)), key=lambda line: line.at)
    assert (gone.scenario, gone.version, gone.commits) == ("audit-none", "3.9.2-zk", ("k+",))
    assert (gone.gone is None, there.gone) == (False, None)
    assert (there.verdict, there.seen) == (None, None)


def test_restoring_twice_adds_nothing(repository: Path) -> None:
    kept = store.LedgerFolder(repository / "ledger")
    assert restore(kept, GitHistory(repository)) == {"restored": 5, "restored-cell": 3}
    assert len(kept.write()) == 2
    again = store.load(repository / "ledger")
    restore(again, GitHistory(repository))
    assert again.write() == []
    rows = {row.scenario + row.version: row for row in derivation.rows(again.lines)}
    assert (rows["s4.3.1"].runs, rows["s4.3.1"].good) == (8, 7)
    assert rows["audit-none3.9.2-zk"].runs == 0
    assert rows["audit-none4.3.1"].verdicts == {"not told": 1}
    assert sum(isinstance(line, RestoredCell) for line in again.lines) == 3
