"""What the Tab key offers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPLETE = """
import os, sys
from app.cli import main
from harness.scenario import all_scenarios

all_scenarios()
sys.argv[0] = "kafka-chaos"
for number, line in enumerate(sys.stdin.read().splitlines()):
    child = os.fork()
    if child == 0:
        answers = os.path.join(sys.argv[1], str(number))
        os.environ |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": answers}
        sys.argv[1:] = []
        main()
    os.waitpid(child, 0)
"""
"""Answers each line in a process of its own, of which all have imported the scenarios together."""
NAMES = {
    "kafka-chaos expl": "explain",
    "kafka-chaos run double": "double-failover",
    "kafka-chaos run baseline --version 0.10": "0.10.2.2",
    "kafka-chaos run baseline --versi": "--version",
    "kafka-chaos run leader-crash --case acks-a": "acks-all",
    "kafka-chaos run baseline --expect lost": "lost-write",
    "kafka-chaos run no-such": "",
}


def offered(lines: list[str], folder: Path) -> list[list[str]]:
    """What the program answers a shell whose cursor is at the end of each line."""
    environment = os.environ | {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n"}
    command = [sys.executable, "-c", COMPLETE, str(folder)]
    subprocess.run(command, env=environment, input="\n".join(lines), text=True, check=True, timeout=240)
    answers = [(folder / str(number)).read_text() for number in range(len(lines))]
    return [[word.strip() for word in answer.split("\n")] for answer in answers]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return dict(zip(NAMES, offered(list(NAMES), tmp_path_factory.mktemp("answers")), strict=True))


@pytest.mark.parametrize("line", NAMES)
def test_names_that_exist_are_offered_and_no_others(line: str, answers: dict[str, list[str]]) -> None:
    assert answers[line] == [NAMES[line]]


def test_run_directories_are_offered(tmp_path: Path) -> None:
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "summary.md").touch()
    assert offered([f"kafka-chaos check {tmp_path}/runs/"], tmp_path) == [[f"{tmp_path}/runs/one/"]]
