"""Which losses a documented lost-write covers."""

from __future__ import annotations

from typing import Any

import pytest

from evidence.events import Ends, Event, Fault, Moment, Partition, Send, Target
from evidence.run_state import RunState
from judgement import losses, policy, verdict
from tests.findings import finding, findings
from tests.records import run_record
from tests.unit.judgement.test_verdict import FINDINGS, PROVED, RUN
from tests.unit.timelines import at, sound

NEW: dict[str, Any] = RUN | {"processes": [one | {"expected_loss": False} for one in RUN["processes"]]}


def send(sequence: int, *, expected_loss: bool = False, partition: int = 0) -> Send:
    of: dict[str, Any] = {"process": "producer-1", "topic": "t", "partition": partition, "producer": 1, "acks": "all"}
    event = Send(**of, sequence=sequence, expected_loss=expected_loss)
    return at(sequence, event)


def lost(*sequences: int, count: int | None = None, process: str = "producer-1") -> dict[str, Any]:
    rows = [{"process": process, "producer": 1, "sequence": s, "offset": s, "completed_ns": s} for s in sequences]
    total = len(rows) if count is None else count
    return {
        "anomaly": "lost-write", "topic": "t", "partition": 0, "count": total, "summary": "lost", "evidence": rows
    }  # fmt: skip


def judged(told: dict[str, Any], *events: Event, run: dict[str, Any] = NEW) -> verdict.Verdict:
    record, whole = sound(run_record(run), (*events, *PROVED))
    return policy.judge(record, RunState(whole), findings(FINDINGS | {"findings": [told]}))


def test_the_loss_that_is_expected_is_as_documented() -> None:
    assert judged(lost(3), send(2), send(3, expected_loss=True)).verdict == verdict.AS_DOCUMENTED


@pytest.mark.parametrize(
    "told", [lost(2, 3), lost(2), lost(3, count=2), lost(3, process="producer-2")],
    ids=["another too", "another", "not all are listed", "of another client"],
)  # fmt: skip
def test_the_loss_of_any_other_record_is_unexpected(told: dict[str, Any]) -> None:
    given = judged(told, send(2), send(3, expected_loss=True))
    assert (given.verdict, given.unexpected) == (verdict.UNEXPECTED, ("lost-write",))
    assert "nothing documents this" in given.reasons[0]


def test_a_loss_is_expected_in_its_own_partition_only() -> None:
    assert judged(lost(3), send(3, expected_loss=True, partition=1)).verdict == verdict.UNEXPECTED


def test_where_no_loss_is_expected_every_loss_is_unexpected() -> None:
    assert judged(lost(3), send(3)).verdict == verdict.UNEXPECTED


def test_a_load_is_expected_to_be_lost_as_a_whole() -> None:
    processes = [*NEW["processes"], {"name": "producer-2", "kind": "producer", "expected_loss": True}]
    run = NEW | {"processes": processes, "kafka": "4.3.1"}
    assert judged(lost(1, 2, process="producer-2"), run=run).verdict == verdict.AS_DOCUMENTED
    unlisted = judged(lost(1, 2, process="producer-2", count=5000), run=run)
    assert (unlisted.verdict, "2 of 5000 lost records" in unlisted.reasons[0]) == (verdict.UNKNOWN, True)
    assert judged(lost(1), run=run).verdict == verdict.UNEXPECTED


def kill(ns: int, kind: str = "kill") -> Fault:
    return at(ns, Fault(fault_kind=kind, id="f1", phase="inject", target=Target(node="broker-1"), description=kind))


def led(ns: int, leader: int, epoch: int) -> Partition:
    state = Partition(source="kraft", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=(1, 2))
    return at(ns, state)


MARKS = {"broker-1": {"t-0": Ends(leo=4, hw=3)}, "broker-2": {"t-0": Ends(hw=4)}}
COPIED = at(5, Moment(name="00-armed", nodes=MARKS, begun_ns=5))
EARLY: list[Event] = [led(0, 1, 0), kill(4), COPIED]
LATE: list[Event] = [led(0, 1, 0), COPIED, kill(6)]


LOAD = RUN | {"processes": [{"name": "producer-1", "kind": "producer", "expected_loss": True}]}


def test_of_a_load_the_loss_of_what_every_replica_had_committed_is_never_covered() -> None:
    early = losses.undocumented(run_record(LOAD), RunState(tuple(LATE)), [finding(lost(1, 2, 3))])
    assert early == [
        "lost-write in t-0: m1 of producer-1, m2 of producer-1 lost, acknowledged before the first fault and below "
        "every replica's high watermark"
    ]


@pytest.mark.parametrize(
    ("events", "sequences"),
    [(LATE, (3,)), (EARLY[:2], (1, 2)), (EARLY, (1, 2)), ([led(0, 1, 0), COPIED, kill(6, "power-loss")], (1, 2))],
    ids=["above", "never copied", "copied after the fault", "power was lost"],
)
def test_any_other_loss_of_a_load_is_covered(events: list[Event], sequences: tuple[int, ...]) -> None:
    assert losses.undocumented(run_record(LOAD), RunState(tuple(events)), [finding(lost(*sequences))]) == []


def test_a_user_of_settings_of_his_own_who_expects_a_loss_is_not_held_to_names() -> None:
    run = NEW | {"observed": True, "expect": ["lost-write"]}
    assert judged(lost(1), send(1), run=run).verdict == verdict.OBSERVED
