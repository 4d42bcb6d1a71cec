"""Log segments in columns: headers as numpy arrays, records as Arrow, for files of any size.

`kafkafiles.batches` alone decides what is corrupt. For large inputs the two inner loops, walking the headers and
walking the records of format 2, are compiled (`kafkafiles.kernels`). A batch those loops do not accept, and every batch
of formats 0 and 1, goes through `decode_batch`. Small inputs never load the compiler, which costs more than they take.

Files are read in windows that end where an entry ends, so memory is bounded by the window (or the largest entry), and
nothing is memory-mapped: a broker that truncates the file meanwhile would kill the reader.

Rows of batches that are not to be trusted are kept, with `valid` false, when they could be read; the reason comes
beside them as a `Corrupt`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkafiles import codecs
from kafkafiles.batches import (
    PREFIX_BYTES,
    V2_HEADER_BYTES,
    V2_RECORD_BYTES_MIN,
    Batch,
    BatchHeader,
    Buffer,
    Corrupt,
    batch_body,
    decode_batch,
    header_at,
    scan_batches,
)
from kafkafiles.errors import Malformed

HEADERS_TYPE: Final = pa.list_(
    pa.struct([pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())])
)
CODEC_TYPE: Final = pa.dictionary(pa.int8(), pa.string())
SCHEMA: Final = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("position", pa.int64(), nullable=False),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("leader_epoch", pa.int32(), nullable=False),
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", pa.int16(), nullable=False),
        pa.field("sequence", pa.int32(), nullable=False),
        pa.field("transactional", pa.bool_(), nullable=False),
        pa.field("control", pa.int16()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS_TYPE, nullable=False),
        pa.field("codec", CODEC_TYPE, nullable=False),
        pa.field("magic", pa.int8(), nullable=False),
        pa.field("valid", pa.bool_(), nullable=False),
    ]
)
"""One row a record. Epochs, producers, sequences and timestamps that a format lacks are -1, as in Kafka.
`timestamp_type` is -1 none, 0 create time, 1 log append time; `control` is null for data, else the type (0 abort, 1
commit, 2 leader change, …); `position` is that of the record's batch in the file, in bytes."""

HEADER_DTYPE: Final = np.dtype(
    [
        ("position", "i8"),
        ("size", "i8"),
        ("base_offset", "i8"),  # -1: unknown, in a compressed wrapper of formats 0 and 1
        ("last_offset", "i8"),
        ("base_timestamp_ms", "i8"),
        ("max_timestamp_ms", "i8"),
        ("producer_id", "i8"),
        ("crc", "u4"),
        ("count", "i4"),  # -1: unknown, likewise
        ("leader_epoch", "i4"),
        ("base_sequence", "i4"),
        ("attributes", "u2"),
        ("producer_epoch", "i2"),
        ("magic", "i1"),
    ],
    align=True,
)
HeaderArray: TypeAlias = npt.NDArray[np.void]

DEFAULT_ROWS: Final = 65_536
DEFAULT_WINDOW_BYTES: Final = 32 * 1024 * 1024
COMPILED_FROM_BYTES: Final = 8 * 1024 * 1024
"""Below this an input is read by plain Python: loading the compiled loops takes longer."""
_SCAN_ROWS: Final = 1 << 14
_SCAN_BYTES: Final = 1 << 20
_HEADER_BYTES: Final = 256
_LEAP_BYTES: Final = 1 << 16
_LOOK_BYTES: Final = 64
"""More than any header: fewer zeros than this, cut by a window, may be the beginning of an entry."""
_PAYLOAD_MAX: Final = 64 * 1024 * 1024
"""Bytes of records after which a record batch is handed out: an Arrow binary column holds 2 GiB at most."""


@cache
def _codec_names() -> pa.StringArray:
    """The names of codecs by their numbers. Made when first needed: the first array loads pandas, if that is there."""
    return pa.array([codecs.name(number) for number in range(8)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A piece of a segment file that begins and ends where entries do.

    `position` is where `data` begins in the file; the positions in `headers` are within `data`.
    """

    position: int
    data: bytes
    headers: HeaderArray


# Headers


def scan_columns(
    buffer: Buffer, start: int = 0, end: int | None = None, *, compiled: bool | None = None
) -> tuple[HeaderArray, Corrupt | None]:
    """What `scan_batches` finds, as one array of `HEADER_DTYPE`, and the `Corrupt` that ends it, if one does.

    `compiled` None lets the input's size decide.
    """
    stop = len(buffer) if end is None else min(end, len(buffer))
    if _compile(stop - start, compiled):
        from kafkafiles import kernels

        data = np.frombuffer(buffer, dtype=np.uint8)
        headers, reached = kernels.scan(data, start, stop, HEADER_DTYPE)
        if reached >= stop:
            return headers, None
        found = header_at(memoryview(buffer), reached, stop)
        assert isinstance(found, Corrupt), f"the compiled scan stopped at {reached}, where a header is sound"
        return headers, found
    rows = []
    problem = None
    for entry in scan_batches(buffer, start, stop):
        if isinstance(entry, Corrupt):
            problem = entry
            break
        rows.append(
            (
                entry.position,
                entry.size,
                -1 if entry.base_offset is None else entry.base_offset,
                entry.last_offset,
                entry.base_timestamp_ms,
                entry.max_timestamp_ms,
                entry.producer_id,
                entry.crc,
                -1 if entry.count is None else entry.count,
                entry.leader_epoch,
                entry.base_sequence,
                entry.attributes,
                entry.producer_epoch,
                entry.magic,
            )
        )
    return np.array(rows, dtype=HEADER_DTYPE), problem


def _compile(size: int, compiled: bool | None) -> bool:
    return size >= COMPILED_FROM_BYTES if compiled is None else compiled


def read_windows(path: Path, *, window_bytes: int = DEFAULT_WINDOW_BYTES) -> Iterator[Window | Corrupt]:
    """A segment file in windows, then the `Corrupt` that ends it, if one does (its position is in the file).

    Memory: one window, or the largest entry. A file that grows meanwhile is read up to the end it had when opened.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        position = 0
        want = window_bytes
        while position < size:
            file.seek(position)
            data = file.read(min(want, size - position))
            whole = position + len(data) >= size or not data
            headers, problem = scan_columns(data, compiled=_compile(size, None))
            if len(headers):
                end = int(headers[-1]["position"] + headers[-1]["size"])
                yield Window(position=position, data=data if end == len(data) else data[:end], headers=headers)
                position += end
                want = window_bytes
            if problem is None:
                if not data:
                    return
                continue
            cut_by_window = problem.kind == "torn" or (problem.kind == "zero-padding" and problem.size <= _LOOK_BYTES)
            if cut_by_window and not whole:
                if not len(headers):
                    want = _entry_bytes(data, want)
                continue
            yield end_of_file(file.fileno(), problem, position, size)
            return


def read_headers(path: Path) -> tuple[HeaderArray, Corrupt | None]:
    """The headers of a segment file, as `scan_columns` finds them, without reading what lies between them."""
    with path.open("rb") as file:
        descriptor = file.fileno()
        size = os.fstat(descriptor).st_size
        if size < COMPILED_FROM_BYTES:
            headers, problem = scan_columns(os.pread(descriptor, size, 0), compiled=False)
            return headers, problem
        return _read_headers(descriptor, size)


def _read_headers(descriptor: int, size: int) -> tuple[HeaderArray, Corrupt | None]:
    from kafkafiles import kernels

    full: list[HeaderArray] = []
    rows = np.zeros(_SCAN_ROWS, dtype=HEADER_DTYPE)
    buffer = bytearray(_SCAN_BYTES)
    used = position = 0
    want = _SCAN_BYTES
    problem: Corrupt | None = None
    while position < size:
        length = os.preadv(descriptor, [memoryview(buffer)[:want]], position)
        if length < min(want, size - position):  # cut by its broker since we looked
            size = position + length
            if not length:
                break
        data = np.frombuffer(buffer, dtype=np.uint8, count=length)
        count, reached = kernels.scan_headers(data, size - position, rows[used:])
        rows["position"][used : used + count] += position
        used += count
        if used == len(rows):
            full.append(rows)
            rows = np.zeros(_SCAN_ROWS, dtype=HEADER_DTYPE)
            used = 0
        elif reached + V2_HEADER_BYTES <= length or not count:  # not for want of bytes or of room
            found = header_at(memoryview(buffer)[:length], reached, size - position)
            assert isinstance(found, Corrupt), (
                f"the compiled scan stopped at {position + reached}, where a header is sound"
            )
            problem = end_of_file(descriptor, found, position + reached, size)
            break
        # Large entries are leapt over, small ones read in bulk.
        want = _HEADER_BYTES if count and reached > count * _LEAP_BYTES else _SCAN_BYTES
        position += reached
    return np.concatenate([*full, rows[:used]]), problem


def _entry_bytes(data: bytes, want: int) -> int:
    """How much to read to have the first entry whole."""
    if len(data) < PREFIX_BYTES:
        return want + PREFIX_BYTES
    return max(want, int.from_bytes(data[8:PREFIX_BYTES], "big")) + PREFIX_BYTES


def end_of_file(descriptor: int, problem: Corrupt, position: int, size: int) -> Corrupt:
    """The `Corrupt` at `position`, the rest of the file taken into account."""
    rest = size - position
    if problem.kind == "zero-padding":
        at = position
        while at < size and (piece := os.pread(descriptor, 1 << 20, at)):
            if piece.count(0) != len(piece):
                reason = f"zeros at byte {position}, but not up to the end"
                return Corrupt(position=position, size=rest, kind="malformed", reason=reason)
            at += len(piece)
        return replace(problem, position=position, size=rest, reason=f"{rest} zero bytes up to the end")
    return replace(problem, position=position, size=rest)


# Records


def arrow_batches(
    buffer: Buffer,
    start: int = 0,
    end: int | None = None,
    *,
    rows: int = DEFAULT_ROWS,
    limit_bytes: int = codecs.DEFAULT_LIMIT_BYTES,
    compiled: bool | None = None,
) -> Iterator[pa.RecordBatch | Corrupt]:
    """The records of `buffer[start:end]` in log order as record batches of `SCHEMA` with about `rows` rows.

    A `Corrupt` comes before the record batch that holds the rows it is about, or last when reading cannot go on.
    """
    headers, problem = scan_columns(buffer, start, end, compiled=compiled)
    stop = len(buffer) if end is None else min(end, len(buffer))
    yield from _decode(buffer, headers, 0, rows, limit_bytes, _compile(stop - start, compiled))
    if problem is not None:
        yield problem


def read_arrow_batches(
    path: Path,
    *,
    rows: int = DEFAULT_ROWS,
    limit_bytes: int = codecs.DEFAULT_LIMIT_BYTES,
    window_bytes: int = DEFAULT_WINDOW_BYTES,
) -> Iterator[pa.RecordBatch | Corrupt]:
    """As `arrow_batches`, of a segment file, whatever its size; memory is bounded by the window."""
    compiled = path.stat().st_size >= COMPILED_FROM_BYTES
    for window in read_windows(path, window_bytes=window_bytes):
        if isinstance(window, Corrupt):
            yield window
        else:
            yield from _decode(window.data, window.headers, window.position, rows, limit_bytes, compiled)


def table(
    buffer: Buffer,
    start: int = 0,
    end: int | None = None,
    *,
    limit_bytes: int = codecs.DEFAULT_LIMIT_BYTES,
    compiled: bool | None = None,
) -> tuple[pa.Table, list[Corrupt]]:
    """All records as one table of `SCHEMA`, and what was wrong. For segments that fit in memory."""
    return _collect(arrow_batches(buffer, start, end, limit_bytes=limit_bytes, compiled=compiled))


def _collect(found: Iterator[pa.RecordBatch | Corrupt]) -> tuple[pa.Table, list[Corrupt]]:
    pieces: list[pa.RecordBatch] = []
    problems: list[Corrupt] = []
    for piece in found:
        if isinstance(piece, Corrupt):
            problems.append(piece)
        else:
            pieces.append(piece)
    return pa.Table.from_batches(pieces, SCHEMA), problems


def _decode(
    buffer: Buffer, headers: HeaderArray, shift: int, rows: int, limit: int, compiled: bool
) -> Iterator[pa.RecordBatch | Corrupt]:
    """Decode the entries in `headers`; `shift` is added to every position."""
    view = memoryview(buffer)
    if compiled:
        yield from _decode_compiled(buffer, headers, shift, rows, limit)
        return
    slow = _Slow(view, shift, limit)
    for position in headers["position"].tolist():
        yield from slow.add(position)
        if slow.rows >= rows or slow.payload >= _PAYLOAD_MAX:
            yield from slow.flush()
    yield from slow.flush()


class _Slow:
    """Entries decoded one by one, gathered into record batches."""

    def __init__(self, view: memoryview, shift: int, limit: int) -> None:
        self.view = view
        self.shift = shift
        self.limit = limit
        self.rows = 0
        self.payload = 0
        self._window: list[Batch] = []

    def add(self, position: int) -> Iterator[Corrupt]:
        header = header_at(self.view, position, len(self.view))
        assert isinstance(header, BatchHeader), "only sound headers come here"
        batch = decode_batch(self.view, header, limit_bytes=self.limit)
        if batch.corrupt is not None:
            yield replace(batch.corrupt, position=batch.corrupt.position + self.shift)
        self._window.append(batch)
        self.rows += len(batch.offsets)
        self.payload += header.size if header.codec == codecs.NONE else _payload_bytes(batch)

    def flush(self) -> Iterator[pa.RecordBatch]:
        if self.rows:
            yield _record_batch(self._window, self.shift)
        self._window = []
        self.rows = self.payload = 0


def _payload_bytes(batch: Batch) -> int:
    return sum(len(part) for column in (batch.keys, batch.values) for part in column if part is not None)


def _record_batch(window: Sequence[Batch], shift: int) -> pa.RecordBatch:
    counts = np.fromiter((len(batch.offsets) for batch in window), dtype=np.int64, count=len(window))

    def each(values: Iterator[Any], kind: type[np.generic]) -> pa.Array:
        return pa.array(np.repeat(np.fromiter(values, dtype=kind, count=len(window)), counts))

    def flat(column: str, form: pa.DataType) -> pa.Array:
        return pa.array([value for batch in window for value in getattr(batch, column)], form)

    heads = [batch.header for batch in window]
    codec = each((head.codec for head in heads), np.int8)
    columns = [
        flat("offsets", pa.int64()),
        each((head.position + shift for head in heads), np.int64),
        flat("timestamps_ms", pa.int64()),
        each((head.timestamp_type for head in heads), np.int8),
        each((head.leader_epoch for head in heads), np.int32),
        each((head.producer_id for head in heads), np.int64),
        each((head.producer_epoch for head in heads), np.int16),
        pa.array([sequence for batch in window for sequence in batch.sequences()], pa.int32()),
        each((head.is_transactional for head in heads), np.bool_),
        pa.array([control for batch in window for control in batch.control_types()], pa.int16()),
        flat("keys", pa.binary()),
        flat("values", pa.binary()),
        _headers(window, int(counts.sum())),
        pa.DictionaryArray.from_arrays(codec, _codec_names()),
        each((head.magic for head in heads), np.int8),
        each((batch.valid for batch in window), np.bool_),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _headers(window: Sequence[Batch], rows: int) -> pa.Array:
    each = [headers for batch in window for headers in batch.headers]
    flat = [header for headers in each for header in headers]
    offsets = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum([len(headers) for headers in each], out=offsets[1:])
    keys = pa.array([key for key, _ in flat], pa.binary())
    values = pa.array([value for _, value in flat], pa.binary())
    return _header_lists(offsets, keys, values)


def _header_lists(offsets: npt.NDArray[np.int32], keys: pa.Array, values: pa.Array) -> pa.Array:
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADERS_TYPE.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets), pairs, type=HEADERS_TYPE)


# Records, compiled


_SLOW: Final = 0
_PLAIN: Final = 1
_PACKED: Final = 2


def _decode_compiled(
    buffer: Buffer, headers: HeaderArray, shift: int, rows: int, limit: int
) -> Iterator[pa.RecordBatch | Corrupt]:
    """Decode runs of neighbouring entries of one kind, each in the way that its kind allows."""
    view = memoryview(buffer)
    data = np.frombuffer(buffer, dtype=np.uint8)
    slow = _Slow(view, shift, limit)
    kinds = _kinds(data, headers).tolist()
    counts = headers["count"].tolist()
    sizes = headers["size"].tolist()
    total = len(kinds)
    at = 0
    while at < total:
        begin, kind, count, payload = at, kinds[at], 0, 0
        bodies: list[bytes] = []
        while at < total and kinds[at] == kind and count < rows and payload < _PAYLOAD_MAX:
            if kind == _PACKED:
                body = _unpacked(view, headers[at], limit)
                if body is None:
                    kinds[at] = _SLOW
                    break
                bodies.append(body)
                payload += len(body)
                count += counts[at]
            elif kind == _PLAIN:
                payload += sizes[at]
                count += counts[at]
            else:
                yield from slow.add(int(headers[at]["position"]))
                count, payload = slow.rows, slow.payload
            at += 1
        run = headers[begin:at]
        if kind == _SLOW:
            yield from slow.flush()
        elif kind == _PLAIN:
            begins = run["position"] + V2_HEADER_BYTES
            yield from _decode_group(view, data, begins, run["position"] + run["size"], run, shift, limit)
        elif bodies:
            joined = np.frombuffer(b"".join(bodies), dtype=np.uint8)
            ends = np.cumsum(np.fromiter((len(body) for body in bodies), dtype=np.int64, count=len(bodies)))
            begins = np.concatenate(([0], ends[:-1]))
            yield from _decode_group(view, joined, begins, ends, run, shift, limit)


def _kinds(data: npt.NDArray[np.uint8], headers: HeaderArray) -> npt.NDArray[np.int8]:
    """How each entry may be decoded: sound data batches of format 2 by the compiled loop, all else one by one."""
    from kafkafiles import kernels

    attributes, magic = headers["attributes"], headers["magic"]
    fits = headers["count"].astype(np.int64) * V2_RECORD_BYTES_MIN <= headers["size"] - V2_HEADER_BYTES
    packed = (attributes & 7) != 0
    fast = (magic == 2) & ((attributes & 0x20) == 0) & (packed | fits)
    kinds = np.where(fast, np.where(packed, _PACKED, _PLAIN), _SLOW).astype(np.int8)
    chosen = np.flatnonzero(fast)
    kinds[chosen[~kernels.checksums_match(data, headers[chosen])]] = _SLOW
    return kinds


def _unpacked(view: memoryview, head: np.void, limit: int) -> bytes | None:
    """The records of a compressed batch, None if they cannot be had."""
    header = header_at(view, int(head["position"]), len(view))
    try:
        return None if isinstance(header, Corrupt) else batch_body(view, header, limit)
    except Malformed:
        return None


def _decode_group(
    view: memoryview,
    data: npt.NDArray[np.uint8],
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    heads: HeaderArray,
    shift: int,
    limit: int,
) -> Iterator[pa.RecordBatch | Corrupt]:
    """Decode batches of format 2 with right checksums together; their records are at `data[begins[i]:ends[i]]`."""
    from kafkafiles import kernels

    append_time = (heads["attributes"] & 0x08) != 0
    found = kernels.records(data, begins, ends, heads, append_time)
    if found.refused:  # some batch is not well formed: let the decoder that knows reasons take them all
        slow = _Slow(view, shift, limit)
        for position in heads["position"].tolist():
            yield from slow.add(position)
        yield from slow.flush()
        return
    counts = heads["count"].astype(np.int64)
    total = int(counts.sum())
    if total == 0:
        return

    def each(values: npt.NDArray[Any]) -> pa.Array:
        return pa.array(np.repeat(values, counts))

    attributes = heads["attributes"]
    sequence = np.where(
        np.repeat(heads["base_sequence"] < 0, counts),
        -1,
        (
            np.repeat(heads["base_sequence"].astype(np.int64), counts)
            + found.offsets
            - np.repeat(heads["base_offset"], counts)
        )
        & 0x7FFFFFFF,
    ).astype(np.int32)
    columns = [
        pa.array(found.offsets),
        each(heads["position"] + shift),
        pa.array(found.timestamps),
        each(((attributes >> 3) & 1).astype(np.int8)),
        each(heads["leader_epoch"]),
        each(heads["producer_id"]),
        each(heads["producer_epoch"]),
        pa.array(sequence),
        each((attributes & 0x10) != 0),
        pa.nulls(total, pa.int16()),
        _binary(data, found.key_starts, found.key_sizes),
        _binary(data, found.value_starts, found.value_sizes),
        _header_lists(
            found.header_offsets,
            _binary(data, found.header_key_starts, found.header_key_sizes),
            _binary(data, found.header_value_starts, found.header_value_sizes),
        ),
        pa.DictionaryArray.from_arrays(each((attributes & 7).astype(np.int8)), _codec_names()),
        each(heads["magic"]),
        pa.array(np.ones(total, dtype=np.bool_)),
    ]
    yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _binary(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int32]) -> pa.Array:
    """The pieces of `data` as a binary column; a size of -1 is null."""
    from kafkafiles import kernels

    offsets, values, present = kernels.gather(data, starts, sizes)
    nulls = len(sizes) - int(present.sum())
    validity = None if not nulls else pa.array(present).buffers()[1]
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.binary(), len(sizes), buffers, null_count=nulls)
