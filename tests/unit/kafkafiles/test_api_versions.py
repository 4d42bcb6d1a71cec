"""Answers to ApiVersions, as brokers of several releases write them."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafiles.api_versions import NONE, UNSUPPORTED_VERSION, Offer, question, read_offer
from kafkafiles.encoding import NO_TAGS, Reader
from kafkafiles.errors import Malformed

OLD = bytes.fromhex("0000 00000002 0001 0000 0003 0012 0000 0004")
"""Fetch up to version 3 and ApiVersions up to 4, in the form of version 0."""
NEW = bytes.fromhex("0000 02 0001 0000 0011 00 00000000")
"""Fetch up to version 17; the tagged fields follow."""


def features(tag: int, first: int, second: int) -> bytes:
    content = b"\x02" + b"\x11metadata.version" + struct.pack(">hh", first, second) + NO_TAGS
    return bytes([tag, len(content)]) + content


def test_the_highest_levels_stand_second_where_supported_and_first_where_in_force() -> None:
    code, offer = read_offer(Reader(NEW + b"\x02" + features(0, 1, 25) + features(2, 21, 7)), 3)
    assert (code, offer) == (
        NONE,
        Offer(apis={1: 17}, supported={"metadata.version": 25}, features={"metadata.version": 21}),
    )
    assert not offer.answered


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_old_answer_has_requests_alone(version: int) -> None:
    code, offer = read_offer(Reader(OLD), version)
    assert (code, offer, offer.answered) == (NONE, Offer(apis={1: 3, 18: 4}), True)


def test_a_refusal_has_the_form_of_version_0_whatever_was_asked() -> None:
    refusal = struct.pack(">h", UNSUPPORTED_VERSION)
    assert read_offer(Reader(refusal), 4) == (UNSUPPORTED_VERSION, Offer())
    assert read_offer(Reader(refusal + OLD[2:]), 4) == (UNSUPPORTED_VERSION, Offer(apis={1: 3, 18: 4}))


def test_another_error_offers_nothing() -> None:
    assert read_offer(Reader(struct.pack(">h", 29) + OLD[2:]), 0) == (29, Offer())


def test_who_asks_is_told_from_version_3_on() -> None:
    assert (question(2, "c", "1"), question(3, "c", "1")) == (b"", b"\x02c\x021\x00")


@given(st.binary(max_size=200), st.sampled_from([0, 3, 4]))
def test_any_answer_is_read_or_refused(answer: bytes, version: int) -> None:
    with suppress(Malformed):
        read_offer(Reader(answer), version)
