"""A compressed batch as a producer makes it, byte by byte, in any message format.

Client libraries compress by themselves and tell nobody what they sent. Whoever asks whether brokers keep the bytes of a
producer's batch needs a producer that knows its bytes. Records have a value and a timestamp, and neither key nor
headers.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence

from kafkafiles.batches import NO_TIMESTAMP
from kafkafiles.crc import crc32, crc32c

GZIP = 1
NONE = -1
"""No producer id, epoch or sequence; no key."""


def gzip_batch(values: Sequence[bytes], timestamps_ms: Sequence[int], *, magic: int) -> bytes:
    """These records as one batch in message format 0, 1 or 2, compressed with gzip, with offsets from 0 on.

    A format 0 batch has no timestamps. Raises ValueError for no records, and for another format.

    >>> from kafkafiles.batches import records
    >>> [(one.offset, one.value, one.timestamp_ms) for one in records(gzip_batch([b"a", b"b"], [7, 9], magic=2))]
    [(0, b'a', 7), (1, b'b', 9)]
    """
    if not values:
        raise ValueError("a batch has at least one record")
    if magic == 2:
        return _batch(values, timestamps_ms)
    if magic not in (0, 1):
        raise ValueError(f"message format {magic}; there are 0, 1 and 2")
    stamps = timestamps_ms if magic else [NO_TIMESTAMP] * len(values)
    pairs = enumerate(zip(values, stamps, strict=True))
    inner = b"".join(_message(offset, value, stamp, magic=magic) for offset, (value, stamp) in pairs)
    # KIP-31: the wrapper has the last offset, KIP-32: and the largest timestamp.
    return _message(len(values) - 1, _compressed(inner), max(stamps), magic=magic, attributes=GZIP)


def _compressed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _message(offset: int, value: bytes, timestamp_ms: int, *, magic: int, attributes: int = 0) -> bytes:
    stamp = struct.pack(">q", timestamp_ms) if magic else b""
    checked = struct.pack(">bb", magic, attributes) + stamp + struct.pack(">ii", NONE, len(value)) + value
    return struct.pack(">qiI", offset, len(checked) + 4, crc32(checked)) + checked


def _batch(values: Sequence[bytes], timestamps_ms: Sequence[int]) -> bytes:
    first, last = timestamps_ms[0], len(values) - 1
    pairs = enumerate(zip(values, timestamps_ms, strict=True))
    body = _compressed(b"".join(_record(delta, value, stamp - first) for delta, (value, stamp) in pairs))
    fields = struct.pack(">hiqqqhii", GZIP, last, first, max(timestamps_ms), NONE, NONE, NONE, len(values))
    rest = struct.pack(">ibI", NONE, 2, crc32c(fields + body)) + fields + body
    return struct.pack(">qi", 0, len(rest)) + rest


def _record(offset_delta: int, value: bytes, timestamp_delta: int) -> bytes:
    body = b"\x00" + _varint(timestamp_delta) + _varint(offset_delta) + _varint(NONE) + _varint(len(value)) + value
    body += _varint(0)
    return _varint(len(body)) + body


def _varint(value: int) -> bytes:
    rest, coded = (value << 1) ^ (value >> 63), bytearray()
    while rest >= 0x80:
        coded.append(rest & 0x7F | 0x80)
        rest >>= 7
    coded.append(rest)
    return bytes(coded)
