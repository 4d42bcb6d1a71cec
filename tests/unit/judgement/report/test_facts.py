"""Intervals out of events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evidence.errors import UsageError
from evidence.events import Acked, Container, ContainerAction, Controller, Failed, Partition, Send, Step
from evidence.rundir import RunDir
from judgement.report import facts
from tests.unit.judgement.report import synthetic
from tests.unit.timelines import at


def container(ns: int, action: ContainerAction, code: int | None = None) -> Container:
    return at(ns, Container(node="broker-1", action=action, exit_code=code))


def stated(ns: int, leader: int, epoch: int, isr: tuple[int, ...]) -> Partition:
    state = Partition(source="zookeeper", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=isr)
    return at(ns, state)


WHOSE: dict[str, Any] = {"process": "p", "topic": "t", "partition": 0, "producer": 1, "acks": "-1"}


def test_a_process_is_up_frozen_down_and_up_again() -> None:
    actions: list[tuple[int, ContainerAction]] = [(1, "start"), (3, "pause"), (5, "unpause"), (6, "kill")]
    events = [*(container(ns, action) for ns, action in actions), container(7, "die", 137), container(9, "start")]
    intervals = facts.process_intervals(events, 20)["broker-1"]
    assert [(i.begin_ns, i.end_ns, i.value) for i in intervals] == [
        (1, 3, "up"),
        (3, 5, "frozen"),
        (5, 7, "up"),
        (7, 9, "down"),
        (9, 20, "up"),
    ]
    assert intervals[3].detail == "exit code 137"


def test_a_partition_keeps_its_state_until_another_is_stated() -> None:
    events = [stated(1, 1, 0, (1, 2)), stated(2, 1, 0, (1, 2)), stated(5, -1, 1, (2,)), stated(8, 2, 2, (2,))]
    states = facts.partition_intervals(events, 10)["t", 0]
    assert [(s.begin_ns, s.end_ns, s.leader, s.isr) for s in states] == [
        (1, 5, 1, (1, 2)),
        (5, 8, -1, (2,)),
        (8, 10, 2, (2,)),
    ]


def test_the_controller_may_be_nobody() -> None:
    events = [
        at(1, Controller(source="zookeeper", node="broker-4", epoch=1)),
        at(4, Controller(source="zookeeper", node=None, epoch=1)),
    ]
    assert [(i.begin_ns, i.end_ns, i.value) for i in facts.controller_intervals(events, 9)] == [
        (1, 4, "broker-4"),
        (4, 9, ""),
    ]


def test_a_send_is_matched_with_its_own_end() -> None:
    def record(sequence: int) -> dict[str, Any]:
        return WHOSE | {"sequence": sequence}

    events = [
        at(1, Send(**record(0))),
        at(2, Send(**record(1))),
        at(3, Failed(**record(1), outcome="fail", error="X")),
        at(4, Acked(**record(0), outcome="ok", offset=7)),
        at(5, Send(**record(2))),
    ]
    sends = facts.sends_of(events)
    assert [(s.sequence, s.outcome, s.offset, s.error, s.done_ns, s.acks) for s in sends] == [
        (0, "acked", 7, None, 4, "all"),
        (1, "failed", None, "X", 3, "all"),
        (2, "open", None, None, None, "all"),
    ]


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
    assert loaded.process_at("broker-2", loaded.begin_ns + 12_600_000_000) == "down"


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


def test_an_answer_counts_from_when_it_came_not_from_when_it_was_heard() -> None:
    heard = Failed(**WHOSE, sequence=0, invoked_ns=2, completed_ns=5, outcome="info", error="_TIMED_OUT")
    (send,) = facts.sends_of([at(1, Send(**WHOSE, sequence=0)), at(9, heard)])
    assert (send.sent_ns, send.done_ns, send.outcome) == (2, 5, "unknown")
