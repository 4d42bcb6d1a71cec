"""One replica of a partition as its directory has it, and the comparison of replicas.

A broker's partition directory holds segments named after their first offset, indexes, the leader-epoch checkpoint and
more. `examine` reads the files of several replicas once and says where each log ends, what is corrupt, and at which
offsets they hold different records.

A follower appends the batches that it fetched byte for byte, so replicas that agree are equal byte for byte, divided
into files at other places. Replicas at the same offset are therefore compared as blocks of bytes, and what is equal
everywhere has its headers and checksums checked once for all of them. Where blocks differ, entries are taken one by one
from the replica that is behind, decoded, and compared record by record until all are at one offset again. Batches that
were cut or compressed differently are no difference. Nor are segment borders (each broker rolls its own files) and the
first offset (retention). Compaction, also each broker's own, removes records, so for a compacted topic a record that
one replica lacks is no difference either (`compacted=True`).

Compared are key, value, headers, timestamp, control type, and the leader epoch and producer where the format has
them. An offset is compared among the replicas whose log begins at or before it and ends after it: a follower that lags
is not wrong, and does not end the comparison of the others.

Limits: a directory that a broker is writing to may be read, but its end is then a torn moment; compare
copies taken when quiet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
import pyarrow as pa

from kafkafiles import checkpoints
from kafkafiles.batches import Corrupt, Record, records
from kafkafiles.columns import SCHEMA, HeaderArray, read_arrow_batches, read_headers
from kafkafiles.errors import ParseError
from kafkafiles.stored import segment_paths
from kafkafiles.walk import ANY_OFFSET, Alike, ByteArray, EpochRun, Slice, Walker, check_ahead, compiled, whole

_PARTITION: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,10})(?:\.[0-9a-f]{32}-(?:delete|future|stray))?")

REPLICA_SCHEMA: Final = SCHEMA.insert(0, pa.field("segment", pa.int64(), nullable=False))
"""`SCHEMA` and before it the base offset of the segment that the record is in; `position` is within that segment."""

Broker = TypeVar("Broker", int, str)
Passed = Callable[[Sequence[Broker], ByteArray], None]
"""Is told of whole entries, one after another, and which brokers have them; the bytes are overwritten afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One .log file. Its entries are sound up to the byte `end`, which is not its size if a problem ends the reading;
    `records` is how many the headers announce (those in compressed messages of formats 0 and 1 are not known).
    """

    base_offset: int
    path: Path
    size: int
    end: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentProblem:
    """Bytes of one segment that cannot be trusted."""

    segment: int
    corrupt: Corrupt


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A partition directory. Offsets: `start_offset` is the first that may be there, `leo` (log end offset) the next
    to be written.

    `epochs` is the leader-epoch checkpoint, None where there is none (before 0.11); `epoch_runs` are the epochs that
    the batches themselves carry, in log order. `problems` are all places where headers or checksums say that something
    is wrong; of a compressed message of formats 0 and 1 that is the wrapper's checksum. `notes` says what else is odd
    about the directory: offsets that go back, a checkpoint that cannot be read.
    """

    path: Path
    topic: str
    partition: int
    start_offset: int
    leo: int
    segments: tuple[Segment, ...]
    epochs: checkpoints.LeaderEpochCheckpoint | None
    epoch_runs: tuple[EpochRun, ...]
    problems: tuple[SegmentProblem, ...]
    notes: tuple[str, ...] = ()

    @property
    def corruption(self) -> tuple[SegmentProblem, ...]:
        """The problems that no crash of a broker explains: zeros and a torn entry at the log's end are normal."""
        last = self.segments[-1].base_offset if self.segments else -1
        return tuple(
            problem
            for problem in self.problems
            if problem.corrupt.kind not in ("zero-padding", "torn") or problem.segment != last
        )

    def record_batches(self) -> Iterator[pa.RecordBatch | SegmentProblem]:
        """All records in log order as record batches of `REPLICA_SCHEMA`, every checksum verified."""
        for segment in self.segments:
            for found in read_arrow_batches(segment.path):
                if isinstance(found, Corrupt):
                    yield SegmentProblem(segment=segment.base_offset, corrupt=found)
                else:
                    base = pa.array(np.full(found.num_rows, segment.base_offset, dtype=np.int64))
                    yield pa.RecordBatch.from_arrays([base, *found.columns], schema=REPLICA_SCHEMA)

    def table(self) -> tuple[pa.Table, list[SegmentProblem]]:
        """All records as one table of `REPLICA_SCHEMA`, and what is wrong. For replicas that fit in memory."""
        pieces: list[pa.RecordBatch] = []
        problems: list[SegmentProblem] = []
        for found in self.record_batches():
            (problems if isinstance(found, SegmentProblem) else pieces).append(found)
        return pa.Table.from_batches(pieces, REPLICA_SCHEMA), problems


class RecordsByOffset:
    """The records of a replica by their offsets: the headers are read once, and of the batches only those are decoded
    that have an offset which is asked for.
    """

    def __init__(self, replica: Replica) -> None:
        self._segments = replica.segments
        self._decoded: dict[tuple[int, int], dict[int, Record | Corrupt]] = {}

    def at(self, offset: int) -> Record | Corrupt | None:
        """What lies at an offset; None if nothing does. Damage lies at the last offset of its batch."""
        for number, headers in enumerate(self._headers):
            entry = int(np.searchsorted(headers["last_offset"], offset))
            if entry < len(headers):
                key = (number, entry)
                if key not in self._decoded:
                    self._decoded[key] = self._decode(number, entry)
                return self._decoded[key].get(offset)
        return None

    @cached_property
    def _headers(self) -> list[HeaderArray]:
        """Of each segment the headers of its sound entries."""
        return [read_headers(segment.path)[0] for segment in self._segments]

    def _decode(self, number: int, entry: int) -> dict[int, Record | Corrupt]:
        head = self._headers[number][entry]
        with self._segments[number].path.open("rb") as file:
            file.seek(int(head["position"]))
            data = file.read(int(head["size"]))
        found: dict[int, Record | Corrupt] = {}
        for one in records(data):
            if isinstance(one, Corrupt):
                found.setdefault(int(head["last_offset"]), one)
            else:
                found[one.offset] = one
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Generic[Broker]):
    """One offset at which replicas hold different records. None: this replica has no record there.

    `fields` names what differs (`key`, `value`, `headers`, `timestamp_ms`, `leader_epoch`, …; `record` if
    it is missing somewhere).
    """

    offset: int
    fields: tuple[str, ...]
    records: Mapping[Broker, Record | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination(Generic[Broker]):
    """Replicas of one partition as read together: each of them, and the first offsets at which they differ (`more`:
    there are others).
    """

    replicas: Mapping[Broker, Replica]
    differences: tuple[Difference[Broker], ...]
    more: bool


# Reading


def topic_partition_of(path: Path) -> tuple[str, int]:
    """Topic and partition in a directory's name, `t-0` or `t-0.<uuid>-delete`. Raises ParseError."""
    found = _PARTITION.fullmatch(path.name)
    if found is None:
        raise ParseError(f"{path}: not named after a topic and a partition, as in 'orders-0'")
    return found[1], int(found[2])


def read_replica(directory: Path) -> Replica:
    """Read a partition directory. Raises ParseError for a path that is no partition directory, or if a file cannot be
    read; what is wrong inside it is in the result.
    """
    return examine({0: directory}).replicas[0]


def examine(
    directories: Mapping[Broker, Path],
    *,
    compacted: bool = False,
    limit: int | None = None,
    passed: Passed[Broker] | None = None,
    within: Mapping[Broker, Sequence[Slice]] | None = None,
) -> Examination[Broker]:
    """Read the replicas of one partition and compare them: all differences, or the first `limit` by offset.

    `passed` is given the bytes of all entries as they are read. Of a part of the replicas (kafkafiles.parts) only what
    is `within` it is read. Raises ParseError as `read_replica` does.
    """
    walkers = {
        broker: Walker(slices_of(directory) if within is None else within[broker])
        for broker, directory in directories.items()
    }
    comparison = _Comparison(walkers, compacted, passed)
    try:
        found = list(islice(comparison.differences(), None if limit is None else limit + 1))
        for broker, walker in walkers.items():  # what comes after the last difference wanted
            _walk_to_end(broker, walker, passed)
    finally:
        comparison.close()
    return Examination(
        replicas={broker: _replica(directory, walkers[broker]) for broker, directory in directories.items()},
        differences=tuple(found[:limit]),
        more=limit is not None and len(found) > limit,
    )


def slices_of(directory: Path) -> list[Slice]:
    """All segments of a partition directory, whole. Raises ParseError for a path that is no partition directory, or if
    a segment cannot be read.
    """
    if not directory.is_dir():
        raise ParseError(f"{directory}: not a directory; expected a partition's, as in 'orders-0'")
    topic_partition_of(directory)
    return [whole(path) for path in segment_paths(directory)]


def _walk_to_end(broker: Broker, walker: Walker, passed: Passed[Broker] | None) -> None:
    told = partial(passed, [broker]) if passed is not None else None
    while not walker.exhausted:
        if check_ahead([walker], walker.ahead(), ANY_OFFSET, told):
            continue
        entry = walker.step()
        if told is not None and entry is not None:
            told(entry.data)


def _replica(directory: Path, walker: Walker) -> Replica:
    """The replica as an exhausted walker has read it."""
    topic, partition = topic_partition_of(directory)
    epochs, notes = _epochs(directory)
    return Replica(
        path=directory,
        topic=topic,
        partition=partition,
        start_offset=walker.start_offset,
        leo=walker.leo,
        segments=tuple(
            Segment(base_offset=each.base_offset, path=each.path, size=each.size, end=each.end, records=each.records)
            for each in walker.segments
        ),
        epochs=epochs,
        epoch_runs=tuple(walker.epochs),
        problems=tuple(
            SegmentProblem(segment=each.base_offset, corrupt=problem)
            for each in walker.segments
            for problem in each.problems
        ),
        notes=(*notes, *(note for each in walker.segments for note in each.notes)),
    )


def _epochs(directory: Path) -> tuple[checkpoints.LeaderEpochCheckpoint | None, tuple[str, ...]]:
    try:
        return checkpoints.read_leader_epoch_checkpoint(directory / checkpoints.LEADER_EPOCHS), ()
    except FileNotFoundError:
        return None, ()
    except ParseError as error:
        return None, (str(error),)


# Comparing


class _Comparison(Generic[Broker]):
    """Several walkers, moved in step. `_held` are the records of entries already passed that
    the others have not come to yet.
    """

    def __init__(self, walkers: Mapping[Broker, Walker], compacted: bool, passed: Passed[Broker] | None) -> None:
        self._walkers: Mapping[Broker, Walker] = walkers
        self._passed: Passed[Broker] | None = passed
        self._alike = Alike() if compiled(list(walkers.values())) else None
        self._compacted = compacted
        self._held: dict[Broker, dict[int, Record]] = {broker: {} for broker in walkers}
        self._compared = -1  # every difference up to this offset has been given

    def close(self) -> None:
        for walker in self._walkers.values():
            walker.close()

    def differences(self) -> Iterator[Difference[Broker]]:
        """All of them, by offset."""
        while live := [walker for walker in self._walkers.values() if not walker.exhausted]:
            low = min(walker.reached for walker in live)
            front = [walker for walker in live if walker.reached == low]
            border = self._border(low, front)
            if border <= low + 1 or not self._pass_over_equal(front, border):
                self._take_one_each(border)
            yield from self._settle()

    def _border(self, low: int, front: Sequence[Walker]) -> int:
        """The first offset above `low` at which the set of replicas to compare changes."""
        border = ANY_OFFSET
        for walker in self._walkers.values():
            if walker in front or (walker.exhausted and walker.leo <= low + 1):
                continue
            border = min(border, max(walker.start_offset, low + 1))
        return border

    def _pass_over_equal(self, front: list[Walker], border: int) -> bool:
        """Pass over sound entries below `border` that all walkers at the front have in common; False if none."""
        data = self._alike.ahead(front) if self._alike else _equal_bytes([walker.ahead() for walker in front])
        told = None
        if self._passed is not None:
            told = partial(self._passed, [broker for broker, walker in self._walkers.items() if walker in front])
        return check_ahead(front, data, border, told)

    def _take_one_each(self, border: int) -> None:
        """Pass over one entry of each replica that is behind, and hold its records if they are to be compared."""
        live = {broker: walker for broker, walker in self._walkers.items() if not walker.exhausted}
        low = min(walker.reached for walker in live.values())
        front = {broker: walker for broker, walker in live.items() if walker.reached == low}
        taken = {broker: entry for broker, walker in front.items() if (entry := walker.step()) is not None}
        alike = len(taken) == len(front) and _all_equal([entry.data for entry in taken.values()])
        if self._passed is not None:
            for broker, entry in taken.items():
                self._passed([broker], entry.data)
        for broker, entry in taken.items():
            if not alike or entry.header.last_offset >= border:
                self._held[broker].update((record.offset, record) for record in entry.records())

    def _settle(self) -> Iterator[Difference[Broker]]:
        """Compare the held records up to the offset that every replica has passed."""
        live = [walker.reached for walker in self._walkers.values() if not walker.exhausted]
        upto = min(live, default=ANY_OFFSET)
        if not any(self._held.values()):
            self._compared = max(self._compared, upto)
            return
        offsets = sorted({offset for held in self._held.values() for offset in held if offset <= upto})
        for offset in offsets:
            having = {broker for broker, walker in self._walkers.items() if _has_a_say(walker, offset)}
            there = {broker: held.pop(offset, None) for broker, held in self._held.items()}
            if offset > self._compared:
                there = {broker: record for broker, record in there.items() if broker in having}
                if fields := _differing_fields(list(there.values()), self._compacted):
                    yield Difference(offset=offset, fields=fields, records=there)
        self._compared = max(self._compared, upto)


def _has_a_say(walker: Walker, offset: int) -> bool:
    return walker.start_offset <= offset and (not walker.exhausted or offset < walker.leo)


def _all_equal(pieces: Sequence[ByteArray]) -> bool:
    return all(np.array_equal(piece, pieces[0]) for piece in pieces[1:])


def _equal_bytes(blocks: Sequence[ByteArray]) -> ByteArray:
    """The bytes at the beginning that are the same in all blocks."""
    equal = blocks[0][: min(len(block) for block in blocks)]
    for block in blocks[1:]:
        unlike = equal != block[: len(equal)]
        if unlike.any():
            equal = equal[: np.argmax(unlike)]
    return equal


_COMPARED: Final = (
    "key",
    "value",
    "headers",
    "timestamp_ms",
    "timestamp_type",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "sequence",
    "transactional",
    "control",
    "valid",
)


def _differing_fields(there: Sequence[Record | None], compacted: bool) -> tuple[str, ...]:
    """The fields in which records at one offset differ."""
    present = [record for record in there if record is not None]
    missing = len(present) < len(there) and not compacted
    differ = (
        name for name in _COMPARED if any(getattr(other, name) != getattr(present[0], name) for other in present[1:])
    )
    return (*(("record",) if present and missing else ()), *differ)
