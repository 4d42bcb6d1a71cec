"""Replicas as they lie on the brokers' disks: how far each goes, and copies of them at named moments.

Brokers keep their files in directories of the host, so reading them needs no broker's help and disturbs none. A record
is in the file as soon as the broker has appended it, because file and page cache are one to every reader of the same
kernel.

`leo_and_hw` is made to be asked every few milliseconds: the end of a segment is remembered with the head of the last
batch before it, and only what was appended since is read. If that batch is not there any more (a truncation) the
segment is read from its beginning. Files are read, never mapped: a broker may truncate one at any time, and a mapping
of what is gone kills the reader.

A copy of a running broker's directory is not a snapshot. Checkpoints are copied first and segments up to the length
they have when their turn comes, so a copied high watermark is never above what the copied log once held. Only whole
batches count (a half-written last one is a torn tail and no corruption). Scenarios copy when nothing is being written,
or accept that replicas differ at their very ends.

Indexes are preallocated, 10 MiB of zeros each: they are copied with their holes, the same length and content, a few
kilobytes on the disk.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evidence.events import Ends
from harness.plan import SECOND
from kafkafiles import checkpoints
from kafkafiles.batches import PREFIX_BYTES, BatchHeader, scan_batches
from kafkafiles.errors import ParseError

LOG_DIR: Final = "kafka"
"""The log directory of each node, below its data."""
SEGMENT_SUFFIXES: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
PARTITION_FILES: Final = (checkpoints.LEADER_EPOCHS, checkpoints.PARTITION_METADATA)
LOG_DIR_FILES: Final = (
    checkpoints.HIGH_WATERMARKS,
    checkpoints.RECOVERY_POINTS,
    checkpoints.LOG_START_OFFSETS,
    checkpoints.CLEANER_OFFSETS,
    checkpoints.META_PROPERTIES,
    checkpoints.CLEAN_SHUTDOWN,
)
OFFSETS: Final = (checkpoints.HIGH_WATERMARKS, checkpoints.RECOVERY_POINTS, checkpoints.LOG_START_OFFSETS)
# Enough of a batch to know it again: offset, size, and in every format its checksum.
HEAD_BYTES: Final = PREFIX_BYTES + 9
PIECE_BYTES: Final = 1 << 22
BLOCK_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTo:
    """How far a growing segment was read: the position after its last whole batch, and where that is and its head."""

    position: int = 0
    at: int = 0
    head: bytes = b""

    def holds(self, file: int) -> bool:
        """Whether the batch is still there; where it is not, the segment was truncated."""
        return not self.head or os.pread(file, len(self.head), self.at) == self.head

    def after(self, last: BatchHeader, data: bytes) -> ReadTo:
        """With `data`, read from `position` on, whose last whole batch is `last`."""
        head = data[last.position : last.position + HEAD_BYTES]
        return ReadTo(position=self.position + last.end, at=self.position + last.position, head=head)


class SegmentEnds:
    """The ends of segments, remembered from one asking to the next. For any thread."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[ReadTo, int]] = {}
        """Of each segment: how far it was read, and the offset after that."""
        self._lock = threading.Lock()

    def offset(self, segment: Path) -> int:
        """The offset after the last whole batch; the base offset if there is none. FileNotFoundError if it is gone."""
        with self._lock, segment.open("rb", buffering=0) as file:
            known = self._known.get(segment)
            if known is None or not known[0].holds(file.fileno()):
                known = ReadTo(), int(segment.stem)
            self._known[segment] = _read_on(file.fileno(), *known)
            return self._known[segment][1]

    def __len__(self) -> int:
        return len(self._known)

    def keep_only(self, directory: Path, segment: Path) -> None:
        """Forget the older segments of a directory."""
        with self._lock:
            for other in [path for path in self._known if path.parent == directory and path != segment]:
                del self._known[other]


def _read_on(file: int, end: ReadTo, offset: int) -> tuple[ReadTo, int]:
    """Read on whole batches, piece by piece; a batch that is larger than a piece gets a larger one.

    Returns how far that is, and the offset after it.
    """
    piece = PIECE_BYTES
    while True:
        data = os.pread(file, piece, end.position)
        last: BatchHeader | None = None
        for found in scan_batches(data):
            if isinstance(found, BatchHeader):
                last = found
        if last is not None:
            end, offset = end.after(last, data), last.last_offset + 1
        elif len(data) == piece:
            piece *= 2
            continue
        if len(data) < piece:
            return end, offset


_ENDS: Final = SegmentEnds()


def newest_segment(directory: Path) -> Path | None:
    """The segment with the highest base offset; None if there is none."""
    try:
        names = [entry.name for entry in os.scandir(directory) if entry.name.endswith(".log")]
    except (FileNotFoundError, NotADirectoryError):
        return None
    numbered = [name for name in names if name[:-4].isdigit()]
    return directory / max(numbered) if numbered else None


def log_end_offset(directory: Path, ends: SegmentEnds = _ENDS) -> int | None:
    """The offset after the last whole batch of a replica's newest segment; None if there is no segment."""
    newest = newest_segment(directory)
    if newest is None:
        return None
    try:
        end = ends.offset(newest)
    except FileNotFoundError:  # deleted, or replaced by an empty one, between the two looks
        return None
    ends.keep_only(directory, newest)
    return end


def high_watermark(log_dir: Path, topic: str, partition: int) -> int | None:
    """The checkpointed high watermark of a replica; None if the file has none."""
    try:
        offsets = checkpoints.read_offset_checkpoint(log_dir / checkpoints.HIGH_WATERMARKS).offsets
    except (FileNotFoundError, ParseError):
        return None
    return offsets.get((topic, partition))


def log_directories(node_data: Path) -> list[Path]:
    """The log directories of a node: one, or two on disks of their own."""
    second = node_data / SECOND / LOG_DIR
    return [node_data / LOG_DIR, *([second] if second.is_dir() else [])]


def directory_of(node_data: Path, replica: str) -> Path:
    """The log directory that has a replica ("t-0"); the first one if none has."""
    directories = log_directories(node_data)
    return next((one for one in directories if (one / replica).is_dir()), directories[0])


def leo_and_hw(node_data: Path, topic: str, partition: int) -> tuple[int, int]:
    """LEO and checkpointed HW of a replica from its files; -1 for what is not there."""
    log_dir = directory_of(node_data, f"{topic}-{partition}")
    leo = log_end_offset(log_dir / f"{topic}-{partition}")
    hw = high_watermark(log_dir, topic, partition)
    return (-1 if leo is None else leo, -1 if hw is None else hw)


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file as long as it is at this moment, in the kernel where that works (and shared, where it can be)."""
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        left = os.fstat(reader.fileno()).st_size
        while left > 0:
            try:
                copied = os.copy_file_range(reader.fileno(), writer.fileno(), left)
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                    raise
                block = reader.read(min(left, PIECE_BYTES))
                copied = writer.write(block) or 0
            if copied == 0:  # truncated meanwhile
                return
            left -= copied


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a file without writing its zeros. The copy reads the same byte for byte and has the same length."""
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        length = os.fstat(reader.fileno()).st_size
        end = 0
        while end < length:
            try:
                begin = os.lseek(reader.fileno(), end, os.SEEK_DATA)
            except OSError:  # no data from here on
                break
            end = min(os.lseek(reader.fileno(), begin, os.SEEK_HOLE), length)
            for position in range(begin, end, BLOCK_BYTES):
                block = os.pread(reader.fileno(), min(BLOCK_BYTES, end - position), position)
                if block.strip(b"\0"):
                    os.pwrite(writer.fileno(), block, position)
        writer.truncate(length)


def copy_replicas(
    data: Path, nodes: Sequence[str], destination: Path, topics: Iterable[str], *, written: str = ""
) -> dict[str, dict[str, Ends]]:
    """Copy the topics' partition directories and the checkpoint files of every node; say how far each replica goes.

    Of the topic `written` only those partitions are copied in which any node has records: a cluster may have 50
    partitions of groups' offsets, and a run has few groups.

    `data/<node>/kafka` is a node's log directory; what a second one has is put beside it. The copies go to
    `destination/<node>/…`, which appears as a whole, by rename. Returns `{node: {"t-0": Ends(leo=4, hw=3)}}`, taken
    from the copies. A file that vanishes meanwhile (a rolled segment, a replaced checkpoint) is left out; see above on
    consistency. Any other OSError is passed on, FileExistsError or ENOTEMPTY if `destination` is there already.
    """
    wanted = frozenset(topics)
    replicas = frozenset(_with_records(data, nodes, written)) if written else frozenset[str]()
    building = destination.with_name(f".{destination.name}.part")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    seen = {node: _copy_node(log_directories(data / node), building / node, wanted, replicas) for node in nodes}
    building.rename(destination)
    return seen


def files_of(copies: Path) -> dict[str, dict[str, int]]:
    """The files of each node's copies, by path below the node's directory, and how many bytes each has."""
    return {
        node.name: {
            str(path.relative_to(node)): path.stat().st_size for path in sorted(node.rglob("*")) if path.is_file()
        }
        for node in sorted(copies.iterdir())
    }


def _with_records(data: Path, nodes: Iterable[str], topic: str) -> Iterator[str]:
    """The directories' names of a topic's partitions in which any of these nodes has records."""
    for node in nodes:
        for log_dir in log_directories(data / node):
            yield from {log.parent.name for log in log_dir.glob(f"{topic}-*/*.log") if _bytes(log)}


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # deleted between the two looks
        return 0


def _copy_node(
    sources: Sequence[Path], target: Path, topics: frozenset[str], replicas: frozenset[str]
) -> dict[str, Ends]:
    target.mkdir()
    for name in LOG_DIR_FILES:
        _copy(sources[0] / name, target / name)
    for name in OFFSETS if len(sources) > 1 else ():
        _join([source / name for source in sources], target / name)
    seen: dict[str, Ends] = {}
    for replica in sorted(entry for source in sources if source.is_dir() for entry in source.iterdir()):
        topic, _, number = replica.name.rpartition("-")
        if (topic in topics or replica.name in replicas) and number.isdigit() and replica.is_dir():
            _copy_partition(replica, target / replica.name)
            seen[replica.name] = Ends(
                leo=log_end_offset(target / replica.name, SegmentEnds()),
                hw=high_watermark(target, topic, int(number)),
            )
    return seen


def _join(files: Iterable[Path], target: Path) -> None:
    """One file of offsets for several log directories; what is not there, or cannot be read, is left out."""
    offsets: dict[tuple[str, int], int] = {}
    for file in files:
        with suppress(FileNotFoundError, ParseError):
            offsets |= checkpoints.read_offset_checkpoint(file).offsets
    target.write_bytes(checkpoints.encode_offset_checkpoint(offsets))


def _copy_partition(source: Path, target: Path) -> None:
    target.mkdir()
    for entry in sorted(source.iterdir()):
        if entry.suffix in SEGMENT_SUFFIXES or entry.name in PARTITION_FILES:
            _copy(entry, target / entry.name)


def _copy(source: Path, target: Path) -> None:
    try:
        (copy_sparse if source.suffix in (".index", ".timeindex") else copy_whole)(source, target)
    except FileNotFoundError:
        target.unlink(missing_ok=True)
