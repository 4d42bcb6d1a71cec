"""What Kafka owes after the storm and, in a timeline that somebody forged, did not do: each time it is found.

`make sabotage` does the same to fresh runs (tests/sabotage/files.py); here it is done to one that is kept.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from evidence.rundir import RunDir
from judgement.report.facts import judge_run
from tests.sabotage import files
from tests.sabotage.__main__ import anomalies_of, forge, verdict_of

KEPT = Path(__file__).parents[2] / "data" / "runs" / "double-failover-4.3.1.tar.xz"


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    with tarfile.open(KEPT) as tar:
        tar.extractall(tmp_path, filter="data")
    return RunDir(tmp_path)


@pytest.mark.parametrize("case", [case for case in files.DUTIES if case.finds], ids=lambda case: case.finds)
def test_what_kafka_did_not_do_is_unexpected(case: files.Case, run_dir: RunDir) -> None:
    assert case.damage(run_dir, {})
    forge(run_dir)
    verdict, reason = verdict_of(run_dir)
    assert (verdict, case.finds in anomalies_of(run_dir)) == ("unexpected", True), reason
    assert any(case.finds in one for one in judge_run(run_dir).verdict.reasons)


def test_a_run_to_which_nothing_was_done_has_none_of_these(run_dir: RunDir) -> None:
    forge(run_dir)
    assert verdict_of(run_dir) == ("as-documented", "")
    assert anomalies_of(run_dir).isdisjoint(case.finds for case in files.DUTIES)
