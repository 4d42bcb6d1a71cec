"""The two checksums Kafka puts on records: CRC-32 (formats 0 and 1) and CRC-32C, Castagnoli (format 2)."""

from __future__ import annotations

import zlib

import google_crc32c


def crc32(data: bytes | memoryview) -> int:
    """CRC-32 as zlib computes it, of formats 0 and 1."""
    return zlib.crc32(data)


def crc32c(data: bytes | memoryview) -> int:
    """CRC-32C, of format 2. In hardware; a memoryview costs one copy, since the library takes bytes only."""
    value: int = google_crc32c.value(data if isinstance(data, bytes) else bytes(data))
    return value
