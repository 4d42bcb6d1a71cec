"""A store outside Kafka: one transaction has outputs and offsets, or neither, and others see only what is committed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from evidence.errors import HarnessError
from evidence.history.inputs import Input
from harness.workloads.stores import is_written_to, open_store, read_store
from harness.workloads.stores.postgresql import PostgresqlStore
from harness.workloads.stores.types import Output, StoreFull, StoreLost

FIRST, SECOND = (Output(3, number, Input("t", 0, 40 + number)) for number in range(2))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "sqlite.sqlite"


def test_others_see_outputs_and_offsets_together(path: Path) -> None:
    store = open_store(str(path), "r")
    assert store.next_of(("t", 0)) is None
    store.write([FIRST])
    store.write_offsets({("t", 0): 41})
    assert (read_store(str(path), "r").outputs, dict(read_store(str(path), "r").offsets)) == ((), {})
    assert is_written_to(str(path))
    store.commit()
    assert not is_written_to(str(path))
    seen = read_store(str(path), "r")
    assert (seen.outputs, dict(seen.offsets)) == ((FIRST,), {("t", 0): 41})
    assert (seen.made_of("t", 0), seen.made_of("t", 1)) == (1, 0)
    assert store.next_of(("t", 0)) == 41
    store.close()


def test_what_is_not_committed_is_undone(path: Path) -> None:
    store = open_store(str(path), "r")
    store.write([FIRST])
    store.close()
    assert read_store(str(path), "r").outputs == ()


def test_an_output_by_key_replaces_that_of_the_same_input_alone(path: Path) -> None:
    store, again = open_store(str(path), "r"), Output(4, 0, FIRST.source)
    store.write([FIRST, SECOND])
    store.commit()
    store.write([again], by_key=True)
    store.commit()
    store.close()
    assert read_store(str(path), "r").outputs == (SECOND, again)


def test_an_input_may_be_there_twice(path: Path) -> None:
    store = open_store(str(path), "r")
    again = Output(4, 0, FIRST.source)
    store.write([FIRST, again])
    store.write_offsets({("t", 0): 41})
    store.write_offsets({("t", 0): 42})
    store.commit()
    store.close()
    assert read_store(str(path), "r").outputs == (FIRST, again)
    assert dict(read_store(str(path), "r").offsets) == {("t", 0): 42}


DIES = """
import sys, time
from tests.unit.workloads.test_store import FIRST, SECOND, open_store
store = open_store(sys.argv[1], "r")
store.write([FIRST])
store.write_offsets({("t", 0): 41})
store.commit()
# More than its cache holds: pages are in the file before the commit, and whoever reads it next has to undo that.
store._database.execute("PRAGMA cache_size = 5")
store.write([SECOND] * 5000)
store.write_offsets({("t", 0): 42})
print("open", flush=True)
time.sleep(600)
"""


def test_a_transaction_that_is_open_when_its_process_is_killed_leaves_nothing(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", DIES, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        os.kill(process.pid, signal.SIGKILL)
    seen = read_store(str(path), "r")
    assert (seen.outputs, dict(seen.offsets)) == ((FIRST,), {("t", 0): 41})
    assert not is_written_to(str(path))


def test_a_store_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    for read in (lambda place: read_store(place, "r"), is_written_to):
        with pytest.raises(HarnessError, match="the store none cannot be read"):
            read(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_what_is_no_store_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, and long enough to be taken for one " * 20)
    with pytest.raises(HarnessError, match="the store text cannot be read: file is not a database"):
        read_store(str(tmp_path / "text"), "r")
    sqlite3.connect(tmp_path / "empty").close()
    with pytest.raises(HarnessError, match="no such table"):
        read_store(str(tmp_path / "empty"), "r")


def test_the_outputs_of_another_run_are_refused(path: Path) -> None:
    for run in ("r", "another"):
        store = open_store(str(path), run)
        store.write([FIRST])
        store.commit()
        store.close()
    with pytest.raises(HarnessError, match="has outputs of another, not of r alone"):
        read_store(str(path), "r")


NOWHERE = "postgresql://127.77.0.1"
"""No server listens there."""


def test_a_server_that_is_not_there_is_lost() -> None:
    with pytest.raises(StoreLost, match=r"127\.77\.0\.1"):
        open_store(NOWHERE, "r")


def test_a_server_that_is_not_there_cannot_be_read() -> None:
    for read in (lambda place: read_store(place, "r"), is_written_to):
        with pytest.raises(HarnessError, match=r"the store postgresql cannot be read: .*127\.77\.0\.1"):
            read(NOWHERE)


class Refusing:
    """A connection that has ended."""

    def commit(self) -> None:
        raise psycopg.OperationalError("server closed the connection\n  unexpectedly")


def test_a_file_that_may_not_grow_is_full(path: Path) -> None:
    store = open_store(str(path), "r")
    store.write([FIRST])
    store.commit()
    store._database.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]
    with pytest.raises(StoreFull, match=r"^database or disk is full$"):
        store.write([SECOND] * 5000)
    store.close()
    assert read_store(str(path), "r").outputs == (FIRST,)


class Full:
    """A server whose disk is full, and which is there."""

    def commit(self) -> None:
        raise psycopg.errors.DiskFull('could not extend file "base/5/16384":\n  No space left on device')


def test_a_server_whose_disk_is_full_is_not_lost() -> None:
    store = object.__new__(PostgresqlStore)
    store._database = Full()  # type: ignore[assignment]
    with pytest.raises(StoreFull, match=r"^could not extend file .* No space left on device$"):
        store.commit()


def test_a_commit_without_an_answer_is_a_lost_store() -> None:
    store = object.__new__(PostgresqlStore)
    store._database = Refusing()  # type: ignore[assignment]
    with pytest.raises(StoreLost, match="server closed the connection unexpectedly"):
        store.commit()
