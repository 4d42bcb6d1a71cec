"""A slow disk: what a node reads from its disk and writes to it goes at so many bytes a second, and all else as ever.

The limit is the kernel's, for the control group of the node's container and the block device that its data lies on:
blkio.throttle.*_bps_device with cgroup v1, io.max with v2. It strikes what goes to the device. With v1 that is what a
process writes itself, which is each fsync, and not what the kernel writes back later. So a broker that never flushes is
not slowed by it. Whoever wants the disk to be felt has the broker flush (log.flush.interval.messages=1).

Some machines cannot do it: data on a file system without a block device of its own (overlay, tmpfs, btrfs), cgroups
that this process may not write, or a kernel without throttling. That is reported in one line, and there is nothing
weaker in its place.

The proof: bytes are written through to the device by a process in the node's container. They take as long as the limit
says by the clock of this machine, and the kernel's own counter has them.
"""

from __future__ import annotations

import math
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.errors import FaultUnproved, UsageError
from evidence.faults.disks import SLOW_SHARE, SlowDiskProof
from harness.faults.cgroups import CGROUPS, group_of

if TYPE_CHECKING:
    from harness.cluster.docker import Node

BLOCK_BYTES: Final = 4096
PROBE_S: Final = 0.5
"""The probe takes so long at the limit, at least."""
PROBE_LEAST: Final = 2
PROBE: Final = (
    "dd if=/dev/zero of=/data/.kafka-chaos-probe bs={size} count={count} oflag=dsync 2>/dev/null; "
    "rm -f /data/.kafka-chaos-probe"
)


def block_device(place: Path, devices: Path = Path("/sys/dev/block")) -> str:
    """The numbers ("253:0") of the block device that a directory lies on, of the whole disk if that is a partition.

    Raises UsageError if there is none.
    """
    found = os.stat(place).st_dev
    numbers = f"{os.major(found)}:{os.minor(found)}"
    known = devices / numbers
    if not known.exists():
        raise UsageError(f"slow disk: {place} is on no block device ({numbers}), so the kernel cannot slow it down")
    whole = known.resolve().parent if (known / "partition").exists() else known
    return (whole / "dev").read_text().strip()


def control_group(lines: str, root: Path = CGROUPS) -> Path:
    """The directory of a process's control group for block devices, from its /proc/<pid>/cgroup.

    Raises UsageError if this machine has none.
    """
    place = group_of(lines, "blkio", root)
    files = ("blkio.throttle.write_bps_device", "io.max")
    if not any((place / file).exists() for file in files):
        raise UsageError(f"slow disk: {place} has neither {' nor '.join(files)}: no cgroup that throttles disks")
    return place


def written_bytes(text: str, device: str) -> int:
    r"""The bytes written to a device, from blkio.throttle.io_service_bytes or io.stat.

    >>> written_bytes("253:0 Read 0\n253:0 Write 8192\nTotal 8192", "253:0"), written_bytes("7:1 wbytes=5", "7:1")
    (8192, 5)
    """
    found = re.search(rf"^{re.escape(device)} (?:Write |.*\bwbytes=)(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


@dataclass(slots=True)
class SlowDisk:
    """The disk of one node goes at `bytes_per_s`."""

    node: Node
    place: Path
    """The directory of its data on this machine."""
    bytes_per_s: int
    proof_type: ClassVar = SlowDiskProof
    _limited: tuple[Path, str] | None = field(default=None, init=False)
    """The control group and the device that have a limit."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"slow disk of {self.node.name} ({self.bytes_per_s} bytes/s)"

    def inject(self) -> None:
        device = block_device(self.place)
        group = control_group(Path(f"/proc/{self.node.state()['Pid']}/cgroup").read_text())
        self._limited = (group, device)
        self._limit(str(self.bytes_per_s))

    def _limit(self, rate: str) -> None:
        """Set the limits, or lift them with "0"."""
        assert self._limited is not None
        group, device = self._limited
        newer = {"io.max": f"rbps={rate} wbps={rate}".replace("=0", "=max")}
        older = {f"blkio.throttle.{way}_bps_device": rate for way in ("read", "write")}
        for file, value in (newer if (group / "io.max").exists() else older).items():
            try:
                (group / file).write_text(f"{device} {value}\n")
            except OSError as error:
                raise UsageError(
                    f"slow disk: {group / file} takes no limit for {device} ({error.strerror}): it needs root and a "
                    "kernel that throttles block devices"
                ) from None

    def verify(self) -> SlowDiskProof:
        if self._limited is None:
            raise FaultUnproved(f"{self.description}: no limit was set")
        group, device = self._limited
        count = max(PROBE_LEAST, math.ceil(self.bytes_per_s * PROBE_S / BLOCK_BYTES))
        before, begun = self._written(group, device), time.monotonic()
        self.node.run_inside("sh", "-c", PROBE.format(size=BLOCK_BYTES, count=count))
        took_s, written = time.monotonic() - begun, self._written(group, device) - before
        size = count * BLOCK_BYTES
        if took_s < SLOW_SHARE * size / self.bytes_per_s:
            raise FaultUnproved(
                f"{self.description}: {size} bytes were written in {took_s * 1000:.0f} ms: it is not slow"
            )
        if written < size:
            raise FaultUnproved(f"{self.description}: the kernel counts {written} of {size} bytes written to {device}")
        return SlowDiskProof(
            device=device,
            bytes_per_s=self.bytes_per_s,
            bytes=size,
            bytes_counted=written,
            took_ms=round(took_s * 1000),
        )

    @staticmethod
    def _written(group: Path, device: str) -> int:
        file = group / "blkio.throttle.io_service_bytes"
        return written_bytes((file if file.exists() else group / "io.stat").read_text(), device)

    def heal(self) -> None:
        """Lift the limits; a container that ended took its control group with it."""
        if self._limited is not None and self._limited[0].exists():
            self._limit("0")
        self._limited = None
