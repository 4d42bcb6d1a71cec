"""What Maven Central is asked, and when."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidence.errors import UsageError
from harness.cluster import apache
from harness.setup import central


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("KAFKA_CHAOS_CACHE", str(tmp_path / "cache"))
    apache.releases.cache_clear()
    yield tmp_path / "cache"
    apache.releases.cache_clear()


def serve(monkeypatch: pytest.MonkeyPatch, *releases: str) -> list[str]:
    """Have Maven Central name these releases; returns what it is asked."""
    asked: list[str] = []
    text = "".join(f"<version>{one}</version>" for one in releases)

    def urlopen(url: str, timeout: float) -> Any:
        asked.append(url)
        return io.BytesIO(text.encode())

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


def quiet(line: str) -> None:
    pass


def test_a_release_that_is_known_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch)
    assert central.find("2.8.2", quiet).kafka == "2.8.2"
    assert asked == []


def test_a_newer_one_is_looked_up_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, said = serve(monkeypatch, "2.8.2", "99.1.0", "99.2.0-rc1"), list[str]()
    assert central.find("99.1.0", said.append).id == "99.1.0"
    assert [url.rpartition("/kafka/")[2] for url in asked] == [
        "kafka_2.11/maven-metadata.xml",
        "kafka_2.13/maven-metadata.xml",
    ]
    assert said == ["Kafka 99.1.0 is not known here: asking Maven Central"]
    assert central.find("99.1.0", said.append).id == "99.1.0"
    assert len(asked) == 2
    assert apache.found_path().read_text() == apache.render(["99.1.0"])


def test_one_that_is_not_there_either_is_told_with_what_is(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "99.1.0")
    with pytest.raises(UsageError, match=r"there is no Kafka 99\.3\.0; the nearest releases are .*99\.1\.0"):
        central.find("99.3.0", quiet)


def test_a_number_that_cannot_be_newer_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch, "99.1.0")
    with pytest.raises(UsageError, match=r"there is no Kafka 0\.8\.1\.1"):
        central.find("0.8.1.1", quiet)
    with pytest.raises(UsageError, match="has no ZooKeeper"):
        central.find("4.3.1-zk", quiet)
    assert asked == []


def test_no_network_is_one_line_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str, timeout: float) -> Any:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(
        UsageError, match=r"there is no Kafka 99\.1\.0.*it may be newer, but .*no route to host"
    ) as caught:
        central.find("99.1.0", quiet)
    assert "\n" not in str(caught.value)


def test_a_mirror_is_asked_in_place_of_maven_central_and_refused_if_it_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch)
    monkeypatch.setenv(central.VARIABLE, "http://mirror.example/maven/")
    with pytest.raises(UsageError, match="names no release of Kafka: is KAFKA_CHAOS_MAVEN a mirror"):
        central.ask(quiet)
    assert asked == ["http://mirror.example/maven/org/apache/kafka/kafka_2.11/maven-metadata.xml"]
