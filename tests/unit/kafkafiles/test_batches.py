"""Hand-made segments of every message format, sound and not."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles import batches as log
from kafkafiles.batches import BatchHeader, Corrupt, Record
from kafkafiles.errors import Malformed
from tests.unit.kafkafiles.encode import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    R,
    batch,
    control_key,
    message,
    record,
    wrapper,
)

FEW = [R(key=b"k", value=b"one", timestamp=10), R(value=None, timestamp=12), R(key=b"", value=b"", timestamp=11)]


def read(data: bytes) -> list[Record | Corrupt]:
    return list(log.records(data))


def sound(data: bytes) -> list[Record]:
    found = read(data)
    assert not [each for each in found if isinstance(each, Corrupt)]
    return [each for each in found if isinstance(each, Record)]


def problem(data: bytes) -> Corrupt:
    problems = [each for each in read(data) if isinstance(each, Corrupt)]
    assert len(problems) == 1
    return problems[0]


def content(found: list[Record]) -> list[tuple[int, bytes | None, bytes | None, int]]:
    return [(each.offset, each.key, each.value, each.timestamp_ms) for each in found]


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_format_2(codec):
    found = sound(batch(7, FEW, epoch=3, codec=codec, producer=(9, 2, 40)))
    assert content(found) == [(7, b"k", b"one", 10), (8, None, None, 12), (9, b"", b"", 11)]
    assert {(each.leader_epoch, each.producer_id, each.producer_epoch, each.codec) for each in found} == {
        (3, 9, 2, codec)
    }
    assert [each.sequence for each in found] == [40, 41, 42]
    assert {(each.magic, each.valid, each.control, each.transactional) for each in found} == {(2, True, None, False)}


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_compressed_message_sets_have_absolute_offsets_in_format_0_and_relative_ones_in_1(magic, codec):
    found = sound(wrapper(50, FEW, magic=magic, codec=codec))
    stamps = [-1, -1, -1] if magic == 0 else [10, 12, 11]
    assert content(found) == [
        (50, b"k", b"one", stamps[0]),
        (51, None, None, stamps[1]),
        (52, b"", b"", stamps[2]),
    ]


@pytest.mark.parametrize("magic", [0, 1])
def test_uncompressed_message_sets(magic):
    data = b"".join(message(5 + at, each, magic=magic) for at, each in enumerate(FEW))
    found = sound(data)
    assert [each.offset for each in found] == [5, 6, 7]
    assert [each.timestamp_type for each in found] == [-1 if magic == 0 else 0] * 3
    assert found[1].position == len(message(5, FEW[0], magic=magic))


def test_formats_mixed_in_one_segment():
    data = message(0, FEW[0], magic=0) + message(1, FEW[0], magic=1) + batch(2, FEW)
    assert [(each.offset, each.magic) for each in sound(data)] == [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2)]


def test_log_append_time_is_the_batchs():
    assert [each.timestamp_ms for each in sound(batch(0, FEW, append_time=99))] == [99, 99, 99]
    assert [each.timestamp_ms for each in sound(wrapper(0, FEW, magic=1, codec=GZIP, append_time=98))] == [98, 98, 98]
    assert sound(batch(0, FEW, append_time=99))[0].timestamp_type == log.LOG_APPEND_TIME


def test_a_delete_horizon_takes_the_base_timestamps_place():
    data = batch(0, FEW, delete_horizon=5)
    header = next(log.scan_batches(data))
    assert isinstance(header, BatchHeader)
    assert header.base_timestamp_ms == 5
    assert [each.timestamp_ms for each in sound(data)] == [10, 12, 11]


def test_headers_of_records():
    headers = ((b"a", b"1"), (b"", None), (b"a", b""))
    assert sound(batch(0, [R(headers=headers)]))[0].headers == headers


def test_control_records():
    markers = [R(key=control_key(1), value=struct.pack(">hi", 0, 3))]
    found = sound(batch(4, markers, control=True, transactional=True, producer=(1, 0, -1)))[0]
    assert (found.control, found.transactional, found.sequence) == (log.CONTROL_COMMIT, True, -1)
    assert log.control_type(b"\x00") == -1


def test_offsets_with_holes_after_compaction():
    rs = [R(delta=2), R(delta=5)]
    data = batch(100, rs, last_delta=9)
    assert [each.offset for each in sound(data)] == [102, 105]
    header = next(log.scan_batches(data))
    assert isinstance(header, BatchHeader)
    assert (header.base_offset, header.last_offset, header.count) == (100, 109, 2)


def test_an_empty_batch_is_what_compaction_leaves_of_a_producers_last():
    data = batch(10, [], last_delta=4)
    assert read(data) == []
    assert [each.last_offset for each in log.scan_batches(data) if isinstance(each, BatchHeader)] == [14]


def test_sequences_wrap():
    found = sound(batch(0, FEW, producer=(1, 0, 0x7FFFFFFF)))
    assert [each.sequence for each in found] == [0x7FFFFFFF, 0, 1]


def test_librdkafkas_wrapper_at_offset_0():
    assert [each.offset for each in sound(wrapper(0, FEW, magic=1, codec=GZIP, offset=0))] == [0, 1, 2]


def test_scanning_sees_headers_only():
    data = batch(0, FEW, crc=1) + wrapper(3, FEW, magic=1, codec=GZIP)
    found = list(log.scan_batches(data))
    assert [(each.base_offset, each.last_offset, each.count) for each in found if isinstance(each, BatchHeader)] == [
        (0, 2, 3),
        (None, 5, None),
    ]


def test_reading_a_part():
    one, two = batch(0, FEW), batch(3, FEW)
    assert [each.offset for each in log.records(one + two, len(one)) if isinstance(each, Record)] == [3, 4, 5]
    cut = list(log.records(one + two, 0, len(one)))
    assert [each.offset for each in cut if isinstance(each, Record)] == [0, 1, 2]
    assert len(cut) == 3


# --- what is wrong --------------------------------------------------------------------------------------------------


def test_a_wrong_checksum_marks_the_records_and_reading_goes_on():
    found = read(batch(0, FEW, crc=1) + batch(3, FEW[:1]))
    assert isinstance(found[0], Corrupt)
    assert (found[0].kind, found[0].position) == ("checksum", 0)
    assert [(each.offset, each.valid) for each in found if isinstance(each, Record)] == [
        (0, False),
        (1, False),
        (2, False),
        (3, True),
    ]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrong_checksum_in_old_formats(magic):
    assert problem(message(0, FEW[0], magic=magic, crc=1)).kind == "checksum"


def test_a_wrong_checksum_inside_a_compressed_message_is_seen():
    inner = message(0, FEW[0], magic=1, crc=1)
    from tests.unit.kafkafiles import encode

    outer = message(0, R(value=encode.compress(GZIP, inner)), magic=1, attributes=GZIP)
    assert "inner message 0" in problem(outer).reason


def test_zero_padding_is_not_silently_fine():
    found = problem(batch(0, FEW) + bytes(1000))
    assert (found.kind, found.size) == ("zero-padding", 1000)


def test_zeros_followed_by_something_are_malformed():
    assert problem(batch(0, FEW) + bytes(100) + b"x").kind == "malformed"


def test_torn_tails_at_every_length():
    whole = batch(0, FEW)
    last = batch(3, FEW)
    for cut in range(1, len(last)):
        found = read(whole + last[:cut])
        tail = found[-1]
        assert isinstance(tail, Corrupt)
        assert (tail.kind, tail.position, tail.size) in {
            ("torn", len(whole), cut),
            ("zero-padding", len(whole), cut),  # an offset's leading zeros look the same
        }
        assert [each.offset for each in found if isinstance(each, Record)] == [0, 1, 2]


def test_an_unknown_format_ends_the_reading():
    data = bytearray(batch(0, FEW))
    data[16] = 3
    found = problem(bytes(data) + batch(3, FEW))
    assert (found.kind, found.size) == ("malformed", 2 * len(data))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (batch(0, [R(value=bytes(50))], count=2, last_delta=1), "record 1 is cut"),
        (batch(0, FEW, count=2), "bytes after the last record"),
        (batch(0, [R(delta=1), R(delta=0)], last_delta=1), "offset delta 0 after 1"),
        (batch(0, [R(delta=0), R(delta=9)], last_delta=3), "the batch's last is 3"),
        (batch(0, FEW, count=50, last_delta=60), "50 records announced in"),
        (message(0, R(value=None), magic=1, attributes=GZIP), "without a value"),
        (message(0, R(value=b"abc"), magic=0, attributes=SNAPPY), "snappy"),
        (message(0, R(value=b"abc"), magic=1, attributes=6), "unknown compression codec 6"),
    ],
)
def test_sound_checksum_but_senseless_content(data, reason):
    found = problem(data)
    assert found.kind == "malformed"
    assert reason in found.reason


def test_impossible_headers():
    good = bytearray(batch(0, FEW))
    for at, value in (
        (23, b"\xff\xff\xff\xff"),
        (57, b"\xff\xff\xff\xff"),
        (57, b"\x00\x00\x00\x09"),
        (8, b"\0\0\0\1"),
    ):
        bad = bytearray(good)
        bad[at : at + 4] = value
        assert problem(bytes(bad)).kind == "malformed"
    assert problem(b"\xff" * 8 + bytes(good[8:])).kind == "malformed"


def test_decompression_is_bounded():
    data = batch(0, [R(value=bytes(1_000_000))], codec=GZIP)
    found = list(log.records(data, limit_bytes=10_000))
    assert isinstance(found[0], Corrupt)
    assert found[0].kind == "too-large"


def test_a_message_of_another_format_inside():
    from tests.unit.kafkafiles import encode

    outer = message(5, R(value=encode.compress(GZIP, message(5, FEW[0], magic=0))), magic=1, attributes=GZIP)
    assert "format 0 inside one of format 1" in problem(outer).reason
    nested = message(0, R(value=encode.compress(GZIP, wrapper(0, FEW, magic=1, codec=GZIP))), magic=1, attributes=GZIP)
    assert "inside a compressed one" in problem(nested).reason


def test_varints_at_their_limits():
    for value in (0, 1, -1, 63, 64, -64, -65, 2**31 - 1, -(2**31)):
        assert log._varint(encode_varint(value), 0) == (value, len(encode_varint(value)))
    for value in (2**63 - 1, -(2**63), 2**31):
        assert log._varlong(encode_varint(value), 0) == (value, len(encode_varint(value)))
    with pytest.raises(Malformed):
        log._varint(b"\xff\xff\xff\xff\x1f", 0)
    with pytest.raises(Malformed):
        log._varlong(b"\xff" * 9 + b"\x02", 0)


def encode_varint(value: int) -> bytes:
    from tests.unit.kafkafiles.encode import varint

    return varint(value)


# --- round trips ----------------------------------------------------------------------------------------------------

BYTES = st.one_of(st.none(), st.binary(max_size=40))
RECORDS = st.lists(
    st.builds(
        R,
        key=BYTES,
        value=BYTES,
        timestamp=st.integers(0, 2**62),
        headers=st.lists(st.tuples(st.binary(max_size=5), BYTES), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=8,
)


@given(rs=RECORDS, base=st.integers(0, 2**62), codec=st.sampled_from([NONE, GZIP, SNAPPY, LZ4, ZSTD]))
def test_format_2_round_trip(rs, base, codec):
    found = sound(batch(base, rs, codec=codec))
    assert [(each.key, each.value, each.timestamp_ms, each.headers) for each in found] == [
        (r.key, r.value, r.timestamp, r.headers) for r in rs
    ]
    assert [each.offset for each in found] == list(range(base, base + len(rs)))


@given(
    rs=RECORDS, base=st.integers(1, 2**62), codec=st.sampled_from([GZIP, SNAPPY, LZ4]), magic=st.sampled_from([0, 1])
)
def test_old_formats_round_trip(rs, base, codec, magic):
    found = sound(wrapper(base, rs, magic=magic, codec=codec))
    assert [(each.key, each.value) for each in found] == [(r.key, r.value) for r in rs]
    assert [each.offset for each in found] == list(range(base, base + len(rs)))


@given(data=st.binary(max_size=300))
def test_any_bytes_at_all(data):
    for each in log.records(data):
        assert isinstance(each, Record | Corrupt)


def test_the_encoder_itself_writes_a_known_batch():
    """A batch written by a 2.8 broker has this shape: length, attributes, deltas of one byte each."""
    assert record(0, R(key=None, value=b"v", timestamp=5), 5) == bytes([14, 0, 0, 0, 1, 2, ord("v"), 0])
