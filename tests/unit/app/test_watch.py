from __future__ import annotations

import json
import tarfile
import threading
import time
from pathlib import Path

import pytest

from app.cli import main
from app.commands import watch
from evidence.errors import EXIT_ERROR, EXIT_USAGE
from evidence.rundir import RunDir

KEPT = Path(__file__).parents[2] / "data" / "runs" / "double-failover-0.10.2.2.tar.xz"


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    with tarfile.open(KEPT) as kept:
        kept.extractall(tmp_path, filter="data")
    (found,) = tmp_path.glob("**/run.json")
    return RunDir(found.parent)


def test_a_run_that_has_ended_is_told_with_its_verdict(run_dir: RunDir, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(run_dir.path)]) == 0
    said = capfd.readouterr()
    assert "double-failover on 0.10.2.2" in said.err
    assert "m3 acknowledged at offset 3" in said.err
    assert "as-documented" in said.out


def test_a_run_is_followed_while_it_is_written(run_dir: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_S", 0.01)
    whole = run_dir.timeline.read_bytes()
    run_dir.verdict.unlink(missing_ok=True)
    run_dir.run_json.write_text(run_dir.run_json.read_text().replace('"state": "complete"', '"state": "running"'))
    half = len(whole) // 2  # in the middle of a line

    def write() -> None:
        time.sleep(0.1)
        with run_dir.timeline.open("ab") as file:
            file.write(whole[half:])

    run_dir.timeline.write_bytes(whole[:half])
    writer = threading.Thread(target=write)
    writer.start()
    followed = list(watch.events(run_dir))
    writer.join()
    assert len(followed) == whole.count(b"\n") - 1


def test_a_run_that_was_killed_is_told(
    run_dir: RunDir, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = run_dir.timeline.read_bytes().splitlines(keepends=True)
    run_dir.timeline.write_bytes(b"".join(lines[:-1]))
    run_dir.run_json.write_text(run_dir.run_json.read_text().replace('"state": "complete"', '"state": "running"'))
    monkeypatch.setattr(watch, "SILENT_S", 0.0)
    assert main(["watch", str(run_dir.path)]) == EXIT_ERROR
    assert "the run was killed; its state is 'running'" in capfd.readouterr().err


def test_a_run_without_a_verdict_says_how_to_get_one(run_dir: RunDir, capfd: pytest.CaptureFixture[str]) -> None:
    run_dir.verdict.unlink(missing_ok=True)
    assert main(["watch", str(run_dir.path), "--json-lines"]) == 0
    told = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert "no verdict" in told[-1]["text"]
    assert {"step", "fault", "acked"} <= {line["kind"] for line in told}


def test_what_is_no_run_directory_is_bad_input(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(tmp_path)]) == EXIT_USAGE
    assert "not a run directory" in capfd.readouterr().err
