"""Kafka's log segments: bytes in, batches and records out. Message formats 0, 1 and 2, every codec.

A segment is a sequence of entries, each `offset int64, size int32, size bytes`. What follows depends on the magic byte,
which is at byte 16 of the entry in all three formats, so one file may mix them (a log that outlived an upgrade does):

- format 0 (0.8 … 0.9) and 1 (0.10, adds a timestamp): one entry is one message. The value of a compressed entry, the
  *wrapper*, is itself a sequence of entries; the wrapper's offset is that of its last inner message. Inner offsets are
  absolute in format 0 and relative to the first in format 1. CRC-32 from the magic byte to the end.
- format 2 (0.11 …): one entry is a batch of records with a header of 61 bytes; records have varint fields and headers.
  CRC-32C from the attributes on: base offset, length, leader epoch and magic are **not** covered.

Two levels:

- `scan_batches` reads headers only (no checksum, nothing decompressed), to find offsets, epochs and positions quickly.
- `decode_batch`, `batches`, `records` verify and decode. `kafkafiles.columns` does the same into Arrow.

Damage is returned as a value, `Corrupt`, beside what could be read. A wrong checksum does not stop the reading, since
the sizes chain the entries together; an impossible size does, and then the `Corrupt` covers the rest of the file.
Preallocated zeros at the end of a file and an entry cut by its end are `Corrupt` too, of their own kinds. Both are
normal on a live or crashed broker, and it is for the caller to say so.

Limits: a batch may take `limit_bytes` after decompression, beyond that it is `too-large`; time is linear in
the bytes read and decompressed. Numbers Kafka uses for "none" are kept (-1 for epochs, producers, sequences
and format 0's timestamps).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from kafkafiles import codecs
from kafkafiles.crc import crc32, crc32c
from kafkafiles.errors import Malformed, TooLarge

Buffer: TypeAlias = bytes | bytearray | memoryview
Kind: TypeAlias = Literal["zero-padding", "torn", "checksum", "malformed", "too-large"]
Headers: TypeAlias = tuple[tuple[bytes, bytes | None], ...]

NO_TIMESTAMP: Final = -1
CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1

CONTROL_ABORT: Final = 0
CONTROL_COMMIT: Final = 1
CONTROL_LEADER_CHANGE: Final = 2
CONTROL_SNAPSHOT_HEADER: Final = 3
CONTROL_SNAPSHOT_FOOTER: Final = 4
CONTROL_KRAFT_VERSION: Final = 5
CONTROL_KRAFT_VOTERS: Final = 6

_PREFIX: Final = struct.Struct(">qi")  # offset, size: common to all formats
_LEGACY: Final = struct.Struct(">qiIbb")  # … crc, magic, attributes
_V2: Final = struct.Struct(">qiibIhiqqqhii")
_INT64: Final = struct.Struct(">q")
_INT32: Final = struct.Struct(">i")
_CONTROL_KEY: Final = struct.Struct(">hh")

PREFIX_BYTES: Final = _PREFIX.size
V2_HEADER_BYTES: Final = _V2.size
V2_CRC_FROM: Final = 21
LEGACY_CRC_FROM: Final = 16
_MAGIC_AT: Final = 16
_SIZE_MIN: Final = {0: 14, 1: 22, 2: V2_HEADER_BYTES - PREFIX_BYTES}
V2_RECORD_BYTES_MIN: Final = 7
_INT32_MAX: Final = 0x7FFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrupt:
    """Bytes that are not what a broker writes in the middle of a log.

    `position` and `size` are in bytes of the buffer: the part not to be trusted. Kinds: `zero-padding` (a
    preallocated tail), `torn` (the entry is longer than what is left), `checksum`, `malformed`, `too-large`
    (over the caller's limit).
    """

    position: int
    size: int
    kind: Kind
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHeader:
    """One entry of a segment, from its header alone.

    `position` and `size` (prefix of 12 bytes included) are in bytes of the buffer. `base_offset` and `count` are None
    for a compressed wrapper of formats 0 and 1, where only decompression tells. `attributes` as on disk.
    """

    position: int
    size: int
    magic: int
    base_offset: int | None
    last_offset: int
    count: int | None
    crc: int
    attributes: int
    leader_epoch: int = -1
    base_timestamp_ms: int = NO_TIMESTAMP
    max_timestamp_ms: int = NO_TIMESTAMP
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1

    @property
    def end(self) -> int:
        """Position of the first byte after this entry."""
        return self.position + self.size

    @property
    def codec(self) -> int:
        return self.attributes & 7

    @property
    def timestamp_type(self) -> int:
        """`NO_TIMESTAMP` (format 0), `CREATE_TIME` or `LOG_APPEND_TIME`."""
        return NO_TIMESTAMP if self.magic == 0 else (self.attributes >> 3) & 1

    @property
    def is_transactional(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & 0x10)

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and bool(self.attributes & 0x20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One decoded entry: its header and its records as parallel columns.

    `corrupt` says why the records are not to be trusted; they are then those that could be read, perhaps none.
    """

    header: BatchHeader
    offsets: Sequence[int]
    timestamps_ms: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers]
    corrupt: Corrupt | None = None

    @property
    def valid(self) -> bool:
        return self.corrupt is None

    def control_types(self) -> list[int | None]:
        """Type of each control record (`CONTROL_…`, -1 if its key cannot be read); None for data."""
        if not self.header.is_control:
            return [None] * len(self.offsets)
        return [control_type(key) for key in self.keys]

    def sequences(self) -> list[int]:
        """Sequence of each record, -1 without one. Sequences wrap to 0 after 2^31 - 1."""
        base = self.header.base_sequence
        if base < 0 or self.header.is_control:
            return [-1] * len(self.offsets)
        first = self.header.base_offset or 0
        return [(base + (offset - first)) & _INT32_MAX for offset in self.offsets]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record with all that its batch says of it. `position` is that of its batch (wrapper) in the buffer."""

    offset: int
    position: int
    timestamp_ms: int
    timestamp_type: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    sequence: int
    transactional: bool
    control: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    codec: int
    magic: int
    valid: bool


def control_type(key: bytes | None) -> int:
    """The type in a control record's key, -1 if it has none."""
    return int(_CONTROL_KEY.unpack_from(key)[1]) if key is not None and len(key) >= _CONTROL_KEY.size else -1


# Headers


def scan_batches(buffer: Buffer, start: int = 0, end: int | None = None) -> Iterator[BatchHeader | Corrupt]:
    """The entries of `buffer[start:end]` by their headers: no checksums, nothing decompressed, no record looked at.

    Positions are relative to the buffer's beginning. At most one `Corrupt`, the last value: reading cannot
    go on after it.
    """
    view = memoryview(buffer)
    stop = len(view) if end is None else min(end, len(view))
    position = start
    while position < stop:
        found = header_at(view, position, stop)
        yield found
        if isinstance(found, Corrupt):
            return
        position = found.end


def header_at(view: memoryview, position: int, stop: int) -> BatchHeader | Corrupt:
    """The entry that begins at `position`; `stop` is where the bytes end."""
    left = stop - position
    if left <= _MAGIC_AT:
        return _zeros(view, position, stop) or _torn(position, left, f"{left} bytes, less than any header")
    offset, size = _PREFIX.unpack_from(view, position)
    magic = view[position + _MAGIC_AT]
    if size == 0 and offset == 0 and (zeros := _zeros(view, position, stop)):
        return zeros
    if magic not in _SIZE_MIN:
        return _malformed(position, left, f"message format {magic} (offset {offset}, size {size})")
    if size < _SIZE_MIN[magic] or offset < 0:
        return _malformed(position, left, f"impossible header: offset {offset}, size {size}, format {magic}")
    whole = size + PREFIX_BYTES
    if whole > left:
        return _torn(position, left, f"an entry of {whole} bytes at offset {offset}, of which {left} are there")
    if magic == 2:
        return _header_v2(view, position, left)
    _, _, crc, _, attributes = _LEGACY.unpack_from(view, position)
    timestamp = _INT64.unpack_from(view, position + 18)[0] if magic == 1 else NO_TIMESTAMP
    compressed = attributes & 7
    return BatchHeader(
        position=position,
        size=whole,
        magic=magic,
        base_offset=None if compressed else offset,
        last_offset=offset,
        count=None if compressed else 1,
        crc=crc,
        attributes=attributes & 0xFF,
        base_timestamp_ms=timestamp,
        max_timestamp_ms=timestamp,
    )


def _header_v2(view: memoryview, position: int, left: int) -> BatchHeader | Corrupt:
    (offset, size, epoch, magic, crc, attributes, delta, base_timestamp, max_timestamp, producer, producer_epoch,
     sequence, count) = _V2.unpack_from(view, position)  # fmt: skip
    if delta < 0 or count < 0 or count > delta + 1:
        reason = f"impossible header: offset {offset}, last offset delta {delta}, {count} records"
        return _malformed(position, left, reason)
    if offset + delta > 0x7FFFFFFFFFFFFFFF:
        return _malformed(position, left, f"impossible header: offset {offset} + {delta} passes the largest offset")
    return BatchHeader(
        position=position,
        size=size + PREFIX_BYTES,
        magic=magic,
        base_offset=offset,
        last_offset=offset + delta,
        count=count,
        crc=crc,
        attributes=attributes & 0xFFFF,
        leader_epoch=epoch,
        base_timestamp_ms=base_timestamp,
        max_timestamp_ms=max_timestamp,
        producer_id=producer,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
    )


def _zeros(view: memoryview, position: int, stop: int) -> Corrupt | None:
    step = 1 << 20
    for at in range(position, stop, step):
        piece = bytes(view[at : min(at + step, stop)])
        if piece.count(0) != len(piece):
            return None
    size = stop - position
    return Corrupt(position=position, size=size, kind="zero-padding", reason=f"{size} zero bytes up to the end")


def _torn(position: int, size: int, reason: str) -> Corrupt:
    return Corrupt(position=position, size=size, kind="torn", reason=reason)


def _malformed(position: int, size: int, reason: str) -> Corrupt:
    return Corrupt(position=position, size=size, kind="malformed", reason=reason)


# Records


class _Rows:
    """Columns being filled; what is in them when decoding fails is what could be read."""

    __slots__ = ("headers", "keys", "offsets", "timestamps", "values")

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.timestamps: list[int] = []
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.headers: list[Headers] = []


def checksum_matches(buffer: Buffer, header: BatchHeader) -> bool:
    """Whether the entry's own checksum matches its bytes (of a wrapper: the wrapper's)."""
    return _computed_crc(memoryview(buffer), header) == header.crc


def _computed_crc(view: memoryview, header: BatchHeader) -> int:
    if header.magic == 2:
        return crc32c(view[header.position + V2_CRC_FROM : header.end])
    return crc32(view[header.position + LEGACY_CRC_FROM : header.end])


def decode_batch(buffer: Buffer, header: BatchHeader, *, limit_bytes: int = codecs.DEFAULT_LIMIT_BYTES) -> Batch:
    """Verify and decode one entry found by `scan_batches` in the same buffer. Never raises on what the bytes hold."""
    view = memoryview(buffer)
    rows = _Rows()
    problem: Corrupt | None = None
    computed = _computed_crc(view, header)
    if computed != header.crc:
        problem = _of(header, "checksum", f"checksum {header.crc:#010x}, computed {computed:#010x}")
    try:
        if header.magic == 2:
            _decode_v2(view, header, rows, limit_bytes)
        else:
            _decode_legacy(view, header, rows, limit_bytes)
    except TooLarge as error:
        problem = problem or _of(header, "too-large", str(error))
    except Malformed as error:
        problem = problem or _of(header, "malformed", str(error))
    return Batch(
        header=header,
        offsets=rows.offsets,
        timestamps_ms=rows.timestamps,
        keys=rows.keys,
        values=rows.values,
        headers=rows.headers,
        corrupt=problem,
    )


def _of(header: BatchHeader, kind: Kind, reason: str) -> Corrupt:
    where = f"offset {header.last_offset}" if header.base_offset is None else f"offset {header.base_offset}"
    return Corrupt(position=header.position, size=header.size, kind=kind, reason=f"{where}: {reason}")


def batches(
    buffer: Buffer, start: int = 0, end: int | None = None, *, limit_bytes: int = codecs.DEFAULT_LIMIT_BYTES
) -> Iterator[Batch | Corrupt]:
    """Every entry verified and decoded; a `Corrupt` only where the entries end too early (see `Batch.corrupt`)."""
    for found in scan_batches(buffer, start, end):
        yield found if isinstance(found, Corrupt) else decode_batch(buffer, found, limit_bytes=limit_bytes)


def records(
    buffer: Buffer, start: int = 0, end: int | None = None, *, limit_bytes: int = codecs.DEFAULT_LIMIT_BYTES
) -> Iterator[Record | Corrupt]:
    """Every record. A `Corrupt` stands before the records of each batch that is not to be trusted; their `valid` is
    False.
    """
    for batch in batches(buffer, start, end, limit_bytes=limit_bytes):
        if isinstance(batch, Corrupt):
            yield batch
            continue
        if batch.corrupt is not None:
            yield batch.corrupt
        header = batch.header
        columns = zip(
            batch.offsets, batch.timestamps_ms, batch.keys, batch.values, batch.headers, batch.sequences(),
            batch.control_types(), strict=True,
        )  # fmt: skip
        for offset, timestamp, key, value, headers, sequence, control in columns:
            yield Record(
                offset=offset,
                position=header.position,
                timestamp_ms=timestamp,
                timestamp_type=header.timestamp_type,
                leader_epoch=header.leader_epoch,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                sequence=sequence,
                transactional=header.is_transactional,
                control=control,
                key=key,
                value=value,
                headers=headers,
                codec=header.codec,
                magic=header.magic,
                valid=batch.valid,
            )


# Formats 0 and 1


def _decode_legacy(view: memoryview, header: BatchHeader, rows: _Rows, limit: int) -> None:
    key, value = _legacy_key_value(view, header.position, header.end, header.magic)
    if not header.codec:
        _append(rows, header.last_offset, header.base_timestamp_ms, key, value)
        return
    if value is None:
        raise Malformed("a compressed message without a value")
    inner = memoryview(codecs.decompress(header.codec, value, magic=header.magic, limit_bytes=limit))
    entries = []
    for found in scan_batches(inner):
        if isinstance(found, Corrupt):
            raise Malformed(f"inside the compressed message: {found.reason}")
        if found.magic != header.magic:
            raise Malformed(f"a message of format {found.magic} inside one of format {header.magic}")
        if found.codec:
            raise Malformed("a compressed message inside a compressed one")
        entries.append(found)
    if not entries:
        raise Malformed("a compressed message with nothing in it")
    shift = 0
    if header.magic == 1 and header.last_offset != 0:  # 0: left so by some clients, then the offsets are as they stand
        shift = header.last_offset - entries[-1].last_offset
        if shift < 0:
            raise Malformed(f"wrapper at offset {header.last_offset}, last inner message at {entries[-1].last_offset}")
    appended = header.max_timestamp_ms if header.timestamp_type == LOG_APPEND_TIME else None
    for entry in entries:
        computed = _computed_crc(inner, entry)
        if computed != entry.crc:
            raise Malformed(f"inner message {entry.last_offset}: checksum {entry.crc:#010x}, computed {computed:#010x}")
        key, value = _legacy_key_value(inner, entry.position, entry.end, entry.magic)
        timestamp = entry.base_timestamp_ms if appended is None else appended
        _append(rows, entry.last_offset + shift, timestamp, key, value)


def _append(rows: _Rows, offset: int, timestamp: int, key: bytes | None, value: bytes | None) -> None:
    rows.offsets.append(offset)
    rows.timestamps.append(timestamp)
    rows.keys.append(key)
    rows.values.append(value)
    rows.headers.append(())


def _legacy_key_value(view: memoryview, start: int, end: int, magic: int) -> tuple[bytes | None, bytes | None]:
    position = start + (26 if magic == 1 else 18)
    fields: list[bytes | None] = []
    for field in ("key", "value"):
        if position + 4 > end:
            raise Malformed(f"no room for the {field}'s length")
        length = _INT32.unpack_from(view, position)[0]
        position += 4
        if length < -1 or position + length > end:
            raise Malformed(f"a {field} of {length} bytes where {end - position} are left")
        fields.append(None if length < 0 else bytes(view[position : position + length]))
        position += max(length, 0)
    if position != end:
        raise Malformed(f"{end - position} bytes after the value")
    return fields[0], fields[1]


# Format 2


def batch_body(view: memoryview, header: BatchHeader, limit: int) -> bytes:
    """The records of a format 2 batch, decompressed. Raises `Malformed`, `TooLarge`."""
    body = bytes(view[header.position + V2_HEADER_BYTES : header.end])
    body = codecs.decompress(header.codec, body, magic=2, limit_bytes=limit)
    count = header.count or 0
    if count * V2_RECORD_BYTES_MIN > len(body):
        raise Malformed(f"{count} records announced in {len(body)} bytes")
    return body


def _decode_v2(view: memoryview, header: BatchHeader, rows: _Rows, limit: int) -> None:
    body = batch_body(view, header, limit)
    appended = header.max_timestamp_ms if header.timestamp_type == LOG_APPEND_TIME else None
    try:
        end = _decode_v2_records(body, header, rows, appended)
    except IndexError:
        raise Malformed(f"record {len(rows.headers)} is cut by the batch's end") from None
    if end != len(body):
        raise Malformed(f"{len(body) - end} bytes after the last record")


def _decode_v2_records(body: bytes, header: BatchHeader, rows: _Rows, appended: int | None) -> int:
    """Fill `rows`; returns the position after the last record. IndexError: the body is too short.

    One-byte varints, nearly all of them in practice, are decoded in line.
    """
    base_offset = header.base_offset or 0
    delta_max = header.last_offset - base_offset
    base_timestamp = header.base_timestamp_ms
    before = -1
    position = 0
    size = len(body)
    for index in range(header.count or 0):
        length, position = _varint(body, position)
        end = position + length
        if length < 0 or end > size:
            raise Malformed(f"record {index} of {length} bytes where {size - position} are left")
        position += 1  # attributes, unused so far
        byte = body[position]
        if byte < 0x80:
            position += 1
            timestamp = (byte >> 1) ^ -(byte & 1)
        else:
            timestamp, position = _varlong(body, position)
        delta, position = _varint(body, position)
        if not before < delta <= delta_max:
            raise Malformed(f"record {index} has offset delta {delta} after {before}, the batch's last is {delta_max}")
        before = delta
        key, position = _bytes(body, position, end, "key")
        value, position = _bytes(body, position, end, "value")
        headers: Headers = ()
        if body[position] == 0:
            position += 1
        else:
            headers, position = _headers(body, position, end)
        if position != end:
            raise Malformed(f"record {index} of {length} bytes whose fields take {length + position - end}")
        rows.offsets.append(base_offset + delta)
        rows.timestamps.append(_int64(base_timestamp + timestamp) if appended is None else appended)
        rows.keys.append(key)
        rows.values.append(value)
        rows.headers.append(headers)
    return position


def _int64(value: int) -> int:
    if -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return value
    raise Malformed("a timestamp beyond 64 bits")


def _bytes(body: bytes, position: int, end: int, field: str) -> tuple[bytes | None, int]:
    length, position = _varint(body, position)
    if length < 0:
        if length == -1:
            return None, position
        raise Malformed(f"a {field} of {length} bytes")
    stop = position + length
    if stop > end:
        raise Malformed(f"a {field} of {length} bytes where {end - position} are left")
    return body[position:stop], stop


def _headers(body: bytes, position: int, end: int) -> tuple[Headers, int]:
    count, position = _varint(body, position)
    if count < 0 or 2 * count > end - position:
        raise Malformed(f"{count} headers in {end - position} bytes")
    headers: list[tuple[bytes, bytes | None]] = []
    for _ in range(count):
        key, position = _bytes(body, position, end, "header's key")
        if key is None:
            raise Malformed("a header without a key")
        value, position = _bytes(body, position, end, "header's value")
        headers.append((key, value))
    return tuple(headers), position


def _varint(body: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint of 32 bits and the position after it."""
    byte = body[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        position += 1
        byte = body[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                break
            return (value >> 1) ^ -(value & 1), position + 1
    raise Malformed("a varint of more than 32 bits")


def _varlong(body: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint of 64 bits and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = body[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFFFFFFFFFF:
                break
            return (value >> 1) ^ -(value & 1), position
    raise Malformed("a varint of more than 64 bits")
