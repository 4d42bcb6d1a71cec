"""How a record is named: by its partition, and by the producer and sequence that its own bytes carry."""

from __future__ import annotations

from typing import NamedTuple

TopicPartition = tuple[str, int]


class RecordId(NamedTuple):
    """Which record: its partition, and the producer and sequence that its own bytes carry.

    >>> str(RecordId("orders", 0, 1, 3))
    'orders-0:1/3'
    """

    topic: str
    partition: int
    producer: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}:{self.producer}/{self.sequence}"

    @property
    def where(self) -> TopicPartition:
        return (self.topic, self.partition)

    @property
    def is_ours(self) -> bool:
        """Whether this harness wrote it; others, and damaged ones, have no identity."""
        return self.producer >= 0 and self.sequence >= 0
