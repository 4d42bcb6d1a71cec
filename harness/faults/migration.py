"""A migration from ZooKeeper to KRaft (KIP-866), once it was set going: the proof that it came to its end, and the way
back.

It is no fault, but like one it may silently not have happened, and then an affected release looks safe. Its steps have
proofs of their own: the start of a KRaft controller, and of each broker anew with the settings of a migration. The
proof of the whole has three witnesses that know nothing of each other. The controller's log says that it has completed
the migration of the metadata. ZooKeeper names it as the one that keeps them (/migration), and as the controller. Each
broker runs with properties that have it register with that controller.

The way back is two deletions in ZooKeeper, of /controller and of /migration (Kafka documentation, Reverting to
ZooKeeper mode during the migration). Proof: ZooKeeper names a broker as the controller, in a later epoch, and nobody as
the one that keeps the metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.errors import FaultUnproved, WaitTimeout
from evidence.faults.process import MigrationProof, RevertProof
from harness.observers.broker_logs import recognise
from harness.polling import poll

if TYPE_CHECKING:
    from pathlib import Path

    from harness.cluster.docker import Node
    from harness.cluster.state import ClusterObserver, ClusterState

LIMIT_S: Final = 60.0
POLL_S: Final = 0.2
SWITCH: Final = "zookeeper.metadata.migration.enable"
"""The setting that has a broker migrate."""


@dataclass(slots=True, kw_only=True)
class Migration:
    """A KRaft controller has taken over the metadata of a cluster whose brokers it knows."""

    node: Node
    """The controller."""
    brokers: Mapping[str, Path]
    """The properties that each broker, by its node, was last started with."""
    observer: ClusterObserver
    """Of ZooKeeper."""
    proof_type: ClassVar = MigrationProof
    timeout_s: float = LIMIT_S

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"migration of the metadata from ZooKeeper to {self.node.name}"

    def inject(self) -> None:
        """Nothing: it begins by itself when every broker has registered with the controller."""

    def verify(self) -> MigrationProof:
        line = poll(self._said, self.timeout_s, every_s=POLL_S)
        if line is None:
            raise FaultUnproved(
                f"{self.node.name} did not say in {self.timeout_s:.0f} s that it has completed the migration; "
                f"it said at last:\n{self.node.said()[-2000:]}"
            )
        what = f"ZooKeeper names {self.node.name} as the one that keeps the metadata, and as the controller"
        try:
            state = self.observer.wait(self._taken_over, what=what, timeout_s=self.timeout_s)
        except WaitTimeout as error:
            raise FaultUnproved(str(error)) from None
        switched = f"{SWITCH}=true"
        left = [name for name, path in self.brokers.items() if switched not in path.read_text().splitlines()]
        if left or not self.brokers:
            raise FaultUnproved(f"brokers that run without {switched}: {', '.join(left) or 'all'}")
        epoch, brokers = state.controller_epoch, tuple(sorted(self.brokers))
        return MigrationProof(line=line, controller=self.node.name, epoch=epoch, brokers=brokers)

    def heal(self) -> None:
        """Nobody goes back."""

    def _said(self) -> str | None:
        lines = self.node.said().splitlines()
        return next((line for line in lines if (found := recognise(line)) and found[0] == "migrated"), None)

    def _taken_over(self, state: ClusterState) -> bool:
        return self.node.id == state.migrated_to == state.controller


@dataclass(slots=True, kw_only=True)
class Revert:
    """ZooKeeper is made to forget that a KRaft controller has the metadata, so that a broker becomes the controller."""

    node: Node
    """The KRaft controller, which is down."""
    forget: Callable[[], object]
    """Deletes /controller and /migration."""
    observer: ClusterObserver
    """Of ZooKeeper."""
    _epoch_before: int = field(default=-1, init=False)
    proof_type: ClassVar = RevertProof
    timeout_s: float = LIMIT_S

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"/controller and /migration of {self.node.name} are deleted"

    def inject(self) -> None:
        self._epoch_before = self.observer.state.controller_epoch
        self.forget()

    def verify(self) -> RevertProof:
        what = "ZooKeeper names a broker as the controller, and nobody as the one that keeps the metadata"
        try:
            state = self.observer.wait(self._taken_back, what=what, timeout_s=self.timeout_s)
        except WaitTimeout as error:
            raise FaultUnproved(str(error)) from None
        return RevertProof(
            before=self.node.name,
            epoch_before=self._epoch_before,
            controller=f"broker-{state.controller}",
            epoch=state.controller_epoch,
        )

    def heal(self) -> None:
        """The migration can be tried again."""

    def _taken_back(self, state: ClusterState) -> bool:
        controller, later = state.controller, state.controller_epoch > self._epoch_before
        return state.migrated_to is None and controller is not None and controller in state.brokers and later
