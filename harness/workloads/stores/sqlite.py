"""A store in a file of SQLite, with SQLite's own defaults (harness/workloads/stores).

A transaction is on the disk when its commit returns, and one that is open when its process dies is undone by whoever
opens the file next. There is one transaction that writes at most, and it holds the write lock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError
from harness.workloads.stores.types import LOCK_S, Key, Output, Row, StoreFull

TABLES: Final = """
CREATE TABLE IF NOT EXISTS outputs (
  run TEXT NOT NULL, producer INTEGER NOT NULL, sequence INTEGER NOT NULL,
  topic TEXT NOT NULL, "partition" INTEGER NOT NULL, "offset" INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS offsets (
  topic TEXT NOT NULL, "partition" INTEGER NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (topic, "partition")
);
"""
SAME_KEY: Final = 'DELETE FROM outputs WHERE topic = ? AND "partition" = ? AND "offset" = ?'


@contextmanager
def _with_room() -> Iterator[None]:
    """Raises StoreFull if the disk, or the file's own limit, has no room for what is written."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise StoreFull(str(error)) from None
        raise


class SqliteStore:
    """An application's connection to a file, which is there as long as its disk: no step raises StoreLost."""

    durable = True

    def __init__(self, path: Path, run: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._run = run
        self._database = sqlite3.connect(path, timeout=LOCK_S)
        self._database.executescript(TABLES)

    def write(self, outputs: Iterable[Output], *, by_key: bool = False) -> None:
        made = list(outputs)
        rows = [(self._run, one.producer, one.sequence, *one.source) for one in made]
        with _with_room():
            if by_key:
                self._database.executemany(SAME_KEY, [one.source for one in made])
            self._database.executemany("INSERT INTO outputs VALUES (?, ?, ?, ?, ?, ?)", rows)

    def write_offsets(self, offsets: Mapping[Key, int]) -> None:
        rows = [(*key, following) for key, following in offsets.items()]
        with _with_room():
            self._database.executemany("INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)", rows)

    def commit(self) -> None:
        with _with_room():
            self._database.commit()

    def next_of(self, key: Key) -> int | None:
        query = 'SELECT next FROM offsets WHERE topic = ? AND "partition" = ?'
        found = self._database.execute(query, key).fetchone()
        return None if found is None else int(found[0])

    def close(self) -> None:
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


def read_rows(path: Path) -> tuple[Sequence[Row], Sequence[tuple[str, int, int]]]:
    """The rows of outputs and of offsets, of one moment. Raises HarnessError if they cannot be read."""
    with _opened(path, LOCK_S) as database:
        # One transaction: outputs and offsets are of one moment.
        database.execute("BEGIN")
        rows = database.execute("SELECT * FROM outputs ORDER BY rowid").fetchall()
        return rows, database.execute("SELECT * FROM offsets").fetchall()


def is_written_to(path: Path) -> bool:
    """Whether another process has the write lock. Raises HarnessError if the store cannot be opened."""
    with _opened(path, 0.0) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                return True
            raise
        database.rollback()
        return False
