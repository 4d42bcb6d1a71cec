"""Kafka's encoding: what is written is read back, and what is cut off or too long is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles.encoding import NO_TAGS, Reader, length, old_string, string
from kafkafiles.errors import Malformed


@given(st.text(max_size=200))
def test_strings_are_read_as_they_were_written(text: str) -> None:
    reader = Reader(string(text) + old_string(text))
    assert (reader.string(), reader.old_string(), reader.left) == (text, text, 0)


@given(st.integers(0, 2**31))
def test_lengths_are_one_more_than_the_number(number: int) -> None:
    assert Reader(length(number)).uvarint() == number + 1


def test_null_is_not_empty() -> None:
    assert (Reader(b"\0").string(), Reader(b"\1").string()) == (None, "")
    assert (Reader(b"\0").blob(), Reader(b"\1").blob()) == (None, b"")
    assert (Reader(b"\0").array(Reader.int8), Reader(b"\1").array(Reader.int8)) == (None, ())
    assert (Reader(b"\xff\xff").old_string(), Reader(b"\0\0").old_string()) == (None, "")
    assert (Reader(b"\xff" * 4).old_blob(), Reader(b"\0" * 4).old_blob()) == (None, b"")


def test_tagged_fields_that_nobody_knows_are_passed_over() -> None:
    reader = Reader(b"\2" + b"\x09\2ab" + b"\x34\1c" + b"\7")
    assert (reader.tagged(), reader.int8()) == ({9: b"ab", 0x34: b"c"}, 7)
    assert Reader(NO_TAGS).tagged() == {}


@pytest.mark.parametrize(
    ("data", "read"),
    [
        (b"\0", Reader.int16),
        (b"\3a", Reader.string),
        (b"\3\xff\xff", Reader.string),
        (b"\0\2a", Reader.old_string),
        (b"\0\0\0\2a", Reader.old_blob),
        (b"\xff" * 6, Reader.uvarint),
        (b"\x7f\0", lambda reader: reader.array(Reader.int8)),
        (b"\1\0\5a", Reader.tagged),
        (b"", Reader.tagged),
    ],
)
def test_what_ends_too_early_or_is_no_text_is_malformed(data: bytes, read: Callable[[Reader], object]) -> None:
    with pytest.raises(Malformed):
        read(Reader(data))
