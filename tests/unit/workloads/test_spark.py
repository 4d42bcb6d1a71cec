"""What an application of Spark is given, what it puts on record, where it is held, and what its checkpoint says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evidence.errors import HarnessError, RecorderDied, WaitTimeout
from evidence.history import record, schema
from evidence.history.inputs import Input, input_of
from evidence.history.read import stream_batches
from evidence.history.writer import HistoryWriter
from harness.polling import poll
from harness.workloads.handles import spark as handles
from harness.workloads.handles.spark import SparkQuery
from harness.workloads.processes.spark import end, lines_on_record
from harness.workloads.processes.spark_program import BATCHES, ToStore
from harness.workloads.spark import CommitGate, committed_in
from harness.workloads.stores import open_store, read_store

# The checkpoint


def checkpoint(root: Path, **batches: str) -> Path:
    """A checkpoint with a commit for each batch, whose log of offsets ends with this line."""
    for folder in ("commits", "offsets"):
        (root / folder).mkdir(parents=True)
    for name, line in batches.items():
        number = name.removeprefix("batch")
        (root / "commits" / number).write_text('v1\n{"nextBatchWatermarkMs":0}')
        (root / "offsets" / number).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{line}')
    return root


def test_the_last_batch_that_is_committed_counts(tmp_path: Path) -> None:
    found = checkpoint(tmp_path, batch9='{"t":{"0":9,"1":4}}', batch10='{"t":{"0":20,"1":4}}')
    assert (committed_in(found, "t", 0), committed_in(found, "t", 1)) == (20, 4)


def test_a_batch_without_a_commit_does_not_count(tmp_path: Path) -> None:
    found = checkpoint(tmp_path, batch0='{"t":{"0":10}}')
    (found / "offsets" / "1").write_text('v1\n{}\n{"t":{"0":20}}')
    (found / "commits" / ".1.0f2e.tmp").write_text("v1\n{}")
    assert committed_in(found, "t", 0) == 10


def test_nothing_is_committed_before_the_first_batch(tmp_path: Path) -> None:
    assert committed_in(checkpoint(tmp_path), "t", 0) is None
    assert committed_in(tmp_path / "not-there", "t", 0) is None


@pytest.mark.parametrize(
    "line", ['{"u":{"0":10}}', '{"t":{"1":10}}', '{"t":{"0":', '{"t":{"0":1}}\n{"u":{"0":1}}', "[1]"]
)
def test_a_checkpoint_of_another_query_says_nothing(tmp_path: Path, line: str) -> None:
    with pytest.raises(HarnessError, match="offsets/0 of Spark's checkpoint does not say where t is read to"):
        committed_in(checkpoint(tmp_path, batch0=line), "t", 0)


def test_a_checkpoint_of_another_format_says_nothing(tmp_path: Path) -> None:
    found = checkpoint(tmp_path, batch0='{"t":{"0":10}}')
    (found / "offsets" / "0").write_text('v9\n{}\n{"t":{"0":10}}')
    with pytest.raises(HarnessError, match="begins with 'v9'"):
        committed_in(found, "t", 0)


# Where a query is held: the program is run as Hadoop runs it


def chmod(gate: CommitGate, path: Path) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PATH": f"{gate.programs}:{os.environ['PATH']}"}
    return subprocess.Popen(["chmod", "0600", str(path)], env=environment, start_new_session=True)


@pytest.fixture
def gate(tmp_path: Path) -> CommitGate:
    made = CommitGate(tmp_path / "a gate")
    made.make()
    return made


@pytest.fixture
def commit(tmp_path: Path) -> Path:
    path = tmp_path / "commits" / ".1.0f2e.tmp"
    path.parent.mkdir()
    path.touch(0o644)
    return path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_an_open_gate_holds_nothing(gate: CommitGate, commit: Path) -> None:
    assert chmod(gate, commit).wait(30) == 0
    assert (mode(commit), gate.is_reached()) == (0o600, False)


def test_a_shut_gate_holds_a_commit_until_it_is_opened(gate: CommitGate, commit: Path) -> None:
    gate.shut()
    held = chmod(gate, commit)
    assert poll(gate.is_reached, 30.0, until=bool)
    assert (held.poll(), mode(commit)) == (None, 0o644)
    gate.open()
    assert held.wait(30) == 0
    assert mode(commit) == 0o600


def test_a_shut_gate_holds_no_other_file(gate: CommitGate, tmp_path: Path) -> None:
    other = tmp_path / ".1.0f2e.tmp"
    other.touch(0o644)
    gate.shut()
    assert chmod(gate, other).wait(30) == 0
    assert (mode(other), gate.is_reached()) == (0o600, False)


def test_a_held_commit_dies_with_its_session(gate: CommitGate, commit: Path) -> None:
    gate.shut()
    held = chmod(gate, commit)
    assert poll(gate.is_reached, 30.0, until=bool)
    os.killpg(held.pid, signal.SIGKILL)
    assert held.wait(30) == -signal.SIGKILL
    assert mode(commit) == 0o644


def test_a_held_commit_ends_when_whoever_asked_is_gone(gate: CommitGate, commit: Path) -> None:
    gate.shut()
    environment = os.environ | {"PATH": f"{gate.programs}:{os.environ['PATH']}"}
    asks = subprocess.Popen(["sh", "-c", f"chmod 0600 '{commit}'; true"], env=environment, start_new_session=True)
    assert poll(gate.is_reached, 30.0, until=bool)
    asks.kill()
    asks.wait(30)
    assert poll(lambda: mode(commit), 30.0, until=lambda found: found == 0o600) == 0o600


# What it puts on record


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[HistoryWriter]:
    with HistoryWriter(tmp_path / "h.arrows", process="processor-1") as made:
        yield made


def test_each_output_is_on_record_before_it_is_sent(writer: HistoryWriter, tmp_path: Path) -> None:
    told = {"input": "t", "partition": 0, "producer": 3, "inputs": 2, "run": "r", "output": "out"}
    lines = lines_on_record(told, writer)
    assert [line[:3] for line in lines] == [("t", 0, 0), ("t", 0, 1)]
    identities = [record.decode(line[3]) for line in lines]
    assert [(one.producer, one.sequence) for one in identities if one] == [(3, 0), (3, 1)]
    assert [input_of(line[3]) for line in lines] == [Input("t", 0, 0), Input("t", 0, 1)]
    rows = [row for batch in stream_batches(tmp_path / "h.arrows", []) for row in batch.to_pylist()]
    sends = [(row["topic"], row["sequence"], row["outcome"]) for row in rows if row["kind"] == schema.SEND]
    assert sends == [("out", 0, schema.INFO), ("out", 1, schema.INFO)]


# foreachBatch


class Batch:
    def __init__(self, *offsets: int) -> None:
        self._offsets = offsets

    def collect(self) -> list[Any]:
        return [SimpleNamespace(topic="t", partition=0, offset=offset) for offset in self._offsets]


@pytest.mark.parametrize(("by_batch_id", "made"), [(True, [0, 1, 2]), (False, [0, 1, 2, 1, 2])])
def test_a_batch_that_is_run_again(tmp_path: Path, by_batch_id: bool, made: list[int]) -> None:
    """By the process after the one that was killed, with the same number."""
    place = str(tmp_path / "store.sqlite")
    first = ToStore(open_store(place, "r"), 3, by_batch_id=by_batch_id)
    first(Batch(0), 0)
    first(Batch(1, 2), 1)
    ToStore(open_store(place, "r"), 4, by_batch_id=by_batch_id)(Batch(1, 2), 1)
    stored = read_store(place, "r")
    assert [one.source.offset for one in stored.outputs] == made
    assert [one.sequence for one in stored.outputs[:3]] == [0, 1, 2]
    assert stored.offsets == ({BATCHES: 2} if by_batch_id else {})


# The handle


class Child:
    ended = False

    def receive(self, *_: Any) -> dict[str, Any]:
        raise RecorderDied("processor-1 has ended") if self.ended else WaitTimeout("nothing was heard")


@pytest.fixture
def query(tmp_path: Path) -> tuple[SparkQuery, Child, dict[str, Any]]:
    child, told = Child(), dict[str, Any]()

    def start(module: str, **arguments: Any) -> Child:
        told.update(arguments, module=module)
        return child

    client: Any = SimpleNamespace(
        name="processor-1", producer_id=3, start=start, run_dir=SimpleNamespace(path=tmp_path / "r")
    )
    work = str(tmp_path / "work")
    made = SparkQuery(client, inputs=("t", 0), count=20, sink="kafka", output="out", store="", work=work)
    return made, child, told


def test_a_query_is_told_its_checkpoint_and_where_it_is_held(
    query: tuple[SparkQuery, Child, dict[str, Any]], tmp_path: Path
) -> None:
    made, _, told = query
    assert told["checkpoint"] == str(tmp_path / "r" / handles.CHECKPOINT) == str(made.checkpoint)
    assert (told["module"], told["inputs"], told["store"], told["sink"]) == ("spark", 20, "", "kafka")
    assert (Path(told["gate"]) / "bin" / "chmod").exists()


def test_a_query_is_held_once_it_has_come_to_a_commit(query: tuple[SparkQuery, Child, dict[str, Any]]) -> None:
    made, child, told = query
    made.hold_commit()
    assert not made.commit_is_held()
    (Path(told["gate"]) / "reached").touch()
    assert made.commit_is_held()
    child.ended = True
    with pytest.raises(RecorderDied):
        made.commit_is_held()


def test_what_a_checkpoint_is_of_is_json(tmp_path: Path) -> None:
    found = checkpoint(tmp_path, batch0=json.dumps({"a.b_c-d": {"0": 2**40}}))
    assert committed_in(found, "a.b_c-d", 0) == 2**40


class Ending:
    """In the place of a session and its query: what was asked of them."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        machine = SimpleNamespace(kill=lambda: self.asked.append("killed"))
        self.sparkContext = SimpleNamespace(_gateway=SimpleNamespace(proc=machine))

    def stop(self) -> None:
        self.asked.append("stopped")


@pytest.mark.parametrize(("at_once", "asked"), [(False, ["stopped", "stopped"]), (True, ["killed"])])
def test_a_query_whose_harness_is_gone_is_not_waited_for(at_once: bool, asked: list[str]) -> None:
    ending = Ending()
    end(ending, ending, at_once=at_once)
    assert ending.asked == asked
