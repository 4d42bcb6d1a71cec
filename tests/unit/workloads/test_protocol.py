"""The lines of a client of the user's own: what is understood, what is refused, and that nothing else happens."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.workloads import protocol
from harness.workloads.protocol import (
    Acknowledged,
    Assigned,
    Failed,
    Hello,
    Nonsense,
    Polled,
    PolledRecord,
    Produce,
    Ready,
    Revoked,
)

GOOD = {"type": "hello", "protocol": 1, "name": "kafka-python", "version": "3.0.12", "can": ["produce"]}
TEXT = st.text(max_size=20)
NUMBER = st.integers(0, 2**31 - 1)
ANSWERS = st.one_of(
    st.builds(Acknowledged, id=NUMBER, offset=st.none() | st.integers(0, 2**63 - 1)),
    st.builds(
        Failed,
        id=NUMBER,
        error=st.text(min_size=1, max_size=200),
        definite=st.booleans(),
        code=st.none() | st.integers(-1, 2**15 - 1),
    ),
    st.builds(
        Polled,
        id=NUMBER,
        records=st.lists(
            st.builds(
                PolledRecord,
                topic=TEXT,
                partition=NUMBER,
                offset=st.integers(0, 2**63 - 1),
                value=st.none() | st.binary(max_size=50),
                leader_epoch=st.none() | NUMBER,
            ),
            max_size=3,
        ).map(tuple),
    ),
    st.builds(Assigned, partitions=st.lists(st.tuples(TEXT, NUMBER), max_size=3).map(tuple)),
    st.builds(Revoked, partitions=st.lists(st.tuples(TEXT, NUMBER), max_size=3).map(tuple), lost=st.booleans()),
    st.builds(Ready, settings=st.dictionaries(TEXT, TEXT, max_size=3)),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["hello", "ready", "acknowledged", "failed", "polled", "assigned", "begun", "produce", ""])


@given(ANSWERS)
def test_what_a_client_says_is_what_is_understood(said: protocol.AnyAnswer) -> None:
    assert protocol.answer(msgspec.json.encode(said) + b"\n") == said


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_nonsense_with_a_reason(said: bytes) -> None:
    with pytest.raises(Nonsense, match=r".+: .+"):
        protocol.answer(said)


@given(TYPES, st.dictionaries(st.sampled_from(["id", "offset", "error", "records", "can", "x"]), JSON, max_size=4))
def test_any_object_is_an_answer_or_nonsense(kind: str, more: dict[str, object]) -> None:
    try:
        said = protocol.answer(json.dumps({"type": kind} | more).encode())
    except Nonsense:
        return
    assert protocol.kind(said) == kind


@given(TEXT, st.none() | st.binary(max_size=50), st.binary(max_size=50))
def test_a_command_is_one_line_of_json(topic: str, key: bytes | None, value: bytes) -> None:
    made = protocol.line(Produce(id=7, topic=topic, partition=1, key=key, value=value))
    assert made.endswith(b"\n")
    assert made.count(b"\n") == 1
    assert msgspec.json.decode(made, type=Produce).value == value


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"INFO connected", "JSON is malformed"),
        (b"", "Input data was truncated"),
        (b"[]", "Expected `object`"),
        (b'{"type": "ack", "id": 1}', r"Invalid value 'ack'"),
        (b'{"type": "acknowledged"}', "missing required field `id`"),
        (b'{"type": "acknowledged", "id": 1, "offest": 3}', "unknown field `offest`"),
        (b'{"type": "acknowledged", "id": 1, "offset": -1}', "offset"),
        (
            b'{"type": "polled", "id": 1, "records": [{"topic": "t", "partition": 0, "offset": 0, "value": "?"}]}',
            "value",
        ),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply|truncated|malformed"),
    ],
)
def test_what_is_no_answer_and_why(said: bytes, why: str) -> None:
    with pytest.raises(Nonsense, match=why):
        protocol.answer(said)


def test_a_long_line_with_control_characters_is_shown_short_and_safe() -> None:
    shown = protocol.excerpt(b"\x1b[2J" + b"x" * 1000)
    assert "\x1b" not in shown
    assert len(shown) < 200


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"protocol": 2}, "speaks protocol 2, and this is protocol 1"),
        ({"can": ["produce", "transaction"]}, "it can transaction, which is not one of produce, consume"),
        ({"can": ["groups"]}, "neither produce nor consume"),
        ({"name": "a b"}, "name"),
        ({"type": "ready", "protocol": None}, "unknown field"),
    ],
)
def test_a_greeting_that_is_none(changed: dict[str, object], why: str) -> None:
    with pytest.raises(Nonsense, match=why):
        protocol.hello(protocol.answer(json.dumps(GOOD | changed).encode()))


def test_a_greeting() -> None:
    said = protocol.hello(protocol.answer(json.dumps(GOOD).encode()))
    assert isinstance(said, Hello)
    assert said.label == "kafka-python 3.0.12"


@pytest.mark.parametrize(
    ("needs", "can", "lacking"),
    [
        ({"acks-1", "transactions"}, {"produce"}, ["acks-1", "transactions"]),
        ({"acks-1", "idempotence"}, {"consume"}, []),
        ({"groups"}, {"produce"}, []),
        ({"groups"}, {"consume"}, ["groups"]),
        ({"transactions"}, {"consume"}, ["transactions"]),
        ({"acks-1"}, {"produce", "acks-1"}, []),
    ],
)
def test_what_a_client_lacks_is_told_of_the_role_it_has(needs: set[str], can: set[str], lacking: list[str]) -> None:
    assert protocol.missing(needs, can) == lacking
