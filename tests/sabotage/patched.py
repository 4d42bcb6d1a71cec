"""A harness with a bug, run as `kafka-chaos` is: `python -m tests.sabotage.patched BUG run SCENARIO …`.

Each bug makes a witness or a fault worthless and says nothing of it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app import cli
from evidence.errors import RecorderDied
from evidence.events import Ends
from evidence.faults.clients import KillClientProof, ResetProof
from evidence.faults.clock import ClockStepProof
from evidence.faults.disks import BrokenDiskProof, DiskFullProof, SlowDiskProof
from evidence.faults.files import OverwriteProof
from evidence.faults.network import CutProof, DelayProof, HoldProof
from evidence.faults.process import FreezeProof, KillProof, MigrationProof, PowerLossProof, StartProof
from evidence.worker import Worker
from harness import runner
from harness.cluster import cluster
from harness.cluster.disks import DiskMounter
from harness.faults.answers import Hold, Reset, connections
from harness.faults.bad_disks import DeadDisk, FullDisk, ReadOnlyDisk
from harness.faults.client import KillClient
from harness.faults.clock import ClockStep
from harness.faults.cut import Cut
from harness.faults.delay import Delay
from harness.faults.files import Overwrite
from harness.faults.migration import Migration
from harness.faults.network import DEVICE
from harness.faults.power import PowerLoss
from harness.faults.process import Freeze, Kill, Start, StartWith
from harness.faults.slow import Slow
from harness.faults.slow_disk import SlowDisk
from harness.observers import docker_events, replicas
from harness.run.disks import LiveFiles
from harness.run.sequence_log import SequenceLog
from harness.workloads.handles.client import Child
from kafkafiles.checkpoints import read_offset_checkpoint


def kill_does_nothing() -> None:
    Kill.inject = lambda self: self._begin()  # type: ignore[method-assign]


def kill_is_a_clean_stop() -> None:
    def inject(self: Kill) -> None:
        self._begin()
        self.node.container.kill(signal="SIGTERM")

    Kill.inject = inject  # type: ignore[method-assign]


def kill_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    kill_does_nothing()
    made_up = KillProof(exit_code=137, time_nano=1, signal_nano=1)
    Kill.verify = lambda self: made_up  # type: ignore[method-assign]


def cut_does_nothing() -> None:
    Cut.inject = lambda self: None  # type: ignore[method-assign]


def cut_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    cut_does_nothing()
    Cut.verify = lambda self: CutProof(packets_dropped={f"{n.name} OUTPUT x": 7 for n in self.senders})  # type: ignore[method-assign]
    Cut.heal = lambda self: None  # type: ignore[method-assign]


def freeze_does_nothing() -> None:
    Freeze.inject = lambda self: self._begin()  # type: ignore[method-assign]


def freeze_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    freeze_does_nothing()
    Freeze.verify = lambda self: FreezeProof(status="paused", cpu_ticks=(7, 7), watched_ms=100)  # type: ignore[method-assign]
    Freeze.heal = lambda self: None  # type: ignore[method-assign]


def hold_does_nothing() -> None:
    Hold.inject = lambda self: None  # type: ignore[method-assign]


def hold_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    hold_does_nothing()

    def verify(self: Hold) -> HoldProof:
        asked = tuple(sorted(node.name for node in self.senders))
        return HoldProof(packets_dropped={"OUTPUT x": 7}, taken_and_unanswered=asked)

    Hold.verify = verify  # type: ignore[method-assign]
    Hold.heal = lambda self: None  # type: ignore[method-assign]


def delay_does_nothing() -> None:
    Delay.inject = lambda self: None  # type: ignore[method-assign]


def delay_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    delay_does_nothing()
    made_up = DelayProof(packets_dropped={"broker-2 INPUT x:7": 7}, not_taken=("broker-2",), connections=1)
    Delay.verify = lambda self: made_up  # type: ignore[method-assign]
    Delay.heal = lambda self: None  # type: ignore[method-assign]


def migration_does_nothing() -> None:
    """Brokers are started anew as they were."""
    StartWith.inject = Start.inject  # type: ignore[method-assign]


def migration_is_claimed() -> None:
    """They are, and the proofs are made up."""
    migration_does_nothing()

    def verify(self: StartWith) -> StartProof:
        pid, time_nano = self._started()
        return StartProof(pid=pid, time_nano=time_nano, settings=dict(self.settings))

    StartWith.verify = verify  # type: ignore[method-assign]
    line = "Completed migration of metadata"
    made_up = MigrationProof(line=line, controller="controller-100", brokers=("broker-1",))
    Migration.verify = lambda self: made_up  # type: ignore[method-assign]


def reset_does_nothing() -> None:
    def inject(self: Reset) -> None:
        self._before = connections(self.node, self.peer, self.port)

    Reset.inject = inject  # type: ignore[method-assign]


def reset_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    reset_does_nothing()
    Reset.verify = lambda self: ResetProof(connections=tuple(self._before), left=())  # type: ignore[method-assign]


def kill_client_does_nothing() -> None:
    KillClient.inject = lambda self: None  # type: ignore[method-assign]


def kill_client_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    kill_client_does_nothing()
    KillClient.verify = lambda self: KillClientProof(pid=self.process.pid, status=-9)  # type: ignore[method-assign]


def _broken_application(way: str) -> None:
    def start(self: Child, module: str, name: str, arguments: Mapping[str, Any]) -> None:
        place = (
            "tests.sabotage.broken_application" if module == "application" else f"harness.workloads.processes.{module}"
        )
        Worker.__init__(self, name, place, [json.dumps({**arguments, "broken": way})], gone=RecorderDied)

    Child.__init__ = start  # type: ignore[method-assign]


def application_sends_nothing() -> None:
    """It says that it has processed its inputs, and makes nothing of them."""
    _broken_application("sends_nothing")


def application_commits_first() -> None:
    """It claims to process and then to commit, and does it the other way round."""
    _broken_application("commits_first")


def application_stores_apart() -> None:
    """It claims one transaction of a store, and has two."""
    _broken_application("stores_apart")


def application_store_is_full() -> None:
    """Its store has no room from the second transaction on."""
    _broken_application("store_is_full")


def slow_does_nothing() -> None:
    """The token buckets are there, and no packet goes through them."""
    apply = Slow.apply

    def without_filters(self: Slow, node: Any) -> None:
        apply(self, node)
        node.run_inside("sh", "-c", f"tc filter del dev {DEVICE} parent 1:")

    Slow.apply = without_filters  # type: ignore[method-assign]


def overwrite_does_nothing() -> None:
    def change(self: Overwrite) -> None:
        self._before = read_offset_checkpoint(self.path).offsets

    Overwrite._change = change  # type: ignore[method-assign]


def overwrite_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    overwrite_does_nothing()

    def verify(self: Overwrite) -> OverwriteProof:
        replica = f"{self.topic}-{self.partition}"
        return OverwriteProof(file=self.path.name, replica=replica, offset_before=3, offset=self.offset)

    Overwrite.verify = verify  # type: ignore[method-assign]


def power_loss_is_a_kill() -> None:
    """The processes die, and the disks forget nothing."""
    DiskMounter.shut_down = lambda self, disks: None  # type: ignore[method-assign]


def power_loss_is_claimed() -> None:
    """The processes die, the disks forget nothing, and the rest of the proof is made up."""
    power_loss_is_a_kill()

    def verify(self: PowerLoss) -> PowerLossProof:
        died, killed = self._event("die"), self._event("kill")
        return PowerLossProof(
            exit_code=died.exit_code or 0,
            time_nano=died.time_nano,
            signal_nano=killed.time_nano,
            refused_then="Input/output error",
            flushed_file_held=True,
            unflushed_file_held=False,
            replicas={},
        )

    PowerLoss.verify = verify  # type: ignore[method-assign]


def disk_failure_does_nothing() -> None:
    DeadDisk._strike = lambda self: None  # type: ignore[method-assign]
    ReadOnlyDisk._strike = lambda self: None  # type: ignore[method-assign]
    DeadDisk.heal = lambda self: None  # type: ignore[method-assign]


def disk_failure_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    disk_failure_does_nothing()

    def verify(self: DeadDisk) -> BrokenDiskProof:
        refused = os.strerror(self.proof_type.REFUSAL)
        return self.proof_type(refused=refused, running=True, replicas=tuple(self._replicas))

    DeadDisk.verify = verify  # type: ignore[method-assign]


def full_disk_does_nothing() -> None:
    def inject(self: FullDisk) -> None:
        self._ran = True

    FullDisk.inject = inject  # type: ignore[method-assign]


def full_disk_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    full_disk_does_nothing()
    FullDisk.verify = lambda self: DiskFullProof(refused="No space left on device", running=True, free=0)  # type: ignore[method-assign]


def slow_disk_does_nothing() -> None:
    SlowDisk._limit = lambda self, rate: None  # type: ignore[method-assign]


def slow_disk_is_claimed() -> None:
    """It does nothing, and its proof is made up."""
    slow_disk_does_nothing()

    def verify(self: SlowDisk) -> SlowDiskProof:
        size = 2 * self.bytes_per_s
        return SlowDiskProof(device="7:0", bytes_per_s=self.bytes_per_s, bytes=size, bytes_counted=size, took_ms=2000)

    SlowDisk.verify = verify  # type: ignore[method-assign]


def flush_log_does_nothing() -> None:
    LiveFiles.flush_log = lambda self, t, targets: None  # type: ignore[method-assign]


def clock_does_nothing() -> None:
    ClockStep._set = lambda self, seconds: None  # type: ignore[method-assign]


def clock_is_claimed() -> None:
    """It does nothing, and its proof is made up of what the broker has said."""
    clock_does_nothing()

    def verify(self: ClockStep) -> ClockStepProof:
        line, ahead_ms = self._before.line if self._before else "", 1000 * self.seconds
        return ClockStepProof(seconds=self.seconds, before_ms=0, line_before=line, line=line, ahead_ms=ahead_ms)

    ClockStep.verify = verify  # type: ignore[method-assign]


def deaths_are_not_heard() -> None:
    heard = docker_events.DockerEvents.note

    def note(self: Any, sent: Any) -> None:
        if sent.get("Action") != "die":
            heard(self, sent)

    docker_events.DockerEvents.note = note  # type: ignore[method-assign]


def copies_without_segments() -> None:
    copy = replicas._copy

    def leave_out(source: Path, target: Path) -> None:
        if source.suffix != ".log":
            copy(source, target)

    replicas._copy = leave_out


def copies_of_one_broker() -> None:
    copy = replicas._copy_node
    first: list[Path] = []

    def of_the_first(
        sources: Sequence[Path], target: Path, topics: frozenset[str], replicas: frozenset[str]
    ) -> dict[str, Ends]:
        if target.name == "broker-1":
            first[:] = [target]
            return copy(sources, target, topics, replicas)
        ends = copy(sources, target, topics, replicas)
        shutil.rmtree(target)
        shutil.copytree(first[0], target)
        return ends

    replicas._copy_node = of_the_first


def preconditions_are_not_written() -> None:
    def require(self: SequenceLog, _name: str, _held: bool, **_detail: Any) -> None:
        self.preconditions += 1

    SequenceLog.require = require  # type: ignore[method-assign,assignment]


def duties_are_not_written() -> None:
    def claim(self: SequenceLog, _name: str, _held: bool, **_detail: Any) -> None:
        self.duties += 1

    SequenceLog.claim = claim  # type: ignore[method-assign,assignment]


def another_image() -> None:
    """Whatever is asked for, the image of 0.10.2.2 runs."""
    compose = cluster._compose

    def of_another(arguments: Any, variables: Any, *more: Any, **options: Any) -> Any:
        return compose(arguments, {**variables, "KAFKA_VERSION": "0.10.2.2"}, *more, **options)

    cluster._compose = of_another


def disk_is_large_enough() -> None:
    """However small it is."""
    runner.LOW_DISK_BYTES = 0  # type: ignore[misc]


BUGS: dict[str, Callable[[], None]] = {
    bug.__name__: bug
    for bug in (
        kill_does_nothing,
        kill_is_a_clean_stop,
        kill_is_claimed,
        cut_does_nothing,
        cut_is_claimed,
        freeze_does_nothing,
        freeze_is_claimed,
        hold_does_nothing,
        hold_is_claimed,
        delay_does_nothing,
        delay_is_claimed,
        migration_does_nothing,
        migration_is_claimed,
        reset_does_nothing,
        reset_is_claimed,
        kill_client_does_nothing,
        kill_client_is_claimed,
        application_sends_nothing,
        application_commits_first,
        application_store_is_full,
        slow_does_nothing,
        overwrite_does_nothing,
        overwrite_is_claimed,
        power_loss_is_a_kill,
        power_loss_is_claimed,
        disk_failure_does_nothing,
        disk_failure_is_claimed,
        full_disk_does_nothing,
        full_disk_is_claimed,
        slow_disk_does_nothing,
        slow_disk_is_claimed,
        flush_log_does_nothing,
        clock_does_nothing,
        clock_is_claimed,
        deaths_are_not_heard,
        copies_without_segments,
        copies_of_one_broker,
        preconditions_are_not_written,
        duties_are_not_written,
        another_image,
        disk_is_large_enough,
    )
}

if __name__ == "__main__":
    BUGS[sys.argv[1]]()
    sys.exit(cli.main(sys.argv[2:]))
