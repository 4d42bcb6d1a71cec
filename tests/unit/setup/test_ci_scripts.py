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


def _python(directory: Path, pip: str = "", uv: str = "") -> str:
    """A Python that makes an environment whose pip and uv are these scripts."""
    _script(directory / "pip", f'case "$1" in config) exit;; esac\n{pip}')
    _script(directory / "uv", uv)
    made = 'mkdir -p "$3/bin"; cp "$(dirname "$0")/pip" "$(dirname "$0")/uv" "$3/bin"'
    return str(
        _script(directory / "python", f'case "$1 $2" in "-m venv") {made};; --version*) echo Python 3.12;; esac')
    )


def _venv(python: str, environment: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    cache = str(environment.parent / "cache")
    return _run(
        "venv", python, str(environment), *(arguments or ("requirements.lock",)), KAFKA_CHAOS_CACHE=cache, **variables
    )


WHEEL = """
[ "$1" != wheel ] || while [ $# -gt 0 ]; do
    if [ "$1" = --wheel-dir ]; then echo built >>"{built}"; mkdir -p "$2"; touch "$2/pyspark-1-py3-none-any.whl"; fi
    shift
done
"""


def test_a_few_packages_alone_are_installed_and_it_ends_well(tmp_path: Path) -> None:
    """`make demo` begins with these. Nothing is in the background then, and nothing has to be stopped at the end."""
    asked = f'for one; do [ "${{one##*/}}" != some.txt ] || grep -o "^[a-z]*==" "$one" >{tmp_path}/asked; done'
    environment = tmp_path / "environment"
    result = _venv(_python(tmp_path / "fake", "", asked), environment, "requirements.lock", "docker", "idna")
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "asked").read_text().split() == ["docker==", "idna=="]
    assert not (environment / "tmp").exists()


def test_installers_work_beside_the_environment_and_leave_nothing_there(tmp_path: Path) -> None:
    told = f'echo "$TMPDIR" >>{tmp_path}/seen; touch "$TMPDIR/left"'
    environment = tmp_path / "an environment"
    result = _venv(_python(tmp_path / "fake", told + WHEEL.format(built=tmp_path / "built"), told), environment)
    assert result.returncode == 0, result.stderr
    assert set((tmp_path / "seen").read_text().splitlines()) == {f"{environment}/tmp"}
    assert not (environment / "tmp").exists()


def test_pyspark_is_built_once(tmp_path: Path) -> None:
    uv = f'echo "$@" >>{tmp_path}/installed'
    python = _python(tmp_path / "fake", WHEEL.format(built=tmp_path / "built"), uv)
    for number in (1, 2):
        result = _venv(python, tmp_path / f"environment-{number}")
        assert result.returncode == 0, result.stderr
        assert (tmp_path / "installed").read_text().splitlines()[-1].endswith("/pyspark-1-py3-none-any.whl")
    assert (tmp_path / "built").read_text().splitlines() == ["built"]


def test_a_wheel_whose_build_failed_is_not_kept(tmp_path: Path) -> None:
    result = _venv(
        _python(tmp_path / "fake", '[ "$1" != wheel ] || { echo no compiler >&2; exit 1; }'), tmp_path / "one"
    )
    assert result.returncode == 254
    assert "no compiler" in result.stderr
    built = tmp_path / "built"
    assert _venv(_python(tmp_path / "other", WHEEL.format(built=built)), tmp_path / "two").returncode == 0
    assert built.exists()


def test_style_and_types_need_no_spark() -> None:
    locked = (ROOT / "requirements-lint.lock").read_text().splitlines()
    names = {line.split("==")[0] for line in locked if "==" in line}
    assert "mypy" in names
    assert not {"pyspark", "numba", "pyarrow", "duckdb"} & names


def test_both_locks_name_the_same_versions() -> None:
    found = [
        {
            line.split(" ")[0]
            for line in (ROOT / name).read_text().splitlines()
            if "==" in line and not line.startswith("pyspark")
        }
        for name in ("requirements-lint.lock", "requirements.lock")
    ]
    assert found[0] <= found[1]


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ("", ""),
        ("global.index-url='https://one.example/simple'", "UV_DEFAULT_INDEX=https://one.example/simple"),
        (
            "global.index-url='https://one.example/simple'\n:env:.index-url='https://two.example/simple'",
            "UV_DEFAULT_INDEX=https://two.example/simple",
        ),
        (
            "global.extra-index-url='\\nhttps://one.example\\nhttps://two.example'",
            "UV_INDEX= https://one.example https://two.example",
        ),
        (":env:.cert='/etc/own.pem'", "SSL_CERT_FILE=/etc/own.pem"),
        (":env:.default-timeout='180'", "UV_HTTP_TIMEOUT=180"),
        ("install.trusted-host='one.example'", "UV_INSECURE_HOST=one.example"),
        (":env:.find-links='/opt/wheels'", ""),
    ],
)
def test_uv_asks_whom_pip_would_ask(configuration: str, expected: str, tmp_path: Path) -> None:
    names = "UV_(DEFAULT_INDEX|INDEX|INSECURE_HOST|HTTP_TIMEOUT|FIND_LINKS)|SSL_CERT_FILE"
    uv = f"env | grep -E '^({names})=' >{tmp_path}/seen"
    python = _python(tmp_path / "fake", uv=uv)
    script = tmp_path / "fake" / "pip"
    (tmp_path / "configuration").write_text(configuration + "\n")
    script.write_text(script.read_text().replace("config) exit", f"config) cat {tmp_path}/configuration; exit"))
    without = {name: "" for name in os.environ if name.startswith(("UV_", "SSL_CERT"))}
    result = _venv(
        python, tmp_path / "environment", "requirements.lock", "docker", **without, UV_FIND_LINKS="/opt/wheels"
    )
    assert (tmp_path / "seen").exists(), result.stderr
    given = [line for line in (tmp_path / "seen").read_text().splitlines() if not line.endswith("=")]
    assert given == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("OSError: [Errno 28] No space left on device", "is full (4 GB are needed while it is made)"),
        ("error: failed to write: No space left on device (os error 28)", "is full (4 GB are needed while it is made)"),
        ("after connection broken by 'NewConnectionError'", "is the Python package index reachable?"),
        ("  Caused by: dns error: failed to lookup address information", "is the Python package index reachable?"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "above it is said why"),
        ("  × No solution found when resolving dependencies", "above it is said why"),
    ],
)
@pytest.mark.parametrize("who", ["pip", "uv"])
def test_the_network_is_blamed_only_if_it_was_spoken_of(who: str, said: str, told: str, tmp_path: Path) -> None:
    failing = f'echo "{said}" >&2; exit 1'
    python = _python(tmp_path / "fake", **{who: failing})
    result = _venv(python, tmp_path / "environment")
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
    path = f"{tmp_path}:{os.environ['PATH']}"
    result = _venv(str(python), tmp_path / "environment", PATH=path, TMPDIR=str(tmp_path))
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


@pytest.mark.parametrize("outer", [{}, {"MAKEFLAGS": "w", "MAKELEVEL": "1"}], ids=["by itself", "within make -w"])
def test_setup_is_of_the_versions_that_are_named(outer: dict[str, str]) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", "--dry-run", "setup", "VERSION=4.3.1 0.10.2.2"]
    done = subprocess.run(
        command, cwd=ROOT, env=variables | outer, capture_output=True, text=True, check=True, timeout=60
    )
    printed = [line for line in done.stdout.splitlines() if not line.startswith("make[")]
    assert printed[-1].endswith("kafka-chaos setup --versions 4.3.1 0.10.2.2")
    assert printed[0] == 'bash .ci/engine "python3"'
    assert (len(printed) != len(done.stdout.splitlines())) == bool(outer)


MAKE = """
echo "$*|$PWD|$KAFKA_CHAOS_NAMESPACE|$(ls -A | grep -c venv)" >>"{seen}"
case "$*" in
test) echo "unit | ==== 4883 passed in 90 s ===="; echo "FAILED tests/a.py::test_b"; exit {status} ;;
*test-rest*) echo "SKIPPED [1] tests/conftest.py:70: left out, 30 minutes were over: tests/c.py::test_d" ;;
esac
"""


@pytest.mark.parametrize(("status", "commits"), [(0, 1), (2, 2)])
def test_ci_runs_everything_says_what_was_left_out_and_leaves_nothing(
    status: int, commits: int, tmp_path: Path
) -> None:
    """Statements are compared with an earlier commit where there is one."""
    make = MAKE.format(seen=tmp_path / "seen", status=status)
    for name, text in {"make": make, "docker": "exit 1"}.items():
        _script(tmp_path / "bin" / name, text)
    origin = tmp_path / "origin"
    (origin / ".ci").mkdir(parents=True)
    (origin / ".ci" / "run").write_text((ROOT / ".ci" / "run").read_text())
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-qm", "one"]
    for words in (["init", "-q"], ["add", "."], *[commit] * commits):
        subprocess.run(["git", *words], cwd=origin, check=True)
    (tmp_path / "scratch").mkdir()
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", ".ci/run"],
        cwd=origin,
        env=os.environ | {"PATH": path, "TMPDIR": str(tmp_path / "scratch")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    seen = [line.split("|") for line in (tmp_path / "seen").read_text().splitlines()]
    *before, rest = [command for command, *_ in seen]
    assert before == ["test", "-w again", *["statements"] * (commits - 1)]
    assert rest.startswith(f"test-rest TURN={commits} MINUTES=")
    assert {(Path(where).name, environments) for _, where, _, environments in seen} == {("kafka-chaos", "0")}
    assert len({namespace for _, _, namespace, _ in seen} - {"", "kafka-chaos"}) == 1
    closing = done.stdout.rpartition("\n\n")[2]
    assert "unit | ==== 4883 passed in 90 s ====" in closing
    assert "left out, 30 minutes were over: tests/c.py::test_d" in closing
    assert f"kafka-chaos: make test {'failed with status 2' if status else 'passed'} in " in closing
    assert (done.returncode, done.stderr) == (int(bool(status)), "")
    assert list((tmp_path / "scratch").iterdir()) == []
