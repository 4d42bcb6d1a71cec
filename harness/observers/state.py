"""The state of a cluster, whichever source states it: controller, registered brokers, leader of each partition.

An observer replaces the snapshot (`harness.cluster.state.ClusterState`) as the cluster states something new, and wakes
whoever waits for a condition, so that a scenario reacts within milliseconds and never polls. `changes` turns the step
from one snapshot to the next into the events of the timeline, by values alone. `StateKeeper` is what the observers of
ZooKeeper and of KRaft share: the snapshot, the history of each partition, waiting, and blind intervals.

An event is written before the snapshot that it belongs to can be seen, so whatever a scenario does because of a
snapshot comes after it in the timeline.

A blind interval begins at the last sign of life, not when the silence was noticed: what happened in between may have
been missed. It ends when everything watched has been read again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from evidence import events
from evidence.errors import WaitTimeout
from harness.cluster.state import ClusterState, PartitionState

if TYPE_CHECKING:
    from evidence.timeline import Timeline


def changes(
    old: ClusterState, new: ClusterState, name: Callable[[int], str], *, source: events.State
) -> Iterator[events.Event]:
    """The events that lead from one snapshot to the next. A broker that enters or leaves `brokers` has registered or is
    gone (ZooKeeper), or is unfenced or fenced (KRaft).
    """
    if (old.controller, old.controller_epoch) != (new.controller, new.controller_epoch):
        node = None if new.controller is None else name(new.controller)
        yield events.Controller(source=source, node=node, epoch=new.controller_epoch)
    for broker in sorted(old.brokers - new.brokers):
        yield events.Broker(source=source, node=name(broker), state="gone" if source == "zookeeper" else "fenced")
    for broker in sorted(new.brokers - old.brokers):
        if source == "zookeeper":
            yield events.Broker(source=source, node=name(broker), state="registered", fenced=False)
        else:
            yield events.Broker(source=source, node=name(broker), state="unfenced")
    if old.partitions is new.partitions:
        return
    for (topic, number), partition in new.partitions.items():
        if old.partitions.get((topic, number)) != partition:
            yield partition_event(source, topic, number, partition)


def partition_event(source: events.State, topic: str, number: int, partition: PartitionState) -> events.Partition:
    """A partition's state as the timeline has it."""
    return events.Partition(
        source=source,
        topic=topic,
        partition=number,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        controller_epoch=partition.controller_epoch,
        replicas=partition.replicas,
        version=partition.version,
        elr=partition.elr,
        adding=partition.adding,
        removing=partition.removing,
        source_ns=partition.source_ns,
    )


class StateKeeper:
    """The current snapshot, the history of partitions, waiting, and the events that changes become.

    Only one thread at a time may publish; reading and waiting is for any thread.
    """

    def __init__(self, source: events.State, timeline: Timeline, node_name: Callable[[int], str]) -> None:
        self._source: events.State = source
        self._timeline = timeline
        self._node_name = node_name
        self._state = ClusterState()
        self._changed = threading.Condition()
        self._history: dict[tuple[str, int], list[PartitionState]] = {}
        self._blind = False

    @property
    def state(self) -> ClusterState:
        return self._state

    @property
    def blind(self) -> bool:
        """Whether a blind interval lasts at this moment."""
        return self._blind

    def wait(self, predicate: Callable[[ClusterState], bool], *, what: str, timeout_s: float) -> ClusterState:
        start = time.monotonic()
        deadline = start + timeout_s
        with self._changed:
            while not predicate(self._state):
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    blind = " (the observer is blind at this moment)" if self._blind else ""
                    raise WaitTimeout(
                        f"waited {time.monotonic() - start:.1f} s, not seen: {what}; last seen: {self._state}{blind}"
                    )
                self._changed.wait(remaining)
            return self._state

    def accept_older(self) -> None:
        """Be told what the cluster states also if it is older than before, as after a loss: nothing to do here."""

    def history_of(self, topic: str, partition: int) -> list[PartitionState]:
        with self._changed:
            return list(self._history.get((topic, partition), ()))

    def publish(self, new: ClusterState, *, also: Sequence[events.Event] = ()) -> None:
        """Make `new` the snapshot: write its events (`also` first), then wake whoever waits."""
        old = self._state
        for event in also:
            self._timeline.append(event)
        if new is old:
            return
        for event in changes(old, new, self._node_name, source=self._source):
            self._timeline.append(event)
        with self._changed:
            for key, partition in new.partitions.items():
                if old.partitions.get(key) != partition:
                    self._history.setdefault(key, []).append(partition)
            self._state = new
            self._changed.notify_all()

    def begin_blind(self, reason: str, *, since_ns: int | None = None) -> None:
        """From `since_ns` on (monotonic; default now) changes may have been missed."""
        if not self._blind:
            at_ns = time.monotonic_ns() if since_ns is None else since_ns
            wall_ns = time.time_ns() - (time.monotonic_ns() - at_ns)
            self._timeline.append(
                events.Blind(source=self._source, phase="begin", reason=reason, monotonic_ns=at_ns, wall_ns=wall_ns)
            )
            self._blind = True

    def end_blind(self, reason: str) -> None:
        """Everything watched has been read again."""
        if self._blind:
            self._timeline.append(events.Blind(source=self._source, phase="end", reason=reason))
            self._blind = False


def node_name(controllers: frozenset[int] = frozenset()) -> Callable[[int], str]:
    """How ids become node names: "broker-N", or "controller-N" for these."""
    return lambda number: f"controller-{number}" if number in controllers else f"broker-{number}"
