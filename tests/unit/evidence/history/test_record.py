from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.history import record
from evidence.history.layout import payload_of

IDS = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1), st.integers(0, record.SEQUENCE_LIMIT - 1), st.binary()
)

LINES = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**31 - 1),
    st.integers(0, record.SEQUENCE_LIMIT - 1),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)).map(str.encode),
)
"""The same, as a line of text can have them."""


@given(IDS)
def test_what_is_encoded_is_decoded(parts):
    run, producer, sequence, payload = parts
    value = record.encode(run, producer, sequence, payload)
    assert len(value) == record.MINIMUM_BYTES + len(payload)
    assert record.decode(value) == record.Identity(run, producer, sequence)
    assert record.decode(memoryview(value)) == record.Identity(run, producer, sequence)


@given(IDS, st.data())
def test_any_one_damaged_byte_is_noticed(parts, data):
    value = bytearray(record.encode(*parts))
    at = data.draw(st.integers(0, len(value) - 1))
    value[at] ^= data.draw(st.integers(1, 255))
    assert record.decode(bytes(value)) is None
    assert not record.decode_all([bytes(value)]).valid[0]


@given(IDS, st.data())
def test_a_shortened_value_is_noticed(parts, data):
    value = record.encode(*parts)
    assert record.decode(value[: data.draw(st.integers(0, len(value) - 1))]) is None


def test_the_layout_is_what_the_documentation_says():
    assert record.encode(1, 2, 3, b"xy")[:-4] == b"KCH1\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\3xy"


@given(
    st.integers(0, record.SEQUENCE_LIMIT - 900), st.integers(0, 900), st.binary(max_size=60), st.integers(0, 2**31 - 1)
)
def test_a_block_is_its_records_one_by_one(first, count, payload, producer):
    encoder = record.Encoder(77, producer, payload)
    expected = [record.encode(77, producer, first + number, payload) for number in range(count)]
    assert encoder.block(first, count) == expected
    assert encoder.block(0, 1) == [record.encode(77, producer, 0, payload)]


def test_a_block_beyond_the_last_sequence_is_refused():
    encoder = record.Encoder(1, 1, b"")
    assert len(encoder.block(record.SEQUENCE_LIMIT - 2, 2)) == 2
    with pytest.raises(ValueError, match="2\\^40"):
        encoder.block(record.SEQUENCE_LIMIT - 1, 2)
    with pytest.raises(ValueError, match="2\\^40"):
        encoder.block(-1, 1)


@given(LINES)
def test_a_line_of_text_is_decoded(parts):
    run, producer, sequence, payload = parts
    line = record.encode_text(*parts)
    assert line.decode("ascii").isprintable()
    assert record.decode(line) == record.decode(memoryview(line)) == record.Identity(run, producer, sequence)
    assert payload_of(line) == payload


@given(LINES, st.data())
def test_any_one_damaged_byte_of_a_line_is_noticed(parts, data):
    line = bytearray(record.encode_text(*parts))
    line[data.draw(st.integers(0, len(line) - 1))] ^= data.draw(st.integers(1, 255))
    assert record.decode(bytes(line)) is None
    assert not record.decode_all([bytes(line)]).valid[0]


@given(LINES, st.data(), st.binary(min_size=1, max_size=5))
def test_a_line_that_is_cut_or_followed_by_more_is_noticed(parts, data, more):
    line = record.encode_text(*parts)
    assert record.decode(line[: data.draw(st.integers(0, len(line) - 1))]) is None
    assert record.decode(line + more) is None


@pytest.mark.parametrize(
    "parts",
    [(1, 2, 3, b"a\nb"), (1, 2, 3, b"\xff"), (-1, 2, 3, b""), (1, -1, 3, b""), (1, 2**31, 3, b""), (1, 2, 2**40, b"")],
)
def test_what_no_line_can_say_is_refused(parts):
    with pytest.raises(ValueError, match=r"no record has|printable ASCII"):
        record.encode_text(*parts)


def test_the_form_of_a_line_is_what_the_documentation_says():
    assert record.encode_text(0x0123ABCD, 2, 7, b"t-0@7")[:-8] == b"KCT1 0123abcd 00000002 0000000007 t-0@7 "


@pytest.mark.parametrize("foreign", [b"KCT1 " + bytes(60), b"KCT1 0123abcd 00000002 0000000007 t-0@7 00000000"])
def test_a_line_of_somebody_else_is_not_ours(foreign):
    assert record.decode(foreign) is None
    assert not record.decode_all([foreign]).valid[0]


def test_lines_among_records_and_lines_alone():
    lines = [record.encode_text(7, 1, number, b"x" * 51) for number in range(50)]
    records = a_load(0, 50)
    assert len(lines[0]) == len(records[0])
    for decoder in (record.Decoder(), learnt := record.Decoder()):
        for values in (lines, records, [*records, *lines], [*lines, None, *records], lines[:3]):
            assert_same(decoder, values)
            each = [record.decode(value) for value in values]
            assert decoder.decode(values).sequence.tolist() == [-1 if one is None else one.sequence for one in each]
    assert learnt.decode(lines).valid.all()


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.binary(max_size=40),
            IDS.map(lambda parts: record.encode(*parts)),
            LINES.map(lambda parts: record.encode_text(*parts)),
        )
    )
)
def test_many_are_decoded_as_each_alone(values):
    found = record.decode_all(values)
    assert found.valid.tolist() == [record.decode(value) is not None for value in values]
    for place, value in enumerate(values):
        one = record.decode(value)
        seen = (int(found.run[place]), int(found.producer[place]), int(found.sequence[place]))
        assert seen == ((0, -1, -1) if one is None else (one.run, one.producer, one.sequence))


def test_columns_have_the_types_of_the_history():
    found = record.decode_all([])
    kinds = [column.dtype.name for column in (found.run, found.producer, found.sequence, found.valid)]
    assert kinds == ["uint32", "int32", "int64", "bool"]


def columns_of(found: record.Identities) -> list[list[int]]:
    return [column.tolist() for column in (found.run, found.producer, found.sequence, found.valid)]


def assert_same(decoder: record.Decoder, values: Sequence[bytes | None]) -> None:
    found = decoder.decode(values)
    assert columns_of(found) == columns_of(record.decode_all(values))
    kinds = [column.dtype.name for column in (found.run, found.producer, found.sequence, found.valid)]
    assert kinds == ["uint32", "int32", "int64", "bool"]


def a_load(first: int, count: int, *, producer: int = 1, payload: bytes = b"x" * 70) -> list[bytes]:
    return [record.encode(7, producer, first + number, payload) for number in range(count)]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2**41), st.integers(1, 60), st.integers(-1, 2), st.sampled_from([b"", b"xy", b"xz"])),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.tuples(st.integers(0, 199), st.integers(0, 200), st.integers(1, 255)), max_size=2),
)
def test_a_poll_is_decoded_as_each_record_alone(stretches, damages):
    values = [
        value
        for first, count, producer, payload in stretches
        for value in a_load(first, count, producer=producer, payload=payload)
    ]
    for place, at, flip in damages:
        damaged = bytearray(values[place % len(values)])
        damaged[at % len(damaged)] ^= flip
        values[place % len(values)] = bytes(damaged)
    decoder = record.Decoder()
    for poll in (values, values[::-1], a_load(5, 50, payload=b"xy")):
        assert_same(decoder, poll)


def test_a_poll_longer_than_what_is_compared_at_once():
    decoder = record.Decoder()
    values = a_load(65_000, 6000)
    values[4321] = values[4321][:-1] + b"!"
    assert_same(decoder, values)
    assert_same(decoder, [*values[:5000], b"", None, *values[5000:]])


def test_what_is_not_ours_among_what_is():
    decoder = record.Decoder()
    many = a_load(0, 50)
    for values in (
        [],
        [None],
        many[:3],
        [None, *many],
        [*many, None],
        [bytes(94)] * 50,
        [b"", *many],
        [*many, b""],
        many,
    ):
        assert_same(decoder, values)
    assert_same(decoder, a_load(0, 50, payload=bytes(3000)))


def test_values_of_other_lengths_do_not_add_up():
    """Two values that joined would be two records, cut in the wrong place."""
    many = a_load(0, 50)
    one, other = a_load(50, 2)
    found = record.Decoder().decode([*many, one + other[:5], other[5:]])
    assert found.valid.tolist() == [True] * 50 + [False, False]
