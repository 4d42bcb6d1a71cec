"""A power loss is believed only when the disk shows it: what it forgot, what it kept, and every sabotage of it."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evidence.engine import ContainerAction
from evidence.errors import FaultUnproved, HarnessError, UsageError
from evidence.events import Container
from evidence.faults.process import AgeGroup, FilesOnDisk, Lost
from harness.cluster.disks import SYNCED, Disk, loops_below, mounted_below
from harness.cluster.docker import Node
from harness.faults import power
from harness.faults.power import (
    INCOMPAT,
    UNSYNCED,
    FileContent,
    Outage,
    PowerLoss,
    by_age,
    compared,
    look,
    oldest_lost_ms,
    replicas,
    wait_still,
)
from harness.plan import ClusterPlan, Disks
from tests.unit.kafkafiles.encode import R, batch

LOG = "kafka/t-0/00000000000000000000.log"


def segment(*offsets: int, timestamp: int = 1_000) -> bytes:
    return b"".join(batch(offset, [R(timestamp=timestamp)]) for offset in offsets)


def seen(content: bytes) -> FileContent:
    return FileContent(size=len(content), content=content)


# What the disk holds of what was written


def test_what_the_disk_lost_is_told_replica_by_replica() -> None:
    written = {
        LOG: seen(segment(0, 1, 2)),
        "kafka/u-0/00000000000000000005.log": seen(b""),
        "kafka/x": FileContent(size=7),
    }
    found = compared(written, {LOG: seen(segment(0)), "kafka/x": FileContent(size=3)}, at_ms=1_000)
    t, u = found.replicas["t-0"], found.replicas["u-0"]
    assert (t.written, t.held, t.bytes_held) == (3, 1, len(segment(0)))
    assert (u.written, u.held) == (5, None)
    assert found.lost.files == 1
    assert found.lost.records == 2 + 5
    assert found.files.gone == ("kafka/u-0/00000000000000000005.log",)
    assert found.files.shorter == (LOG, "kafka/x")


def test_nothing_lost_is_said() -> None:
    written = {LOG: seen(segment(0, 1))}
    found = compared(written, dict(written), at_ms=1_000)
    assert found.lost == Lost()
    assert found.files == FilesOnDisk(written=1)


def test_zeros_in_the_place_of_records_are_lost_records_though_the_length_is_the_same() -> None:
    whole = segment(0, 1)
    zeros = segment(0) + bytes(len(whole) - len(segment(0)))
    found = compared({LOG: seen(whole)}, {LOG: seen(zeros)}, at_ms=1_000)
    assert found.lost.records == 1
    assert found.lost.bytes == len(whole) - len(segment(0)) == found.replicas["t-0"].bytes_beyond
    assert found.replicas["t-0"].beyond_is_zeros is True


def test_offsets_are_counted_by_the_age_of_their_batches() -> None:
    content = segment(0, timestamp=1_000) + segment(1, timestamp=12_000) + segment(2, timestamp=13_000)
    written = replicas({LOG: seen(content)})["t-0"]
    assert oldest_lost_ms(written, 2, at_ms=14_000) == 1_000
    assert oldest_lost_ms(written, 3, at_ms=14_000) is None
    assert by_age(written, 2, at_ms=14_000) == (
        AgeGroup(from_s=0, to_s=5, written=2, lost=1),
        AgeGroup(from_s=10, to_s=15, written=1, lost=0),
    )


def test_our_own_files_are_not_the_brokers(tmp_path: Path) -> None:
    for name in (SYNCED, UNSYNCED, "kafka.properties"):
        (tmp_path / name).write_text("x")
    (tmp_path / "kafka/t-0").mkdir(parents=True)
    (tmp_path / LOG).write_bytes(segment(0))
    assert look(tmp_path) == {"kafka.properties": FileContent(size=1), LOG: seen(segment(0))}


def test_a_batch_whose_head_alone_is_there_is_lost() -> None:
    whole = segment(0, 1)
    headless = whole[:-3] + bytes(3)
    t = compared({LOG: seen(whole)}, {LOG: seen(headless)}, at_ms=1_000).replicas["t-0"]
    assert (t.written, t.held, t.bytes_beyond, t.beyond_is_zeros) == (2, 1, len(segment(0)), False)


# The fault


class FakeContainer:
    """A container whose process dies when it is killed."""

    def __init__(self, *, running: bool = True, paused: bool = False, dies: bool = True) -> None:
        self.attrs = {"State": {"Running": running, "Paused": paused, "Pid": 4242}}
        self.dies, self.log = dies, list[str]()

    def reload(self) -> None:
        pass

    def kill(self, signal: str) -> None:
        self.log += ["kill", "die"] if self.dies else ["kill"]


class FakeEvents:
    def __init__(self, container: FakeContainer) -> None:
        self._container = container

    def wait(self, node: str, action: ContainerAction, *, since_ns: int, timeout_s: float) -> Container:
        if action not in self._container.log:
            raise HarnessError(f"no {action}")
        return Container(node=node, action=action, time_nano=1, exit_code=137 if action == "die" else None)


class FakeMounter:
    """A mounter of one disk, which forgets what it is told to."""

    def __init__(self, disk: Disk, *, forgets: Sequence[str], shuts: bool = True, dirty: bool = True) -> None:
        self.disk, self.forgets, self.shuts, self.dirty = disk, forgets, shuts, dirty
        self.refusing = False
        self.mounted = True

    def shut_down(self, those: Sequence[Disk]) -> None:
        assert list(those) == [self.disk]
        self.refusing = self.shuts

    def unmount(self, disk: Disk) -> None:
        assert self.mounted
        self.mounted = False
        image = bytearray(disk.image.read_bytes().ljust(INCOMPAT + 4, b"\0"))
        image[INCOMPAT] = 4 if self.dirty else 0
        disk.image.write_bytes(image)

    def mount(self, disk: Disk) -> None:
        assert not self.mounted
        self.mounted = True
        for name in self.forgets:
            (disk.mount / name).unlink()


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The signals that are sent to processes."""
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, signal: sent.append(signal))
    monkeypatch.setattr(power, "thread_states", lambda pid: ["T", "T"])
    return sent


def outage(
    tmp_path: Path, container: FakeContainer | None = None, **sabotage: Any
) -> tuple[PowerLoss, FakeContainer, FakeMounter]:
    container = container or FakeContainer()
    mount = tmp_path / "broker-1"
    (mount / "kafka/t-0").mkdir(parents=True)
    (mount / LOG).write_bytes(segment(0, 1))
    (mount / SYNCED).write_text("x")
    disk = Disk(node="broker-1", file_system="ext4", image=tmp_path / "image", mount=mount)
    disk.image.touch()
    mounter = FakeMounter(disk, **({"forgets": (UNSYNCED, LOG)} | sabotage))
    node = Node("broker-1", 1, "172.20.0.11", container)  # type: ignore[arg-type]
    struck = Outage([node], {"broker-1": disk}, mounter)  # type: ignore[arg-type]
    return PowerLoss(node, FakeEvents(container), outage=struck), container, mounter  # type: ignore[arg-type]


@pytest.fixture
def refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that was shut down refuses to be written to."""
    monkeypatch.setattr(power, "refusal_of", lambda disk: "Input/output error")


@pytest.mark.usefixtures("refuses")
def test_a_power_loss_is_proved_by_what_the_disk_forgot(tmp_path: Path, stopped: list[int]) -> None:
    fault, container, mounter = outage(tmp_path)
    fault.inject()
    fault.inject()
    proof = fault.verify()
    assert container.log == ["kill", "die"]
    assert stopped == [signal.SIGSTOP]
    assert proof.replicas["t-0"].held is None
    assert (proof.flushed_file_held, proof.unflushed_file_held, proof.journal_to_replay) == (True, False, True)
    assert mounter.mounted
    assert fault.description == "power loss of broker-1"


@pytest.mark.usefixtures("refuses", "stopped")
@pytest.mark.parametrize(
    ("sabotage", "said"),
    [
        ({"forgets": ()}, "still has what was never flushed"),
        ({"forgets": (UNSYNCED, SYNCED)}, "what had been flushed to its disk is gone too"),
        ({"dirty": False}, "unmounted cleanly"),
    ],
)
def test_a_disk_that_forgot_nothing_or_too_much_is_no_power_loss(
    tmp_path: Path, sabotage: dict[str, Any], said: str
) -> None:
    fault, _, _ = outage(tmp_path, **sabotage)
    fault.inject()
    with pytest.raises(FaultUnproved, match=said):
        fault.verify()


@pytest.mark.usefixtures("stopped")
def test_a_shutdown_that_does_nothing_is_noticed_by_writing_to_the_disk(tmp_path: Path) -> None:
    fault, _, _ = outage(tmp_path, shuts=False)
    fault.inject()
    with pytest.raises(FaultUnproved, match="took a new file after it was shut down"):
        fault.verify()


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("container", "said"),
    [(FakeContainer(paused=True), "is frozen"), (FakeContainer(running=False), "does not run")],
)
def test_only_what_runs_loses_power(tmp_path: Path, container: FakeContainer, said: str) -> None:
    fault, _, _ = outage(tmp_path, container)
    with pytest.raises(HarnessError, match=said):
        fault.inject()


def test_processes_go_on_if_their_file_system_cannot_be_shut_down(
    tmp_path: Path, stopped: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault, container, mounter = outage(tmp_path)

    def refuse(those: Sequence[Disk]) -> None:
        raise HarnessError("Operation not permitted")

    monkeypatch.setattr(mounter, "shut_down", refuse)
    with pytest.raises(HarnessError, match="not permitted"):
        fault.inject()
    assert stopped == [signal.SIGSTOP, signal.SIGCONT]
    assert container.log == []


def test_a_process_that_does_not_stand_still_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "STILL_LIMIT_S", 0.0)
    monkeypatch.setattr(power, "thread_states", lambda pid: ["T", "R"])
    with pytest.raises(HarnessError, match="threads"):
        wait_still([4242])


def test_a_refusal_is_told_by_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(node="n", file_system="ext4", image=tmp_path / "image", mount=tmp_path)
    assert power.refusal_of(disk) is None

    def refuse(self: Path, mode: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "open", refuse)
    assert power.refusal_of(disk) == "Input/output error"


# Whose mounts and loop devices these are


def test_mounts_below_a_directory_innermost_first() -> None:
    lines = [
        "36 35 7:0 / /runs/a/data/broker-1 rw shared:1 - ext4 /dev/loop0 rw",
        "37 36 7:1 / /runs/a/data/broker-1/kafka-2 rw - ext4 /dev/loop1 rw",
        "38 35 7:2 / /runs/ab/data/broker-1 rw - ext4 /dev/loop2 rw",
        "39 35 7:3 / /runs/a/data/with\\040blank rw - xfs /dev/loop3 rw",
    ]
    assert mounted_below(Path("/runs/a"), lines) == [
        Path("/runs/a/data/with blank"),
        Path("/runs/a/data/broker-1/kafka-2"),
        Path("/runs/a/data/broker-1"),
    ]
    assert mounted_below(Path("/elsewhere"), lines) == []


def test_loop_devices_of_a_directory_and_of_no_other(tmp_path: Path) -> None:
    for number, image in enumerate(("/runs/a/data/disks/broker-1.ext4", "/runs/b/x", "/runs/a/gone (deleted)")):
        place = tmp_path / f"loop{number}" / "loop"
        place.mkdir(parents=True)
        (place / "backing_file").write_text(f"{image}\n")
    (tmp_path / "loop7").mkdir()
    assert loops_below(Path("/runs/a"), tmp_path) == {
        "/dev/loop0": Path("/runs/a/data/disks/broker-1.ext4"),
        "/dev/loop2": Path("/runs/a/gone"),
    }


@pytest.mark.parametrize("wrong", [{"file_system": "btrfs"}, {"size_bytes": 1000}, {"log_directories": 3}])
def test_a_disk_that_cannot_be_is_refused_where_it_is_declared(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="Disks"):
        Disks(**wrong)
    assert ClusterPlan().disks is None
