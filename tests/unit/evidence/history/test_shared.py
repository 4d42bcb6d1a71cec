"""Small partitions that share a sealed file are read as what the stream has of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evidence.history import schema, seal
from evidence.history.read import by_partition, open_run, sealed_partitions, shared_rows, shares, strangers
from evidence.history.writer import HistoryWriter
from evidence.rundir import RunDir
from tests.records import run_record

KEYS = [(topic, partition) for topic in ("s", "t") for partition in range(5)]
LARGE = ("t", 9)
CHANGES: list[dict[str, Any]] = [
    {"SORTED_ROWS": 8},
    {"SHARED_GROUP_ROWS": 3},
    {"SORTED_ROWS": 8, "SHARED_GROUP_ROWS": 3},
    {},
]


def _run(path: Path) -> RunDir:
    run_dir = RunDir(path)
    processes = [{"name": "p", "kind": "producer"}, {"name": "q", "kind": "consumer"}]
    run_dir.write_run(run_record({"scenario": "s", "version": "v", "processes": processes}))
    for process in ("p", "q"):
        with HistoryWriter(run_dir.stream(process), process) as writer:
            for number in range(3):
                for topic, partition in reversed(KEYS):
                    at: dict[str, Any] = {"topic": topic, "partition": partition}
                    what = at | {"offset": number, "sequence": number, "producer": 1}
                    if (topic, partition, process) != ("s", 1, "q"):
                        writer.append(kind=schema.SEND, outcome=schema.OK, **what)
                more = np.arange(6)
                writer.extend(6, kind=schema.SEND, outcome=schema.OK, topic=LARGE[0], partition=LARGE[1], offset=more)
    return run_dir


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "FEW", 4)
    monkeypatch.setattr(seal, "OWN_ROWS", 5)


def _plain(run_dir: RunDir, **how: Any) -> dict[Any, Any]:
    history = open_run(run_dir, **how)
    assert history.problems == ()
    return {key: table.to_pylist() for key, table in history.tables.items()}


@pytest.mark.parametrize("changes", CHANGES)
def test_what_is_shared_is_what_was_recorded(
    changes: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in changes.items():
        monkeypatch.setattr(seal, name, value)
    run_dir = _run(tmp_path)
    whole = _plain(run_dir)
    seal.seal_run(run_dir)
    for process in ("p", "q"):
        run_dir.stream(process).unlink()
        assert run_dir.sealed_shared(process).exists()
        assert not run_dir.sealed_partition("t", 0, process).exists()
        assert run_dir.sealed_partition(*LARGE, process).exists()
    assert _plain(run_dir) == whole
    for key in (*KEYS, LARGE):
        assert _plain(run_dir, only=key) == {key: whole[key]}
    assert strangers(run_dir, run_dir.read_run()) == []
    assert sealed_partitions(run_dir, run_dir.read_run()) == {*KEYS, LARGE}


@pytest.mark.parametrize("changes", CHANGES)
def test_many_are_read_together(changes: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in changes.items():
        monkeypatch.setattr(seal, name, value)
    run_dir = _run(tmp_path)
    whole = _plain(run_dir)
    seal.seal_run(run_dir)
    run = run_dir.read_run()
    keys = shares(run_dir, run, [*KEYS[1:], LARGE, ("t", 77)])
    assert keys == KEYS[1:]
    found = shared_rows(run_dir, run, keys)
    assert found is not None
    table, index = found
    assert index.tolist() == [number for number, key in enumerate(keys) for _ in whole[key]]
    assert table.to_pylist() == [row for key in keys for row in whole[key]]
    assert shared_rows(run_dir, run, [*keys, LARGE]) is None


def test_few_partitions_have_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "FEW", 11)
    run_dir = _run(tmp_path)
    seal.seal_run(run_dir)
    assert not (run_dir.sealed / "shared").exists()
    assert shares(run_dir, run_dir.read_run(), KEYS) == []


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)


def _shorter(path: Path) -> None:
    with pq.ParquetFile(path) as file:
        table = file.read()
    pq.write_table(table.slice(0, len(table) - 1), path)


def _of_others(path: Path) -> None:
    with pq.ParquetFile(path) as file:
        table = file.read()
    pq.write_table(table.take(list(reversed(range(len(table))))), path)


@pytest.mark.parametrize("harm", [Path.unlink, _cut, _flip, _shorter, _of_others])
def test_a_damaged_shared_file_is_made_up_for_by_the_stream(harm: Callable[[Path], None], tmp_path: Path) -> None:
    run_dir = _run(tmp_path)
    whole = _plain(run_dir)
    seal.seal_run(run_dir)
    harm(run_dir.sealed_shared("p"))
    assert shared_rows(run_dir, run_dir.read_run(), KEYS) is None
    assert _plain(run_dir) == whole
    run_dir.stream("p").unlink()
    assert [one.what for one in open_run(run_dir).problems] == ["damaged history"]


def test_a_shared_file_that_nobody_accounts_for_is_told(tmp_path: Path) -> None:
    run_dir = _run(tmp_path)
    seal.seal_run(run_dir)
    shutil.copy(run_dir.sealed_shared("p"), run_dir.sealed_shared("r"))
    assert [one.what for one in strangers(run_dir, run_dir.read_run())] == ["unnamed history"]


def test_rows_are_sorted_by_topic_partition_and_keep_their_order(tmp_path: Path) -> None:
    history = open_run(_run(tmp_path), only=("t", 3))
    rows = history.tables["t", 3]
    backwards = pa.concat_tables([rows, open_run(RunDir(tmp_path), only=("s", 2)).tables["s", 2]])
    table, keys, bounds = by_partition(backwards)
    assert keys == [("s", 2), ("t", 3)]
    assert table.slice(*bounds[1:2].tolist()).to_pylist() == rows.to_pylist()
    assert bounds.tolist() == [0, len(table) - len(rows), len(table)]
