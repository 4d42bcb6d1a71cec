"""What a cluster states of itself, as values: the snapshot that waits and steps ask, and who keeps it up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

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
    adding: tuple[int, ...] | None = None
    """What a reassignment is adding to the replicas; None where the cluster does not state it."""
    removing: tuple[int, ...] | None = None
    source_ns: int | None = field(default=None, compare=False)
    """The wall time at which the cluster itself says that it became so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """A snapshot. `brokers` are registered and, with KRaft, not fenced."""

    controller: int | None = None
    controller_epoch: int = -1
    brokers: frozenset[int] = frozenset()
    partitions: Mapping[tuple[str, int], PartitionState] = field(default_factory=lambda: NO_PARTITIONS)
    migrated_to: int | None = None
    """With ZooKeeper: the KRaft controller that has taken over the metadata (KIP-866); None if there is none."""
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """KRaft: by feature, its level and the offset of the record in the metadata log that says so."""
    isr_changes_read: int = 0
    """Notifications of ISR changes that were made in ZooKeeper and that the controller has deleted."""

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

    def accept_older(self) -> None:
        """Be told what the cluster states also if it is older than what was seen before."""

    def history_of(self, topic: str, partition: int) -> list[PartitionState]:
        """Every state of the partition that was seen, in order."""
