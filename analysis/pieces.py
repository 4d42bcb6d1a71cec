"""The pieces of work that a run falls into: one for each topic-partition, and one for the run as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from analysis.run_files import record_of, stated_partitions
from checks.settled_operations import NOTHING_SETTLED, Settled
from evidence.history.read import sealed_partitions
from evidence.rundir import RunDir


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of work: a topic-partition of a run, or (topic "") its metadata."""

    run_dir: str
    topic: str
    partition: int
    settled: Settled = NOTHING_SETTLED
    """What other pieces say of operations of unknown outcome (analysis.indefinite)."""

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        # Tasks are given a hundred thousand of them: as dataclasses do it by themselves it takes four times as long.
        return type(self), (self.run_dir, self.topic, self.partition, self.settled)


def pieces(run_dir: RunDir) -> list[Piece]:
    """The pieces of a run: a topic-partition each of what `run.json` and the sealed histories name, and the rest.

    Raises UsageError if the directory is not that of a run.
    """
    run = record_of(run_dir)
    stated, sealed = stated_partitions(run), sealed_partitions(run_dir, run)
    path = str(run_dir.path)
    return [*(Piece(path, *where) for where in sorted(stated | sealed)), Piece(path, "", -1)]
