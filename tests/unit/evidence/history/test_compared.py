"""Sealed files that are not what their stream says, and the other way round."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from evidence.history import compared, schema
from evidence.history.compared import differing
from evidence.history.read import MANIFEST
from evidence.history.seal import seal_run
from evidence.rundir import RunDir
from tests.unit.evidence.history.test_whole import a_run, record, without

PATH = ("t", 0, "p")


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    record(run_dir := a_run(tmp_path), (0, 1, 2, 3))
    seal_run(run_dir)
    return run_dir


def problems(run_dir: RunDir) -> list[tuple[str, str]]:
    return [(one.what, one.file) for one in differing(run_dir, run_dir.read_run())]


def rewrite(run_dir: RunDir, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change sealed rows, and make the number of them in the manifest fit."""
    path = run_dir.sealed_partition(*PATH)
    table = change(pq.read_table(path, partitioning=None))
    pq.write_table(table, path)
    operations = pq.read_table(run_dir.sealed_operations("p"), partitioning=None)
    counts = {MANIFEST: json.dumps([["t", 0, len(table)]]).encode()}
    pq.write_table(
        operations.replace_schema_metadata(dict(operations.schema.metadata) | counts), run_dir.sealed_operations("p")
    )


def shifted(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index("offset")
    return table.set_column(at, table.schema.field(at), pc.add(table["offset"], 1))


REFUTED = [("differing history", "history/p.arrows")]


def test_what_was_sealed_is_what_was_recorded(run_dir: RunDir) -> None:
    assert problems(run_dir) == []


@pytest.mark.parametrize("rows", [compared.COMPARED_ROWS, 0], ids=["row by row", "counted"])
def test_a_row_that_was_left_out(run_dir: RunDir, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared, "COMPARED_ROWS", rows)
    assert problems(run_dir) == []
    rewrite(run_dir, lambda table: table.slice(1))
    assert problems(run_dir) == REFUTED


def test_a_row_that_was_changed(run_dir: RunDir) -> None:
    rewrite(run_dir, shifted)
    assert problems(run_dir) == REFUTED


def test_a_row_that_was_left_out_of_both(run_dir: RunDir) -> None:
    without(run_dir, 5)
    rewrite(run_dir, lambda table: table.filter(pc.not_equal(table["op"], 5)))
    assert {what for what, _ in problems(run_dir)} == {"incomplete history"}


def test_a_run_of_records_counts_as_many(tmp_path: Path) -> None:
    record(run_dir := a_run(tmp_path), tuple(range(4)))
    with pa.memory_map(str(run_dir.stream("p"))) as file:
        kinds = pa.ipc.open_stream(file).read_all()["kind"].to_pylist()
    seal_run(run_dir)
    assert problems(run_dir) == []
    assert len(pq.read_table(run_dir.sealed_partition(*PATH), partitioning=None)) >= kinds.count(schema.SEND)


def test_a_stream_that_is_torn_or_gone_is_no_witness(run_dir: RunDir) -> None:
    path = run_dir.stream("p")
    path.write_bytes(path.read_bytes()[:-200])
    assert problems(run_dir) == [("damaged history", "")]
    path.unlink()
    assert problems(run_dir) == [("missing history", "")]


def test_what_is_not_sealed_has_nothing_to_be_held_against(tmp_path: Path) -> None:
    record(run_dir := a_run(tmp_path), (0, 1))
    assert problems(run_dir) == []
