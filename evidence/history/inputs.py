"""The input that an output was made from, as the output's own bytes name it: "TOPIC-PARTITION@OFFSET".

An application that keeps a result for each key has its output name the inputs that the result counts, too, by their
offsets: "t-0@7=2,5,7". An input that it has counted twice is there twice.

An application's outputs are records like any other (evidence.history.record); their payload is this name. So whoever
reads an output can tell what was processed without the application's own word, also where that was killed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from evidence.history.layout import payload_of

_NAME: Final = re.compile(
    r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>[0-9]+)@(?P<offset>[0-9]+)(?:=(?P<counted>[0-9]+(?:,[0-9]+)*))?"
)


class Input(NamedTuple):
    """Where an input lies."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"

    @property
    def payload(self) -> bytes:
        """The payload of an output that was made from it."""
        return str(self).encode()


def result_payload(source: Input, counted: Sequence[int]) -> bytes:
    """The payload of an output that was made from an input and states a result: the offsets that it counts, the
    input's own among them.

    >>> result_payload(Input("t", 0, 7), (2, 5, 7))
    b't-0@7=2,5,7'
    """
    return source.payload + b"=" + ",".join(map(str, counted)).encode()


def input_of(value: bytes) -> Input | None:
    """The input that a record's value names; None if it names none."""
    named = _named(value)
    return None if named is None else Input(named["topic"], int(named["partition"]), int(named["offset"]))


def counted_by(value: bytes) -> tuple[int, ...]:
    """The offsets of the inputs that the result in a record's value counts; none if it states no result."""
    named = _named(value)
    return () if named is None or named["counted"] is None else tuple(map(int, named["counted"].split(",")))


def _named(value: bytes) -> re.Match[str] | None:
    return _NAME.fullmatch(payload_of(value).decode("ascii", errors="replace"))
