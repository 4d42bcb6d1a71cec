"""The catalogue of versions: what follows from a release and the way it is run."""

from __future__ import annotations

import pytest

from evidence.errors import UsageError
from harness.cluster import versions


def test_ids_are_unique_and_every_release_has_its_lock() -> None:
    ids = [version.id for version in versions.ALL]
    assert len(set(ids)) == len(ids)
    from harness.setup import jars

    for kafka in versions.releases():
        assert jars.read_lock(kafka), kafka


@pytest.mark.parametrize(
    ("name", "java", "scala", "truncates"),
    [
        ("0.8.2.2", 8, "2.11", True),
        ("0.9.0.1", 8, "2.11", True),
        ("0.10.2.2", 8, "2.11", True),
        ("0.11.0.3", 8, "2.11", False),
        ("2.8.2", 8, "2.13", False),
        ("2.8.2-pinned", 8, "2.13", True),
        ("3.9.2-zk", 17, "2.13", False),
        ("3.9.2-pinned", 17, "2.13", True),
        ("3.9.2-kraft", 17, "2.13", False),
        ("4.3.1", 17, "2.13", False),
    ],
)
def test_traits(name: str, java: int, scala: str, truncates: bool) -> None:
    version = versions.get(name)
    assert (version.java, version.scala) == (java, scala)
    assert version.truncates_to_high_watermark is truncates
    assert version.leader_epochs is not truncates


def test_only_the_oldest_lack_create_topics_and_need_client_settings() -> None:
    assert [v.id for v in versions.ALL if not v.has_create_topics] == ["0.8.2.2", "0.9.0.1"]
    assert [v.id for v in versions.ALL if v.client_settings] == ["0.8.2.2", "0.9.0.1"]
    assert versions.get("0.9.0.1").client_settings["broker.version.fallback"] == "0.9.0"


def test_pinned_is_the_same_image_with_other_settings() -> None:
    pinned, plain = versions.get("3.9.2-pinned"), versions.get("3.9.2-zk")
    assert pinned.image == plain.image
    assert dict(pinned.settings) == {
        "inter.broker.protocol.version": "0.10.2",
        "log.message.format.version": "0.10.2",
    }
    assert not plain.settings


@pytest.mark.parametrize(
    ("name", "mode", "protocol"),
    [
        ("0.8.2.0", "zookeeper", (0, 8, 2, 0)),
        ("2.4.1", "zookeeper", (2, 4, 1)),
        ("3.7.1-kraft", "kraft", (3, 7, 1)),
        ("3.7.1-zk", "zookeeper", (3, 7, 1)),
        ("4.2.2", "kraft", (4, 2, 2)),
        ("2.6.3-protocol-2.3", "zookeeper", (2, 3)),
        ("3.9.2-protocol-0.11.0", "zookeeper", (0, 11, 0)),
        ("0.9.0.1-protocol-0.8.2", "zookeeper", (0, 8, 2)),
        ("3.7.1-pinned", "zookeeper", (0, 10, 2)),
    ],
)
def test_any_release_has_a_name_with_its_way_to_run(name: str, mode: str, protocol: tuple[int, ...]) -> None:
    version = versions.get(name)
    assert (version.id, version.mode, version.protocol) == (name, mode, protocol)
    assert versions.get(name) == version


@pytest.mark.parametrize(
    ("name", "canonical"),
    [("2.4.1-zk", "2.4.1"), ("4.3.1-kraft", "4.3.1"), ("2.8.2-protocol-0.10.2", "2.8.2-pinned")],
)
def test_a_way_that_goes_without_saying_is_left_out_of_the_name(name: str, canonical: str) -> None:
    assert versions.get(name) == versions.get(canonical)
    assert versions.get(name).id == canonical


@pytest.mark.parametrize(
    ("name", "format_too"),
    [
        ("2.6.3-protocol-2.3", False),
        ("2.6.3-protocol-0.10.1", True),
        ("0.10.2.2-protocol-0.9.0", True),
        ("0.9.0.1-protocol-0.8.2", False),
    ],
)
def test_a_message_format_is_held_with_a_protocol_that_has_an_old_one(name: str, format_too: bool) -> None:
    assert ("log.message.format.version" in versions.get(name).settings) is format_too


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("3.7.9", r"there is no Kafka 3\.7\.9; the nearest releases are 3\.7\.1, 3\.7\.2, 3\.8\.0, 3\.8\.1"),
        ("9.9.9", r"there is no Kafka 9\.9\.9; the nearest releases are .*4\.4\.0"),
        ("0.8.1.1", r"there is no Kafka 0\.8\.1\.1; the nearest releases are 0\.8\.2\.0"),
        ("newest", "there is no version 'newest'"),
        ("4.3.1-zk", r"Kafka 4\.3\.1 has no ZooKeeper, which 4\.0 removed: ask for 4\.3\.1$"),
        ("2.8.2-kraft", r"Kafka 2\.8\.2 has no KRaft for production.*ask for 2\.8\.2$"),
        ("3.2.3-kraft", r"no KRaft for production"),
        ("3.7.1", r"ask for 3\.7\.1-zk or 3\.7\.1-kraft$"),
        ("4.3.1-pinned", r"Kafka 4\.3\.1 cannot be held at protocol 0\.10\.2: .*of 0\.9 to 3\.9"),
        ("0.8.2.2-protocol-0.8.2", r"cannot be held at protocol 0\.8\.2"),
        ("0.10.2.2-pinned", r"cannot be held at protocol 0\.10\.2: it can be held at 0\.8\.2 to 0\.10\.1"),
        ("2.6.3-protocol-2.7", r"cannot be held at protocol 2\.7: it can be held at 0\.8\.2 to 2\.5"),
        ("2.6.3-protocol-2.3.1", r"cannot be held at protocol 2\.3\.1"),
        ("2.6.3-protocoll-2.3", r"no way 'protocoll-2\.3' to run Kafka 2\.6\.3"),
        ("3.9.2-kraft-protocol-3.8", r"no way 'kraft-protocol-3\.8'"),
    ],
)
def test_what_cannot_be_run_is_one_line_with_what_can(name: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        versions.get(name)
    assert "\n" not in str(caught.value)


def test_a_release_with_several_ways_to_run_it_names_them() -> None:
    with pytest.raises(UsageError, match=r"3\.9\.2-zk") as caught:
        versions.get("3.9.2")
    assert "3.9.2-kraft" in str(caught.value)


def test_a_migration_takes_zookeeper_and_a_protocol_that_has_it() -> None:
    able = [version.id for version in versions.KNOWN if version.can_migrate]
    assert able == ["3.9.2-zk", "3.5.1-zk"]
    assert versions.get("3.7.1-zk").can_migrate
    assert not versions.get("3.7.1-protocol-3.3").can_migrate
