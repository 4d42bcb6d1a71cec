"""The manifest: any file that is changed, exchanged, left out or added is noticed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evidence import manifest
from evidence.rundir import RunDir
from tests.records import run_record


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    run_dir = RunDir(tmp_path)
    run_dir.write_run(run_record({"run": "r1", "scenario": "s", "version": "v"}))
    run_dir.timeline.write_text("{}\n{}\n")
    for path in (
        run_dir.stream("p"),
        run_dir.log("broker-1"),
        run_dir.moment("00-final") / "broker-1" / "t-0" / "0.log",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    manifest.write(run_dir, "r1")
    return run_dir


def complaints(run_dir: RunDir) -> list[str]:
    return manifest.describe(manifest.verify(run_dir, run_dir.read_run()))


def test_what_was_sealed_is_there(run_dir: RunDir) -> None:
    assert complaints(run_dir) == []
    written = json.loads(run_dir.manifest.read_text())
    assert (written["run"], written["timeline_lines"]) == ("r1", 2)
    assert written["files"]["history/p.arrows"] == {"bytes": 8, "sha256": hashlib.sha256(b"p.arrows").hexdigest()}
    assert manifest.digest(run_dir) == hashlib.sha256(run_dir.manifest.read_bytes()).hexdigest()


def test_what_is_judged_and_shown_is_no_part_of_it(run_dir: RunDir) -> None:
    for path in (run_dir.findings, run_dir.verdict, run_dir.report, run_dir.data / "broker-1" / "x"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert complaints(run_dir) == []


def rewritten(old: str, new: str) -> Callable[[RunDir], object]:
    return lambda run: run.manifest.write_text(run.manifest.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda run: run.stream("p").write_text("p.arrowz"), "history/p.arrows: not what it was"),
        (lambda run: run.stream("p").write_text("p"), "history/p.arrows: not what it was"),
        (lambda run: run.log("broker-1").unlink(), "logs/broker-1.log: gone"),
        (lambda run: run.stream("q").write_text("q"), "history/q.arrows: not there when"),
        (lambda run: run.timeline.write_text("{}\n"), "timeline.jsonl: 1 lines, it had 2"),
        (lambda run: run.manifest.unlink(), "manifest.json: missing"),
        (lambda run: run.manifest.write_text("{"), "manifest.json: not readable"),
        (lambda run: run.manifest.write_text("[]"), "manifest.json: not readable"),
        (rewritten('"schema": 2', '"schema": 1'), "manifest.json: not readable"),
        (rewritten('"schema": 2', '"schema": true'), "manifest.json: not readable"),
        (rewritten('"schema"', '"schemas"'), "manifest.json: not readable"),
        (lambda run: manifest.write(run, "r2"), "manifest.json: it is of the run r2"),
    ],
)
def test_what_is_not_what_it_was(run_dir: RunDir, damage: Callable[[RunDir], object], word: str) -> None:
    damage(run_dir)
    assert any(word in line for line in complaints(run_dir))


def test_many_differences_are_counted(run_dir: RunDir) -> None:
    for number in range(8):
        run_dir.stream(f"q{number}").write_text("q")
    assert complaints(run_dir)[-1] == "manifest.json: 3 more differences"
    every = manifest.verify(run_dir, run_dir.read_run())
    assert [one.path for one in every] == [f"history/q{number}.arrows" for number in range(8)]


def test_only_what_was_changed_since_is_hashed(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    later = max(path.stat().st_ctime_ns for path in run_dir.path.rglob("*"))
    monkeypatch.setattr(manifest, "_sha256", lambda path: pytest.fail(f"{path} was read"))
    assert manifest.verify(run_dir, run_dir.read_run(), changed_since_ns=later) == []
    monkeypatch.undo()
    run_dir.stream("p").write_text("p.arrowz")
    os.utime(run_dir.stream("p"), ns=(later + 10**9, later + 10**9))
    assert len(manifest.verify(run_dir, run_dir.read_run(), changed_since_ns=later)) == 1
