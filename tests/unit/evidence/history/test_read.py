import os
from pathlib import Path

import pytest

from evidence.errors import UsageError
from evidence.history import schema
from evidence.history.read import PLAIN_SCHEMA, History, open_run
from evidence.history.seal import seal_process, seal_run
from evidence.history.writer import HistoryWriter
from evidence.rundir import RunDir
from tests.records import run_record


def a_run(path: Path, *processes: str) -> RunDir:
    run_dir = RunDir(path)
    named = [{"name": name, "kind": "producer", "file": f"history/{name}.arrows"} for name in processes]
    run_dir.write_run(run_record({"scenario": "s", "version": "v", "processes": named}))
    return run_dir


def record_sends(run_dir: RunDir, process: str, *, batches: int = 3, closed: bool = True) -> None:
    """Two partitions, `batches` batches of two rows for each."""
    writer = HistoryWriter(run_dir.stream(process), process)
    writer.reserve("t", [0, 1], 1, 0, 100)
    for number in range(batches):
        for partition in (0, 1):
            for more in (0, 1):
                offset = 2 * number + more
                writer.append(
                    kind=schema.SEND, outcome=schema.OK, topic="t", partition=partition, offset=offset, sequence=offset
                )
        writer.flush()
    if closed:
        writer.close()


def problems_of(history: History) -> list[tuple[str, str]]:
    return [(problem.what, problem.process) for problem in history.problems]


def offsets_of(history: History, partition: int) -> list[int]:
    return [offset for offset in history.tables[("t", partition)]["offset"].to_pylist() if offset is not None]


def test_a_whole_stream(tmp_path):
    run_dir = a_run(tmp_path, "p", "q")
    record_sends(run_dir, "p")
    record_sends(run_dir, "q", batches=1)
    history = open_run(run_dir)
    assert history.problems == ()
    assert history.partitions == [("t", 0), ("t", 1)]
    assert offsets_of(history, 1) == [0, 1, 2, 3, 4, 5, 0, 1]
    assert history.tables[("t", 0)].schema.equals(PLAIN_SCHEMA)
    assert history.operations["kind"].to_pylist() == ["close", "close"]


def test_only_one_partition_is_what_the_whole_has_of_it(tmp_path):
    run_dir = a_run(tmp_path, "p")
    record_sends(run_dir, "p")
    whole = open_run(run_dir)
    for sealed in (False, True):
        if sealed:
            seal_run(run_dir)
        part = open_run(run_dir, only=("t", 1))
        assert part.partitions == [("t", 1)]
        assert part.tables[("t", 1)].equals(whole.tables[("t", 1)])
        assert open_run(run_dir, only=("t", 9)).tables == {}


def test_a_recorder_that_died(tmp_path):
    run_dir = a_run(tmp_path, "p")
    record_sends(run_dir, "p", closed=False)
    history = open_run(run_dir)
    assert problems_of(history) == [("recorder died", "p")]
    assert offsets_of(history, 0) == [0, 1, 2, 3, 4, 5]


def test_a_torn_tail(tmp_path):
    run_dir = a_run(tmp_path, "p")
    record_sends(run_dir, "p")
    stream = run_dir.stream("p")
    whole = stream.read_bytes()
    seen = set()
    for cut in range(0, len(whole), 97):
        stream.write_bytes(whole[:cut])
        history = open_run(run_dir)
        assert problems_of(history) != []
        offsets = offsets_of(history, 0) if history.tables else []
        assert offsets == [0, 1, 2, 3, 4, 5][: len(offsets)]
        seen.add((len(offsets), ("torn history", "p") in problems_of(history)))
    assert {(0, True), (2, True), (4, True), (6, True)} <= seen


def test_a_missing_history_and_one_nobody_named(tmp_path):
    run_dir = a_run(tmp_path, "p")
    record_sends(run_dir, "stray")
    history = open_run(run_dir)
    assert problems_of(history) == [("missing history", "p")]
    assert set(history.tables[("t", 0)]["process"].to_pylist()) == {"stray"}


@pytest.mark.parametrize("content", [b"", b"not a stream at all", b"\xff\xff\xff\xff\x10\x00\x00\x00"])
def test_a_stream_that_is_none(tmp_path, content):
    run_dir = a_run(tmp_path, "p")
    run_dir.history.mkdir()
    run_dir.stream("p").write_bytes(content)
    assert problems_of(open_run(run_dir)) == [("torn history", "p"), ("recorder died", "p")]


def test_no_run_directory(tmp_path):
    with pytest.raises(UsageError, match="no such run directory"):
        open_run(RunDir(tmp_path / "nowhere"))


def test_sealing_changes_nothing_that_is_read(tmp_path):
    run_dir = a_run(tmp_path, "p")
    record_sends(run_dir, "p")
    before = open_run(run_dir)
    assert seal_process(run_dir, "p")
    assert {path.name for path in run_dir.sealed.rglob("*.*")} == {"p.parquet"}
    run_dir.stream("p").unlink()
    after = open_run(run_dir)
    assert after.problems == ()
    assert after.operations.equals(before.operations)
    for key in before.partitions:
        assert after.tables[key].equals(before.tables[key])


def test_sealing_in_small_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("evidence.history.seal.GROUP_ROWS", 3)
    monkeypatch.setattr("evidence.history.seal.WAITING_ROWS", 4)
    run_dir = a_run(tmp_path, "p")
    record_sends(run_dir, "p", batches=20)
    before = open_run(run_dir)
    seal_run(run_dir)
    run_dir.stream("p").unlink()
    after = open_run(run_dir)
    assert after.problems == ()
    assert all(after.tables[key].equals(before.tables[key]) for key in before.partitions)


def test_what_is_torn_is_not_sealed(tmp_path):
    run_dir = a_run(tmp_path, "torn")
    record_sends(run_dir, "torn")
    stream = run_dir.stream("torn")
    stream.write_bytes(stream.read_bytes()[:-600])
    assert not seal_process(run_dir, "torn")
    assert [path for path in run_dir.sealed.rglob("*") if path.is_file()] == []


def test_what_a_killed_process_left_is_sealed_and_still_told_of(tmp_path):
    run_dir = a_run(tmp_path, "dead")
    record_sends(run_dir, "dead", closed=False)
    before = open_run(run_dir)
    assert not seal_process(run_dir, "dead")
    assert seal_process(run_dir, "dead", killed=True)
    run_dir.stream("dead").unlink()
    after = open_run(run_dir)
    assert problems_of(after) == problems_of(before) == [("recorder died", "dead")]
    assert all(after.tables[key].equals(before.tables[key]) for key in before.partitions)


def damage(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("gone", [Path.unlink, damage])
@pytest.mark.parametrize("only", [None, ("t", 0), ("t", 1), ("", -1)])
def test_a_damaged_sealed_file_is_not_taken_for_an_empty_partition(tmp_path, gone, only):
    run_dir = a_run(tmp_path, "p")
    record_sends(run_dir, "p")
    whole = open_run(run_dir, only=only)
    seal_run(run_dir)
    gone(run_dir.sealed_partition("t", 1, "p"))
    repaired = open_run(run_dir, only=only)
    assert repaired.problems == ()
    assert {key: table.to_pylist() for key, table in repaired.tables.items()} == {
        key: table.to_pylist() for key, table in whole.tables.items()
    }
    run_dir.stream("p").unlink()
    assert problems_of(open_run(run_dir, only=only)) == [("damaged history", "p")]


def test_sealing_again_does_nothing(tmp_path):
    run_dir = a_run(tmp_path, "p")
    record_sends(run_dir, "p")
    seal_run(run_dir)
    before = run_dir.sealed_operations("p").stat().st_mtime_ns
    seal_run(run_dir)
    assert run_dir.sealed_operations("p").stat().st_mtime_ns == before


def test_a_stream_that_is_no_file_is_not_waited_for(tmp_path):
    run_dir = a_run(tmp_path, "p")
    run_dir.history.mkdir()
    os.mkfifo(run_dir.stream("p"))
    assert ("torn history", "p") in problems_of(open_run(run_dir))
