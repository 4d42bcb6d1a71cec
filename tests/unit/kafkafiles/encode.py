"""Writes Kafka's bytes by hand: the tests' own encoder, kept apart from the decoder it checks."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import google_crc32c
import pyarrow as pa

from kafkafiles.codecs import xxh32

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class R:
    """A record to be written."""

    key: bytes | None = None
    value: bytes | None = b"v"
    timestamp: int = 1_000
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    delta: int | None = None  # offset delta, its index if None


def varint(value: int) -> bytes:
    return uvarint((value << 1) ^ (value >> 63))


def uvarint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def record(index: int, r: R, base_timestamp: int) -> bytes:
    delta = index if r.delta is None else r.delta
    body = b"\x00" + varint(r.timestamp - base_timestamp) + varint(delta) + _bytes(r.key) + _bytes(r.value)
    body += varint(len(r.headers)) + b"".join(_bytes(k) + _bytes(v) for k, v in r.headers)
    return varint(len(body)) + body


def batch(
    base_offset: int,
    rs: Sequence[R],
    *,
    epoch: int = 0,
    codec: int = NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
    control: bool = False,
    append_time: int | None = None,
    delete_horizon: int | None = None,
    framing: str = "xerial",
    count: int | None = None,
    last_delta: int | None = None,
    crc: int | None = None,
) -> bytes:
    """A record batch, format 2."""
    base = delete_horizon if delete_horizon is not None else (rs[0].timestamp if rs else -1)
    body = b"".join(record(i, r, base) for i, r in enumerate(rs))
    if codec:
        body = compress(codec, body, framing=framing)
    attributes = codec | (append_time is not None) << 3 | transactional << 4 | control << 5
    attributes |= (delete_horizon is not None) << 6
    deltas = [i if r.delta is None else r.delta for i, r in enumerate(rs)]
    last = last_delta if last_delta is not None else (deltas[-1] if deltas else 0)
    latest = append_time if append_time is not None else max((r.timestamp for r in rs), default=-1)
    checked = (
        struct.pack(">hiqqqhii", attributes, last, base, latest, *producer, len(rs) if count is None else count) + body
    )
    crc = google_crc32c.value(checked) if crc is None else crc
    rest = struct.pack(">ibI", epoch, 2, crc) + checked
    return struct.pack(">qi", base_offset, len(rest)) + rest


def message(
    offset: int,
    r: R,
    *,
    magic: int,
    attributes: int = 0,
    crc: int | None = None,
) -> bytes:
    """One message set entry, format 0 or 1."""
    stamp = struct.pack(">q", r.timestamp) if magic == 1 else b""
    checked = struct.pack(">bb", magic, attributes) + stamp
    for part in (r.key, r.value):
        checked += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    crc = zlib.crc32(checked) if crc is None else crc
    return struct.pack(">qiI", offset, len(checked) + 4, crc) + checked


def wrapper(
    base_offset: int,
    rs: Sequence[R],
    *,
    magic: int,
    codec: int,
    framing: str = "xerial",
    append_time: int | None = None,
    offset: int | None = None,
) -> bytes:
    """A compressed message of format 0 (absolute inner offsets) or 1 (relative)."""
    first = base_offset if magic == 0 else 0
    inner = b"".join(message(first + i, r, magic=magic) for i, r in enumerate(rs))
    stamp = append_time if append_time is not None else max((r.timestamp for r in rs), default=-1)
    outer = R(value=compress(codec, inner, framing=framing, odd=magic == 0), timestamp=stamp)
    attributes = codec | (append_time is not None) << 3
    at = base_offset + len(rs) - 1 if offset is None else offset
    return message(at, outer, magic=magic, attributes=attributes)


def compress(codec: int, data: bytes, *, framing: str = "xerial", odd: bool = False) -> bytes:
    if codec == GZIP:
        return gzip.compress(data)
    if codec == SNAPPY:
        block = 32 * 1024
        if framing == "raw":
            return bytes(pa.Codec("snappy").compress(data, asbytes=True))
        out = XERIAL
        for at in range(0, len(data), block):
            piece = pa.Codec("snappy").compress(data[at : at + block], asbytes=True)
            out += struct.pack(">i", len(piece)) + piece
        return out
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, {LZ4: "lz4", ZSTD: "zstd"}[codec]) as stream:
        stream.write(data)
    frame = bytes(sink.getvalue())
    return odd_lz4(frame) if codec == LZ4 and odd else frame


def odd_lz4(frame: bytes) -> bytes:
    """The frame as Kafka up to 0.9 writes it: the descriptor's checksum covers the magic number too."""
    end = 6 + (8 if frame[4] & 8 else 0)
    return frame[:end] + bytes(((xxh32(frame[:end]) >> 8) & 0xFF,)) + frame[end + 1 :]


def control_key(kind: int, version: int = 0) -> bytes:
    return struct.pack(">hh", version, kind)


# --- KRaft ---


def compact_string(text: str | None) -> bytes:
    return uvarint(0) if text is None else uvarint(len(text.encode()) + 1) + text.encode()


def compact_ints(values: Sequence[int] | None) -> bytes:
    if values is None:
        return uvarint(0)
    return uvarint(len(values) + 1) + struct.pack(f">{len(values)}i", *values)


def tags(**fields: bytes) -> bytes:
    """Tagged fields, `t3=…` for tag 3, in ascending order."""
    numbered = sorted((int(name[1:]), value) for name, value in fields.items())
    return uvarint(len(numbered)) + b"".join(uvarint(tag) + uvarint(len(value)) + value for tag, value in numbered)


def frame(key: int, version: int, body: bytes) -> bytes:
    return uvarint(1) + uvarint(key) + uvarint(version) + body
