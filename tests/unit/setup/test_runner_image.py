"""The image of the runner: what is sent to its build, what that installs, and whom its entry point becomes."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from docker.utils.build import exclude_paths

from evidence.errors import UsageError
from harness.cluster.docker import LABEL
from harness.setup import runner_image
from harness.setup.runner_image import context_files, index_arguments, own_certificates

ROOT = Path(__file__).resolve().parents[3]
DOCKERFILE = (ROOT / runner_image.DOCKERFILE).read_text()
ENTRYPOINT = ROOT / "compose" / "runner" / "entrypoint"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def stages() -> dict[str, str]:
    """The stages of the Dockerfile by name; the last has none."""
    parts = re.split(r"^FROM (\S+)(?: AS (\w+))?\n", DOCKERFILE, flags=re.MULTILINE)[1:]
    return {name or "": body for name, body in zip(parts[1::3], parts[2::3], strict=True)}


def locked(name: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+==\S+)", (ROOT / name).read_text(), re.MULTILINE))


def test_the_lock_of_the_runner_is_part_of_the_whole_one() -> None:
    found = locked("requirements-run.lock")
    assert found < locked("requirements.lock")
    names = {one.partition("==")[0] for one in found}
    assert {"docker", "pyspark", "jpype1", "confluent-kafka", "tree-sitter", "msgspec"} <= names
    assert not {"pytest", "duckdb", "mypy", "moto", "hypothesis"} & names
    hashes = (ROOT / "requirements-run.lock").read_text().count("--hash=sha256:")
    assert hashes >= len(found), "a package without a digest"


def test_packages_come_from_the_locks_and_from_nowhere_else() -> None:
    installs = re.findall(r"^RUN .*?(?<!\\)\n", DOCKERFILE, re.MULTILINE | re.DOTALL)
    python = [one for one in installs if re.search(r"\bpip\b|\.ci/venv|uv pip", one)]
    assert len(python) == 2
    assert "bash .ci/venv python3 /opt/kafka-chaos requirements-run.lock" in python[0]
    assert "--offline --no-index --no-deps /tmp/wheel/*.whl" in python[1]
    assert not re.search(r"curl|wget|https?:|^ADD ", DOCKERFILE, re.MULTILINE)


def test_how_an_index_is_reached_is_not_in_the_image() -> None:
    """An index's address may have a password in it, and an image's history shows what its stage was given."""
    given = {name: re.findall(r"^ARG (\w+)", body, re.MULTILINE) for name, body in stages().items()}
    assert given == {"machine": [], "program": list(runner_image.INDEX.values()), "": []}
    assert "COPY --from=program /opt/kafka-chaos /opt/kafka-chaos\n" in stages()[""]


def test_its_containers_are_none_of_a_namespace() -> None:
    """The bare Debian has the label, and containers have those of their image: `clean --all` removed its own."""
    assert re.search(rf'^LABEL {LABEL}=""$', stages()[""], re.MULTILINE)
    assert "labels=" not in Path(runner_image.__file__).read_text()


def test_the_build_gets_what_the_wheel_is_made_from_and_no_more() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    sent = context_files()
    tops = {path.split("/")[0] for path in sent}
    files = {"LICENSE", "README.md", "pyproject.toml", "requirements-build.lock", "requirements-run.lock"}
    assert tops == {*wheel["only-include"], *wheel["force-include"], *files, ".ci", ".dockerignore"}
    assert {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]} <= set(sent)
    assert wheel["hooks"]["custom"]["path"] in sent
    assert any(path.startswith("results/ledger/") for path in sent), "the wheel packs the ledger itself"
    assert [path for path in sent if path.startswith(".ci/")] == [".ci/venv"]
    assert not [path for path in sent if "__pycache__" in path or path.startswith("results/pictures/")]


def test_a_secret_beside_the_tree_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / ".dockerignore").write_text((ROOT / ".dockerignore").read_text())
    for name in (".env", "runs/a/verdict.json", ".git/config", "app/cli.py", "app/__pycache__/cli.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert set(context_files(tmp_path)) - {".dockerignore"} == {"app", "app/cli.py"}
    with pytest.raises(UsageError, match="is no checkout of kafka-chaos"):
        context_files(tmp_path / "app")
    assert "runs/a/verdict.json" in exclude_paths(str(tmp_path), []), "it would be sent without the file"


@pytest.mark.parametrize(
    ("printed", "arguments"),
    [
        ("", {}),
        ("global.cert='/etc/x.crt'\n:env:.find-links='/opt/wheels'", {}),
        (
            "global.index-url='http://one/simple'\n:env:.index-url='http://two/simple'",
            {"PIP_INDEX_URL": "http://two/simple"},
        ),
        (
            "global.extra-index-url='\\nhttp://one/simple\\nhttp://two/simple'\ninstall.trusted-host='one'",
            {"PIP_EXTRA_INDEX_URL": "http://one/simple http://two/simple", "PIP_TRUSTED_HOST": "one"},
        ),
    ],
)
def test_the_build_asks_the_index_that_pip_asks(printed: str, arguments: dict[str, str]) -> None:
    assert index_arguments(printed) == arguments


def test_authorities_of_this_machine_go_where_the_dockerfile_takes_them_from(tmp_path: Path) -> None:
    (tmp_path / "company").mkdir()
    (tmp_path / "company" / "root.crt").write_text("one")
    (tmp_path / "README").write_text("none")
    assert own_certificates(tmp_path) == [("compose/runner/certificates/company-root.crt", "one")]
    assert "COPY compose/runner/certificates/ /usr/local/share/ca-certificates/\n" in stages()["machine"]


def entered(tmp_path: Path, *arguments: str, user: int = 0, owner: str = "1000 100", top: str = "/home/a") -> str:
    """What the entry point starts, or says, as this user in a directory of this owner, mounted at `top`."""
    said = {
        "id": f"echo {user}",
        "stat": f'case "$*" in *"%u %g"*) echo {owner};; *) echo 999;; esac',
        "findmnt": f"echo {top}",
        "getent": "true",
        "kafka-chaos": 'echo "as it is: $*"',
        "setpriv": 'echo "$*"',
    }
    for name, script in said.items():
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DOCKER_HOST": f"unix://{tmp_path}/none"}
    command = ["bash", str(ENTRYPOINT), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else f"{done.returncode}: {done.stderr.strip()}"


def test_it_becomes_the_owner_of_the_directory(tmp_path: Path) -> None:
    as_owner = "--reuid 1000 --regid 100 --groups 100 kafka-chaos"
    assert entered(tmp_path, "run", "leader-crash") == f"{as_owner} run leader-crash"
    assert entered(tmp_path, "run", "a", owner="0 0") == "as it is: run a"
    assert entered(tmp_path, "run", "a", user=1000) == "as it is: run a"


def test_a_directory_that_the_engine_does_not_have_is_told(tmp_path: Path) -> None:
    """The engine would make it, empty and as root, and mount that into the nodes."""
    told = 'add --volume "$PWD:$PWD" --workdir "$PWD"'
    assert entered(tmp_path, "run", "a", top="/").startswith("254: kafka-chaos: the runner works in no directory")
    assert told in entered(tmp_path, "suite", top="/")
    assert entered(tmp_path, "museum", owner="0 0", top="/") == "as it is: museum"


def test_the_documented_command_gives_what_a_run_needs() -> None:
    (command,) = re.findall(r"^    (chaos\(\) .*?\})$", (ROOT / "docs" / "install.md").read_text(), re.M | re.S)
    for option in (
        "--network host",
        "--pid host",
        "--volume /var/run/docker.sock:/var/run/docker.sock",
        '--volume "$PWD:$PWD" --workdir "$PWD"',
        ":/cache ",
    ):
        assert option in " ".join(command.replace("\\\n", " ").split()), option
