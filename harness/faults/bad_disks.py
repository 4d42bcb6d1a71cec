"""A disk that fails under a running node: it is full, it answers every write with an error, or it is read-only.

All need a file system of its own for each node (harness/cluster/disks.py). A full one is filled by a file of ours,
allocated and not written, until nothing is free, so that its image does not grow. A dead one is shut down by the ioctl
of the file system, journal and all: from then on whatever goes to it ends with EIO, as on a device that is gone. One
that is read-only is what becomes of ext4 with errors=remount-ro when the kernel meets an error in it: that error is
asked of the kernel (trigger_fs_error). It cannot be made by hand while a broker has files open for writing.

The proof of a full disk: the file system refuses what is written to it, for lack of space. (The node may have exited by
then.) For a dead or read-only disk: the file system refuses a new file with an error of its device, or for being
read-only, and its node ran until then.
"""

from __future__ import annotations

import errno
import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.errors import FaultUnproved, HarnessError
from evidence.faults.disks import BrokenDiskProof, DiskFailureProof, DiskFullProof, DiskReadOnlyProof
from harness.faults.power import refusal_of
from harness.observers.replicas import LOG_DIR
from harness.plan import SECOND
from harness.polling import poll

if TYPE_CHECKING:
    from harness.cluster.disks import Disk, DiskMounter
    from harness.cluster.docker import Node

BALLAST: Final = ".kafka-chaos-ballast"
PROBE: Final = ".kafka-chaos-probe"
LARGEST: Final = 1 << 30
BLOCK_BYTES: Final = 4096
PROBE_BYTES: Final = 16 * BLOCK_BYTES
LIMIT_S: Final = 10.0
POLL_S: Final = 0.02


def fill(descriptor: int) -> int:
    """Allocate all that is left on a file system to a file; how many bytes that is."""
    size, step = 0, LARGEST
    while step >= BLOCK_BYTES:
        try:
            os.posix_fallocate(descriptor, size, step)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            step //= 2
        else:
            size += step
    return size


def free_bytes(disk: Disk) -> int:
    """What of a disk may still be written."""
    found = os.statvfs(disk.mount)
    return found.f_bavail * found.f_frsize


def refusal_of_bytes(disk: Disk) -> str | None:
    """The error by which a file system refuses some pages that are written and flushed; None if it takes them."""
    path = disk.mount / PROBE
    try:
        with path.open("wb", buffering=0) as file:
            file.write(bytes(PROBE_BYTES))
            os.fsync(file.fileno())
    except OSError as error:
        return os.strerror(error.errno or 0)
    finally:
        path.unlink(missing_ok=True)
    return None


@dataclass(slots=True)
class FullDisk:
    """The disk of a node has no room left, until the ballast is removed."""

    node: Node
    disk: Disk
    proof_type: ClassVar = DiskFullProof
    _before: int = field(default=0, init=False)
    _ballast: int = field(default=0, init=False)
    _ran: bool = field(default=False, init=False)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"no room left on the disk of {self.node.name}"

    def inject(self) -> None:
        self._ran = bool(self.node.state()["Running"])
        self._before = free_bytes(self.disk)
        descriptor = os.open(self.disk.mount / BALLAST, os.O_CREAT | os.O_WRONLY)
        try:
            self._ballast = fill(descriptor)
        finally:
            os.close(descriptor)

    def verify(self) -> DiskFullProof:
        if not self._ran:
            raise FaultUnproved(f"{self.node.name}: it did not run when its disk was filled")
        refused, left = refusal_of_bytes(self.disk), free_bytes(self.disk)
        if refused != os.strerror(errno.ENOSPC):
            what = f"says {refused}" if refused else "took what was written"
            raise FaultUnproved(f"{self.node.name}: its disk {what}, {left} bytes are free")
        return DiskFullProof(
            file_system=self.disk.file_system,
            free_before=self._before,
            ballast=self._ballast,
            free=left,
            refused=refused,
            running=self._ran,
        )

    def heal(self) -> None:
        """Give the room back."""
        (self.disk.mount / BALLAST).unlink(missing_ok=True)


@dataclass(slots=True)
class DeadDisk:
    """The disk of a running node answers with errors, until it is mounted anew."""

    node: Node
    disk: Disk
    mounter: DiskMounter
    below: Sequence[Disk] = ()
    """Disks that are mounted within it, and go on."""
    proof_type: ClassVar[type[BrokenDiskProof]] = DiskFailureProof
    _ran: bool = field(default=False, init=False)
    _dead: bool = field(default=False, init=False)
    _replicas: list[str] = field(default_factory=list, init=False)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        second = "second " if self.disk.mount.name == SECOND else ""
        return f"failure of the {second}disk of {self.node.name}"

    def inject(self) -> None:
        self._ran = bool(self.node.state()["Running"])
        self._replicas = sorted({path.parent.name for path in self.disk.mount.glob(f"{LOG_DIR}/*/*.log")})
        self._dead = True
        self._strike()

    def _strike(self) -> None:
        self.mounter.shut_down([self.disk])

    def verify(self) -> BrokenDiskProof:
        if not self._ran:
            raise FaultUnproved(f"{self.node.name}: it did not run when its disk failed")
        refused = refusal_of(self.disk)
        if refused != os.strerror(self.proof_type.REFUSAL):
            raise FaultUnproved(f"{self.node.name}: its disk {f'says {refused}' if refused else 'took a new file'}")
        return self.proof_type(
            file_system=self.disk.file_system, refused=refused, running=self._ran, replicas=tuple(self._replicas)
        )

    def heal(self) -> None:
        """Mount it anew, once its node has ended: what was not written is gone. HarnessError if the node runs on."""
        if not self._dead:
            return
        if poll(lambda: bool(self.node.state()["Running"]), LIMIT_S, until=operator.not_, every_s=POLL_S):
            raise HarnessError(f"{self.node.name} runs on a disk that failed: end it before the disk is replaced")
        disks = (self.disk, *self.below)
        for disk in reversed(disks):
            self.mounter.unmount(disk)
        for disk in disks:
            self.mounter.mount(disk)
        self._dead = False


@dataclass(slots=True)
class ReadOnlyDisk(DeadDisk):
    """The disk of a running node is made read-only by the kernel, until it is mounted anew."""

    proof_type: ClassVar[type[BrokenDiskProof]] = DiskReadOnlyProof

    @property
    def description(self) -> str:
        return f"the disk of {self.node.name} read-only"

    def _strike(self) -> None:
        self.mounter.make_read_only(self.disk)
