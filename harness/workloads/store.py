"""A store outside Kafka: an application's outputs and, beside them, how far it has come, in tables of one database.

Kafka's transactions end at its own topics. An application whose output is a database can have both steps in one
transaction of that database, if it keeps its offsets there, too (Kafka documentation, Design: message delivery
semantics, "store its offset in the same place as its output").

The database is SQLite with its own defaults: a transaction is on the disk when its commit returns, and one that is open
when its process dies is undone by whoever opens the file next. Others read what is committed, and can ask whether a
transaction that writes is open, without the application's word: there is one at most, and it holds the write lock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError
from evidence.history.inputs import Input

Key = tuple[str, int]
LOCK_S: Final = 30.0
"""How long a lock of another one is waited for."""
TABLES: Final = """
CREATE TABLE IF NOT EXISTS outputs (
  run TEXT NOT NULL, producer INTEGER NOT NULL, sequence INTEGER NOT NULL,
  topic TEXT NOT NULL, "partition" INTEGER NOT NULL, "offset" INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS offsets (
  topic TEXT NOT NULL, "partition" INTEGER NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (topic, "partition")
);
"""


@dataclass(frozen=True, slots=True)
class Output:
    """An output: who made it, the how manyth of that one it is, and the input that it was made from."""

    producer: int
    sequence: int
    source: Input


@dataclass(frozen=True, slots=True)
class Stored:
    """What is committed in a store."""

    outputs: tuple[Output, ...]
    """In the order in which they were written."""
    offsets: Mapping[Key, int]
    """For each partition of inputs the next one to process."""

    def made_of(self, topic: str, partition: int) -> int:
        """How many outputs were made from inputs of a partition."""
        return sum((one.source.topic, one.source.partition) == (topic, partition) for one in self.outputs)


class Store:
    """An application's connection. What is written is in one transaction until `commit`."""

    def __init__(self, path: Path, run: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._run = run
        self._database = sqlite3.connect(path, timeout=LOCK_S)
        self._database.executescript(TABLES)

    def write(self, outputs: Iterable[Output]) -> None:
        """Write outputs. A second one of the same input is one more row: nothing here hides it."""
        rows = [(self._run, one.producer, one.sequence, *one.source) for one in outputs]
        self._database.executemany("INSERT INTO outputs VALUES (?, ?, ?, ?, ?, ?)", rows)

    def write_offsets(self, offsets: Mapping[Key, int]) -> None:
        """Write for each partition which input is next."""
        rows = [(*key, following) for key, following in offsets.items()]
        self._database.executemany("INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)", rows)

    def commit(self) -> None:
        """Commit what was written; it is on the disk when this returns."""
        self._database.commit()

    def next_of(self, key: Key) -> int | None:
        """The next input of a partition to process; None if nothing is known of it."""
        query = 'SELECT next FROM offsets WHERE topic = ? AND "partition" = ?'
        found = self._database.execute(query, key).fetchone()
        return None if found is None else int(found[0])

    def close(self) -> None:
        """Close the connection; what is not committed is undone."""
        self._database.close()


@contextmanager
def _opened(path: Path, wait_s: float) -> Iterator[sqlite3.Connection]:
    """A connection to a store that is there. Raises HarnessError for what cannot be read."""
    try:
        # To read after a crash is to undo what was open then, so the file is opened to be written to.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=wait_s)) as database:
            yield database
    except sqlite3.Error as error:
        raise HarnessError(f"the store {path.name} cannot be read: {error}") from None


def read_store(path: Path, run: str) -> Stored:
    """What is committed in the store of a run.

    Raises HarnessError if there is none, it cannot be read, or it has outputs of another run.
    """
    with _opened(path, LOCK_S) as database:
        # One transaction: outputs and offsets are of one moment.
        database.execute("BEGIN")
        rows = database.execute("SELECT * FROM outputs ORDER BY rowid").fetchall()
        offsets = database.execute("SELECT * FROM offsets").fetchall()
    if strangers := {row[0] for row in rows} - {run}:
        raise HarnessError(f"the store {path.name} has outputs of {', '.join(sorted(strangers))}, not of {run} alone")
    outputs = tuple(Output(producer, sequence, Input(*source)) for _, producer, sequence, *source in rows)
    return Stored(outputs, {(topic, partition): following for topic, partition, following in offsets})


def is_written_to(path: Path) -> bool:
    """Whether somebody has a transaction open that writes to a store: the write lock is not to be had.

    Raises HarnessError if the store cannot be opened.
    """
    with _opened(path, 0.0) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                return True
            raise
        database.rollback()
        return False
