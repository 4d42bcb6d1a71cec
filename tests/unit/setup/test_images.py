"""Images: when one is out of date, and what a failed build or a full disk says."""

from __future__ import annotations

import base64
import re
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from evidence.errors import HarnessError, UsageError
from harness.cluster import versions
from harness.setup import images

VERSION = versions.get("0.10.2.2").build


class FakeEngine:
    """As much of a Docker client as images.py uses, with images by tag and pulls that are refused."""

    def __init__(self, tags: dict[str, dict[str, str]] | None = None, root: Path = Path("/nowhere")) -> None:
        self.tags = tags or {}
        self.root = root
        self.made_for = "amd64"
        self.images = self

    def get(self, tag: str) -> Any:
        if tag not in self.tags:
            raise docker.errors.ImageNotFound(tag)
        return SimpleNamespace(id=f"sha256:{tag}", labels=self.tags[tag], attrs={"Architecture": self.made_for})

    def version(self) -> dict[str, str]:
        return {"Arch": "amd64"}

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
    assert before == images.inputs(versions.get("0.10.2.2").build)
    assert before != images.inputs(versions.get("0.11.0.3").build)
    (tmp_path / "image").mkdir()
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    (tmp_path / "image" / "entrypoint").write_text("one")
    monkeypatch.setattr(images, "COMPOSE", tmp_path)
    first = images.inputs(VERSION)
    (tmp_path / "image" / "entrypoint").write_text("two")
    assert images.inputs(VERSION) != first


def test_an_image_for_another_processor_is_refused() -> None:
    engine = FakeEngine({VERSION.image: {images.INPUTS_LABEL: images.inputs(VERSION)}})
    images.refuse_other_processor(engine, VERSION)  # type: ignore[arg-type]
    engine.made_for = "arm64"
    with pytest.raises(UsageError, match=r"is for the processor arm64, and this engine's is amd64: remove it"):
        images.refuse_other_processor(engine, VERSION)  # type: ignore[arg-type]


def test_the_images_that_are_there_with_their_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [
        {"RepoTags": [versions.get("4.3.1").build.image], "Size": 5},
        {"RepoTags": [versions.get("0.10.2.2").build.image], "Size": 3},
        {"RepoTags": None, "Size": 9},
    ]
    engine = SimpleNamespace(api=SimpleNamespace(images=lambda name: told))
    assert list(images.sizes(engine).items()) == [("0.10.2.2", 3), ("4.3.1", 5)]  # type: ignore[arg-type]


def test_a_release_whose_jars_are_not_resolved_has_no_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))
    unresolved = versions.get("2.4.1").build
    engine = FakeEngine({unresolved.image: {images.INPUTS_LABEL: "whatever"}})
    assert images.present(engine, unresolved) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["entrypoint", "prepare"])
def test_the_clusters_id_has_16_bytes_as_some_releases_want(name: str) -> None:
    (told,) = re.findall(r"StorageTool format -t (\S+)", (images.COMPOSE / "image" / name).read_text())
    assert len(base64.urlsafe_b64decode(told + "==")) == 16


def test_a_build_without_network_is_a_usage_error() -> None:
    output = ["Step 4\n", "Err:1 http://mirror.example sid InRelease\n  Temporary failure resolving 'mirror.example'\n"]
    error = images.explain_failure("Kafka 4.3.1", "returned a non-zero code: 100", output)
    assert isinstance(error, UsageError)
    assert "no network" in str(error)
    assert "\n" not in str(error)


def test_a_full_disk_is_a_usage_error() -> None:
    error = images.explain_failure("Kafka 4.3.1", "write /opt/x: no space left on device", [])
    assert isinstance(error, UsageError)
    assert "disk is full" in str(error)


def test_any_other_failure_shows_the_line_that_matters() -> None:
    output = ["Step 6\n", "E: Unable to locate package openjdk-8-jre-headless\n", "Removing container\n"]
    error = images.explain_failure("Kafka 0.8.2.2", "The command returned a non-zero code: 100", output)
    assert isinstance(error, HarnessError)
    assert not isinstance(error, UsageError)
    assert "Unable to locate package" in str(error)


def test_what_a_command_of_the_build_notes_is_told() -> None:
    output = ["Step 4\n", "\x1b[91mcrash\n\x1b[0m", "note: this Java 8 ma", "kes no archive\nnothing to note: here\n"]
    assert images.notes(output) == ["this Java 8 makes no archive"]


def test_missing_images_are_built_after_all_their_jars_were_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fresh = versions.get("4.3.1").build
    engine = FakeEngine({fresh.image: {images.INPUTS_LABEL: images.inputs(fresh)}})
    monkeypatch.setattr(engine, "close", lambda: None, raising=False)
    monkeypatch.setattr(images, "connect", lambda: engine)
    monkeypatch.setattr(images, "ensure_base", lambda client, java, echo: None)
    monkeypatch.setattr(
        "harness.setup.images.jars.fetch", lambda releases, echo: done.append(f"jars {' '.join(releases)}")
    )
    monkeypatch.setattr(images, "ensure_image", lambda build, echo: done.append(build.kafka))
    wanted = ["3.9.2-zk", "4.3.1", "3.9.2-kraft", "0.10.2.2"]
    images.ensure_images([versions.get(name).build for name in wanted], lambda line: None)
    assert done == ["jars 3.9.2 0.10.2.2", "3.9.2", "0.10.2.2"]


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "Err:1 https://m.example sid InRelease\n  SSL connection failed: certificate verify failed\n"
            "E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?\n",
            "certificate verify failed",
        ),
        (
            "E: Failed to fetch http://m.example/a.deb  404  Not Found\n"
            "E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?\n",
            "Failed to fetch http://m.example/a.deb  404",
        ),
    ],
)
def test_what_apt_could_not_fetch_is_told_before_that_it_could_not(output: str, reason: str) -> None:
    error = images.explain_failure("Kafka 4.3.1", "The command returned a non-zero code: 100", [output])
    assert reason in str(error)


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
