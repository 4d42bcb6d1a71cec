"""Taking in own builds: where jars are found, what is read from them, and what is refused in one line."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from evidence.errors import UsageError
from evidence.run import BuildRecord
from harness.cluster import versions
from harness.cluster.builds import Build
from harness.setup import builds, central, features, jars, own
from harness.setup.contents import CLIENT, MAIN, PROPERTIES, JarFile

RELOAD4J_CLASS = "org/slf4j/impl/Reload4jLoggerAdapter.class"


def class_of(java: int, body: bytes = b"") -> bytes:
    """The head of a class file."""
    return b"\xca\xfe\xba\xbe\x00\x00" + (44 + java).to_bytes(2, "big") + body


def a_jar(path: Path, entries: Mapping[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def properties(version: str) -> bytes:
    return f"commitId=0123\nversion={version}\n".encode()


def a_build(
    place: Path, version: str = "4.3.1-rc2", *, java: int = 17, binding: str = RELOAD4J_CLASS, body: bytes = b""
) -> Path:
    """The jars of a build in a directory: the server, a client, a binding."""
    a_jar(place / f"kafka_2.13-{version}.jar", {MAIN: class_of(java)})
    a_jar(place / f"kafka-clients-{version}.jar", {CLIENT: class_of(java, body), PROPERTIES: properties(version)})
    if binding:
        a_jar(place / "binding-1.7.36.jar", {binding: class_of(8)})
    return place


@pytest.fixture(autouse=True)
def _release(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own; every release has the same three jars; no code is asked."""
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path_factory.mktemp("cache")))
    folder = a_build(tmp_path_factory.mktemp("released"), "4.3.1")
    locked = tuple(
        jars.Jar(
            group="org.apache.kafka" if path.name.startswith("kafka") else "org.slf4j",
            artifact=own.stem(path.name),
            version=path.name.removeprefix(own.stem(path.name) + "-").removesuffix(".jar"),
            sha256=jars.digest(path),
        )
        for path in sorted(folder.iterdir())
    )
    monkeypatch.setattr(jars, "resolve", lambda kafka, echo: folder)
    monkeypatch.setattr(jars, "read_lock", lambda kafka: locked)
    monkeypatch.setattr(jars, "lock_text", lambda kafka: "text" if kafka == "4.3.1" else None)
    monkeypatch.setattr(features, "asked", lambda libraries: features.SupportedVersions(requests={"Produce": "0-12"}))
    monkeypatch.setattr(
        features, "of_release", lambda kafka, echo: features.SupportedVersions(requests={"Produce": "0-12"})
    )


def quiet(line: str) -> None:
    """Tell nobody."""


def taken(source: Path | str, *more: Path) -> tuple[Build, BuildRecord]:
    build = own.take(str(source), more, "", quiet)
    told = own.record(build)
    assert told is not None
    return build, told


@pytest.mark.parametrize(
    "layout", ["libs", "", "usr/share/java/kafka", "share/java/kafka", "opt/kafka/libs", "opt/bitnami/kafka/libs"]
)
def test_a_directory_in_each_layout(tmp_path: Path, layout: str) -> None:
    a_build(tmp_path / layout)
    build, told = taken(tmp_path)
    assert (build.kafka, build.release, told.commit, told.logging) == ("4.3.1-rc2", (4, 3, 1), "0123", "reload4j")
    assert build.origin == str(tmp_path.resolve())
    assert builds.libraries(build, quiet).is_dir()


def test_an_upgrade_is_found_by_the_name_that_its_runs_have(tmp_path: Path) -> None:
    a_build(tmp_path / "libs")
    build, _ = taken(tmp_path)
    for name in (f"4.2.2-to-4.3.1-rc2{build.mark}", f"4.3.1-rc2{build.mark}-to-4.4.0"):
        found = central.find(name, quiet)
        assert found.id == name
        assert build in found.builds
    with pytest.raises(UsageError, match="is not in the cache"):
        central.find("4.2.2-to-4.3.1-rc2@000000000000", quiet)


def test_an_archive_and_a_source_tree_with_one(tmp_path: Path) -> None:
    a_build(tmp_path / "kafka" / "libs")
    archive = tmp_path / "tree" / "core" / "build" / "distributions" / "kafka_2.13-4.3.1-rc2.tgz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "kafka", "kafka_2.13-4.3.1-rc2")
    assert taken(archive)[0] == taken(tmp_path / "tree")[0] == taken(tmp_path / "kafka")[0]
    (archive.parent / "kafka_2.13-4.4.0-SNAPSHOT.tgz").touch()
    with pytest.raises(UsageError, match="Name one"):
        taken(tmp_path / "tree")


def test_what_is_not_started_is_not_taken(tmp_path: Path) -> None:
    libraries = a_build(tmp_path / "libs")
    a_jar(libraries / "kafka_2.13-4.3.1-rc2-sources.jar", {"a": b""})
    a_jar(libraries / "kafka-clients-4.3.1-rc2-test.jar", {"a": b""})
    (libraries / "kafka.jar").symlink_to("kafka_2.13-4.3.1-rc2.jar")
    assert len(builds.read(taken(tmp_path)[0])) == 3


def test_what_differs_is_told(tmp_path: Path) -> None:
    libraries = a_build(tmp_path / "libs", "4.3.1", body=b"patched")
    a_jar(libraries / "more-1.0.jar", {"a": b""})
    (libraries / "binding-1.7.36.jar").rename(libraries / "other-1.7.36.jar")
    build, told = taken(tmp_path)
    assert (told.nearest, told.added, told.gone) == (
        "4.3.1",
        ("more-1.0.jar", "other-1.7.36.jar"),
        ("binding-1.7.36.jar",),
    )
    assert told.replaced == {
        "kafka-clients-4.3.1.jar": "1 of its classes: org.apache.kafka.clients.producer.KafkaProducer"
    }
    assert told.in_words.startswith(f"own build of 4.3.1, jars {build.digest[:12]}, commit 0123, beside 4.3.1: jars 1")


def test_two_builds_of_one_number_are_two(tmp_path: Path) -> None:
    one, _ = taken(a_build(tmp_path / "one", body=b"1"))
    other, _ = taken(a_build(tmp_path / "other", body=b"2"))
    names = [versions.of_build(build, "").id for build in (one, other)]
    assert len({*names, one.image, other.image}) == 4
    assert [central.find(name, quiet).build for name in names] == [one, other]


def test_further_jars_make_another_build(tmp_path: Path) -> None:
    more = a_jar(tmp_path / "authorizer.jar", {"mine/Authorizer.class": class_of(11)})
    build = own.take(None, [more], "4.3.1", quiet)
    told = own.record(build)
    assert told is not None
    assert (told.extra, told.added, told.origin) == (("authorizer.jar",), ("authorizer.jar",), "Kafka 4.3.1")
    assert build != taken(a_build(tmp_path / "same", "4.3.1"))[0]


def test_ways_of_a_build(tmp_path: Path) -> None:
    build, _ = taken(a_build(tmp_path, "3.9.2-vendor.7"))
    assert versions.of_build(build, "zk").id == f"3.9.2-vendor.7-zk{build.mark}"
    assert versions.of_build(build, "3.9.2-kraft").mode == "kraft"
    assert versions.of_build(build, "3.9.2-vendor.7-pinned").protocol == (0, 10, 2)
    for name, why in (("", "ask for 3.9.2-vendor.7-zk or"), ("4.0.0", "says itself that it is 3.9.2-vendor.7")):
        with pytest.raises(UsageError, match=why):
            versions.of_build(build, name)


def test_zookeeper_is_refused_of_4(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no ZooKeeper"):
        versions.of_build(taken(a_build(tmp_path))[0], "zk")


BAD: Mapping[str, str] = {
    "no kafka": "there is no Kafka in it",
    "no such file": "no such file or directory",
    "two releases": "mixes jars of two releases",
    "a module of another release": "mixes jars of two releases: kafka_2.13-4.2.0.jar",
    "another Java": "is for Java 21 .*KafkaProducer.* run on Java 17",
    "two bindings": "has 2 logging bindings",
    "logback": "logs by logback",
    "no version": "none of its 2 jars says",
    "two clients": "has two of one jar",
    "two brokers": "has two of one jar.*kafka_2.13-4.3.1-mine.jar",
    "two of a module": "has two of one jar.*kafka-raft-4.3.1-mine.jar",
    "a vendor's number": "no number of Apache Kafka's",
    "no archive": "not readable as an archive",
    "no jar": "not readable as a jar",
    "a jar that is not there": "--jar .*no such file",
    "a jar of a taken name": "has a jar of that name",
}


def spoil(how: str, root: Path) -> tuple[str, list[Path]]:
    """A source that is refused, and further jars."""
    if how == "no such file":
        return str(root / "kafka.tgz"), []
    if how == "no archive":
        (root / "kafka.tgz").write_bytes(b"nothing of the kind")
        return str(root / "kafka.tgz"), []
    if how == "no kafka":
        a_jar(root / "libs" / "own.jar", {"a": b""})
        return str(root), []
    version = "7.6.0-ccs" if how == "a vendor's number" else "4.3.1-rc2"
    place = a_build(root / "libs", version, java=21 if how == "another Java" else 17)
    match how:
        case "two releases":
            a_jar(place / "kafka-raft-4.2.0.jar", {PROPERTIES: properties("4.2.0")})
        case "a module of another release":
            (place / "kafka_2.13-4.3.1-rc2.jar").rename(place / "kafka_2.13-4.2.0.jar")
        case "two bindings":
            a_jar(place / "log4j.jar", {"org/apache/logging/slf4j/Log4jLogger.class": b""})
        case "logback":
            a_jar(place / "binding-1.7.36.jar", {"ch/qos/logback/classic/Logger.class": b""})
        case "no version":
            (place / "kafka-clients-4.3.1-rc2.jar").unlink()
        case "two clients":
            a_jar(place / "kafka-clients-patched.jar", {CLIENT: class_of(17)})
        case "two brokers":
            a_jar(place / "kafka_2.13-4.3.1-mine.jar", {MAIN: class_of(17)})
        case "two of a module":
            for name in ("kafka-raft-4.3.1-rc2.jar", "kafka-raft-4.3.1-mine.jar"):
                a_jar(place / name, {"a": b""})
        case "no jar":
            (place / "a.jar").write_bytes(b"no archive")
        case "a jar that is not there":
            return str(root), [root / "gone.jar"]
        case "a jar of a taken name":
            return str(root), [a_jar(root / "binding-1.7.36.jar", {"a": b""})]
    return str(root), []


@pytest.mark.parametrize("how", BAD)
def test_what_cannot_be_run_is_refused_in_a_line(tmp_path: Path, how: str) -> None:
    source, more = spoil(how, tmp_path)
    with pytest.raises(UsageError, match=BAD[how]) as refused:
        own.take(source, more, "", quiet)
    assert "\n" not in str(refused.value)
    assert not list(builds.folder("").glob("[0-9a-f]*"))


def test_the_name_of_a_further_jar_may_have_blanks(tmp_path: Path) -> None:
    own_jar = a_jar(tmp_path / "my own.jar", {"a": b""})
    build, _ = taken(a_build(tmp_path / "mine"), own_jar)
    assert "my own.jar" in builds.read(build)
    assert builds.libraries(build, quiet).is_dir()


def test_sources_and_tests_beside_a_module_are_no_second_one(tmp_path: Path) -> None:
    root = a_build(tmp_path / "mine")
    (main,) = root.rglob("kafka_2.13-*.jar")
    for what in ("sources", "javadoc", "scaladoc", "test", "test-sources"):
        a_jar(main.with_name(main.name.replace(".jar", f"-{what}.jar")), {"a": b""})
    build, _ = taken(root)
    assert builds.read(build)


def test_a_build_without_a_binding_is_given_reload4j(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = a_build(tmp_path / "released", "4.3.1", binding="")
    a_jar(released / "slf4j-reload4j-1.7.36.jar", {RELOAD4J_CLASS: class_of(8)})
    monkeypatch.setattr(jars, "resolve", lambda kafka, echo: released)
    _, told = taken(a_build(tmp_path / "mine", binding=""))
    assert told.logging == "reload4j, added"


def test_a_cache_that_was_changed_is_refused(tmp_path: Path) -> None:
    build, _ = taken(a_build(tmp_path))
    (builds.folder(build.digest) / "jars" / "binding-1.7.36.jar").write_bytes(b"other")
    with pytest.raises(UsageError, match="was changed"):
        taken(tmp_path)
    with pytest.raises(UsageError, match="not in the cache"):
        central.find("4.3.1-rc2@0123456789ab", quiet)


class FakeImage:
    """As much of a Docker client as taking an image apart uses."""

    def __init__(self, files: Mapping[str, Path], made_for: str = "amd64") -> None:
        self.files, self.made_for, self.removed = files, made_for, 0
        self.images = self.containers = self

    def get(self, name: str) -> Any:
        if name != "mine:1":
            raise docker.errors.ImageNotFound(name)
        return SimpleNamespace(attrs={"Architecture": self.made_for})

    def version(self) -> dict[str, str]:
        return {"Arch": "amd64"}

    def create(self, image: Any, command: list[str]) -> Any:
        return self

    def export(self) -> Iterator[bytes]:
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as tar:
            for name, path in self.files.items():
                tar.add(path, name, recursive=False)
            link = tarfile.TarInfo("opt/kafka")
            link.type, link.linkname = tarfile.SYMTYPE, "/opt/kafka_2.13-4.3.1"
            tar.addfile(link)
        yield content.getvalue()

    def remove(self, **options: Any) -> None:
        self.removed += 1

    def close(self) -> None:
        """Nothing is open."""


def test_an_image_is_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = a_build(tmp_path)
    engine = FakeImage({f"opt/kafka_2.13-4.3.1/libs/{path.name}": path for path in place.iterdir()})
    monkeypatch.setattr(own, "connect", lambda: engine)
    build, _ = taken("mine:1")
    assert build.origin == "mine:1"
    assert len(os.listdir(builds.libraries(build, quiet))) == 3
    assert engine.removed == 1


@pytest.mark.parametrize(
    ("name", "why"), [("mine:1", "for the processor arm64"), ("mine:2", "the engine has no such image")]
)
def test_an_image_that_cannot_be_taken_is_refused(name: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "connect", lambda: FakeImage({}, "arm64"))
    with pytest.raises(UsageError, match=why):
        taken(name)


def test_classes_for_a_newer_java_alone_do_not_count(tmp_path: Path) -> None:
    jar = a_jar(tmp_path / "a.jar", {"META-INF/versions/21/a/A.class": class_of(21), "a/A.class": class_of(8)})
    assert JarFile(jar).java == (8, "a/A.class")
