"""One run checked without Spark: findings with their evidence, problems with their reasons, never a silent pass."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.across import in_one_process
from analysis.check import check_piece, check_run
from analysis.pieces import pieces
from analysis.result import Result, merge
from checks.anomaly import REGISTRY
from evidence import timeline
from evidence.errors import UsageError
from evidence.events import Ends, Moment, Partition
from evidence.findings import Findings
from evidence.history.seal import seal_run
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from tests.records import changed
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import final_read, polled, sent

LOSS = {
    "producer-1": [sent(0, 0), sent(1, 1), sent(2, 1)],
    "final-read-1": [polled(0, 0), polled(1, 2), final_read(2)],
}


def problems(findings: Findings) -> set[str]:
    return {problem.what for problem in findings.problems}


def names(findings: Findings) -> list[str]:
    return [finding.anomaly for finding in findings.findings]


@pytest.mark.parametrize("sealed", [False, True], ids=["from streams", "sealed"])
def test_a_loss_is_found_and_nothing_else_is_wrong(tmp_path: Path, sealed: bool) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    if sealed:
        seal_run(run_dir)
    findings = check_run(run_dir)
    assert names(findings) == ["inconsistent-offsets", "lost-write"]
    assert findings.problems == ()
    assert findings.findings[1].count == 1
    assert findings.findings[1].evidence[0].records[0].sequence == 1
    assert findings.statistics["sends_ok"] == 3
    assert {one.status for one in findings.checks} == {"ok"}


def test_a_recorder_that_died_is_a_problem(tmp_path: Path) -> None:
    assert "recorder died" in problems(check_run(make_run(tmp_path / "run", LOSS, close=False)))


def test_a_torn_history_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    path = run_dir.stream("producer-1")
    path.write_bytes(path.read_bytes()[:-40])
    assert problems(check_run(run_dir)) & {"torn history", "recorder died"}


def test_a_missing_process_file_is_a_problem(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    run_dir.stream("producer-1").unlink()
    assert "missing history" in problems(check_run(run_dir))


def test_histories_that_nobody_accounts_for_are_problems(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    shutil.copy(run_dir.stream("producer-1"), run_dir.stream("producer-9"))
    assert problems(check_run(run_dir)) == {"unnamed history", "foreign history"}
    run_dir.stream("producer-9").unlink()
    seal_run(run_dir)
    sealed = run_dir.sealed_partition("t", 0, "producer-1")
    assert problems(check_run(run_dir)) == set()
    shutil.copy(sealed, sealed.with_name("producer-9.parquet"))
    assert problems(check_run(run_dir)) == {"unnamed history"}


def test_copies_that_were_taken_and_are_gone_are_a_problem(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    with Timeline(run_dir.timeline) as timeline:
        timeline.append(Moment(name="00-final", nodes={"broker-2": {"t-0": Ends(leo=2, hw=2)}}, begun_ns=1))
    assert "missing copies" in problems(check_run(run_dir))


def test_nothing_is_concluded_from_a_timeline_whose_clocks_jump(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    begin = timeline.read(run_dir.timeline).events[0].monotonic_ns
    with Timeline(run_dir.timeline) as more:
        # By its time this state comes before all others, and they would go back behind it.
        where: dict[str, Any] = {"source": "zookeeper", "topic": "t", "partition": 0}
        more.append(Partition(**where, leader=2, leader_epoch=7, isr=(2,), monotonic_ns=begin - 10**12))
    findings = check_run(run_dir)
    assert "leader-epoch-regression" not in {one.anomaly for one in findings.findings}
    assert {"damaged timeline", "no metadata"} <= problems(findings)


def test_no_final_read_is_a_problem(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", {"producer-1": [sent(0, 0)], "final-read-1": [polled(0, 0)]})
    assert "no final read" in problems(check_run(run_dir))


def test_a_run_that_sent_nothing_shows_nothing(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", {"producer-1": [], "final-read-1": [final_read(0)]})
    assert "empty history" in problems(check_run(run_dir))


def test_a_damaged_and_a_missing_timeline_are_problems(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    run_dir.timeline.write_bytes(run_dir.timeline.read_bytes() + b'{"monotonic')
    assert "damaged timeline" in problems(check_run(run_dir))
    run_dir.timeline.unlink()
    assert {"damaged timeline", "no metadata"} <= problems(check_run(run_dir))


def test_a_crashing_check_is_reported_and_the_others_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(view: object) -> list[dict[str, Any]]:
        raise ZeroDivisionError("by zero")

    duplicate = REGISTRY["duplicate"]
    crashing = replace(duplicate, checks=(replace(duplicate.checks[0], function=crash),))
    monkeypatch.setitem(REGISTRY, "duplicate", crashing)
    findings = check_run(make_run(tmp_path / "run", LOSS))
    statuses = {one.name: (one.status, one.reason) for one in findings.checks}
    assert statuses["duplicate"] == ("crashed", "ZeroDivisionError: by zero")
    assert statuses["lost-write"] == ("ok", None)
    assert "lost-write" in names(findings)


def test_pieces_are_a_partition_each_and_the_run(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", LOSS, partitions=3)
    assert [(piece.topic, piece.partition) for piece in pieces(run_dir)] == [("t", 0), ("t", 1), ("t", 2), ("", -1)]


def test_a_directory_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such run directory"):
        check_run(RunDir(tmp_path / "nothing"))


def test_results_survive_the_way_to_a_worker_and_back(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    results = [check_piece(piece) for piece in pieces(run_dir)]
    again = [Result.from_json(result.as_json()) for result in results]
    across = in_one_process(())  # asked once, for it measures how long each check took
    merged, merged_again = (merge(one, 0.0, across) for one in (results, again))
    assert merged_again == merged


def test_the_claims_that_a_run_names_are_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = make_run(tmp_path / "run", LOSS)
    run = run_dir.read_run()
    run_dir.write_run(changed(run, documented={"claims": ["one-controller-at-a-time"]}))
    (judged,) = check_run(run_dir).claims
    assert (judged.name, judged.outcome) == ("one-controller-at-a-time", "held")

    monkeypatch.setattr("checks.claims.CATALOGUE", {})
    findings = check_run(run_dir)
    assert findings.claims == ()
    crashed = [one.name for one in findings.checks if one.status == "crashed"]
    assert crashed == ["claim one-controller-at-a-time"]
