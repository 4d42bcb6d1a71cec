"""The catalogue of versions: what follows from a release and the way it is run."""

from __future__ import annotations

import pytest

from evidence.errors import UsageError
from harness.cluster import cluster as clusters
from harness.cluster import ranges, versions
from harness.cluster.builds import Build
from harness.cluster.versions import FORMAT, PROTOCOL
from harness.plan import ClusterPlan


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


OWN, OTHER = (Build(kafka="4.3.1-rc2", digest=digit * 64) for digit in "12")


@pytest.mark.parametrize(
    ("name", "first", "then"),
    [
        ("2.4.1-to-2.8.1", "2.4.1", "2.8.1"),
        ("3.7.1-kraft-to-4.2.2", "3.7.1-kraft", "4.2.2"),
        ("2.4.1-to-3.9.2-zk", "2.4.1", "3.9.2-zk"),
        ("2.2.2-to-3.5.1-zk", "2.2.2", "3.5.1-zk"),
        ("3.3.2-kraft-to-4.4.0", "3.3.2-kraft", "4.4.0"),
        ("0.8.2.2-to-0.10.0.1", "0.8.2.2", "0.10.0.1"),
        ("2.8.1-to-2.8.2", "2.8.1", "2.8.2"),
    ],
)
def test_a_pair_is_named_by_both_and_has_the_traits_of_the_first(name: str, first: str, then: str) -> None:
    made, old, new = versions.get(name), versions.get(first), versions.get(then)
    assert (made.id, made.first, made.pair) == (name, old, (old, new))
    assert made.builds == (old.build, new.build)
    assert (made.mode, made.release, made.protocol, made.settings) == (old.mode, old.release, old.protocol, {})
    assert versions.upgraded(old, new) == made != versions.get(first)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("2.8.1-to-4.0.2", "the one has its metadata in ZooKeeper, the other in KRaft; a cluster is migrated"),
        ("3.9.2-kraft-to-3.9.2-zk", "the one has its metadata in KRaft, the other in ZooKeeper"),
        ("2.8.1-to-2.4.1", "it is older; name the older one first"),
        ("4.2.2-to-3.9.2-kraft", "it is older"),
        ("2.8.1-to-2.8.1", "it is the same; name a newer release, or with --kafka a build of your own"),
        ("2.3.1-to-3.9.2-zk", r"cannot use the ZooKeeper of Kafka before 2\.4 \(KIP-902\)"),
        ("2.3.1-to-3.6.0-zk", r"KIP-902"),
        ("0.8.2.2-to-0.9.0.1", r"before 0\.10 do not say which requests they take \(KIP-35\)"),
        ("3.2.3-kraft-to-4.0.2", r"Kafka 3\.2\.3 has no KRaft for production"),
        ("3.7.1-to-4.2.2", "ask for 3.7.1-zk or 3.7.1-kraft"),
        ("2.4.1-to-3.7.1", "ask for 3.7.1-zk or 3.7.1-kraft"),
        ("2.6.3-protocol-2.3-to-2.8.1", "2.6.3-protocol-2.3 is held at an older protocol"),
        ("2.4.1-to-2.8.2-pinned", "2.8.2-pinned is held at an older protocol"),
        ("2.4.1-to-2.8.1-to-3.9.2-zk", "is an upgrade already: name two versions"),
        ("2.4.1-to-9.9.9", "there is no Kafka 9.9.9"),
        ("-to-2.8.1", "there is no version ''"),
    ],
)
def test_a_pair_that_cannot_be_upgraded_is_one_line(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        versions.get(name)
    assert "\n" not in str(caught.value)


def test_an_own_build_is_upgraded_from_and_to_also_with_the_number_of_a_release() -> None:
    release, newer = versions.get("4.3.1"), versions.get("4.4.0")
    own, other = (versions.of_build(build, "") for build in (OWN, OTHER))
    assert versions.upgraded(release, own).id == "4.3.1-to-4.3.1-rc2@111111111111"
    assert versions.upgraded(own, newer).id == "4.3.1-rc2@111111111111-to-4.4.0"
    assert versions.upgraded(own, newer).id != versions.upgraded(other, newer).id
    assert versions.upgraded(own, other).builds == (OWN, OTHER)
    with pytest.raises(UsageError, match="it is the same"):
        versions.upgraded(own, own)
    with pytest.raises(UsageError, match="it is older"):
        versions.upgraded(newer, own)


@pytest.mark.parametrize(
    ("name", "protocol", "message_format"),
    [
        ("2.4.1-to-2.8.1", "2.4", "2.4"),
        ("2.4.1-to-3.9.2-zk", "2.4", "2.4"),
        ("3.1.0-to-3.9.2-zk", "3.1", None),
        ("0.9.0.1-to-0.10.2.2", "0.9.0", "0.9.0"),
        ("0.8.2.2-to-1.1.1", "0.8.2", "0.8.2"),
        ("3.7.1-kraft-to-4.2.2", None, None),
    ],
)
def test_brokers_of_a_pair_begin_with_protocol_and_format_of_the_first(
    name: str, protocol: str | None, message_format: str | None
) -> None:
    settings = clusters.broker_settings(versions.get(name), ClusterPlan(upgrades={"1": "2"}), {})
    assert (settings.get(PROTOCOL), settings.get(FORMAT)) == (protocol, message_format)


def test_a_pair_says_what_its_nodes_are_upgraded_to() -> None:
    plan, made = ClusterPlan(upgrades={"2.8.2": "3.9.2-zk"}), versions.get("2.8.2-to-3.5.1-zk")
    assert clusters.next_version(made, plan) == versions.get("3.5.1-zk")
    assert [one.id for one in clusters.further_versions(made, plan)] == ["3.5.1-zk"]
    assert clusters.next_version(versions.get("2.8.2"), plan) == versions.get("3.9.2-zk")
    assert clusters.next_version(versions.get("2.8.1"), plan) is None


@pytest.mark.parametrize(
    ("name", "arranged"),
    [
        ("0.10.2.2", False),
        ("0.10.2.2-to-2.0.1", True),
        ("0.10.2.2-to-2.1.0", False),
        ("0.10.2.2-to-2.1.1", True),
        ("0.10.2.2-to-2.4.1", False),
        ("0.10.2.2-to-2.5.1", False),
        ("0.10.2.2-to-2.6.0", True),
        ("0.11.0.3-to-2.4.1", True),
        ("2.4.1-to-2.8.1", True),
        ("3.7.1-kraft-to-4.2.2", True),
    ],
)
def test_two_failures_cannot_be_arranged_where_followers_learn_the_high_watermark_at_once(
    name: str, arranged: bool
) -> None:
    assert ranges.TWO_FAILURES_ARRANGED.holds(versions.get(name)) is arranged


def test_a_range_of_pairs_asks_the_second_version() -> None:
    before, by_format = ranges.UPGRADED_BEFORE_EPOCHS, ranges.UPGRADED_TO_EPOCHS_BY_FORMAT
    found = {
        name: (before.holds(versions.get(name)), by_format.holds(versions.get(name)))
        for name in ("0.10.2.2", "0.10.0.1-to-0.10.2.2", "0.10.2.2-to-2.2.2", "0.10.2.2-to-3.5.1-zk", "2.4.1-to-2.8.1")
    }
    assert found == {
        "0.10.2.2": (False, False),
        "0.10.0.1-to-0.10.2.2": (True, False),
        "0.10.2.2-to-2.2.2": (False, True),
        "0.10.2.2-to-3.5.1-zk": (False, False),
        "2.4.1-to-2.8.1": (False, False),
    }
