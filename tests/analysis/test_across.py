"""The checks that cross partitions, on Spark: the same findings as in one process, evidence included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from analysis.across import GatheredRow, in_one_process, on_spark
from analysis.check import check_run
from analysis.job import check_runs
from analysis.spark import open_context
from tests.findings import timeless
from tests.properties import examples
from tests.unit.analysis.histories_of_transactions import told
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import final_read, polled, sent

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    context = open_context("local[2]", str(tmp_path_factory.mktemp("spark")))
    yield context
    context.stop()


def test_spark_finds_in_transactions_what_one_process_finds(spark: Any) -> None:
    """Many random runs in one job, since a job takes a second whatever it has to do."""
    results = {f"run-{seed}": told(Random(seed)) for seed in range(examples(400))}
    rows = [
        GatheredRow(run, kind, (number, place), row)
        for run, of_run in results.items()
        for number, result in enumerate(of_run)
        for kind, own in result.gathered.items()
        for place, row in enumerate(own)
    ]
    found = on_spark(spark.parallelize(rows[::-1], 4), results)
    seen = {finding.anomaly for one in found.values() for finding in one.findings}
    assert seen == {"torn-transaction", "transaction-half-committed", "G0", "G1c"}
    assert {run: one.findings for run, one in found.items()} == {
        run: in_one_process(one).findings for run, one in results.items()
    }


def test_a_run_with_transactions_is_judged_alike(spark: Any, tmp_path: Path) -> None:
    """Two transactions are interleaved in two partitions, and one of them is torn."""
    rows = [
        sent(0, 0, process="w", transaction=1),
        sent(1, 1, process="w", transaction=2, invoked_ns=11),
        sent(10, 1, process="w", transaction=1, partition=1, invoked_ns=12),
        sent(11, 0, process="w", transaction=2, partition=1, invoked_ns=13),
        sent(12, 2, process="w", transaction=2, partition=1, invoked_ns=14),
        {"kind": "commit", "outcome": "ok", "process": "w", "transaction": 1, "topic": None, "partition": None},
        {"kind": "commit", "outcome": "ok", "process": "w", "transaction": 2, "topic": None, "partition": None},
    ]
    read = [
        *(polled(0, 0), polled(1, 1), final_read(2)),
        *(one | {"partition": 1} for one in (polled(0, 11), polled(1, 10), final_read(3))),
    ]
    runs = [
        make_run(tmp_path / "torn", {"w": rows, "final-read-1": read}, partitions=2),
        make_run(tmp_path / "sound", {"producer-1": [sent(0, 0)], "final-read-1": [polled(0, 0), final_read(1)]}),
    ]
    found = check_runs(spark, runs)
    assert {one.anomaly for one in found[str(runs[0].path)].findings} >= {"torn-transaction", "G0"}
    for run in runs:
        assert timeless(found[str(run.path)]) == timeless(check_run(run))
