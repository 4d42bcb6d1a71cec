"""What a synthetic run holds, as numbers: which record lies at which offset of which partition, and when it was sent.

Histories (benchmarks.synthetic) and copies of replicas (benchmarks.brokers) are both written from this. In every
partition LOST acknowledged records are not there (the reader passes their offsets) and REPEATED records lie at a second
offset, at the end of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

TOPIC: Final = "load"
PARTITIONS: Final = 16
PRODUCERS: Final = 4
BLOCK: Final = 1_000
PACE_NS: Final = 50_000
"""From a record of a partition to the next: 20 000 a second."""
LOST: Final = 3
REPEATED: Final = 2
SMALLEST: Final = 64_000
"""Records of a history at least: below that a partition has no room for what is planted."""


@dataclass(frozen=True, slots=True)
class PartitionLoad:
    """One partition: its number, and how many records were acknowledged in it."""

    number: int
    records: int

    @property
    def where(self) -> dict[str, Any]:
        """Topic and partition, as rows and events have them."""
        return {"topic": TOPIC, "partition": self.number}

    @property
    def name(self) -> str:
        return f"{TOPIC}-{self.number}"

    @property
    def lost(self) -> Ints:
        """Offsets of acknowledged records that are not there."""
        return np.arange(1, LOST + 1) * (self.records // (LOST + 1))

    @property
    def repeated(self) -> Ints:
        """First offsets of the records that are there twice."""
        return np.arange(1, REPEATED + 1) * (self.records // (REPEATED + 1)) + 7

    @property
    def end(self) -> int:
        return self.records + REPEATED

    def identities(self, offsets: Ints) -> tuple[Ints, Ints]:
        """Producer and sequence of the records at these offsets; those beyond `records` are the repeated ones."""
        offsets = offsets.copy()
        beyond = offsets >= self.records
        offsets[beyond] = self.repeated[offsets[beyond] - self.records]
        block = offsets // BLOCK
        turn = block // PRODUCERS * PARTITIONS + self.number
        return 1 + block % PRODUCERS, turn * BLOCK + offsets % BLOCK


def partitions(records: int, *, skewed: bool) -> list[PartitionLoad]:
    """So many records over 16 partitions, evenly; or (`skewed`) 90 % of them in the first."""
    large = records * 9 // 10 if skewed else 0
    share, over = divmod(records - large, PARTITIONS)
    return [PartitionLoad(number, share + (large + over if number == 0 else 0)) for number in range(PARTITIONS)]


def sent_at(offsets: Ints) -> Ints:
    """When the records at these offsets were sent, a block at a time."""
    return offsets // BLOCK * BLOCK * PACE_NS


def steps(records: int, step: int) -> Iterator[Ints]:
    """The offsets below `records`, so many at a time."""
    for first in range(0, records, step):
        yield np.arange(first, min(first + step, records), dtype=np.int64)
