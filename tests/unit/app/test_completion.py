"""What the Tab key offers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def offered(line: str, tmp_path: Path) -> list[str]:
    """What the program answers a shell whose cursor is at the end of `line`."""
    answers = tmp_path / "answers"
    environment = os.environ | {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answers),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    code = "import sys; from app.cli import main; sys.argv[0] = 'kafka-chaos'; main()"
    subprocess.run([sys.executable, "-c", code], env=environment, check=False, timeout=240)
    return [word.strip() for word in answers.read_text().split("\n")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kafka-chaos expl", "explain"),
        ("kafka-chaos run double", "double-failover"),
        ("kafka-chaos run baseline --version 0.10", "0.10.2.2"),
        ("kafka-chaos run baseline --versi", "--version"),
        ("kafka-chaos run leader-crash --case acks-a", "acks-all"),
        ("kafka-chaos run baseline --expect lost", "lost-write"),
    ],
)
def test_names_that_exist_are_offered(line: str, expected: str, tmp_path: Path) -> None:
    assert offered(line, tmp_path) == [expected]


def test_run_directories_are_offered(tmp_path: Path) -> None:
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "summary.md").touch()
    assert offered(f"kafka-chaos check {tmp_path}/runs/", tmp_path) == [f"{tmp_path}/runs/one/"]


def test_nothing_is_offered_for_a_name_that_does_not_exist(tmp_path: Path) -> None:
    assert offered("kafka-chaos run no-such", tmp_path) == [""]
