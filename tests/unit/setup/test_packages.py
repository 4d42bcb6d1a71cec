"""apt as the set-up uses it: the line that matters in a failure, and another apt at work."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from evidence.errors import HarnessError
from harness.setup import packages


def _silent(line: str) -> None:
    pass


def test_a_failed_command_shows_its_errors() -> None:
    command = ["sh", "-c", "echo fine; echo 'E: no such package'; exit 7"]
    with pytest.raises(HarnessError, match=r"trying: sh ended with 7: E: no such package") as caught:
        packages.run(command, what="trying", echo=_silent)
    assert "fine" not in str(caught.value)


def test_os_release() -> None:
    text = 'PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\nVERSION_CODENAME=bookworm\n'
    assert packages.os_release(text)["VERSION_CODENAME"] == "bookworm"
    assert packages.os_release(text)["PRETTY_NAME"] == "Debian GNU/Linux 12"


VAGUE = "E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?"
CERTIFICATE = (
    "  SSL connection failed: error:0A000086:SSL routines::certificate verify failed / Success [IP: 192.0.2.1 443]"
)


@pytest.mark.parametrize(
    ("output", "first"),
    [
        (["Get:1 x", "Err:1 https://m.example sid InRelease", CERTIFICATE, VAGUE], CERTIFICATE.strip()),
        (
            [VAGUE, "E: Failed to fetch http://m.example/a.deb  404  Not Found [IP: 192.0.2.1 80]"],
            "E: Failed to fetch http://m.example/a.deb  404  Not Found [IP: 192.0.2.1 80]",
        ),
        (
            ["dpkg: error: write: No space left on device", "E: Sub-process dpkg returned 1"],
            "dpkg: error: write: No space left on device",
        ),
        (["I: Retrieving", "E: Couldn't download packages: libc6"], "E: Couldn't download packages: libc6"),
    ],
)
def test_the_line_that_tells_most_comes_first(output: list[str], first: str) -> None:
    assert packages.explaining_lines(output)[0] == first


def _apt(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    apt = directory / "apt-get"
    apt.write_text(f"#!/bin/sh\n{script}\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


LOCK = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 812 (unattended-upgr)"


def test_another_apt_is_waited_for_and_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _apt(tmp_path, monkeypatch, f'test -e "$0.lock" || exec echo done "$@"\necho "{LOCK}"; exit 100')
    lock = tmp_path / "apt-get.lock"
    lock.touch()
    said: list[str] = []
    asked_again: list[float] = []

    def sleep(seconds: float) -> None:
        asked_again.append(seconds)
        if len(asked_again) == 3:
            lock.unlink()

    monkeypatch.setattr(packages, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=sleep))
    assert packages.apt(["update"], what="updating", echo=said.append) == "done update\n"
    assert len(asked_again) == 3
    [line] = said
    assert "another apt is at work (/var/lib/apt/lists/lock, held by process 812 (unattended-upgr))" in line


def test_another_apt_that_does_not_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _apt(tmp_path, monkeypatch, f'echo "{LOCK}"; exit 100')
    monkeypatch.setattr(packages, "LOCK_LIMIT_S", -1)
    with pytest.raises(HarnessError, match=r"Could not get lock .* process 812"):
        packages.apt(["update"], what="updating", echo=_silent)


def test_any_other_failure_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _apt(tmp_path, monkeypatch, "echo 'E: Unable to locate package x'; exit 100")
    said: list[str] = []
    with pytest.raises(HarnessError, match="Unable to locate package x"):
        packages.apt(["install", "x"], what="installing x", echo=said.append)
    assert not said
