from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from msgspec import structs

from app.cli import main
from app.commands.prune import bytes_of
from evidence import kept, manifest
from evidence.errors import EXIT_USAGE, UsageError
from evidence.retention import Retain
from evidence.rundir import RunDir
from judgement.verdict import Name, Verdict, read_verdict
from tests.records import run_record

DAY_NS = 86_400 * 10**9


def judged(path: Path, verdict: Name = "as-documented", *, days_old: float = 0.0) -> RunDir:
    """A run directory with a file of each kind, and a verdict on it."""
    path.mkdir(parents=True)
    run_dir = RunDir(path)
    ended_ns = time.time_ns() - int(days_old * DAY_NS)
    run_dir.write_run(structs.replace(run_record({}), ended_wall_ns=ended_ns))
    for name in ("history/p.arrows", "replicas/01-final/broker-1/0.log", "logs/broker-1.log", "timeline.jsonl"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text('{"schema":2}\n' + "x" * 100)
    manifest.write(run_dir, run_dir.read_run().run)
    made = Verdict(verdict=verdict, manifest=manifest.digest(run_dir))
    run_dir.verdict.write_text(json.dumps(made.as_json()))
    return run_dir


@pytest.mark.parametrize(
    ("retain", "good", "left"),
    [
        ("all", True, {"history", "replicas", "logs", "timeline.jsonl"}),
        ("interesting", True, {"logs", "timeline.jsonl"}),
        ("interesting", False, {"history", "replicas", "logs", "timeline.jsonl"}),
        ("verdicts", False, set()),
    ],
)
def test_what_is_kept_of_a_run(tmp_path: Path, retain: Retain, good: bool, left: set[str]) -> None:
    run_dir = judged(tmp_path / "run", "as-documented" if good else "unexpected")
    kept.remove(run_dir, kept.superfluous(retain, good=good))
    there = {path.name for path in run_dir.path.iterdir()}
    assert there - {kept.FILE} == {"run.json", "verdict.json", "manifest.json"} | left
    assert read_verdict(run_dir).good == good


def test_what_was_not_removed_on_purpose_is_still_held_to_the_manifest(tmp_path: Path) -> None:
    run_dir = judged(tmp_path / "run")
    kept.remove(run_dir, kept.HEAVY)
    run_dir.log("broker-1").write_text("another")
    with pytest.raises(UsageError, match="given before the files changed"):
        read_verdict(run_dir)


def test_a_verdict_is_not_given_again_without_its_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = judged(tmp_path / "run")
    kept.refuse_removed(run_dir)
    kept.remove(run_dir, kept.HEAVY)
    assert main(["check", str(run_dir.path)]) == EXIT_USAGE
    assert "history, replicas of it were removed" in capsys.readouterr().err


def test_a_file_that_does_not_say_what_was_removed_is_bad_input(tmp_path: Path) -> None:
    run_dir = judged(tmp_path / "run")
    (run_dir.path / kept.FILE).write_text("[]")
    with pytest.raises(UsageError, match="does not say what was removed"):
        read_verdict(run_dir)


def test_runs_that_are_old_are_pruned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, young = judged(tmp_path / "a", days_old=15), judged(tmp_path / "b", days_old=13)
    unended = judged(tmp_path / "c", days_old=15)
    unended.write_run(structs.replace(unended.read_run(), ended_wall_ns=None))
    assert main(["prune", str(tmp_path), "--older-than", "14d", "--retain", "interesting"]) == 0
    assert not old.replicas.exists()
    assert bytes_of(old.path) > 0
    assert main(["prune", str(tmp_path), "--older-than", "14d"]) == 0
    said = capsys.readouterr()
    assert (old.path.exists(), young.replicas.exists(), unended.path.exists()) == (False, True, True)
    assert "1 runs pruned" in said.out
    assert "left alone" in said.err
    with pytest.raises(SystemExit, match=str(EXIT_USAGE)):
        main(["prune", str(tmp_path), "--older-than", "soon"])
