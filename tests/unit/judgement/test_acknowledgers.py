"""Who can have acknowledged a lost record, and which leader's loss is not documented."""

from __future__ import annotations

from typing import Any

import pytest

from evidence.events import Container, Event, Fault, FaultPhase, Log, LogKind, Partition, Target
from evidence.run_state import RunState
from judgement import losses
from tests.findings import finding
from tests.records import run_record
from tests.unit.judgement.test_losses import LOAD, kill, led
from tests.unit.timelines import at

SECOND = losses.SECOND_NS


def stated(at_s: int, leader: int, epoch: int) -> Partition:
    return led(at_s * SECOND, leader, epoch, (1, 2))


def says(at_s: float, node: str, event: LogKind, epoch: int | None, offset: int | None) -> Log:
    line = Log(
        node=node, event=event, topic="t", partition=0, leader_epoch=epoch, offset=offset, line="starts at leader epoch"
    )
    return at(round(at_s * SECOND), line)


PHASES: tuple[tuple[int, FaultPhase], ...] = ((20, "inject"), (21, "verified"), (40, "heal"), (41, "healed"))
CUT = [
    at(at_s * SECOND, Fault(fault_kind="cut", id="c", phase=phase, target=Target(node="broker-1"), description="cut"))
    for at_s, phase in PHASES
]
ISOLATED: list[Event] = [
    stated(1, 1, 0),
    says(1, "broker-1", "become-leader", 0, 0),
    *CUT,
    stated(25, 2, 1),
    says(25, "broker-2", "become-leader", 1, 10),
    says(41, "broker-1", "become-follower", 1, 15),
]
"""broker-1 is cut off, and acknowledges offsets 10 to 14 while broker-2 leads, until it learns that."""
TOLD = [event for event in ISOLATED if not isinstance(event, Log)]
LOADED = run_record(LOAD | {"kafka": "4.3.1"})


def lost_at(*records: tuple[float, int]) -> dict[str, Any]:
    """Lost records, each sent at a second and acknowledged at an offset."""
    rows = [
        {
            "process": "producer-1",
            "producer": 1,
            "sequence": number,
            "offset": offset,
            "invoked_ns": round(sent_s * SECOND),
            "completed_ns": round((sent_s + 0.1) * SECOND),
        }
        for number, (sent_s, offset) in enumerate(records)
    ]
    return {
        "anomaly": "lost-write", "topic": "t", "partition": 0, "count": len(rows), "summary": "lost", "evidence": rows
    }  # fmt: skip


def lines(told: dict[str, Any], events: list[Event]) -> list[str]:
    run_state = RunState(tuple(sorted(events, key=lambda event: event.at_ns)))
    return losses.undocumented(LOADED, run_state, (finding(told),))


@pytest.mark.parametrize(
    "told",
    [lost_at((30, 12)), lost_at((30, 10), (31, 11)), lost_at((41.5, 14)), lost_at((30, 12), (30, 13))],
    ids=["while it was cut off", "from where they parted", "until it had learnt that", "two"],
)
def test_what_the_old_leader_acknowledged_may_be_lost(told: dict[str, Any]) -> None:
    assert lines(told, ISOLATED) == []


@pytest.mark.parametrize(
    "told",
    [lost_at((43, 12)), lost_at((30, 15)), lost_at((30, 9))],
    ids=["later", "beyond the old leader's log", "before they parted"],
)
def test_what_its_successor_acknowledged_must_not_be(told: dict[str, Any]) -> None:
    (line,) = lines(told, ISOLATED)
    assert "lost, and no leader that can have acknowledged them (broker-" in line
    assert lines(told, TOLD) == []


def test_each_leader_acknowledges_an_offset_once() -> None:
    for events in (ISOLATED, TOLD):
        (line,) = lines(lost_at((30, 12), (31, 12)), events)
        assert line.endswith(
            "m1 of producer-1 lost, and no leader that can have acknowledged them (broker-1 in epoch "
            "0, broker-2 in epoch 1) can have lost them"
        )


@pytest.mark.parametrize(
    ("more", "covered"),
    [
        ([stated(50, 1, 2), says(50, "broker-1", "become-leader", 2, 12)], True),
        ([stated(50, 1, 2), says(50, "broker-1", "become-leader", 2, 13)], False),
        ([stated(50, 1, 2)], True),
        ([stated(50, 1, 3)], True),
        ([at(50 * SECOND, Container(node="broker-2", action="die", time_nano=1))], True),
        ([at(50 * SECOND, Container(node="broker-1", action="die", time_nano=1))], False),
        ([kill(10 * SECOND, "flip")], True),
    ],
    ids=[
        "another leads without it",
        "another leads with it",
        "nobody says with what",
        "epochs were missed",
        "the successor dies",
        "the old one dies",
        "a file was damaged",
    ],
)
def test_a_successor_may_lose_what_it_acknowledged_for_reasons_of_its_own(more: list[Event], covered: bool) -> None:
    assert (lines(lost_at((43, 12)), [*ISOLATED, *more]) == []) == covered
