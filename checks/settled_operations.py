"""What is known of operations of unknown outcome once all partitions have been looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TRANSACTION: Final = "transaction"
OPERATION: Final = "operation"
RECORD: Final = "record"
Operation = tuple[str, str | int, int]
"""("transaction" or "operation", process, its number), or ("record", producer, sequence) of an output alone."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What all partitions together say of operations of unknown outcome."""

    proven: frozenset[Operation] = frozenset()
    absent: frozenset[Operation] = frozenset()

    @property
    def transactions(self) -> Settled:
        """Of transactions alone, which hold as a whole: offsets that are committed by themselves do not."""
        return Settled(
            frozenset(one for one in self.proven if one[0] == TRANSACTION),
            frozenset(one for one in self.absent if one[0] == TRANSACTION),
        )

    def __bool__(self) -> bool:
        return bool(self.proven or self.absent)


NOTHING_SETTLED: Final = Settled()
