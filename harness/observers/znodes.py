"""Kafka's znodes as a cluster's state: values in, values out, no connection.

`Picture.take` is given one read of a znode after another (`ZnodeRead`: its data or its children, and its stat), in the
order in which ZooKeeper answered. It returns the cluster's new state, further events, and which znodes to watch next.
All reads come over one connection, which ZooKeeper answers in the order of its own history, so each is true when taken.

Watches are one-shot: between the firing of one and the setting of the next a znode may change more than once and only
the last value is seen. What was skipped is counted, as `missed` events. The counts are taken from the version of a
partition's state, the controller epoch, the creation of a broker's registration, and the number of ISR notifications.

The controller and its epoch are two znodes. Up to 2.1 the new controller creates /controller and then raises
/controller_epoch (KAFKA-6082 made that one transaction), so a read in between shows the new controller beside the old
epoch: two controllers in one epoch, which never were. Therefore a controller counts from the moment its epoch is at
least as new as its own znode, by ZooKeeper's transaction ids; until then no controller counts. It raises the epoch
once: an epoch that is raised again is its successor's, whose znode has not been read yet, and again no controller
counts.

Layout of the znodes: `kafka.utils.ZkUtils` (0.8 to 0.11) and `kafka.zk.ZkData` (1.1 and later).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from evidence.events import Broker, Event, IsrChange, Missed, Znode
from harness.cluster.state import ClusterState, PartitionState

MS: Final = 1_000_000


class Watch(NamedTuple):
    """What is watched of a znode: its data or the names of its children."""

    path: str
    kind: Literal["data", "children"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """ZooKeeper's account of a znode. `created` and `modified` are transaction ids (czxid, mzxid), `child_changes` is
    how often a child was made or deleted (cversion).
    """

    version: int
    created: int
    modified: int
    modified_ms: int
    child_changes: int = 0
    session: int = 0
    """Of an ephemeral znode: the session that it ends with; 0 for any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodeRead:
    """What one read of a znode returned. `stat` is None if there is no such znode."""

    watch: Watch
    stat: Stat | None
    data: bytes = b""
    children: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class ZnodeReading:
    """What follows from a read: the new state, events that the state does not show, and which znodes to watch."""

    state: ClusterState
    also: list[Event] = field(default_factory=list)
    watch: list[Watch] = field(default_factory=list)


CONTROLLER: Final = Watch("/controller", "data")
CONTROLLER_EPOCH: Final = Watch("/controller_epoch", "data")
BROKERS: Final = Watch("/brokers/ids", "children")
TOPICS: Final = Watch("/brokers/topics", "children")
ISR_CHANGES: Final = Watch("/isr_change_notification", "children")
REASSIGNMENT: Final = Watch("/admin/reassign_partitions", "data")
PREFERRED_ELECTION: Final = Watch("/admin/preferred_replica_election", "data")
MIGRATION: Final = Watch("/migration", "data")

ROOTS: Final = (
    CONTROLLER_EPOCH, CONTROLLER, BROKERS, TOPICS, ISR_CHANGES, REASSIGNMENT, PREFERRED_ELECTION, MIGRATION,
)  # fmt: skip
"""What to watch first; the epoch before the controller, so that the first read of the controller is complete."""

_BROKER: Final = re.compile(r"/brokers/ids/(\d+)")
TOPIC: Final = re.compile(r"/brokers/topics/([^/]+)")
STATE: Final = re.compile(r"/brokers/topics/([^/]+)/partitions/(\d+)/state")
_ISR_CHANGE: Final = re.compile(r"/isr_change_notification/isr_change_\d+")


def state_path(topic: str, number: int) -> str:
    """Where a partition's state is, which `STATE` recognises."""
    return f"{TOPICS.path}/{topic}/partitions/{number}/state"


def parse_partition_state(data: bytes, stat: Stat) -> PartitionState:
    """A partition's state from its znode; ValueError if it is not one."""
    value = _object(data)
    try:
        return PartitionState(
            leader=int(value["leader"]),
            leader_epoch=int(value["leader_epoch"]),
            isr=tuple(int(broker) for broker in value["isr"]),
            controller_epoch=int(value["controller_epoch"]),
            version=stat.version,
            source_ns=stat.modified_ms * MS,
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a partition state: {data[:200]!r}") from error


class Assignment(NamedTuple):
    """A partition's replicas, the preferred leader first, and which of them a reassignment adds and will remove (None
    before 2.4, whose znodes do not say).
    """

    replicas: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None


def parse_assignment(data: bytes) -> dict[int, Assignment]:
    """The assignment of each partition from a topic's znode; ValueError if it is not one."""

    def brokers(field: str, number: str) -> tuple[int, ...] | None:
        return tuple(int(broker) for broker in value[field].get(number, ())) if field in value else None

    value = _object(data)
    try:
        return {
            int(number): Assignment(
                brokers("partitions", number), brokers("adding_replicas", number), brokers("removing_replicas", number)
            )
            for number in value["partitions"]
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an assignment: {data[:200]!r}") from error


def parse_controller(data: bytes) -> int:
    """The broker id in /controller; ValueError if there is none."""
    try:
        return int(_object(data)["brokerid"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a controller: {data[:200]!r}") from error


def parse_migration(data: bytes) -> int | None:
    """The KRaft controller that has taken over the metadata (KIP-866: 3.4 to 3.9); None as long as none has. ValueError
    if the znode does not say.
    """
    value = _object(data)
    try:
        return int(value["kraft_controller_id"]) if int(value["kraft_metadata_offset"]) >= 0 else None
    except (KeyError, TypeError) as error:
        raise ValueError(f"not the state of a migration: {data[:200]!r}") from error


def parse_isr_change(data: bytes) -> tuple[str, ...]:
    """The partitions ("t-0") that a notification of ISR changes names; ValueError if it is not one."""
    try:
        return tuple(f"{one['topic']}-{int(one['partition'])}" for one in _object(data)["partitions"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a notification of ISR changes: {data[:200]!r}") from error


def _object(data: bytes) -> dict[str, Any]:
    value = json.loads(data)  # JSONDecodeError and UnicodeDecodeError are ValueErrors
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object: {data[:200]!r}")
    return value


class Contents:
    """What znodes hold, as events: one for each content that was read, and one when a znode that was there is gone."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        """By path: czxid and version."""

    def take(self, read: ZnodeRead) -> list[Znode]:
        """The event that a read of a znode's data gives rise to, if any. Raises ValueError, with nothing changed, if
        that is neither a JSON object nor a number.
        """
        path, kind = read.watch
        if kind != "data":
            return []
        if read.stat is None:
            return [Znode(path=path, content=None)] if self._seen.pop(path, None) else []
        now = (read.stat.created, read.stat.version)
        if self._seen.get(path) == now:
            return []
        content = int(read.data) if read.watch == CONTROLLER_EPOCH else _object(read.data)
        self._seen[path] = now
        ephemeral = bool(read.stat.session)
        return [Znode(path=path, content=content, version=now[1], created=now[0], ephemeral=ephemeral)]


class Picture:
    """The cluster as the reads so far show it."""

    def __init__(self, name: Callable[[int], str]) -> None:
        self.state = ClusterState()
        self._name = name
        self._holder: tuple[int, int] | None = None
        """Broker and czxid of /controller."""
        self._epoch: tuple[int, int] | None = None
        """Value and mzxid of /controller_epoch."""
        self._term: tuple[int, int] | None = None
        """Of the last controller: the czxid of its znode and the mzxid of its epoch."""
        self._registered: dict[int, int | None] = {}
        """Brokers and the czxid of their registration, None until it was read."""
        self._assignments: dict[str, dict[int, Assignment]] = {}
        self._versions: dict[tuple[str, int], tuple[int, int]] = {}
        """Of each partition's state: czxid and version."""
        self._isr_changes: frozenset[str] = frozenset()
        """The notifications that were there at the last read."""
        self._isr_changes_made = 0

    def take(self, read: ZnodeRead) -> ZnodeReading:
        """Take in one read. Raises ValueError, with nothing changed, if the znode does not hold what it should."""
        outcome = ZnodeReading(state=self.state)
        path, _ = read.watch
        if read.watch == CONTROLLER:
            self._take_controller(read, outcome)
        elif read.watch == CONTROLLER_EPOCH:
            self._take_controller_epoch(read, outcome)
        elif read.watch == BROKERS:
            self._take_brokers(read, outcome)
        elif read.watch == TOPICS:
            self._take_topics(read, outcome)
        elif read.watch == ISR_CHANGES:
            self._take_isr_changes(read, outcome)
        elif read.watch == MIGRATION:
            migrated_to = None if read.stat is None else parse_migration(read.data)
            outcome.state = replace(outcome.state, migrated_to=migrated_to)
        elif found := _BROKER.fullmatch(path):
            self._take_broker(int(found[1]), read, outcome)
        elif found := STATE.fullmatch(path):
            self._take_state(found[1], int(found[2]), read, outcome)
        elif found := TOPIC.fullmatch(path):
            self._take_topic(found[1], read, outcome)
        elif _ISR_CHANGE.fullmatch(path) and read.stat is not None:
            outcome.also.append(IsrChange(path=path, state="holds", partitions=parse_isr_change(read.data)))
        self.state = outcome.state
        return outcome

    # The controller

    def _take_controller(self, read: ZnodeRead, outcome: ZnodeReading) -> None:
        self._holder = None if read.stat is None else (parse_controller(read.data), read.stat.created)
        self._decide_controller(outcome)

    def _take_controller_epoch(self, read: ZnodeRead, outcome: ZnodeReading) -> None:
        if read.stat is None:
            return
        epoch = int(read.data)
        if self._epoch is not None and epoch > self._epoch[0] + 1:
            outcome.also.append(_missed(read, epoch - self._epoch[0] - 1, "controllers came and went"))
        self._epoch = (epoch, read.stat.modified)
        self._decide_controller(outcome)

    def _decide_controller(self, outcome: ZnodeReading) -> None:
        epoch, raised = self._epoch or (-1, -1)
        known = self._holder is not None and raised >= self._holder[1]
        if self._holder is not None and self._term is not None and self._term[0] == self._holder[1]:
            known = self._term[1] == raised
        if known and self._holder is not None:
            self._term = (self._holder[1], raised)
            outcome.state = replace(outcome.state, controller=self._holder[0], controller_epoch=epoch)
        elif outcome.state.controller is not None:
            # Without a controller the epoch stays that of the last one.
            outcome.state = replace(outcome.state, controller=None)

    # Brokers

    def _take_brokers(self, read: ZnodeRead, outcome: ZnodeReading) -> None:
        there = {int(child) for child in read.children if child.isdigit()}
        for broker in there - self._registered.keys():
            self._registered[broker] = None
        for broker in self._registered.keys() - there:
            del self._registered[broker]
        outcome.watch += [Watch(f"{BROKERS.path}/{broker}", "data") for broker in sorted(there)]
        self._show_brokers(outcome)

    def _take_broker(self, broker: int, read: ZnodeRead, outcome: ZnodeReading) -> None:
        if read.stat is None:
            self._registered.pop(broker, None)
        else:
            before = self._registered.get(broker)
            if before is not None and before != read.stat.created:
                outcome.also += [
                    _missed(read, 1, "the broker registered anew"),
                    Broker(source="zookeeper", node=self._name(broker), state="gone"),
                    Broker(source="zookeeper", node=self._name(broker), state="registered", fenced=False),
                ]
            self._registered[broker] = read.stat.created
        self._show_brokers(outcome)

    def _show_brokers(self, outcome: ZnodeReading) -> None:
        brokers = frozenset(self._registered)
        if brokers != outcome.state.brokers:
            outcome.state = replace(outcome.state, brokers=brokers)

    # Topics and partitions

    def _take_topics(self, read: ZnodeRead, outcome: ZnodeReading) -> None:
        there = set(read.children)
        outcome.watch += [Watch(f"{TOPICS.path}/{topic}", "data") for topic in sorted(there)]
        for topic in self._assignments.keys() - there:
            del self._assignments[topic]
        self._drop(outcome, lambda key: key[0] not in there)

    def _take_topic(self, topic: str, read: ZnodeRead, outcome: ZnodeReading) -> None:
        if read.stat is None:
            self._assignments.pop(topic, None)
            self._drop(outcome, lambda key: key[0] == topic)
            return
        assignment = self._assignments[topic] = parse_assignment(read.data)
        outcome.watch += [Watch(state_path(topic, number), "data") for number in sorted(assignment)]
        moved = {
            key: replace(state, **placed._asdict())
            for key, state in outcome.state.partitions.items()
            if key[0] == topic
            and (placed := assignment.get(key[1], Assignment())) != (state.replicas, state.adding, state.removing)
        }
        if moved:
            outcome.state = replace(outcome.state, partitions=MappingProxyType({**outcome.state.partitions, **moved}))

    def _take_state(self, topic: str, number: int, read: ZnodeRead, outcome: ZnodeReading) -> None:
        key = (topic, number)
        if read.stat is None:
            self._drop(outcome, lambda other: other == key)
            return
        placed = self._assignments.get(topic, {}).get(number, Assignment())
        state = replace(parse_partition_state(read.data, read.stat), **placed._asdict())
        created, version = self._versions.get(key, (-1, -1))
        if created == read.stat.created and read.stat.version > version + 1:
            count, reason = read.stat.version - version - 1, "its state changed more than once"
            outcome.also.append(_missed(read, count, reason, topic=topic, partition=number))
        self._versions[key] = (read.stat.created, read.stat.version)
        if outcome.state.partitions.get(key) != state:
            outcome.state = replace(
                outcome.state, partitions=MappingProxyType({**outcome.state.partitions, key: state})
            )

    def _drop(self, outcome: ZnodeReading, gone: Callable[[tuple[str, int]], bool]) -> None:
        left = {key: state for key, state in outcome.state.partitions.items() if not gone(key)}
        if len(left) != len(outcome.state.partitions):
            outcome.state = replace(outcome.state, partitions=MappingProxyType(left))
        for key in [key for key in self._versions if gone(key)]:
            del self._versions[key]

    # Notifications

    def _take_isr_changes(self, read: ZnodeRead, outcome: ZnodeReading) -> None:
        """Changes of ISRs that leaders announced (0.9 and later); the controller deletes each when it has read it."""
        there = {child for _, child in _numbered(read.children)}
        gone, made = self._isr_changes - there, there - self._isr_changes
        # Each was made once, and each that is not there was deleted.
        count = (read.stat.child_changes + len(there)) // 2 if read.stat else 0
        unseen = count - self._isr_changes_made - len(made)
        if unseen > 0:
            outcome.also.append(_missed(read, unseen, "notifications were made and deleted"))
        self._isr_changes, self._isr_changes_made = frozenset(there), max(count, self._isr_changes_made + len(made))
        outcome.also += [IsrChange(path=f"{read.watch.path}/{child}", state="gone") for child in sorted(gone)]
        outcome.also += [IsrChange(path=f"{read.watch.path}/{child}") for child in sorted(made)]
        outcome.watch += [Watch(f"{read.watch.path}/{child}", "data") for child in sorted(made)]
        deleted = self._isr_changes_made - len(there)
        if deleted != outcome.state.isr_changes_read:
            outcome.state = replace(outcome.state, isr_changes_read=deleted)


def _numbered(children: Collection[str]) -> list[tuple[int, str]]:
    parts = [(child.rpartition("_")[2], child) for child in children]
    return [(int(number), child) for number, child in parts if number.isdigit()]


def _missed(
    read: ZnodeRead, count: int, reason: str, *, topic: str | None = None, partition: int | None = None
) -> Missed:
    return Missed(
        source="zookeeper",
        path=read.watch.path,
        count=count,
        reason=f"{reason} between two looks",
        topic=topic,
        partition=partition,
    )
