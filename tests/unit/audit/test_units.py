"""What belongs together, and what does not."""

from __future__ import annotations

from dataclasses import replace

from audit.model import BrokerConfig, Origin, ProducerConfig, Setting, TopicConfig
from audit.units import NAMED, brokers_of, hosts, topics_of_unit


def producer(path: str, servers: str = "", unit: str = "", namespace: str = "") -> ProducerConfig:
    at = Origin(path, 1)
    settings = {"bootstrap.servers": Setting("bootstrap.servers", servers, at)} if servers else {}
    return ProducerConfig(name="p", settings=settings, unit=unit, namespace=namespace, origin=at)


def cluster(path: str, name: str = "", *addresses: str, unit: str = "", namespace: str = "") -> BrokerConfig:
    return BrokerConfig(
        name=name or path, cluster=name, addresses=addresses, unit=unit, namespace=namespace, origin=Origin(path, 1)
    )


def test_this_machines_addresses_and_placeholders_tell_nobody() -> None:
    assert hosts("localhost:9092,${K}:1") == frozenset()


def test_another_teams_brokers_are_not_ones_own() -> None:
    assert brokers_of(producer("/r/a/p.properties"), [cluster("/r/b/docker-compose.yml")]) == ()


def test_brokers_above_and_in_the_module_are_ones_own_and_the_nearest_counts() -> None:
    above, module = cluster("/r/docker-compose.yml"), cluster("/r/a/docker/docker-compose.yml")
    own = producer("/r/a/src/main/p.properties", unit="/r/a")
    assert brokers_of(own, [above]) == (above,)
    assert brokers_of(own, [module]) == (module,)
    assert brokers_of(producer("/r/a/p.properties"), [above, cluster("/r/a/server.properties")])[0].name == (
        "/r/a/server.properties"
    )


def test_of_two_that_are_equally_near_neither_is_taken() -> None:
    own = producer("/r/deploy/prod/p.properties", unit="/r")
    assert (
        brokers_of(own, [cluster("/r/deploy/dev/server.properties"), cluster("/r/deploy/stage/server.properties")])
        == ()
    )


def test_an_address_tells_whose_they_are() -> None:
    east, west = cluster("/r/c.yml", "east", "e1"), cluster("/r/c.yml", "west", "w1")
    assert brokers_of(producer("/r/c.yml", "w1:9092"), [east, west]) == (west,)
    assert brokers_of(producer("/r/c.yml", "other:9092"), [east, west]) == ()


def test_strimzis_name_tells_wherever_it_is_but_not_across_namespaces() -> None:
    main = cluster("/r/kafka/k.yml", "main", namespace="a")
    assert brokers_of(producer("/r/apps/c.yml", "main-kafka-bootstrap:9092", namespace="a"), [main]) == (main,)
    assert brokers_of(producer("/r/apps/c.yml", "main-kafka-bootstrap:9092", namespace="b"), [main]) == ()
    assert brokers_of(producer("/r/apps/c.yml", "main-kafka-bootstrap.a:9092"), [main]) == (main,)


def test_files_that_are_named_and_live_clusters_are_meant() -> None:
    named = cluster("/etc/server.properties", unit=NAMED)
    live = cluster("cluster k:9092")
    assert brokers_of(producer("/r/p.properties"), [named]) == (named,)
    assert brokers_of(producer("/r/p.properties"), [live, cluster("/x/a.yml"), cluster("/y/a.yml")]) == (live,)


def test_topics_are_those_of_ones_cluster_or_beside_it() -> None:
    def topic(path: str, cluster: str = "") -> TopicConfig:
        return TopicConfig(name=path, cluster=cluster, origin=Origin(path, 1))

    every = [topic("/r/a/t.yml"), topic("/r/b/t.yml"), topic("/r/b/m.yml", "main"), topic("/r/a/o.yml", "other")]
    found = topics_of_unit(producer("/r/a/p.yml"), [cluster("/r/k.yml", "main")], every)
    assert [each.name for each in found] == ["/r/a/t.yml", "/r/b/m.yml"]


def test_clusters_of_one_name_in_several_files_are_several() -> None:
    one, three = cluster("/r/single/k.yml", "main"), cluster("/r/triple/k.yml", "main")
    of_all = producer("/r/connect/c.yml", "main-kafka-bootstrap:9092", unit="/r")
    assert brokers_of(of_all, [one, three]) == ()
    assert brokers_of(producer("/r/triple/c.yml", "main-kafka-bootstrap:9092", unit="/r"), [one, three]) == (three,)
    topics = [
        TopicConfig(name="t", cluster="main", origin=Origin(f"/r/{name}/t.yml", 1)) for name in ("single", "triple")
    ]
    assert topics_of_unit(of_all, (), topics, [one, three]) == ()
    beside = producer("/r/triple/c.yml", unit="/r")
    assert [each.origin.path for each in topics_of_unit(beside, (three,), topics, [one, three])] == ["/r/triple/t.yml"]


def test_what_examples_and_tests_describe_is_not_the_modules() -> None:
    examples = cluster("/r/examples/docker-compose.yml")
    assert brokers_of(producer("/r/writer.go", unit="/r"), [examples]) == ()
    assert brokers_of(producer("/r/examples/visits/main.go", unit="/r"), [examples]) == (examples,)


def test_a_topic_outside_of_modules_is_of_the_one_module_that_names_it() -> None:
    topic = TopicConfig(name="orders", replication_factor=3, origin=Origin("/r/topics/main.tf", 1))
    own = replace(producer("/r/shop/p.yml", "k:9092", unit="/r/shop"), topics=("orders",))
    others = replace(producer("/r/mail/p.yml", "k:9092", unit="/r/mail"), topics=("orders",))
    assert topics_of_unit(own, (), [topic], (), [own]) == (topic,)
    assert topics_of_unit(own, (), [topic], (), [own, others]) == ()


def test_a_topic_outside_of_modules_is_not_of_brokers_that_are_described_elsewhere() -> None:
    topic = TopicConfig(name="orders", replication_factor=3, origin=Origin("/r/topics/main.tf", 1))
    own = replace(producer("/r/shop/p.yml", "kafka:9092", unit="/r/shop"), topics=("orders",))
    assert topics_of_unit(own, [cluster("/r/shop/docker-compose.yml")], [topic], (), [own]) == ()
    assert topics_of_unit(own, [cluster("/r/topics/server.properties")], [topic], (), [own]) == (topic,)
