"""Elections of who was not in sync: what is one, and where Kafka permits it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from checks.anomalies.unclean import unclean_election
from checks.catalogue import permitted
from evidence.events import Broker, Controller, DeleteTopic, Event, Missed, Partition, Step
from evidence.findings import Finding, Row
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.checks.test_availability_anomalies import SECOND, blind, run_state_of
from tests.unit.timelines import at

UNCLEAN = "unclean.leader.election.enable"
ON, OFF = {UNCLEAN: "true"}, {UNCLEAN: "false"}


def led(at_s: float, leader: int, isr: tuple[int, ...], epoch: int = 0, **more: Any) -> Partition:
    about: dict[str, Any] = {"source": "kraft", "topic": "t", "partition": 0, "replicas": (1, 2, 3)} | more
    return at(round(at_s * SECOND), Partition(leader=leader, leader_epoch=epoch, isr=isr, **about))


def of_zookeeper(at_s: float, leader: int, isr: tuple[int, ...], version: int) -> Partition:
    return led(at_s, leader, isr, version, version=version, source="zookeeper")


ALONE = led(20, 1, (1,))
GONE = led(25, -1, (1,), 1)
ELECTED = led(30, 3, (3,), 2)
ENDED = led(30, 3, (4, 3), 1, replicas=(3, 2, 4), adding=(), removing=())
UNDER_WAY = led(20, 1, (1, 4), replicas=(3, 2, 4, 1), adding=(4,), removing=(1,))


def found(*events: Event) -> list[dict[str, Any]]:
    return [dict(row) for row in unclean_election(run_state_of(*events))]


@pytest.mark.parametrize(
    "events",
    [
        [ALONE, ELECTED],
        [ALONE, GONE, ELECTED],
        [ALONE, led(25, -1, (), 1), ELECTED],
        [ALONE, led(25, -1, (), 1, elr=(1,)), ELECTED],
        [led(20, 1, (1,), replicas=None), led(30, 3, (3,), 1, replicas=None)],
        [of_zookeeper(20, 1, (1,), 4), of_zookeeper(30, 3, (3,), 5)],
        [*blind(20.5), led(22, 1, (1,)), ELECTED],
        [UNDER_WAY, led(30, 3, (3,), 1, replicas=(3, 2, 4), adding=(), removing=())],
        [led(20, 1, (1, 2)), led(30, 3, (3, 2), 1)],
        [UNDER_WAY, led(30, 3, (1, 4, 3), 1, replicas=(3, 1, 4), adding=(), removing=())],
        [replace(UNDER_WAY, source="zookeeper", version=4), replace(ENDED, source="zookeeper", version=5)],
    ],
    ids=[
        "the leader is replaced",
        "nobody led",
        "nobody was in sync",
        "another was eligible",
        "nobody says which replicas there are",
        "ZooKeeper",
        "an observer was blind before",
        "alone at a reassignment's end",
        "beside another one, and no reassignment",
        "the old leader stays",
        "ZooKeeper elects from the ISR",
    ],
)
def test_a_leader_that_was_not_in_sync(events: list[Event]) -> None:
    (row,) = found(*events)
    assert (row["topic"], row["partition"], row["leader"]) == ("t", 0, 3)
    assert (row["led_last"], row["at_ns"]) == (1, 30 * SECOND)


@pytest.mark.parametrize(
    "events",
    [
        [led(20, 1, (1, 3)), GONE, led(30, 1, (1,), 2)],
        [led(20, 1, (1, 3)), ELECTED],
        [ALONE, led(25, -1, (), 1, elr=(3, 1)), ELECTED],
        [ALONE, GONE],
        [ALONE, led(25, 1, (1, 2, 3)), ELECTED],
        [led(20, 1, (), replicas=(3,)), led(30, 3, (3,), 1, replicas=(3,))],
        [led(20, 1, (1,), adding=(3,)), led(30, 3, (3,), 1, replicas=(3, 2))],
        [UNDER_WAY, ENDED],
        [led(20, 1, (1,), 5), led(30, 3, (3,), 0)],
        [of_zookeeper(20, 1, (1,), 4), of_zookeeper(30, 3, (3,), 6)],
        [ALONE, *blind(25), ELECTED],
        [ALONE, at(25 * SECOND, Missed(source="kraft", path="x", count=2, reason="y")), ELECTED],
        [of_zookeeper(20, 1, (1,), 4), ELECTED],
    ],
    ids=[
        "it leads again",
        "it was in sync",
        "it was eligible",
        "nobody is elected",
        "it had come back",
        "there is no other",
        "a reassignment adds it",
        "it comes in sync at a reassignment's end",
        "the topic was made anew",
        "a state between was not seen",
        "an observer was blind",
        "a change was missed",
        "the metadata moved to KRaft",
    ],
)
def test_a_leader_of_which_that_cannot_be_said(events: list[Event]) -> None:
    assert found(*events) == []


def test_what_was_missed_of_another_partition_is_no_matter() -> None:
    missed = Missed(source="kraft", path="x", count=2, reason="y", topic="t", partition=1)
    assert len(found(ALONE, at(25 * SECOND, missed), ELECTED)) == 1


def allows(events: list[Event], **run: Any) -> bool:
    """Whether the election that these events have is permitted in a run, of 4.3.1 if it says nothing else."""
    state = run_state_of(*events)
    rows = tuple(Row.of(row) for row in unclean_election(state))
    assert rows
    record = run_record({"mode": "kraft", "kafka": "4.3.1", "topics": [{"name": "t", "settings": {}}]} | run)
    return permitted(record, Finding(anomaly="unclean-election", count=1, evidence=rows), state) is not None


def topic(settings: dict[str, str]) -> list[dict[str, Any]]:
    return [{"name": "t", "settings": settings}]


ZOOKEEPER: list[Event] = [of_zookeeper(20, 1, (1,), 4), of_zookeeper(30, 3, (3,), 5)]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({}, False),
        ({"settings": ON}, True),
        ({"settings": {f"2:{UNCLEAN}": "true"}}, True),
        ({"settings": ON, "topics": topic(OFF)}, False),
        ({"topics": topic(ON)}, True),
        ({"settings": OFF, "topics": topic({UNCLEAN: "TRUE"})}, True),
        ({"topics": topic(ON), "kafka": "3.8.0"}, False),
        ({"topics": topic(ON), "kafka": "3.9.0"}, True),
    ],
)
def test_where_the_settings_allow_it_with_kraft(run: dict[str, Any], expected: bool) -> None:
    assert allows([ALONE, GONE, ELECTED], **run) == expected


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({"kafka": "0.10.2.2"}, True),
        ({"kafka": "0.10.2.2", "settings": OFF}, False),
        ({"kafka": "0.10.2.2", "topics": topic(OFF)}, False),
        ({"kafka": "0.11.0.0"}, False),
        ({"kafka": "2.8.2", "settings": ON}, True),
        ({"kafka": "2.8.2", "topics": topic(ON)}, True),
    ],
)
def test_where_the_settings_allow_it_with_zookeeper(run: dict[str, Any], expected: bool) -> None:
    assert allows(ZOOKEEPER, mode="zookeeper", **run) == expected


def set_at(at_s: float, name: str, value: str, **detail: str) -> Step:
    return at(
        round(at_s * SECOND), Step(name=name, phase="begin", detail={"setting": UNCLEAN, "value": value, **detail})
    )


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (set_at(10, "set for a topic", "true", topic="t"), True),
        (set_at(10, "set for a topic", "true", topic="u"), False),
        (set_at(31, "set for a topic", "true", topic="t"), False),
        (set_at(10, "set for all brokers", "true"), True),
        (set_at(31, "set for all brokers", "true"), False),
    ],
    ids=["for the topic", "for another", "too late", "for all", "for all, too late"],
)
def test_what_an_administrator_has_set_meanwhile(event: Step, expected: bool) -> None:
    assert allows([event, ALONE, GONE, ELECTED]) == expected


def test_a_topics_own_setting_comes_before_that_of_the_brokers() -> None:
    both: list[Event] = [set_at(10, "set for all brokers", "true"), set_at(11, "set for a topic", "false", topic="t")]
    assert not allows([*both, ALONE, GONE, ELECTED])
    assert allows([*both, set_at(12, "set for a topic", "true", topic="t"), ALONE, GONE, ELECTED])


def test_nobody_knows_the_settings_of_a_topic_that_is_gone() -> None:
    deleted = at(40 * SECOND, DeleteTopic(topic="t", by="x"))
    assert allows([ALONE, GONE, ELECTED, deleted], topics=[])
    assert not allows([ALONE, GONE, ELECTED], topics=[])


LAST = [ALONE, led(25, -1, (), 1, elr=()), led(30, 1, (1,), 2, elr=())]


def registers(at_s: float, node: str) -> Broker:
    return at(round(at_s * SECOND), Broker(source="kraft", node=node, state="registered", fenced=True))


@pytest.mark.parametrize(
    ("events", "kafka", "expected"),
    [
        (LAST, "4.0.0", True),
        (LAST, "3.9.2", False),
        ([ALONE, led(25, -1, (), 1, elr=()), ELECTED], "4.3.1", False),
        ([ALONE, led(25, -1, (), 1, elr=(2,)), LAST[-1]], "4.3.1", False),
        ([ALONE, led(25, -1, (), 1, elr=(2,)), registers(30, "broker-2"), LAST[-1]], "4.4.0", True),
        ([ALONE, led(25, -1, (), 1, elr=(2,)), registers(28, "broker-2"), LAST[-1]], "4.4.0", False),
        ([ALONE, led(25, -1, (2,), 1, elr=()), LAST[-1]], "4.3.1", False),
    ],
    ids=[
        "nobody is in sync or eligible",
        "there are no eligible leader replicas",
        "another than who led last",
        "another is eligible",
        "who was eligible registers after an unclean end just then",
        "it did so before, and is eligible still",
        "another is in sync",
    ],
)
def test_the_last_known_leader(events: list[Event], kafka: str, expected: bool) -> None:
    assert allows(events, kafka=kafka) == expected


def test_by_the_release_of_who_is_the_controller() -> None:
    office = at(SECOND, Controller(source="zookeeper", node="broker-2", epoch=1))
    releases = {"broker-1": ("0.10.2.2",), "broker-2": ("0.11.0.3",), "broker-3": ("0.10.2.2",)}
    run: dict[str, Any] = {"mode": "zookeeper", "kafka": "0.10.2.2", "releases": releases}
    run["topics"] = [{"name": "t", "settings": {}, "partitions": {"0": [1, 2, 3]}}]
    assert not allows([office, *ZOOKEEPER], **run)
    assert allows(ZOOKEEPER, **run)


def test_a_finding_without_its_rows_is_not_permitted() -> None:
    run = run_record(mode="kraft", kafka="4.3.1", settings=ON)
    assert permitted(run, Finding(anomaly="unclean-election", count=1), RunState()) is None
