"""One replica of a partition as its directory has it, and replicas held against each other.

A broker's partition directory holds segments named after their first offset, with indexes, the leader-epoch
checkpoint and more beside them. `read_replica` reads the headers of all segments; records are decoded when asked for.

`differences` rests on what replication does: a follower appends the batches it fetched byte for byte, so replicas
that agree are equal batch by batch, and comparing bytes is enough. Only where batches differ, in bytes or in where
they end, are they decoded and compared record by record, up to the next offset at which every replica has a batch
that ends there. Segment borders may differ (each broker rolls its own files), and so may the first offset
(retention); both are no difference. Compaction, also each broker's own, removes records, so for a compacted topic a
record that one replica lacks is no difference either (`compacted=True`).

Compared are key, value, headers, timestamp, control type, and the leader epoch and producer where the format has
them; not how records are batched or compressed. Records above the smallest log end offset are not compared: a
follower that lags is not wrong.

Limits: a directory that a broker is writing to may be read, but its end is then a torn moment; compare copies taken
when quiet.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from harness.formats import checkpoints
from harness.formats.batches import Corrupt, Record, records
from harness.formats.columns import (
    HEADER_DTYPE,
    SCHEMA,
    HeaderArray,
    read_arrow_batches,
    read_checksum_problems,
    read_headers,
)
from harness.formats.errors import ParseError

_BLOCK_BYTES: Final = 1024 * 1024
"""What is read of each replica at a time: small enough to be compared out of the processor's cache."""
_BLOCK_BATCHES: Final = 4096
_PARTITION: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,10})(?:\.[0-9a-f]{32}-(?:delete|future|stray))?")
_SEGMENT: Final = re.compile(r"\d{20}\.log")

REPLICA_SCHEMA: Final = SCHEMA.insert(0, pa.field("segment", pa.int64(), nullable=False))
"""`SCHEMA` and before it the base offset of the segment that the record is in; `position` is within that segment."""

IntArray: TypeAlias = npt.NDArray[np.int64]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
Broker = TypeVar("Broker", int, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One .log file. `headers` has a row for each sound entry; `end` is the byte after the last of them.

    `problem` is what ends the reading before the file's end: `zero-padding` and `torn` are normal on a broker that
    runs or died.
    """

    base_offset: int
    path: Path
    size: int
    headers: HeaderArray
    problem: Corrupt | None

    @property
    def end(self) -> int:
        return int(self.headers[-1]["position"] + self.headers[-1]["size"]) if len(self.headers) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentProblem:
    """Bytes of one segment that cannot be trusted."""

    segment: int
    corrupt: Corrupt


@dataclass(frozen=True, kw_only=True)
class Replica:
    """A partition directory. Offsets: `start_offset` is the first that may be there, `leo` (log end offset) the next
    to be written.

    `epochs` is the leader-epoch checkpoint, None where there is none (before 0.11). `notes` says what else is odd
    about the directory: offsets that go back, a checkpoint that cannot be read.
    """

    path: Path
    topic: str
    partition: int
    start_offset: int
    leo: int
    segments: tuple[Segment, ...]
    epochs: checkpoints.LeaderEpochCheckpoint | None
    problems: tuple[SegmentProblem, ...]
    notes: tuple[str, ...] = ()

    @property
    def corruption(self) -> tuple[SegmentProblem, ...]:
        """The problems that no crash of a broker explains (see `Segment.problem`), as far as headers show them."""
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

    def checksum_problems(self) -> list[SegmentProblem]:
        """Every place where headers or checksums say that something is wrong; `problems` knows of headers only."""
        return [
            SegmentProblem(segment=segment.base_offset, corrupt=found)
            for segment in self.segments
            for found in read_checksum_problems(segment.path)
        ]

    @cached_property
    def index(self) -> _Index:
        return _index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Generic[Broker]):
    """One offset at which replicas hold different records. None: this replica has no record there.

    `fields` names what differs (`key`, `value`, `headers`, `timestamp_ms`, `leader_epoch`, …; `record` if it is
    missing somewhere).
    """

    offset: int
    fields: tuple[str, ...]
    records: Mapping[Broker, Record | None]


# --- reading --------------------------------------------------------------------------------------------------------


def topic_partition_of(path: Path) -> tuple[str, int]:
    """Topic and partition in a directory's name, `t-0` or `t-0.<uuid>-delete`. Raises ParseError."""
    found = _PARTITION.fullmatch(path.name)
    if found is None:
        raise ParseError(f"{path}: not named after a topic and a partition, as in 'orders-0'")
    return found[1], int(found[2])


def segment_paths(directory: Path) -> list[Path]:
    """The .log files of a partition directory by base offset (those being deleted, cleaned or swapped left out)."""
    return sorted(path for path in directory.iterdir() if _SEGMENT.fullmatch(path.name) and path.is_file())


def read_segment_headers(path: Path) -> Segment:
    """The headers of one segment file. Raises ParseError if the name is not an offset."""
    if not _SEGMENT.fullmatch(path.name):
        raise ParseError(f"{path}: not a segment; expected 20 digits and '.log'")
    headers, problem = read_headers(path)
    return Segment(
        base_offset=int(path.name[:20]), path=path, size=path.stat().st_size, headers=headers, problem=problem
    )


def read_replica(directory: Path) -> Replica:
    """Read a partition directory. Raises ParseError if it is none; what is wrong inside it is in the result."""
    if not directory.is_dir():
        raise ParseError(f"{directory}: not a directory; expected a partition's, as in 'orders-0'")
    topic, partition = topic_partition_of(directory)
    segments = tuple(read_segment_headers(path) for path in segment_paths(directory))
    problems = tuple(
        SegmentProblem(segment=segment.base_offset, corrupt=segment.problem) for segment in segments if segment.problem
    )
    epochs, note = _epochs(directory)
    return Replica(
        path=directory,
        topic=topic,
        partition=partition,
        start_offset=segments[0].base_offset if segments else 0,
        leo=_log_end_offset(segments),
        segments=segments,
        epochs=epochs,
        problems=problems,
        notes=(*note, *_offset_notes(segments)),
    )


def _epochs(directory: Path) -> tuple[checkpoints.LeaderEpochCheckpoint | None, tuple[str, ...]]:
    try:
        return checkpoints.read_leader_epoch_checkpoint(directory / checkpoints.LEADER_EPOCHS), ()
    except FileNotFoundError:
        return None, ()
    except ParseError as error:
        return None, (str(error),)


def _log_end_offset(segments: Sequence[Segment]) -> int:
    for segment in reversed(segments):
        if len(segment.headers):
            return max(int(segment.headers[-1]["last_offset"]) + 1, segments[-1].base_offset)
    return segments[-1].base_offset if segments else 0


def _offset_notes(segments: Sequence[Segment]) -> Iterator[str]:
    """Where offsets go back, or are not in the segment they should be in."""
    before = -1
    for segment in segments:
        last = segment.headers["last_offset"]
        base = segment.headers["base_offset"]
        first = np.where(base >= 0, base, last)
        floor = np.concatenate(([before], last[:-1])) if len(last) else last
        back = np.flatnonzero(first <= floor)
        for at in back[:10]:
            yield (
                f"{segment.path.name}: offset {first[at]} at byte {segment.headers[at]['position']} "
                f"comes after offset {floor[at]}"
            )
        if len(first) and first[0] < segment.base_offset:
            yield f"{segment.path.name}: begins with offset {first[0]}"
        before = int(last.max(initial=before))


# --- comparing ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """All entries of a replica in log order: which segment each is in, where, and where it ends."""

    segment: IntArray
    position: IntArray
    size: IntArray
    last_offset: IntArray


def _index(replica: Replica) -> _Index:
    headers = [segment.headers for segment in replica.segments] or [np.empty(0, dtype=HEADER_DTYPE)]
    lengths = [len(each) for each in headers]
    joined = np.concatenate(headers)
    return _Index(
        segment=np.repeat(np.arange(len(lengths)), lengths),
        position=np.ascontiguousarray(joined["position"]),
        size=np.ascontiguousarray(joined["size"]),
        last_offset=np.ascontiguousarray(joined["last_offset"]),
    )


class _Cursor:
    """One replica while it is walked: the next entry, and the records read beyond what was compared."""

    def __init__(self, replica: Replica, first_offset: int) -> None:
        self.replica = replica
        self.index = replica.index
        self.at = int(np.searchsorted(self.index.last_offset, first_offset))
        self.reached = first_offset - 1
        self.pending: dict[int, Record] = {}
        self._buffer = bytearray()
        self._file: tuple[int, int] | None = (
            None  # segment, descriptor: segments come in order, one at a time is enough
        )

    def __len__(self) -> int:
        return len(self.index.last_offset) - self.at

    def ends(self, count: int) -> IntArray:
        return self.index.last_offset[self.at : self.at + count]

    def sizes(self, count: int) -> IntArray:
        return self.index.size[self.at : self.at + count]

    def read(self, count: int) -> ByteArray:
        """The bytes of the next `count` entries; they are overwritten by the next call."""
        total = int(self.index.size[self.at : self.at + count].sum())
        if total > len(self._buffer):
            self._buffer = bytearray(max(total, _BLOCK_BYTES))
        whole = memoryview(self._buffer)
        segment = self.index.segment[self.at : self.at + count]
        begin = filled = 0
        while begin < count:
            number = int(segment[begin])
            end = int(np.searchsorted(segment, number, side="right"))
            last = self.at + end - 1
            start = int(self.index.position[self.at + begin])
            stop = int(self.index.position[last] + self.index.size[last])
            self._fill(number, start, whole[filled : filled + stop - start])
            filled += stop - start
            begin = end
        return np.frombuffer(self._buffer, dtype=np.uint8, count=total)

    def _fill(self, segment: int, position: int, into: memoryview) -> None:
        while len(into):
            count = os.preadv(self._descriptor(segment), [into], position)
            if count == 0:
                path = self.replica.segments[segment].path
                raise ParseError(
                    f"{path}: cut at byte {position} while it was read; compare copies, or a broker at rest"
                )
            position += count
            into = into[count:]

    def advance(self, count: int) -> None:
        self.at += count
        self.reached = max(self.reached, int(self.index.last_offset[self.at - 1]))

    def records_of(self, entry: ByteArray, ahead: int) -> Iterator[Record]:
        """The records of the entry `ahead` entries from here, with their place in the file."""
        position = int(self.index.position[self.at + ahead])
        for found in records(entry.tobytes()):
            if isinstance(found, Record):
                yield replace(found, position=position)

    def take_to(self, offset: int) -> None:
        """Decode entries into `pending` until one ends at `offset` or beyond."""
        while self.reached < offset and len(self):
            self.pending.update((record.offset, record) for record in self.records_of(self.read(1), 0))
            self.advance(1)

    def give_to(self, offset: int) -> dict[int, Record]:
        """The pending records up to and including `offset`; they are pending no more."""
        given = {at: record for at, record in self.pending.items() if at <= offset}
        self.pending = {at: record for at, record in self.pending.items() if at > offset}
        return given

    def _descriptor(self, segment: int) -> int:
        if self._file is None or self._file[0] != segment:
            self.close()
            self._file = segment, os.open(self.replica.segments[segment].path, os.O_RDONLY | os.O_CLOEXEC)
        return self._file[1]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file[1])
            self._file = None


def differences(replicas: Mapping[Broker, Replica], *, compacted: bool = False) -> Iterator[Difference[Broker]]:
    """Where replicas of one partition hold different records, by offset, below the smallest log end offset.

    Lazy: take as many as are wanted. Offsets below the largest start offset are not compared either.
    """
    if len(replicas) < 2:
        return
    first = max(replica.start_offset for replica in replicas.values())
    stop = min(replica.leo for replica in replicas.values())
    cursors = {broker: _Cursor(replica, first) for broker, replica in replicas.items()}
    try:
        yield from _walk(cursors, first, stop, compacted)
    finally:
        for cursor in cursors.values():
            cursor.close()


def compare(
    replicas: Mapping[Broker, Replica], *, compacted: bool = False, limit: int | None = None
) -> list[Difference[Broker]]:
    """The first `limit` (None: all) `differences`, as a list."""
    return list(islice(differences(replicas, compacted=compacted), limit))


def _walk(cursors: Mapping[Broker, _Cursor], first: int, stop: int, compacted: bool) -> Iterator[Difference[Broker]]:
    every = list(cursors.values())
    while any(cursor.pending or (cursor.reached < stop - 1 and len(cursor)) for cursor in every):
        run = 0 if any(cursor.pending for cursor in every) else _run(every, stop)
        if run:
            yield from _compare_run(cursors, run, first, stop, compacted)
            continue
        ends = [int(cursor.ends(1)[0]) for cursor in every if cursor.reached < stop - 1 and len(cursor)]
        upto = min(stop - 1, max(ends, default=stop - 1))
        for cursor in every:
            cursor.take_to(upto)
        held = {broker: cursor.give_to(upto) for broker, cursor in cursors.items()}
        yield from _compare_records(held, first, stop, compacted)
        if upto >= stop - 1:
            return


def _run(cursors: Sequence[_Cursor], stop: int) -> int:
    """How many next entries end at the same offsets and have the same sizes everywhere, in one block and below
    `stop`.
    """
    count = min(_BLOCK_BATCHES, *(len(cursor) for cursor in cursors))
    if count == 0:
        return 0
    ends, sizes = cursors[0].ends(count), cursors[0].sizes(count)
    same = ends < stop
    for cursor in cursors[1:]:
        same &= (cursor.ends(count) == ends) & (cursor.sizes(count) == sizes)
    if not same.all():
        count = int(np.argmin(same))
    within = int(np.searchsorted(np.cumsum(sizes[:count]), _BLOCK_BYTES, side="right"))
    return min(count, max(within, 1))


def _same(one: ByteArray, other: ByteArray) -> bool:
    """Whether the bytes are equal; they have the same length. Eight at a time, as far as that goes."""
    even = len(one) & ~7
    return bool((one[:even].view(np.int64) == other[:even].view(np.int64)).all()) and bool(
        (one[even:] == other[even:]).all()
    )


def _compare_run(
    cursors: Mapping[Broker, _Cursor], run: int, first: int, stop: int, compacted: bool
) -> Iterator[Difference[Broker]]:
    """The next `run` entries, which end alike everywhere: by their bytes, and where those differ by their records."""
    every: list[_Cursor] = list(cursors.values())
    blocks = [cursor.read(run) for cursor in every]
    if not all(_same(block, blocks[0]) for block in blocks[1:]):
        edges: list[int] = [0, *np.cumsum(every[0].sizes(run)).tolist()]
        for ahead, (begin, end) in enumerate(pairwise(edges)):
            pieces = [block[begin:end] for block in blocks]
            if not all(_same(piece, pieces[0]) for piece in pieces[1:]):
                held = {
                    broker: {record.offset: record for record in cursor.records_of(piece, ahead)}
                    for (broker, cursor), piece in zip(cursors.items(), pieces, strict=True)
                }
                yield from _compare_records(held, first, stop, compacted)
    for cursor in every:
        cursor.advance(run)


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


def _compare_records(
    held: Mapping[Broker, Mapping[int, Record]], first: int, stop: int, compacted: bool
) -> Iterator[Difference[Broker]]:
    offsets = sorted({offset for each in held.values() for offset in each if first <= offset < stop})
    for offset in offsets:
        there = {broker: each.get(offset) for broker, each in held.items()}
        present = [record for record in there.values() if record is not None]
        if len(present) < len(there) and not compacted:
            fields: tuple[str, ...] = ("record",)
        else:
            fields = ()
        model = present[0]
        fields += tuple(
            name for name in _COMPARED if any(getattr(other, name) != getattr(model, name) for other in present[1:])
        )
        if fields:
            yield Difference(offset=offset, fields=fields, records=dict(there))
