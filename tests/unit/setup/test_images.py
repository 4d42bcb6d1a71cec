"""Images: when one is out of date, and what a failed build or a full disk says."""

from __future__ import annotations

import re
import subprocess
import threading
from collections import namedtuple
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from evidence.errors import HarnessError, UsageError
from harness.cluster import versions
from harness.setup import images

VERSION = versions.get("0.10.2.2")


class FakeEngine:
    """As much of a Docker client as images.py uses, with images by tag and pulls that are refused."""

    def __init__(self, tags: dict[str, dict[str, str]] | None = None, root: Path = Path("/nowhere")) -> None:
        self.tags = tags or {}
        self.root = root
        self.images = self

    def get(self, tag: str) -> Any:
        if tag not in self.tags:
            raise docker.errors.ImageNotFound(tag)
        return SimpleNamespace(id=f"sha256:{tag}", labels=self.tags[tag])

    def pull(self, repository: str, tag: str) -> Any:
        raise docker.errors.APIError(f"lookup of the registry for {repository}:{tag}: no such host")

    def info(self) -> dict[str, str]:
        return {"DockerRootDir": str(self.root)}


def test_an_image_counts_only_if_it_was_made_from_what_is_here_now() -> None:
    fresh = FakeEngine({VERSION.image: {images.INPUTS_LABEL: images.inputs(VERSION)}})
    stale = FakeEngine({VERSION.image: {images.INPUTS_LABEL: "something else"}})
    assert images.present(fresh, VERSION) == f"sha256:{VERSION.image}"  # type: ignore[arg-type]
    assert images.present(stale, VERSION) is None  # type: ignore[arg-type]
    assert images.present(FakeEngine(), VERSION) is None  # type: ignore[arg-type]


def test_inputs_follow_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = images.inputs(VERSION)
    assert before == images.inputs(versions.get("0.10.2.2"))
    assert before != images.inputs(versions.get("0.11.0.3"))
    (tmp_path / "image").mkdir()
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    (tmp_path / "image" / "entrypoint").write_text("one")
    monkeypatch.setattr(images, "COMPOSE", tmp_path)
    first = images.inputs(VERSION)
    (tmp_path / "image" / "entrypoint").write_text("two")
    assert images.inputs(VERSION) != first


def test_a_build_without_network_is_a_usage_error() -> None:
    output = ["Step 4\n", "Err:1 http://mirror.example sid InRelease\n  Temporary failure resolving 'mirror.example'\n"]
    error = images.explain_failure("4.3.1", "returned a non-zero code: 100", output)
    assert isinstance(error, UsageError)
    assert "no network" in str(error)
    assert "\n" not in str(error)


def test_a_full_disk_is_a_usage_error() -> None:
    error = images.explain_failure("4.3.1", "write /opt/x: no space left on device", [])
    assert isinstance(error, UsageError)
    assert "disk is full" in str(error)


def test_any_other_failure_shows_the_line_that_matters() -> None:
    output = ["Step 6\n", "E: Unable to locate package openjdk-8-jre-headless\n", "Removing container\n"]
    error = images.explain_failure("0.8.2.2", "The command returned a non-zero code: 100", output)
    assert isinstance(error, HarnessError)
    assert not isinstance(error, UsageError)
    assert "Unable to locate package" in str(error)


def test_a_nearly_full_disk_is_refused_before_building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("harness.setup.images.shutil.disk_usage", lambda path: usage(10, 9, 700_000_000))
    with pytest.raises(UsageError, match=r"0\.7 GB free under .*an image needs 2 GB"):
        images.check_space(FakeEngine(root=tmp_path))  # type: ignore[arg-type]
    monkeypatch.setattr("harness.setup.images.shutil.disk_usage", lambda path: usage(10, 0, 3_000_000_000))
    images.check_space(FakeEngine(root=tmp_path))  # type: ignore[arg-type]


def test_an_engine_elsewhere_is_not_measured_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.setup.images.shutil.disk_usage", lambda path: pytest.fail("measured"))
    images.check_space(FakeEngine(root=Path("/no/such/directory")))  # type: ignore[arg-type]


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("own_cache")
def test_no_registry_and_no_debootstrap_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.setup.images.shutil.which", lambda name, path=None: None)
    monkeypatch.setattr(images, "may_install", lambda: False)
    with pytest.raises(UsageError, match=r"could not be pulled .*no such host.*needs debootstrap") as caught:
        images.ensure_base(FakeEngine(), 8, lambda line: None)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("own_cache")
def test_no_registry_and_no_root_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.setup.images.shutil.which", lambda name, path=None: "/usr/sbin/debootstrap")
    monkeypatch.setattr("harness.setup.images.os.geteuid", lambda: 1000)
    with pytest.raises(UsageError, match="making one needs root"):
        images.ensure_base(FakeEngine(), 17, lambda line: None)  # type: ignore[arg-type]


@pytest.mark.usefixtures("own_cache")
def test_a_failed_debootstrap_shows_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.setup.images.shutil.which", lambda name, path=None: "/usr/sbin/debootstrap")
    monkeypatch.setattr("harness.setup.images.os.geteuid", lambda: 0)
    output = "I: Retrieving InRelease\nE: Failed getting release file\n"
    monkeypatch.setattr(
        "harness.setup.images.subprocess.run",
        lambda command, **options: subprocess.CompletedProcess(command, 1, output, ""),
    )
    with pytest.raises(UsageError, match=r"debootstrap failed: E: Failed getting release file"):
        images.ensure_base(FakeEngine(), 17, lambda line: None)  # type: ignore[arg-type]


@pytest.mark.usefixtures("own_cache")
def test_a_base_at_hand_needs_nothing() -> None:
    tag = f"{images.base_repository()}:bookworm"
    said: list[str] = []
    assert images.ensure_base(FakeEngine({tag: {}}), 17, said.append) == tag  # type: ignore[arg-type]
    assert not said


@pytest.mark.parametrize(
    ("text", "mirror"),
    [
        ("deb http://m.example/debian bookworm main", "http://m.example/debian"),
        (
            "deb [signed-by=/k.gpg arch=amd64] http://m.example/debian/ bookworm main contrib",
            "http://m.example/debian/",
        ),
        ("Types: deb\nURIs: http://m.example/debian\nSuites: bookworm\nComponents: main\n", "http://m.example/debian"),
        (
            "Types: deb\n# snapshot\nURIs: http://m.example/debian-security\nSuites: x\nComponents: main\n\n"
            "Types: deb\nURIs: http://m.example/debian\nSuites: bookworm\nComponents: main\n",
            "http://m.example/debian",
        ),
        ("# deb http://m.example/debian bookworm main", None),
        ("deb-src http://m.example/debian bookworm main", None),
        ("deb http://m.example/ubuntu noble main", None),
        ("deb http://m.example/debian-security bookworm-security main", None),
        ("deb http://m.example/debian bookworm contrib", None),
        ("", None),
    ],
)
def test_the_mirror_of_this_machine(text: str, mirror: str | None) -> None:
    assert images.mirror_in(text) == mirror


def test_every_version_has_a_suite_with_its_java() -> None:
    dockerfile = (images.COMPOSE / "Dockerfile").read_text()
    assert re.search(r"openjdk-\$\{JAVA\}-jre-headless", dockerfile)
    assert {images.suite(version.java) for version in versions.ALL} == {"sid", "bookworm"}


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
    images._import(importing, small_root, "bookworm")
    [body] = Importing.bodies
    assert b"./etc/hostname" in body
    assert b"small\n" in body


def test_a_refused_import_says_in_one_line_why(
    importing: docker.DockerClient, small_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Importing, "refusal", "write /x: no space left on device")
    with pytest.raises(HarnessError, match=r"did not import the base image: .*no space left on device") as caught:
        images._import(importing, small_root, "bookworm")
    assert "\n" not in str(caught.value)
