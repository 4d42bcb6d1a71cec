"""Nodes lose power at one moment: their processes are gone, and with them what their disks had not taken yet.

What a broker has written lies in the page cache of its machine until it is flushed (fsync), or the kernel writes it
back in its own time (vm.dirty_*: what has been dirty for 30 s, looked at every 5 s, unless there is much of it). A
process that is killed leaves the page cache behind; a machine that loses power does not. Here each node has a file
system of its own (harness/cluster/disks.py), which is made to forget what it has not written.

The order, and why:

1. Every process of all the struck nodes is stopped (SIGSTOP), and all their threads are seen to stand still. That is
   the moment: nothing is written, acknowledged or told from then on.
2. A file of our own is written to each disk and not flushed, and each disk is read as its processes left it, through
   the page cache. What the kernel writes back meanwhile, it would have written back had the power gone later: the loss
   can only be smaller, and never one that no power loss has.
3. The file systems are shut down by their own ioctl, without their journal. As they are stopped first, the processes
never see an error, as they would of a disk that went before them. As they are not killed yet, they have closed no file,
and a file system may write back what is closed.
4. The processes are killed, by Docker, which tells of their end.
5. Unmounted, attached anew, mounted: the journal is replayed, as when a machine comes up again. Kafka's own recovery
   follows when the scenario starts the node.

Unlike the power of a machine, a kill is told to the other side of every connection (a reset): clients and brokers hear
of it at once, and not by a time-out.

The proof: Docker's own end of each process (137), and a file system that refuses to be written to when it is shut down.
Our unflushed file is gone, and the one that was flushed when the disk was made is still there. On ext4 there is the
mark of a journal that must be replayed. Then, replica by replica, the end of the log as the process had written it, and
its end on the disk. That nothing of them was lost is a result too, and is said (`lost`).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar, Final

from evidence.engine import KILLED
from evidence.errors import FaultUnproved, HarnessError
from evidence.faults.process import AgeGroup, FilesOnDisk, Lost, PowerLossProof, ReplicaOnDisk
from harness.cluster.disks import SYNCED, write, writeback
from harness.faults.process import OfOneNode
from harness.processes import thread_states
from kafkafiles.batches import BatchHeader, scan_batches

if TYPE_CHECKING:
    from harness.cluster.disks import Disk, DiskMounter
    from harness.cluster.docker import Node

UNSYNCED: Final = ".kafka-chaos-unsynced"
"""A file that is written to each disk at the moment of the loss, and not flushed: it must be gone."""
STILL_LIMIT_S: Final = 15.0
POLL_S: Final = 0.002
STANDING: Final = frozenset("TtZX")
"""The states of threads that run no more: stopped, traced, or ended."""
SUPERBLOCK: Final = 1024
INCOMPAT: Final = SUPERBLOCK + 0x60
NEEDS_RECOVERY: Final = 0x4
"""In an ext4 superblock: the journal holds what must be replayed, for the file system was not unmounted cleanly."""
AGE_S: Final = 5
OLDEST_S: Final = 120
"""Ages are told in steps of so many seconds, up to this one."""
NAMED: Final = 10
"""So many files are named in a proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContent:
    """One file: its length, and of a log segment what is in it."""

    size: int
    content: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogExtent:
    """How far a replica's log goes: the offset after its last whole batch, and the bytes of all whole ones."""

    end: int = 0
    size: int = 0
    batches: tuple[BatchHeader, ...] = ()
    beyond: bytes = b""
    """What its segments have after their last whole batches."""


def look(disk: Path) -> dict[str, FileContent]:
    """Every file of a disk, by its path there; ours apart."""
    found = {}
    for folder, _, names in os.walk(disk):
        for name in names:
            path = Path(folder, name)
            if name in (SYNCED, UNSYNCED) or path.is_symlink():
                continue
            content = path.read_bytes() if is_segment(path) else None
            found[str(path.relative_to(disk))] = FileContent(size=path.stat().st_size, content=content)
    return found


def is_segment(path: PurePath) -> bool:
    """Whether a file is a segment of a log.

    >>> is_segment(PurePath("kafka/t-0/00000000000000000000.log")), is_segment(PurePath("zookeeper/version-2/log.1"))
    (True, False)
    """
    return path.suffix == ".log" and path.stem.isdigit()


def replicas(files: Mapping[str, FileContent], as_in: Mapping[str, FileContent] | None = None) -> dict[str, LogExtent]:
    """The replicas among files, by name ("t-0"). With `as_in`, only batches that are there byte for byte too count."""
    found: dict[str, list[LogExtent]] = {}
    for name, seen in sorted(files.items()):
        path, content = PurePath(name), seen.content
        if content is None:
            continue
        same = (
            content
            if as_in is None
            else content[: shared(content, as_in[name].content or b"" if name in as_in else b"")]
        )
        batches = tuple(one for one in scan_batches(same) if isinstance(one, BatchHeader))
        end, whole = (batches[-1].last_offset + 1, batches[-1].end) if batches else (int(path.stem), 0)
        segment = LogExtent(end=end, size=whole, batches=batches, beyond=content[whole:])
        found.setdefault(path.parent.name, []).append(segment)
    return {
        name: LogExtent(
            end=max(each.end for each in segments),
            size=sum(each.size for each in segments),
            batches=tuple(batch for each in segments for batch in each.batches),
            beyond=b"".join(each.beyond for each in segments),
        )
        for name, segments in found.items()
    }


def shared(one: bytes, other: bytes) -> int:
    """How many bytes two files have in common from their beginning.

    >>> shared(b"abcd", b"abxd"), shared(b"ab", b"abcd"), shared(b"", b"a")
    (2, 2, 0)
    """
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def by_age(written: LogExtent, held_end: int, at_ms: int) -> tuple[AgeGroup, ...]:
    """A replica's offsets by the age that their batches had at a time, and how many of them are at `held_end` or above.

    Ages go in steps of `AGE_S`, by the producer's time stamps; batches without one (format 0) are left out.
    """
    steps: dict[int, list[int]] = {}
    for one in written.batches:
        if one.count is not None and one.max_timestamp_ms >= 0:
            step = steps.setdefault(max(0, at_ms - one.max_timestamp_ms) // (AGE_S * 1000), [0, 0])
            step[0] += one.count
            step[1] += one.count if one.last_offset >= held_end else 0
    return tuple(
        AgeGroup(from_s=step * AGE_S, to_s=(step + 1) * AGE_S, written=written, lost=lost)
        for step, (written, lost) in sorted(steps.items())
        if step * AGE_S < OLDEST_S
    )


def oldest_lost_ms(written: LogExtent, held_end: int, at_ms: int) -> int | None:
    """The age at a time of the oldest batch at `held_end` or above; None if nothing is, or none has a time stamp."""
    ages = [
        at_ms - b.max_timestamp_ms for b in written.batches if b.last_offset >= held_end and b.max_timestamp_ms >= 0
    ]
    return max(ages, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskContent:
    """What a disk holds of what its process had written."""

    replicas: dict[str, ReplicaOnDisk]
    lost: Lost
    files: FilesOnDisk


def compared(written: Mapping[str, FileContent], held: Mapping[str, FileContent], at_ms: int) -> DiskContent:
    """What a disk holds of what its process had written until a time (wall clock): replica by replica, and how much is
    lost.

    Held is a batch that is there byte for byte, and all before it. What may follow is counted (`bytes_beyond`): a file
    may have its new length already, and zeros in the place of what was written last (`beyond_is_zeros`), which a broker
    cuts off when it starts.
    """
    before, after = replicas(written), replicas(held, as_in=written)
    rows: dict[str, ReplicaOnDisk] = {}
    for name, one in sorted(before.items()):
        left = after.get(name, LogExtent())
        rows[name] = ReplicaOnDisk(
            written=one.end,
            held=left.end if name in after else None,
            bytes_written=one.size,
            bytes_held=left.size,
            bytes_beyond=len(left.beyond),
            beyond_is_zeros=not left.beyond.strip(b"\0"),
            oldest_lost_ms=oldest_lost_ms(one, left.end, at_ms),
            by_age=by_age(one, left.end, at_ms),
        )
    gone = tuple(name for name in sorted(written) if name not in held)
    shorter = tuple(name for name in sorted(written) if name in held and held[name].size < written[name].size)
    lost = Lost(
        records=sum(max(0, one.end - after.get(name, LogExtent()).end) for name, one in before.items()),
        bytes=sum(max(0, one.size - after.get(name, LogExtent()).size) for name, one in before.items()),
        files=len(gone),
    )
    files = FilesOnDisk(written=len(written), gone=gone[:NAMED], shorter=shorter[:NAMED])
    return DiskContent(replicas=rows, lost=lost, files=files)


def wait_still(pids: Iterable[int]) -> None:
    """Wait until no thread of these processes runs; HarnessError with their states if one does for too long."""
    deadline = time.monotonic() + STILL_LIMIT_S
    for pid in pids:
        while moving := set(thread_states(pid)) - STANDING:
            if time.monotonic() > deadline:
                raise HarnessError(
                    f"process {pid} was stopped, yet {STILL_LIMIT_S:.0f} s later it has threads {moving}"
                )
            time.sleep(POLL_S)


def refusal_of(disk: Disk) -> str | None:
    """The error by which a file system refuses a new file; None if it takes one."""
    path = disk.mount / ".kafka-chaos-refused"
    try:
        with path.open("wb"):
            pass
    except OSError as error:
        return os.strerror(error.errno or 0)
    return None


def needs_recovery(image: Path) -> bool:
    """Whether the superblock of an ext4 image says that its journal must be replayed."""
    with image.open("rb") as file:
        file.seek(INCOMPAT)
        return bool(int.from_bytes(file.read(4), "little") & NEEDS_RECOVERY)


@dataclass(slots=True)
class Outage:
    """The moment at which several nodes lose power, and what their disks looked like then."""

    nodes: Sequence[Node]
    disks: Mapping[str, Disk]
    mounter: DiskMounter
    written: dict[str, dict[str, FileContent]] = field(default_factory=dict)
    """By node: every file as the process had written it."""
    refused: dict[str, str | None] = field(default_factory=dict)
    writeback: dict[str, int] = field(default_factory=dict)
    begun_wall_ns: int = 0
    """Events of Docker before this time are not of this fault."""
    stopped_wall_ms: int = 0
    stopped_ns: int = 0
    shut_ns: int = 0
    """Both monotonic."""

    def strike(self) -> None:
        """Stop, look, shut down, kill; once, whoever asks."""
        if self.stopped_ns:
            return
        self.begun_wall_ns = time.time_ns()
        running = [(node, node.state()) for node in self.nodes]
        if frozen := [node.name for node, state in running if state.get("Paused")]:
            raise HarnessError(f"{', '.join(frozen)} is frozen: thaw it before it loses power")
        if down := [node.name for node, state in running if not state["Running"]]:
            raise HarnessError(f"{', '.join(down)} does not run: it has no power to lose")
        pids = {node.name: int(state["Pid"]) for node, state in running}
        try:
            for pid in pids.values():
                os.kill(pid, signal.SIGSTOP)
            wait_still(pids.values())
            self.stopped_ns, self.stopped_wall_ms = time.monotonic_ns(), time.time_ns() // 1_000_000
            self.writeback = writeback()
            for node in self.nodes:
                disk = self.disks[node.name]
                write(disk.mount / UNSYNCED, flush=False)
                self.written[node.name] = look(disk.mount)
            self.mounter.shut_down([self.disks[node.name] for node in self.nodes])
            self.shut_ns = time.monotonic_ns()
        except BaseException:
            for pid in pids.values():
                os.kill(pid, signal.SIGCONT)
            raise
        self.refused = {node.name: refusal_of(self.disks[node.name]) for node in self.nodes}
        with ThreadPoolExecutor(max_workers=len(self.nodes)) as pool:
            list(pool.map(lambda node: node.container.kill(signal="SIGKILL"), self.nodes))


@dataclass(slots=True, kw_only=True)
class PowerLoss(OfOneNode):
    """One node's part of an outage."""

    outage: Outage
    proof_type: ClassVar = PowerLossProof

    @property
    def description(self) -> str:
        others = ", ".join(node.name for node in self.outage.nodes if node is not self.node)
        return f"power loss of {self.node.name}" + (f", at once with {others}" if others else "")

    def inject(self) -> None:
        self.outage.strike()
        self._since_ns = self.outage.begun_wall_ns

    def verify(self) -> PowerLossProof:
        outage, disk = self.outage, self.outage.disks[self.node.name]
        died, killed = self._event("die"), self._event("kill")
        if died.exit_code != KILLED:
            raise FaultUnproved(f"{self.node.name}: ended with exit code {died.exit_code} instead of {KILLED}")
        refused = outage.refused[self.node.name]
        if refused is None:
            raise FaultUnproved(f"{self.node.name}: its file system took a new file after it was shut down")
        outage.mounter.unmount(disk)
        replay = needs_recovery(disk.image) if disk.file_system == "ext4" else None
        outage.mounter.mount(disk)
        kept, unflushed = ((disk.mount / name) for name in (SYNCED, UNSYNCED))
        if not kept.exists() or not kept.stat().st_size:
            raise FaultUnproved(f"{self.node.name}: what had been flushed to its disk is gone too")
        if unflushed.exists() and unflushed.stat().st_size:
            raise FaultUnproved(f"{self.node.name}: its disk still has what was never flushed: nothing was forgotten")
        if replay is False:
            raise FaultUnproved(
                f"{self.node.name}: its file system was unmounted cleanly: no journal is to be replayed"
            )
        unflushed.unlink(missing_ok=True)
        left = compared(outage.written[self.node.name], look(disk.mount), outage.stopped_wall_ms)
        return PowerLossProof(
            exit_code=died.exit_code,
            time_nano=died.time_nano,
            signal_nano=killed.time_nano,
            file_system=disk.file_system,
            stopped_to_shut_ms=round((outage.shut_ns - outage.stopped_ns) / 1e6, 1),
            refused_then=refused,
            flushed_file_held=True,
            unflushed_file_held=False,
            journal_to_replay=replay,
            replicas=left.replicas,
            lost=left.lost,
            files=left.files,
            writeback=outage.writeback,
        )

    def heal(self) -> None:
        """What was lost stays lost; the node is started again by a `Start`, on the file system as it is."""
