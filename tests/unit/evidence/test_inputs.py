"""The name of an input in an output's bytes: whatever is named is told, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.history import record
from evidence.history.inputs import Input, input_of

TOPICS = st.text("abcXYZ019._-", min_size=1, max_size=249)
INPUTS = st.builds(Input, TOPICS, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))


@given(INPUTS)
def test_an_output_names_its_input(source: Input) -> None:
    value = record.encode(record.run_hash("r"), 7, 3, source.payload)
    assert input_of(value) == source
    assert record.decode(value) == record.Identity(record.run_hash("r"), 7, 3)


@given(INPUTS)
def test_an_output_that_is_a_line_names_its_input(source: Input) -> None:
    assert input_of(record.encode_text(record.run_hash("r"), 7, 3, source.payload)) == source


@pytest.mark.parametrize("payload", [b"", bytes(80), b"t-0", b"t@3", b"-0@3", b"t-0@3 ", b"t-0@x", b"t-0@3\xff"])
def test_other_payloads_name_none(payload: bytes) -> None:
    assert input_of(record.encode(0, 7, 3, payload)) is None


@pytest.mark.parametrize("payload", [b"", b"t-0", b"t@3", b"t-0@3 ", b"t-0@3 t-0@3"])
def test_lines_with_other_payloads_name_none(payload: bytes) -> None:
    assert input_of(record.encode_text(0, 7, 3, payload)) is None


@given(st.binary(max_size=60))
def test_foreign_bytes_are_no_output(value: bytes) -> None:
    assert input_of(value) is None or b"@" in value
