"""Own builds: what tells two of them apart, and that a changed one is refused."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from evidence.errors import UsageError
from harness.cluster.builds import Build
from harness.setup import builds


def kept(content: bytes = b"a jar") -> Build:
    """An own build of one jar, in the cache."""
    listing = builds.render({"kafka-clients.jar": hashlib.sha256(content).hexdigest()})
    build = Build(kafka="4.3.1-rc2", digest=builds.digest_of(listing), origin="somewhere")
    (builds.folder(build.digest) / "jars").mkdir(parents=True)
    (builds.folder(build.digest) / builds.LISTING).write_text(listing)
    (builds.folder(build.digest) / "jars" / "kafka-clients.jar").write_bytes(content)
    return build


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path))


def quiet(line: str) -> None:
    """Tell nobody."""


def test_two_builds_of_one_number_share_neither_image_nor_name() -> None:
    one, other = kept(b"one"), kept(b"other")
    assert one.kafka == other.kafka
    assert one.tag != other.tag
    assert one.mark != other.mark
    assert one != other
    assert one.release == (4, 3, 1)


def test_a_build_is_the_same_wherever_it_came_from() -> None:
    one = kept()
    assert one == replace(one, origin="elsewhere")


def test_the_jars_of_a_build_are_those_of_its_digest() -> None:
    build = kept()
    assert [path.name for path in builds.libraries(build, quiet).iterdir()] == ["kafka-clients.jar"]
    assert builds.read(build) == builds.digests(build)


@pytest.mark.parametrize("how", ["another", "missing", "besides", "listing", "gone"])
def test_a_build_that_was_changed_is_refused_in_a_line(how: str) -> None:
    build = kept()
    place = builds.folder(build.digest)
    if how == "another":
        (place / "jars" / "kafka-clients.jar").write_bytes(b"something else")
    elif how == "missing":
        (place / "jars" / "kafka-clients.jar").unlink()
    elif how == "besides":
        (place / "jars" / "more.jar").write_bytes(b"")
    elif how == "listing":
        (place / builds.LISTING).write_text("kafka-clients.jar 00\n")
    else:
        (place / builds.LISTING).unlink()
    with pytest.raises(UsageError, match="not in the cache" if how == "gone" else "was changed") as refused:
        builds.libraries(build, quiet)
    assert "give --kafka" in str(refused.value)
    assert "\n" not in str(refused.value)
