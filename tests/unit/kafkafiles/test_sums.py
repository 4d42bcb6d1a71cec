"""Checksums in compiled loops are those of the libraries."""

from __future__ import annotations

import zlib

import google_crc32c
import numpy as np
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
