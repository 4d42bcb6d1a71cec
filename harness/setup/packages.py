"""Debian's packages, for the few steps of the set-up that may install: root, on Debian or something made from it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError

LIMIT_S: Final = 900

Echo = Callable[[str], None]


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


def run(command: Sequence[str], *, what: str, limit_s: float = LIMIT_S, directory: Path | None = None) -> str:
    """Run a command and return what it printed; HarnessError with its own errors if it fails or takes too long."""
    try:
        result = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
            cwd=directory,
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired:
        raise HarnessError(f"{what}: not done within {limit_s:.0f} s") from None
    except OSError as error:
        raise HarnessError(f"{what}: {command[0]}: {error.strerror}") from None
    if result.returncode != 0:
        lines = [line for line in result.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("E:")] or lines[-3:]
        raise HarnessError(f"{what}: {command[0]} ended with {result.returncode}: {'; '.join(errors)[:400]}")
    return result.stdout


def install(packages: Sequence[str], echo: Echo) -> None:
    """Install packages with apt, and what they depend on but not what they recommend."""
    echo(f"installing {', '.join(packages)} with apt")
    run(["apt-get", "update", "--quiet"], what="updating apt's lists")
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    run(command, what=f"installing {' '.join(packages)}")
