"""Screening: which rows of a large partition the checks need.

Nearly every record of a load of a hundred million is acknowledged at an offset and read at that offset, in order. Such
records are recognised in one scan, a row group at a time, with the help of one table: which value lies at which offset.
The rows that remain are few enough for the exact checks (checks.anomalies), which find in them what they would find
in the whole.

A send is *plain* if it is ok, of no transaction, not answered late (checks.service.LATE_NS), and lies above all plain
sends before it of its process: in offset, in value, and not earlier invoked. So a process's plain sends are in order,
and each has an offset and a value of its own. A poll is plain if it is ok, of no transaction, undamaged, and there is a
plain send of that value at that offset. All other rows are *irregular*, and kept. Of the plain ones, those at these
offsets are kept as well:

    an irregular row has it, or a value whose plain send has it       duplicates, order, reads of what failed, …
    no plain poll has returned it                                     lost, unseen
    a reader stepped there, or left, other than to offset + 1,
        or stepped over it, in one stay of the partition              skips, returns
    it is the furthest that was read, a process's first, or what a reader was given last
    it lies at or beyond the end that a final read came to        lost after it was read

With an offset all its plain rows are kept; plain values and plain offsets are one to one, so nothing that is kept has
a witness that is not. Between kept rows that were no neighbours all steps are from an offset to the next, so ranks
over kept offsets show no step of another size that was not there. Last come the plain sends before and after every
kept send, in the order of sending: theirs are the only steps that are not upward by definition.

If a run has a timeline and copies of replicas, the rows to compare with these are kept as well (analysis.rows_needed),
and the records of the copies that concern kept rows (analysis.copied_records).

Memory is 10 bytes an offset and 4 bytes a row, HELD_BYTES of columns, and what is kept; where states are known two
bytes an offset more, and one for each moment of copies. `scan` gives None, and the caller takes the whole, where the
layout is not that of large histories. Such a layout is not ordered by operation, or has a process that both sends and
reads, producers of several processes with one number, or offsets with holes throughout.

A column whose footer says that it holds one value in a row group is not read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.prefetch import in_order
from analysis.real_time_lag import Firsts
from analysis.rows_needed import EndAnswers, RowsOwed
from checks.service import LATE_NS
from checks.view import SEQUENCE_BITS, Bools, Ints, value_of
from evidence.history import schema
from evidence.history.read import PLAIN_SCHEMA, WORDS
from evidence.spans import NEVER_NS
from kafkafiles.compiled import compiled

NONE: Final = -1
LARGEST: Final = 2**63 - 1
SPARSE: Final = 4
"""With more offsets than this for each row, a table by offset would take more memory than the rows."""
LARGEST_SPAN: Final = 2**31 - 1
MOST_TIMES: Final = 2**16 - 1
NOT_CHECKED: Final = ("topic", "partition", "error", "timestamp_ms", "leader_epoch")
IDENTITY: Final = ("offset", "producer", "sequence")
OF_RESERVES: Final = ("process", "outcome", "producer", "sequence", "count")
"""The columns of a reservation that checks read. Most row groups of a producer keep reservations only."""
ANSWERED: Final = ("process", "offset", "invoked_ns", "completed_ns")
CHECKED: Final = [name for name in schema.COLUMNS if name not in NOT_CHECKED]
LARGE_ROWS: Final = 4_000_000
"""From so many rows on threads read the row groups of a partition: the other partitions may not fill the cores."""
READ_AGAIN: Final = ("kind", "outcome", "op", "invoked_ns", "completed_ns")
"""Columns that more than one step reads: decoded columns are held as long as there is room for them."""
HELD_BYTES: Final = 64 * 1024 * 1024
"""Room for decoded columns of one topic-partition."""
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Screened:
    """The rows that checks need, in their original order, and the numbers of those that were left out."""

    table: pa.Table
    sends: int
    """Sends left out; all of them are ok."""
    polls: int
    """Polls left out; all of them are ok, and of values that are in no poll that was kept."""
    values: int
    """Values of the polls left out."""
    firsts: Firsts
    """The values that came first in polls, of all rows."""


@dataclass(slots=True)
class _Work:
    """What is known by offset; index 0 is offset `base`."""

    base: int
    value: Ints
    """Of the plain send at each offset; NONE if there is none."""
    read: npt.NDArray[np.uint8]
    keep: npt.NDArray[np.uint8]
    times: Ints
    """Times at which the cluster stated something of the partition, ascending. They divide the run into eras."""
    era: npt.NDArray[np.uint16]
    """The era in which the plain send at each offset was invoked: how many of the times are not after it."""
    irregular: list[Ints] = field(default_factory=list)
    """Values of irregular sends and polls."""
    furthest: int = NONE
    firsts: dict[str, list[_Firsts]] = field(default_factory=dict)
    """The rows that came first in a poll, by process."""


class _File:
    """One sealed file, its columns a row group at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._readers = threading.local()
        opened = self._open()
        footer = self._footer = opened.metadata
        self.rows: int = footer.num_rows
        self.ahead = False
        """Whether threads read the row groups that come next."""
        self._columns = {name: place for place, name in enumerate(opened.schema_arrow.names)}
        self._groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
        self.slots: npt.NDArray[np.int32] = np.full(self.rows, NONE, np.int32)
        """For each row, the index of its offset if the row is plain, else NONE."""
        self._irregular: dict[int, dict[str, Ints]] = {}
        self._kinds: dict[int, set[str | None]] = {}
        self.room_bytes = 0
        """Room for columns that are read again."""
        self._held: dict[tuple[int, str], pa.ChunkedArray] = {}

    def _open(self, footer: pq.FileMetaData | None = None) -> pq.ParquetFile:
        """A reader of this thread's own."""
        self._readers.own = pq.ParquetFile(
            self._path, metadata=footer, read_dictionary=WORDS, page_checksum_verification=True
        )
        return self._readers.own

    @property
    def process(self) -> str:
        """The process whose rows they all are."""
        return str(self.constant(0, "process")[1])

    def groups(self) -> Iterator[tuple[int, slice]]:
        """The row groups, and which rows they are."""
        first = 0
        for number, group in enumerate(self._groups):
            yield number, slice(first, first + group.num_rows)
            first += group.num_rows

    def each(self, work: Callable[[int, slice], Part]) -> Iterator[tuple[int, slice, Part]]:
        """The row groups, and what the work on each comes to, which threads may be at: it must not depend on others."""
        groups = list(self.groups())
        found = in_order((partial(work, *group) for group in groups), ahead=self.ahead and len(groups) > 1)
        for group, part in zip(groups, found, strict=True):
            yield *group, part

    def constant(self, group: int, name: str) -> tuple[bool, Any]:
        """Whether the footer says that all rows of a group have one value, and that value."""
        statistics = self._groups[group].column(self._columns[name]).statistics
        if statistics is None or not statistics.has_null_count:
            return False, None
        if statistics.null_count == self._groups[group].num_rows:
            return True, None
        alike = statistics.null_count == 0 and statistics.has_min_max and statistics.min == statistics.max
        return alike, statistics.min if alike else None

    def read(self, group: int, *names: str) -> dict[str, Any]:
        """Columns of a row group: arrays, numbers with NONE for null, or the one value where it is one."""
        found = {name: self.constant(group, name) for name in names}
        result: dict[str, Any] = {name: value for name, (alike, value) in found.items() if alike}
        result |= {name: self._held[group, name] for name in names if (group, name) in self._held}
        wanted = [name for name in names if name not in result]
        if wanted:
            reader = getattr(self._readers, "own", None) or self._open(self._footer)
            table = reader.read_row_group(group, columns=wanted, use_threads=False)
            result |= {name: table[name] for name in wanted}
            for name in (name for name in wanted if name in READ_AGAIN):
                if result[name].nbytes <= self.room_bytes:
                    self.room_bytes -= result[name].nbytes
                    self._held[group, name] = result[name]
        return result

    def kinds(self, group: int) -> set[str | None]:
        """The kinds of rows in a row group."""
        if group not in self._kinds:
            column = self.read(group, "kind")["kind"]
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else ()
            words = {word for chunk in chunks for word in chunk.dictionary.to_pylist()}
            self._kinds[group] = words if isinstance(column, pa.ChunkedArray) else {column}
        return self._kinds[group]

    def kinds_of(self, group: int, _: slice) -> set[str | None]:
        """As `kinds`, for `each`."""
        return self.kinds(group)

    def bounds(self, name: str) -> tuple[int, int] | None:
        """The least and the largest number in a column; None if the footer does not say."""
        lows, highs = [], []
        for group in self._groups:
            statistics = group.column(self._columns[name]).statistics
            if statistics is None or not statistics.has_null_count:
                return None
            if statistics.null_count == group.num_rows:
                continue
            if not statistics.has_min_max:
                return None
            lows.append(statistics.min)
            highs.append(statistics.max)
        return (min(lows), max(highs)) if lows else (NONE, NONE)

    def least(self, group: int, name: str) -> int:
        """No number of a column in a row group is smaller, as far as its footer says; NONE if it does not say."""
        statistics = self._groups[group].column(self._columns[name]).statistics
        return statistics.min if statistics is not None and statistics.has_min_max else NONE

    def largest(self, group: int, name: str) -> int:
        """No number of a column in a row group is larger."""
        statistics = self._groups[group].column(self._columns[name]).statistics
        return statistics.max if statistics is not None and statistics.has_min_max else LARGEST

    def rows_of(self, kind: str, *names: str) -> Iterator[pa.Table]:
        """Columns of all rows of a kind, `kind` itself being the first."""
        forms = pa.schema([PLAIN_SCHEMA.field(name) for name in ("kind", *names)])
        for number, rows in self.groups():
            if kind not in self.kinds(number):
                continue
            count = rows.stop - rows.start
            columns = self.read(number, *forms.names)
            chosen = pa.array(np.flatnonzero(_is(columns["kind"], count, kind)))
            yield _table(columns, chosen, forms)

    def note(self, group: int, rows: slice, **columns: Ints) -> None:
        """Remember the irregular rows of a group, so that their columns, the slowest to read, are not read twice."""
        irregular = self.slots[rows] < 0
        self._irregular[group] = {name: column[irregular] for name, column in columns.items()}

    def take(self, work: _Work) -> Iterator[pa.Table]:
        """The rows that are irregular, or plain at an offset that is kept."""

        def chosen(group: int, rows: slice) -> pa.Table | None:
            slots = self.slots[rows]
            found = np.flatnonzero((slots < 0) | (work.keep[slots] != 0))
            return self._rows(group, found, slots[found], work) if len(found) else None

        for _, _, found in self.each(chosen):
            if found is not None:
                yield found

    def _rows(self, group: int, chosen: Ints, slots: npt.NDArray[np.int32], work: _Work) -> pa.Table:
        """Rows of a group, all its irregular ones among them, as the reader of histories gives them; columns that no
        check looks at are null.
        """
        noted = self._irregular.get(group, {})
        names = [name for name in CHECKED if name not in noted]
        kind = self.read(group, "kind")
        if np.all(_is(kind["kind"], self._groups[group].num_rows, schema.RESERVE)[chosen]):
            names = [name for name in names if name in OF_RESERVES]
        columns = kind | self.read(group, *(name for name in names if name != "kind"))
        value = work.value[slots]
        plain = {
            "offset": slots + np.int64(work.base),
            "producer": value >> SEQUENCE_BITS,
            "sequence": value & ((1 << SEQUENCE_BITS) - 1),
        }
        for name, irregular in noted.items():
            plain[name][slots < 0] = irregular
            columns[name] = pa.chunked_array([pa.array(plain[name], mask=plain[name] == NONE)])
        return _table(columns, pa.array(chosen), PLAIN_SCHEMA, taken=list(noted))


def _table(columns: Mapping[str, Any], chosen: pa.Array, forms: pa.Schema, taken: Sequence[str] = ()) -> pa.Table:
    """A table of rows from columns as `_File.read` returns them; columns that are not given are null."""
    arrays = []
    for form in forms:
        column = columns.get(form.name)
        if isinstance(column, pa.ChunkedArray):
            rows = column if form.name in taken else column.take(chosen)
            arrays.append(rows.cast(form.type).combine_chunks())
        else:
            arrays.append(pa.repeat(pa.scalar(column, form.type), len(chosen)))
    return pa.table(arrays, schema=forms)


def _numbers(column: Any, rows: int) -> Ints:
    """A column of numbers as one array, NONE for null."""
    if isinstance(column, pa.ChunkedArray):
        filled = column.fill_null(NONE) if column.null_count else column
        return np.ascontiguousarray(filled.to_numpy(), dtype=np.int64)
    return np.full(rows, NONE if column is None else column, np.int64)


def _is(column: Any, rows: int, *words: str | bool) -> Bools:
    """Which rows hold one of these words."""
    if not isinstance(column, pa.ChunkedArray):
        return np.full(rows, column in words, np.bool_)
    if pa.types.is_boolean(column.type):
        return np.asarray(column.fill_null(True).to_numpy() == words[0], dtype=np.bool_)
    parts = []
    for chunk in column.chunks:
        wanted = np.array([word in words for word in chunk.dictionary.to_pylist()] + [False], np.bool_)
        parts.append(wanted[chunk.indices.fill_null(len(wanted) - 1).to_numpy(zero_copy_only=False)])
    return np.concatenate(parts)


@dataclass(slots=True)
class Screening:
    """One topic-partition after the first scan of its files, before rows are taken from them."""

    files: Sequence[_File]
    senders: Sequence[_File]
    readers: Sequence[_File]
    late: Sequence[tuple[Ints, Ints]]
    """The irregular sends of each sender: invocation times and values."""
    work: _Work

    @property
    def table(self) -> Ints:
        """The value of the plain send at each offset from `base` on; NONE if there is none."""
        return self.work.value

    @property
    def base(self) -> int:
        return self.work.base

    @property
    def kept(self) -> npt.NDArray[np.uint8]:
        """Which offsets are kept, by `table`."""
        return self.work.keep

    def answers(self) -> pa.Table:
        """The rows of answers to clients that asked for the log's end, with the columns that checks read."""
        found = [table for file in self.files for table in file.rows_of(schema.END_OFFSETS, *ANSWERED)]
        return pa.concat_tables(found) if found else PLAIN_SCHEMA.empty_table().select(["kind", *ANSWERED])

    def finish(self, due: Sequence[RowsOwed], asked: EndAnswers | None = None) -> Screened:
        """The rows that checks need, among them those that are `due` for comparison with copies, states and what was
        `asked`.
        """
        waited = _Waited.of(self.work)
        for file in self.senders:
            _second_scan(file, [one for one in due if one.kind == schema.SEND], None, waited, self.work)
        for file in self.readers:
            _second_scan(file, [one for one in due if one.kind == schema.POLL], asked, waited, self.work)
        _close(self.senders, self.late, self.files, self.work)
        work = self.work
        table = pa.concat_tables([part for file in self.files for part in file.take(work)])
        left_out = [int(_left_out(file.slots, work.keep)) for file in self.files]
        return Screened(
            table=table,
            sends=sum(count for file, count in zip(self.files, left_out, strict=True) if file in self.senders),
            polls=sum(count for file, count in zip(self.files, left_out, strict=True) if file in self.readers),
            values=int(np.count_nonzero(work.read & (work.keep == 0))),
            firsts=waited.firsts(work),
        )


def scan(paths: Sequence[Path], times: Sequence[int] = ()) -> Screening | None:
    """Scan the sealed files of all processes of one topic-partition; None if the checks need every row.

    `times` at which something was stated of the partition, ascending. Raises what Arrow raises on files that are not
    what they should be.
    """
    files = [_File(path) for path in paths]
    rows = sum(file.rows for file in files)
    for file in files:
        file.ahead = rows >= LARGE_ROWS
        file.room_bytes = HELD_BYTES * file.rows // max(rows, 1)
    kinds = [set[str | None]().union(*(found for _, _, found in file.each(file.kinds_of))) for file in files]
    senders = [file for file, of_file in zip(files, kinds, strict=True) if schema.SEND in of_file]
    readers = [file for file, of_file in zip(files, kinds, strict=True) if schema.POLL in of_file]
    work = _work(files, times) if _separate(files, senders, readers) else None
    if work is None:
        return None
    late = [_place(file, work) for file in senders]
    for file in readers:
        if not _match(file, work):
            return None
    _keep_beyond(_ends(files), work)
    return Screening(files, senders, readers, late, work)


def _separate(files: Sequence[_File], senders: Sequence[_File], readers: Sequence[_File]) -> bool:
    """Whether each file is of one process that either sends, as a producer of its own, or reads."""
    processes = [{file.constant(number, "process") for number, _ in file.groups()} for file in files]
    if any(len(of_file) != 1 or (False, None) in of_file for of_file in processes):
        return False
    if len(set().union(*processes)) != len(files) or any(file in readers for file in senders):
        return False
    producers = [file.bounds("producer") for file in senders]
    alike = all(bounds is not None and bounds[0] == bounds[1] for bounds in producers)
    return alike and len(set(producers)) == len(producers)


def _work(files: Sequence[_File], times: Sequence[int]) -> _Work | None:
    """Tables with room for all offsets; None if offsets have too many holes, or there are too many eras."""
    bounds = [file.bounds("offset") for file in files]
    known = [one for one in bounds if one is not None and one[1] >= 0]
    rows = sum(file.rows for file in files)
    base = max(0, min((low for low, _ in known), default=0))
    span = max((high for _, high in known), default=0) - base + 1
    if None in bounds or span > min(SPARSE * rows, LARGEST_SPAN) or len(times) > MOST_TIMES:
        return None
    era = np.zeros(span if times else 0, np.uint16)
    flags = np.zeros(span, np.uint8), np.zeros(span, np.uint8)
    return _Work(base, np.full(span, NONE, np.int64), *flags, np.array(times, np.int64), era)


def _place(file: _File, work: _Work) -> tuple[Ints, Ints]:
    """Enter the plain sends of a file in the table. Returns the invocation times and values of its irregular sends."""
    state = np.full(3, NONE - 1, np.int64)
    invoked, values = [], []
    for number, rows, (send, able, at, identity) in file.each(partial(_sends, file)):
        count = rows.stop - rows.start
        irregular_at, irregular_values = np.empty(count, np.int64), np.empty(count, np.int64)
        irregular = _place_rows(
            send,
            able,
            identity["offset"],
            identity["producer"],
            identity["sequence"],
            at,
            work.base,
            work.value,
            work.keep,
            work.times,
            work.era,
            state,
            file.slots[rows],
            irregular_at,
            irregular_values,
        )
        file.note(number, rows, **identity)
        invoked.append(irregular_at[:irregular].copy())
        values.append(irregular_values[:irregular].copy())
    work.irregular += values
    return np.concatenate(invoked), np.concatenate(values)


def _sends(file: _File, group: int, rows: slice) -> tuple[Bools, Bools, Ints, dict[str, Ints]]:
    """Of a row group: which rows are sends, which may be plain ones; when they were invoked, and of which records."""
    count = rows.stop - rows.start
    columns = file.read(group, "kind", "outcome", "offset", "producer", "sequence", "invoked_ns", "transaction")
    able = _is(columns["outcome"], count, schema.OK)
    if columns["transaction"] is not None:
        able &= _numbers(columns["transaction"], count) < 0
    invoked_ns = _numbers(columns["invoked_ns"], count)
    if file.largest(group, "completed_ns") - file.least(group, "invoked_ns") > LATE_NS:
        able &= _numbers(file.read(group, "completed_ns")["completed_ns"], count) - invoked_ns <= LATE_NS
    identity = {name: _numbers(columns[name], count) for name in IDENTITY}
    return _is(columns["kind"], count, schema.SEND), able, invoked_ns, identity


def _match(file: _File, work: _Work) -> bool:
    """Compare the polls of a file with the table, and keep both ends of irregular steps. False if operations go
    back.
    """
    state = np.array([NONE, NONE, NONE], np.int64)
    steps, changes, firsts = [], [], list[_Firsts]()
    for number, rows, read in file.each(partial(_polls, file)):
        count = rows.stop - rows.start
        identity, op = read.identity, read.op
        irregular_values, irregular_steps = np.empty(count, np.int64), np.empty((count, 4), np.int64)
        first_rows = np.empty((count, 3), np.int64)
        irregular, stepped, begun = _match_rows(
            read.poll,
            read.good,
            read.able,
            identity["offset"],
            identity["producer"],
            identity["sequence"],
            op,
            work.base,
            work.value,
            work.read,
            work.keep,
            state,
            file.slots[rows],
            irregular_values,
            irregular_steps,
            first_rows,
        )
        if irregular < 0:
            return False
        if begun:
            firsts.append(_firsts(file, rows, first_rows[:begun], read))
        file.note(number, rows, **identity)
        work.irregular.append(irregular_values[:irregular].copy())
        steps.append(irregular_steps[:stepped].copy())
        changes.append(op[read.change])
    work.furthest = max(work.furthest, int(state[2]))
    if state[0] >= 0:
        work.keep[int(state[0]) - work.base] = 1
    in_order = np.sort(np.concatenate(changes))
    _keep_steps(np.concatenate(steps), in_order, work)
    work.firsts[file.process] = [one.within_a_stay(in_order) for one in firsts]
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Polls:
    """The rows of a row group of a reader."""

    poll: Bools
    good: Bools
    able: Bools
    """Which may be plain polls."""
    change: Bools
    """Which say that the partition was given or taken."""
    op: Ints
    identity: dict[str, Ints]
    invoked_ns: Ints
    completed_ns: Ints


def _polls(file: _File, group: int, rows: slice) -> _Polls:
    count = rows.stop - rows.start
    columns = file.read(group, "kind", "outcome", "valid", "op", "transaction", "invoked_ns", "completed_ns", *IDENTITY)
    good = _is(columns["outcome"], count, schema.OK)
    able = good.copy()
    if columns["valid"] is not None and columns["valid"] is not True:
        able &= _is(columns["valid"], count, True)
    if columns["transaction"] is not None:
        able &= _numbers(columns["transaction"], count) < 0
    return _Polls(
        poll=_is(columns["kind"], count, schema.POLL),
        good=good,
        able=able,
        change=_is(columns["kind"], count, schema.ASSIGN, schema.REVOKE),
        op=_numbers(columns["op"], count),
        identity={name: _numbers(columns[name], count) for name in IDENTITY},
        invoked_ns=_numbers(columns["invoked_ns"], count),
        completed_ns=_numbers(columns["completed_ns"], count),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Firsts:
    """Rows that came first in a poll, of one row group."""

    before: Ints
    """The offset that the consumer had been given before."""
    op_before: Ints
    op: Ints
    offset: Ints
    value: Ints
    slot: Ints
    invoked_ns: Ints
    completed_ns: Ints

    def where(self, which: Bools) -> _Firsts:
        return _Firsts(**{each.name: getattr(self, each.name)[which] for each in fields(self)})

    def within_a_stay(self, changes: Ints) -> _Firsts:
        """Those for which the consumer kept the partition since the poll before."""
        stays = [np.searchsorted(changes, op, side="right") for op in (self.op_before, self.op)]
        return self.where((stays[0] == stays[1]) & (self.value >= 0) & (self.invoked_ns >= 0))


def _firsts(file: _File, rows: slice, found: Ints, read: _Polls) -> _Firsts:
    """The first rows of polls. `found` has for each the row, and the offset and operation before it."""
    at, identity = found[:, 0].copy(), read.identity
    return _Firsts(
        before=found[:, 1].copy(),
        op_before=found[:, 2].copy(),
        op=read.op[at],
        offset=identity["offset"][at],
        value=value_of(identity["producer"][at], identity["sequence"][at]),
        slot=file.slots[rows][at].astype(np.int64),
        invoked_ns=read.invoked_ns[at],
        completed_ns=read.completed_ns[at],
    )


def _keep_steps(steps: Ints, changes: Ints, work: _Work) -> None:
    """Keep both ends of the steps within one stay of the partition, and what was stepped over."""
    stays = np.searchsorted(changes, steps[:, 2:], side="right")
    for before, after in (steps[stays[:, 0] == stays[:, 1], :2] - work.base).tolist():
        work.keep[[before, after]] = 1
        work.keep[before + 1 : max(after, before + 1)] = 1


def _ends(files: Sequence[_File]) -> Ints:
    """The offsets that final reads came to."""
    found = [np.zeros(0, np.int64)]
    for file in files:
        for number, rows in file.groups():
            if schema.FINAL_READ in file.kinds(number):
                columns = file.read(number, "kind", "offset")
                count = rows.stop - rows.start
                found.append(_numbers(columns["offset"], count)[_is(columns["kind"], count, schema.FINAL_READ)])
    ends = np.concatenate(found)
    return ends[ends >= 0]


def _keep_beyond(ends: Ints, work: _Work) -> None:
    """Keep what lies at or beyond the end of the log, as the final read with the smallest end offset has it."""
    if len(ends):
        work.keep[max(0, int(ends.min()) - work.base) :] = 1


def _second_scan(file: _File, due: Sequence[RowsOwed], asked: EndAnswers | None, waited: _Waited, work: _Work) -> None:
    """Keep the plain rows of a file that are due, and note when the values that consumers waited for were known."""
    nowhere = np.zeros(0, np.uint8)

    def wanted_of(group: int, rows: slice) -> tuple[list[RowsOwed], Ints] | None:
        slots = file.slots[rows]
        earliest, furthest = file.least(group, "completed_ns"), file.largest(group, "offset")
        wanted = [one for one in due if earliest <= one.latest_ns.max() and furthest >= one.first]
        moments = {id(one.seen): one.seen for one in wanted if one.bit}
        everywhere = {moment: _in_common(slots, seen) for moment, seen in moments.items()}
        wanted = [one for one in wanted if not everywhere.get(id(one.seen), 0) & one.bit]
        answered = asked is not None and asked.may_be_due(earliest, furthest)
        if not wanted and not answered and not len(waited.slots):
            return None
        return wanted, _numbers(file.read(group, "completed_ns")["completed_ns"], len(slots))

    for _, rows, found in file.each(wanted_of):
        if found is None:
            continue
        slots, (wanted, known) = file.slots[rows], found
        _note_known(slots, known, waited.wanted, waited.slots, waited.since_ns)
        for one in wanted:
            seen = nowhere if one.seen is None else one.seen
            _keep_known(slots, known, work.era, one.first - work.base, one.latest_ns, seen, one.bit, work.keep)
        if asked is not None and len(asked.offset):
            _keep_asked(slots, known, asked.offset - work.base, asked.latest_ns, work.keep)


@dataclass(slots=True)
class _Waited:
    """The plain values that came first in a poll, as slots in order, and when each was first known to be in the log."""

    slots: Ints
    wanted: Bools
    since_ns: Ints

    @classmethod
    def of(cls, work: _Work) -> _Waited:
        found = [one.slot for of_file in work.firsts.values() for one in of_file]
        slots = np.unique(np.concatenate([np.zeros(0, np.int64), *found]))
        slots = slots[slots >= 0]
        wanted = np.zeros(len(work.value), np.bool_)
        wanted[slots] = True
        return cls(slots, wanted, np.full(len(slots), NEVER_NS, np.int64))

    def firsts(self, work: _Work) -> Firsts:
        """The values that came first in a poll, at the offset right after the one that the consumer had read before."""
        process, found = [], [_nothing_first()]
        for name in sorted(work.firsts):
            found += work.firsts[name]
            process += [name] * sum(len(one.value) for one in work.firsts[name])
        whole = _Firsts(
            **{each.name: np.concatenate([getattr(one, each.name) for one in found]) for each in fields(_Firsts)}
        )
        since_ns = np.full(len(process), NEVER_NS, np.int64)
        plain = whole.slot >= 0
        since_ns[plain] = self.since_ns[np.searchsorted(self.slots, whole.slot[plain])]
        return Firsts(
            process=process,
            value=whole.value,
            offset=whole.offset,
            before=whole.before,
            invoked_ns=whole.invoked_ns,
            completed_ns=whole.completed_ns,
            since_ns=since_ns,
        )


def _nothing_first() -> _Firsts:
    return _Firsts(**{each.name: np.zeros(0, np.int64) for each in fields(_Firsts)})


def _close(senders: Sequence[_File], late: Sequence[tuple[Ints, Ints]], files: Sequence[_File], work: _Work) -> None:
    """Keep every row that shares an offset or a value with a kept row."""
    if work.furthest >= 0:
        work.keep[work.furthest - work.base] = 1
    work.keep[(work.value >= 0) & (work.read == 0)] = 1
    for file in files:
        first = np.argmax(file.slots >= 0) if file.rows else 0
        if file.rows and file.slots[first] >= 0:
            work.keep[file.slots[first]] = 1
    irregular = np.unique(np.concatenate(work.irregular)) if work.irregular else np.zeros(0, np.int64)
    in_order = [file.slots[file.slots >= 0] for file in senders]
    for slots in in_order:
        _keep_values(irregular, slots, work.value, work.keep)
    neighbours = []
    for file, slots, (invoked, values) in zip(senders, in_order, late, strict=True):
        kept = np.flatnonzero(work.keep[slots])
        places = np.concatenate([kept - 1, kept + 1, *_places(file, invoked, values, work)])
        neighbours.append(slots[places[(places >= 0) & (places < len(slots))]])
    for slots in neighbours:
        work.keep[slots] = 1


def _places(file: _File, invoked: Ints, values: Ints, work: _Work) -> tuple[Ints, Ints]:
    """For each irregular send the plain sends before and after it in its file, as indexes among the plain sends."""
    behind = np.zeros(len(values), np.int64)
    for number, rows in file.groups() if len(values) else ():
        slots = file.slots[rows]
        at = _numbers(file.read(number, "invoked_ns")["invoked_ns"], len(slots))[slots >= 0]
        _count_before(at, work.value[slots[slots >= 0]], invoked, values, behind)
    return behind - 1, behind


@compiled
def _place_rows(
    send: Any,
    able: Any,
    offset: Any,
    producer: Any,
    sequence: Any,
    invoked: Any,
    base: Any,
    table: Any,
    keep: Any,
    times: Any,
    eras: Any,
    state: Any,
    slots: Any,
    irregular_at: Any,
    irregular_values: Any,
) -> Any:
    """`state`: offset, value and invocation of the last plain send. Returns how many are irregular."""
    irregular = era = 0
    last_offset, last_value, last_invoked = state[0], state[1], state[2]
    for row in range(len(offset)):
        if not send[row]:
            continue
        value = np.int64(-1)
        if producer[row] >= 0 and sequence[row] >= 0:
            value = (producer[row] << SEQUENCE_BITS) + sequence[row]
        at = offset[row] - base
        if (
            able[row]
            and value >= 0
            and offset[row] >= 0
            and offset[row] > last_offset
            and value > last_value
            and invoked[row] >= last_invoked
            and table[at] < 0
        ):
            table[at] = value
            slots[row] = at
            if len(times):
                while era < len(times) and times[era] <= invoked[row]:
                    era += 1
                eras[at] = era
            last_offset, last_value, last_invoked = offset[row], value, invoked[row]
            continue
        if offset[row] >= 0:
            keep[at] = 1
        irregular_at[irregular] = invoked[row]
        irregular_values[irregular] = value
        irregular += 1
    state[0], state[1], state[2] = last_offset, last_value, last_invoked
    return irregular


@compiled
def _match_rows(
    poll: Any,
    good: Any,
    able: Any,
    offset: Any,
    producer: Any,
    sequence: Any,
    op: Any,
    base: Any,
    table: Any,
    read: Any,
    keep: Any,
    state: Any,
    slots: Any,
    irregular_values: Any,
    steps: Any,
    firsts: Any,
) -> Any:
    """`state`: offset and operation of the last poll, the furthest offset of ok polls. Returns how many rows and steps
    are irregular, and how many rows come first in a poll; -1 if operations go back.
    """
    irregular = stepped = begun = 0
    last_offset, last_op, furthest = state[0], state[1], state[2]
    for row in range(len(offset)):
        if not poll[row]:
            continue
        value = np.int64(-1)
        if producer[row] >= 0 and sequence[row] >= 0:
            value = (producer[row] << SEQUENCE_BITS) + sequence[row]
        at = offset[row] - base
        if able[row] and value >= 0 and offset[row] >= 0 and table[at] == value:
            read[at] = 1
            slots[row] = at
        else:
            if offset[row] >= 0:
                keep[at] = 1
            irregular_values[irregular] = value
            irregular += 1
        if offset[row] < 0:
            continue
        if op[row] < last_op:
            return -1, 0, 0
        if last_offset >= 0 and op[row] != last_op:
            firsts[begun, 0], firsts[begun, 1], firsts[begun, 2] = row, last_offset, last_op
            begun += 1
        if last_offset >= 0 and offset[row] != last_offset + 1:
            steps[stepped, 0], steps[stepped, 1] = last_offset, offset[row]
            steps[stepped, 2], steps[stepped, 3] = last_op, op[row]
            stepped += 1
        last_offset, last_op = offset[row], op[row]
        if good[row]:
            furthest = max(furthest, last_offset)
    state[0], state[1], state[2] = last_offset, last_op, furthest
    return irregular, stepped, begun


@compiled
def _note_known(slots: Any, known: Any, wanted: Any, waited: Any, since: Any) -> None:
    """When each slot that a consumer waited for was first known; slots ascend."""
    for row in range(len(slots)):
        slot = slots[row]
        if slot < 0 or not wanted[slot] or known[row] < 0:
            continue
        low, high = 0, len(waited)
        while low < high:
            middle = (low + high) // 2
            if waited[middle] < slot:
                low = middle + 1
            else:
                high = middle
        since[low] = min(since[low], known[row])


@compiled
def _in_common(slots: Any, seen: Any) -> Any:
    """The bits that are set at all offsets of plain rows."""
    common = np.uint8(0xFF)
    for slot in slots:
        if slot >= 0:
            common &= seen[slot]
    return common


@compiled
def _keep_known(slots: Any, known: Any, eras: Any, first: Any, latest: Any, seen: Any, bit: Any, keep: Any) -> None:
    """Keep plain rows from the index `first` on that were known by the time that is the latest for their era, and
    where the bit is not set.
    """
    for row in range(len(slots)):
        slot = slots[row]
        if slot < 0 or slot < first or known[row] < 0 or known[row] > latest[eras[slot]]:
            continue
        if not bit or not seen[slot] & bit:
            keep[slot] = 1


@compiled
def _keep_asked(slots: Any, known: Any, first: Any, latest: Any, keep: Any) -> None:
    """Keep plain rows that were known by the time that is the latest from the index `first` on, which ascends."""
    place = 0
    for row in range(len(slots)):
        slot = slots[row]
        if slot < 0 or known[row] < 0:
            continue
        while place < len(first) and first[place] <= slot:
            place += 1
        while place > 0 and first[place - 1] > slot:
            place -= 1
        if place > 0 and known[row] <= latest[place - 1]:
            keep[slot] = 1


@compiled
def _keep_values(values: Any, slots: Any, table: Any, keep: Any) -> None:
    """Keep the offsets of these values among plain sends, which are in order of value."""
    for value in values:
        low, high = 0, len(slots)
        while low < high:
            middle = (low + high) // 2
            if table[slots[middle]] < value:
                low = middle + 1
            else:
                high = middle
        if low < len(slots) and table[slots[low]] == value:
            keep[slots[low]] = 1


@compiled
def _count_before(at: Any, value: Any, invoked: Any, values: Any, behind: Any) -> None:
    """Add to `behind` how many of the ordered (at, value) come before each (invoked, values)."""
    for one in range(len(values)):
        low, high = 0, len(at)
        while low < high:
            middle = (low + high) // 2
            if at[middle] < invoked[one] or (at[middle] == invoked[one] and value[middle] < values[one]):
                low = middle + 1
            else:
                high = middle
        behind[one] += low


@compiled
def _left_out(slots: Any, keep: Any) -> Any:
    """How many rows are plain and not kept."""
    count = 0
    for slot in slots:
        if slot >= 0 and not keep[slot]:
            count += 1
    return count
