"""Claims about a broker whose disk is slow, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Acked, Broker, Event, Fault, FaultPhase, Partition, Target
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at

RUN = {"kafka": "2.8.2", "settings": {"replica.lag.time.max.ms": "6000"}}
RATE = 2048
"""Bytes a second: a page takes 2 s."""
Timed = tuple[float, Event]
NUMBERS = count()


def ns(second: float) -> int:
    return int(second * 1000) * 1_000_000


def struck(node: str = "broker-2", *, healed: float = 60, proved: bool = True) -> list[Timed]:
    phases: list[tuple[float, FaultPhase]] = [(10, "inject"), (11, "verified"), (healed, "heal"), (healed, "healed")]
    return [
        (
            second,
            Fault(
                fault_kind="slow-disk",
                id="f1",
                phase=phase,
                target=Target(node=node),
                description="slow",
                proof=proof_of("slow-disk", bytes_per_s=RATE) if phase == "verified" else None,
            ),
        )
        for second, phase in phases
        if proved or phase != "verified"
    ]


def state(leader: int, *isr: int) -> Partition:
    return Partition(source="kraft", topic="t", partition=0, leader=leader, leader_epoch=0, isr=isr)


def sent(begin: float, records: int, took_ms: float, acks: str = "all") -> list[Timed]:
    """Records sent from a second on, one after the other, each acknowledged after so long."""
    found = list[Timed]()
    for number in range(records):
        invoked = begin + number * took_ms / 1000
        done = invoked + took_ms / 1000
        record: dict[str, Any] = {"process": "producer-1", "topic": "t", "partition": 0, "producer": 1, "acks": acks}
        record |= {"sequence": next(NUMBERS), "invoked_ns": ns(invoked), "completed_ns": ns(done)}
        found.append((done, Acked(outcome="ok", offset=number, **record)))
    return found


LED: list[Timed] = [
    (1, state(1, 1, 2, 3)),
    *((1, Broker(source="kraft", node=f"broker-{n}", state="unfenced")) for n in (1, 2, 3)),
]
OUT, BACK = state(1, 1, 3), state(1, 1, 2, 3)
AFTER: Timed = (70, BACK)


def judged(name: str, *events: Sequence[Timed]) -> ClaimResult:
    in_order = sorted((one for each in events for one in each), key=lambda one: one[0])
    run_state = RunState(tuple(at(ns(second), event) for second, event in in_order))
    return claims.judge(name, RunEvidence(run=run_record(RUN), run_state=run_state))


def outcome(name: str, *events: Sequence[Timed]) -> Any:
    return judged(name, *events).outcome


USUAL = sent(2, 5, 3)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*struck(), *sent(12, 4, 2000)], HELD),
        ([*struck(), *sent(12, 4, 1000)], HELD),
        ([*struck(), *sent(12, 4, 900)], CONTRADICTED),
        ([*struck(), *sent(12, 2, 2000)], NOT_OBSERVED),
        ([*struck(), *sent(61, 4, 3)], NOT_OBSERVED),
        ([*struck(proved=False), *sent(12, 4, 3)], NOT_OBSERVED),
        ([*struck(), *sent(12, 4, 3, acks="1")], NOT_OBSERVED),
        ([*struck(), (12, OUT), *sent(13, 4, 3)], NOT_OBSERVED),
        ([*struck(), (14, OUT), *sent(13, 4, 4000)], NOT_OBSERVED),
        ([*struck("broker-1"), *sent(12, 4, 2000, acks="1")], HELD),
        ([*struck("broker-1"), *sent(12, 4, 3, acks="1"), *sent(13, 4, 2000)], CONTRADICTED),
    ],
    ids=[
        "a page each",
        "half a page",
        "less",
        "too few",
        "healed",
        "not proved",
        "acks=1",
        "out of the ISR",
        "left meanwhile",
        "the leader's, acks=1",
        "the leader's, not waited for with acks=1",
    ],
)
def test_acks_wait_for_a_slow_disk(events: list[Timed], expected: str) -> None:
    assert outcome("acks-wait-for-slow-disk", LED, USUAL, events, [AFTER]) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*struck(), *sent(12, 4, 3, acks="1")], HELD),
        ([*struck(), *sent(12, 4, 1000, acks="1")], CONTRADICTED),
        ([*struck(), (12, OUT), *sent(13, 4, 3)], HELD),
        ([*struck(), (12, OUT), *sent(13, 4, 1000)], CONTRADICTED),
        ([*struck(), *sent(12, 4, 2000)], NOT_OBSERVED),
        ([*struck("broker-1"), *sent(12, 4, 3, acks="1")], NOT_OBSERVED),
        ([*struck(), *sent(2, 4, 1000, acks="1")], NOT_OBSERVED),
    ],
    ids=["acks=1", "acks=1 waits", "out of the ISR", "it is waited for", "in the ISR", "the leader's", "before"],
)
def test_others_do_not_wait(events: list[Timed], expected: str) -> None:
    assert outcome("others-do-not-wait-for-slow-disk", LED, USUAL, events, [AFTER]) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*struck(), *sent(12, 4, 2000), AFTER], HELD),
        ([*struck(), *sent(12, 4, 2000), (57, OUT), AFTER], CONTRADICTED),
        ([*struck(), *sent(12, 4, 2000), (65, OUT), AFTER], HELD),
        ([*struck(), AFTER], NOT_OBSERVED),
        ([*struck("broker-1"), *sent(12, 4, 2000), AFTER], NOT_OBSERVED),
    ],
    ids=["all the time", "left", "left later", "not written to", "the leader's"],
)
def test_a_slow_follower_stays_in_the_isr(events: list[Timed], expected: str) -> None:
    assert outcome("slow-follower-stays-in-isr", LED, events) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*struck(), *sent(20, 1, 7000), (27, OUT), AFTER], HELD),
        ([*struck(), *sent(20, 1, 11000), (31, OUT), AFTER], CONTRADICTED),
        ([*struck(), *sent(20, 1, 3), AFTER], CONTRADICTED),
        ([*struck(), *sent(20, 1, 7000), (27, OUT), (35, BACK), AFTER], HELD),
        ([*struck(), *sent(20, 1, 7000), (27, OUT), (35, BACK), *sent(36, 1, 3), AFTER], CONTRADICTED),
        ([*struck(), *sent(20, 1, 7000), (27, OUT), (35, BACK), *sent(36, 1, 6000), (42, OUT), AFTER], HELD),
        ([*struck(), *sent(20, 1, 7000), (27, OUT), *sent(28, 1, 3), AFTER], HELD),
        ([*struck("broker-1"), *sent(20, 1, 7000), AFTER], NOT_OBSERVED),
        ([*struck(), AFTER], NOT_OBSERVED),
    ],
    ids=[
        "in time",
        "late",
        "never",
        "once",
        "not the second time",
        "twice",
        "on without it",
        "the leader's",
        "nothing",
    ],
)
def test_a_slower_follower_leaves_the_isr(events: list[Timed], expected: str) -> None:
    assert outcome("slow-follower-leaves-isr", LED, events) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([(27, OUT), (35, BACK), (45, OUT), (50, BACK)], HELD),
        ([(27, OUT), (35, BACK), (45, OUT)], CONTRADICTED),
        ([(27, OUT), (35, BACK)], CONTRADICTED),
        ([(27, OUT), (35, BACK), (45, OUT), (65, BACK)], CONTRADICTED),
        ([(65, OUT), (66, BACK)], NOT_OBSERVED),
        ([], NOT_OBSERVED),
    ],
    ids=["twice", "not the last time", "once", "back when it was healed", "after the heal", "it stayed"],
)
def test_a_slower_follower_returns(changes: list[Timed], expected: str) -> None:
    assert outcome("slow-follower-returns-to-isr", LED, struck(), changes, [AFTER]) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (struck("broker-1"), HELD),
        ([*struck("broker-1"), (30, state(2, 2, 3))], CONTRADICTED),
        ([*struck("broker-1"), (30, state(1, 1, 3))], CONTRADICTED),
        ([*struck("broker-1"), (30, Broker(source="kraft", node="broker-1", state="fenced"))], CONTRADICTED),
        ([*struck("broker-1"), (65, state(2, 2, 3))], HELD),
        (struck(), NOT_OBSERVED),
    ],
    ids=["all the time", "another led", "a follower left", "it was fenced", "another led later", "a follower's disk"],
)
def test_a_slow_leader_keeps_leading(events: list[Timed], expected: str) -> None:
    assert outcome("slow-leader-keeps-leading", LED, events, [AFTER]) == expected


def test_figures_of_latency_are_told() -> None:
    events = [*LED, *USUAL, *struck(), *sent(12, 4, 2000), *sent(30, 4, 5, acks="1"), AFTER]
    said = [judged(name, events).observed for name in ("acks-wait-for-slow-disk", "others-do-not-wait-for-slow-disk")]
    assert said == [
        "median latency 2000 ms with acks=all while the slow disk counts, 3 ms before; a page takes 2000 ms",
        "median latency 5 ms with acks=1 while the slow disk does not count; a page takes 2000 ms",
    ]
