"""Gaps that a history has, and that it cannot have had when it was recorded."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.history import schema
from evidence.history.read import open_run
from evidence.history.seal import seal_process, seal_run
from evidence.history.whole import Count
from evidence.history.writer import HistoryWriter
from evidence.rundir import RunDir
from tests.records import run_record
from tests.streams import rewrite, without_row

SEND: dict[str, Any] = {"kind": schema.SEND, "outcome": schema.OK, "topic": "t", "partition": 0, "producer": 1}


@given(st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=6))
def test_counting(batches: list[list[int]]) -> None:
    count, every = Count(), {number for batch in batches for number in batch}
    for batch in batches:
        count.add(np.array(batch, np.int64))
    first = next(number for number in range(14) if number not in every)
    assert count.missing == (first if any(number > first for number in every) else None)
    assert [count.has(number) for number in range(-1, 14)] == [number in every for number in range(-1, 14)]


def a_run(path: Path) -> RunDir:
    run_dir = RunDir(path)
    processes = [{"name": "p", "kind": "producer", "file": "history/p.arrows"}]
    run_dir.write_run(run_record({"run": "r1", "scenario": "s", "version": "v", "processes": processes}))
    return run_dir


def record(
    run_dir: RunDir, sequences: tuple[int, ...], *, run: str = "r1", reserved: int = 4, close: bool = True
) -> None:
    writer = HistoryWriter(run_dir.stream("p"), "p", run=run)
    for sequence in range(reserved):
        writer.reserve("t", [0], 1, sequence, 1)
    for sequence in sequences:
        writer.append(**SEND, offset=sequence, sequence=sequence)
    writer.close() if close else writer.flush()


def problems(run_dir: RunDir) -> list[tuple[str, str]]:
    return [(problem.what, problem.detail) for problem in open_run(run_dir).problems]


def without(run_dir: RunDir, dropped: int) -> None:
    """Take a row out of a stream, and leave everything else as it is."""
    rewrite(run_dir.stream("p"), lambda table: without_row(table, dropped))


@pytest.mark.parametrize("seal", [False, True])
def test_a_whole_history(tmp_path: Path, seal: bool) -> None:
    record(run_dir := a_run(tmp_path), (0, 2, 1, 3))
    if seal:
        seal_run(run_dir)
        run_dir.stream("p").rename(tmp_path / "elsewhere")
    assert problems(run_dir) == []


@pytest.mark.parametrize(
    ("dropped", "words"),
    [
        (4, ["no operation 4", "no record 0", "reserved sequence 0"]),
        (5, ["no operation 5", "no record 1", "reserved sequence 1"]),
        (7, ["no operation 7", "reserved sequence 3"]),
        (1, ["no operation 1"]),
    ],
)
def test_a_row_that_was_taken_out_leaves_gaps(tmp_path: Path, dropped: int, words: list[str]) -> None:
    record(run_dir := a_run(tmp_path), (0, 1, 2, 3))
    without(run_dir, dropped)
    told = problems(run_dir)
    assert {what for what, _ in told} == {"incomplete history"}
    for word in words:
        assert any(word in detail for _, detail in told)
    assert seal_process(run_dir, "p") is False


def test_of_a_block_that_was_reserved_only_the_first_must_have_been_sent(tmp_path: Path) -> None:
    run_dir = a_run(tmp_path)
    with HistoryWriter(run_dir.stream("p"), "p", run="r1") as writer:
        writer.reserve("t", [0, 1], 1, 0, 100)
        writer.append(**SEND, offset=0, sequence=0)
    assert problems(run_dir) == []


@pytest.mark.parametrize("seal", [False, True])
def test_a_recorder_that_died_left_gaps_and_is_told_of_by_that_alone(tmp_path: Path, seal: bool) -> None:
    record(run_dir := a_run(tmp_path), (0, 1), close=False)
    if seal:
        assert seal_process(run_dir, "p", killed=True)
        run_dir.stream("p").rename(tmp_path / "elsewhere")
    assert [what for what, _ in problems(run_dir)] == ["recorder died"]


@pytest.mark.parametrize("seal", [False, True])
@pytest.mark.parametrize("run", ["r2", ""])
def test_a_history_of_another_run(tmp_path: Path, seal: bool, run: str) -> None:
    record(run_dir := a_run(tmp_path), (0, 1, 2, 3), run=run)
    if seal:
        seal_run(run_dir)
    assert problems(run_dir) == [
        ("foreign history", f"it was recorded in another run: {run or 'one that is not named'}")
    ]


def test_sealed_rows_of_another_run(tmp_path: Path) -> None:
    record(run_dir := a_run(tmp_path / "r1"), (0, 1, 2, 3))
    record(other := a_run(tmp_path / "r2"), (0, 1, 2, 3), run="r2")
    seal_run(run_dir)
    seal_run(other)
    shutil.copy(other.sealed_partition("t", 0, "p"), run_dir.sealed_partition("t", 0, "p"))
    assert [what for what, _ in problems(run_dir)] == ["foreign history"]


def test_a_flipped_bit_of_a_sealed_file_is_noticed_and_the_stream_read(tmp_path: Path) -> None:
    count = 300
    record(run_dir := a_run(tmp_path), tuple(range(count)), reserved=1)
    seal_run(run_dir)
    path = run_dir.sealed_partition("t", 0, "p")
    whole, sound = open_run(run_dir).tables["t", 0], path.read_bytes()
    body = pq.read_metadata(path).row_group(0).column(0).dictionary_page_offset or 4
    for place in range(body, len(sound) * 2 // 3, 301):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 4]) + sound[place + 1 :])
        assert open_run(run_dir).tables["t", 0].equals(whole), place
