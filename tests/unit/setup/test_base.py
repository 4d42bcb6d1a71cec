"""The bare Debian: when one at hand is good, where another comes from, and what is said where there is none."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from evidence.errors import HarnessError, UsageError
from harness.cluster import versions
from harness.cluster.namespace import namespace
from harness.setup import base, images
from harness.setup.cache import cache_dir
from harness.setup.sources import DEBIAN, Mirror

NEAR = Mirror(uri="https://near.example/d")
FAR = Mirror(uri="http://far.example/debian")


class FakeEngine:
    """As much of a Docker client as base.py uses, with images by tag; pulls are refused unless they are allowed."""

    def __init__(self, tags: dict[str, dict[str, str]] | None = None, *, registry: bool = False) -> None:
        self.tags = tags or {}
        self.registry = registry
        self.images = self

    def get(self, tag: str) -> Any:
        if tag not in self.tags:
            raise docker.errors.ImageNotFound(tag)
        return SimpleNamespace(labels=self.tags[tag])

    def pull(self, repository: str, tag: str) -> None:
        if not self.registry:
            raise docker.errors.APIError("500 Server Error for a long address", explanation="Get: no such host")
        self.tags[f"{repository}:{tag}"] = {}

    def build(self, *, fileobj: Any, tag: str, labels: dict[str, str], **_options: bool) -> None:
        assert fileobj.read().decode().removeprefix("FROM ").strip() in self.tags
        self.tags[tag] = labels


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(base, "mirrors", lambda: [NEAR, FAR])


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine that may make a base; the labels of what it gives to Docker."""
    labels: list[str] = []
    monkeypatch.setattr("harness.setup.base.shutil.which", lambda name, path=None: "/usr/sbin/debootstrap")
    monkeypatch.setattr("harness.setup.base.os.geteuid", lambda: 0)
    monkeypatch.setattr(base, "may_install", lambda: False)
    monkeypatch.setattr(base, "build_directory", lambda: None)
    monkeypatch.setattr(base, "import_directory", lambda client, root, name, made, echo: labels.append(made))
    return labels


def _debootstrap(monkeypatch: pytest.MonkeyPatch, refused: dict[str, str]) -> list[list[str]]:
    """Let debootstrap fail for some mirrors with an output; returns the commands."""
    commands: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        output = refused.get(command[-1], "")
        if not output:
            (Path(command[-2]) / "etc/ssl/certs").mkdir(parents=True)
        return subprocess.CompletedProcess(command, bool(output), output, "")

    monkeypatch.setattr("harness.setup.base.subprocess.run", run)
    monkeypatch.setattr(base, "apart", list)
    return commands


def test_no_registry_and_no_debootstrap_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.setup.base.shutil.which", lambda name, path=None: None)
    monkeypatch.setattr(base, "may_install", lambda: False)
    with pytest.raises(UsageError, match=r"could not be pulled \(Get: no such host\).*needs debootstrap") as caught:
        base.ensure_base(FakeEngine(), 8, lambda line: None)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_no_registry_and_no_root_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.setup.base.shutil.which", lambda name, path=None: "/usr/sbin/debootstrap")
    monkeypatch.setattr("harness.setup.base.os.geteuid", lambda: 1000)
    monkeypatch.setattr(base, "may_install", lambda: False)
    with pytest.raises(UsageError, match="making one needs root"):
        base.ensure_base(FakeEngine(), 17, lambda line: None)  # type: ignore[arg-type]


def test_the_first_mirror_that_gives_the_suite_is_taken(imported: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    commands = _debootstrap(monkeypatch, {NEAR.uri: "I: Retrieving InRelease\nE: Failed getting release file\n"})
    said: list[str] = []
    base.ensure_base(FakeEngine(), 17, said.append)  # type: ignore[arg-type]
    assert imported == [base.made_from("bookworm", FAR)]
    assert "no Debian from https://near.example/d: E: Failed getting release file" in said
    by_https, by_http = commands
    assert "--include=ca-certificates" in by_https
    assert "--include=ca-certificates" not in by_http
    assert all("--force-check-gpg" in command for command in commands)


def test_where_no_mirror_gives_it_each_is_named(imported: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _debootstrap(monkeypatch, {NEAR.uri: "E: no release\n", FAR.uri: "E: no such host\n"})
    message = r"debootstrap failed from https://near.example/d: E: no release; from http://far.*: E: no such host"
    with pytest.raises(UsageError, match=message):
        base.ensure_base(FakeEngine(), 17, lambda line: None)  # type: ignore[arg-type]
    assert not imported


def test_a_base_from_a_mirror_by_https_trusts_what_this_machine_trusts(
    imported: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roots: list[Path] = []
    trust = tmp_path / "trust.crt"
    trust.write_text("an authority of this machine's own")
    monkeypatch.setattr(base, "TRUST", trust)

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        roots.append(Path(command[-2]) / trust.relative_to("/"))
        roots[-1].parent.mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("harness.setup.base.subprocess.run", run)
    monkeypatch.setattr(base, "apart", list)
    monkeypatch.setattr(base, "import_directory", lambda *_: imported.append(roots[-1].read_text()))
    base.ensure_base(FakeEngine(), 17, lambda line: None)  # type: ignore[arg-type]
    assert imported == ["an authority of this machine's own"]


def test_keys_of_debian_are_installed_where_they_are_missing(
    imported: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[list[str]] = []
    _debootstrap(monkeypatch, {})
    monkeypatch.setattr(base, "may_install", lambda: True)
    monkeypatch.setattr(base, "install", lambda packages, echo: asked.append(packages))
    monkeypatch.setattr(base, "DEBIAN_KEYS", tmp_path / "keys.gpg")
    base.ensure_base(FakeEngine(), 17, lambda line: None)  # type: ignore[arg-type]
    (tmp_path / "keys.gpg").touch()
    base.ensure_base(FakeEngine(), 17, lambda line: None)  # type: ignore[arg-type]
    assert asked == [["debootstrap", "debian-archive-keyring"]]


TAG = f"{base.base_repository()}:bookworm"


@pytest.mark.parametrize("mirror", [None, NEAR, FAR])
def test_a_base_at_hand_needs_nothing(mirror: Mirror | None) -> None:
    said: list[str] = []
    engine = FakeEngine({TAG: {base.MADE_LABEL: base.made_from("bookworm", mirror)}})
    assert base.ensure_base(engine, 17, said.append) == TAG  # type: ignore[arg-type]
    assert not said


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {base.MADE_LABEL: base.made_from("bookworm", DEBIAN)},
        {base.MADE_LABEL: base.made_from("bookworm").replace("recipe ", "recipe 0")},
        {base.MADE_LABEL: base.made_from("sid")},
    ],
)
def test_a_base_that_this_machine_would_not_make_is_made_again(labels: dict[str, str]) -> None:
    engine = FakeEngine({TAG: labels}, registry=True)
    said: list[str] = []
    assert base.ensure_base(engine, 17, said.append) == TAG  # type: ignore[arg-type]
    assert engine.tags[TAG] == {"kafka-chaos": namespace(), "kafka-chaos.base": base.made_from("bookworm")}
    assert f"the base image {TAG} is made again" in said[0]


def test_a_base_that_cannot_be_made_again_is_used_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.setup.base.os.geteuid", lambda: 1000)
    monkeypatch.setattr(base, "may_install", lambda: False)
    said: list[str] = []
    assert base.ensure_base(FakeEngine({TAG: {}}), 17, said.append) == TAG  # type: ignore[arg-type]
    assert "is used as it is: no base image" in said[-1]


def test_a_base_is_made_where_devices_and_programs_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {str(tmp_path / "cache"): os.ST_NOEXEC}
    monkeypatch.setattr("harness.setup.base.tempfile.gettempdir", lambda: str(tmp_path / "tmp"))
    monkeypatch.setattr(
        "harness.setup.base.os.statvfs", lambda path: SimpleNamespace(f_flag=flags.get(str(path), os.ST_NOSUID))
    )
    assert base.build_directory() == tmp_path / "tmp"
    flags[str(tmp_path / "tmp")] = os.ST_NODEV
    with pytest.raises(UsageError, match=r"mounted nodev or noexec; set KAFKA_CHAOS_CACHE"):
        base.build_directory()


def test_a_mount_ends_with_what_made_it_or_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = base.apart(["sh", "-c", 'mount -t tmpfs none "$0" && echo mounted', str(tmp_path)])
    if command[0] == "unshare":
        assert subprocess.run(command, capture_output=True, text=True, check=False).stdout == "mounted\n"
        assert not tmp_path.is_mount()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert base.apart(["true"]) == ["true"]


def test_disks_of_runs_are_given_up_there_and_stay_mounted_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "broker-1"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", str(disk)], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        monkeypatch.setattr(base, "data_with_disks", lambda: [tmp_path])
        look = ["sh", "-c", 'mountpoint -q "$0" || echo free', str(disk)]
        assert subprocess.run(base.apart(look), capture_output=True, text=True, check=False).stdout == "free\n"
        assert disk.is_mount()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_what_a_killed_set_up_left_is_removed(imported: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _debootstrap(monkeypatch, {})
    for name in ("debian-bookworm-x1", "debian-sid-x1", "jars"):
        (cache_dir() / name / "root").mkdir(parents=True)
    base.ensure_base(FakeEngine(), 17, lambda line: None)  # type: ignore[arg-type]
    assert {path.name for path in cache_dir().iterdir()} == {"debian-sid-x1", "jars", "locks"}


def test_every_version_has_a_suite_with_its_java() -> None:
    dockerfile = (images.COMPOSE / "Dockerfile").read_text()
    assert re.search(r"openjdk-\$\{JAVA\}-jre-headless", dockerfile)
    assert {base.suite(version.java) for version in versions.ALL} == {"sid", "bookworm"}


class Importing(BaseHTTPRequestHandler):
    """dockerd, as far as an import goes: as strict as Go's HTTP server about how long a body is said to be."""

    protocol_version = "HTTP/1.1"
    refusal = ""
    bodies: list[bytes]

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length")
        if self.headers.get("Transfer-Encoding"):
            # Go believes the encoding, and a client that sent a length too has not written chunks.
            return self._answer(500, '{"message": "invalid byte in chunk length"}')
        self.bodies.append(self.rfile.read(int(length or 0)))
        if self.refusal:
            return self._answer(500, f'{{"message": "{self.refusal}"}}')
        return self._answer(200, '{"status": "sha256:0123"}')

    def _answer(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body.encode())
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def importing(monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.DockerClient]:
    monkeypatch.setattr(Importing, "bodies", [], raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Importing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    client = docker.DockerClient(base_url=f"tcp://127.0.0.1:{server.server_port}", version="1.41")
    yield client
    client.close()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def small_root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "hostname").write_text("small\n")
    return root


def test_a_base_is_sent_as_an_engine_accepts_it(importing: docker.DockerClient, small_root: Path) -> None:
    base.import_directory(importing, small_root, "bookworm", "by a test", lambda line: None)
    [body] = Importing.bodies
    assert b"./etc/hostname" in body
    assert b"small\n" in body


def test_a_refused_import_says_in_one_line_why(
    importing: docker.DockerClient, small_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Importing, "refusal", "write /x: no space left on device")
    with pytest.raises(HarnessError, match=r"did not import the base image: .*no space left on device") as caught:
        # What it was made from is part of the request's address, and must not crowd out the answer.
        base.import_directory(importing, small_root, "bookworm", "by a test " * 50, lambda line: None)
    assert "\n" not in str(caught.value)


def test_a_directory_that_cannot_be_packed_says_why(importing: docker.DockerClient, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"could not be packed in .*nowhere.*No such file"):
        base.import_directory(importing, tmp_path / "nowhere", "bookworm", "by a test", lambda line: None)
    assert not Importing.bodies
