"""One replica's log read once, from front to back, in blocks, gathering what every check needs.

A `Walker` has a position at an entry. Most entries are unremarkable: a kernel (`kafkafiles.kernels.checked`) passes
over a whole block of them, checksums included. It stops at the first that is odd in any way (an impossible header, a
wrong checksum, offsets that go back, a new leader epoch, the end of the block), and `kafkafiles.batches` decides about
that one. So time grows with bytes, not with entries, and memory is one block, or the largest entry, whatever the size
of the log.

Several walkers may stand at bytes that are equal (`Alike` reads them); then one of them is checked and all are moved,
each with its own account of what was seen where (`kafkafiles.replica` does that).

Files are read, not mapped: a broker that truncates a mapped file would kill the reader. Logs below
`COMPILED_FROM_BYTES` are walked by plain Python, since loading the compiled loops takes longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kafkafiles import columns
from kafkafiles.batches import BatchHeader, Buffer, Corrupt, Record, checksum_matches, header_at, records
from kafkafiles.errors import ParseError

ByteArray: TypeAlias = npt.NDArray[np.uint8]

BLOCK_BYTES: Final = 384 * 1024
"""Bytes read of a replica at a time: few enough to be checked in the processor's cache."""
_ALIKE_BYTES: Final = 768 * 1024
_COMPARED_BYTES: Final = 128 * 1024
"""What several replicas have in common is read in larger pieces, and compared in smaller ones."""
_LEAST_BYTES: Final = 64 * 1024
"""With fewer bytes in the buffer more are read, so that an entry cut by a block's end is a small part of it."""
ANY_OFFSET: Final = 0x7FFFFFFFFFFFFFFF
_HEADER_ROOM_BYTES: Final = 256
"""More than any header."""
_NO_EPOCH: Final = -1
_NOTES_MAX: Final = 10
"""Notes kept for one segment at most."""
_WITH_EPOCHS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Bytes of one .log file, from `begin` up to `stop`. `offset` is that of the first entry there, or below it."""

    base_offset: int
    path: Path
    offset: int
    begin: int
    stop: int


@dataclass(slots=True, kw_only=True)
class SegmentState:
    """One .log file while it is walked and after: how far it is sound (`end`), and the records its headers announce.
    It is walked from `begin` up to `size`.
    """

    base_offset: int
    path: Path
    size: int
    begin: int = 0
    end: int = 0
    records: int = 0
    problems: list[Corrupt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class EpochRun:
    """Neighbouring batches of one leader epoch: the first one's base offset, the last one's last offset."""

    epoch: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry looked at alone. `data` is overwritten when its walker reads on."""

    header: BatchHeader
    data: ByteArray

    def records(self) -> list[Record]:
        """Its records, as far as they can be read, with their batch's position in the file."""
        return [
            replace(found, position=self.header.position)
            for found in records(self.data.tobytes())
            if isinstance(found, Record)
        ]


class Walker:
    """Stands at an entry of a log, or is `exhausted`. `reached` is the highest offset that it has passed."""

    def __init__(self, slices: Sequence[Slice]) -> None:
        self.segments = [
            SegmentState(base_offset=one.base_offset, path=one.path, size=one.stop, begin=one.begin) for one in slices
        ]
        self.start_offset = slices[0].offset if slices else 0
        self.reached = self.start_offset - 1
        self.last_offset = -1
        """Of the entry before, in this segment; the highest offset at a segment's beginning."""
        self.highest = -1
        self.epochs: list[EpochRun] = []
        self.compiled = sum(one.stop - one.begin for one in slices) >= columns.COMPILED_FROM_BYTES
        self._log_end: int | None = None
        self._number = -1
        self._position = 0
        self._descriptor: int | None = None
        self._buffer = bytearray(BLOCK_BYTES)
        self._from = self._upto = 0  # what of the buffer holds the segment's bytes from `_position` on
        self._next_segment()

    @property
    def exhausted(self) -> bool:
        return self._number >= len(self.segments)

    @property
    def leo(self) -> int:
        """The log end offset, once exhausted."""
        base = self.segments[-1].base_offset if self.segments else 0
        return base if self._log_end is None else max(self._log_end, base)

    @property
    def epoch(self) -> int:
        return self.epochs[-1].epoch if self.epochs else _NO_EPOCH

    def ahead(self) -> ByteArray:
        """The bytes from here on that are in the buffer: a good part of a block, or the rest of the segment.

        The next call overwrites them.
        """
        return self._have(_LEAST_BYTES)

    @property
    def left(self) -> int:
        """Bytes of the segment from here on."""
        return self.segments[self._number].size - self._position

    def place(self) -> tuple[int, int]:
        """The open file, and the position in it. Raises ParseError if it cannot be opened."""
        return self._open(), self._position

    def pass_over(self, size: int, last_offset: int, count: int) -> None:
        """Move over `size` bytes of unremarkable entries."""
        segment = self.segments[self._number]
        if segment.end == 0:
            segment.notes += _begins_below(segment, self._first_offset())
        if self.epochs:
            self.epochs[-1].last_offset = max(self.epochs[-1].last_offset, last_offset)
        self._move(size, last_offset, count)

    def step(self) -> Entry | None:
        """Move over one entry and note what is wrong with it. None if its header is not sound: the segment ends."""
        segment = self.segments[self._number]
        here, left = self._position, segment.size - self._position
        found = header_at(self._have(_HEADER_ROOM_BYTES).data, 0, left)
        if isinstance(found, Corrupt):
            segment.problems.append(columns.end_of_file(self._open(), found, here, segment.size))
            self._next_segment()
            return None
        data = self._have(found.size)[: found.size]
        if not checksum_matches(data.data, found):
            reason = f"offset {found.last_offset}: the checksum does not match"
            segment.problems.append(Corrupt(position=here, size=found.size, kind="checksum", reason=reason))
        first = found.last_offset if found.base_offset is None else found.base_offset
        if segment.end == 0:
            segment.notes += _begins_below(segment, first)
        if first <= self.last_offset and len(segment.notes) < _NOTES_MAX:
            segment.notes.append(
                f"{segment.path.name}: offset {first} at byte {here} comes after offset {self.last_offset}"
            )
        if found.magic >= _WITH_EPOCHS and found.leader_epoch >= 0 and found.leader_epoch != self.epoch:
            self.epochs.append(EpochRun(epoch=found.leader_epoch, first_offset=first, last_offset=found.last_offset))
        elif self.epochs:
            self.epochs[-1].last_offset = max(self.epochs[-1].last_offset, found.last_offset)
        self._move(found.size, found.last_offset, found.count or 0)
        return Entry(header=_at(found, here), data=data)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _move(self, size: int, last_offset: int, count: int) -> None:
        segment = self.segments[self._number]
        self._position += size
        self._from = min(self._from + size, self._upto)
        segment.end = self._position
        segment.records += count
        self.last_offset = last_offset
        self.highest = max(self.highest, last_offset)
        self.reached = max(self.reached, last_offset)
        self._log_end = last_offset + 1
        if self._position >= segment.size:
            self._next_segment()

    def _next_segment(self) -> None:
        """To the next segment that holds anything."""
        self.close()
        self._number += 1
        while not self.exhausted and self.segments[self._number].begin == self.segments[self._number].size:
            self._number += 1
        self._position = 0 if self.exhausted else self.segments[self._number].begin
        self._from = self._upto = 0
        self.last_offset = self.highest

    def _first_offset(self) -> int:
        """Of the entry here, which is sound."""
        found = header_at(self._have(_HEADER_ROOM_BYTES).data, 0, ANY_OFFSET)
        assert isinstance(found, BatchHeader), "only sound entries are passed over"
        return found.last_offset if found.base_offset is None else found.base_offset

    def _have(self, least: int) -> ByteArray:
        """As `ahead`, with at least `least` bytes."""
        least = min(least, self.segments[self._number].size - self._position)
        if self._upto - self._from < least:
            self._fill(least)
        return np.frombuffer(self._buffer, dtype=np.uint8, count=self._upto - self._from, offset=self._from)

    def _fill(self, want: int) -> None:
        """Have `want` bytes from here on in the buffer, and as many more as it has room for."""
        kept = self._upto - self._from
        if want > len(self._buffer):
            grown = bytearray(want)
            grown[:kept] = memoryview(self._buffer)[self._from : self._upto]
            self._buffer = grown
        else:
            whole = memoryview(self._buffer)
            whole[:kept] = whole[self._from : self._upto]
        self._from, self._upto = 0, kept
        into = memoryview(self._buffer)
        segment = self.segments[self._number]
        while self._upto < want:
            try:
                count = os.preadv(self._open(), [into[self._upto :]], self._position + self._upto)
            except OSError as error:
                raise _unreadable(segment.path, error) from None
            if count == 0:
                at = self._position + self._upto
                raise ParseError(
                    f"{segment.path}: cut at byte {at} while it was read; compare copies, or a broker at rest"
                )
            self._upto += count
        self._upto = min(self._upto, segment.size - self._position)  # what a broker appended meanwhile is not read

    def _open(self) -> int:
        if self._descriptor is None:
            path = self.segments[self._number].path
            try:
                self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                raise _unreadable(path, error) from None
        return self._descriptor


def compiled(walkers: Sequence[Walker]) -> bool:
    """Whether compiled loops are worth loading."""
    return any(walker.compiled for walker in walkers)


class Alike:
    """Reads what large logs have in common, into memory of its own."""

    def __init__(self) -> None:
        self._bytes = np.empty(_ALIKE_BYTES, np.uint8)
        self._compared = np.empty(_COMPARED_BYTES, np.uint8)

    def ahead(self, walkers: Sequence[Walker]) -> ByteArray:
        """The next bytes, as far as they are the same for all walkers; the next call overwrites them. None also where
        a file is cut, or cannot be read: a walker by itself tells.

        Raises ParseError if a file cannot be opened.
        """
        from kafkafiles import kernels

        descriptors, positions = zip(*(walker.place() for walker in walkers), strict=True)
        size = kernels.read_alike(
            np.array(descriptors, np.int32),
            np.array(positions, np.int64),
            min(_ALIKE_BYTES, *(walker.left for walker in walkers)),
            self._bytes,
            self._compared,
        )
        return self._bytes[:size]


def check_ahead(
    walkers: list[Walker], data: ByteArray, until: int, told: Callable[[ByteArray], None] | None = None
) -> bool:
    """Pass over sound entries of `data`, the next bytes of every walker, up to the offset `until`. `told` is given
    them. False if there were none.
    """
    floor = max(walker.last_offset for walker in walkers)
    epochs = {walker.epoch for walker in walkers}
    epoch = epochs.pop() if len(epochs) == 1 else _NO_EPOCH
    if compiled(walkers):
        from kafkafiles import kernels

        size, last, count = kernels.checked(data, until, floor, epoch)
    else:
        size, last, count = _checked(data.data, until, floor, epoch)
    if size and told is not None:
        told(data[:size])
    if size:
        for walker in walkers:
            walker.pass_over(size, last, count)
    return size > 0


def _checked(data: Buffer, until: int, floor: int, epoch: int) -> tuple[int, int, int]:
    """What `kernels.checked` does, in plain Python."""
    view = memoryview(data)
    position, last, total = 0, floor, 0
    while position < len(view):
        found = header_at(view, position, len(view))
        if isinstance(found, Corrupt):
            break
        first = found.last_offset if found.base_offset is None else found.base_offset
        own = found.leader_epoch if found.magic >= _WITH_EPOCHS else _NO_EPOCH
        if first <= last or found.last_offset >= until or (own >= 0 and own != epoch):
            break
        if not checksum_matches(view, found):
            break
        position, last, total = found.end, found.last_offset, total + (found.count or 0)
    return position, last, total


def _begins_below(segment: SegmentState, first: int) -> list[str]:
    return [f"{segment.path.name}: begins with offset {first}"] if first < segment.base_offset else []


def _at(header: BatchHeader, position: int) -> BatchHeader:
    return replace(header, position=position)


def whole(path: Path) -> Slice:
    """All bytes of a .log file. Raises ParseError if it cannot be read."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from None
    base = int(path.name[:20])
    return Slice(base_offset=base, path=path, offset=base, begin=0, stop=size)


def _unreadable(path: Path, error: OSError) -> ParseError:
    return ParseError(f"{path}: cannot be read: {error.strerror or error}")
