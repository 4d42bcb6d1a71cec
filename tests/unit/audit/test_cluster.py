"""What is concluded from a cluster's answers, odd ones too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit.cluster import ClusterReport, ConfigEntry, Member, Refusal, inputs, weak_places
from audit.model import BrokerConfig, LiveBroker, LivePartition, Origin, Setting, TopicConfig
from kafkafiles.api_versions import Offer
from tests.unit.audit.test_releases import OFFERED

OLD, ZOOKEEPER, KRAFT = (Offer(apis=OFFERED[name]) for name in ("0.10.2.2 zookeeper", "2.8.2 zookeeper", "4.3.1 kraft"))
ELIGIBLE = replace(KRAFT, features={"eligible.leader.replicas.version": 1, "metadata.version": 30})
NOT_ALLOWED = Refusal("rights", "Cluster authorization failed.")


def partition(number: int = 0, isr: tuple[int, ...] = (1, 2, 3), leader: int | None = 1) -> LivePartition:
    return LivePartition(number=number, leader=leader, replicas=(1, 2, 3), isr=isr)


def member(number: int, offer: Offer | Refusal = ZOOKEEPER, rack: str | None = None) -> Member:
    return Member(id=number, host=f"kafka-{number}", port=9092, rack=rack, offer=offer)


def told(first: Offer = ZOOKEEPER, **values: object) -> ClusterReport:
    members = values.pop("members", tuple(member(number, first) for number in (1, 2, 3)))
    return replace(ClusterReport(address="kafka-1:9092", first=first, members=members), **values)  # type: ignore[arg-type]


def lines(cluster: ClusterReport) -> list[str]:
    return [f"{one.kind}: {one.message}" for one in inputs(cluster).problems]


def broker(cluster: ClusterReport) -> BrokerConfig:
    (only,) = inputs(cluster).brokers
    return only


def values(config: BrokerConfig | TopicConfig) -> dict[str, str]:
    return {key: setting.value for key, setting in config.settings.items()}


def test_a_healthy_cluster() -> None:
    cluster = told(
        topics={"orders": (partition(0), partition(1))},
        broker_settings={n: (ConfigEntry("min.insync.replicas", "2", "file"),) for n in (1, 2, 3)},
        topic_settings={
            "orders": (
                ConfigEntry("min.insync.replicas", "2", "default"),
                ConfigEntry("flush.messages", "1", "topic"),
                ConfigEntry("follower.replication.throttled.replicas", None, "topic"),
            )
        },
    )
    found = inputs(cluster)
    (topic,), (config,) = found.topics, found.brokers
    assert found.problems == ()
    assert (topic.name, topic.partitions, topic.replication_factor, topic.cluster) == ("orders", 2, 3, "kafka-1:9092")
    assert values(topic) == {"flush.messages": "1"}
    assert topic.live == (partition(0), partition(1))
    assert str(topic.origin) == str(config.origin) == "cluster kafka-1:9092"
    assert (config.release, config.mode, config.replicas, config.elr) == ("2.8", "zookeeper", 3, False)
    assert config.settings["min.insync.replicas"] == Setting(
        "min.insync.replicas", "2", Origin("cluster kafka-1:9092"), note="in the broker's own file"
    )


def test_of_a_brokers_settings_only_those_that_matter_are_kept() -> None:
    entries = (
        ConfigEntry("ssl.keystore.password", None, "file"),
        ConfigEntry("ssl.keystore.location", "/secret/place", "file"),
        ConfigEntry("sasl.jaas.config", "x", "file"),
        ConfigEntry("log.flush.interval.messages", "1", "broker"),
        ConfigEntry("min.insync.replicas", None, "file"),
    )
    assert values(broker(told(members=(member(1),), broker_settings={1: entries}))) == {
        "log.flush.interval.messages": "1"
    }


@pytest.mark.parametrize(
    ("first", "kept"),
    [
        (ZOOKEEPER, {"inter.broker.protocol.version": "0.10.2", "zookeeper.session.timeout.ms": "6000"}),
        (KRAFT, {"broker.session.timeout.ms": "9000"}),
    ],
)
def test_settings_that_are_listed_and_not_used_are_left_out(first: Offer, kept: dict[str, str]) -> None:
    entries = (
        ConfigEntry("inter.broker.protocol.version", "0.10.2", "file"),
        ConfigEntry("zookeeper.session.timeout.ms", "6000", "default"),
        ConfigEntry("broker.session.timeout.ms", "9000", "default"),
    )
    assert values(broker(told(first, members=(member(1, first),), broker_settings={1: entries}))) == kept


def test_brokers_that_do_not_agree() -> None:
    cluster = told(
        broker_settings={
            number: (ConfigEntry("min.insync.replicas", value, "file"), ConfigEntry("num.partitions", "1", "default"))
            for number, value in ((1, "2"), (2, "1"), (3, "2"))
        }
    )
    assert lines(cluster) == [
        "contradiction: its brokers do not agree on min.insync.replicas: 2 on brokers 1 and 3, 1 on broker 2"
    ]
    alike = inputs(cluster).brokers
    assert [one.name for one in alike] == ["kafka-1:9092, brokers 1 and 3", "kafka-1:9092, broker 2"]
    assert [values(one) for one in alike] == [
        {"min.insync.replicas": "2", "num.partitions": "1"},
        {"min.insync.replicas": "1", "num.partitions": "1"},
    ]
    assert [([node.id for node in one.nodes], one.replicas, one.cluster) for one in alike] == [
        ([1, 3], 3, "kafka-1:9092"),
        ([2], 3, "kafka-1:9092"),
    ]


def test_where_a_value_comes_from_makes_no_difference() -> None:
    cluster = told(
        broker_settings={n: (ConfigEntry("num.partitions", "1", "file" if n == 1 else "default"),) for n in (1, 2, 3)}
    )
    assert lines(cluster) == []
    assert values(broker(cluster)) == {"num.partitions": "1"}


def test_a_setting_that_only_one_broker_has() -> None:
    cluster = told(
        broker_settings={
            n: (ConfigEntry("log.flush.interval.ms", "1000" if n == 3 else None, "file"),) for n in (1, 2, 3)
        }
    )
    assert lines(cluster) == [
        "contradiction: its brokers do not agree on log.flush.interval.ms: not set on brokers 1 and 2, 1000 on broker 3"
    ]
    assert [values(one) for one in inputs(cluster).brokers] == [{}, {"log.flush.interval.ms": "1000"}]


def test_the_brokers_of_a_rolling_upgrade_are_told_apart() -> None:
    older = Offer(apis=OFFERED["3.9.2 kraft"])
    found = inputs(told(members=(member(1, KRAFT), member(2, older), member(3, KRAFT)))).brokers
    assert [(one.release, [node.id for node in one.nodes]) for one in found] == [("4.3", [1, 3]), ("3.9", [2])]
    assert found[1].release_from == "ApiVersions: what brokers of 3.9 offer; the patch release is not told"


def test_a_broker_that_is_not_reached() -> None:
    cluster = told(members=(member(1), member(2, Refusal("unreachable", "connection refused"))))
    assert lines(cluster) == ["unreachable: broker 2 at kafka-2:9092 does not answer (connection refused)"]
    apart = [(one.release, [node.id for node in one.nodes]) for one in inputs(cluster).brokers]
    assert apart == [("2.8", [1]), (None, [2])]


def test_no_broker_is_reached_at_the_address_that_it_advertises() -> None:
    cluster = told(members=(member(1, Refusal("unreachable", "the name is not known here")),))
    assert (broker(cluster).release, broker(cluster).release_from) == (None, "")
    assert broker(cluster).mode == "zookeeper"


@pytest.mark.parametrize(("apis", "release"), [({}, "0.8"), ({16: 0}, "0.9.0")])
def test_a_cluster_before_0_10(apis: dict[int, int], release: str) -> None:
    cluster = told(Offer(apis=apis), topics={"orders": (partition(),)})
    assert (broker(cluster).release, broker(cluster).mode, broker(cluster).elr) == (release, "zookeeper", None)
    assert lines(cluster) == [
        "unreachable: brokers before 0.11 do not tell their settings",
        "unreachable: brokers before 0.11 do not tell the settings of topics",
    ]


def test_a_broker_that_answers_as_nothing_that_is_known() -> None:
    assert lines(told(members=(member(1, Offer(apis={18: 0})), member(2)))) == [
        "release: the release of broker 1 is not known "
        "(ApiVersions: it offers what no release of Apache Kafka from 0.10.0 on does)"
    ]


def test_zookeeper_tells_settings_of_topics() -> None:
    entries = (ConfigEntry("min.insync.replicas", "2", "topic"),)
    cluster = told(OLD, topics={"orders": (partition(),)}, topic_settings={"orders": entries}, from_zookeeper=True)
    assert lines(cluster) == ["unreachable: brokers before 0.11 do not tell their settings"]
    (topic,) = inputs(cluster).topics
    assert topic.settings["min.insync.replicas"].note == "set for the topic, in ZooKeeper"


def test_missing_rights_are_a_line_for_each_right() -> None:
    names = [f"t{number}" for number in range(7)]
    cluster = told(
        topics=dict.fromkeys(names, (partition(),)),
        broker_settings=dict.fromkeys((1, 2, 3), NOT_ALLOWED),
        topic_settings=dict.fromkeys(names, Refusal("rights", "Topic authorization failed.")),
        missing={"gone": None, "hidden": Refusal("rights", "TOPIC_AUTHORIZATION_FAILED")},
    )
    assert lines(cluster) == [
        "rights: the settings of brokers 1, 2 and 3 are not known (Cluster authorization failed.)",
        "contradiction: there is no topic gone",
        "rights: topic hidden may not be described (TOPIC_AUTHORIZATION_FAILED)",
        "rights: the settings of topics t0, t1, t2, t3, t4 and 2 more are not known (Topic authorization failed.)",
    ]
    assert inputs(cluster).problems[0].do.startswith("allow DESCRIBE_CONFIGS on the cluster")
    assert len(inputs(cluster).topics) == 7


def test_eligible_leaders_and_metadata_version() -> None:
    found = broker(told(ELIGIBLE))
    assert found.elr is True
    assert found.settings["metadata.version"].value == "4.3-IV0"
    assert broker(told(KRAFT)).elr is False
    later = told(replace(KRAFT, features={"metadata.version": 99}))
    assert broker(later).settings["metadata.version"].value == "later than 4.4"


def test_racks() -> None:
    racks = broker(told(members=(member(1, rack="a"), member(2, rack="b"), member(3, rack="a"))))
    assert (racks.racks, [node.rack for node in racks.nodes]) == (2, ["a", "b", "a"])
    assert broker(told()).racks is None


def test_a_topic_in_the_middle_of_a_reassignment_has_as_many_replicas_as_its_poorest_partition() -> None:
    more = LivePartition(number=1, leader=1, replicas=(1, 2, 3, 4), isr=(1, 2, 3))
    (topic,) = inputs(told(topics={"t": (partition(0), more)})).topics
    assert topic.replication_factor == 3


def test_what_else_was_not_told() -> None:
    cluster = told(without=(Refusal("unreachable", "the racks are not known (timed out)", "try again"),))
    assert lines(cluster) == ["unreachable: the racks are not known (timed out)"]


TOPIC = TopicConfig(
    name="t",
    settings={"min.insync.replicas": Setting("min.insync.replicas", "2", Origin("x"))},
    live=(partition(0), partition(1, isr=(1,)), partition(2, isr=(2,), leader=None)),
)
RACKED = BrokerConfig(
    name="c",
    nodes=(
        LiveBroker(id=1, rack="a"),
        LiveBroker(id=2, rack="a"),
        LiveBroker(id=3, rack="a"),
        LiveBroker(id=4, rack="b"),
    ),
    settings={"min.insync.replicas": Setting("min.insync.replicas", "3", Origin("x"))},
)


def test_weak_places() -> None:
    assert weak_places(TOPIC) == [
        "partition 2 of t: no leader",
        "under-replicated now: t-1 (ISR [1] of [1, 2, 3]) and t-2 (ISR [2] of [1, 2, 3])",
        "partitions 1 and 2 of t: fewer in sync than min.insync.replicas 2, acks=all is refused",
    ]
    assert weak_places(TOPIC, [RACKED])[-1] == "partitions 0, 1 and 2 of t: all replicas in one rack"


def test_what_is_well_has_no_weak_places() -> None:
    whole = replace(TOPIC, live=(partition(0),))
    assert weak_places(whole) == []
    assert weak_places(replace(whole, settings={}), [replace(RACKED, nodes=())]) == []
    spread = tuple(replace(node, rack=str(node.id)) for node in RACKED.nodes)
    assert weak_places(whole, [replace(RACKED, nodes=spread)]) == []


def test_a_brokers_minimum_is_the_topics() -> None:
    short = replace(TOPIC, settings={}, live=(partition(0, isr=(1, 2)),))
    assert weak_places(short, [replace(RACKED, nodes=())])[-1].endswith("min.insync.replicas 3, acks=all is refused")
    assert len(weak_places(short)) == 1
