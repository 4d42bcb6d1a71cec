"""Where a group of consumers of 0.8 has its offset: histories that show each place, contradict it, or neither."""

from __future__ import annotations

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Event, OffsetAnswer, ZnodeOffset
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

ZOOKEEPER, KAFKA, BOTH = "offset-in-zookeeper-alone", "offset-in-kafka-alone", "offset-in-both"
PATH = "/consumers/g/offsets/t/0"


def znode(at_ns: int, content: str | None, path: str = PATH) -> ZnodeOffset:
    return at(at_ns, ZnodeOffset(group="g", topic="t", partition=0, path=path, content=content))


def answer(at_ns: int, offset: int | None, error: str | None = None, group: str = "g") -> OffsetAnswer:
    told = OffsetAnswer(group=group, topic="t", partition=0, offset=offset, error=error, asked_ns=at_ns - 1)
    return at(at_ns, told)


def outcome(name: str, *events: Event) -> str:
    return claims.judge(name, RunEvidence(run=run_record(), run_state=RunState(events))).outcome


@pytest.mark.parametrize(
    ("content", "coordinator", "held"),
    [("10", None, ZOOKEEPER), (None, 10, KAFKA), ("10", 10, BOTH), ("10", 9, None), (None, None, None)],
    ids=["in ZooKeeper", "in Kafka", "in both", "they differ", "nowhere"],
)
def test_where_an_offset_is(content: str | None, coordinator: int | None, held: str | None) -> None:
    events = znode(10, content), answer(20, coordinator)
    for name in (ZOOKEEPER, KAFKA, BOTH):
        assert outcome(name, *events) == (HELD if name == held else CONTRADICTED)


def test_the_znode_has_a_documented_place_and_decimal_digits() -> None:
    assert outcome(ZOOKEEPER, znode(10, "10", "/consumers/g/offsets/t/1"), answer(20, None)) == CONTRADICTED
    assert outcome(ZOOKEEPER, znode(10, "ten"), answer(20, None)) == CONTRADICTED


@pytest.mark.parametrize(
    "events",
    [
        (znode(10, "10"),),
        (answer(20, 10),),
        (answer(5, 10), znode(10, "10")),
        (znode(10, "10"), answer(20, None, "COORDINATOR_LOAD_IN_PROGRESS")),
        (znode(10, "10"), answer(20, 10, group="another")),
    ],
    ids=["nobody asked", "nobody read", "asked before", "no answer", "another group"],
)
def test_nothing_is_said_unless_both_are_read(events: tuple[Event, ...]) -> None:
    for name in (ZOOKEEPER, KAFKA, BOTH):
        assert outcome(name, *events) == NOT_OBSERVED


def test_the_last_time_that_both_were_read_decides() -> None:
    moved = znode(10, "20"), answer(20, None), znode(30, "25"), answer(40, 25)
    assert outcome(BOTH, *moved) == HELD
    assert outcome(BOTH, *moved, answer(50, 30), znode(60, "30")) == HELD
    assert outcome(BOTH, *moved, znode(60, "30"), answer(70, 31)) == CONTRADICTED
