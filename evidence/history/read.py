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

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evidence.history import schema
from evidence.history.runs import expand
from evidence.history.whole import Whole
from evidence.rundir import NAMED, RunDir, leaves

T = TypeVar("T")
PLAIN_SCHEMA: Final = pa.schema(
    [pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in schema.SCHEMA]
)
"""The schema of tables that this module returns: words as strings, everything nullable."""

WORDS: Final = [field.name for field in PLAIN_SCHEMA if pa.types.is_string(field.type)]
NO_PARTITION: Final = ("", -1)
"""Value of `only` that reads no partition: only the rows that belong to none."""

MANIFEST: Final = b"kafka-chaos-sealed"
"""Metadata of a sealed process's operations file: JSON, [topic, partition, rows] of every file that belongs to it."""

THREADED_ROWS: Final = 20_000
"""From so many rows on columns are decoded by threads: for fewer, waking these takes longer than the work."""

UNREADABLE: Final = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, KeyError, ValueError, TypeError)
"""What Arrow raises on files that are not what they should be."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that makes a history less than whole."""

    what: str
    process: str
    detail: str
    file: str = ""
    """The file, within the run directory, that is not what it was; "" if what there is of it can be relied upon."""

    def as_json(self) -> dict[str, str]:
        return {"what": self.what, "process": self.process, "detail": self.detail} | (
            {"file": self.file} if self.file else {}
        )


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
        if version not in schema.READABLE:
            known = " or ".join(known.decode() for known in schema.READABLE)
            complaints.append(f"a history of version {(version or b'?').decode(errors='replace')}, not {known}")
            return
    except (*UNREADABLE, pa.ArrowException) as error:
        complaints.append(f"no readable stream: {error}")
        return
    while True:
        try:
            batch = reader.read_next_batch()
            # Codes beyond the words they stand for would take the process down later.
            batch.validate(full=True)
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

    tables: Mapping[tuple[str, int], pa.Table]
    """By topic-partition: the rows of all processes, each process's in the order recorded."""
    operations: pa.Table
    """Rows of no partition."""
    problems: tuple[Problem, ...]
    named: frozenset[tuple[str, int]] = frozenset()
    """The topic-partitions that any process has rows of, read or not; those that were read if none was counted."""
    runs: frozenset[str] = frozenset()
    """The runs in which the files say that they were recorded; "" for one that does not say it."""

    @property
    def partitions(self) -> list[tuple[str, int]]:
        return sorted(self.tables)


def split(table: pa.Table) -> tuple[dict[tuple[str, int], pa.Table], pa.Table]:
    """The rows of each topic-partition, and those of none."""
    of_none = pc.or_(pc.is_null(table["topic"]), pc.is_null(table["partition"]))
    operations = table.filter(of_none)
    rest = table.filter(pc.invert(of_none)) if len(operations) else table
    keys = rest.select(["topic", "partition"]).group_by(["topic", "partition"]).aggregate([]).to_pylist()
    if len(keys) == 1:
        return {(keys[0]["topic"], keys[0]["partition"]): rest}, operations
    return {(key["topic"], key["partition"]): _of(rest, (key["topic"], key["partition"])) for key in keys}, operations


def _of(table: pa.Table, key: tuple[str, int]) -> pa.Table:
    return table.filter(pc.and_(pc.equal(table["topic"], key[0]), pc.equal(table["partition"], key[1])))


@lru_cache(maxsize=64)
def _operations(path: str, changed_ns: int, size: int) -> tuple[pa.Table, Mapping[tuple[str, int], int], str]:
    """The rows of no partition of a sealed process, how many it has of each topic-partition, and the run: read once by
    who reads many partitions of a run.
    """
    operations = _table(Path(path))
    manifest = json.loads((operations.schema.metadata or {})[MANIFEST])
    rows_of = {(str(topic), int(partition)): rows for topic, partition, rows in manifest}
    return plain(operations), rows_of, _run(operations.schema.metadata)


def _table(path: Path) -> pa.Table:
    """A sealed file. OSError if a page does not have its checksum."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(use_threads=file.metadata.num_rows >= THREADED_ROWS)


def _run(metadata: Mapping[bytes, bytes] | None) -> str:
    return (metadata or {}).get(schema.RUN_KEY, b"").decode(errors="replace")


def _sealed(run_dir: RunDir, process: str, only: tuple[str, int] | None, *, counted: bool) -> History | None:
    """A process's rows from its sealed files; None if it is not sealed, or not all that is wanted is whole."""
    try:
        path = run_dir.sealed_operations(process)
        stamp = path.stat()
        operations, manifest, run = _operations(str(path), stamp.st_mtime_ns, stamp.st_size)
        tables, runs = {}, {run}
        for key in manifest if only is None else [only] if only in manifest else []:
            table = _table(run_dir.sealed_partition(*key, process))
            if len(table) != manifest[key]:
                return None
            tables[key] = plain(table)
            runs.add(_run(table.schema.metadata))
        for key in manifest if counted and only is not None else ():
            if key != only:
                footer = pq.read_metadata(run_dir.sealed_partition(*key, process))
                if footer.num_rows != manifest[key]:
                    return None
                runs.add(_run(footer.metadata))
        return History(tables, operations, (), frozenset(manifest) if counted else frozenset(tables), frozenset(runs))
    except (*UNREADABLE, pa.ArrowException):
        return None


def _streamed(path: Path, process: str, only: tuple[str, int] | None) -> History:
    """A process's rows from its stream."""
    complaints: list[str] = []
    whole, closed, run = Whole(), False, run_of(path)
    gathered: dict[tuple[str, int], list[pa.Table]] = {}
    operations = [PLAIN_SCHEMA.empty_table()]
    named: set[tuple[str, int]] = set()
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


def processes_of(run_dir: RunDir, facts: Mapping[str, Any]) -> list[str]:
    """The processes that `run.json` names, then those that only left a stream."""
    named = [str(process["name"]) for process in facts.get("processes", ())]
    return named + [path.stem for path in sorted(run_dir.history.glob("*.arrows")) if path.stem not in named]


def open_stream(run_dir: RunDir, process: str) -> History:
    """All that a process's stream holds."""
    return _streamed(run_dir.stream(process), process, None)


def open_sealed(run_dir: RunDir, process: str) -> History | None:
    """All that a process's sealed files hold; None if they are not whole."""
    return _sealed(run_dir, process, None, counted=True)


def _runs_of(facts: Mapping[str, Any]) -> set[str]:
    """What a run's histories may say of the run in which they were recorded."""
    return {str(facts.get("run"))} | (set() if leaves(facts, NAMED) else {""})


def open_run(
    run_dir: RunDir,
    facts: Mapping[str, Any] | None = None,
    *,
    only: tuple[str, int] | None = None,
    counted: bool = True,
) -> History:
    """What the processes of a run recorded, from sealed files where they are and streams where not.

    `only` one topic-partition, so that a task reads no more than its own; problems are those of all processes still.
    Unless `counted`, sealed files that are not read are not checked for the number of rows that they should have.
    Raises UsageError if the directory is not that of a run.
    """
    facts = facts if facts is not None else run_dir.read_run()
    problems: list[Problem] = []
    gathered: dict[tuple[str, int], list[pa.Table]] = {}
    operations = [PLAIN_SCHEMA.empty_table()]
    named: set[tuple[str, int]] = set()
    for name in processes_of(run_dir, facts):
        history = _sealed(run_dir, name, only, counted=counted)
        if history is None:
            if not run_dir.stream(name).exists():
                sealed = run_dir.sealed_operations(name).exists()
                detail = "its sealed files are damaged, and its stream is gone" if sealed else "it left no history"
                problems.append(Problem("damaged history" if sealed else "missing history", name, detail))
                continue
            history = _streamed(run_dir.stream(name), name, only)
        foreign = sorted(history.runs - _runs_of(facts))
        if foreign:  # nothing is concluded from it
            told = ", ".join(run or "one that is not named" for run in foreign)
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
        if not pc.any(pc.equal(history.operations["kind"], schema.CLOSE)).as_py():
            problems.append(Problem("recorder died", name, "its history has no closing row"))
    return History(
        tables={key: pa.concat_tables(tables) for key, tables in gathered.items()},
        operations=pa.concat_tables(operations),
        problems=tuple(problems),
        named=frozenset(named),
    )


def sealed_rows(run_dir: RunDir, process: str) -> dict[tuple[str, int], int]:
    """How many rows the files that were sealed for a process have of each topic-partition; KeyError if its sealing says
    nothing of them, or what else is UNREADABLE.
    """
    footer = pq.read_schema(run_dir.sealed_operations(process)).metadata or {}
    return {(str(topic), int(partition)): rows for topic, partition, rows in json.loads(footer[MANIFEST])}


def strangers(run_dir: RunDir, facts: Mapping[str, Any]) -> list[Problem]:
    """Histories that nobody accounts for: of a process that `run.json` does not name, or sealed without being
    in that process's manifest.
    """
    named = {str(process["name"]) for process in facts.get("processes", ())}
    accounted: set[Path] = set()
    problems = []
    for name in processes_of(run_dir, facts):
        if name not in named:
            problems.append(Problem("unnamed history", name, "run.json names no such process"))
        try:
            accounted |= {run_dir.sealed_partition(*key, name) for key in sealed_rows(run_dir, name)}
        except KeyError:
            continue
        except (*UNREADABLE, pa.ArrowException):
            # Read from its stream, with what that says of it; its sealed files then count for nothing.
            accounted |= set(run_dir.sealed.glob(f"topic=*/partition=*/{name}.parquet"))
    for path in sorted(run_dir.sealed.glob("topic=*/partition=*/*.parquet")):
        if path not in accounted:
            detail = f"{path.relative_to(run_dir.path)} is in no process's manifest"
            problems.append(Problem("unnamed history", path.stem, detail))
    return problems


def sealed_files(
    run_dir: RunDir, facts: Mapping[str, Any], only: tuple[str, int], *, least: int = 0
) -> dict[Path, int] | None:
    """The files that hold the rows of one topic-partition, in the order in which `open_run` puts them together, and how
    many rows each has; None if they do not hold all of them, or fewer than `least`.
    """
    files = {}
    try:
        for name in processes_of(run_dir, facts):
            if not run_dir.sealed_operations(name).exists():
                if run_dir.stream(name).exists():
                    return None
                continue
            path = run_dir.sealed_operations(name)
            stamp = path.stat()
            _, manifest, run = _operations(str(path), stamp.st_mtime_ns, stamp.st_size)
            if run not in _runs_of(facts):
                return None
            if only in manifest:
                files[run_dir.sealed_partition(*only, name)] = manifest[only]
        whole = sum(files.values()) >= least and all(pq.read_metadata(path).num_rows == files[path] for path in files)
    except (*UNREADABLE, pa.ArrowException):
        return None
    return files if whole else None
