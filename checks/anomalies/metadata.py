"""Invariants of the cluster's stated states: epochs never go back, a leader is in its ISR.

Input is the states over time (evidence.run_state): the stated states of partitions and controllers, in the order in
which the observer saw them, without repetitions. Limit: a topic deleted and created again under its name begins with
epoch 0 again, and is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise, zip_longest
from typing import Any, Final, TypeVar

import msgspec

from checks import excuses
from checks.anomaly import (
    CLUSTER,
    GUARANTEES,
    SETTINGS,
    anomaly,
)
from evidence.basis import Basis
from evidence.engine import SIGNALLED
from evidence.events import Controller, Log, Partition, Znode, of
from evidence.run import RunRecord
from evidence.run_state import DOWN, RunState, leader_of

Evidence = dict[str, Any]

SETTLED_NS: Final = 1_000_000_000
CRASH_NS: Final = 60_000_000_000
"""Within this time brokers end together."""
RETENTION: Final = re.compile(r"retention time (\d+) ?ms breach")


def stated_row(state: Partition) -> Evidence:
    """What was stated of a partition, as evidence."""
    names = ("topic", "partition", "leader", "leader_epoch", "isr", "elr", "replicas", "controller_epoch", "version")
    values = {name: getattr(state, name) for name in (*names, "monotonic_ns", "source")}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


S = TypeVar("S", Partition, Controller)


def goes_back(states: Iterable[S], name: str) -> list[tuple[S, S]]:
    """Pairs of statements in a row of which the second has a smaller number of this name."""
    stated = [state for state in states if getattr(state, name) is not None]
    return [(before, after) for before, after in pairwise(stated) if getattr(after, name) < getattr(before, name)]


def _controllers(run_state: RunState) -> list[Controller]:
    return [controller for controller in of(run_state.events, Controller) if controller.epoch >= 0]


@anomaly(
    "controller-epoch-regression",
    source="Kafka documentation, Design: replication; KIP-500",
    basis=Basis.DOCUMENTATION,
    reads=(CLUSTER,),
)
def controller_epoch_regression(run_state: RunState) -> list[Evidence]:
    """The controller epoch went down.

    Controller epochs that went down, among the stated controllers or in a partition's states.

    Not where a KRaft controller took over from ZooKeeper's (KIP-866) between two states: it goes on with ZooKeeper's
    epochs in /controller_epoch, and writes its own into the states of partitions, which it names in /controller.
    """
    taken_over = [
        (one.at_ns, one.entries["kraftControllerEpoch"])
        for one in of(run_state.events, Znode)
        if one.path == "/controller" and "kraftControllerEpoch" in one.entries
    ]
    found: list[Evidence] = [
        {"before": msgspec.to_builtins(before), "after": msgspec.to_builtins(after)}
        for before, after in goes_back(_controllers(run_state), "epoch")
    ]
    for (topic, partition), states in run_state.states.items():
        found += [
            {"topic": topic, "partition": partition, "before": stated_row(before), "after": stated_row(after)}
            for before, after in goes_back(states, "controller_epoch")
            if not any(
                before.at_ns < at_ns <= after.at_ns and after.controller_epoch == own for at_ns, own in taken_over
            )
        ]
    return found


@anomaly("two-controllers-in-one-epoch", source="KIP-500", basis=Basis.KIP, reads=(CLUSTER,))
def two_controllers_in_one_epoch(run_state: RunState) -> list[Evidence]:
    """Two brokers were controller under one controller epoch.

    Two nodes that were controller under one controller epoch.

    In ZooKeeper node and epoch are two znodes, written one after the other and read one after the other: only a pair
    that stood for `SETTLED_NS` counts, in passing an old node shows beside a new epoch, or the other way round.
    """
    first: dict[int, Controller] = {}
    found: list[Evidence] = []
    stated = _controllers(run_state)
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


@anomaly("leader-outside-isr", source=GUARANTEES, basis=Basis.DOCUMENTATION, reads=(CLUSTER,))
def leader_outside_isr(run_state: RunState) -> list[Evidence]:
    """A partition was led by a broker that is not in its ISR."""
    return [
        stated_row(event)
        for states in run_state.states.values()
        for event in states
        if leader_of(event) is not None and leader_of(event) not in event.isr
    ]


@anomaly(
    "empty-isr",
    source=f"{GUARANTEES}; KIP-966",
    basis=Basis.DOCUMENTATION,
    reads=(CLUSTER,),
    permitted="while nobody leads the partition",
    permits=excuses.leaderless,
)
def empty_isr(run_state: RunState) -> list[Evidence]:
    """The ISR of a partition was empty.

    States of a partition without any in-sync replica.

    Not those in which eligible leader replicas (KIP-966) keep the place of the ISR: such a replica has every committed
    record too, and an ISR is allowed to be empty then.
    """
    return [
        stated_row(event) for states in run_state.states.values() for event in states if not event.isr and not event.elr
    ]


@anomaly("isr-outside-assignment", source=GUARANTEES, basis=Basis.DOCUMENTATION, reads=(CLUSTER,))
def isr_outside_assignment(run_state: RunState) -> list[Evidence]:
    """The ISR of a partition had a broker that is not one of its replicas."""
    return [
        stated_row(event) | {"outside": sorted(set(event.isr) - set(event.replicas))}
        for states in run_state.states.values()
        for event in states
        if event.replicas and not set(event.isr) <= set(event.replicas)
    ]


@anomaly("correlated-crash", source="KAFKA-4893", basis=Basis.JIRA, reads=(CLUSTER,))
def correlated_crash(run_state: RunState) -> list[Evidence]:
    """All brokers that held a partition and were up, two or more, exited within a minute.

    Brokers that exited shortly one after the other, and were all live brokers that held some partition; with these
    partitions.

    A broker has exited if its process ended with an exit code that belongs neither to a signal nor to a clean stop: it
    was not killed or stopped. A broker that was down before, for any reason, does not count.
    """
    ended = sorted(
        (one.begin_ns, node)
        for node, conditions in run_state.processes.items()
        for one in conditions
        if node.startswith("broker-") and _by_itself(one.value, one.detail)
    )
    found: dict[tuple[str, ...], Evidence] = {}
    for where, states in run_state.states.items():
        holders = {f"broker-{number}" for state in states for number in state.replicas or ()}
        for last_ns, last in ended:
            together = {node: at_ns for at_ns, node in ended if node in holders and 0 <= last_ns - at_ns <= CRASH_NS}
            first_ns = min(together.values(), default=last_ns)
            up = {node for node in holders if run_state.condition_at(node, first_ns - 1) != DOWN}
            left = any(run_state.condition_at(node, last_ns) != DOWN for node in holders)
            if last in holders and len(together) > 1 and set(together) == up and not left:
                row = {"brokers": sorted(up), "first_ns": first_ns, "last_ns": last_ns, "partitions": []}
                found.setdefault(tuple(sorted(up)), row)["partitions"].append("{}-{}".format(*where))
                break
    return list(found.values())


def _by_itself(condition: str, detail: str) -> bool:
    code = detail.removeprefix("exit code ")
    return condition == DOWN and code.isdigit() and 0 < int(code) <= SIGNALLED


@anomaly(
    "configuration-forgotten",
    source="Kafka documentation, topic configuration: retention.ms; KAFKA-9254",
    basis=Basis.DOCUMENTATION,
    reads=(CLUSTER, SETTINGS),
)
def configuration_forgotten(run_state: RunState, run: RunRecord) -> list[Evidence]:
    """A broker deleted records by another retention time than their topic's own (retention.ms).

    Records that a broker deleted by another retention time than their topic was created with (retention.ms).

    The evidence is the first such log line of each replica. Limit: later changes of a topic's settings are not
    known here.
    """
    own = {topic.name: topic.settings["retention.ms"] for topic in run.topics if "retention.ms" in topic.settings}
    found: dict[tuple[str, str | None, int | None], Evidence] = {}
    for log in of(run_state.events, Log):
        went_by = RETENTION.search(log.line) if log.event == "retention" and log.topic in own else None
        if went_by is not None and went_by[1] != own[str(log.topic)]:
            where = {"topic": log.topic, "partition": log.partition, "node": log.node, "at_ns": log.at_ns}
            row = where | {"retention_ms": int(own[str(log.topic)]), "went_by_ms": int(went_by[1]), "line": log.line}
            found.setdefault((log.node, log.topic, log.partition), row)
    return list(found.values())
