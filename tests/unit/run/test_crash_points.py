"""Waiting for one of several applications to stand still."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence import events
from evidence.errors import HarnessError, WaitTimeout
from evidence.timeline import Timeline
from harness.run import crash_points
from harness.run.crash_points import CrashPoints
from harness.run.sequence_log import PreconditionNotHeld, SequenceLog
from harness.run.who import Partition
from harness.workloads.handles.application import Application, CrashPoint, StreamsApplication
from harness.workloads.handles.connect import ConnectWorker
from harness.workloads.handles.spark import SparkQuery
from harness.workloads.stores.lines import begin

T = Partition("t", 0)
AT = CrashPoint("process", "accept", round=2)


class Member:
    """An application that stands still when it is asked for the how manyth time; never with 0. It ends with -1."""

    group, output, producer_id, store = "g", "out", 3, ""
    shares = in_zookeeper = False
    beside = ()

    def __init__(self, name: str, stands_at: int) -> None:
        self.name, self._stands_at, self._asked = name, stands_at, 0

    def stands_still(self) -> bool:
        if self._stands_at < 0:
            raise HarnessError(f"{self.name} ended")
        self._asked += 1
        return 0 < self._stands_at <= self._asked

    def wait_still(self, *, timeout_s: float) -> CrashPoint:
        return AT


class Stage:
    def __init__(self, timeline: Timeline) -> None:
        self.told: list[events.Event] = []
        timeline.listen(self.told.append)
        groups: Any = SimpleNamespace(committed=lambda *_: SimpleNamespace(error=None, offset=4))
        ends: Any = SimpleNamespace(
            watch_ends=self._watch_ends,
            wait_stable=lambda *_, **__: self.stable.append("asked"),
        )
        self.stable: list[str] = []
        self.silent = 0
        """How often the leader of the output does not answer."""
        parts: Any = SimpleNamespace(timeline=timeline)
        self.lines: int | None = 4
        connectors: Any = SimpleNamespace(lines_committed=lambda _: self.lines)
        self.points = CrashPoints(parts, SequenceLog(timeline), groups, cast("Any", None), ends, connectors)

    def _watch_ends(self, *_: Any) -> Any:
        self.silent -= 1
        return None if self.silent >= 0 else SimpleNamespace(last_stable_offset=5, high_watermark=6)

    def freeze(self, worker: ConnectWorker, written: int) -> events.CrashPoint:
        return self.points.freeze_after_outputs(worker, T, written=written, timeout_s=0.02)

    def unanswered(self, worker: ConnectWorker, committed: int) -> events.CrashPoint:
        return self.points.freeze_unanswered(worker, T, committed=committed, timeout_s=0.02)

    def wait(self, *members: Member, timeout_s: float = 30.0) -> Application:
        return self.points.wait_any_crash_point(cast("list[Application]", members), T, timeout_s=timeout_s)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(crash_points, "STANDING_S", 0.001)
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        yield Stage(timeline)


def test_the_first_that_stands_still_is_returned_and_told_of(stage: Stage) -> None:
    found = stage.wait(Member("never", 0), Member("third", 3), Member("fifth", 5))
    assert found.name == "third"
    (told,) = [one for one in stage.told if isinstance(one, events.CrashPoint)]
    assert (told.process, told.done, told.following, told.round) == ("third", "process", "accept", 2)
    assert (told.committed, told.outputs, told.written) == (4, 5, 6)


def test_a_leader_that_is_yet_to_be_elected_is_asked_again(stage: Stage) -> None:
    stage.silent = 2
    stage.wait(Member("one", 1))
    (told,) = [one for one in stage.told if isinstance(one, events.CrashPoint)]
    assert (told.outputs, told.written) == (5, 6)


def test_a_leader_that_never_answers_shows_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash_points, "ASK_LIMIT_S", 0.02)
    stage.silent = 1_000_000
    with pytest.raises(PreconditionNotHeld, match="the leader says how far the output may be read"):
        stage.wait(Member("one", 1))


def test_none_that_stands_still_is_waited_for_so_long(stage: Stage) -> None:
    with pytest.raises(WaitTimeout, match="none of one, other stands still after 0 s"):
        stage.wait(Member("one", 0), Member("other", 0), timeout_s=0.02)
    assert not [one for one in stage.told if isinstance(one, events.CrashPoint)]


def test_one_that_ends_is_said_at_once(stage: Stage) -> None:
    with pytest.raises(HarnessError, match="gone ended"):
        stage.wait(Member("one", 0), Member("gone", -1))


def worker(frozen: list[str], store: str = "") -> ConnectWorker:
    """A worker of Connect without a process, which says when it is stopped."""
    made: Any = object.__new__(ConnectWorker)
    made.name, made.run, made.group, made.output, made.producer_id, made.store = "w", "r", "source", "out", 3, store
    made.beside, made.freeze = (2, 4), lambda: frozen.append("stopped")
    made.require_running = lambda: None
    return cast("ConnectWorker", made)


def test_a_worker_of_connect_is_stopped_when_its_outputs_are_written(stage: Stage) -> None:
    frozen: list[str] = []
    told = stage.freeze(worker(frozen), written=6)
    assert frozen == ["stopped"]
    assert (told.committed, told.outputs, told.written, told.beside, told.group) == (4, 5, 6, (2, 4), "source")
    assert (told.done, told.following) == ("send", "commit")


def test_a_worker_is_not_stopped_before_its_outputs_are_written(stage: Stage) -> None:
    frozen: list[str] = []
    with pytest.raises(WaitTimeout, match="out-0 ends at 6 after 0 s, not at 7"):
        stage.freeze(worker(frozen), written=7)
    assert frozen == []


def test_a_worker_whose_commit_was_not_answered_is_stopped_before_others_are_asked(stage: Stage) -> None:
    frozen: list[str] = []
    told = stage.unanswered(worker(frozen), committed=4)
    assert (frozen, stage.stable) == (["stopped"], ["asked"])
    assert (told.done, told.following, told.committed) == ("commit", "answer", 4)


def test_a_commit_that_has_no_effect_is_no_crash_point(stage: Stage) -> None:
    with pytest.raises(WaitTimeout, match="w: 4 is committed after 0 s, not 9"):
        stage.unanswered(worker([]), committed=9)
    assert (stage.stable, [one for one in stage.told if isinstance(one, events.CrashPoint)]) == ([], [])


def test_a_source_of_which_nobody_says_what_is_committed_shows_nothing(stage: Stage) -> None:
    stage.lines = None
    with pytest.raises(PreconditionNotHeld, match="Connect's topic of offsets says what is committed"):
        stage.freeze(worker([]), written=6)


class Query(SparkQuery):
    """A query of Spark without a process, whose commit is held when it is asked for the how manyth time."""

    def __init__(self, root: Path, held_at: int, store: str = "") -> None:
        self.name, self.run, self.group, self.output, self.producer_id, self.store = "q", "r", "", "out", 3, store
        self.checkpoint, self._held_at, self.holds = root, held_at, False
        for folder, text in (("commits", "v1\n{}"), ("offsets", 'v1\n{}\n{"t":{"0":10}}')):
            (root / folder).mkdir(parents=True)
            (root / folder / "0").write_text(text)

    def require_running(self) -> None: ...

    def hold_commit(self) -> None:
        self.holds = True

    def commit_is_held(self) -> bool:
        self._held_at -= 1
        return self.holds and self._held_at == 0


def test_a_query_of_spark_is_held_before_its_commit(stage: Stage, tmp_path: Path) -> None:
    query = Query(tmp_path / "checkpoint", 3)
    stage.points.hold_commit(query)
    told = stage.points.wait_commit_held(query, T, timeout_s=30.0)
    assert (told.committed, told.outputs, told.written, told.done, told.following) == (10, 5, 6, "send", "commit")


def test_a_query_that_comes_to_no_commit_is_waited_for_so_long(stage: Stage, tmp_path: Path) -> None:
    with pytest.raises(WaitTimeout, match="q has no batch to commit after 0 s"):
        stage.points.wait_commit_held(Query(tmp_path / "checkpoint", 1), T, timeout_s=0.02)


def test_of_a_query_with_a_store_the_checkpoint_says_what_is_committed(stage: Stage, tmp_path: Path) -> None:
    query = Query(tmp_path / "checkpoint", 1, str(tmp_path / "output.parts"))
    stage.points.hold_commit(query)
    told = stage.points.wait_commit_held(query, T, timeout_s=30.0)
    assert (told.committed, told.outputs, told.store) == (10, 0, "output.parts")


def test_what_is_committed_in_a_checkpoint_is_waited_for(stage: Stage, tmp_path: Path) -> None:
    query = Query(tmp_path / "checkpoint", 1)
    stage.points.wait_checkpointed(query, T, 10, timeout_s=0.02)
    with pytest.raises(WaitTimeout, match="20 of t-0 is not committed in the checkpoint after 0 s: 10 is"):
        stage.points.wait_checkpointed(query, T, 20, timeout_s=0.02)


LINE = "Struct{{value=[B@1f,topic={},partition=0,offset={}}}\n".format


def test_a_sinks_worker_is_stopped_when_its_lines_are_in_the_file(stage: Stage, tmp_path: Path) -> None:
    frozen: list[str] = []
    path = tmp_path / "outputs.lines"
    begin(path, "r", 3)
    with path.open("a") as file:
        file.writelines([LINE("t", 0), LINE("u", 0), LINE("t", 1)])
    with pytest.raises(WaitTimeout, match=r"w: outputs.lines ends at 2 after 0 s, not at 3"):
        stage.freeze(worker(frozen, str(path)), written=3)
    assert frozen == []
    told = stage.freeze(worker(frozen, str(path)), written=2)
    assert frozen == ["stopped"]
    assert (told.committed, told.outputs, told.written, told.store) == (4, 2, 2, "outputs.lines")


def test_a_worker_that_has_ended_is_not_waited_for(stage: Stage) -> None:
    frozen: list[str] = []
    gone = worker(frozen)

    def ended() -> None:
        raise HarnessError("w has ended")

    cast("Any", gone).require_running = ended
    with pytest.raises(HarnessError, match="w has ended"):
        stage.freeze(gone, written=6)
    assert frozen == []


def streams(files: list[frozenset[str]]) -> StreamsApplication:
    """An application of Kafka Streams without a process, whose store has other files each time."""
    made: Any = object.__new__(StreamsApplication)
    made.name, made.require_running = "app", lambda: None
    made.__class__ = type("Stub", (StreamsApplication,), {"files_of_state": lambda _: files.pop(0)})
    return cast("StreamsApplication", made)


def test_a_store_has_written_a_file_when_there_is_one_more(stage: Stage) -> None:
    before = frozenset({"0_0/1.sst"})
    files = [before, before, before | {"0_0/2.sst"}]
    stage.points.wait_flushed(streams(files), before, timeout_s=30.0)
    assert files == []
    with pytest.raises(WaitTimeout, match="app: its store has written no file after 0 s"):
        stage.points.wait_flushed(streams([before] * 9), before, timeout_s=0.02)


def test_a_store_is_there_when_it_has_its_files(stage: Stage) -> None:
    made: Any = streams([])
    found = [frozenset[str](), frozenset({"application/0_0/rocksdb/counts"})]
    made.stores = lambda: found.pop(0)
    stage.points.wait_store(made, timeout_s=30.0)
    assert found == []
    made.stores = frozenset
    with pytest.raises(WaitTimeout, match="app: there is no store in its directory after 0 s"):
        stage.points.wait_store(made, timeout_s=0.02)


def test_a_store_counts_while_its_process_has_it_open(tmp_path: Path) -> None:
    made: Any = object.__new__(StreamsApplication)
    made._state, made._child = tmp_path, SimpleNamespace(pid=os.getpid())
    folders = [tmp_path / "application" / task / "rocksdb" / "counts" for task in ("0_0", "0_1")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "LOCK").touch()
    with (folders[0] / "LOCK").open():
        assert made.stores() == {"application/0_0/rocksdb/counts"}
    assert made.stores() == set()
    made._child.pid = 0
    assert made.stores() == set()


def test_the_process_that_has_made_an_output_is_at_work(stage: Stage) -> None:
    idle: Any = streams([])
    working: Any = streams([])
    made = [0, 0, 3]
    idle.processed, working.processed = lambda: 0, lambda: made.pop(0)
    idle.producer_id, working.producer_id = 2, 3
    assert stage.points.wait_any_at_work([idle, working], timeout_s=30.0) is working
    assert (made, working.beside) == ([], (2,))
    with pytest.raises(WaitTimeout, match="none of app has made an output"):
        stage.points.wait_any_at_work([idle], timeout_s=0.02)


def test_a_partition_is_waited_for_to_its_end(stage: Stage) -> None:
    stage.points.wait_written(T, 6, timeout_s=0.02)
    with pytest.raises(WaitTimeout, match="t-0 ends at 6 after 0 s, not at 7"):
        stage.points.wait_written(T, 7, timeout_s=0.02)
