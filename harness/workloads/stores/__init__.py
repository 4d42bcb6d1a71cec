"""A store outside Kafka: an application's outputs and, beside them, how far it has come, in tables of one database.

Kafka's transactions end at its own topics. An application whose output is a database can have both steps in one
transaction of that database, if it keeps its offsets there, too (Kafka documentation, Design: message delivery
semantics, "store its offset in the same place as its output").

A sink of Kafka Connect has no such choice: its outputs are lines of a file, and its offsets are its group's. Nor has
one of Spark, whose offsets are in the query's checkpoint.

A store is named by where it is: the path of a SQLite file (sqlite.py), of a file of lines (lines.py) or of a directory
of Spark's files (parts.py), or the address of a PostgreSQL node (postgresql.py). Others read what is committed, and can
ask whether a transaction that writes is open, without the application's word.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from evidence.errors import HarnessError
from evidence.history.inputs import Input
from harness.workloads.stores import lines, parts, sqlite
from harness.workloads.stores.types import Output, Store, Stored

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"
ADDRESS: Final = f"{POSTGRESQL}://"
"""What the place of a PostgreSQL store begins with; any other place is a file's path."""


def located(run_dir: Path, store: str) -> str:
    """The place of a store that run.json names: an address, or a file of the run directory.

    >>> located(Path("/runs/r"), "store/sqlite.sqlite"), located(Path("/runs/r"), "postgresql://172.20.0.30")
    ('/runs/r/store/sqlite.sqlite', 'postgresql://172.20.0.30')
    """
    return store if store.startswith(ADDRESS) else str(run_dir.resolve() / store)


def open_store(place: str, run: str) -> Store:
    """An application's connection to the store at a place, with its tables made if they are not there.

    Raises StoreLost if it cannot be reached.
    """
    if place.startswith(ADDRESS):
        from harness.workloads.stores import postgresql  # its driver is loaded where it is needed

        return postgresql.PostgresqlStore(place.removeprefix(ADDRESS), run)
    return sqlite.SqliteStore(Path(place), run)


def read_store(place: str, run: str) -> Stored:
    """What is committed in the store of a run.

    Raises HarnessError if there is none, it cannot be read, or it has outputs of another run.
    """
    if place.startswith(ADDRESS):
        from harness.workloads.stores import postgresql

        rows, offsets = postgresql.read_rows(place.removeprefix(ADDRESS))
    elif place.endswith(lines.SUFFIX):
        rows, offsets = lines.read_rows(Path(place)), []
    elif place.endswith(parts.SUFFIX):
        rows, offsets = parts.read_rows(Path(place)), []
    else:
        rows, offsets = sqlite.read_rows(Path(place))
    if strangers := {row[0] for row in rows} - {run}:
        names = ", ".join(sorted(strangers))
        raise HarnessError(f"the store {name_of(place)} has outputs of {names}, not of {run} alone")
    outputs = tuple(Output(row[1], row[2], Input(row[3], row[4], row[5])) for row in rows)
    return Stored(outputs, {(topic, partition): following for topic, partition, following in offsets})


def keeps_offsets(place: str) -> bool:
    """Whether a store has offsets beside the outputs, in one transaction: files have neither."""
    return not place.endswith((lines.SUFFIX, parts.SUFFIX))


def is_written_to(place: str) -> bool:
    """Whether somebody has a transaction open that writes to a store.

    Raises HarnessError if the store cannot be asked.
    """
    if place.startswith(ADDRESS):
        from harness.workloads.stores import postgresql

        return postgresql.is_written_to(place.removeprefix(ADDRESS))
    return keeps_offsets(place) and sqlite.is_written_to(Path(place))


def name_of(place: str) -> str:
    """What a store is called in what people read.

    >>> name_of("/runs/r/store/sqlite.sqlite"), name_of("postgresql://172.20.0.30")
    ('sqlite.sqlite', 'postgresql')
    """
    return POSTGRESQL if place.startswith(ADDRESS) else Path(place).name
