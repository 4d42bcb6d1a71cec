"""Packages of Debian's, for the few steps of the set-up that may install (root, on Debian or something made from it),
and of the Python registry.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError
from harness.setup.waiting import Echo, saying

LIMIT_S: Final = 900
LOCK_LIMIT_S: Final = 300
"""How long to wait for another apt: a machine just booted may be upgrading itself."""
EXPLAINING: Final = (
    r"ertificate (verification|verify)|SSL connection failed|handshake",
    r"o space left",
    r"^[EW]: Failed to fetch|^Err:",
    r"^E: ",
)
"""Lines that explain a failure of apt, dpkg or debootstrap, the most telling first."""
LOCKED: Final = re.compile(r"Could not get lock (\S+)(?: It is held by process (\d+ \([^)]*\)))?")


def os_release(text: str | None = None) -> dict[str, str]:
    """/etc/os-release as a dictionary; empty where there is none."""
    if text is None:
        try:
            text = Path("/etc/os-release").read_text()
        except OSError:
            return {}
    return {key: value.strip("\"'") for key, value in re.findall(r"^([A-Z_]+)=(.*)$", text, re.MULTILINE)}


def may_install() -> bool:
    """Whether packages can be installed here."""
    release = os_release()
    family = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    return os.geteuid() == 0 and bool(family & {"debian", "ubuntu"}) and shutil.which("apt-get") is not None


def run(
    command: Sequence[str], *, what: str, echo: Echo, timeout_s: float = LIMIT_S, directory: Path | None = None
) -> str:
    """Run a command and return what it printed; while it takes long, `echo` is told.

    Raises HarnessError with the command's own errors if it fails or takes longer than `timeout_s`.
    """
    try:
        with saying(echo, what):
            result = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
                cwd=directory,
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
            )
    except subprocess.TimeoutExpired:
        raise HarnessError(f"{what}: not done within {timeout_s:.0f} s") from None
    except OSError as error:
        raise HarnessError(f"{what}: {command[0]}: {error.strerror}") from None
    if result.returncode != 0:
        lines = [line for line in result.stdout.splitlines() if line.strip()]
        reason = "; ".join(explaining_lines(lines) or lines[-3:])
        raise HarnessError(f"{what}: {command[0]} ended with {result.returncode}: {reason[:400]}")
    return result.stdout


def explaining_lines(lines: Sequence[str]) -> list[str]:
    """The lines of apt's, dpkg's or debootstrap's output that explain a failure, the most telling first; may be none.

    apt ends with its vaguest line ("Unable to fetch some archives"); what it could not fetch, and why, stands before.
    """
    said = [line.strip() for line in lines if line.strip()]
    found = [line for mark in EXPLAINING for line in said if re.search(mark, line)]
    return list(dict.fromkeys(found))


def apt(arguments: Sequence[str], *, what: str, echo: Echo, directory: Path | None = None) -> str:
    """Run apt-get, waiting for another apt that is at work; returns what it printed. Raises HarnessError as `run` does.

    apt's own DPkg::Lock::Timeout knows dpkg's lock and not those of the lists and the archives, which an upgrade in
    the background holds first.
    """
    deadline = time.monotonic() + LOCK_LIMIT_S
    told = False
    while True:
        try:
            return run(["apt-get", *arguments], what=what, echo=echo, directory=directory)
        except HarnessError as error:
            lock = LOCKED.search(str(error))
            if lock is None or time.monotonic() > deadline:
                raise
            if not told:
                holder = f"{lock[1].rstrip('.')}{f', held by process {lock[2]}' if lock[2] else ''}"
                echo(f"{what}: another apt is at work ({holder}); waiting for it, {LOCK_LIMIT_S} s at most")
                told = True
        # A lock of this kind cannot be waited for with a limit; asking again is all there is.
        time.sleep(1)


def pip_install(
    lock: Path, target: Path, *options: str, what: str, echo: Echo, timeout_s: float = LIMIT_S
) -> None:
    """Install what a lock of pip's names into a directory of its own, each by its digest. Raises HarnessError as `run`
    does.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", *options]
    run([*command, "--target", str(target), "--requirement", str(lock)], what=what, echo=echo, timeout_s=timeout_s)


def install(packages: Sequence[str], echo: Echo) -> None:
    """Install packages with apt, and what they depend on but not what they recommend."""
    names = " ".join(packages)
    echo(f"installing {names} with apt")
    apt(["update", "--quiet"], what="updating apt's lists", echo=echo)
    apt(["install", "--yes", "--no-install-recommends", *packages], what=f"installing {names}", echo=echo)
