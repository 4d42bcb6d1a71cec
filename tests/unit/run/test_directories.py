"""Replicas that are moved between log directories: what is asked for, and where the files say that they lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import MoveReplica, ReplicaPlace
from evidence.timeline import Timeline
from harness.cluster.requests import RequestRefused
from harness.run import directories, disks
from harness.run.directories import FIRST, OTHER, LogDirectories
from harness.run.disks import LiveFiles
from harness.run.record import GrowingRecord
from harness.run.sequence_log import SequenceLog
from harness.run.who import Partition, Target
from tests.records import run_record
from tests.unit.timelines import lines_of

T = Partition("t", 0)
Made = tuple[LogDirectories, Target, Path]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    monkeypatch.setattr(directories, "MOVE_LIMIT_S", 0.0)
    monkeypatch.setattr(disks, "FILE_LIMIT_S", 0.0)
    node: Any = SimpleNamespace(name="broker-1", id=1, address="10.0.0.1")
    for directory in ("kafka", "second/kafka"):
        (tmp_path / node.name / directory).mkdir(parents=True)
    put(tmp_path / node.name / "kafka" / "t-0", 9)
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        parts: Any = SimpleNamespace(
            cluster=SimpleNamespace(data=tmp_path),
            run_dir=None,
            timeline=timeline,
            topics=[SimpleNamespace(name="t")],
            record=GrowingRecord(run_record()),
            version=SimpleNamespace(release=(2, 8, 2)),
        )
        log = SequenceLog(timeline)
        yield LogDirectories(parts, log, LiveFiles(parts, log)), Target("", node), tmp_path / node.name


def put(replica: Path, size: int) -> None:
    replica.mkdir()
    (replica / f"{0:020}.log").write_bytes(bytes(size))
    (replica / f"{0:020}.index").write_bytes(bytes(100))


def place(**seen: Any) -> ReplicaPlace:
    return ReplicaPlace(node="broker-1", topic="t", partition=0, **seen)


def same(one: ReplicaPlace, other: ReplicaPlace) -> bool:
    names = ("directory", "bytes", "future", "future_bytes")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def test_where_a_replica_lies_and_what_is_copied_of_it(made: Made) -> None:
    on, target, data = made
    assert same(on.place_of(target, T), place(directory=FIRST, bytes=9))
    put(data / "second/kafka" / "t-0.abc-future", 4)
    assert same(on.place_of(target, T), place(directory=FIRST, bytes=9, future=OTHER, future_bytes=4))
    (data / "kafka/t-0").rename(data / "kafka/t-0.abc-delete")
    assert same(on.place_of(target, T), place(directory=None, bytes=0, future=OTHER, future_bytes=4))
    (data / "second/kafka" / "t-0.abc-future").rename(data / "second/kafka" / "t-0")
    assert same(on.place_of(target, T), place(directory=OTHER, bytes=4))
    assert [line["kind"] for line in lines_of(data.parent / "timeline.jsonl")] == ["replica-place"] * 4


def test_waits_for_a_part_of_the_copy_and_for_the_move(made: Made) -> None:
    on, target, data = made
    with pytest.raises(WaitTimeout, match="4 bytes of t-0 are copied on broker-1"):
        on.wait_copying(target, T, 4)
    put(data / "second/kafka" / "t-0.abc-future", 4)
    on.wait_copying(target, T, 4)
    with pytest.raises(WaitTimeout, match="t-0 is in /data/second/kafka on broker-1"):
        on.wait_moved(target, T, OTHER)
    (data / "kafka/t-0").rename(data / "kafka/t-0.abc-delete")
    (data / "second/kafka" / "t-0.abc-future").rename(data / "second/kafka" / "t-0")
    on.wait_moved(target, T, OTHER)


def test_it_is_asked_to_move_to_the_other_directory(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    on, target, data = made
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(directories, "move_replica", lambda *args, **more: asked.append((*args, more["version"])))
    assert on.move_replica(target, T) == OTHER
    (data / "kafka/t-0").rename(data / "second/kafka/t-0")
    on._version = cast("Any", SimpleNamespace(release=(1, 1, 1)))
    assert on.move_replica(target, T) == FIRST
    assert asked == [(("10.0.0.1", 9092), "t", 0, OTHER, 1), (("10.0.0.1", 9092), "t", 0, FIRST, 0)]
    told = [line for line in lines_of(data.parent / "timeline.jsonl") if line["kind"] == "move-replica"]
    assert [line["directory"] for line in told] == [OTHER, FIRST]
    assert MoveReplica(node="broker-1", topic="t", partition=0, directory=OTHER).directory == told[0]["directory"]


def test_a_refusal_ends_the_run(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    on, target, _ = made

    def refuse(*_: Any, **__: Any) -> None:
        raise RequestRefused(57, "no such directory")

    monkeypatch.setattr(directories, "move_replica", refuse)
    with pytest.raises(HarnessError, match="broker-1: error 57: no such directory"):
        on.move_replica(target, T)


def test_a_throttle_is_of_one_broker(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    on, target, _ = made
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(directories, "set_broker_default", lambda *args, **more: asked.append((*args, more["broker"])))
    on.throttle_moves(target, 5000)
    assert asked == [(("10.0.0.1", 9092), "replica.alter.log.dirs.io.max.bytes.per.second", "5000", 1)]
