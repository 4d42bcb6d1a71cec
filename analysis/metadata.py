"""Invariants over what the cluster stated of itself: epochs never go back, a leader is in its ISR.

Input are the timeline's events of partitions and controllers, in the order in which the observer saw them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

Event = Mapping[str, Any]
Evidence = dict[str, Any]

NO_LEADER: Final = -1


def _of_partitions(events: Iterable[Event]) -> dict[tuple[str, int], list[Event]]:
    found: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        if event["kind"] == "partition":
            found.setdefault((event["topic"], event["partition"]), []).append(event)
    return found


def _what(event: Event) -> Evidence:
    names = ("topic", "partition", "leader", "leader_epoch", "isr", "controller_epoch", "version", "monotonic_ns")
    return {name: event.get(name) for name in names}


def leader_epoch_regression(events: Sequence[Event]) -> list[Evidence]:
    """Partitions whose leader epoch went down from one statement to the next."""
    return [
        {"before": _what(before), "after": _what(after), "topic": topic, "partition": partition}
        for (topic, partition), states in _of_partitions(events).items()
        for before, after in itertools.pairwise(states)
        if after["leader_epoch"] < before["leader_epoch"]
    ]


def controller_epoch_regression(events: Sequence[Event]) -> list[Evidence]:
    """The controller epoch going down: in the cluster's own record of controllers, or in a partition's state."""
    found: list[Evidence] = []
    controllers = [event for event in events if event["kind"] == "controller" and event["epoch"] >= 0]
    for before, after in itertools.pairwise(controllers):
        if after["epoch"] < before["epoch"]:
            found.append({"before": dict(before), "after": dict(after)})
    for (topic, partition), states in _of_partitions(events).items():
        stated = [state for state in states if state.get("controller_epoch") is not None]
        for before, after in itertools.pairwise(stated):
            if after["controller_epoch"] < before["controller_epoch"]:
                found.append({"before": _what(before), "after": _what(after), "topic": topic, "partition": partition})
    return found


def leader_outside_isr(events: Sequence[Event]) -> list[Evidence]:
    """States of a partition whose leader is not one of its in-sync replicas."""
    return [
        _what(event)
        for states in _of_partitions(events).values()
        for event in states
        if event["leader"] != NO_LEADER and event["leader"] not in event["isr"]
    ]


METADATA_CHECKS: Final[dict[str, Callable[[Sequence[Event]], list[Evidence]]]] = {
    "leader-epoch-regression": leader_epoch_regression,
    "controller-epoch-regression": controller_epoch_regression,
    "leader-outside-isr": leader_outside_isr,
}


def isr_at(events: Iterable[Event], topic: str, partition: int, monotonic_ns: int) -> list[int]:
    """The ISR last stated at or before a time; empty if nothing had been stated."""
    isr: list[int] = []
    for event in events:
        if event["monotonic_ns"] > monotonic_ns:
            break
        if event["kind"] == "partition" and (event["topic"], event["partition"]) == (topic, partition):
            isr = list(event["isr"])
    return isr
