"""One picture of a cluster, whatever tells it: who controls, who is registered, who leads which partition.

`ClusterState` is an immutable snapshot. An observer replaces it as the cluster states something new and wakes whoever
waits for a condition, so that a scenario reacts within milliseconds and never polls. `StateKeeper` is the part that
ZooKeeper's and KRaft's observers share.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from harness.errors import WaitTimeout

if TYPE_CHECKING:
    from harness.timeline import Timeline

NO_PARTITIONS: Mapping[tuple[str, int], PartitionState] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """What the cluster states of one partition."""

    leader: int
    """Broker id, -1 for none."""
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...] | None = None
    controller_epoch: int | None = None
    version: int = 0
    """The znode's version, or the offset in the metadata log."""
    elr: tuple[int, ...] | None = None
    """Eligible leader replicas (KIP-966); None where there is no such thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """A snapshot. `brokers` are registered and, with KRaft, not fenced."""

    controller: int | None = None
    controller_epoch: int = -1
    brokers: frozenset[int] = frozenset()
    partitions: Mapping[tuple[str, int], PartitionState] = field(default_factory=lambda: NO_PARTITIONS)

    def __str__(self) -> str:
        partitions = "; ".join(
            f"{topic}-{number} leader {state.leader} epoch {state.leader_epoch} ISR {list(state.isr)}"
            for (topic, number), state in sorted(self.partitions.items())
            if not topic.startswith("__")
        )
        return (
            f"controller {self.controller} (epoch {self.controller_epoch}), brokers {sorted(self.brokers)}, "
            f"{partitions or 'no partitions'}"
        )


class ClusterObserver(Protocol):
    """Watches one cluster from `start` to `close`."""

    def start(self) -> None:
        """Begin to watch; returns once the source answers. WaitTimeout if it does not."""

    def close(self) -> None:
        """Stop watching; again and again does no harm."""

    @property
    def state(self) -> ClusterState:
        """The latest snapshot."""

    def wait(self, predicate: Callable[[ClusterState], bool], *, what: str, timeout_s: float) -> ClusterState:
        """Wait until a snapshot satisfies `predicate` and return it; WaitTimeout says what was seen last."""

    def history_of(self, topic: str, partition: int) -> list[PartitionState]:
        """Every state of the partition that was seen, in order."""


class StateKeeper:
    """The current snapshot, the history of partitions, waiting, and the events that changes become."""

    def __init__(self, source: str, timeline: Timeline, node_name: Callable[[int], str]) -> None:
        self._source = source
        self._timeline = timeline
        self._node_name = node_name
        self._state = ClusterState()
        self._changed = threading.Condition()
        self._history: dict[tuple[str, int], list[PartitionState]] = {}
        self._blind = False

    @property
    def state(self) -> ClusterState:
        return self._state

    def wait(self, predicate: Callable[[ClusterState], bool], *, what: str, timeout_s: float) -> ClusterState:
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not predicate(self._state):
                remaining = deadline - time.monotonic()
                if remaining <= 0 or not self._changed.wait(remaining):
                    if predicate(self._state):
                        break
                    blind = " (the observer is blind at this moment)" if self._blind else ""
                    raise WaitTimeout(f"not within {timeout_s:.0f} s: {what}; seen: {self._state}{blind}")
            return self._state

    def history_of(self, topic: str, partition: int) -> list[PartitionState]:
        with self._changed:
            return list(self._history.get((topic, partition), ()))

    def _replace(self, state: ClusterState) -> None:
        with self._changed:
            self._state = state
            self._changed.notify_all()

    def _note_controller(self, controller: int | None, epoch: int) -> None:
        old = self._state
        if (old.controller, old.controller_epoch) == (controller, epoch):
            return
        node = None if controller is None else self._node_name(controller)
        self._timeline.append(self._source, "controller", node=node, epoch=epoch)
        self._replace(replace(old, controller=controller, controller_epoch=epoch))

    def _note_brokers(self, brokers: frozenset[int], *, came: str, went: str) -> None:
        old = self._state
        for broker in sorted(old.brokers - brokers):
            self._timeline.append(self._source, "broker", node=self._node_name(broker), state=went)
        for broker in sorted(brokers - old.brokers):
            self._timeline.append(self._source, "broker", node=self._node_name(broker), state=came)
        if brokers != old.brokers:
            self._replace(replace(old, brokers=brokers))

    def _note_partition(self, topic: str, partition: int, state: PartitionState, source_ns: int | None) -> None:
        old = self._state
        key = (topic, partition)
        if old.partitions.get(key) == state:
            return
        self._timeline.append(
            self._source,
            "partition",
            topic=topic,
            partition=partition,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            controller_epoch=state.controller_epoch,
            replicas=None if state.replicas is None else list(state.replicas),
            version=state.version,
            elr=None if state.elr is None else list(state.elr),
            source_ns=source_ns,
        )
        with self._changed:
            self._history.setdefault(key, []).append(state)
        self._replace(replace(old, partitions=MappingProxyType({**old.partitions, key: state})))

    def _note_blind(self, blind: bool, reason: str) -> None:
        if blind != self._blind:
            self._blind = blind
            self._timeline.append(self._source, "blind", phase="begin" if blind else "end", reason=reason)


def node_name(controllers: frozenset[int] = frozenset()) -> Callable[[int], str]:
    """How ids become node names: "broker-N", or "controller-N" for these."""
    return lambda number: f"controller-{number}" if number in controllers else f"broker-{number}"
