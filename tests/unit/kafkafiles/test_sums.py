"""Checksums in compiled loops are those of the libraries."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import google_crc32c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles import kernels, sums
from kafkafiles.columns import scan_columns
from tests.unit.kafkafiles.encode import R, batch, message


@given(data=st.binary(max_size=200), begin=st.integers(0, 40))
def test_the_libraries_agree(data, begin):
    array = np.frombuffer(data, dtype=np.uint8)
    begin = min(begin, len(data))
    assert sums.crc32(array, begin, len(data)) == zlib.crc32(data[begin:])
    expected = google_crc32c.value(data[begin:])
    assert sums.crc32c(array, begin, len(data)) == expected
    assert sums.crc32c_by_tables(array, begin, len(data)) == expected


@pytest.mark.parametrize("size", [3071, 3072, 3073, 6143, 6144, 9999])
@pytest.mark.parametrize("begin", [0, 1, 7])
def test_lanes_of_long_pieces(size, begin):
    data = np.random.default_rng(size).integers(0, 256, begin + size).astype(np.uint8)
    for changed in (0, begin, begin + 1024, begin + 2048, begin + size - 1):
        data[changed] ^= 0x10
        expected = google_crc32c.value(data[begin:].tobytes())
        assert sums.crc32c(data, begin, len(data)) == sums.crc32c_by_tables(data, begin, len(data)) == expected


def test_entries_of_every_format():
    log = batch(0, [R()]) + batch(1, [R()], crc=1) + message(2, R(), magic=1) + message(3, R(), magic=0, crc=1)
    headers, _ = scan_columns(log)
    assert kernels.checksums_match(np.frombuffer(log, dtype=np.uint8), headers).tolist() == [True, False, True, False]


@given(size=st.integers(0, 9000), at=st.integers(0, 9000), change=st.integers(1, 255))
def test_where_two_blocks_part(size, at, change):
    one = np.arange(size, dtype=np.int64).astype(np.uint8)
    other = one.copy()
    assert kernels.equal_bytes(one, other) == size
    if at < size:
        other[at] ^= change
        assert kernels.equal_bytes(one, other) == at


def alike(logs: list[bytes], positions: list[int], size: int, tmp_path: Path, scratch: int = 8192) -> bytes:
    """What `read_alike` finds in common of logs, each from its position."""
    descriptors = []
    for number, log in enumerate(logs):
        (tmp_path / str(number)).write_bytes(log)
        descriptors.append(os.open(tmp_path / str(number), os.O_RDONLY))
    into = np.zeros(size, np.uint8)
    try:
        given = np.array(descriptors, np.int32), np.array(positions, np.int64)
        count = kernels.read_alike(*given, size, into, np.zeros(scratch, np.uint8))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return into[:count].tobytes()


LOG = bytes(range(251)) * 200


@pytest.mark.parametrize("place", [0, 1, 4095, 4096, 4097, 12287, 12288, 20000, 49999])
@pytest.mark.parametrize("of", [0, 1, 2])
def test_files_are_read_up_to_where_one_differs(place, of, tmp_path):
    logs = [b"before" + LOG, LOG, b"x" + LOG]
    positions = [6, 0, 1]
    at = positions[of] + place
    logs[of] = logs[of][:at] + bytes([logs[of][at] ^ 1]) + logs[of][at + 1 :]
    assert alike(logs, positions, 50_000, tmp_path) == LOG[:place]


@pytest.mark.parametrize("cut", [0, 4096, 12288, 30001])
def test_files_are_read_up_to_where_one_ends(cut, tmp_path):
    assert alike([LOG, LOG[:cut]], [0, 0], 50_000, tmp_path) == LOG[:cut]


def test_files_that_agree_are_read_as_far_as_asked(tmp_path):
    assert alike([LOG, LOG, LOG], [0, 0, 0], 33_333, tmp_path) == LOG[:33_333]
    assert alike([LOG], [100], 33_333, tmp_path) == LOG[100:33_433]


def test_what_cannot_be_read_has_nothing_in_common(tmp_path):
    closed = np.array([os.open(tmp_path, os.O_RDONLY)], np.int32)
    assert kernels.read_alike(closed, np.zeros(1, np.int64), 100, np.zeros(100, np.uint8), np.zeros(9, np.uint8)) == 0
    os.close(int(closed[0]))
