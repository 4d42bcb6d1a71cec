"""Epochs never go back and a leader is in its ISR: what the cluster stated, held against itself."""

from __future__ import annotations

from typing import Any

from analysis.metadata import controller_epoch_regression, isr_at, leader_epoch_regression, leader_outside_isr


def stated(
    epoch: int,
    leader: int = 1,
    isr: tuple[int, ...] = (1, 2),
    at: int = 0,
    *,
    topic: str = "t",
    controller_epoch: int | None = 1,
) -> dict[str, Any]:
    return {
        "kind": "partition",
        "topic": topic,
        "partition": 0,
        "leader": leader,
        "leader_epoch": epoch,
        "isr": list(isr),
        "controller_epoch": controller_epoch,
        "monotonic_ns": at,
    }


def controller(epoch: int) -> dict[str, Any]:
    return {"kind": "controller", "node": "broker-1", "epoch": epoch, "monotonic_ns": epoch}


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
    events.sort(key=lambda event: event["monotonic_ns"])
    assert isr_at(events, "t", 0, 19) == [1, 2]
    assert isr_at(events, "t", 0, 20) == [2]
    assert isr_at(events, "t", 0, 9) == []
