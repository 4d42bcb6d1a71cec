"""Reading histories back, sealed or not, whole or torn, and saying what is wrong with them.

What is wrong never stops the reading: it is a `Problem`, and the verdict of a run with problems is at best unknown. A
stream whose tail is torn gives every batch before it; a process without its `close` row died; a process that
`run.json` names and that left no file at all is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.history import schema
from harness.rundir import RunDir

PLAIN_SCHEMA: Final = pa.schema(
    [pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in schema.SCHEMA]
)
"""The schema of tables that this module returns: words as strings, everything nullable."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that makes a history less than whole."""

    what: str
    process: str
    detail: str

    def as_json(self) -> dict[str, str]:
        return {"what": self.what, "process": self.process, "detail": self.detail}


def plain(table: pa.Table) -> pa.Table:
    """The table with words as strings, so that tables of different processes can be put together."""
    return table.select(schema.COLUMNS).cast(PLAIN_SCHEMA)


def stream_batches(path: Path, complaints: list[str]) -> Iterator[pa.RecordBatch]:
    """The whole batches of a stream; what is wrong with it is added to `complaints`."""
    try:
        file = pa.memory_map(str(path), "r")
        reader = pa.ipc.open_stream(file)
    except (pa.ArrowInvalid, OSError) as error:
        complaints.append(f"no readable stream: {error}")
        return
    if reader.schema.names != list(schema.COLUMNS):
        complaints.append(f"not the schema of a history: {reader.schema.names[:6]}…")
        return
    while True:
        try:
            yield reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowInvalid, OSError) as error:
            complaints.append(f"the tail is torn: {error}")
            return


@dataclass(frozen=True, slots=True)
class History:
    """The operations of one run."""

    tables: Mapping[tuple[str, int], pa.Table]
    """By topic-partition: the rows of all processes, each process's in the order recorded."""
    operations: pa.Table
    """Rows of no partition."""
    problems: tuple[Problem, ...]

    @property
    def partitions(self) -> list[tuple[str, int]]:
        return sorted(self.tables)


def sealed_files(run_dir: RunDir) -> dict[tuple[str, int], list[Path]]:
    """The sealed files of each topic-partition."""
    found: dict[tuple[str, int], list[Path]] = {}
    for path in sorted(run_dir.sealed.glob("topic=*/partition=*/*.parquet")):
        topic = path.parent.parent.name.removeprefix("topic=")
        number = path.parent.name.removeprefix("partition=")
        if number.isdigit():
            found.setdefault((topic, int(number)), []).append(path)
    return found


def _read_parquet(path: Path, problems: list[Problem]) -> pa.Table | None:
    try:
        return plain(pq.read_table(path, partitioning=None))
    except (pa.ArrowInvalid, OSError, KeyError) as error:
        problems.append(Problem("unreadable history", path.stem, f"{path.name}: {error}"))
        return None


def split(table: pa.Table) -> tuple[dict[tuple[str, int], pa.Table], pa.Table]:
    """The rows of each topic-partition, and those of none."""
    of_none = pc.or_(pc.is_null(table["topic"]), pc.is_null(table["partition"]))
    operations = table.filter(of_none)
    rest = table.filter(pc.invert(of_none))
    keys = rest.select(["topic", "partition"]).group_by(["topic", "partition"]).aggregate([]).to_pylist()
    parts = {}
    for key in keys:
        mine = pc.and_(pc.equal(rest["topic"], key["topic"]), pc.equal(rest["partition"], key["partition"]))
        parts[(key["topic"], key["partition"])] = rest.filter(mine)
    return parts, operations


def open_run(
    run_dir: RunDir, facts: Mapping[str, Any] | None = None, *, only: tuple[str, int] | None = None
) -> History:
    """What the processes of a run recorded, from sealed files where they are and streams where not.

    `only` one topic-partition, so that a task reads no more than its own; problems are those of all processes still.
    Raises UsageError if the directory is not that of a run.
    """
    facts = facts if facts is not None else run_dir.read_run()
    problems: list[Problem] = []
    gathered: dict[tuple[str, int], list[pa.Table]] = {}
    operations: list[pa.Table] = []
    sealed = sealed_files(run_dir)
    for process in facts.get("processes", ()):
        name = process["name"]
        closing = run_dir.sealed_operations(name)
        if closing.exists():
            for key, paths in sealed.items():
                for path in paths if only in (None, key) else ():
                    if path.stem == name and (table := _read_parquet(path, problems)) is not None:
                        gathered.setdefault(key, []).append(table)
            own = _read_parquet(closing, problems)
        elif run_dir.stream(name).exists():
            complaints: list[str] = []
            batches = list(stream_batches(run_dir.stream(name), complaints))
            problems += [Problem("torn history", name, complaint) for complaint in complaints]
            tables = [plain(pa.Table.from_batches([batch])) for batch in batches]
            parts, own = split(pa.concat_tables(tables) if tables else PLAIN_SCHEMA.empty_table())
            for key, table in parts.items():
                if only in (None, key):
                    gathered.setdefault(key, []).append(table)
        else:
            problems.append(Problem("missing history", name, f"{process['file']} is not there"))
            continue
        if own is not None:
            operations.append(own)
            if schema.CLOSE not in pc.unique(own["kind"]).to_pylist():
                problems.append(Problem("recorder died", name, "its history has no closing row"))
    return History(
        tables={key: pa.concat_tables(tables) for key, tables in gathered.items()},
        operations=pa.concat_tables(operations) if operations else PLAIN_SCHEMA.empty_table(),
        problems=tuple(problems),
    )
