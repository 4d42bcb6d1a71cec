"""Disks that are full, or answer with errors: each proof, and each sabotaged fault."""

from __future__ import annotations

import dataclasses
import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from evidence.errors import FaultUnproved, HarnessError
from harness.cluster.disks import Disk, DiskMounter
from harness.cluster.docker import Node
from harness.faults import bad_disks
from harness.faults.bad_disks import BALLAST, DeadDisk, FullDisk, ReadOnlyDisk, fill, refusal_of_bytes
from tests.proofs import shown

ENOSPC, EIO, EROFS = (os.strerror(number) for number in (errno.ENOSPC, errno.EIO, errno.EROFS))


@dataclass
class FakeNode:
    """A container."""

    name: str = "broker-1"
    running: bool = True

    def state(self) -> dict[str, bool]:
        return {"Running": self.running}


@dataclass
class FakeMounter:
    """Remembers what it was asked for."""

    done: list[str] = field(default_factory=list)

    def shut_down(self, disks: Iterable[Disk]) -> None:
        self.done += [f"shut down {disk.node}" for disk in disks]

    def make_read_only(self, disk: Disk) -> None:
        self.done.append(f"make read-only {disk.node}")

    def unmount(self, disk: Disk) -> None:
        self.done.append(f"unmount {disk.node}")

    def mount(self, disk: Disk) -> None:
        self.done.append(f"mount {disk.node}")


def disk(tmp_path: Path) -> Disk:
    return Disk(node="broker-1", file_system="ext4", image=tmp_path / "image", mount=tmp_path)


def device(room: int) -> Callable[[int, int, int], None]:
    """posix_fallocate on a file system with so much room."""

    def allocate(_: int, offset: int, size: int) -> None:
        if offset + size > room:
            raise OSError(errno.ENOSPC, "No space left on device")

    return allocate


@pytest.mark.parametrize("room", [0, 4096, 3 << 20, (1 << 30) + 8192])
def test_all_that_is_left_is_allocated(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr("harness.faults.bad_disks.os.posix_fallocate", device(room))
    assert fill(0) == room


def test_another_error_than_a_full_disk_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: int) -> None:
        raise OSError(errno.EIO, EIO)

    monkeypatch.setattr("harness.faults.bad_disks.os.posix_fallocate", broken)
    with pytest.raises(OSError, match=EIO):
        fill(0)


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    monkeypatch.setattr("harness.faults.bad_disks.os.posix_fallocate", device(8192))
    monkeypatch.setattr(bad_disks, "free_bytes", lambda _: 0)
    monkeypatch.setattr(bad_disks, "refusal_of_bytes", lambda _: ENOSPC)
    return FullDisk(cast("Node", FakeNode()), disk(tmp_path))


def test_a_full_disk_is_proved_by_a_write_that_is_refused(full: FullDisk, tmp_path: Path) -> None:
    full.inject()
    assert (tmp_path / BALLAST).exists()
    assert shown(full.verify()) == {
        "file_system": "ext4",
        "free_before": 0,
        "ballast": 8192,
        "free": 0,
        "refused": ENOSPC,
        "running": True,
    }
    full.heal()
    full.heal()
    assert not (tmp_path / BALLAST).exists()


@pytest.mark.parametrize(
    ("refused", "running", "seen"),
    [(None, True, "took what was written, 0 bytes"), (EIO, True, "says Input/output"), (ENOSPC, False, "did not run")],
    ids=["there is room", "refused for another reason", "nobody used it"],
)
def test_a_disk_that_is_not_full_is_noticed(
    full: FullDisk, monkeypatch: pytest.MonkeyPatch, refused: str | None, running: bool, seen: str
) -> None:
    monkeypatch.setattr(bad_disks, "refusal_of_bytes", lambda _: refused)
    full.node = cast("Node", FakeNode(running=running))
    full.inject()
    with pytest.raises(FaultUnproved, match=seen):
        full.verify()


def test_a_disk_with_room_takes_what_is_written(tmp_path: Path) -> None:
    assert refusal_of_bytes(disk(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []


def test_the_error_of_a_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: int) -> None:
        raise OSError(errno.ENOSPC, ENOSPC)

    monkeypatch.setattr("harness.faults.bad_disks.os.fsync", refused)
    assert refusal_of_bytes(disk(tmp_path)) == ENOSPC


def dead(tmp_path: Path, node: FakeNode, mounter: FakeMounter, kind: type[DeadDisk] = DeadDisk) -> DeadDisk:
    for replica in ("t-1", "t-0"):
        (tmp_path / "kafka" / replica).mkdir(parents=True, exist_ok=True)
        (tmp_path / "kafka" / replica / f"{0:020}.log").touch()
    return kind(cast("Node", node), disk(tmp_path), cast("DiskMounter", mounter))


@pytest.mark.parametrize(
    ("kind", "error", "done"), [(DeadDisk, EIO, "shut down"), (ReadOnlyDisk, EROFS, "make read-only")]
)
def test_a_dead_disk_is_proved_by_its_error_and_mounted_anew_when_its_node_has_ended(
    kind: type[DeadDisk], error: str, done: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bad_disks, "refusal_of", lambda _: error)
    node, mounter = FakeNode(), FakeMounter()
    fault = dead(tmp_path, node, mounter, kind)
    fault.inject()
    assert shown(fault.verify()) == {
        "file_system": "ext4",
        "refused": error,
        "running": True,
        "replicas": ["t-0", "t-1"],
    }
    monkeypatch.setattr(bad_disks, "LIMIT_S", 0.0)
    with pytest.raises(HarnessError, match="runs on a disk that failed"):
        fault.heal()
    node.running = False
    fault.heal()
    fault.heal()
    assert mounter.done == [f"{done} broker-1", "unmount broker-1", "mount broker-1"]


def test_a_disk_that_is_mounted_within_a_dead_one_is_unmounted_before_it_and_mounted_after(tmp_path: Path) -> None:
    node, mounter = FakeNode(), FakeMounter()
    fault = dead(tmp_path, node, mounter)
    fault.below = [dataclasses.replace(fault.disk, node="second", mount=tmp_path / "second")]
    fault.inject()
    node.running = False
    fault.heal()
    assert mounter.done[1:] == ["unmount second", "unmount broker-1", "mount broker-1", "mount second"]


def test_a_disk_that_is_dead_was_not_made_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bad_disks, "refusal_of", lambda _: EIO)
    fault = dead(tmp_path, FakeNode(), FakeMounter(), ReadOnlyDisk)
    fault.inject()
    with pytest.raises(FaultUnproved, match="says Input/output error"):
        fault.verify()


@pytest.mark.parametrize(
    ("node", "refused", "seen"),
    [
        (FakeNode(), None, "took a new file"),
        (FakeNode(), ENOSPC, "says No space left"),
        (FakeNode(running=False), EIO, "did not run"),
    ],
    ids=["a sabotaged failure", "refused for another reason", "nobody used it"],
)
def test_a_disk_that_did_not_fail_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: FakeNode, refused: str | None, seen: str
) -> None:
    monkeypatch.setattr(bad_disks, "refusal_of", lambda _: refused)
    fault = dead(tmp_path, node, FakeMounter())
    fault.inject()
    with pytest.raises(FaultUnproved, match=seen):
        fault.verify()
