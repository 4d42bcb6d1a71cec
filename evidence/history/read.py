"""Reading histories back, sealed or not, whole or torn, with a list of what is wrong with them.

Damage never stops the reading: it becomes a `Problem`, and the verdict of a run with problems is at best unknown. A
stream whose tail is torn gives every batch before it; a process without its `close` row died; a process that
`run.json` names and that left no file at all is missing. Streams that `run.json` does not name (the harness died
before it wrote them down) are read all the same. A sealed process is read from its sealed files if all that are
wanted are whole, else from its stream.

A task that asks for `only` one topic-partition reads that one's files, or picks its rows out of streams batch by
batch: what it holds in memory is what it asked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evidence.findings import Problem
from evidence.history import checksums, schema
from evidence.history.runs import expand
from evidence.history.whole import Whole
from evidence.run import RunRecord
from evidence.rundir import RunDir

Key = tuple[str, int]
Ints = npt.NDArray[np.int64]
T = TypeVar("T")

PLAIN_SCHEMA: Final = pa.schema(
    [pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in schema.SCHEMA]
)
"""The schema of tables that this module returns: words as strings, everything nullable."""

WORDS: Final = [field.name for field in PLAIN_SCHEMA if pa.types.is_string(field.type)]
NO_PARTITION: Final = ("", -1)
"""Value of `only` that reads no partition: only the rows that belong to none."""

MANIFEST: Final = b"kafka-chaos-sealed"
"""Metadata of a sealed process's operations file: JSON, [topic, partition, rows] of every topic-partition that was
sealed for it.
"""
SHARED: Final = b"kafka-chaos-shared"
"""Metadata of the same, where topic-partitions share a file: JSON, [topic, partitions, rows of each] of the stretches
of that file, in order; a topic-partition may have several.
"""

LEAST_PARTITION: Final = -(2**31)
"""Of all numbers that the column can hold."""

THREADED_ROWS: Final = 20_000
"""From so many rows on columns are decoded by threads: for fewer, waking these takes longer than the work."""

UNREADABLE: Final = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, KeyError, ValueError, TypeError)
"""What Arrow raises on files that are not what they should be."""


def plain(table: pa.Table) -> pa.Table:
    """The table with words as strings, so that tables of different processes can be put together."""
    return table.select(schema.COLUMNS).cast(PLAIN_SCHEMA)


def stream_batches(path: Path, complaints: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a stream's whole batches, one for each record; what is wrong is added to `complaints`."""
    return from_batches(path, complaints, expand)


def from_batches(path: Path, complaints: list[str], made: Callable[[pa.RecordBatch], Iterable[T]]) -> Iterator[T]:
    """What is made of each whole batch of a stream, as it was recorded; what is wrong is added to `complaints`."""
    if not path.is_file():
        complaints.append("not a regular file")  # opening a FIFO waits for a writer, for ever
        return
    try:
        reader = pa.ipc.open_stream(pa.memory_map(str(path), "r"))
        if not reader.schema.equals(schema.SCHEMA):
            complaints.append(f"not the schema of a history: {reader.schema.names[:6]}…")
            return
        version = (reader.schema.metadata or {}).get(schema.VERSION_KEY)
        if version != schema.VERSION:
            known = schema.VERSION.decode()
            complaints.append(f"a history of version {(version or b'?').decode(errors='replace')}, not {known}")
            return
        checksum = checksums.beginning(_run(reader.schema.metadata))
    except (*UNREADABLE, pa.ArrowException) as error:
        complaints.append(f"no readable stream: {error}")
        return
    while True:
        try:
            batch, told = reader.read_next_batch_with_custom_metadata()
            # Codes beyond the words they stand for would take the process down later.
            batch.validate(full=True)
            checksum = checksums.after(batch, checksum)
            if not checksums.matches(told, checksum):
                complaints.append("a batch does not have its checksum: what it holds, and what follows, is not read")
                return
            yield from made(batch)
        except StopIteration:
            return
        except (*UNREADABLE, pa.ArrowException) as error:
            complaints.append(f"the tail is torn: {error}")
            return


def run_of(path: Path) -> str:
    """The run in which a stream says that it was recorded; "" if it does not say it, or cannot be read."""
    if not path.is_file():
        return ""  # opening a FIFO waits for a writer, for ever
    try:
        with pa.memory_map(str(path), "r") as file:
            return _run(pa.ipc.open_stream(file).schema.metadata)
    except (*UNREADABLE, pa.ArrowException):
        return ""


@dataclass(frozen=True, slots=True)
class History:
    """The operations of one run."""

    tables: Mapping[Key, pa.Table]
    """By topic-partition: the rows of all processes, each process's in the order recorded."""
    operations: pa.Table
    """Rows of no partition."""
    problems: tuple[Problem, ...]
    named: frozenset[Key] = frozenset()
    """The topic-partitions that any process has rows of, read or not; those that were read if none was counted."""
    runs: frozenset[str] = frozenset()
    """The runs in which the files say that they were recorded; "" for one that does not say it."""

    @property
    def partitions(self) -> list[Key]:
        return sorted(self.tables)


def by_partition(table: pa.Table) -> tuple[pa.Table, list[Key], Ints]:
    """Rows that all belong to a topic-partition, sorted by it; each topic-partition, ascending; and the first row of
    each, with the number of rows last. Rows of one topic-partition keep their order.
    """
    words = pc.dictionary_encode(table["topic"].combine_chunks())
    topics = words.dictionary.to_pylist()
    order = sorted(range(len(topics)), key=topics.__getitem__)
    rank = np.empty(len(topics), np.int64)
    rank[order] = np.arange(len(topics))
    numbers = table["partition"].to_numpy().astype(np.int64) - LEAST_PARTITION
    codes = (rank[words.indices.to_numpy()] << 32) + numbers
    if np.any(codes[1:] < codes[:-1]):
        rows = np.argsort(codes, kind="stable")
        table, codes = table.take(pa.array(rows)), codes[rows]
    firsts = np.flatnonzero(np.diff(codes, prepend=-1))
    keys = [(topics[order[code >> 32]], (code & 0xFFFFFFFF) + LEAST_PARTITION) for code in codes[firsts].tolist()]
    return table, keys, np.append(firsts, len(codes))


def slices(table: pa.Table, keys: Sequence[Key], bounds: Ints) -> dict[Key, pa.Table]:
    """The rows of each topic-partition, from what `by_partition` returned."""
    stretches = zip(keys, bounds[:-1].tolist(), np.diff(bounds).tolist(), strict=True)
    return {key: table.slice(first, rows) for key, first, rows in stretches}


def apart(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of topic-partitions, and those of no single one."""
    of_none = pc.or_(pc.is_null(table["topic"]), pc.is_null(table["partition"]))
    operations = table.filter(of_none)
    return table.filter(pc.invert(of_none)) if len(operations) else table, operations


def split(table: pa.Table) -> tuple[dict[Key, pa.Table], pa.Table]:
    """The rows of each topic-partition, and those of none."""
    rows, operations = apart(table)
    return slices(*by_partition(rows)), operations


@dataclass(frozen=True, slots=True)
class _Stretches:
    """Where the rows of topic-partitions are in a shared file. There may be millions of stretches, so they are columns:
    those of one topic-partition together, and of these each in the file's order.
    """

    places: Mapping[Key, int]
    """Which of the topic-partitions it is, for each that is in the file."""
    bounds: Ints
    """The first stretch of each, with the number of stretches last."""
    first: Ints
    """The first row of each stretch."""
    rows: Ints

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes]) -> _Stretches:
        """As the metadata of an operations file say. Raises what is UNREADABLE if they do not say it properly."""
        topics: dict[str, int] = {}
        codes, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for topic, partitions, each in _decoded(metadata.get(SHARED, b"[]")):
            codes.append(np.array(partitions, np.int64).reshape(-1) - LEAST_PARTITION)
            codes[-1] += topics.setdefault(str(topic), len(topics)) << 32
            rows.append(np.array(each, np.int64).reshape(len(codes[-1])))
        code, row = np.concatenate(codes), np.concatenate(rows)
        order = np.argsort(code, kind="stable")
        distinct, begins = np.unique(code[order], return_index=True)
        name = list(topics)
        keys = [(name[one >> 32], (one & 0xFFFFFFFF) + LEAST_PARTITION) for one in distinct.tolist()]
        places = {key: place for place, key in enumerate(keys)}
        return cls(places, np.append(begins, len(code)), (np.cumsum(row) - row)[order], row[order])

    def __bool__(self) -> bool:
        return bool(self.places)

    def __contains__(self, key: Key) -> bool:
        return key in self.places

    def of_keys(self, keys: Sequence[Key]) -> tuple[Ints, Ints, Ints]:
        """First row and number of rows of each stretch of these, in the file's order, and the index of whose it is."""
        known = [(at, self.places[key]) for at, key in enumerate(keys) if key in self.places]
        at, place = np.array(known, np.int64).reshape(-1, 2).T
        count = self.bounds[place + 1] - self.bounds[place]
        which = np.arange(count.sum()) + np.repeat(self.bounds[place] - (np.cumsum(count) - count), count)
        order = np.argsort(self.first[which], kind="stable")
        return self.first[which][order], self.rows[which][order], np.repeat(at, count)[order]


@dataclass(frozen=True, slots=True)
class _Sealed:
    """What the operations file of a sealed process says."""

    operations: pa.Table
    """The rows of no partition."""
    rows_of: Mapping[Key, int]
    stretches: _Stretches
    run: str


def _decoded(told: bytes) -> Any:
    """A value in JSON. Raises ValueError for other text."""
    try:
        return msgspec.json.decode(told)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


@lru_cache(maxsize=256)
def _operations(path: str, changed_ns: int, size: int) -> _Sealed:
    """Read once by who reads many partitions of a run."""
    operations = _table(Path(path))
    metadata = operations.schema.metadata or {}
    rows_of = {(str(topic), int(partition)): rows for topic, partition, rows in _decoded(metadata[MANIFEST])}
    return _Sealed(plain(operations), rows_of, _Stretches.of(metadata), _run(metadata))


def _sealed_of(run_dir: RunDir, process: str) -> _Sealed:
    """What was sealed of a process; UNREADABLE, or ArrowException, if it was not, or is damaged."""
    path = run_dir.sealed_operations(process)
    stamp = path.stat()
    return _operations(str(path), stamp.st_mtime_ns, stamp.st_size)


def _table(path: Path) -> pa.Table:
    """A sealed file. OSError if a page does not have its checksum."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(use_threads=file.metadata.num_rows >= THREADED_ROWS)


@lru_cache(maxsize=64)
def _footer(path: str, changed_ns: int, size: int) -> tuple[pq.FileMetaData, list[int]]:
    """The footer of a shared file, and the first row of each row group, with the number of rows last."""
    footer = pq.read_metadata(path)
    rows = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
    return footer, [0, *accumulate(rows)]


@lru_cache(maxsize=16)
def _group(path: str, changed_ns: int, size: int, number: int) -> pa.Table:
    """A row group of a shared file. OSError if a page does not have its checksum."""
    footer, _ = _footer(path, changed_ns, size)
    with pq.ParquetFile(path, metadata=footer, page_checksum_verification=True) as file:
        return plain(file.read_row_group(number, use_threads=False))


def _shared(path: Path, stretches: Iterable[tuple[int, int]]) -> tuple[pa.Table, str]:
    """Stretches (first row, rows) of a shared file, in this order, and the run that it names. IndexError if it does not
    have them.
    """
    stamp = path.stat()
    name = (str(path), stamp.st_mtime_ns, stamp.st_size)
    footer, firsts = _footer(*name)
    parts = [PLAIN_SCHEMA.empty_table()]
    for first, rows in _joined(stretches):
        group = bisect_right(firsts, first) - 1
        while rows:
            table = _group(*name, group)
            part = table.slice(first - firsts[group], rows)
            if not len(part):
                raise IndexError(f"{path} has no row {first}")
            parts.append(part)
            first, rows, group = first + len(part), rows - len(part), group + 1
    return pa.concat_tables(parts), _run(footer.metadata)


def _joined(stretches: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same stretches, those that follow on each other as one."""
    begin = end = 0
    for first, rows in stretches:
        if first != end:
            if end > begin:
                yield begin, end - begin
            begin = first
        end = first + rows
    if end > begin:
        yield begin, end - begin


def _run(metadata: Mapping[bytes, bytes] | None) -> str:
    return (metadata or {}).get(schema.RUN_KEY, b"").decode(errors="replace")


def _sealed(run_dir: RunDir, process: str, only: Key | None, *, counted: bool) -> History | None:
    """A process's rows from its sealed files; None if it is not sealed, or not all that is wanted is whole."""
    try:
        sealed = _sealed_of(run_dir, process)
        wanted = [key for key in ([only] if only is not None else sealed.rows_of) if key in sealed.rows_of]
        tables, runs = _shared_by(run_dir, process, sealed, [key for key in wanted if key in sealed.stretches])
        runs.add(sealed.run)
        for key in wanted:
            if key not in sealed.stretches:
                table = _table(run_dir.sealed_partition(*key, process))
                runs.add(_run(table.schema.metadata))
                tables[key] = plain(table)
            if len(tables[key]) != sealed.rows_of[key]:
                return None
        tables, manifest = {key: tables[key] for key in wanted}, sealed.rows_of
        runs |= _counted(run_dir, process, sealed, only) if counted else set()
        return History(
            tables, sealed.operations, (), frozenset(manifest) if counted else frozenset(tables), frozenset(runs)
        )
    except (*UNREADABLE, pa.ArrowException, IndexError):
        return None


def _shared_by(
    run_dir: RunDir, process: str, sealed: _Sealed, keys: Sequence[Key]
) -> tuple[dict[Key, pa.Table], set[str]]:
    """The rows of topic-partitions in a process's shared file, and the run that it names."""
    if not keys:
        return {}, set()
    table, index, run = _shared_of(run_dir, process, sealed, keys)
    bounds = np.searchsorted(index, np.arange(len(keys) + 1))
    return slices(table, keys, bounds), {run}


def _shared_of(run_dir: RunDir, process: str, sealed: _Sealed, keys: Sequence[Key]) -> tuple[pa.Table, Ints, str]:
    """The rows of topic-partitions in a process's shared file, in the order of these; the index of each row's; the run
    that the file names. ValueError, or IndexError, if it has other rows than it should have.
    """
    first, count, at = sealed.stretches.of_keys(keys)
    table, run = _shared(run_dir.sealed_shared(process), zip(first.tolist(), count.tolist(), strict=True))
    index = np.repeat(at, count)
    topics = pc.dictionary_encode(table["topic"].combine_chunks())
    code = {topic: number for number, topic in enumerate(topics.dictionary.to_pylist())}
    stated = np.array([(code.get(topic, -1), partition) for topic, partition in keys], np.int64)[index]
    rows = np.stack([topics.indices.to_numpy(), table["partition"].to_numpy()], axis=1)
    if not np.array_equal(stated, rows):
        raise ValueError(f"{run_dir.sealed_shared(process)} has other rows than were sealed there")
    if np.any(index[1:] < index[:-1]):
        order = np.argsort(index, kind="stable")
        return table.combine_chunks().take(pa.array(order)), index[order], run
    return table, index, run


def _counted(run_dir: RunDir, process: str, sealed: _Sealed, only: Key | None) -> set[str]:
    """The runs that a process's other files name. OSError if one has not as many rows as it should have."""
    wanted = {key: rows for key, rows in sealed.rows_of.items() if key != only and only is not None}
    footers = {
        run_dir.sealed_partition(*key, process): rows for key, rows in wanted.items() if key not in sealed.stretches
    }
    if sealed.stretches:
        footers[run_dir.sealed_shared(process)] = int(sealed.stretches.rows.sum())
    runs = set()
    for path, rows in footers.items():
        footer = pq.read_metadata(path)
        if footer.num_rows != rows:
            raise OSError(f"{path} has {footer.num_rows} rows, not {rows}")
        runs.add(_run(footer.metadata))
    return runs


def shares(run_dir: RunDir, run: RunRecord, keys: Sequence[Key]) -> list[Key]:
    """Those topic-partitions of which all sealed rows are in shared files; none if a process is not sealed."""
    try:
        sealed = [_sealed_of(run_dir, name) for name in processes_of(run_dir, run)]
    except (*UNREADABLE, pa.ArrowException):
        return []
    in_file = [one.stretches.places for one in sealed]
    own = [
        one.rows_of.keys() - there.keys() if len(there) < len(one.rows_of) else ()
        for one, there in zip(sealed, in_file, strict=True)
    ]
    shared = [one for one in sealed if one.stretches]
    return [
        key for key in keys if any(key in one.stretches for one in shared) and not any(key in files for files in own)
    ]


def shared_rows(run_dir: RunDir, run: RunRecord, keys: Sequence[Key]) -> tuple[pa.Table, Ints] | None:
    """The rows that all processes have of topic-partitions that share files, in the order of `open_run` for each, and
    the index of each row's topic-partition in `keys`, ascending. None if not all of them are whole in such files.
    """
    tables, indexes = [PLAIN_SCHEMA.empty_table()], [np.zeros(0, np.int64)]
    try:
        for name in processes_of(run_dir, run):
            sealed = _sealed_of(run_dir, name)
            if any(key in sealed.rows_of and key not in sealed.stretches for key in keys):
                return None
            if any(key in sealed.stretches for key in keys):
                table, index, recorded_in = _shared_of(run_dir, name, sealed, keys)
                if {recorded_in, sealed.run} != {run.run}:
                    return None
                tables.append(table)
                indexes.append(index)
    except (*UNREADABLE, pa.ArrowException, IndexError):
        return None
    index = np.concatenate(indexes)
    order = np.argsort(index, kind="stable")
    return pa.concat_tables(tables).combine_chunks().take(pa.array(order)), index[order]


def _streamed(path: Path, process: str, only: Key | None) -> History:
    """A process's rows from its stream."""
    complaints: list[str] = []
    whole, closed, run = Whole(), False, run_of(path)
    gathered: dict[Key, list[pa.Table]] = {}
    operations = [PLAIN_SCHEMA.empty_table()]
    named: set[Key] = set()
    for batch in stream_batches(path, complaints):
        whole.add(batch)
        parts, own = split(plain(pa.Table.from_batches([batch])))
        operations.append(own)
        closed = closed or schema.CLOSE in own["kind"].to_pylist()
        named |= set(parts)
        for key, table in parts.items():
            if only in (None, key):
                gathered.setdefault(key, []).append(table)
    gaps = whole.complaints if run and closed and not complaints else []
    return History(
        {key: pa.concat_tables(tables) for key, tables in gathered.items()},
        pa.concat_tables(operations),
        (
            *(Problem("torn history", process, complaint) for complaint in complaints),
            *(Problem("incomplete history", process, gap, f"history/{path.name}") for gap in gaps),
        ),
        frozenset(named),
        frozenset([run]),
    )


def processes_of(run_dir: RunDir, run: RunRecord) -> list[str]:
    """The processes that `run.json` names, then those that only left a stream."""
    named = [process.name for process in run.processes]
    return named + [path.stem for path in sorted(run_dir.history.glob("*.arrows")) if path.stem not in named]


def open_stream(run_dir: RunDir, process: str) -> History:
    """All that a process's stream holds."""
    return _streamed(run_dir.stream(process), process, None)


def open_sealed(run_dir: RunDir, process: str) -> History | None:
    """All that a process's sealed files hold; None if they are not whole."""
    return _sealed(run_dir, process, None, counted=True)


def open_run(
    run_dir: RunDir,
    run: RunRecord | None = None,
    *,
    only: Key | None = None,
    counted: bool = True,
) -> History:
    """What the processes of a run recorded, from sealed files where they are and streams where not.

    `only` one topic-partition, so that a task reads no more than its own; problems are those of all processes still.
    Unless `counted`, sealed files that are not read are not checked for the number of rows that they should have.
    Raises UsageError if the directory is not that of a run.
    """
    run = run or run_dir.read_run()
    problems: list[Problem] = []
    gathered: dict[Key, list[pa.Table]] = {}
    operations = [PLAIN_SCHEMA.empty_table()]
    named: set[Key] = set()
    for name in processes_of(run_dir, run):
        history = _sealed(run_dir, name, only, counted=counted)
        if history is None:
            if not run_dir.stream(name).exists():
                sealed = run_dir.sealed_operations(name).exists()
                detail = "its sealed files are damaged, and its stream is gone" if sealed else "it left no history"
                problems.append(Problem("damaged history" if sealed else "missing history", name, detail))
                continue
            history = _streamed(run_dir.stream(name), name, only)
        foreign = sorted(history.runs - {run.run})
        if foreign:  # nothing is concluded from it
            told = ", ".join(one or "one that is not named" for one in foreign)
            problems.append(Problem("foreign history", name, f"it was recorded in another run: {told}"))
            continue
        for key, table in history.tables.items():
            gathered.setdefault(key, []).append(table)
        problems += history.problems
        named |= history.named
        operations.append(history.operations)
        others = sorted(set(pc.unique(history.operations["process"]).drop_null().to_pylist()) - {name})
        if others:
            problems.append(Problem("foreign history", name, f"it is what {', '.join(others)} recorded"))
        failed = history.operations.filter(pc.equal(history.operations["kind"], schema.CLIENT_FAILED))
        problems += [Problem("client failed", name, why) for why in failed["error_name"].to_pylist()]
        if not pc.any(pc.equal(history.operations["kind"], schema.CLOSE)).as_py():
            problems.append(Problem("recorder died", name, "its history has no closing row"))
    return History(
        tables={key: pa.concat_tables(tables) for key, tables in gathered.items()},
        operations=pa.concat_tables(operations),
        problems=tuple(problems),
        named=frozenset(named),
    )


def sealed_rows(run_dir: RunDir, process: str) -> Mapping[Key, int]:
    """How many rows the files that were sealed for a process have of each topic-partition; KeyError if its sealing says
    nothing of them, or what else is UNREADABLE.
    """
    return _sealed_of(run_dir, process).rows_of


def _files_of(run_dir: RunDir, process: str) -> set[Path]:
    """The files that were sealed for a process. Raises as `sealed_rows` does."""
    sealed = _sealed_of(run_dir, process)
    files = {run_dir.sealed_partition(*key, process) for key in sealed.rows_of if key not in sealed.stretches}
    return files | ({run_dir.sealed_shared(process)} if sealed.stretches else set())


def strangers(run_dir: RunDir, run: RunRecord) -> list[Problem]:
    """Histories that nobody accounts for: of a process that `run.json` does not name, or sealed without being
    in that process's manifest.
    """
    named = {process.name for process in run.processes}
    accounted: set[Path] = set()
    problems = []
    for name in processes_of(run_dir, run):
        if name not in named:
            problems.append(Problem("unnamed history", name, "run.json names no such process"))
        try:
            accounted |= _files_of(run_dir, name)
        except KeyError:
            continue
        except (*UNREADABLE, pa.ArrowException):
            # Read from its stream, with what that says of it; its sealed files then count for nothing.
            accounted |= {path for path in _rows_files(run_dir) if path.stem == name}
    for path in _rows_files(run_dir):
        if path not in accounted:
            detail = f"{path.relative_to(run_dir.path)} is in no process's manifest"
            problems.append(Problem("unnamed history", path.stem, detail))
    return problems


def _rows_files(run_dir: RunDir) -> list[Path]:
    """The sealed files that hold rows of topic-partitions."""
    return sorted((*run_dir.sealed.glob("topic=*/partition=*/*.parquet"), *run_dir.sealed.glob("shared/*.parquet")))


def sealed_partitions(run_dir: RunDir, run: RunRecord) -> set[Key]:
    """The topic-partitions of which there are sealed rows, in files of their own or shared."""
    found = {
        (path.parent.name.partition("=")[2], int(path.name.partition("=")[2]))
        for path in run_dir.sealed.glob("topic=*/partition=*")
        if path.name.partition("=")[2].isdigit()
    }
    for name in processes_of(run_dir, run) if (run_dir.sealed / "shared").is_dir() else ():
        try:
            found |= _sealed_of(run_dir, name).stretches.places.keys()
        except (*UNREADABLE, pa.ArrowException):
            continue  # reading it tells what is the matter
    return found


def sealed_files(run_dir: RunDir, run: RunRecord, only: Key, *, least: int = 0) -> dict[Path, int] | None:
    """The files that hold the rows of one topic-partition, in the order in which `open_run` puts them together, and how
    many rows each has; None if they do not hold all of them, or fewer than `least`.
    """
    files = {}
    try:
        for name in processes_of(run_dir, run):
            if not run_dir.sealed_operations(name).exists():
                if run_dir.stream(name).exists():
                    return None
                continue
            sealed = _sealed_of(run_dir, name)
            if sealed.run != run.run or only in sealed.stretches:
                return None
            if only in sealed.rows_of:
                files[run_dir.sealed_partition(*only, name)] = sealed.rows_of[only]
        whole = sum(files.values()) >= least and all(pq.read_metadata(path).num_rows == files[path] for path in files)
    except (*UNREADABLE, pa.ArrowException):
        return None
    return files if whole else None
