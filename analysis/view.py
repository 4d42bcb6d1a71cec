"""One topic-partition as every witness has it, in columns: what was sent, what was read, what lies on which disk.

The columns are numpy arrays, one entry per row of the history, so that a check is a few passes over arrays whatever
their length. A record's identity (producer, sequence) is packed into one integer, its *value*: values are unique in a
partition, sort by producer and then by sequence, and -1 stands for a record that is not ours or is damaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from harness.history import schema

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SEQUENCE_BITS: Final = 40
NOBODY: Final = -1
NO_OFFSET: Final = -1


def value_of(producer: Ints, sequence: Ints) -> Ints:
    """Identities as values."""
    packed = (producer.astype(np.int64) << SEQUENCE_BITS) + sequence.astype(np.int64)
    return np.where((producer < 0) | (sequence < 0), NOBODY, packed)


def identity_of(value: int) -> dict[str, int]:
    """A value as producer and sequence."""
    if value < 0:
        return {"producer": NOBODY, "sequence": NOBODY}
    return {"producer": value >> SEQUENCE_BITS, "sequence": value & ((1 << SEQUENCE_BITS) - 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sends:
    """Records sent, a row each. `offset` is -1 where it is not known; exactly one of ok, fail, info holds."""

    value: Ints
    offset: Ints
    ok: Bools
    fail: Bools
    info: Bools
    acks: Ints
    invoked_ns: Ints
    completed_ns: Ints
    process: npt.NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """Records read, a row each, in the order of each process. `good` is false for polls that failed or are unknown."""

    value: Ints
    offset: Ints
    valid: Bools
    good: Bools
    completed_ns: Ints
    process: npt.NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Sequences [first, first + count) of a producer may have been sent."""

    producer: int
    first: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """What the clients' histories say of one topic-partition."""

    topic: str
    partition: int
    sends: Sends
    polls: Polls
    reservations: tuple[Reservation, ...]
    final_offset: int | None
    """The brokers' end offset, if the final read came to it; None if there was none or it fell short."""

    def committed(self) -> Bools:
        """Which sends are committed for sure: ok, or info and seen by an ok poll."""
        seen = np.unique(self.polls.value[self.polls.good])
        return self.sends.ok | (self.sends.info & np.isin(self.sends.value, seen))

    def furthest_read(self) -> int:
        """The largest offset that an ok poll returned; -1 if there was none."""
        offsets = self.polls.offset[self.polls.good]
        return int(offsets.max()) if len(offsets) else NO_OFFSET


def _ints(table: pa.Table, name: str, missing: int = -1) -> Ints:
    column = table[name].combine_chunks()
    return np.asarray(pc.fill_null(column, pa.scalar(missing, column.type)).to_numpy(zero_copy_only=False), np.int64)


def _words(table: pa.Table, name: str) -> npt.NDArray[np.object_]:
    return np.asarray(table[name].combine_chunks().to_numpy(zero_copy_only=False), dtype=object)


def _is(table: pa.Table, name: str, word: str) -> Bools:
    return np.asarray(pc.fill_null(pc.equal(table[name], word), False).to_numpy(), dtype=np.bool_)


def view_of(topic: str, partition: int, table: pa.Table) -> PartitionView:
    """The view of one topic-partition's rows (harness.history.read.PLAIN_SCHEMA), of all processes."""
    sends = table.filter(pc.equal(table["kind"], schema.SEND))
    polls = table.filter(pc.equal(table["kind"], schema.POLL))
    reserves = table.filter(pc.equal(table["kind"], schema.RESERVE)).to_pylist()
    finals = table.filter(pc.and_(pc.equal(table["kind"], schema.FINAL_READ), pc.equal(table["outcome"], schema.OK)))
    ends = [offset for offset in finals["offset"].to_pylist() if offset is not None]
    ok, fail = _is(sends, "outcome", schema.OK), _is(sends, "outcome", schema.FAIL)
    return PartitionView(
        topic=topic,
        partition=partition,
        sends=Sends(
            value=value_of(_ints(sends, "producer"), _ints(sends, "sequence")),
            offset=_ints(sends, "offset"),
            ok=ok,
            fail=fail,
            info=~(ok | fail),
            acks=_ints(sends, "acks", -2),
            invoked_ns=_ints(sends, "invoked_ns"),
            completed_ns=_ints(sends, "completed_ns"),
            process=_words(sends, "process"),
        ),
        polls=Polls(
            value=value_of(_ints(polls, "producer"), _ints(polls, "sequence")),
            offset=_ints(polls, "offset"),
            valid=~_is_false(polls, "valid"),
            good=_is(polls, "outcome", schema.OK),
            completed_ns=_ints(polls, "completed_ns"),
            process=_words(polls, "process"),
        ),
        reservations=tuple(
            Reservation(producer=row["producer"], first=row["sequence"], count=row["count"]) for row in reserves
        ),
        final_offset=max(ends) if ends else None,
    )


def _is_false(table: pa.Table, name: str) -> Bools:
    return np.asarray(pc.fill_null(pc.invert(table[name]), False).to_numpy(), dtype=np.bool_)


def sender(view: PartitionView, row: int) -> dict[str, Any]:
    """The evidence that a send is: who sent what when, with which acks, and what came of it."""
    sends = view.sends
    outcome = schema.OK if sends.ok[row] else schema.FAIL if sends.fail[row] else schema.INFO
    return {
        **identity_of(int(sends.value[row])),
        "offset": _offset(sends.offset[row]),
        "process": sends.process[row],
        "outcome": outcome,
        "acks": int(sends.acks[row]),
        "invoked_ns": int(sends.invoked_ns[row]),
        "completed_ns": int(sends.completed_ns[row]),
    }


def reader(view: PartitionView, row: int) -> dict[str, Any]:
    """The evidence that a read is."""
    polls = view.polls
    return {
        **identity_of(int(polls.value[row])),
        "offset": _offset(polls.offset[row]),
        "process": polls.process[row],
        "completed_ns": int(polls.completed_ns[row]),
    }


def _offset(offset: Any) -> int | None:
    return None if offset < 0 else int(offset)


Evidence = Mapping[str, Any]
