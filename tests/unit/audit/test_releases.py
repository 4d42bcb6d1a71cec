"""Which release a broker is: held against all that Kafka's own code offers, release by release.

offered.json has every request with its newest version, as `ApiKeys` of the releases' jars (up to 2.3, and from 3.9 on)
or the request files at their tags (2.4 to 3.8) have them, for brokers with ZooKeeper and with KRaft.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.releases import CHANGES, METADATA_VERSIONS, RELEASES, metadata_version, mode, release
from harness.cluster import versions

OFFERED: dict[str, dict[int, int]] = {
    name: {int(request): newest for request, newest in offered.items()}
    for name, offered in json.loads((Path(__file__).parent / "offered.json").read_text()).items()
}


def line(name: str) -> str:
    """2.8 of "2.8.2 zookeeper", and 0.10.2 of "0.10.2.2 zookeeper"."""
    parts = name.split()[0].split(".")
    return ".".join(parts[:-1])


def test_there_is_an_offer_of_every_release() -> None:
    assert {line(name) for name in OFFERED} == set(RELEASES) == {name for name, _ in CHANGES}


def test_every_version_that_can_be_started_is_known_to_audits() -> None:
    released = {version.kafka for version in versions.ALL if version.release >= (0, 10)}
    assert {line(release) for release in released} <= set(RELEASES)


@pytest.mark.parametrize("name", OFFERED)
def test_a_broker_is_known_by_what_it_offers(name: str) -> None:
    found = release(OFFERED[name])
    which = "3.3 or 3.4" if line(name) in ("3.3", "3.4") and "kraft" in name else line(name)
    assert found.oldest == which.split()[0]
    assert f" {which} " in found.how


@pytest.mark.parametrize(("level", "known"), [(7, "3.3"), (8, "3.4"), (0, "3.3"), (99, "3.3")])
def test_the_newest_metadata_version_tells_3_3_from_3_4(level: int, known: str) -> None:
    assert release(OFFERED["3.4.1 kraft"], level).oldest == known


def test_a_broker_that_holds_messages_at_an_old_format_offers_no_transactions() -> None:
    def without(name: str) -> dict[int, int]:
        return {request: newest for request, newest in OFFERED[name].items() if request not in range(24, 29)}

    assert release(without("2.8.2 zookeeper")).oldest == "2.8"
    assert release(without("3.6.2 zookeeper")).oldest == "3.5"
    assert "3.5 or 3.6" in release(without("3.6.2 zookeeper")).how


def test_a_later_release_is_at_least_the_last_one() -> None:
    found = release(OFFERED["4.4.0 kraft"] | {0: 99})
    assert found.oldest == CHANGES[-1][0]
    assert "a later release" in found.how


def test_somebody_elses_broker_is_told_from_kafka() -> None:
    """Such as Redpanda's: some requests newer, some older than any one release."""
    found = release(OFFERED["2.8.2 zookeeper"] | {1: 13})
    assert found.oldest == "2.8"
    assert "no release of Apache Kafka" in found.how
    assert release({0: 0, 18: 0}).oldest is None


def test_before_0_10_it_is_told_by_what_is_tried() -> None:
    assert release({16: 0}).oldest == "0.9.0"
    assert release({}).oldest == "0.8"


@pytest.mark.parametrize("name", OFFERED)
def test_how_a_cluster_is_run_shows(name: str) -> None:
    early = line(name) in ("3.0", "3.1", "3.2")  # before KRaft was ready
    assert mode(OFFERED[name]) == (None if early and "kraft" in name else name.split()[1])


def test_levels_of_metadata_version_have_names() -> None:
    assert metadata_version(1) == "3.0-IV1"
    assert metadata_version(21) == "3.9-IV0"
    assert metadata_version(33) == METADATA_VERSIONS[-1] == "4.4-IV2"
    assert metadata_version(0) is None
    assert metadata_version(34) is None
