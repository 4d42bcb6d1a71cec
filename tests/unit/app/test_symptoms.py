"""What a bisection looks for besides anomalies: times that are too long, and lines of brokers."""

from __future__ import annotations

import argparse
import tarfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import symptoms
from app.cli import main
from app.commands import run
from app.nights import ran_of
from checks import claims
from evidence.errors import UsageError
from evidence.rundir import RunDir
from judgement.comparison import Fact, Ran

KEPT = Path(__file__).parents[2] / "data" / "runs" / "leader-isolated-acks-1-3.9.2-pinned.tar.xz"
LINE = "[2026-11-23T19:24:16.708Z] ERROR The checkpoint of t-0 was written twice (kafka.cluster.Partition)"
TOLD = "Partition: The checkpoint of t-N was written twice"


def ran(**values: object) -> Ran:
    plain = {"run": "r", "cell": ("s", "default", "4.3.1"), "at": "", "verdict": "as-documented"}
    return Ran(**plain | values)  # type: ignore[arg-type]


def test_a_time_is_too_long_or_not_or_not_measured() -> None:
    pause = symptoms.longer("write_pause_ms=6")
    claim = symptoms.longer("leader-replaced-in-time=6.5")
    assert (pause.of_claim, claim.of_claim) == (False, True)
    assert pause.shown(ran(times_ms={"the longest pause of writes": 6001.0})) is True
    assert pause.shown(ran(times_ms={"the longest pause of writes": 6000.0})) is False
    assert pause.shown(ran(times_ms={"leader-replaced-in-time": 9000.0})) is None
    assert claim.shown(ran(times_ms={"leader-replaced-in-time": 6501.0})) is True


def test_a_line_is_found_by_a_part_of_what_a_comparison_tells() -> None:
    wanted = symptoms.line("checkpoint of t-N")
    assert wanted.shown(ran(lines=frozenset({Fact("error line", TOLD)}))) is True
    assert wanted.shown(ran(lines=frozenset({Fact("warning", "Log: Truncating t-N")}))) is False
    assert wanted.shown(ran()) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("write_pause_ms", "write it as NAME=SECONDS"),
        ("write_pause_ms=soon", "write it as NAME=SECONDS"),
        ("write_pause_ms=0", "write it as NAME=SECONDS"),
        ("write_pause_ms=nan", "write it as NAME=SECONDS"),
        ("write_paus_ms=3", "did you mean write_pause_ms"),
    ],
)
def test_what_is_no_time_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        symptoms.longer(text)
    with pytest.raises(UsageError, match="name a part of the line"):
        symptoms.line(" ")


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    """A kept run, with a broker's log of one line."""
    with tarfile.open(KEPT) as tar:
        tar.extractall(tmp_path, filter="data")
    found = RunDir(tmp_path)
    found.logs.mkdir(exist_ok=True)
    (found.logs / "broker-1.log").write_text(f"2026-11-23T19:24:16.708Z {LINE}\n")
    return found


def test_a_run_directory_tells_its_times_and_lines(run_dir: RunDir) -> None:
    took = ran_of(run_dir).times_ms["leader-replaced-in-time"] / 1000
    wanted = symptoms.named([f"leader-replaced-in-time={took - 0.1}", f"leader-replaced-in-time={took + 0.1}"], [TOLD])
    assert list(symptoms.shown(wanted, run_dir).values()) == [True, False, True]
    assert symptoms.shown((), RunDir(Path("/nowhere"))) == {}


@pytest.mark.parametrize(
    ("options", "sound", "status"),
    [
        (["--line", TOLD], True, 1),
        (["--line", "another line"], True, 0),
        (["--line", TOLD, "--longer", "ack_ms=100000"], True, 1),
        (["--line", TOLD], False, run.BISECT_SKIP),
        (["--longer", "epochs-begin-where-the-log-has-them=5"], True, run.BISECT_SKIP),
    ],
)
def test_git_bisect_is_told_by_the_symptom_and_not_by_the_verdict(
    options: Sequence[str], sound: bool, status: int, run_dir: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(options: argparse.Namespace, found: list[RunDir]) -> int:
        found.append(run_dir)
        return 1 if status == 0 else 0

    name = next(iter(one for one in claims.CATALOGUE if one not in ran_of(run_dir).times_ms))
    given = [text.replace("epochs-begin-where-the-log-has-them", name) for text in options]
    monkeypatch.setattr(run, "_run", made)
    monkeypatch.setattr(run, "read_verdict", lambda run_dir: SimpleNamespace(sound=sound))
    assert main(["run", "baseline", "--kafka", "build", "--for-bisect", *given]) == status


def test_a_symptom_without_a_bisection_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "baseline", "--version", "4.3.1", "--line", "x"]) == 254
    assert "add --for-bisect" in capsys.readouterr().err
