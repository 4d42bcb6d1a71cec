"""An audit reads real clusters, old and new, over every kind of connection, and writes nothing to them."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from app import cli
from audit.access import Access
from audit.cluster import weak_places
from audit.live import REQUESTS, read_cluster
from audit.model import Inputs, LiveBroker, LivePartition
from harness.cluster import docker, versions
from harness.cluster.networks import free_prefixes_here
from harness.faults.process import pause
from tests.integration.engine import call, needs_image
from tests.integration.secured import (
    AUDITOR,
    COMPOSE,
    NOBODY,
    PARTLY,
    PASSWORD,
    PLAINTEXT,
    SASL_PLAINTEXT,
    SASL_SSL,
    SSL,
    Secured,
    secured,
)

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("audit-live"),
]

OLD = "0.10.2.2"
SECURE = ("2.8.2", "4.3.1")
RELEASES = {OLD: "0.10.2", "2.8.2": "2.8", "4.3.1": "4.3"}
JAAS = "org.apache.kafka.common.security"


@pytest.fixture(scope="module", params=[OLD, *SECURE])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured(request.param, tmp_path_factory.mktemp("secured")) as found:
        yield found


only_secure = pytest.mark.parametrize("cluster", SECURE, indirect=True, scope="module")
only_old = pytest.mark.parametrize("cluster", [OLD], indirect=True, scope="module")
Connect = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def config(tmp_path: Path) -> Connect:
    def write(settings: Mapping[str, str]) -> Path:
        path = tmp_path / "client.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return path

    return write


def plain(user: str = AUDITOR, password: str = PASSWORD) -> dict[str, str]:
    return {"sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": password}


def jaas(kind: str, mechanism: str) -> dict[str, str]:
    line = f'{JAAS}.{kind}LoginModule required username="{AUDITOR}" password="{PASSWORD}";'
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": line}


def told(found: Inputs) -> object:
    """What was found, but for where."""
    topics = [(t.name, t.partitions, t.replication_factor, values(t.settings), t.live) for t in found.topics]
    brokers = [(b.release, b.mode, values(b.settings), b.nodes, b.replicas, b.elr, b.racks) for b in found.brokers]
    return topics, brokers


def values(settings: Mapping[str, Any]) -> dict[str, str]:
    return {key: setting.value for key, setting in settings.items()}


def test_what_a_cluster_is(cluster: Secured) -> None:
    zookeeper = cluster.zookeeper if cluster.version == OLD else None
    found = read_cluster(cluster.at(PLAINTEXT), zookeeper=zookeeper)
    (brokers,) = found.brokers
    assert brokers.release == RELEASES[cluster.version]
    assert brokers.mode == ("kraft" if cluster.version == "4.3.1" else "zookeeper")
    assert brokers.elr is (cluster.version == "4.3.1")
    assert (brokers.replicas, [node.id for node in brokers.nodes]) == (1, [1])
    assert (brokers.nodes[0].rack, brokers.racks) == ("a", 1)
    topics = {topic.name: topic for topic in found.topics}
    assert set(topics) == {"orders", "plain"}
    assert values(topics["orders"].settings) == {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
    assert values(topics["plain"].settings) == {}
    assert (topics["orders"].partitions, topics["orders"].replication_factor) == (2, 1)
    assert [(p.leader, p.replicas, p.isr) for p in topics["orders"].live] == [(1, (1,), (1,))] * 2
    if cluster.version == OLD:
        assert [str(problem) for problem in found.problems] == [
            f"cluster {cluster.at(PLAINTEXT)}: brokers before 0.11 do not tell their settings: "
            "add their server.properties to the audit"
        ]
        return
    assert found.problems == ()
    settings = values(brokers.settings)
    assert settings["min.insync.replicas"] == "1"
    assert settings["unclean.leader.election.enable"] == "false"
    assert settings["log.flush.interval.messages"] == "10000"
    if cluster.version == "4.3.1":
        assert settings["metadata.version"] == "4.3-IV0"
        assert [p.elr for p in topics["orders"].live] == [(), ()]
    else:
        assert settings["inter.broker.protocol.version"] == "2.8-IV1"
        assert [p.elr for p in topics["orders"].live] == [None, None]


@only_old
def test_settings_of_topics_are_said_to_be_unknown_without_zookeeper(cluster: Secured) -> None:
    found = read_cluster(cluster.at(PLAINTEXT))
    assert "give --zookeeper HOST:PORT" in str(found.problems[-1])
    assert [values(topic.settings) for topic in found.topics] == [{}, {}]


@only_secure
@pytest.mark.parametrize("how", ["PLAIN", "JAAS PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "JAAS SCRAM-SHA-512"])
@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "no TLS"])
def test_sasl(cluster: Secured, config: Connect, how: str, tls: bool) -> None:
    mechanism = how.removeprefix("JAAS ")
    asks = (
        jaas("plain.Plain" if mechanism == "PLAIN" else "scram.Scram", mechanism)
        if how.startswith("JAAS")
        else {**plain(), "sasl.mechanism": mechanism}
    )
    protocol, port = ("SASL_SSL", SASL_SSL) if tls else ("SASL_PLAINTEXT", SASL_PLAINTEXT)
    path = config({"security.protocol": protocol, "ssl.ca.location": str(cluster.keys / "ca.pem"), **asks})
    found = read_cluster(cluster.at(port), command_config=path)
    assert found.problems == ()
    assert told(found) == told(read_cluster(cluster.at(PLAINTEXT)))


@only_secure
@pytest.mark.parametrize("how", ["librdkafka", "PEM", "PKCS12"])
def test_a_client_certificate(cluster: Secured, config: Connect, how: str) -> None:
    keys = cluster.keys
    own = {
        "librdkafka": {
            "ssl.certificate.location": str(keys / "client.crt"),
            "ssl.key.location": str(keys / "client.key"),
            "ssl.key.password": PASSWORD,
            "ssl.ca.location": str(keys / "ca.pem"),
        },
        "PEM": {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keys / "client.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(keys / "ca.pem"),
        },
        "PKCS12": {
            "ssl.keystore.location": str(keys / "client.p12"),
            "ssl.keystore.password": PASSWORD,
            "ssl.truststore.location": str(keys / "client.p12"),
            "ssl.truststore.password": PASSWORD,
        },
    }
    found = read_cluster(cluster.at(SSL), command_config=config({"security.protocol": "SSL", **own[how]}))
    assert found.problems == ()
    assert told(found) == told(read_cluster(cluster.at(PLAINTEXT)))


@only_secure
def test_who_has_no_right_to_settings_gets_the_rest(cluster: Secured, config: Connect) -> None:
    path = config({"security.protocol": "SASL_PLAINTEXT", **plain(NOBODY)})
    found = read_cluster(cluster.at(SASL_PLAINTEXT), command_config=path, topics=["orders", "gone"])
    assert [topic.name for topic in found.topics] == ["orders", "plain"]
    assert found.brokers[0].release == RELEASES[cluster.version]
    assert [(problem.kind, problem.message.split(" (")[0]) for problem in found.problems] == [
        ("rights", "the settings of broker 1 are not known"),
        ("contradiction", "there is no topic gone"),
        ("rights", "the settings of topics orders and plain are not known"),
    ]
    assert {problem.do for problem in found.problems if problem.kind == "rights"} == {
        "allow DESCRIBE_CONFIGS on the cluster, or add the brokers' server.properties to the audit",
        "allow DESCRIBE_CONFIGS on topics",
    }


@only_secure
def test_who_may_not_describe_one_topic_is_told_so_and_gets_the_rest(
    cluster: Secured, config: Connect, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config({"security.protocol": "SASL_PLAINTEXT", **plain(PARTLY)})
    conf = tmp_path / "producer.properties"
    conf.write_text("bootstrap.servers=kafka:9092\nacks=all\n")
    asked = ["audit", str(conf), "--client", "java-2.8.2", "--topic", "orders", "--topic", "plain"]
    asked += ["--bootstrap", cluster.at(SASL_PLAINTEXT), "--command-config", str(path), "--format", "json"]
    assert cli.main(asked) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [f"{one['says']}: {one['do']}" for one in answer["problems"]] == [
        "topic plain may not be described (TOPIC_AUTHORIZATION_FAILED): allow DESCRIBE on the topic"
    ]
    orders, unseen = (row["cases"][0] for row in answer["producers"])
    assert (orders["topic"]["min_insync_replicas"]["value"], orders["assumed"]) == (2, [])
    assert orders["topic"]["min_insync_replicas"]["path"] == f"cluster {cluster.at(SASL_PLAINTEXT)}"
    assert any("replicas" in one for one in unseen["assumed"])
    assert all(case["topic"]["version"]["value"] == RELEASES[cluster.version] for case in (orders, unseen))


@only_secure
@pytest.mark.parametrize(
    ("port", "settings", "kind", "message"),
    [
        (
            SASL_PLAINTEXT,
            {"security.protocol": "SASL_PLAINTEXT", **plain(password="wrong")},
            "rights",
            "let this user in",
        ),
        (SASL_PLAINTEXT, {}, "unreachable", "no answer"),
        (SASL_PLAINTEXT, {"security.protocol": "SSL"}, "unreachable", "does this listener speak TLS"),
        (SASL_SSL, {"security.protocol": "SASL_SSL", **plain()}, "unreachable", "certificate is not accepted"),
        (SASL_SSL, {}, "unreachable", "it speaks TLS: set security.protocol"),
        (SSL, {"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"}, "unreachable", "TLS"),
        (1, {}, "unreachable", "connection refused"),
    ],
    ids=["password", "no SASL", "no TLS there", "unknown authority", "TLS there", "no certificate", "nobody"],
)
def test_why_nobody_answers_is_one_line(
    cluster: Secured, config: Connect, port: int, settings: dict[str, str], kind: str, message: str
) -> None:
    found = read_cluster(cluster.at(port), command_config=config(settings), timeout_s=5)
    (problem,) = found.problems
    assert problem.kind == kind
    assert message in problem.message
    assert "\n" not in problem.message
    assert (found.topics, found.brokers) == ((), ())


def test_nothing_but_reading_is_asked(cluster: Secured, config: Connect) -> None:
    """The user may describe, and is denied all else by name; what it was told is all, and the log has what it asked."""
    path = config({"security.protocol": "SASL_PLAINTEXT", **plain()})
    zookeeper = cluster.zookeeper if cluster.version == OLD else None
    with cluster.asked() as asked:
        found = read_cluster(
            cluster.at(SASL_PLAINTEXT), command_config=path, zookeeper=zookeeper, topics=["orders", "no-such-topic"]
        )
    every = read_cluster(cluster.at(PLAINTEXT), zookeeper=zookeeper)
    assert told(found) == told(every)
    assert any(problem.message == "there is no topic no-such-topic" for problem in found.problems)
    assert {each.key for each in asked} <= REQUESTS.keys()
    assert {each.key for each in asked} >= ({3} if cluster.version == OLD else {3, 32})
    assert {each.client for each in asked} == {"kafka-chaos-audit"}
    for each in asked:
        if each.key == 3 and each.version >= 4:
            assert 'allowAutoTopicCreation":false' in each.line, each
        elif each.key == 3:
            assert "{topics=null}" in each.line or "{topics=[]}" in each.line, f"a topic is named: {each}"
    who = ('principal":"User:auditor', "principal:User:auditor")
    assert all(each.line.count(who[0]) + each.line.count(who[1]) == 1 for each in asked)


def test_no_topic_is_made_by_asking_for_it(cluster: Secured) -> None:
    """Who asks may do everything, and brokers make whatever topic is asked for (auto.create.topics.enable)."""
    first = read_cluster(cluster.at(PLAINTEXT), topics=["no-such-topic"])
    assert "there is no topic no-such-topic" in [problem.message for problem in first.problems]
    again = read_cluster(cluster.at(PLAINTEXT))
    assert [topic.name for topic in again.topics] == ["orders", "plain"]


@only_old
def test_znodes_are_only_read(cluster: Secured) -> None:
    from kazoo.client import KazooClient

    client = KazooClient(cluster.zookeeper)
    client.start()

    def tree(path: str = "/") -> dict[str, tuple[int, int]]:
        stat = client.exists(path)
        found = {path: (stat.mzxid, stat.cversion)} if stat is not None else {}
        for child in client.get_children(path):
            found |= tree(f"{path.rstrip('/')}/{child}")
        return found

    try:
        before = tree()
        assert "/config/topics/orders" in before
        read_cluster(cluster.at(PLAINTEXT), zookeeper=cluster.zookeeper, topics=["no-such-topic"])
        assert tree() == before
    finally:
        client.stop()
        client.close()


@only_secure
@pytest.mark.parametrize("right", [True, False], ids=["let in", "refused"])
@pytest.mark.parametrize("debug", [True, False], ids=["debugging", "as it is"])
def test_no_secret_turns_up_anywhere(
    cluster: Secured,
    config: Connect,
    right: bool,
    debug: bool,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Debugging that the file asks for is not passed on; and if it were, nothing would be seen of it."""
    canary = PASSWORD if right else f"{PASSWORD}-wrong"
    path = config(
        {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(cluster.keys / "ca.pem"),
            "ssl.keystore.location": str(cluster.keys / "client.p12"),
            "ssl.keystore.password": PASSWORD,
            **jaas("plain.Plain", "PLAIN"),
            "debug": "all",
            "log_level": "7",
        }
    )
    path.write_text(path.read_text().replace(f'password="{PASSWORD}"', f'password="{canary}"'))
    if debug:
        passed = Access.librdkafka
        monkeypatch.setattr(Access, "librdkafka", lambda access: {**passed(access), "debug": "all", "log_level": "7"})
    caplog.set_level(0)
    said: list[str] = []
    found = read_cluster(cluster.at(SASL_SSL), command_config=path, timeout_s=5, say=said.append)
    assert bool(found.topics) is right
    everything = [repr(found), *map(str, found.problems), *said, *capfd.readouterr(), caplog.text]
    assert [text for text in everything if "canary-4711" in text or "PRIVATE KEY" in text] == []
    assert os.listdir(path.parent) == [path.name], "nothing is left on the disk"


@only_secure
def test_no_report_has_a_secret(cluster: Secured, config: Connect, tmp_path: Path) -> None:
    """The command itself, on a producer whose file has the same password, in every format."""
    connection = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": str(cluster.keys / "ca.pem"),
        **jaas("scram.Scram", "SCRAM-SHA-512"),
    }
    path = config(connection)
    producer = tmp_path / "producer.properties"
    producer.write_text(path.read_text() + "acks=1\n")
    audit = [sys.executable, "-m", "app", "audit", str(producer), "--client", "java-2.8.2", "--topic", "orders"]
    audit += ["--bootstrap", cluster.at(SASL_SSL), "--command-config", str(path)]
    for form in ("console", "json", "sarif", "html", "junit"):
        done = subprocess.run([*audit, "--format", form], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert "orders" in done.stdout
        assert "canary-4711" not in done.stdout + done.stderr
        if form == "console":
            assert "min.insync.replicas 2" in done.stdout
            assert f"brokers of {RELEASES[cluster.version]}" in " ".join(done.stdout.split())


@dataclass(frozen=True, slots=True)
class Three:
    """A cluster of three brokers, two of them in one rack, one with a setting of its own."""

    bootstrap: str
    nodes: Mapping[int, Any]


@pytest.fixture(scope="module")
def three() -> Iterator[Three]:
    client = docker.connect()
    needs_image(client, versions.get("4.3.1"))
    project = f"kafka-chaos-test-{secrets.token_hex(4)}"
    prefix = next(free_prefixes_here(client))
    racks = "1:broker.rack=a;2:broker.rack=a;3:broker.rack=b"
    variables = {
        "KAFKA_VERSION": "4.3.1",
        "CHAOS_SUBNET": prefix,
        "CHAOS_RUN": project,
        "CHAOS_OWNER": docker.owner(),
        "KAFKA_SETTINGS": f"{racks};3:log.flush.interval.ms=1000;default.replication.factor=3",
    }
    compose = ["docker", "compose", "-p", project, "-f", str(COMPOSE / "kraft.yml")]
    try:
        call([*compose, "up", "-d", "controller-100", "broker-1", "broker-2", "broker-3"], variables)
        nodes = {number: client.containers.get(f"{project}-broker-{number}-1") for number in (1, 2, 3)}
        bootstrap = ",".join(f"{prefix}.1{number}:9092" for number in nodes)
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        wanted = [
            NewTopic("t", num_partitions=1, replica_assignment=[[1, 2, 3]], config={"min.insync.replicas": "2"}),
            NewTopic("together", num_partitions=1, replica_assignment=[[1, 2]]),
        ]
        wait_for(lambda: len(nodes_of(read_cluster(bootstrap))) == 3, "three brokers")
        for future in admin.create_topics(wanted).values():
            future.result(timeout=30)
        yield Three(bootstrap, nodes)
    finally:
        docker.remove(docker.find_ours(client, run=project))
        client.close()


def nodes_of(found: Inputs) -> list[LiveBroker]:
    return sorted((node for brokers in found.brokers for node in brokers.nodes), key=lambda node: node.id)


def wait_for(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within 90 s"
        time.sleep(0.2)


def state(three: Three, timeout_s: float = 5.0) -> tuple[Inputs, list[str]]:
    found = read_cluster(three.bootstrap, timeout_s=timeout_s)
    return found, [line for topic in found.topics for line in weak_places(topic, found.brokers)]


def test_racks_and_brokers_that_do_not_agree(three: Three) -> None:
    wait_for(lambda: len(state(three)[0].topics) == 2, "two topics")
    found, weak = state(three)
    assert [(node.id, node.rack) for node in nodes_of(found)] == [(1, "a"), (2, "a"), (3, "b")]
    assert {brokers.racks for brokers in found.brokers} == {2}
    assert weak == ["partition 0 of together: all replicas in one rack"]
    flush = [values(brokers.settings).get("log.flush.interval.ms") for brokers in found.brokers]
    assert flush == [None, "1000"]
    assert [problem.message for problem in found.problems] == [
        "its brokers do not agree on log.flush.interval.ms: not set on brokers 1 and 2, 1000 on broker 3"
    ]


def test_a_broker_that_does_not_answer_costs_its_own_answers_only(three: Three) -> None:
    pause(three.nodes[2])
    try:
        began = time.monotonic()
        found, _ = state(three, timeout_s=2.0)
        assert time.monotonic() - began < 20, "each question has its limit"
    finally:
        three.nodes[2].unpause()
    assert {topic.name for topic in found.topics} == {"t", "together"}
    about = [
        problem.message
        for problem in found.problems
        if "broker 2" in problem.message and "agree" not in problem.message
    ]
    assert [message.split(" at ")[0].split(" (")[0] for message in about] == [
        "broker 2",
        "the settings of broker 2 are not known",
    ]
    assert [(node.id, node.release) for node in nodes_of(found)] == [(1, "4.3"), (2, None), (3, "4.3")]


def test_an_isr_that_has_shrunk_and_who_may_lead_instead(three: Three) -> None:
    for number, left in ((3, 2), (2, 1)):
        three.nodes[number].kill()
        wait_for(partial(in_sync, three, left), f"broker {number} leaves the ISR")
    _, weak = state(three)
    assert weak == [
        "under-replicated now: t-0 (ISR [1] of [1, 2, 3])",
        "partition 0 of t: fewer in sync than min.insync.replicas 2, acks=all is refused",
        "under-replicated now: together-0 (ISR [1] of [1, 2])",
    ]
    assert partition_of(three).elr == (2,)


def in_sync(three: Three, count: int) -> bool:
    return len(partition_of(three).isr) == count


def partition_of(three: Three) -> LivePartition:
    return next(topic.live[0] for topic in state(three)[0].topics if topic.name == "t")
