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


def test_unknown_names_suggest_near_ones() -> None:
    with pytest.raises(UsageError, match=r"no version '0\.10\.2\.1'.*0\.10\.2\.2"):
        versions.get("0.10.2.1")


def test_a_release_with_several_ways_to_run_it_names_them() -> None:
    with pytest.raises(UsageError, match=r"3\.9\.2-zk") as caught:
        versions.get("3.9.2")
    assert "3.9.2-kraft" in str(caught.value)


def test_a_migration_takes_zookeeper_and_a_protocol_that_has_it() -> None:
    able = [version.id for version in versions.KNOWN if version.can_migrate]
    assert able == ["3.9.2-zk", "3.5.1-zk"]
