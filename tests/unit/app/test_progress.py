from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from app import matrix
from app.matrix import Happened, Matrix, MatrixCell
from app.output import Progress, say
from app.progress import Board, Screen, ends_in, watching
from evidence.rundir import RunDir
from judgement.verdict import Verdict

ONE, TWO, THREE = (MatrixCell(scenario="baseline", version="4.3.1", seed=seed) for seed in (1, 2, 3))
AT = datetime(2026, 11, 23, 22, 59, tzinfo=UTC)
GOOD = Verdict(verdict="as-documented")


def judged(cell: MatrixCell, verdict: Verdict = GOOD) -> Happened:
    return Happened(what="judged", cell=cell, text=verdict.in_words, run_dir=RunDir(Path("runs/x")), verdict=verdict)


def board(jobs: int = 1) -> Board:
    made = Board(jobs, {ONE: 40.0, TWO: 40.0, THREE: 20.0})
    for cell in (ONE, TWO, THREE):
        made.note(Happened(what="waits", cell=cell), 0.0)
    return made


def test_a_run_under_way_has_a_row_with_its_step_and_its_times() -> None:
    made = board()
    made.note(Happened(what="begins", cell=ONE), 100.0)
    made.note(Happened(what="step", cell=ONE, text="· kill the leader"), 105.0)
    made.note(Happened(what="told", cell=ONE, text="t-0: leader broker-2"), 106.0)
    head, row = made.frame(110.0, AT, 120, 10)
    assert head == "0 of 3 runs have ended, 0 of them well; about 2 min to go, until 23:00 UTC"
    assert row == "  baseline on 4.3.1, seed 1  ██░░░░░░░░   10 s of  40  kill the leader"


def test_what_is_left_goes_by_earlier_runs_and_by_how_slow_those_were_that_ended() -> None:
    made = board()
    assert made.left_s(0.0) == 100.0
    made.note(Happened(what="begins", cell=ONE), 0.0)
    assert made.left_s(30.0) == 70.0
    assert made.left_s(60.0) == 60.0
    made.note(Happened(what="ends", cell=ONE), 80.0)
    assert made.pace == 2.0
    assert made.frame(80.0, AT, 120, 10)[1].endswith("waits for its verdict")
    made.note(judged(ONE), 81.0)
    assert made.left_s(81.0) == 120.0


def test_runs_that_are_over_however_they_ended_are_counted() -> None:
    made = board(2)
    made.note(Happened(what="begins", cell=ONE), 0.0)
    made.note(judged(ONE, Verdict(verdict="unexpected")), 1.0)
    made.note(Happened(what="lost", cell=TWO), 1.0)
    made.note(Happened(what="left", cell=THREE), 1.0)
    assert made.frame(1.0, AT, 120, 10) == [
        "2 of 2 runs have ended, 0 of them well; about 1 min to go, until 22:59 UTC"
    ]


def test_a_table_is_no_larger_than_its_terminal() -> None:
    made = board(3)
    for cell in (ONE, TWO, THREE):
        made.note(Happened(what="begins", cell=cell), 0.0)
    lines = made.frame(1.0, AT, 40, 3)
    assert len(lines) == 3
    assert all(len(line) == 40 and line.endswith("…") for line in lines)


@pytest.mark.parametrize(
    ("running", "waiting", "jobs", "end"),
    [([], [], 2, 0.0), ([3.0], [], 1, 3.0), ([3.0, 5.0], [1.0, 4.0], 2, 8.0), ([], [2.0, 2.0, 2.0], 2, 4.0)],
)
def test_the_end_of_runs_that_follow_each_other(
    running: list[float], waiting: list[float], jobs: int, end: float
) -> None:
    assert ends_in(running, waiting, jobs) == end


def test_lines_are_printed_above_what_is_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    screen = Screen(board(), size=lambda: os.terminal_size((80, 24)))
    with screen.shown():
        say("a line")
    head = "0 of 3 runs have ended, 0 of them well; about 2 min to go"
    text = written.getvalue()
    assert text.startswith(f"a line\n{head}")
    assert text.endswith("\x1b[1F\x1b[J")
    say("after it")
    assert written.getvalue().endswith("\x1b[Jafter it\n")


def test_elsewhere_only_verbose_tells_of_steps(capfd: pytest.CaptureFixture[str]) -> None:
    step = Happened(what="step", cell=ONE, text="kill the leader")
    for verbose, told in ((False, ""), (True, "baseline on 4.3.1, seed 1: kill the leader")):
        with watching(Progress(), jobs=1, expected=dict, verbose=verbose) as watch:
            watch(step)
            watch(judged(ONE))
        assert capfd.readouterr().err.strip().endswith(told)


def test_lines_of_json_have_all_that_happens(capfd: pytest.CaptureFixture[str]) -> None:
    progress = Progress(json_lines=True)
    with watching(progress, jobs=1, expected=dict, json_lines=True) as watch:
        watch(Happened(what="step", cell=ONE, text="kill the leader"))
        watch(judged(ONE))
    progress.line("a message")
    said = capfd.readouterr()
    step, run, message = map(json.loads, said.out.splitlines())
    assert said.err == ""
    assert step.items() >= {"kind": "step", "scenario": "baseline", "seed": 1, "text": "kill the leader"}.items()
    assert run.items() >= {"kind": "judged", "run_dir": "runs/x", "verdict": "as-documented"}.items()
    assert (message["kind"], message["text"]) == ("message", "a message")


def started(program: str, module: str, arguments: Sequence[str], *_: object, **__: object) -> subprocess.Popen[str]:
    """In place of a run, a program with its pipes."""
    assert (module, arguments[0]) == ("app", "run")
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_what_a_run_says_is_told_and_its_directory_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = [
        {"kind": "step", "at_s": 1.0, "text": "· kill"},
        {"kind": "acked", "at_s": 2.0, "text": "m1 acknowledged at offset 0"},
        {"kind": "run", "at_s": 3.0, "run_dir": "runs/one"},
    ]
    program = "".join(f"print({json.dumps(line)!r})\n" for line in lines) + "print('[]')\nprint('no JSON')"
    seen: list[Happened] = []
    monkeypatch.setattr("app.matrix.forks.start", partial(started, program))
    assert Matrix(tmp_path, {}, 1, print, watch=seen.append)._one(ONE) == RunDir(Path("runs/one"))
    assert [(one.what, one.text) for one in seen] == [
        ("begins", ""),
        ("step", "· kill"),
        ("told", "m1 acknowledged at offset 0"),
        ("told", "[]"),
        ("told", "no JSON"),
        ("ends", ""),
    ]
    monkeypatch.setattr("app.matrix.forks.start", partial(started, "raise SystemExit('out of it')"))
    with pytest.raises(matrix.RunLost, match="ended with 1 and left no run directory; it said: out of it"):
        Matrix(tmp_path, {}, 1, print)._one(ONE)
