"""What is taken down of copies while they are read: plain records as bits, odd ones as they are, the rest refused."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.copied_records import CopiedRecords
from checks.view import NO_IDENTITY, pack
from evidence.history import record
from tests.unit.kafkafiles.encode import GZIP, LZ4, NONE, SNAPPY, ZSTD, R, batch, message

BROKER = 2
SENT = 6


def value(sequence: int) -> R:
    return R(value=record.encode(1, 1, sequence))


def _of_codec_7(entry: bytes) -> bytes:
    """An entry that says to be packed by a codec that does not exist."""
    return entry[:22] + bytes([entry[22] | 7]) + entry[23:]


def taken(*entries: bytes) -> CopiedRecords:
    """What is taken down of one copy of a log of which SENT records are known, each sequence at its own offset."""
    witnesses = CopiedRecords(np.array([pack(1, sequence) for sequence in range(SENT)], np.int64), 0)
    witnesses([BROKER], np.frombuffer(bytearray(b"".join(entries)), np.uint8))
    return witnesses


def odd(witnesses: CopiedRecords) -> list[tuple[int, int]]:
    """Values and offsets that are taken down as they are."""
    values, offsets = witnesses.part(BROKER, np.zeros(SENT, np.uint8))
    return list(zip(values.tolist(), offsets.tolist(), strict=True))


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_records_of_any_codec_are_held_against_the_table(codec: int) -> None:
    several = batch(1, [value(1), value(2), value(5), R(value=b"someone else's")], codec=codec)
    witnesses = taken(batch(0, [value(0)]), several, batch(5, [value(5)]))
    assert not witnesses.refused
    assert witnesses.seen.tolist() == [1, 1, 1, 0, 0, 1]
    assert odd(witnesses) == [(pack(1, 5), 3), (NO_IDENTITY, 4)]


@pytest.mark.parametrize(
    "entry",
    [
        batch(1, [value(1)], codec=GZIP)[:-4] + b"????",
        batch(1, [value(1)], codec=GZIP, count=2, last_delta=1),
        batch(1, [value(1), value(2)], codec=ZSTD, count=1),
        _of_codec_7(batch(1, [value(1)])),
        batch(1, [R(value=b"v", headers=((b"a", b"b"),))], codec=GZIP),
        batch(1, [R(key=b"\\0\\0\\0\\1")], codec=GZIP, control=True),
        message(1, value(1), magic=1),
    ],
    ids=["damaged", "too few records", "too many records", "unknown codec", "headers", "control", "old format"],
)
def test_a_copy_with_anything_else_is_refused(entry: bytes) -> None:
    assert taken(batch(0, [value(0)]), entry, batch(2, [value(2)])).refused == {BROKER}
