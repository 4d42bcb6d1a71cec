"""Invariants over what the cluster stated of itself: epochs never go back, a leader is in its ISR.

Input are the timeline's events of partitions and controllers, in the order in which the observer saw them. An observer
that looks again after a silence may state once more what it has stated before: a state that carries an older version
(znode version, offset in the metadata log) than one already seen, and that was seen under that version, is a repetition
and left out. Limit: a topic deleted and created again under its name begins with epoch 0 again, and is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Final, TypeVar

import msgspec

from evidence.anomalies import registered
from evidence.events import NO_LEADER, Container, Controller, Event, Partition, of

Evidence = dict[str, Any]
Key = tuple[str, int]

SETTLED_NS: Final = 1_000_000_000
LIVE, DEAD, FROZEN = "live", "dead", "frozen"
_BECOMES: Final[Mapping[str, str]] = {
    "start": LIVE,
    "unpause": LIVE,
    "die": DEAD,
    "kill": DEAD,
    "stop": DEAD,
    "oom": DEAD,
    "pause": FROZEN,
}


def states_of(events: Iterable[Event]) -> dict[Key, list[Partition]]:
    """The states of each partition in the order they were stated, repetitions left out."""
    found: dict[Key, list[Partition]] = {}
    seen: dict[Key, dict[int, tuple[Any, ...]]] = {}
    for state in of(events, Partition):
        key, version = (state.topic, state.partition), state.version
        content = (state.leader, state.leader_epoch, state.isr)
        known = seen.setdefault(key, {})
        if version is not None:
            if known.get(version) == content and version < max(known):
                continue
            known[version] = content
        found.setdefault(key, []).append(state)
    return found


def broker_of(node: str) -> int:
    """The broker id in a node's name."""
    return int(node.rpartition("-")[2])


def leader_of(state: Partition) -> int | None:
    """The leader that a state names; None for none."""
    return None if state.leader == NO_LEADER else state.leader


def _what(state: Partition) -> Evidence:
    names = ("topic", "partition", "leader", "leader_epoch", "isr", "elr", "replicas", "controller_epoch", "version")
    values = {name: getattr(state, name) for name in (*names, "monotonic_ns", "source")}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


S = TypeVar("S", Partition, Controller)


def _goes_back(states: Iterable[S], name: str) -> list[tuple[S, S]]:
    stated = [state for state in states if getattr(state, name) is not None]
    return [(before, after) for before, after in pairwise(stated) if getattr(after, name) < getattr(before, name)]


def leader_epoch_regression(events: Sequence[Event]) -> list[Evidence]:
    """Partitions whose leader epoch went down from one statement to the next."""
    return [
        {"topic": topic, "partition": partition, "before": _what(before), "after": _what(after)}
        for (topic, partition), states in states_of(events).items()
        for before, after in _goes_back(states, "leader_epoch")
    ]


def _controllers(events: Iterable[Event]) -> list[Controller]:
    return [controller for controller in of(events, Controller) if controller.epoch >= 0]


def controller_epoch_regression(events: Sequence[Event]) -> list[Evidence]:
    """The controller epoch going down: in the cluster's own record of controllers, or in a partition's state."""
    found: list[Evidence] = [
        {"before": msgspec.to_builtins(before), "after": msgspec.to_builtins(after)}
        for before, after in _goes_back(_controllers(events), "epoch")
    ]
    for (topic, partition), states in states_of(events).items():
        found += [
            {"topic": topic, "partition": partition, "before": _what(before), "after": _what(after)}
            for before, after in _goes_back(states, "controller_epoch")
        ]
    return found


def leader_outside_isr(events: Sequence[Event]) -> list[Evidence]:
    """States of a partition whose leader is not one of its in-sync replicas."""
    return [
        _what(event)
        for states in states_of(events).values()
        for event in states
        if leader_of(event) is not None and leader_of(event) not in event.isr
    ]


def empty_isr(events: Sequence[Event]) -> list[Evidence]:
    """States of a partition without any in-sync replica.

    Not those in which eligible leader replicas (KIP-966) keep the place of the ISR: such a replica has every
    committed record too, and an ISR is allowed to be empty then.
    """
    return [
        _what(event) for states in states_of(events).values() for event in states if not event.isr and not event.elr
    ]


def isr_outside_assignment(events: Sequence[Event]) -> list[Evidence]:
    """States of a partition with an in-sync replica that is not assigned to it."""
    return [
        _what(event) | {"outside": sorted(set(event.isr) - set(event.replicas))}
        for states in states_of(events).values()
        for event in states
        if event.replicas and not set(event.isr) <= set(event.replicas)
    ]


def two_leaders_in_one_epoch(events: Sequence[Event]) -> list[Evidence]:
    """Two leaders that the cluster named under one leader epoch of a partition."""
    found: list[Evidence] = []
    for (topic, partition), states in states_of(events).items():
        first: dict[int, Partition] = {}
        for state in states:
            if leader_of(state) is None:
                continue
            earlier = first.setdefault(state.leader_epoch, state)
            if leader_of(earlier) != leader_of(state):
                found.append(
                    {
                        "topic": topic,
                        "partition": partition,
                        "leader_epoch": state.leader_epoch,
                        "before": _what(earlier),
                        "after": _what(state),
                    }
                )
    return found


def two_controllers_in_one_epoch(events: Sequence[Event]) -> list[Evidence]:
    """Two nodes that were controller under one controller epoch.

    In ZooKeeper node and epoch are two znodes, written one after the other and read one after the other: only a pair
    that stood for `SETTLED_NS` counts, in passing an old node shows beside a new epoch, or the other way round.
    """
    first: dict[int, Controller] = {}
    found: list[Evidence] = []
    stated = _controllers(events)
    replaced = [event.monotonic_ns for event in stated[1:]]
    for event, until_ns in zip_longest(stated, replaced):
        if event.node is None or (until_ns is not None and until_ns - event.monotonic_ns < SETTLED_NS):
            continue
        earlier = first.setdefault(event.epoch, event)
        if earlier.node != event.node:
            found.append(
                {
                    "controller_epoch": event.epoch,
                    "before": msgspec.to_builtins(earlier),
                    "after": msgspec.to_builtins(event),
                }
            )
    return found


METADATA_CHECKS: Final[dict[str, Callable[[Sequence[Event]], list[Evidence]]]] = registered(
    {
        "leader-epoch-regression": leader_epoch_regression,
        "controller-epoch-regression": controller_epoch_regression,
        "leader-outside-isr": leader_outside_isr,
        "empty-isr": empty_isr,
        "isr-outside-assignment": isr_outside_assignment,
        "two-leaders-in-one-epoch": two_leaders_in_one_epoch,
        "two-controllers-in-one-epoch": two_controllers_in_one_epoch,
    }
)


# What the timeline says of one moment


def isr_at(states: Iterable[Partition], monotonic_ns: int) -> list[int] | None:
    """The ISR of a partition last stated at or before a time; None if nothing had been stated."""
    isr: list[int] | None = None
    for state in states:
        if state.monotonic_ns > monotonic_ns:
            break
        isr = list(state.isr)
    return isr


def in_isr_throughout(states: Sequence[Partition], begin_ns: int, end_ns: int) -> set[int]:
    """The brokers in every ISR that was stated to hold at some time between `begin_ns` and `end_ns`."""
    held = isr_at(states, begin_ns)
    if held is None:
        return set()
    brokers = set(held)
    for state in states:
        if begin_ns < state.monotonic_ns <= end_ns:
            brokers &= set(state.isr)
    return brokers


def condition_at(events: Iterable[Event], node: str, monotonic_ns: int) -> str:
    """Whether a node's container was live, dead or frozen at a time; live if the engine said nothing of it."""
    condition = LIVE
    for event in of(events, Container):
        if event.node == node and event.monotonic_ns <= monotonic_ns:
            condition = _BECOMES.get(event.action, condition)
    return condition
