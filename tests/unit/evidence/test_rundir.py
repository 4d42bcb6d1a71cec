"""Run directories and timelines stay readable whatever cut them short, and say in one line what is wrong with
them.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest

from evidence.errors import UsageError
from evidence.events import Container, Note
from evidence.run import RunRecord
from evidence.rundir import RunDir, find_runs, write_atomically
from evidence.timeline import HEADER, Timeline, read
from tests.records import run_record
from tests.unit.timelines import at

FACTS = {"run": "r", "scenario": "baseline", "version": "4.3.1"}


def test_facts_come_back(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    run_dir.write_run(run_record(FACTS))
    assert run_dir.read_run() == run_record(FACTS)


def test_a_replaced_file_is_never_half_there(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_atomically(path, "old")
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_a_file_that_the_disk_refuses_leaves_the_old_one_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    write_atomically(tmp_path / "run.json", "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "run.json", "new")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("run.json", "old")]


def run_json(**changes: Any) -> str:
    """A run.json with other values for some fields."""
    told: dict[str, Any] = msgspec.to_builtins(run_record(), str_keys=True)
    return json.dumps({"schema": 2} | told | changes)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "not a run directory"),
        ('{"schema": 2, "scen', "not readable as JSON"),
        ("[]", "not the record of a run"),
        ('{"schema": 2}', "no scenario"),
        ('{"schema": 99, "scenario": "a", "version": "b"}', "its schema is 99, this program reads 2; read it with"),
        ('{"schema": 1, "scenario": "a", "version": "b"}', "its schema is 1"),
        ('{"scenario": "a", "version": "b"}', "its schema is None"),
        (run_json(version=4), "Expected `str`, got `int` - at `\\$.version`"),
        (run_json(images="x"), "at `\\$.images`"),
        (run_json(topics=[{"\ud800": 1}]), "surrogates not allowed"),
        pytest.param("[" * 100_000, "not readable as JSON", id="deep"),
        (run_json(seed=""), "at `\\$.seed`"),
        (run_json(topics=[{"name": "t", "partitions": {"0": [1, "2"]}, "settings": {}}]), "partitions"),
        (run_json(documented={"required": True}), "documented.required"),
    ],
)
def test_bad_facts_are_one_line(tmp_path: Path, content: str | None, why: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(UsageError, match=why) as caught:
        RunDir(tmp_path).read_run()
    assert "\n" not in str(caught.value)


def test_no_such_directory(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such run directory"):
        RunDir(tmp_path / "nowhere").read_run()


def test_runs_are_found_at_and_below(tmp_path: Path) -> None:
    for name in ("b", "a"):
        RunDir(tmp_path / name).write_run(run_record(FACTS))
    assert [run.path.name for run in find_runs(tmp_path)] == ["a", "b"]
    assert [run.path.name for run in find_runs(tmp_path / "b")] == ["b"]
    with pytest.raises(UsageError, match="no run directory here"):
        list(find_runs(tmp_path / "a" / "nothing"))


def test_moments_are_in_order_and_half_made_ones_are_not_moments(tmp_path: Path) -> None:
    for name in ("01-final", "00-armed", ".02-partial"):
        (tmp_path / "replicas" / name).mkdir(parents=True)
    assert RunDir(tmp_path).moments() == ["00-armed", "01-final"]


def test_timeline_events_come_back_in_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "timeline.jsonl"
    with Timeline(path) as timeline:
        timeline.append(Note(monotonic_ns=2, text="second"))
        timeline.append(Container(monotonic_ns=1, node="broker-1", action="die"))
    reading = read(path)
    assert [event.kind for event in reading.events] == ["container", "note"]
    assert reading.damaged == ()
    assert [note.text for note in reading.of(Note)] == ["second"]


@pytest.mark.parametrize("tail", [b'{"monotonic_ns": 3, "ki', b"\x00\x00\x00", b'{"monotonic_ns": "x"}', b"17"])
def test_a_torn_line_is_reported_and_the_rest_is_read(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "timeline.jsonl"
    with Timeline(path) as timeline:
        timeline.append(Note(text="whole"))
    path.write_bytes(path.read_bytes() + tail)
    reading = read(path)
    assert [note.text for note in reading.of(Note)] == ["whole"]
    assert len(reading.damaged) == 1
    assert "line 3" in reading.damaged[0]


@pytest.mark.parametrize(
    ("first", "events"),
    [
        (b"", 1),
        (b'{"schema": 2, "mood": "good"}\n', 1),
        (b'{"schema": 1}\n', 1),
        (b'{"schema": "2"}\n', 1),
        (b'{"sch', 0),
        (b"\xff\n", 1),
        (b"\n", 1),
    ],
)
def test_a_timeline_that_does_not_say_its_schema_is_damaged(tmp_path: Path, first: bytes, events: int) -> None:
    path = tmp_path / "timeline.jsonl"
    with Timeline(path) as timeline:
        timeline.append(Note(text="whole"))
    path.write_bytes(path.read_bytes().replace(HEADER, first))
    reading = read(path)
    assert "timeline.jsonl line 1: it does not say that this is schema 2" in reading.damaged
    assert len(reading.events) == events


def test_the_schema_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "timeline.jsonl"
    for text in ("one", "two"):
        with Timeline(path) as timeline:
            timeline.append(Note(text=text))
    assert path.read_bytes().count(HEADER) == 1
    assert [note.text for note in read(path).of(Note)] == ["one", "two"]
    assert read(path).damaged == ()


def test_a_timeline_of_another_schema_is_refused_in_one_line(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    run_dir.write_run(run_record())
    run_dir.timeline.write_text('{"schema": 3}\n')
    with pytest.raises(
        UsageError, match=r"timeline\.jsonl: its schema is 3, this program reads 2; read it with"
    ) as caught:
        run_dir.read_run()
    assert "\n" not in str(caught.value)
    for damaged in ("", "{", "[]", '{"schema": 3, "kind": "note"}\n', '{"schema": 2}\n'):
        run_dir.timeline.write_text(damaged)
        assert run_dir.read_run() == run_record()


NOT_ALWAYS = ("scenario", "version", "build", "releases", "further_jars", "further_builds", "own_client")
"""Parts that have a test of their own, and those of own builds or clients, or of several releases, alone."""


@pytest.mark.parametrize("name", [name for name in RunRecord.__struct_fields__ if name not in NOT_ALWAYS])
def test_a_record_that_lacks_what_the_harness_always_writes_is_refused(tmp_path: Path, name: str) -> None:
    told = json.loads(run_json())
    del told[name]
    (tmp_path / "run.json").write_text(json.dumps(told))
    with pytest.raises(UsageError, match=f"missing required field `{name}`"):
        RunDir(tmp_path).read_run()


def test_a_missing_timeline_is_reported(tmp_path: Path) -> None:
    assert read(tmp_path / "timeline.jsonl").damaged == ("timeline.jsonl: missing",)


@pytest.mark.parametrize(
    ("wall_s", "monotonic_s", "sound"),
    [
        (3600, 3600, True),
        (3602, 3600, True),
        (3606, 3600, False),
        (-3590, 10, False),
        (10, -990, False),
        (1.5, 1, True),
    ],
)
def test_clocks_that_come_apart_make_no_order(tmp_path: Path, wall_s: float, monotonic_s: float, sound: bool) -> None:
    path = tmp_path / "timeline.jsonl"
    begin = 10**15
    with Timeline(path) as timeline:
        timeline.append(at(begin, Note(text="")))
        monotonic_ns, wall_ns = begin + int(monotonic_s * 1e9), begin + int(wall_s * 1e9)
        timeline.append(Note(text="", monotonic_ns=monotonic_ns, wall_ns=wall_ns))
    reading = read(path)
    assert (len(reading.trusted), len(reading.events), len(reading.damaged)) == (2 * sound, 2, not sound)


def test_a_closed_timeline_takes_no_more(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "timeline.jsonl")
    timeline.close()
    timeline.append(Note(text=""))
    assert read(tmp_path / "timeline.jsonl").events == ()


def test_a_full_disk_is_told_in_the_main_thread_and_at_the_end(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "timeline.jsonl")
    timeline.append(Note(text="fits"))
    timeline._file.close()
    timeline._file = FileIO("/dev/full", "a")
    observer = threading.Thread(target=timeline.append, args=(Note(text="lost"),))
    observer.start()
    observer.join()
    for attempt in (lambda: timeline.append(Note(text="lost")), timeline.close):
        with pytest.raises(OSError, match="No space left"):
            attempt()
    assert [note.text for note in read(tmp_path / "timeline.jsonl").of(Note)] == ["fits"]
