"""Consumers, transactions and pipelines as scenarios ask for them, on real brokers, judged as every run is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evidence.history import schema
from evidence.history.read import open_run
from evidence.rundir import RunDir
from harness.cluster import versions
from harness.run import Run
from harness.runner import Request, execute
from harness.scenario import get_scenario
from judgement.judge import AnalysisServer, judge
from judgement.verdict import Verdict

pytestmark = [pytest.mark.docker, pytest.mark.spark]
LIMIT_S = 60.0


def carried_out(steps: Callable[[Run], None], version: str, root: Path) -> tuple[RunDir, Verdict]:
    scenario = replace(get_scenario("baseline"), steps=steps)
    finished = execute(Request(scenario=scenario, version=versions.get(version), root=root), echo=lambda _: None)
    with AnalysisServer() as analyst:
        judged = judge(finished.run_dir, analyst).verdict
    finished.removals.wait()
    return finished.run_dir, judged


def kinds_of(run_dir: RunDir, process: str) -> list[str]:
    history = open_run(run_dir)
    rows = [row for table in (*history.tables.values(), history.operations) for row in table.to_pylist()]
    return [row["kind"] for row in rows if row["process"] == process]


@pytest.mark.parametrize("version", ["0.10.2.2", "4.3.1"])
def test_consumers_read_alone_and_in_a_group(version: str, tmp_path: Path) -> None:
    def steps(run: Run) -> None:
        t = run.partition()
        with run.consume(t) as alone, run.consume(t, group="readers", committed_only=True) as member:
            for number in range(3):
                run.send(run.partition(number), 5)
            alone.wait_read(15, timeout_s=LIMIT_S)
            member.wait_read(15, timeout_s=LIMIT_S)

    run_dir, judged = carried_out(steps, version, tmp_path)
    assert judged.verdict == "as-documented", judged.reasons
    for process in ("consumer-1", "consumer-2"):
        assert kinds_of(run_dir, process).count(schema.POLL) == 15


@pytest.mark.parametrize("version", ["0.11.0.3", "4.3.1"])
def test_transactions_through_a_pipeline(version: str, tmp_path: Path) -> None:
    ended: list[str] = []

    def steps(run: Run) -> None:
        t = run.partition()
        with run.pipeline(t, "output", transactional_id="exactly-once") as pipeline:
            for commit in (True, False, True):
                with run.transaction("source", commit=commit) as transaction:
                    transaction.send(t, 2)
                    transaction.send(run.partition(1))
                assert transaction.ended is not None
                ended.append(transaction.ended.outcome)
            pipeline.wait_processed(6, timeout_s=LIMIT_S)

    run_dir, judged = carried_out(steps, version, tmp_path)
    assert judged.verdict == "as-documented", judged.reasons
    assert ended == ["ok"] * 3
    assert [topic.name for topic in run_dir.read_run().topics] == ["t", "output"]
    source = kinds_of(run_dir, "producer-2")
    assert [source.count(kind) for kind in (schema.BEGIN, schema.COMMIT, schema.ABORT)] == [3, 2, 1]
    # What was aborted is read by nobody but the final reader, and processed by nobody.
    assert kinds_of(run_dir, "processor-1").count(schema.PROCESSED) == 6
    assert sum(len(table) for key, table in open_run(run_dir).tables.items() if key[0] == "output") > 0
