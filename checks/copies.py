"""Copies of what lay on each broker's disk at named moments: the second witness, beside clients' histories.

Checks are given the copies of one partition at all moments (`Copies`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from checks.view import (
    NO_IDENTITY,
    Ints,
    value_of,
)
from evidence.events import Partition
from evidence.findings import record_of
from evidence.history import record
from evidence.nodes import number_of
from evidence.run_state import UP, RunState, isr_at
from kafkafiles.batches import Record
from kafkafiles.replica import Difference, Replica, SegmentProblem

QUIET_NS: Final = 1_000_000_000
ACKS_ALL: Final = -1
WITH_EPOCHS: Final = 2
"""The first message format whose batches carry a leader epoch."""
_FIELDS: Final = ("key", "value", "headers", "timestamp_ms", "control")


@dataclass(frozen=True, kw_only=True)
class Copy:
    """One replica as it lay on one broker's disk at one moment."""

    moment: str
    at_ns: int
    node: str
    replica: Replica
    high_watermark: int | None = None
    condition: str = UP
    begun_ns: int
    """When its copying began; `at_ns` is when all copies of the moment were there."""
    part: tuple[Ints, Ints] | None = None
    """Of a screened partition, what of its contents checks need."""

    @property
    def broker(self) -> int:
        return number_of(self.node)

    @cached_property
    def damaged(self) -> bool:
        """Whether it has problems that no crash explains. Its log end offset is then not known."""
        return bool(damage(self))

    @cached_property
    def contents(self) -> tuple[Ints, Ints]:
        """Values and offsets of its data records in log order; of a screened partition only those that checks need."""
        if self.part is not None:
            return self.part
        values, offsets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for batch in self.replica.record_batches():
            if isinstance(batch, SegmentProblem):
                continue
            data = batch.filter(batch["control"].is_null())
            found = record.decode_all(data["value"].to_numpy(zero_copy_only=False).tolist())
            values.append(value_of(found.producer, found.sequence))
            offsets.append(data["offset"].to_numpy(zero_copy_only=False).astype(np.int64))
        return np.concatenate(values), np.concatenate(offsets)

    def place(self) -> dict[str, Any]:
        """The copy's moment and broker, as evidence."""
        return {"moment": self.moment, "node": self.node, "broker": self.broker}


@dataclass(frozen=True, kw_only=True)
class Copies:
    """All copies of one partition, and what the timeline says of the partition."""

    copies: tuple[Copy, ...] = ()
    states: tuple[Partition, ...] = ()
    run_state: RunState = field(default_factory=RunState)
    """What held when in the whole run."""
    differences: Mapping[str, Sequence[Difference[int]]] = field(default_factory=dict)
    """By moment, the offsets at which the copies taken then differ, by broker."""

    def moments(self) -> Iterator[tuple[int, list[Copy]]]:
        """The copies of each moment, with its time, in order."""
        for moment in dict.fromkeys(copy.moment for copy in self.copies):
            of_it = [copy for copy in self.copies if copy.moment == moment]
            yield of_it[0].at_ns, of_it

    def isr_at(self, at_ns: int) -> list[int] | None:
        return isr_at(self.states, at_ns)

    def quiet(self, at_ns: int) -> bool:
        """Whether leader and ISR were known at a time and had not changed for `QUIET_NS`."""
        times = [state.monotonic_ns for state in self.states if state.monotonic_ns <= at_ns]
        return bool(times) and times[-1] <= at_ns - QUIET_NS

    def compared(self) -> Iterator[tuple[int, list[Copy], Difference[int]]]:
        """Every offset at which copies of one moment differ: the moment's time, its copies, the difference."""
        for at_ns, copies in self.moments():
            for difference in self.differences.get(copies[0].moment, ()):
                yield at_ns, copies, difference


def damage(copy: Copy) -> list[SegmentProblem]:
    """Problems of a copy that no crash of its broker explains."""
    segments = {segment.base_offset: segment for segment in copy.replica.segments}
    last = max(segments, default=-1)
    found = []
    for problem in copy.replica.problems:
        corrupt, at_end = problem.corrupt, False
        if problem.segment == last:
            at_end = corrupt.kind in ("zero-padding", "torn") or (
                copy.condition != UP and corrupt.position + corrupt.size >= segments[last].size
            )
        if not at_end:
            found.append(problem)
    return found


def describe(one: Record | None) -> dict[str, Any] | None:
    """A record as evidence: its identity and the fields that are compared; None for no record."""
    if one is None:
        return None
    identity = record.decode(one.value)
    return {
        "producer": NO_IDENTITY if identity is None else identity.producer,
        "sequence": NO_IDENTITY if identity is None else identity.sequence,
        "leader_epoch": one.leader_epoch,
        "timestamp_ms": one.timestamp_ms,
        "size": 0 if one.value is None else len(one.value),
        "codec": str(one.codec),
    }


def held_by(copy: Copy, records: Mapping[int, Record | None]) -> dict[str, Any]:
    """What each broker holds at an offset of the partition that a copy is of, as evidence."""
    held = {f"broker-{broker}": describe(records[broker]) for broker in sorted(records)}
    where = (copy.replica.topic, copy.replica.partition)
    named = [record for one in held.values() if one is not None for record in record_of(one, where)]
    return {"records": named, "brokers": list(held), "held": held}


def differing_fields(one: Record | None, other: Record | None) -> tuple[str, ...]:
    """The fields in which two records differ."""
    if one is None or other is None:
        return () if one is other else ("record",)
    fields = [name for name in _FIELDS if getattr(one, name) != getattr(other, name)]
    if one.magic >= WITH_EPOCHS and other.magic >= WITH_EPOCHS and one.leader_epoch != other.leader_epoch:
        fields.append("leader_epoch")
    return tuple(fields)
