"""Locks of jars: what is written is read back, and nothing but the locked bytes is accepted."""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.errors import HarnessError, UsageError
from harness.setup import jars
from harness.setup.jars import Jar, differences, parse_lock, render_lock

DIGEST = "a" * 64


def _locked(directory: Path, **contents: bytes) -> list[Jar]:
    directory.mkdir(exist_ok=True)
    locked = []
    for artifact, content in contents.items():
        jar = Jar(group="g", artifact=artifact, version="1", sha256=hashlib.sha256(content).hexdigest())
        (directory / jar.file).write_bytes(content)
        locked.append(jar)
    return locked


def test_coordinates_and_files() -> None:
    text = f"# comment\norg.a:b_2.11:1.0 {DIGEST}  # why\n\norg.a:c:2.0:linux-x86_64 {DIGEST}\n"
    plain, classified = parse_lock(text, "x")
    assert (plain.coordinate, plain.file) == ("org.a:b_2.11:1.0", "b_2.11-1.0.jar")
    assert (classified.coordinate, classified.file) == ("org.a:c:2.0:linux-x86_64", "c-2.0-linux-x86_64.jar")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"org.a:b {DIGEST}", "line 1: not 'group:artifact"),
        (f"ok:ok:1 {DIGEST}\norg.a:b:1 abc", "line 2"),
        (f"org.a:../../b:1 {DIGEST}", "line 1"),
        (f"a:b:1 {DIGEST}\nc:b:1 {DIGEST}", "two lines for b-1.jar"),
        ("# nothing\n", "no jars"),
    ],
)
def test_damaged_locks_are_refused_with_their_line(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        parse_lock(text, "compose/locks/x.lock")


names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.]{0,8}", fullmatch=True)


@given(
    st.lists(
        st.builds(
            Jar,
            group=names,
            artifact=names,
            version=names,
            classifier=st.one_of(st.just(""), names),
            sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
        ),
        min_size=1,
        unique_by=lambda jar: jar.file,
    )
)
def test_what_is_rendered_is_read_back(given_jars: list[Jar]) -> None:
    assert parse_lock(render_lock("1.0", given_jars), "x") == tuple(sorted(given_jars))


def test_exactly_the_locked_files_are_accepted(tmp_path: Path) -> None:
    assert differences(tmp_path / "jars", _locked(tmp_path / "jars", a=b"A", b=b"B")) == []


def test_missing_changed_and_additional_files_are_named(tmp_path: Path) -> None:
    directory = tmp_path / "jars"
    locked = _locked(directory, a=b"A", b=b"B", c=b"C")
    (directory / "a-1.jar").write_bytes(b"tampered")
    (directory / "b-1.jar").unlink()
    (directory / "extra.jar").write_bytes(b"")
    assert [phrase.split(" ", 1)[0] for phrase in differences(directory, locked)] == ["g:b:1", "extra.jar", "g:a:1"]


def test_no_directory_is_all_missing(tmp_path: Path) -> None:
    locked = _locked(tmp_path / "jars", a=b"A")
    assert differences(tmp_path / "nowhere", locked) == ["g:a:1 is missing"]


@pytest.fixture
def one_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of one jar with the content "good", and a cache of its own."""
    monkeypatch.setattr(jars, "LOCKS", tmp_path / "locks")
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "9.9.lock").write_text(f"g:a:1 {hashlib.sha256(b'good').hexdigest()}\n")
    return tmp_path


def _serve(monkeypatch: pytest.MonkeyPatch, content: bytes | None, output: str = "") -> list[str]:
    """Put a file where Ivy would, or none; returns the list of modules asked for."""
    asked: list[str] = []

    def ivy(module: str, directory: Path, pattern: str, cache: Path) -> str:
        asked.append(module)
        directory.mkdir(parents=True, exist_ok=True)
        if content is not None:
            (directory / "a-1.jar").write_bytes(content)
        return output

    monkeypatch.setattr(jars, "_ivy", ivy)
    return asked


def test_jars_are_fetched_once_each_by_itself(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, said = _serve(monkeypatch, b"good"), list[str]()
    directory = jars.resolve("9.9", said.append)
    assert (directory / "a-1.jar").read_bytes() == b"good"
    assert jars.resolve("9.9", said.append) == directory
    assert len(asked) == 1
    assert len(said) == 1
    assert 'transitive="false"' in asked[0]


def test_a_damaged_cache_is_fetched_again(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _serve(monkeypatch, b"good")
    directory = jars.resolve("9.9", lambda line: None)
    (directory / "a-1.jar").write_bytes(b"bad")
    jars.resolve("9.9", lambda line: None)
    assert len(asked) == 2
    assert (directory / "a-1.jar").read_bytes() == b"good"


def test_other_bytes_than_the_locked_are_refused(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _serve(monkeypatch, b"evil")
    with pytest.raises(HarnessError, match="not the locked ones: g:a:1 has sha256"):
        jars.resolve("9.9", lambda line: None)
    assert not (one_jar / "cache" / "jars" / "9.9").exists()


def test_no_network_is_one_line_that_says_so(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _serve(monkeypatch, None, "\t\tServer access error\njava.net.UnknownHostException: some.host\n")
    with pytest.raises(UsageError, match=r"1 of 1 jars could not be fetched .*UnknownHostException") as caught:
        jars.resolve("9.9", lambda line: None)
    assert "\n" not in str(caught.value)


def test_a_jar_that_does_not_come_is_asked_for_once_more(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = hashlib.sha256(b"good").hexdigest()
    (one_jar / "locks" / "1.0.lock").write_text(f"g:a:1 {good}\ng:b:1 {good}\n")
    asked: list[list[str]] = []

    def ivy(module: str, directory: Path, pattern: str, cache: Path) -> str:
        asked.append(re.findall(r'name="([ab])"', module))
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{asked[-1][0]}-1.jar").write_bytes(b"good")
        return "java.net.SocketException: Connection reset by peer"

    monkeypatch.setattr(jars, "_ivy", ivy)
    said: list[str] = []
    directory = jars.resolve("1.0", said.append)
    assert asked == [["a", "b"], ["b"]]
    assert sorted(path.name for path in directory.iterdir()) == ["a-1.jar", "b-1.jar"]
    assert "1 jar did not come: asking once more" in said


def test_on_a_full_disk_nothing_is_asked_for_again(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _serve(monkeypatch, None, "java.io.IOException: No space left on device")
    with pytest.raises(UsageError, match="is full"):
        jars.resolve("9.9", lambda line: None)
    assert len(asked) == 1


def test_a_full_disk_is_told_as_one(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = (
        "Exception in thread main java.io.IOException: No space left on device\n"
        "\tat java.base/java.io.FileOutputStream.write(Native Method)\n"
        "\tat org.apache.ivy.Main.main(Main.java:233)\n"
    )
    _serve(monkeypatch, None, output)
    with pytest.raises(UsageError, match=r"the disk of .*/cache/jars is full; free some, or set KAFKA_CHAOS_CACHE"):
        jars.resolve("9.9", lambda line: None)


def test_where_in_ivy_it_failed_is_never_the_reason(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _serve(monkeypatch, None, "java.lang.IllegalStateException: odd\n\tat org.apache.ivy.Main.main(Main.java:233)\n")
    with pytest.raises(UsageError, match=r"IllegalStateException: odd$"):
        jars.resolve("9.9", lambda line: None)


def test_releases_are_fetched_side_by_side_and_what_came_is_kept(
    one_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=30)
    good = hashlib.sha256(b"good").hexdigest()
    (one_jar / "locks" / "1.0.lock").write_text(f"g:a:1 {good}\ng:b:1 {good}\n")
    monkeypatch.setattr(jars, "PIECE", 2)

    def ivy(module: str, directory: Path, pattern: str, cache: Path) -> str:
        if 'name="a"' in module:
            both.wait()  # each waits for the other: one after the other they would never end
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "a-1.jar").write_bytes(b"good")
        return "no b"

    monkeypatch.setattr(jars, "_ivy", ivy)
    with pytest.raises(UsageError, match=r"Kafka 1\.0: 1 of 2 jars could not be fetched \(g:b:1 is missing\)"):
        jars.fetch(["1.0", "9.9"], lambda line: None)
    assert jars.resolve("9.9", lambda line: None) == one_jar / "cache" / "jars" / "9.9"
    assert [path.name for path in (one_jar / "cache" / "jars").iterdir()] == ["9.9"]


def test_the_jars_of_a_release_are_fetched_in_pieces(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = hashlib.sha256(b"good").hexdigest()
    names = [f"n{number}" for number in range(5)]
    (one_jar / "locks" / "1.0.lock").write_text("".join(f"g:{name}:1 {good}\n" for name in names))
    monkeypatch.setattr(jars, "PIECE", 2)
    pieces: list[list[str]] = []
    caches: set[Path] = set()

    def ivy(module: str, directory: Path, pattern: str, cache: Path) -> str:
        directory.mkdir(parents=True, exist_ok=True)
        pieces.append(re.findall(r'name="(n\d)"', module))
        caches.add(cache)
        for name in pieces[-1]:
            (directory / f"{name}-1.jar").write_bytes(b"good")
        return ""

    monkeypatch.setattr(jars, "_ivy", ivy)
    jars.resolve("1.0", lambda line: None)
    assert sorted(pieces) == [["n0", "n1"], ["n2", "n3"], ["n4"]]
    assert len(caches) == 3


def test_locked_alone_refuses_a_release_without_a_committed_lock(one_jar: Path) -> None:
    jars.refuse_unlocked(["9.9"])
    with pytest.raises(UsageError, match=r"1\.2\.3 has no committed lock .*jars lock 1\.2\.3"):
        jars.refuse_unlocked(["9.9", "1.2.3"])


@pytest.fixture
def unlocked(one_jar: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Release 1.2.3, which has no committed lock; Ivy resolves it to its broker's jar. The cache's directory of it."""

    def ivy(module: str, directory: Path, pattern: str, cache: Path) -> str:
        root = jars.roots("1.2.3")[0]
        flat = 'transitive="true"' not in module
        for artifact in [jar for jar in jars.roots("1.2.3") if jar.artifact in module]:
            place = directory if flat else directory / artifact.group / artifact.artifact / artifact.version
            place.mkdir(parents=True, exist_ok=True)
            (place / artifact.file).write_bytes(f"the jar of {artifact.artifact} beside {root.version}".encode())
        return ""

    monkeypatch.setattr(jars, "_ivy", ivy)
    return one_jar / "cache" / "jars" / "1.2.3"


def test_a_release_without_a_lock_is_resolved_once_and_its_digests_kept_beside_its_jars(unlocked: Path) -> None:
    said: list[str] = []
    assert jars.lock_text("1.2.3") is None
    assert jars.resolve("1.2.3", said.append) == unlocked
    kept = jars.read_lock("1.2.3")
    assert {jar.artifact for jar in kept} == {"kafka_2.11", "kafka-tools", "slf4j-reload4j"}
    assert differences(unlocked, kept) == []
    assert not jars.is_committed("1.2.3")
    assert len(said) == 2
    assert jars.resolve("1.2.3", said.append) == unlocked
    assert len(said) == 2


def test_a_cache_that_was_changed_is_refused_if_its_lock_lies_in_it_too(unlocked: Path) -> None:
    jars.resolve("1.2.3", lambda line: None)
    (jar,) = unlocked.glob("kafka_2.11-*.jar")
    jar.write_bytes(b"something else")
    with pytest.raises(UsageError, match=r"was changed since Kafka 1\.2\.3 was resolved: .*has sha256") as caught:
        jars.resolve("1.2.3", lambda line: None)
    assert "\n" not in str(caught.value)
    jar.unlink()
    with pytest.raises(UsageError, match=r"was changed .*is missing"):
        jars.resolve("1.2.3", lambda line: None)


def test_jars_that_were_removed_altogether_are_fetched_again_by_the_lock_in_the_cache(unlocked: Path) -> None:
    jars.resolve("1.2.3", lambda line: None)
    shutil.rmtree(unlocked)
    assert jars.resolve("1.2.3", lambda line: None) == unlocked
    assert differences(unlocked, jars.read_lock("1.2.3")) == []


def test_a_release_that_cannot_be_resolved_is_one_line_and_leaves_nothing(
    one_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _serve(monkeypatch, None, "\t\tServer access error\njava.net.UnknownHostException: some.host\n")
    with pytest.raises(
        UsageError, match=r"could not be resolved: resolving needs the network once: .*Unknown"
    ) as caught:
        jars.resolve("1.2.3", lambda line: None)
    assert "\n" not in str(caught.value)
    assert jars.lock_text("1.2.3") is None


def test_committed_locks_are_sorted_and_hold_broker_and_a_single_logging_binding() -> None:
    bindings = {"slf4j-log4j12", "slf4j-reload4j", "slf4j-simple", "log4j-slf4j-impl", "logback-classic"}
    for path in sorted(jars.LOCKS.glob("*.lock")):
        locked = parse_lock(path.read_text(), path.name)
        assert path.read_text() == render_lock(path.stem, locked), path.name
        assert any(jar.artifact.startswith("kafka_2.1") and jar.version == path.stem for jar in locked), path.name
        assert len({jar.artifact for jar in locked} & bindings) == 1, path.name


@pytest.mark.parametrize(
    ("name", "artifacts"),
    [
        (jars.STREAMS, {"kafka-streams", "kafka-clients"}),
        (jars.CONNECT, {"connect-runtime", "connect-file", "connect-json", "connect-transforms", "kafka-clients"}),
    ],
)
def test_a_set_beside_the_brokers_own_has_locks_of_its_own(name: str, artifacts: set[str]) -> None:
    """They hold the release's own library and clients, no broker, and a single logging binding."""
    found = sorted((jars.LOCKS / name).glob("*.lock"))
    assert [jars.lock_path(jars.of_set(name, path.stem)) for path in found] == found
    for path in found:
        locked = parse_lock(path.read_text(), path.name)
        assert path.read_text() == render_lock(jars.of_set(name, path.stem), locked), path.name
        ours = {jar.artifact for jar in locked if jar.group == "org.apache.kafka" and jar.version == path.stem}
        assert ours >= artifacts, path.name
        assert not any(jar.artifact.startswith("kafka_") for jar in locked), path.name
        assert [jar.artifact for jar in locked if jar.artifact.startswith("slf4j-")] == ["slf4j-api", "slf4j-reload4j"]
    assert {"4.3.1", "2.8.2", "0.11.0.3"} <= {path.stem for path in found}


def test_spark_is_resolved_without_what_pyspark_has() -> None:
    (path,) = (jars.LOCKS / jars.SPARK).glob("*.lock")
    locked = parse_lock(path.read_text(), path.name)
    name = jars.of_set(jars.SPARK, path.stem)
    assert (jars.lock_path(name), path.read_text()) == (path, render_lock(name, locked))
    assert [jar.coordinate for jar in jars.roots(name)] == [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{path.stem}"]
    assert {jar.artifact for jar in locked} >= {"spark-sql-kafka-0-10_2.13", "kafka-clients", "commons-pool2"}
    assert not {jar.group for jar in locked} & {"org.scala-lang", "org.apache.hadoop", "org.slf4j"}
    assert 'org="org.apache.hadoop"' in jars._module(name, jars.roots(name), transitive=True)


def test_connect_is_resolved_with_its_web_server_and_brokers_are_not() -> None:
    roots = jars.roots("connect-4.3.1")
    assert [jar.coordinate for jar in roots[:3]] == [
        "org.apache.kafka:connect-runtime:4.3.1",
        "org.apache.kafka:connect-json:4.3.1",
        "org.apache.kafka:connect-file:4.3.1",
    ]
    of_connect = jars._module("connect-4.3.1", roots, transitive=True)
    of_broker = jars._module("4.3.1", jars.roots("4.3.1"), transitive=True)
    assert ("jetty" in of_connect, "jetty" in of_broker) == (False, True)
    assert 'module="log4j-slf4j-impl"' in of_connect
