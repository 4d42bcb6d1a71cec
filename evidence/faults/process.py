"""Faults of a node's process: it is killed, stopped, started, frozen or has exited; and a migration, there and back."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct, field

from evidence.engine import KILLED, SIGNALLED, TERMINATED, ContainerAction, ContainerEvent
from evidence.faults.base import FaultProof, Icon, Lasts, Mark, Witnesses

CROSS = Icon(-2.6, -2.6, "l5.2 5.2m0 -5.2l-5.2 5.2")
LIGHTNING = Icon(1.2, -4.2, "l-3.4 4.8h4.4l-3.4 4.4")
SQUARE = Icon(-2.4, -2.4, "h4.8v4.8h-4.8z", filled=True)
TRIANGLE = Icon(-2, -3, "l5 3l-5 3z", filled=True)
FLAKE = Icon(0, -4, "v8m-3.5 -6l7 4m0 -4l-7 4")

NOT_MIGRATED = "its proof does not show brokers that migrated, and whom ZooKeeper names as the controller"
NOT_REVERTED = "its proof does not show a broker that is the controller again, in a later epoch"


class EndProof(FaultProof, frozen=True, kw_only=True):
    """The process ended: the engine's `die` event."""

    lasts: ClassVar = Lasts.UNTIL_STARTED

    exit_code: int
    event: str = "die"
    time_nano: int
    """The engine's own time of that event."""

    def _as_wanted(self) -> bool:
        """Whether this kind of end has this exit code."""
        raise NotImplementedError

    def missing(self) -> str | None:
        return None if self._as_wanted() else f"its proof has the exit code {self.exit_code}"

    def contradicted(self, witnesses: Witnesses) -> str | None:
        ends = witnesses.container_events("die", self.time_nano)
        return (
            None
            if any(one.exit_code == self.exit_code for one in ends)
            else "Docker told of no such end of the process"
        )

    def text(self) -> str:
        return f"exit code {self.exit_code}, Docker's event “{self.event}”"


class DeathProof(EndProof, frozen=True, kw_only=True):
    """The process is gone from one moment to the next."""

    explains: ClassVar[tuple[ContainerAction, ...]] = ("kill", "die")

    signal_nano: int
    """The engine's time of its `kill` event, which says when it had carried the signal out."""

    def _as_wanted(self) -> bool:
        return self.exit_code == KILLED

    def contradicted(self, witnesses: Witnesses) -> str | None:
        if said := super().contradicted(witnesses):
            return said
        return None if any(witnesses.container_events("kill", self.signal_nano)) else "Docker told of no such signal"


class KillProof(DeathProof, frozen=True, kw_only=True, tag="kill"):
    """Docker's `kill` event and then its `die` event after the injection, with exit code 137."""

    mark: ClassVar = Mark(verb="kill -9", icon=CROSS)


class AgeGroup(Struct, frozen=True, kw_only=True):
    """A replica's offsets whose batches had an age between these when the power went, and how many of them are lost."""

    from_s: int
    to_s: int
    written: int
    lost: int


class ReplicaOnDisk(Struct, frozen=True, kw_only=True):
    """How far a replica's log went as its process had written it, and how far it goes on the disk."""

    written: int
    """The offset after its last whole batch."""
    held: int | None
    """Likewise on the disk, of what is there byte for byte; None if nothing of the replica is."""
    bytes_written: int = 0
    bytes_held: int = 0
    bytes_beyond: int = 0
    """What its segments have after that."""
    beyond_is_zeros: bool = True
    oldest_lost_ms: int | None = None
    """The age of the oldest batch that is lost."""
    by_age: tuple[AgeGroup, ...] = ()


class Lost(Struct, frozen=True, kw_only=True):
    """How much of a disk is lost."""

    records: int = 0
    bytes: int = 0
    files: int = 0


class FilesOnDisk(Struct, frozen=True, kw_only=True):
    """How many files a disk had, and which (of the first ten) it has no more, or shorter."""

    written: int = 0
    gone: tuple[str, ...] = ()
    shorter: tuple[str, ...] = ()


class PowerLossProof(DeathProof, frozen=True, kw_only=True, tag="power-loss"):
    """As for a kill, for each node that is struck. Its file system refused a write when it was shut down. A file that
    was never flushed is lost, one that was flushed exists, and ext4 says that its journal must be replayed. The proof
    also has, replica by replica, the end of the log as written and its end on the disk, also where nothing was lost.
    """

    mark: ClassVar = Mark(verb="power loss", icon=LIGHTNING)

    file_system: str = ""
    stopped_to_shut_ms: float = 0
    """Between the moment at which its processes stood still and the end of its file system."""
    refused_then: str
    """The error with which the file system, once shut down, refused a file."""
    flushed_file_held: bool
    unflushed_file_held: bool
    journal_to_replay: bool | None = None
    """Of ext4."""
    replicas: dict[str, ReplicaOnDisk]
    """By name ("t-0"); a node without replicas has none."""
    lost: Lost = Lost()
    files: FilesOnDisk = FilesOnDisk()
    writeback: dict[str, int] = field(default_factory=dict)
    """The kernel's settings of when it writes back, and how much was dirty."""

    def missing(self) -> str | None:
        if said := super().missing():
            return said
        if not self.flushed_file_held or self.unflushed_file_held or self.journal_to_replay is False:
            return "its proof does not show a disk that forgot what was not flushed, and that alone"
        if not self.refused_then or any((one.held or 0) > one.written for one in self.replicas.values()):
            return "its proof does not show what the disk was shut down with and holds"
        return None

    def text(self) -> str:
        short = [
            f"of {name} it holds {one.held or 0} of {one.written} offsets"
            for name, one in sorted(self.replicas.items())
            if (one.held or 0) < one.written
        ]
        return f"its disk forgot what was not flushed; {'; '.join(short) or 'of its replicas it holds everything'}"


class StopProof(EndProof, frozen=True, kw_only=True, tag="stop"):
    """As for a kill, with 143 or 0: the JVM ran its shutdown hook. 137 would mean that it had to be killed."""

    explains: ClassVar[tuple[ContainerAction, ...]] = ("kill", "kill", "die", "stop")
    """A stop that takes too long ends with a second signal."""
    mark: ClassVar = Mark(verb="stop", icon=SQUARE)

    def _as_wanted(self) -> bool:
        return self.exit_code in TERMINATED


class ExitProof(EndProof, frozen=True, kw_only=True, tag="exit"):
    """A broker exits, as a scenario expects: Docker's `die` event with an exit code that does not belong to a signal,
    and the broker's own line with the reason, which must be among its telling log lines.
    """

    mark: ClassVar = Mark(verb="exit")

    line: str

    def _as_wanted(self) -> bool:
        return 0 < self.exit_code <= SIGNALLED

    def contradicted(self, witnesses: Witnesses) -> str | None:
        if said := super().contradicted(witnesses):
            return said
        return None if (witnesses.node, self.line) in witnesses.logged else "the broker's log does not say so"

    def explains_event(self, event: ContainerEvent) -> bool:
        return event.action == "die" and event.time_nano == self.time_nano


class RunningProof(FaultProof, frozen=True, kw_only=True):
    """A process was started and runs."""

    lasts: ClassVar = Lasts.AT_ONCE
    explains: ClassVar[tuple[ContainerAction, ...]] = ("start",)

    pid: int
    event: str = "start"
    time_nano: int
    """The engine's own time of that event."""

    def missing(self) -> str | None:
        return None if self.pid > 0 else "its proof does not show a process that runs"

    def contradicted(self, witnesses: Witnesses) -> str | None:
        return None if any(witnesses.container_events("start", self.time_nano)) else "Docker told of no such start"

    def text(self) -> str:
        return f"running as process {self.pid}, Docker's event “{self.event}”"


class StartProof(RunningProof, frozen=True, kw_only=True, tag="start"):
    """Docker's `start` event, and a process that runs; with other settings, the properties that the node then wrote."""

    strikes: ClassVar = False
    mark: ClassVar = Mark(verb="start", icon=TRIANGLE, colour="start")

    settings: dict[str, str] | None = None
    """With which it was started, over those that it had."""


class DoubleProof(RunningProof, frozen=True, kw_only=True, tag="double"):
    """A second broker with the id of a running one: as for a start. Both nodes' properties have the same id, and the
    first one runs.
    """

    mark: ClassVar = Mark(verb="start")

    id: int
    pid_of_first: int

    def missing(self) -> str | None:
        if self.id < 0 or self.pid_of_first <= 0:
            return "its proof does not show two brokers with one id, both running"
        return super().missing()


class FreezeProof(FaultProof, frozen=True, kw_only=True, tag="freeze"):
    """Docker's `pause` event, state paused, and the process's CPU clock standing still while wall time passes."""

    explains: ClassVar[tuple[ContainerAction, ...]] = ("pause", "unpause")
    mark: ClassVar = Mark(verb="freeze", icon=FLAKE)

    status: str
    """The container's, as Docker says."""
    event: str = "pause"
    cpu_ticks: tuple[int, ...]
    """What the process had used of the CPU, one reading after the other."""
    watched_ms: int
    """Between the readings."""

    def missing(self) -> str | None:
        if len(self.cpu_ticks) < 2 or len(set(self.cpu_ticks)) > 1 or self.watched_ms <= 0:
            return "its proof does not show a CPU clock that stands still"
        return None if self.status == "paused" else f"its proof has the state {self.status!r}"

    def contradicted(self, witnesses: Witnesses) -> str | None:
        return None if witnesses.told_meanwhile("pause") else "Docker told of no pause"

    def text(self) -> str:
        return f"its CPU clock stood still at {self.cpu_ticks[0]} ticks for {self.watched_ms} ms"


class MigrationProof(FaultProof, frozen=True, kw_only=True, tag="migration"):
    """The metadata was migrated from ZooKeeper to KRaft (not a fault, but it too may silently not have happened). The
    controller's log says so, ZooKeeper names it as the holder of the metadata and as the controller, and every broker
    runs with the setting that makes it migrate.
    """

    lasts: ClassVar = Lasts.AT_ONCE
    mark: ClassVar = Mark(verb="migration")

    line: str
    controller: str
    epoch: int | None = None
    """Of the controller, as ZooKeeper has it."""
    brokers: tuple[str, ...]

    def missing(self) -> str | None:
        return None if self.brokers and self.controller else NOT_MIGRATED

    def contradicted(self, witnesses: Witnesses) -> str | None:
        if (witnesses.node, self.line) not in witnesses.logged:
            return "the controller's log does not say so"
        return None if self.controller == witnesses.node else NOT_MIGRATED


class RevertProof(FaultProof, frozen=True, kw_only=True, tag="revert"):
    """A migration to KRaft was reverted (no fault, but like one it may silently not have happened): ZooKeeper has no
    /migration any more, and names a broker as the controller, in a later epoch than the KRaft controller's.
    """

    lasts: ClassVar = Lasts.AT_ONCE
    mark: ClassVar = Mark(verb="revert")

    before: str
    """The node that was the controller."""
    epoch_before: int
    controller: str
    epoch: int

    def missing(self) -> str | None:
        over = self.controller.startswith("broker-") and self.epoch > self.epoch_before and self.before
        return None if over else NOT_REVERTED
