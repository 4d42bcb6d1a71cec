"""The input that an output was made from, as the output's own bytes name it: "TOPIC-PARTITION@OFFSET".

An application's outputs are records like any other (evidence.history.record); their payload is this name. So whoever
reads an output can tell what was processed without the application's own word, also where that was killed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from evidence.history.layout import payload_of

_NAME: Final = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>[0-9]+)@(?P<offset>[0-9]+)")


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


def input_of(value: bytes) -> Input | None:
    """The input that a record's value names; None if it names none."""
    named = _NAME.fullmatch(payload_of(value).decode("ascii", errors="replace"))
    return None if named is None else Input(named["topic"], int(named["partition"]), int(named["offset"]))
