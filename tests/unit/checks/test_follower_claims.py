"""Claims about who serves consumers, each on histories that show it, contradict it, or neither.

t-0 is led by broker 1, and broker 2 follows; u-0 is led by broker 3.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Acked, Event, Fault, FaultPhase, Partition, Position, Send, Target
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

MS: Final = 1_000_000
Timed = tuple[float, Event]
RECORD: dict[str, Any] = {
    "process": "p", "topic": "t", "partition": 0, "producer": 1, "sequence": 3, "acks": "all"
}  # fmt: skip
NEAR: Final = {"name": "near", "kind": "consumer", "settings": {"client.rack": "west"}}
FAR: Final = {"name": "far", "kind": "consumer", "settings": {}}
SETTINGS: Final = {"1:broker.rack": "east", "2:broker.rack": "west", "3:broker.rack": "east"}
LED: list[Timed] = [
    (1.0, Partition(source="zookeeper", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2), version=0)),
    (1.0, Partition(source="zookeeper", topic="u", partition=0, leader=3, leader_epoch=0, isr=(3, 2), version=0)),
]
SENT = (12.0, Send(**RECORD))


def fault(phase: FaultPhase, kind: str) -> Fault:
    links = {"cut": (("broker-1", "broker-2"), ("broker-2", "broker-1")), "hold": (("broker-1", "clients"),)}
    return Fault(
        fault_kind=kind, id="f1", phase=phase, target=Target(node="broker-1"), description=kind, links=links[kind]
    )


def acked(second: float) -> Timed:
    return (second, Acked(**RECORD, outcome="ok", offset=3))


def read(process: str, second: float, topic: str = "t", offset: int = 4) -> Timed:
    read_ns = int(second * 1000) * MS
    return (second, Position(process=process, topic=topic, partition=0, offset=offset, read_ns=read_ns))


def struck(kind: str) -> list[Timed]:
    return [*LED, (10, fault("inject", kind)), (11, fault("verified", kind)), (20, fault("heal", kind))]


def outcome(name: str, *events: Timed, settings: dict[str, str] | None = None) -> str:
    timed = tuple(at(int(second * 1000) * MS, event) for second, event in sorted(events, key=lambda event: event[0]))
    topics = [{"name": "t", "partitions": {0: (1, 2, 3)}, "settings": {}}]
    topics += [{"name": "u", "partitions": {0: (3, 2, 1)}, "settings": {}}]
    run = {"topics": topics, "processes": [NEAR, FAR], "settings": SETTINGS if settings is None else settings}
    return claims.judge(name, RunEvidence(run=run_record(run), run_state=RunState(timed))).outcome


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([SENT, acked(21), read("far", 22), read("far", 14, "u")], HELD),
        ([SENT, acked(21), read("far", 15)], CONTRADICTED),
        ([SENT, acked(21), read("near", 15), read("far", 22), read("far", 14, "u")], CONTRADICTED),
        ([SENT, acked(21), read("far", 22)], NOT_OBSERVED),
        ([SENT, acked(21), read("far", 22), read("far", 11.5, "u")], NOT_OBSERVED),
        ([SENT, acked(15), read("far", 16), read("far", 14, "u")], NOT_OBSERVED),
        ([(9.0, SENT[1]), acked(21), read("far", 22), read("far", 14, "u")], NOT_OBSERVED),
        ([SENT, read("far", 22), read("far", 14, "u")], NOT_OBSERVED),
    ],
    ids=[
        "when answers came",
        "meanwhile",
        "one of two meanwhile",
        "read nothing meanwhile",
        "read others before",
        "it was answered",
        "sent before",
        "its place is not known",
    ],
)
def test_the_leader_alone_serves(events: list[Timed], expected: str) -> None:
    assert outcome("only-leader-serves-consumer", *struck("hold"), *events) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([SENT, acked(21), read("near", 14), read("far", 22)], HELD),
        ([SENT, acked(21), read("near", 22), read("far", 14)], CONTRADICTED),
        ([SENT, acked(21), read("far", 22)], CONTRADICTED),
        ([SENT, acked(21), read("near", 14, offset=3)], CONTRADICTED),
        ([SENT, acked(15), read("near", 14)], NOT_OBSERVED),
    ],
    ids=["given", "given later", "never given", "given what was before", "it was answered"],
)
def test_the_closest_replica_serves(events: list[Timed], expected: str) -> None:
    assert outcome("closest-replica-serves-consumer", *struck("hold"), *events) == expected
    assert outcome("closest-replica-serves-consumer", *struck("hold"), *events, settings={}) == NOT_OBSERVED


BEHIND: list[Timed] = [SENT, acked(13), read("far", 14), read("near", 15, "u")]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*BEHIND, read("near", 22)], HELD),
        ([*BEHIND, read("near", 14.5)], CONTRADICTED),
        (BEHIND, CONTRADICTED),
        ([SENT, acked(13), read("far", 14), read("near", 22)], NOT_OBSERVED),
        ([SENT, acked(13), read("far", 21), read("near", 15, "u"), read("near", 22)], NOT_OBSERVED),
        ([SENT, acked(21), read("far", 14), read("near", 15, "u"), read("near", 22)], NOT_OBSERVED),
    ],
    ids=[
        "after the heal",
        "meanwhile",
        "never",
        "read nothing meanwhile",
        "the leader's has not either",
        "acknowledged after the heal",
    ],
)
def test_a_follower_serves_to_its_own_high_watermark(events: list[Timed], expected: str) -> None:
    assert outcome("follower-serves-to-its-high-watermark", *struck("cut"), *events) == expected
    assert outcome("follower-serves-to-its-high-watermark", *struck("cut"), *events, settings={}) == NOT_OBSERVED
