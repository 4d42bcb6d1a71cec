"""Epochs never go back and a leader is in its ISR: what the cluster stated, held against itself."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.metadata import (
    condition_at,
    controller_epoch_regression,
    empty_isr,
    in_isr_throughout,
    isr_at,
    isr_outside_assignment,
    leader_epoch_regression,
    leader_outside_isr,
    states_of,
    two_controllers_in_one_epoch,
    two_leaders_in_one_epoch,
)
from evidence.events import Container, ContainerAction, Controller, Partition
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


def test_a_leader_epoch_that_goes_back() -> None:
    (row,) = leader_epoch_regression([stated(0), stated(2), stated(1)])
    assert (row["before"]["leader_epoch"], row["after"]["leader_epoch"]) == (2, 1)


def test_leader_epochs_that_rise_or_stay() -> None:
    assert leader_epoch_regression([stated(0), stated(0), stated(3)]) == []


def test_epochs_of_two_partitions_are_not_compared() -> None:
    assert leader_epoch_regression([stated(5), stated(0, topic="u"), stated(5)]) == []


def test_a_controller_epoch_that_goes_back() -> None:
    (row,) = controller_epoch_regression([controller(2), controller(1)])
    assert row["after"]["epoch"] == 1
    (row,) = controller_epoch_regression([stated(0, controller_epoch=2), stated(1, controller_epoch=1)])
    assert row["after"]["controller_epoch"] == 1


def test_controller_epochs_that_rise_or_are_not_known() -> None:
    assert controller_epoch_regression([controller(1), controller(1), controller(3)]) == []
    assert controller_epoch_regression([stated(0, controller_epoch=2), stated(1, controller_epoch=None)]) == []


def test_a_leader_outside_its_isr() -> None:
    (row,) = leader_outside_isr([stated(0), stated(1, leader=3)])
    assert (row["leader"], row["isr"]) == (3, [1, 2])


def test_no_leader_is_not_outside() -> None:
    assert leader_outside_isr([stated(0), stated(1, leader=-1, isr=())]) == []


def test_the_isr_at_a_time_is_the_one_last_stated() -> None:
    events = [stated(0, at=10), stated(1, isr=(2,), at=20), stated(9, isr=(7,), at=15, topic="u")]
    events.sort(key=lambda event: event.monotonic_ns)
    states = states_of(events)[("t", 0)]
    assert isr_at(states, 19) == [1, 2]
    assert isr_at(states, 20) == [2]
    assert isr_at(states, 9) is None


def test_a_state_stated_again_is_no_regression() -> None:
    states = [stated(0, version=0), stated(1, version=1), stated(0, version=0), stated(1, version=1)]
    assert leader_epoch_regression(states) == []


def test_an_older_version_with_other_content_is_a_regression() -> None:
    assert len(leader_epoch_regression([stated(3, version=4), stated(2, version=5)])) == 1
    assert len(leader_epoch_regression([stated(0, version=0), stated(2, version=1), stated(1, version=0)])) == 1


def test_an_isr_that_is_empty() -> None:
    (row,) = empty_isr([stated(0), stated(1, leader=-1, isr=())])
    assert row["leader_epoch"] == 1


def test_eligible_leader_replicas_keep_the_place_of_an_isr() -> None:
    assert empty_isr([stated(1, leader=-1, isr=(), elr=(2,))]) == []
    assert len(empty_isr([stated(1, leader=-1, isr=(), elr=())])) == 1


def test_an_isr_outside_the_assignment() -> None:
    (row,) = isr_outside_assignment([stated(0, isr=(1, 4), replicas=(1, 2, 3))])
    assert row["outside"] == [4]
    assert isr_outside_assignment([stated(0, replicas=(2, 1)), stated(0, replicas=None)]) == []


def test_two_leaders_under_one_epoch() -> None:
    (row,) = two_leaders_in_one_epoch([stated(4, leader=1), stated(4, leader=2)])
    assert (row["leader_epoch"], row["before"]["leader"], row["after"]["leader"]) == (4, 1, 2)


def test_one_leader_an_epoch_and_no_leader_between_are_sound() -> None:
    assert two_leaders_in_one_epoch([stated(1, 1), stated(1, -1), stated(1, 1), stated(2, 2)]) == []


def test_two_controllers_under_one_epoch() -> None:
    (row,) = two_controllers_in_one_epoch([controller(1), controller(1, "broker-2", 1)])
    assert row["controller_epoch"] == 1
    sound = [controller(1), controller(1, None, 2), controller(2, "broker-2", 4)]
    assert two_controllers_in_one_epoch(sound) == []


@pytest.mark.parametrize("passing", [controller(2, "broker-1", 5), controller(1, "broker-2", 5)])
def test_node_and_epoch_are_read_one_after_the_other(passing: Controller) -> None:
    assert two_controllers_in_one_epoch([controller(1), passing, controller(2, "broker-2", 5.001)]) == []


def test_who_was_in_the_isr_throughout() -> None:
    states = [stated(0, isr=(1, 2, 3), at=10), stated(1, isr=(1, 3), at=20), stated(1, isr=(1, 2, 3), at=30)]
    assert in_isr_throughout(states, 12, 19) == {1, 2, 3}
    assert in_isr_throughout(states, 12, 40) == {1, 3}
    assert in_isr_throughout(states, 30, 40) == {1, 2, 3}
    assert in_isr_throughout(states, 5, 40) == set()


def test_whether_a_node_lives_at_a_time() -> None:
    def container(action: ContainerAction, at: int) -> Container:
        return at_ns(at, Container(node="broker-1", action=action))

    events = [container("start", 1), container("pause", 5), container("unpause", 7), container("kill", 9)]
    events += [container("die", 10), container("start", 20)]
    seen = [condition_at(events, "broker-1", at) for at in (0, 1, 6, 8, 9, 15, 21)]
    assert seen == ["live", "live", "frozen", "live", "dead", "dead", "live"]
    assert condition_at(events, "broker-2", 6) == "live"
