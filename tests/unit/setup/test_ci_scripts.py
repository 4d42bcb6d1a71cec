"""What make runs before there is a Python environment: each failure is told as what it is."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path


def _run(script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", f".ci/{script}", *arguments]
    variables = {key: value for key, value in os.environ.items() if key != "DOCKER_HOST"} | environment
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=60)


def _python(directory: Path, pip: str) -> str:
    """A Python that makes an environment whose pip is this script."""
    _script(directory / "pip", pip)
    made = 'mkdir -p "$3/bin"; cp "$(dirname "$0")/pip" "$3/bin/pip"'
    return str(
        _script(directory / "python", f'case "$1 $2" in "-m venv") {made};; --version*) echo Python 3.12;; esac')
    )


def test_pip_works_beside_the_environment_and_leaves_nothing_there(tmp_path: Path) -> None:
    python = _python(tmp_path / "fake", f'echo "$TMPDIR" >>{tmp_path}/seen; touch "$TMPDIR/left"')
    environment = tmp_path / "an environment"
    result = _run("venv", python, str(environment))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "seen").read_text().splitlines() == [f"{environment}/tmp"] * 2
    assert not (environment / "tmp").exists()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("OSError: [Errno 28] No space left on device", "is full (4 GB are needed while it is made)"),
        ("after connection broken by 'NewConnectionError'", "is the Python package index reachable?"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "pip says above why"),
    ],
)
def test_the_network_is_blamed_only_if_pip_spoke_of_it(said: str, told: str, tmp_path: Path) -> None:
    result = _run("venv", _python(tmp_path / "fake", f'echo "{said}" >&2; exit 1'), str(tmp_path / "environment"))
    assert result.returncode == 254
    assert said in result.stderr
    assert result.stderr.splitlines()[-1].endswith(told)
    assert not (tmp_path / "environment" / "tmp").exists()


APT = """
[ "$2" = update ] && [ -e "$0.lock" ] || { echo "$@" >>"$0.done"; exit 0; }
rm "$0.lock"; echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 812 (unattended-upgr)"
exit 100
"""


def test_a_busy_apt_is_waited_for_and_said(tmp_path: Path) -> None:
    python = _script(tmp_path / "python", '[ "$2" != "import ensurepip, venv" ] || exit 1\necho 3.12')
    apt, _id = _script(tmp_path / "apt-get", APT), _script(tmp_path / "id", "echo 0")
    (tmp_path / "apt-get.lock").touch()
    result = _run("venv", str(python), str(tmp_path / "environment"), PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert "another apt is at work; waiting for it" in result.stdout
    assert "held by process 812 (unattended-upgr)" in result.stdout
    assert apt.with_name("apt-get.done").read_text().splitlines() == [
        "--quiet update",
        "--quiet install --yes --no-install-recommends python3.12-venv",
    ]


@pytest.fixture
def user(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A user without rights on a machine without Docker. The path of a socket has at most 107 bytes, and `tmp_path` may
    have more.
    """
    _script(tmp_path / "bin" / "id", "echo 1000")
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        yield {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "DOCKER_SOCKET": f"{short}/docker.sock"}


def _hide_dockerd(user: dict[str, str], tmp_path: Path) -> None:
    """Only what the script needs is on the PATH; the directories that it adds are not looked at."""
    text = (ROOT / ".ci" / "engine").read_text().replace("PATH=$PATH:/usr/sbin:/sbin ", "")
    (tmp_path / "engine").write_text(text)
    user["PATH"] = str(tmp_path / "bin")


def test_docker_that_is_installed_and_stopped_is_to_be_started(user: dict[str, str], tmp_path: Path) -> None:
    _script(tmp_path / "bin" / "dockerd", "")
    result = _run("engine", "python3", **user)
    assert result.returncode == 254
    assert "Docker is installed and does not run: start it" in result.stderr
    assert "install Docker Engine" not in result.stderr


def test_without_docker_it_is_said_what_to_install(user: dict[str, str], tmp_path: Path) -> None:
    _hide_dockerd(user, tmp_path)
    command = ["/bin/bash", str(tmp_path / "engine"), "python3"]
    result = subprocess.run(command, env=user, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 254
    assert "install Docker Engine 20.10 or later with Compose v2" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_engine_that_answers_or_may_be_installed_is_nothing_to_say(user: dict[str, str], tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(user["DOCKER_SOCKET"])
        engine.listen()
        answered = _run("engine", "python3", **user)
    assert (answered.returncode, answered.stderr) == (0, "")
    stopped = _run("engine", "python3", **user, DOCKER_HOST="tcp://192.0.2.1:2375")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    _script(tmp_path / "bin" / "id", "echo 0")
    _script(tmp_path / "bin" / "apt-get", "")
    assert _run("engine", "python3", **user).returncode == 0


def test_a_dead_engines_socket_is_no_engine(user: dict[str, str], tmp_path: Path) -> None:
    _script(tmp_path / "bin" / "dockerd", "")
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(user["DOCKER_SOCKET"])
    result = _run("engine", "python3", **user)
    assert "does not run: start it" in result.stderr


def test_setup_is_of_the_versions_that_are_named() -> None:
    command = ["make", "--no-print-directory", "--dry-run", "setup", "VERSION=4.3.1 0.10.2.2"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    assert printed.splitlines()[-1].endswith("kafka-chaos setup --versions 4.3.1 0.10.2.2")
    assert printed.splitlines()[0] == 'bash .ci/engine "python3"'
