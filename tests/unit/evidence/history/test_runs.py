from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.history import runs, schema
from evidence.history.read import open_run, stream_batches
from evidence.history.seal import seal_run
from evidence.history.writer import NULL, HistoryWriter
from evidence.rundir import RunDir
from tests.properties import examples
from tests.records import run_record
from tests.streams import rewrite


def rows_of(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Every row without its nulls, and what the reader complains of."""
    complaints: list[str] = []
    rows = [row for batch in stream_batches(path, complaints) for row in batch.to_pylist()]
    return [{name: value for name, value in row.items() if value is not None} for row in rows], complaints


def written_rows(path: Path) -> int:
    """The rows as they lie in the file."""
    return sum(batch.num_rows for batch in pa.ipc.open_stream(path.read_bytes()))


def test_a_run_begins_where_something_does_not_go_on():
    offsets = np.array([5, 6, 7, 9, 10, 11, 12])
    sequences = np.array([1, 2, 3, 4, 5, 9, 10])
    producers = np.array([1, 1, 1, 1, 1, 1, 2])
    begins = runs.starts([offsets, sequences], [producers])
    assert begins.tolist() == [0, 3, 5, 6]
    assert runs.lengths(begins, 7).tolist() == [3, 2, 1, 1]


def test_unknown_offsets_and_strangers_are_no_run():
    assert runs.starts([np.array([NULL, NULL])], []).tolist() == [0, 1]
    assert runs.starts([np.array([3, 4]), np.array([-1, -1])], []).tolist() == [0, 1]


def test_runs_come_back_as_rows(tmp_path):
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        writer.reserve("t", [0], 3, 0, 100)
        writer.extend(
            2,
            counts=np.array([3, 1]),
            kind=schema.SEND,
            outcome=schema.OK,
            topic="t",
            partition=0,
            offset=np.array([7, 20]),
            sequence=np.array([0, 3]),
            invoked_ns=np.array([1, 2]),
        )
        writer.extend(
            1,
            operation=writer.next_operation(),
            counts=np.array([2]),
            kind=schema.POLL,
            outcome=schema.OK,
            topic="t",
            offset=np.array([50]),
            valid=True,
        )
    rows, complaints = rows_of(path)
    assert complaints == []
    assert [row["op"] for row in rows] == [0, 1, 2, 3, 4, 5, 5, 6]
    assert rows[0]["count"] == 100
    assert [(row["offset"], row["sequence"], row["invoked_ns"]) for row in rows[1:5]] == [
        (7, 0, 1), (8, 1, 1), (9, 2, 1), (20, 3, 2),
    ]  # fmt: skip
    assert [row["offset"] for row in rows[5:7]] == [50, 51]
    assert "sequence" not in rows[5]
    assert not any("count" in row for row in rows[1:])


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=30))
def test_a_history_of_runs_is_that_of_its_rows(tmp_path_factory, counts):
    directory = tmp_path_factory.mktemp("runs")
    begins = np.cumsum([0, *counts[:-1]])
    common: dict[str, Any] = {"kind": schema.SEND, "outcome": schema.OK, "topic": "t", "partition": 1}
    with HistoryWriter(directory / "a.arrows", "p") as writer:
        writer.extend(len(counts), counts=np.array(counts), offset=begins + 3, sequence=begins, **common)
    with HistoryWriter(directory / "b.arrows", "p") as writer:
        rows = np.arange(sum(counts))
        writer.extend(len(rows), offset=rows + 3, sequence=rows, **common)
    one, other = (rows_of(directory / name) for name in ("a.arrows", "b.arrows"))
    for row in (one[0][-1], other[0][-1]):
        del row["completed_ns"]  # of the closing row
    assert one == other


def test_long_runs_come_back_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "EXPANDED_ROWS", 10)
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        writer.extend(4, counts=np.array([7, 7, 2, 1]), kind=schema.POLL, outcome=schema.OK, offset=np.arange(4) * 100)
    sizes = [batch.num_rows for batch in stream_batches(path, [])]
    assert sizes == [0, 7, 10, 1]
    assert [row["offset"] for row in rows_of(path)[0][:-1]] == [*range(7), *range(100, 107), 200, 201, 300]


@pytest.mark.parametrize("count", [0, -3, schema.RUN_LIMIT + 1, 2**62])
def test_a_run_that_no_writer_writes_is_a_damaged_history(tmp_path, count):
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        writer.append(kind=schema.SEND, outcome=schema.OK, flush=True)
        writer.append(kind=schema.POLL, outcome=schema.OK, count=count)
    rows, complaints = rows_of(path)
    assert [row["kind"] for row in rows] == ["send"]
    assert complaints == [f"the tail is torn: a row stands for {count} records"]


@pytest.mark.parametrize("version", [b"1", b"2", b"4"])
def test_histories_of_another_version_are_not_read(tmp_path: Path, version: bytes) -> None:
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        writer.append(kind=schema.SEND, outcome=schema.OK, offset=4)
    rewrite(path, lambda table: table, version=version)
    rows, complaints = rows_of(path)
    assert rows == []
    assert complaints == [f"a history of version {version.decode()}, not 3"]


def test_sealed_histories_have_a_row_for_each(tmp_path):
    run_dir = RunDir(tmp_path)
    run_dir.write_run(run_record({"scenario": "s", "version": "v", "processes": [{"name": "p"}]}))
    with HistoryWriter(run_dir.stream("p"), "p") as writer:
        writer.extend(
            1, counts=np.array([500]), kind=schema.SEND, outcome=schema.OK, topic="t", partition=0, offset=np.array([0])
        )
    assert written_rows(run_dir.stream("p")) == 2
    unsealed = open_run(run_dir).tables[("t", 0)]
    seal_run(run_dir)
    assert unsealed["offset"].to_pylist() == list(range(500))
    assert open_run(run_dir).tables[("t", 0)].equals(unsealed)
