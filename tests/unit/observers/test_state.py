"""The shared picture: what a step from one snapshot to the next is called, and how waiting for one behaves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from evidence.errors import WaitTimeout
from evidence.events import Blind, Broker, Controller, Event, Partition, of
from evidence.timeline import Timeline, read
from harness.cluster.state import ClusterState, PartitionState
from harness.observers.state import StateKeeper, changes, node_name

LED_BY_1 = PartitionState(leader=1, leader_epoch=0, isr=(1, 2), replicas=(1, 2), controller_epoch=3, source_ns=5)
LED_BY_2 = PartitionState(leader=2, leader_epoch=1, isr=(2,), replicas=(1, 2), controller_epoch=3, source_ns=9)


def named(old: ClusterState, new: ClusterState) -> list[Event]:
    return list(changes(old, new, node_name(), source="zookeeper"))


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[StateKeeper]:
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        yield StateKeeper("zookeeper", timeline, node_name())


def events(tmp_path: Path) -> tuple[Event, ...]:
    return read(tmp_path / "timeline.jsonl").events


def test_the_same_state_is_no_change() -> None:
    state = ClusterState(controller=1, controller_epoch=1, partitions={("t", 0): LED_BY_1})
    assert named(state, ClusterState(controller=1, controller_epoch=1, partitions={("t", 0): LED_BY_1})) == []


def test_every_kind_of_change_has_its_event() -> None:
    old = ClusterState(controller=1, controller_epoch=1, brokers=frozenset({1, 2}), partitions={("t", 0): LED_BY_1})
    new = ClusterState(controller=None, controller_epoch=1, brokers=frozenset({2, 3}), partitions={("t", 0): LED_BY_2})
    assert named(old, new) == [
        Controller(source="zookeeper", node=None, epoch=1),
        Broker(source="zookeeper", node="broker-1", state="gone"),
        Broker(source="zookeeper", node="broker-3", state="registered", fenced=False),
        Partition(
            source="zookeeper",
            topic="t",
            partition=0,
            leader=2,
            leader_epoch=1,
            isr=(2,),
            controller_epoch=3,
            replicas=(1, 2),
            version=0,
            source_ns=9,
        ),
    ]


def test_kraft_fences_and_unfences() -> None:
    old, new = ClusterState(brokers=frozenset({1})), ClusterState(brokers=frozenset({2}))
    assert list(changes(old, new, node_name(), source="kraft")) == [
        Broker(source="kraft", node="broker-1", state="fenced"),
        Broker(source="kraft", node="broker-2", state="unfenced"),
    ]


def test_controllers_apart_have_names_of_their_own() -> None:
    name = node_name(frozenset({100}))
    assert (name(100), name(1)) == ("controller-100", "broker-1")


def test_the_event_is_written_before_the_state_is_seen(keeper: StateKeeper, tmp_path: Path) -> None:
    seen_by_then: list[int] = []

    def wait() -> None:
        keeper.wait(lambda state: state.controller == 2, what="controller 2", timeout_s=10)
        seen_by_then.append(len(events(tmp_path)))

    waiter = threading.Thread(target=wait)
    waiter.start()
    keeper.publish(ClusterState(controller=2, controller_epoch=4))
    waiter.join()
    assert seen_by_then == [1]


def test_a_wait_that_is_already_over_returns_the_state(keeper: StateKeeper) -> None:
    keeper.publish(ClusterState(controller=2))
    assert keeper.wait(lambda state: state.controller == 2, what="it", timeout_s=0).controller == 2


def test_a_wait_that_fails_says_what_was_wanted_what_was_seen_and_how_long(keeper: StateKeeper) -> None:
    keeper.publish(ClusterState(controller=2, brokers=frozenset({2}), partitions={("t", 0): LED_BY_1}))
    keeper.begin_blind("cut off")
    with pytest.raises(
        WaitTimeout, match=r"waited 0\.\d s, not seen: broker 1 leads; last seen: controller 2.*t-0 leader 1.*blind"
    ):
        keeper.wait(lambda state: False, what="broker 1 leads", timeout_s=0.05)


def test_history_has_every_state_once(keeper: StateKeeper) -> None:
    for state in (LED_BY_1, LED_BY_1, LED_BY_2):
        keeper.publish(ClusterState(partitions={("t", 0): state}))
    assert keeper.history_of("t", 0) == [LED_BY_1, LED_BY_2]
    assert keeper.history_of("t", 1) == []


def test_a_blind_interval_has_one_begin_and_one_end(keeper: StateKeeper, tmp_path: Path) -> None:
    keeper.end_blind("never was")
    keeper.begin_blind("silence", since_ns=12)
    keeper.begin_blind("lost")
    assert keeper.blind
    keeper.end_blind("back")
    keeper.end_blind("back")
    assert [(e.phase, e.reason) for e in of(events(tmp_path), Blind)] == [("begin", "silence"), ("end", "back")]
    assert events(tmp_path)[0].monotonic_ns == 12
