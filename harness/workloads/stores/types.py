"""What a store outside Kafka holds, and what an application does with it (harness/workloads/stores)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from evidence.history.inputs import Input

Key = tuple[str, int]
Row = tuple[str, int, int, str, int, int]
"""Of an output: the run, the producer, the sequence, and its input's topic, partition and offset."""
LOCK_S: Final = 30.0
"""How long a lock of another one, or an answer, is waited for."""


class StoreLost(Exception):
    """The connection to a store has ended. What its open transaction had written is undone; one that was about to
    commit may be committed.
    """


class StoreFull(Exception):
    """A store has no room for what its open transaction writes, and that is undone. It would have none the next time
    either: nobody makes room, so a program that is told so ends.
    """


@dataclass(frozen=True, slots=True)
class Output:
    """An output: who made it, the how manyth of that one it is, and the input that it was made from."""

    producer: int
    sequence: int
    source: Input


@dataclass(frozen=True, slots=True)
class Stored:
    """What is committed in a store."""

    outputs: tuple[Output, ...]
    """In the order in which they were written."""
    offsets: Mapping[Key, int]
    """For each partition of inputs the next one to process."""

    def made_of(self, topic: str, partition: int) -> int:
        """How many outputs were made from inputs of a partition."""
        return sum((one.source.topic, one.source.partition) == (topic, partition) for one in self.outputs)


class Store(Protocol):
    """An application's connection. What is written is in one transaction until `commit`. Every step raises StoreLost
    if the store is not there any more, and one that writes or commits StoreFull if it has no room.
    """

    durable: bool
    """Whether what was written is on the disk when `commit` returns."""

    def write(self, outputs: Iterable[Output], *, by_key: bool = False) -> None:
        """Write outputs. A second one of the same input is one more row: nothing here hides it. With `by_key` the
        input is the key of its output, and a second one replaces the first.
        """

    def write_offsets(self, offsets: Mapping[Key, int]) -> None:
        """Write for each partition which input is next."""

    def commit(self) -> None:
        """Commit what was written."""

    def next_of(self, key: Key) -> int | None:
        """The next input of a partition to process; None if nothing is known of it."""

    def close(self) -> None:
        """Close the connection; what is not committed is undone."""
