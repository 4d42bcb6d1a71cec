"""The identity that every record carries in its own bytes.

    offset  0  4 bytes  "KCH1"
            4  u32      the run (CRC-32 of its name)
            8  i32      producer
           12  i64      sequence
           20  …        payload
      last  4  u32      CRC-32C of everything before it, little-endian; the rest is big-endian

With this a record found in any replica's segment, or read by any consumer, can be told without the history, and a
damaged one is known for what it is.

The checksum stands last because a CRC over data and its own CRC is a constant: to check a record is one call over the
whole value and one comparison. It is CRC-32C because that is computed in hardware. And because a CRC is linear, the
checksums of many records that differ in nothing but the sequence need no pass over their payloads: each is the
checksum of sequence 0 exclusive-or one table entry for each byte of the sequence (`Encoder`).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt

HEADER: Final = struct.Struct(">4sIiq")
CHECKSUM: Final = struct.Struct("<I")
MAGIC: Final = b"KCH1"
MINIMUM_BYTES: Final = HEADER.size + CHECKSUM.size
SEQUENCE_AT: Final = 12
SEQUENCE_LIMIT: Final = 1 << 40
"""Sequences are below this: the analysis packs producer and sequence into one integer."""
RESIDUE: Final = 0x48674BC7
"""CRC-32C of any data followed by its own CRC-32C."""

_HEAD: Final = np.dtype([("magic", ">u4"), ("run", ">u4"), ("producer", ">i4"), ("sequence", ">i8")])
_MAGIC_WORD: Final = int.from_bytes(MAGIC, "big")
_NOTHING: Final = bytes(MINIMUM_BYTES)
_JOINED_BYTES: Final = 256
"""Up to this size it is quicker to copy whole values together than to cut the headers out of them."""
_SEQUENCE_BYTES: Final = 5
_CHUNK_ROWS: Final = 16
_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Identity:
    """Who wrote a record: the run's hash, the producer, its sequence."""

    run: int
    producer: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Identities:
    """The identities of many records, in columns. Where `valid` is false the run is 0, producer and sequence are -1."""

    run: npt.NDArray[np.uint32]
    producer: npt.NDArray[np.int32]
    sequence: npt.NDArray[np.int64]
    valid: npt.NDArray[np.bool_]


def run_hash(run: str) -> int:
    """The 32-bit number that stands for a run's name."""
    return zlib.crc32(run.encode())


def encode(run: int, producer: int, sequence: int, payload: bytes = b"") -> bytes:
    """The value of a record."""
    body = HEADER.pack(MAGIC, run, producer, sequence) + payload
    return body + CHECKSUM.pack(google_crc32c.value(body))


class Encoder:
    """Encodes the records of one producer, all with the same payload, sequence after sequence.

    It makes them a chunk ahead, chunks being whole multiples of 256 sequences: within one, the checksum is that of the
    higher bytes of the sequence exclusive-or that of its lowest byte, an outer product of two short tables. That is
    about 50 ns a record of 100 bytes where `encode` needs 700.
    """

    def __init__(self, run: int, producer: int, payload: bytes) -> None:
        zero = encode(run, producer, 0, payload)
        rows = max(1, min(_CHUNK_BYTES // len(zero) // 256, _CHUNK_ROWS))
        self._chunk = 256 * rows
        self._records = np.empty((self._chunk, len(zero)), np.uint8)
        self._records[:] = np.frombuffer(zero, np.uint8)
        self._whole_value = np.dtype(f"V{len(zero)}")
        body = bytearray(zero[: -CHECKSUM.size])
        self._zero_checksum = google_crc32c.value(bytes(body))
        self._tables = np.empty((_SEQUENCE_BYTES, 256), np.uint32)
        for place in range(_SEQUENCE_BYTES):
            for byte in range(256):
                body[SEQUENCE_AT + 7 - place] = byte
                self._tables[place, byte] = google_crc32c.value(bytes(body)) ^ self._zero_checksum
            body[SEQUENCE_AT + 7 - place] = 0
        self._base = -1
        self._ready: list[bytes] = []

    def block(self, first: int, count: int) -> list[bytes]:
        """The values of the records with sequences [first, first + count).

        Raises ValueError if one of them is beyond SEQUENCE_LIMIT.
        """
        if not 0 <= first <= SEQUENCE_LIMIT - count:
            raise ValueError(f"sequences [{first}, {first + count}) are not all within [0, 2^40)")
        values: list[bytes] = []
        while len(values) < count:
            at = first + len(values)
            base = at - at % self._chunk
            if base != self._base:
                self._make(base)
            begin = at - base
            values += self._ready[begin : begin + count - len(values)]
        return values

    def _make(self, base: int) -> None:
        rows = np.arange(base, base + self._chunk, 256, dtype=np.int64)
        high = np.full(len(rows), self._zero_checksum, np.uint32)
        for place in range(1, _SEQUENCE_BYTES):
            high ^= self._tables[place, (rows >> (8 * place)) & 0xFF]
        checksums = (high[:, None] ^ self._tables[0][None, :]).ravel()
        sequences = np.arange(base, base + self._chunk, dtype=">i8")
        self._records[:, SEQUENCE_AT : SEQUENCE_AT + 8] = sequences.view(np.uint8).reshape(-1, 8)
        self._records[:, -CHECKSUM.size :] = checksums.astype("<u4").view(np.uint8).reshape(-1, CHECKSUM.size)
        self._ready = self._records.view(self._whole_value).ravel().tolist()
        self._base = base


def decode(value: bytes | memoryview | None) -> Identity | None:
    """The identity in a record's value; None if it is not ours or its checksum is wrong."""
    if value is None or len(value) < MINIMUM_BYTES:
        return None
    magic, run, producer, sequence = HEADER.unpack_from(value)
    if magic != MAGIC or google_crc32c.value(value if isinstance(value, bytes) else bytes(value)) != RESIDUE:
        return None
    return Identity(run, producer, sequence)


def decode_all(values: Sequence[bytes | None]) -> Identities:
    """The identities in many values at once: about 400 ns a record of 100 bytes.

    From an Arrow column of binaries: `decode_all(column.to_numpy(zero_copy_only=False).tolist())`.
    """
    whole: Sequence[bytes] = values  # type: ignore[assignment]
    try:
        sizes = set(map(len, whole))
    except TypeError:
        sizes = {0}
    if min(sizes, default=MINIMUM_BYTES) < MINIMUM_BYTES:
        # Those that cannot be ours give way to something that is long enough and not ours either.
        whole = [value if value is not None and len(value) >= MINIMUM_BYTES else _NOTHING for value in values]
        sizes = set(map(len, whole))
    if len(sizes) == 1 and (size := sizes.pop()) <= _JOINED_BYTES:
        rows = np.frombuffer(b"".join(whole), np.uint8).reshape(len(whole), size)
        heads = np.ascontiguousarray(rows[:, : HEADER.size]).view(_HEAD).ravel()
    else:
        heads = np.frombuffer(b"".join([value[: HEADER.size] for value in whole]), _HEAD)
    checksums = np.fromiter(map(google_crc32c.value, whole), np.uint32, len(whole))
    valid = (checksums == RESIDUE) & (heads["magic"] == _MAGIC_WORD)
    if valid.all():
        return Identities(
            run=heads["run"].astype(np.uint32),
            producer=heads["producer"].astype(np.int32),
            sequence=heads["sequence"].astype(np.int64),
            valid=valid,
        )
    return Identities(
        run=np.where(valid, heads["run"], 0).astype(np.uint32),
        producer=np.where(valid, heads["producer"], -1).astype(np.int32),
        sequence=np.where(valid, heads["sequence"], -1).astype(np.int64),
        valid=valid,
    )
