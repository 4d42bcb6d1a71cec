"""The evidence that claims are judged by, from the histories of a run."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from analysis.run_evidence import evidence_of
from evidence.run_state import RunState
from tests.unit.analysis.runs import make_run
from tests.unit.checks.histories import sent


def test_what_an_idempotent_producer_sends_beside_a_load_is_told_apart(tmp_path: Path) -> None:
    run_dir = make_run(
        tmp_path / "run",
        {
            "producer-1": [sent(0, 0), sent(1, 2)],
            "producer-2": [sent(0, 1, producer=2)],
        },
    )
    run = run_dir.read_run()
    load, beside = run.processes
    marked = replace(run, processes=(load, replace(beside, beside=True)))
    evidence = evidence_of(run_dir, marked, RunState(()))
    assert (len(evidence.acknowledged("t", 0)), len(evidence.acknowledged_in_all("t", 0))) == (2, 3)
    assert evidence_of(run_dir, run, RunState(())).acknowledged("t", 0) == evidence.acknowledged_in_all("t", 0)
