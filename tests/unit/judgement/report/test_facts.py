"""Intervals out of events."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence.errors import UsageError
from evidence.events import Step
from evidence.rundir import RunDir
from judgement.report import facts
from tests.unit.judgement.report import synthetic
from tests.unit.timelines import at


def test_a_step_that_never_ended_is_kept() -> None:
    events = [
        at(1, Step(name="a", phase="begin")),
        at(2, Step(name="a", phase="end")),
        at(3, Step(name="b", phase="begin")),
    ]
    assert [(s.name, s.end_ns) for s in facts.steps_of(events)] == [("a", 2), ("b", None)]


def test_a_whole_run(tmp_path: Path) -> None:
    loaded = facts.load(synthetic.double_failover_lost(tmp_path))
    assert loaded.brokers == ("broker-1", "broker-2", "broker-3", "broker-4")
    assert loaded.nodes[-1] == "zookeeper"
    assert loaded.verdict.verdict == "as-documented"
    assert [f.status for f in loaded.faults] == ["proved"] * 4
    assert [m.label for m in loaded.moments] == ["armed", "final"]
    assert loaded.record_name(1, 3) == "m3"
    assert loaded.condition_at("broker-2", loaded.begin_ns + 12_600_000_000) == "down"


def test_two_producers_are_told_apart(tmp_path: Path) -> None:
    run = synthetic.Synthetic(tmp_path, "baseline", "2.8.2")
    run.send(1.0, 0, 0)
    run.send(2.0, 0, 1, producer=2, process="producer-2")
    assert facts.load(run.write(ended_s=3.0)).record_name(2, 0) == "m0 of producer 2"


def test_what_is_missing_or_not_a_run_is_one_line(tmp_path: Path) -> None:
    good = synthetic.double_failover_kept(tmp_path)
    loaded, unreadable = facts.load_all([RunDir(tmp_path / "nothing"), good])
    assert [f.run_dir for f in loaded] == [good]
    assert len(unreadable) == 1
    with pytest.raises(UsageError, match="no such run directory"):
        facts.load(RunDir(tmp_path / "nothing"))


def test_a_run_with_nothing_but_run_json_has_facts(tmp_path: Path) -> None:
    run_dir = synthetic.failed(tmp_path)
    run_dir.timeline.unlink()
    loaded = facts.load(run_dir)
    assert loaded.damaged == ("timeline.jsonl: missing",)
    assert loaded.verdict.verdict == "error"
