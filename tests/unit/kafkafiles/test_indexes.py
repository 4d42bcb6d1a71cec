from __future__ import annotations

import struct
from pathlib import Path

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles import indexes as i
from kafkafiles.columns import HeaderArray, scan_columns
from kafkafiles.errors import ParseError
from kafkafiles.index_checks import check_index, check_time_index
from tests.unit.kafkafiles.encode import R, batch, wrapper

LOG = batch(10, [R(timestamp=5)] * 3) + batch(13, [R(timestamp=9)]) + batch(14, [R(timestamp=7)])
ONE = len(batch(10, [R(timestamp=5)] * 3))
TWO = ONE + len(batch(13, [R(timestamp=9)]))


def index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def time_index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


def heads(log: bytes) -> HeaderArray:
    return scan_columns(log)[0]


def test_offset_index_with_and_without_padding():
    data = index((3, 100), (256, 0x10000))
    for padding in (b"", bytes(80), bytes(8000)):
        found = i.parse_index(data + padding, 1000)
        assert [(each.offset, each.position) for each in found] == [(1003, 100), (1256, 0x10000)]
    assert i.parse_index(bytes(800), 0) == []


def test_a_wrong_offset_index():
    with pytest.raises(ParseError, match="x: 9 bytes, not a multiple of 8"):
        i.parse_index(index((3, 100)) + b"x", 0, "x")
    with pytest.raises(ParseError, match="offset 3 at 200 after 3 at 100"):
        i.parse_index(index((3, 100), (3, 200)), 0)
    with pytest.raises(ParseError, match="after"):
        i.parse_index(index((3, 100), (4, 100)), 0)


def test_an_open_index_may_hold_entries_that_no_longer_count():
    """When a log is truncated its broker forgets entries, but leaves them in the file."""
    stale = index((3, 100), (9, 300), (5, 200))
    assert i.is_open(stale + bytes(80))
    assert not i.is_open(stale)
    assert [each.offset for each in i.parse_index(stale + bytes(80), 0)] == [3, 9]
    times = time_index((50, 3), (90, 9), (60, 5)) + bytes(24)
    assert [each.offset for each in i.parse_time_index(times, 0)] == [3, 9]


def test_time_index():
    found = i.parse_time_index(time_index((50, 0), (60, 256)) + bytes(24), 7)
    assert [(each.timestamp_ms, each.offset) for each in found] == [(50, 7), (60, 263)]
    with pytest.raises(ParseError, match="40 ms at offset 264 after 60 ms at 263"):
        i.parse_time_index(time_index((60, 256), (40, 257)), 7)


def test_an_index_is_checked_against_the_log():
    assert check_index(i.parse_index(index((13, ONE), (14, TWO)), 0), heads(LOG)) == []
    # The last offset of an append, then the first of one.
    assert check_index(i.parse_index(index((2, 0), (3, ONE)), 10), heads(LOG)) == []
    assert check_index(i.parse_index(index((13, ONE + 1)), 0), heads(LOG)) == [
        f"offset 13: no batch begins at byte {ONE + 1}"
    ]
    assert "a later batch begins" in check_index(i.parse_index(index((12, ONE)), 0), heads(LOG))[0]
    assert check_index(i.parse_index(index((15, TWO)), 0), heads(LOG)) == ["offset 15: the log ends at offset 14"]
    assert check_index(i.parse_index(index((1, 5)), 0), heads(b"")) == ["offset 1: no batch begins at byte 5"]


def test_an_index_into_compressed_messages():
    log = wrapper(0, [R()] * 5, magic=1, codec=1) + wrapper(5, [R()] * 5, magic=1, codec=1)
    second = len(wrapper(0, [R()] * 5, magic=1, codec=1))
    assert check_index(i.parse_index(index((5, second)), 0), heads(log)) == []
    assert check_index(i.parse_index(index((9, second)), 0), heads(log)) == []
    assert check_index(i.parse_index(index((4, second)), 0), heads(log))


def test_a_time_index_is_checked_against_the_log():
    assert check_time_index(i.parse_time_index(time_index((5, 12), (9, 13)), 0), heads(LOG)) == []
    assert check_time_index(i.parse_time_index(time_index((9, 14)), 0), heads(LOG)) == []
    assert check_time_index(i.parse_time_index(time_index((5, 13)), 0), heads(LOG)) == [
        "offset 13: 5 ms, but a record up to there has 9 ms"
    ]
    assert check_time_index(i.parse_time_index(time_index((6, 12)), 0), heads(LOG)) == [
        "offset 12: no batch has the timestamp 6 ms"
    ]


def test_aborted_transactions():
    data = struct.pack(">hqqqq", 0, 7, 10, 20, 9)
    assert i.parse_transaction_index(data) == [
        i.AbortedTransaction(producer_id=7, first_offset=10, last_offset=20, last_stable_offset=9)
    ]
    with pytest.raises(ParseError, match="33 bytes"):
        i.parse_transaction_index(data[:-1])
    with pytest.raises(ParseError, match="version 3"):
        i.parse_transaction_index(struct.pack(">hqqqq", 3, 7, 10, 20, 9))


def snapshot(*producers: tuple[int, ...]) -> bytes:
    body = struct.pack(">i", len(producers)) + b"".join(struct.pack(">qhiqiqiq", *each) for each in producers)
    return struct.pack(">hI", 1, google_crc32c.value(body)) + body


def test_producer_state():
    found = i.parse_snapshot(snapshot((1, 2, 3, 4, 5, 6, 7, -1), (9, 0, 0, 0, 0, 0, 0, 44)))
    assert [each.producer_id for each in found.producers] == [1, 9]
    assert [each.current_transaction_first_offset for each in found.producers] == [None, 44]
    assert (found.producers[0].producer_epoch, found.producers[0].coordinator_epoch) == (2, 7)
    whole = snapshot((1, 2, 3, 4, 5, 6, 7, -1))
    for data, message in (
        (whole[:5], "5 bytes"),
        (b"\x00\x02" + whole[2:], "version 2"),
        (whole[:-1] + b"\x00", "checksum"),
    ):
        with pytest.raises(ParseError, match=message):
            i.parse_snapshot(data)


def test_names():
    assert i.base_offset_of(Path("/x/00000000000000000123.timeindex")) == 123
    with pytest.raises(ParseError, match="20 digits"):
        i.base_offset_of(Path("/x/123.index"))


@given(data=st.binary(max_size=100))
def test_any_bytes_at_all(data):
    for parse in (
        lambda: i.parse_index(data, 0),
        lambda: i.parse_time_index(data, 0),
        lambda: i.parse_transaction_index(data),
        lambda: i.parse_snapshot(data),
        lambda: check_index([i.IndexEntry(offset=1, position=0)], heads(data)),
        lambda: check_time_index([i.TimeIndexEntry(offset=1, timestamp_ms=0)], heads(data)),
    ):
        try:
            parse()
        except ParseError:
            continue
