"""What lies in a partition's directory, batch by batch and index by index: for statements about the files themselves.

Everything is read at once, so this is for logs of some megabytes. `kafkafiles.replica` is for logs of any size.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkafiles.batches import Batch, BatchHeader, Buffer, batches
from kafkafiles.indexes import IndexEntry, is_open, read_index

_SEGMENT: Final = re.compile(r"\d{20}\.log")
CONTENT_FROM: Final = {0: 12, 1: 12, 2: 16}
"""Of an entry in each format, the first byte that is its producer's: before it stand the offset, the length and, in
format 2, the leader epoch, which brokers write. The length is the entry's size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch:
    """One entry of a segment, with its records' offsets and timestamps."""

    header: BatchHeader
    fingerprint: str
    offsets: tuple[int, ...]
    timestamps_ms: tuple[int, ...]
    control: int | None = None
    """Of a control batch, the type of its record (kafkafiles.batches: CONTROL_ABORT, …)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSegment:
    """One segment. `index` is None where its .index is not there, or is still open: its valid entries are not known."""

    base_offset: int
    size: int
    batches: tuple[StoredBatch, ...]
    index: tuple[IndexEntry, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReplica:
    """A partition's directory: the names of its files, and its segments by base offset."""

    files: tuple[str, ...]
    segments: tuple[StoredSegment, ...]

    @property
    def batches(self) -> tuple[StoredBatch, ...]:
        """The batches of all segments, in log order."""
        return tuple(one for segment in self.segments for one in segment.batches)


def fingerprint(entry: Buffer, header: BatchHeader) -> str:
    """SHA-256 of what an entry's producer has written of it. `header` is that of the entry in the same buffer."""
    content = memoryview(entry)[header.position + CONTENT_FROM[header.magic] : header.end]
    return hashlib.sha256(content).hexdigest()


def segment_paths(directory: Path) -> list[Path]:
    """The .log files of a partition directory by base offset (those being deleted, cleaned or swapped left out)."""
    return sorted(path for path in directory.iterdir() if _SEGMENT.fullmatch(path.name) and path.is_file())


def read_stored(directory: Path) -> StoredReplica:
    """Read a partition's directory. What cannot be read of a segment ends it. Raises ParseError for a file that is no
    index.
    """
    return StoredReplica(
        files=tuple(sorted(path.name for path in directory.iterdir() if path.is_file())),
        segments=tuple(_segment(path) for path in segment_paths(directory)),
    )


def _segment(path: Path) -> StoredSegment:
    data = path.read_bytes()
    return StoredSegment(
        base_offset=int(path.stem),
        size=len(data),
        batches=tuple(_stored(data, one) for one in batches(data) if isinstance(one, Batch)),
        index=_index(path.with_suffix(".index")),
    )


def _stored(data: bytes, batch: Batch) -> StoredBatch:
    return StoredBatch(
        header=batch.header,
        fingerprint=fingerprint(data, batch.header),
        offsets=tuple(batch.offsets),
        timestamps_ms=tuple(batch.timestamps_ms),
        control=next(iter(batch.control_types()), None),
    )


def _index(path: Path) -> tuple[IndexEntry, ...] | None:
    if not path.exists() or is_open(path.read_bytes()):
        return None
    return tuple(read_index(path))
