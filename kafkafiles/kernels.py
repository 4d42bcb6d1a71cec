"""The inner loops over bytes, compiled: walking headers, with checksums or without, walking the records of format 2,
gathering their bytes.

Imported only for large inputs, since importing the compiler and loading its cache take about a second. Where bytes are
not plainly sound the loops stop, and the caller asks `kafkafiles.batches`, whose answer counts. Each loop accepts
exactly what that module accepts (tests compare the two on mutated input).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import types

from kafkafiles import sums
from kafkafiles.compiled import compiled

_INT64_MAX: Final = 0x7FFFFFFFFFFFFFFF
_INT64_MIN: Final = -0x8000000000000000
_GLANCE_BYTES: Final = 4096
"""Read first of files that may differ right here."""
_pread: Any = types.ExternalFunction("pread", types.int64(types.int32, types.uintp, types.uintp, types.int64))
"""pread(2). A regular file gives what there is; less than asked for is the end of the file, or an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordColumns:
    """Where the parts of each record are. Sizes of -1 are nulls. If `refused`, a batch is not well formed and the
    rest means nothing.
    """

    refused: bool
    offsets: npt.NDArray[np.int64]
    timestamps: npt.NDArray[np.int64]
    key_starts: npt.NDArray[np.int64]
    key_sizes: npt.NDArray[np.int32]
    value_starts: npt.NDArray[np.int64]
    value_sizes: npt.NDArray[np.int32]
    header_offsets: npt.NDArray[np.int32]
    header_key_starts: npt.NDArray[np.int64]
    header_key_sizes: npt.NDArray[np.int32]
    header_value_starts: npt.NDArray[np.int64]
    header_value_sizes: npt.NDArray[np.int32]


def scan(data: npt.NDArray[np.uint8], start: int, stop: int, form: np.dtype[Any]) -> tuple[npt.NDArray[np.void], int]:
    """The sound entries from `start` on, and the position of the first that is not (or `stop`)."""
    pieces = []
    position = start
    room = 1024
    while True:
        found = np.zeros(room, dtype=form)
        count, position = _scan(data, position, stop, len(data), found)
        pieces.append(found[:count])
        if count < room:
            return np.concatenate(pieces), position
        room = min(room * 4, 1 << 20)


def scan_headers(data: npt.NDArray[np.uint8], stop: int, out: npt.NDArray[np.void]) -> tuple[int, int]:
    """Fill `out` with the sound entries of a piece of a file; their bodies may be missing.

    `data` is the file from some entry on, `stop` where the file ends, counted from there. Returns how many entries,
    and where the next begins: beyond `data` if a body leaps over its end, near its end if a header is cut, anywhere
    if the entry there is not sound.
    """
    count, position = _scan(data, 0, stop, len(data), out)
    return int(count), int(position)


def checked(data: npt.NDArray[np.uint8], until: int, floor: int, epoch: int) -> tuple[int, int, int]:
    """Pass over whole entries at the beginning of `data` that are sound and unremarkable.

    Those are sound, checksum included, begin above the offset before them (`floor` before the first), end below the
    offset `until`, and carry the leader epoch `epoch` or none. Returns where the first other one begins, the last
    offset before it (`floor` if it is the first) and how many records the headers of these entries announce.
    """
    position, last, count = _checked(data, until, floor, epoch)
    return int(position), int(last), int(count)


def read_alike(
    descriptors: npt.NDArray[np.int32],
    positions: npt.NDArray[np.int64],
    size: int,
    into: npt.NDArray[np.uint8],
    scratch: npt.NDArray[np.uint8],
) -> int:
    """Read `size` bytes at a position of each file, as far as these are the same in all of them. Returns how many are
    in `into`: fewer as well where a file ends, or cannot be read.

    Little is read at a time (`scratch`), so that it is compared while it is in the processor's cache.
    """
    return int(_read_alike(descriptors, positions, size, into, scratch))


def checksums_match(data: npt.NDArray[np.uint8], headers: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """Whether the checksum of each entry of `data` matches its bytes."""
    matches = np.empty(len(headers), dtype=np.bool_)
    _checksums_match(data, headers, matches)
    return matches


def records(
    data: npt.NDArray[np.uint8],
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    heads: npt.NDArray[np.void],
    append_time: npt.NDArray[np.bool_],
) -> RecordColumns:
    """Walk the records of format 2 batches whose bodies are at `data[begins[i]:ends[i]]`."""
    total = int(heads["count"].astype(np.int64).sum())
    offsets = np.empty(total, dtype=np.int64)
    timestamps = np.empty(total, dtype=np.int64)
    starts = np.empty((2, total), dtype=np.int64)
    sizes = np.empty((2, total), dtype=np.int32)
    header_offsets = np.zeros(total + 1, dtype=np.int32)
    room = 0
    while True:
        header_starts = np.empty((2, room), dtype=np.int64)
        header_sizes = np.empty((2, room), dtype=np.int32)
        refused, needed = _records(
            data,
            begins,
            ends,
            heads["count"].astype(np.int64),
            heads["base_offset"].astype(np.int64),
            heads["last_offset"].astype(np.int64),
            heads["base_timestamp_ms"].astype(np.int64),
            heads["max_timestamp_ms"].astype(np.int64),
            append_time,
            offsets,
            timestamps,
            starts,
            sizes,
            header_offsets,
            header_starts,
            header_sizes,
        )
        if refused or needed <= room:
            break
        room = needed
    return RecordColumns(
        refused=bool(refused),
        offsets=offsets,
        timestamps=timestamps,
        key_starts=starts[0],
        key_sizes=sizes[0],
        value_starts=starts[1],
        value_sizes=sizes[1],
        header_offsets=header_offsets,
        header_key_starts=header_starts[0],
        header_key_sizes=header_sizes[0],
        header_value_starts=header_starts[1],
        header_value_sizes=header_sizes[1],
    )


def gather(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """Arrow's form of pieces of `data`: offsets, the bytes one after another, and which are not null (size -1)."""
    present = sizes >= 0
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(np.where(present, sizes, 0), out=offsets[1:])
    values = np.empty(int(offsets[-1]), dtype=np.uint8)
    _gather(data, starts, offsets, values)
    return offsets, values, present


@compiled
def big(data: Any, at: int, size: int) -> Any:
    """A big-endian number of `size` bytes."""
    value = np.int64(0)
    for index in range(size):
        value = (value << 8) | np.int64(data[at + index])
    return value


@compiled
def _scan(data: Any, position: Any, stop: Any, available: Any, out: Any) -> Any:
    """`available` is where the bytes at hand end, `stop` where the file does."""
    count = 0
    while count < len(out):
        left = stop - position
        if left <= 16 or (position + 61 > available and available < stop):
            break
        offset = big(data, position, 8)
        size = np.int64(np.int32(big(data, position + 8, 4)))
        magic = data[position + 16]
        if magic > 2 or offset < 0 or size + 12 > left:
            break
        row = out[count]
        if magic == 2:
            if size < 49:
                break
            delta = np.int64(np.int32(big(data, position + 23, 4)))
            records = np.int64(np.int32(big(data, position + 57, 4)))
            if delta < 0 or records < 0 or records > delta + 1 or offset > _INT64_MAX - delta:
                break
            row.base_offset = offset
            row.last_offset = offset + delta
            row.count = np.int32(records)
            row.leader_epoch = np.int32(big(data, position + 12, 4))
            row.crc = np.uint32(big(data, position + 17, 4))
            row.attributes = np.uint16(big(data, position + 21, 2))
            row.base_timestamp_ms = big(data, position + 27, 8)
            row.max_timestamp_ms = big(data, position + 35, 8)
            row.producer_id = big(data, position + 43, 8)
            row.producer_epoch = np.int16(big(data, position + 51, 2))
            row.base_sequence = np.int32(big(data, position + 53, 4))
        else:
            if size < (22 if magic == 1 else 14):
                break
            attributes = data[position + 17]
            compressed = attributes & 7
            timestamp = big(data, position + 18, 8) if magic == 1 else np.int64(-1)
            row.base_offset = -1 if compressed else offset
            row.last_offset = offset
            row.count = -1 if compressed else 1
            row.leader_epoch = -1
            row.crc = np.uint32(big(data, position + 12, 4))
            row.attributes = attributes
            row.base_timestamp_ms = timestamp
            row.max_timestamp_ms = timestamp
            row.producer_id = -1
            row.producer_epoch = -1
            row.base_sequence = -1
        row.position = position
        row.size = size + 12
        row.magic = magic
        count += 1
        position += size + 12
    return count, position


@compiled
def _checked(data: Any, until: Any, floor: Any, epoch: Any) -> Any:
    """One entry after another as `_scan` accepts it, without a row for it, and with its checksum."""
    position: Any = np.int64(0)
    last = np.int64(floor)
    total = np.int64(0)
    stop = np.int64(len(data))
    while stop - position > 16:
        first = big(data, position, 8)
        size = np.int64(np.int32(big(data, position + 8, 4)))
        magic = data[position + 16]
        end = position + size + 12
        if magic > 2 or first < 0 or end > stop:
            break
        if magic == 2:
            if size < 49:
                break
            delta = np.int64(np.int32(big(data, position + 23, 4)))
            count = np.int64(np.int32(big(data, position + 57, 4)))
            if delta < 0 or count < 0 or count > delta + 1 or first > _INT64_MAX - delta:
                break
            own = np.int32(big(data, position + 12, 4))
            if own >= 0 and own != epoch:
                break
            next_last = first + delta
            stated = np.uint32(big(data, position + 17, 4))
        else:
            if size < (22 if magic == 1 else 14):
                break
            count = np.int64(0 if data[position + 17] & 7 else 1)
            next_last = first
            stated = np.uint32(big(data, position + 12, 4))
        if first <= last or next_last >= until:
            break
        if stated != (sums.crc32c(data, position + 21, end) if magic == 2 else sums.crc32(data, position + 16, end)):
            break
        last = next_last
        total += count
        position = end
    return position, last, total


@compiled
def _read_alike(descriptors: Any, positions: Any, size: Any, into: Any, scratch: Any) -> Any:
    at = np.int64(0)
    step = _GLANCE_BYTES
    while at < size:
        want = min(step, size - at)
        same = _pread(descriptors[0], into.ctypes.data + at, want, positions[0] + at)
        for number in range(1, len(descriptors)):
            if same > 0:
                there = _pread(descriptors[number], scratch.ctypes.data, same, positions[number] + at)
                same = equal_bytes(into[at : at + there], scratch[:there]) if there > 0 else there
        if same <= 0:
            break
        at += same
        if same < want:
            break
        step = len(scratch)
    return at


@compiled
def equal_bytes(one: Any, other: Any) -> Any:
    """How many bytes at the beginning of two pieces of one length are the same."""
    step = 512
    at = 0
    words = len(one) // 8
    first, second = one[: words * 8].view(np.int64), other[: words * 8].view(np.int64)
    while at + step <= words:  # a loop without an exit is vectorised
        unlike = np.int64(0)
        for index in range(at, at + step):
            unlike |= first[index] ^ second[index]
        if unlike:
            break
        at += step
    at *= 8
    while at < len(one) and one[at] == other[at]:
        at += 1
    return at


@compiled
def _checksums_match(data: Any, headers: Any, matches: Any) -> None:
    for row in range(len(headers)):
        header = headers[row]
        end = header.position + header.size
        if header.magic == 2:
            matches[row] = sums.crc32c(data, header.position + 21, end) == header.crc
        else:
            matches[row] = sums.crc32(data, header.position + 16, end) == header.crc


@compiled
def varint(data: Any, position: int, end: int, bits: int) -> Any:
    """A zigzag varint and the position after it; the position is -1 if there is none before `end`."""
    value = np.uint64(0)
    shift = 0
    while shift < bits:
        if position >= end:
            return np.int64(0), -1
        byte = np.uint64(data[position])
        position += 1
        if shift == 63 and byte > np.uint64(1):
            return np.int64(0), -1
        value |= (byte & np.uint64(0x7F)) << np.uint64(shift)
        if byte < np.uint64(0x80):
            if bits == 32 and value > np.uint64(0xFFFFFFFF):
                return np.int64(0), -1
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), position
        shift += 7
    return np.int64(0), -1


@compiled
def _sized(data: Any, position: Any, end: Any, least: Any) -> Any:
    """The size of a field that has its size before it, and where it begins; -1 if it is less than `least`, or the field
    does not end before `end`.
    """
    size, position = varint(data, position, end, 32)
    if position < 0 or size < least or size > end - position:
        return size, np.int64(-1)
    return size, position


@compiled
def _records(
    data: Any,
    begins: Any,
    ends: Any,
    counts: Any,
    base_offsets: Any,
    last_offsets: Any,
    base_timestamps: Any,
    max_timestamps: Any,
    append_time: Any,
    offsets: Any,
    timestamps: Any,
    starts: Any,
    sizes: Any,
    header_offsets: Any,
    header_starts: Any,
    header_sizes: Any,
) -> tuple[int, int]:
    """The first batch refused (-1: none), and how many headers there are (those beyond the room
    given are only counted).
    """
    row = 0
    headers = 0
    room = header_starts.shape[1]
    for batch in range(len(ends)):
        position = begins[batch]
        stop = ends[batch]
        base = base_offsets[batch]
        delta_max = last_offsets[batch] - base
        before = np.int64(-1)
        stamp = base_timestamps[batch]
        for _ in range(counts[batch]):
            length, position = varint(data, position, stop, 32)
            if position < 0 or length < 1 or length > stop - position:
                return True, 0
            end = position + length
            delta_ms, position = varint(data, position + 1, end, 64)
            if position < 0:
                return True, 0
            delta, position = varint(data, position, end, 32)
            if position < 0 or delta <= before or delta > delta_max:
                return True, 0
            before = delta
            for field in range(2):
                size, position = _sized(data, position, end, -1)
                if position < 0:
                    return True, 0
                starts[field, row] = position
                sizes[field, row] = size
                if size > 0:
                    position += size
            count, position = varint(data, position, end, 32)
            if position < 0 or count < 0 or 2 * count > end - position:
                return True, 0
            for _header in range(count):
                for field in range(2):
                    size, position = _sized(data, position, end, -field)
                    if position < 0:
                        return True, 0
                    if headers < room:
                        header_starts[field, headers] = position
                        header_sizes[field, headers] = size
                    if size > 0:
                        position += size
                headers += 1
            if position != end:
                return True, 0
            if append_time[batch]:
                timestamps[row] = max_timestamps[batch]
            else:
                if (delta_ms > 0 and stamp > _INT64_MAX - delta_ms) or (delta_ms < 0 and stamp < _INT64_MIN - delta_ms):
                    return True, 0
                timestamps[row] = stamp + delta_ms
            offsets[row] = base + delta
            row += 1
            header_offsets[row] = headers
        if position != stop:
            return True, 0
    return False, headers


@compiled
def _gather(data: Any, starts: Any, offsets: Any, values: Any) -> None:
    for row in range(len(starts)):
        at = offsets[row]
        size = offsets[row + 1] - at
        start = starts[row]
        for index in range(size):
            values[at + index] = data[start + index]
