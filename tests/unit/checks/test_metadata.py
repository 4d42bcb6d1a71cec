"""Epochs never go back and a leader is in its ISR: what the cluster stated, held against itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from checks.anomalies.leader_epochs import leader_epoch_regression, two_leaders_in_one_epoch
from checks.anomalies.metadata import (
    configuration_forgotten,
    controller_epoch_regression,
    correlated_crash,
    empty_isr,
    isr_outside_assignment,
    leader_outside_isr,
    two_controllers_in_one_epoch,
)
from evidence.events import Container, Controller, Event, Log, Partition, Znode
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at as at_ns


def stated(
    epoch: int,
    leader: int = 1,
    isr: tuple[int, ...] = (1, 2),
    at: int = 0,
    *,
    topic: str = "t",
    controller_epoch: int | None = 1,
    **more: Any,
) -> Partition:
    state = Partition(
        source="zookeeper",
        topic=topic,
        partition=0,
        leader=leader,
        leader_epoch=epoch,
        isr=isr,
        controller_epoch=controller_epoch,
        **more,
    )
    return at_ns(at, state)


def controller(epoch: int, node: str | None = "broker-1", at_s: float = 0) -> Controller:
    return at_ns(int(at_s * 1e9), Controller(source="zookeeper", node=node, epoch=epoch))


def run_state(events: Sequence[Event]) -> RunState:
    return RunState(tuple(events))


def test_a_leader_epoch_that_goes_back() -> None:
    (row,) = leader_epoch_regression(run_state([stated(0), stated(2), stated(1)]))
    assert (row["before"]["leader_epoch"], row["after"]["leader_epoch"]) == (2, 1)


def test_leader_epochs_that_rise_or_stay() -> None:
    assert leader_epoch_regression(run_state([stated(0), stated(0), stated(3)])) == []


def test_epochs_of_two_partitions_are_not_compared() -> None:
    assert leader_epoch_regression(run_state([stated(5), stated(0, topic="u"), stated(5)])) == []


def test_a_controller_epoch_that_goes_back() -> None:
    (row,) = controller_epoch_regression(run_state([controller(2), controller(1)]))
    assert row["after"]["epoch"] == 1
    (row,) = controller_epoch_regression(run_state([stated(0, controller_epoch=2), stated(1, controller_epoch=1)]))
    assert row["after"]["controller_epoch"] == 1


def test_controller_epochs_that_rise_or_are_not_known() -> None:
    assert controller_epoch_regression(run_state([controller(1), controller(1), controller(3)])) == []
    assert (
        controller_epoch_regression(run_state([stated(0, controller_epoch=2), stated(1, controller_epoch=None)])) == []
    )


def taken_over(at: int, own: int = 1) -> Znode:
    """A KRaft controller takes over from ZooKeeper's."""
    content = {"version": 2, "brokerid": 100, "timestamp": "1", "kraftControllerEpoch": own}
    return at_ns(at, Znode(path="/controller", content=content))


def test_after_a_migration_partitions_have_krafts_own_controller_epoch() -> None:
    states = [stated(0, at=1, controller_epoch=4), stated(0, at=9, isr=(1,), controller_epoch=1, version=2)]
    assert controller_epoch_regression(run_state([states[0], taken_over(5), states[1]])) == []
    elsewhere = (
        [*states],
        [taken_over(0), *states],
        [*states, taken_over(10)],
        [states[0], taken_over(5, 2), states[1]],
    )
    for events in elsewhere:
        assert len(controller_epoch_regression(run_state(events))) == 1


def test_a_leader_outside_its_isr() -> None:
    (row,) = leader_outside_isr(run_state([stated(0), stated(1, leader=3)]))
    assert (row["leader"], row["isr"]) == (3, [1, 2])


def test_no_leader_is_not_outside() -> None:
    assert leader_outside_isr(run_state([stated(0), stated(1, leader=-1, isr=())])) == []


def test_a_state_stated_again_is_no_regression() -> None:
    states = [stated(0, version=0), stated(1, version=1), stated(0, version=0), stated(1, version=1)]
    assert leader_epoch_regression(run_state(states)) == []


def test_an_older_version_with_other_content_is_a_regression() -> None:
    assert len(leader_epoch_regression(run_state([stated(3, version=4), stated(2, version=5)]))) == 1
    assert (
        len(leader_epoch_regression(run_state([stated(0, version=0), stated(2, version=1), stated(1, version=0)]))) == 1
    )


def test_an_isr_that_is_empty() -> None:
    (row,) = empty_isr(run_state([stated(0), stated(1, leader=-1, isr=())]))
    assert row["leader_epoch"] == 1


def test_eligible_leader_replicas_keep_the_place_of_an_isr() -> None:
    assert empty_isr(run_state([stated(1, leader=-1, isr=(), elr=(2,))])) == []
    assert len(empty_isr(run_state([stated(1, leader=-1, isr=(), elr=())]))) == 1


def test_an_isr_outside_the_assignment() -> None:
    (row,) = isr_outside_assignment(run_state([stated(0, isr=(1, 4), replicas=(1, 2, 3))]))
    assert row["outside"] == [4]
    assert isr_outside_assignment(run_state([stated(0, replicas=(2, 1)), stated(0, replicas=None)])) == []


def test_two_leaders_under_one_epoch() -> None:
    (row,) = two_leaders_in_one_epoch(run_state([stated(4, leader=1), stated(4, leader=2)]))
    assert (row["leader_epoch"], row["before"]["leader"], row["after"]["leader"]) == (4, 1, 2)


def test_one_leader_an_epoch_and_no_leader_between_are_sound() -> None:
    assert two_leaders_in_one_epoch(run_state([stated(1, 1), stated(1, -1), stated(1, 1), stated(2, 2)])) == []


def test_two_controllers_under_one_epoch() -> None:
    (row,) = two_controllers_in_one_epoch(run_state([controller(1), controller(1, "broker-2", 1)]))
    assert row["controller_epoch"] == 1
    sound = [controller(1), controller(1, None, 2), controller(2, "broker-2", 4)]
    assert two_controllers_in_one_epoch(run_state(sound)) == []


@pytest.mark.parametrize("passing", [controller(2, "broker-1", 5), controller(1, "broker-2", 5)])
def test_node_and_epoch_are_read_one_after_the_other(passing: Controller) -> None:
    assert two_controllers_in_one_epoch(run_state([controller(1), passing, controller(2, "broker-2", 5.001)])) == []


def process(node: int, action: str, at_s: float, exit_code: int | None = None) -> Container:
    said = Container(node=f"broker-{node}", action=action, exit_code=exit_code)  # type: ignore[arg-type]
    return at_ns(int(at_s * 1e9), said)


UP = [stated(0, isr=(1, 2, 3), replicas=(1, 2)), process(1, "start", 1), process(2, "start", 1)]


def test_all_who_hold_a_partition_and_end_themselves_together_are_a_correlated_crash() -> None:
    (row,) = correlated_crash(run_state([*UP, process(1, "die", 10, 1), process(2, "die", 12, 1)]))
    assert row == {
        "brokers": ["broker-1", "broker-2"],
        "first_ns": 10 * 10**9,
        "last_ns": 12 * 10**9,
        "partitions": ["t-0"],
    }


@pytest.mark.parametrize(
    "ends",
    [
        [process(1, "die", 10, 1)],
        [process(1, "die", 10, 1), process(2, "die", 12, 137)],
        [process(1, "die", 10, 143), process(2, "die", 12, 1)],
        [process(1, "die", 10, 1), process(2, "die", 90, 1)],
        [process(1, "die", 10, 1), process(1, "start", 11), process(2, "die", 12, 1)],
    ],
    ids=["one is left", "one was killed", "one was stopped", "long after each other", "one is back"],
)
def test_other_ends_of_brokers_are_no_correlated_crash(ends: list[Event]) -> None:
    assert correlated_crash(run_state([*UP, *ends])) == []


def test_a_broker_that_was_down_before_is_no_part_of_a_crash() -> None:
    down = [stated(1, topic="u", replicas=(1, 2, 3)), process(3, "start", 1), process(3, "die", 2, 137)]
    (row,) = correlated_crash(run_state([*UP, *down, process(1, "die", 10, 1), process(2, "die", 12, 1)]))
    assert row["partitions"] == ["t-0", "u-0"]
    assert row["brokers"] == ["broker-1", "broker-2"]


def test_a_broker_that_holds_nothing_of_it_may_live() -> None:
    apart = process(4, "start", 1)
    assert len(correlated_crash(run_state([*UP, apart, process(1, "die", 10, 1), process(2, "die", 12, 1)]))) == 1
    third = stated(0, topic="t", replicas=(1, 2, 3))
    held = [third, process(1, "start", 1), process(2, "start", 1), process(3, "start", 1)]
    assert correlated_crash(run_state([*held, process(1, "die", 10, 1), process(2, "die", 12, 1)])) == []


def deleted_by(retention_ms: int, node: str = "broker-1", topic: str = "t") -> Log:
    line = f"Found deletable segments with base offsets [0] due to retention time {retention_ms}ms breach"
    return at_ns(5, Log(node=node, event="retention", topic=topic, partition=0, line=line))


def of_topic(**settings: str) -> dict[str, Any]:
    return {"topics": [{"name": "t", "partitions": {"0": [1]}, "settings": settings}]}


def test_records_deleted_by_another_retention_than_the_topics_own() -> None:
    lines = [deleted_by(10_000), deleted_by(10_000), deleted_by(10_000, "broker-2")]
    rows = configuration_forgotten(run_state(lines), run_record(of_topic(**{"retention.ms": "-1"})))
    assert [(row["node"], row["retention_ms"], row["went_by_ms"]) for row in rows] == [
        ("broker-1", -1, 10_000),
        ("broker-2", -1, 10_000),
    ]


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        (deleted_by(10_000), {"retention.ms": "10000"}),
        (deleted_by(10_000), {"cleanup.policy": "delete"}),
        (deleted_by(10_000, topic="u"), {"retention.ms": "-1"}),
    ],
    ids=["by its own", "it has none of its own", "of another topic"],
)
def test_records_deleted_by_the_retention_that_is_in_force(line: Log, settings: dict[str, str]) -> None:
    assert configuration_forgotten(run_state([line]), run_record(of_topic(**settings))) == []
