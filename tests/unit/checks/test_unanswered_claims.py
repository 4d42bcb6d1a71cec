"""Claims about records whose outcome is not known, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Acked, Ends, Event, Failed, Fault, FaultPhase, Handed, Moment, Partition, Send, Target
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
Timed = tuple[float, Event]
RECORD: dict[str, Any] = {
    "process": "p", "topic": "t", "partition": 0, "producer": 1, "sequence": 3, "acks": "all"
}  # fmt: skip
LED = (1.0, Partition(source="zookeeper", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2), version=0))
SENT = (12.0, Send(**RECORD))
TIMED_OUT = (15.0, Failed(**RECORD, outcome="info", error="_MSG_TIMED_OUT"))


def fault(phase: FaultPhase, kind: str = "hold", id_: str = "f1") -> Fault:
    return Fault(fault_kind=kind, id=id_, phase=phase, target=Target(node="broker-1"), description=kind)


def acked(second: float) -> Timed:
    return (second, Acked(**RECORD, outcome="ok", offset=3))


def copied(second: float, log_end: int, node: str = "broker-1") -> Timed:
    return (second, Moment(name="00-copied", nodes={node: {"t-0": Ends(leo=log_end)}}, begun_ns=int(second * 1e9)))


HELD_BACK: list[Timed] = [LED, (10, fault("inject")), (11, fault("verified")), (20, fault("heal"))]
Read = dict[tuple[int, int], tuple[int, ...]]
READ: Read = {(1, 3): (3,)}


def judged(name: str, *events: Timed, read: Read | None = READ) -> ClaimResult:
    timed = tuple(at(int(second * 1000) * MS, event) for second, event in sorted(events, key=lambda event: event[0]))
    return claims.judge(name, RunEvidence(run=run_record({}), run_state=RunState(timed), read_at=lambda *_: read))


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([SENT, copied(14, 4), acked(21)], HELD),
        ([SENT, copied(14, 4)], HELD),
        ([SENT, copied(14, 4), TIMED_OUT], HELD),
        ([SENT, copied(14, 4), acked(15)], CONTRADICTED),
        ([SENT, copied(14, 4), (13, fault("inject", "reset", "f2"))], NOT_OBSERVED),
        ([SENT, copied(14, 4), (14.5, fault("inject", "reset", "f2")), acked(14.8)], HELD),
        ([SENT, copied(14, 3), acked(21)], NOT_OBSERVED),
        ([SENT, copied(14, 4, "broker-2"), acked(21)], NOT_OBSERVED),
        ([SENT, copied(11.5, 4), acked(21)], NOT_OBSERVED),
        ([SENT, copied(21, 4), acked(22)], NOT_OBSERVED),
        ([(9.0, SENT[1]), copied(14, 4), acked(21)], NOT_OBSERVED),
    ],
    ids=[
        "answered after the heal",
        "never answered",
        "given up",
        "answered all the while",
        "copied after the connections were reset",
        "answered after the reset",
        "the log ends before it",
        "on a follower's disk",
        "copied before it was sent",
        "copied after the heal",
        "sent before",
    ],
)
def test_a_record_on_the_disk_whose_answer_is_held_back(events: list[Timed], outcome: str) -> None:
    assert judged("unanswered-record-on-disk", *HELD_BACK, *events).outcome == outcome


def test_without_a_proved_hold_nothing_is_shown() -> None:
    events = [SENT, copied(14, 4), acked(21)]
    assert judged("unanswered-record-on-disk", *HELD_BACK[:2], *events).outcome == NOT_OBSERVED
    assert judged("unanswered-record-on-disk", *HELD_BACK, *events, read={}).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    ("events", "read", "present", "absent"),
    [
        ([SENT, TIMED_OUT], READ, HELD, CONTRADICTED),
        ([SENT, TIMED_OUT], {}, CONTRADICTED, HELD),
        ([SENT, (12.1, Handed(**RECORD))], READ, HELD, CONTRADICTED),
        ([SENT, (12.1, Handed(**RECORD))], {}, CONTRADICTED, HELD),
        ([SENT], {}, NOT_OBSERVED, NOT_OBSERVED),
        ([SENT, acked(21)], READ, NOT_OBSERVED, NOT_OBSERVED),
        ([SENT, TIMED_OUT], None, NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=[
        "given up, and read",
        "given up, and not read",
        "taken, and read",
        "taken, and not read",
        "not known to have been taken",
        "acknowledged",
        "nobody read to the end",
    ],
)
def test_records_of_unknown_outcome(events: list[Timed], read: Read | None, present: str, absent: str) -> None:
    assert judged("unknown-record-in-log", *events, read=read).outcome == present
    assert judged("unknown-record-not-in-log", *events, read=read).outcome == absent


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([TIMED_OUT, copied(16, 3)], HELD),
        ([TIMED_OUT, copied(14, 3)], NOT_OBSERVED),
        ([TIMED_OUT, copied(16, 4)], NOT_OBSERVED),
        ([acked(15), copied(16, 3)], NOT_OBSERVED),
    ],
    ids=["written afterwards", "copied before it was given up", "there already", "acknowledged"],
)
def test_a_record_that_is_written_after_its_client_gave_up(events: list[Timed], outcome: str) -> None:
    assert judged("unknown-record-comes-late", LED, SENT, *events).outcome == outcome
    assert judged("unknown-record-comes-late", LED, SENT, *events, read={}).outcome == NOT_OBSERVED
