"""Compose outlives nobody: what it was making is made, or it is dead with its children, before anybody removes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evidence.errors import HarnessError, UsageError
from harness.cluster import cluster

LIMIT_S = 30.0
CHILD = 'sleep 600 & echo $! >"$CHILD"; wait'
"""As `docker` starts Compose: as a child that a kill -9 of `docker` does not reach."""


@pytest.fixture
def docker_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `docker` on the PATH that a test writes."""
    command = tmp_path / "bin" / "docker"
    command.parent.mkdir()
    command.touch()
    command.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    return command


def test_what_compose_says_comes_back(docker_command: Path) -> None:
    docker_command.write_text('#!/bin/sh\necho "out $*"; echo "said $X" >&2; exit 3\n')
    assert cluster._compose(["create"], {"X": "this"}) == (3, "out compose create\n", "said this\n")


def test_no_docker_is_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="no `docker` command"):
        cluster._compose(["create"], {})


def test_one_that_hangs_is_killed_with_its_children(
    docker_command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_command.write_text(f"#!/bin/sh\necho words >&2\n{CHILD}\n")
    monkeypatch.setattr(cluster, "COMPOSE_TIMEOUT_S", 0.5)
    with pytest.raises(HarnessError, match=r"took longer than 0\.5 s: 'words"):
        cluster._compose(["create"], {})
    await_end(int((tmp_path / "child").read_text()))


INTERRUPTED = """
import os, sys, threading
from harness.cluster import cluster
try:
    cluster._compose(["create"], {})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_waits_until_compose_has_made_what_it_was_making(docker_command: Path, tmp_path: Path) -> None:
    fifo, made = tmp_path / "begun", tmp_path / "made"
    os.mkfifo(fifo)
    go = tmp_path / "go"
    os.mkfifo(go)
    docker_command.write_text(f"#!/bin/sh\necho begun >{fifo}\ncat {go} >/dev/null\ntouch {made}\n")
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as harness:
        assert fifo.read_text() == "begun\n"
        harness.send_signal(2)
        assert not made.exists()
        go.write_text("go")
        out, _ = harness.communicate(timeout=LIMIT_S)
    assert out == "interrupted\n"
    assert made.exists()


def await_end(process: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while Path(f"/proc/{process}").exists() and "Z" not in Path(f"/proc/{process}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, f"process {process} is still there"
        time.sleep(0.02)
