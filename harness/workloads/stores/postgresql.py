"""A store in a PostgreSQL node of the run's own (harness/workloads/stores; harness/cluster/stores.py).

A transaction that is open when its process or the server dies is undone. One whose commit has returned is on the disk,
unless synchronous_commit is off: then the server's death loses the last ones, whole and in order, and the data stay
consistent (PostgreSQL documentation, Reliability and the Write-Ahead Log: Asynchronous Commit).

The server says itself whether a transaction that writes is open: it has a number then (pg_stat_activity, backend_xid).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from evidence.errors import HarnessError
from harness.workloads.stores.types import LOCK_S, Key, Output, Row, StoreFull, StoreLost

USER: Final = "postgres"
ONE_AT_A_TIME: Final = "SELECT pg_advisory_xact_lock(1)"
"""Two that make a table at once fail with a duplicate key of the catalogue, IF NOT EXISTS or not."""
TABLES: Final = """
CREATE TABLE IF NOT EXISTS outputs (
  place BIGINT GENERATED ALWAYS AS IDENTITY,
  run TEXT NOT NULL, producer INTEGER NOT NULL, sequence BIGINT NOT NULL,
  topic TEXT NOT NULL, "partition" INTEGER NOT NULL, "offset" BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS offsets (
  topic TEXT NOT NULL, "partition" INTEGER NOT NULL, next BIGINT NOT NULL, PRIMARY KEY (topic, "partition")
);
"""
OUTPUT: Final = (
    'INSERT INTO outputs (run, producer, sequence, topic, "partition", "offset") VALUES (%s, %s, %s, %s, %s, %s)'
)
SAME_KEY: Final = 'DELETE FROM outputs WHERE topic = %s AND "partition" = %s AND "offset" = %s'
OFFSET: Final = """
INSERT INTO offsets VALUES (%s, %s, %s) ON CONFLICT (topic, "partition") DO UPDATE SET next = EXCLUDED.next
"""
OUTPUTS: Final = 'SELECT run, producer, sequence, topic, "partition", "offset" FROM outputs ORDER BY place'
WRITERS: Final = """
SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND backend_type = 'client backend'
"""


def connect(address: str, wait_s: float = LOCK_S) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection to the server at an address. Raises psycopg.OperationalError if there is none."""
    return psycopg.connect(
        host=address,
        user=USER,
        dbname=USER,
        connect_timeout=max(2, int(wait_s)),
        # A server that is gone with its network says nothing.
        tcp_user_timeout=int(wait_s * 1000),
        row_factory=tuple_row,
    )


@contextmanager
def _there() -> Iterator[None]:
    """Raises StoreLost if the server is not there, or not any more, and StoreFull if it says that its disk is full."""
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise StoreFull(_one_line(error)) from None
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise StoreLost(_one_line(error)) from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


class PostgresqlStore:
    """An application's connection."""

    def __init__(self, address: str, run: str) -> None:
        self._run = run
        with _there():
            self._database = connect(address)
            # The tables are none of what may be lost.
            self._database.execute("SET LOCAL synchronous_commit = on")
            self._database.execute(ONE_AT_A_TIME)
            self._database.execute(TABLES)
            self._database.commit()
            (setting,) = self._database.execute("SHOW synchronous_commit").fetchone() or ("",)
            self._database.commit()
        self.durable = setting != "off"

    def write(self, outputs: Iterable[Output], *, by_key: bool = False) -> None:
        made = list(outputs)
        rows = [(self._run, one.producer, one.sequence, *one.source) for one in made]
        with _there(), self._database.cursor() as cursor:
            if by_key:
                cursor.executemany(SAME_KEY, [one.source for one in made])
            cursor.executemany(OUTPUT, rows)

    def write_offsets(self, offsets: Mapping[Key, int]) -> None:
        rows = [(*key, following) for key, following in offsets.items()]
        with _there(), self._database.cursor() as cursor:
            cursor.executemany(OFFSET, rows)

    def commit(self) -> None:
        with _there():
            self._database.commit()

    def next_of(self, key: Key) -> int | None:
        query = 'SELECT next FROM offsets WHERE topic = %s AND "partition" = %s'
        with _there():
            found = self._database.execute(query, key).fetchone()
            self._database.rollback()
        return None if found is None else int(found[0])

    def close(self) -> None:
        self._database.close()


@contextmanager
def _opened(address: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection of somebody who reads. Raises HarnessError for what cannot be read."""
    try:
        with closing(connect(address)) as database:
            yield database
    except psycopg.Error as error:
        raise HarnessError(f"the store postgresql cannot be read: {_one_line(error)}") from None


def read_rows(address: str) -> tuple[Sequence[Row], Sequence[tuple[str, int, int]]]:
    """The rows of outputs and of offsets, of one moment; none before an application has made its tables. Raises
    HarnessError if they cannot be read.
    """
    with _opened(address) as database:
        database.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        try:
            rows: list[Any] = database.execute(OUTPUTS).fetchall()
        except psycopg.errors.UndefinedTable:
            return [], []
        offsets: list[Any] = database.execute('SELECT topic, "partition", next FROM offsets').fetchall()
        return rows, offsets


def is_written_to(address: str) -> bool:
    """Whether a transaction that writes is open. Raises HarnessError if the server cannot be asked."""
    with _opened(address) as database:
        (writers,) = database.execute(WRITERS).fetchone() or (0,)
        return bool(writers)
