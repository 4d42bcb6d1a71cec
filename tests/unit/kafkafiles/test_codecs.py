"""Every codec, the framings peculiar to Kafka, and the bounds."""

from __future__ import annotations

import gzip
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles import codecs
from kafkafiles.errors import Malformed, TooLarge
from tests.unit.kafkafiles import encode

CODECS = [codecs.GZIP, codecs.SNAPPY, codecs.LZ4, codecs.ZSTD]


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.one_of(st.binary(max_size=3000), st.integers(0, 100_000).map(lambda size: b"kafka" * (size // 5))))
def test_what_was_compressed_comes_back(codec, data):
    assert codecs.decompress(codec, encode.compress(codec, data), magic=2) == data


def test_snappy_without_framing():
    packed = encode.compress(codecs.SNAPPY, b"abc" * 100, framing="raw")
    assert codecs.decompress(codecs.SNAPPY, packed, magic=2) == b"abc" * 100


def test_snappy_framing_of_several_blocks_and_of_two_streams():
    data = bytes(range(256)) * 1000
    packed = encode.compress(codecs.SNAPPY, data)
    assert codecs.decompress(codecs.SNAPPY, packed + packed, magic=2) == data + data


def test_gzip_of_two_members():
    assert codecs.decompress(codecs.GZIP, gzip.compress(b"a") + gzip.compress(b"b"), magic=2) == b"ab"


def test_the_odd_lz4_checksum_is_accepted_in_format_0_only():
    odd = encode.odd_lz4(encode.compress(codecs.LZ4, b"x" * 100))
    assert odd != encode.compress(codecs.LZ4, b"x" * 100)
    assert codecs.decompress(codecs.LZ4, odd, magic=0) == b"x" * 100
    with pytest.raises(Malformed, match="frame header's checksum"):
        codecs.decompress(codecs.LZ4, odd, magic=1)


def test_the_proper_lz4_checksum_is_accepted_in_every_format():
    packed = encode.compress(codecs.LZ4, b"x" * 100)
    assert [codecs.decompress(codecs.LZ4, packed, magic=magic) for magic in (0, 1, 2)] == [b"x" * 100] * 3


def test_xxh32_against_published_values():
    assert codecs.xxh32(b"") == 0x02CC5D05
    assert codecs.xxh32(b"a") == 0x550D7456
    assert codecs.xxh32(b"Nobody inspects the spammish repetition") == 0xE2293B2F


@pytest.mark.parametrize("codec", CODECS)
def test_a_cut_stream_is_malformed(codec):
    packed = encode.compress(codec, bytes(range(256)) * 20)
    for cut in range(1, len(packed), max(1, len(packed) // 40)):
        with pytest.raises(Malformed):
            codecs.decompress(codec, packed[:cut], magic=2)


@pytest.mark.parametrize("codec", CODECS)
def test_what_grows_beyond_the_limit_is_refused(codec):
    packed = encode.compress(codec, bytes(10_000_000))
    assert len(packed) < 600_000
    with pytest.raises(TooLarge, match="more than 1000"):
        codecs.decompress(codec, packed, magic=2, limit_bytes=1000)


def test_snappy_that_announces_what_it_cannot_hold_is_refused_before_any_memory_is_taken():
    announced = encode.uvarint(0xFFFFFFF)
    with pytest.raises(Malformed, match="cannot hold"):
        codecs.decompress(codecs.SNAPPY, announced + b"\x00" * 10, magic=2, limit_bytes=1 << 40)


def test_snappy_block_longer_than_the_stream():
    with pytest.raises(Malformed, match="a block of 100 bytes, of which 2"):
        codecs.decompress(codecs.SNAPPY, encode.XERIAL + struct.pack(">i", 100) + b"ab", magic=2)


def test_junk_after_gzip():
    with pytest.raises(Malformed, match="4 bytes after the end"):
        codecs.decompress(codecs.GZIP, gzip.compress(b"a") + b"junk", magic=2)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codecs(codec):
    with pytest.raises(Malformed, match=f"unknown compression codec {codec}"):
        codecs.decompress(codec, b"", magic=2)
    assert codecs.name(codec) == f"codec-{codec}"


def test_zstd_came_with_format_2():
    with pytest.raises(Malformed, match="zstd does not exist in message format 1"):
        codecs.decompress(codecs.ZSTD, encode.compress(codecs.ZSTD, b"a"), magic=1)
