"""What a cluster is asked, in which order, and what becomes of refusals: with a client library that is a fake."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace as Some
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigSource  # type: ignore[attr-defined]

from audit import live, wire
from audit.access import Access
from audit.cluster import ConfigEntry, Refusal
from audit.live import parse_addresses, read_cluster, znode_settings
from audit.model import Inputs, LivePartition
from audit.options import add_cluster_options
from audit.wire import Eligible, EndedError, WireError
from evidence.errors import UsageError
from kafkafiles.api_versions import Offer
from tests.unit.audit.test_releases import OFFERED

CANARY = "canary-4711"
OLD, MIDDLE, NEW = (Offer(apis=OFFERED[name]) for name in ("0.10.2.2 zookeeper", "2.8.2 zookeeper", "4.3.1 kraft"))
ELIGIBLE = Offer(apis=NEW.apis, features={"eligible.leader.replicas.version": 1})


def done(result: Any = None, error: KafkaError | None = None) -> Future[Any]:
    future: Future[Any] = Future()
    if error is not None:
        future.set_exception(KafkaException(error))
    else:
        future.set_result(result)
    return future


def entry(name: str, value: str | None, source: ConfigSource, *, secret: bool = False) -> Any:
    is_default = source is ConfigSource.DEFAULT_CONFIG
    return Some(name=name, value=value, source=source.value, is_sensitive=secret, is_default=is_default)


def topic(*isrs: tuple[int, ...]) -> Any:
    return Some(
        partitions={
            n: Some(leader=isr[0] if isr else -1, replicas=[1, 2], isrs=list(isr)) for n, isr in enumerate(isrs)
        },
        error=None,
    )


class Library:
    """In the place of AdminClient: remembers what it was asked."""

    settings: ClassVar[dict[str, Any]] = {}
    asked: ClassVar[list[str]] = []
    topics: ClassVar[Mapping[str, Any]] = {"orders": topic((1, 2), (2,)), "plain": topic((1, 2))}
    errors: ClassVar[list[KafkaError]] = []
    fails: ClassVar[KafkaError | None] = None
    refuses: ClassVar[tuple[str, ...]] = ()
    hangs: ClassVar[bool] = False

    def __init__(self, settings: dict[str, Any], logger: Any = None) -> None:
        type(self).settings = settings
        assert logger is not None
        if "sasl.foo" in settings:
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, f'No such property: "sasl.foo" ({CANARY})'))

    def poll(self, timeout: float) -> None:
        while self.errors:
            self.settings["error_cb"](self.errors.pop())

    def list_topics(self, timeout: float) -> Any:
        self.asked.append("all topics")
        if self.hangs:
            threading.Event().wait(5)
        if self.fails is not None:
            raise KafkaException(self.fails)
        brokers = {1: Some(host="kafka-1", port=9092), 2: Some(host="kafka-2", port=9092)}
        return Some(brokers=brokers, topics=self.topics)

    def describe_cluster(self, request_timeout: float) -> Future[Any]:
        self.asked.append("racks")
        if "racks" in self.refuses:
            return done(error=KafkaError(KafkaError._TIMED_OUT, "timed out"))
        return done(Some(nodes=[Some(id=1, rack="a"), Some(id=2, rack=None)]))

    def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[Any]]:
        self.asked.append(f"topics {topics.topic_names}")
        codes = {"gone": KafkaError.UNKNOWN_TOPIC_OR_PART, "hidden": KafkaError.TOPIC_AUTHORIZATION_FAILED}
        return {name: done(error=KafkaError(codes[name], "no")) for name in topics.topic_names}

    def describe_configs(self, resources: list[Any], request_timeout: float) -> dict[Any, Future[Any]]:
        self.asked.append(f"settings of {', '.join(f'{r.restype.name.lower()} {r.name}' for r in resources)}")
        found: dict[Any, Future[Any]] = {}
        for resource in resources:
            kind = resource.restype.name.lower()
            if kind in self.refuses:
                code = getattr(KafkaError, f"{'CLUSTER' if kind == 'broker' else 'TOPIC'}_AUTHORIZATION_FAILED")
                found[resource] = done(error=KafkaError(code, f"{kind} authorization failed"))
            elif kind == "broker":
                found[resource] = done(
                    {
                        "a": entry("min.insync.replicas", "2", ConfigSource.STATIC_BROKER_CONFIG),
                        "b": entry("ssl.key.password", CANARY, ConfigSource.STATIC_BROKER_CONFIG, secret=True),
                    }
                )
            else:
                own = entry("flush.messages", "1", ConfigSource.DYNAMIC_TOPIC_CONFIG)
                found[resource] = done({"a": own, "b": entry("flush.ms", "9", ConfigSource.DEFAULT_CONFIG)})
        return found


Reader = Callable[..., Inputs]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr("confluent_kafka.admin.AdminClient", Library)
    Library.asked, Library.errors, Library.fails, Library.refuses, Library.hangs = [], [], None, (), False

    def reading(offer: Offer | WireError = MIDDLE, **options: Any) -> Inputs:
        def offered(host: str, port: int, access: Access, timeout_s: float) -> Offer:
            if isinstance(offer, WireError):
                raise offer
            return offer

        monkeypatch.setattr(wire, "offer", offered)
        return read_cluster(options.pop("bootstrap", "kafka-1:9092"), timeout_s=2.0, **options)

    return reading


def lines(found: Inputs) -> list[str]:
    return [f"{one.kind}: {one.message}" for one in found.problems]


def test_all_is_asked_once_and_each_broker_for_its_own(read: Reader) -> None:
    said: list[str] = []
    found = read(say=said.append)
    assert Library.asked == [
        "all topics",
        "racks",
        "settings of broker 1",
        "settings of broker 2",
        "settings of topic orders, topic plain",
    ]
    assert found.problems == ()
    assert [topic.name for topic in found.topics] == ["orders", "plain"]
    assert found.topics[0].live == (
        LivePartition(number=0, leader=1, replicas=(1, 2), isr=(1, 2)),
        LivePartition(number=1, leader=2, replicas=(1, 2), isr=(2,)),
    )
    assert {key: s.value for key, s in found.brokers[0].settings.items()} == {"min.insync.replicas": "2"}
    assert [(node.id, node.rack) for node in found.brokers[0].nodes] == [(1, "a"), (2, None)]
    assert said == [
        "asking kafka-1:9092 who it is (at most 2 s)",
        "asking brokers 1 and 2 for releases, racks and settings",
    ]


def test_a_client_that_only_reads(read: Reader) -> None:
    read()
    wanted = {"client.id": "kafka-chaos-audit", "enable.metrics.push": False, "allow.auto.create.topics": False}
    assert wanted.items() <= Library.settings.items()
    assert "api.version.request" not in Library.settings


def test_brokers_that_offer_nothing_are_asked_as_old_ones_want(read: Reader) -> None:
    found = read(EndedError(False))
    assert Library.settings["api.version.request"] == "false"
    assert Library.asked == ["all topics"]
    assert found.brokers[0].mode == "zookeeper"


@pytest.mark.parametrize(("offer", "asked"), [(OLD, []), (MIDDLE, ["topics ['gone', 'hidden']"])])
def test_a_topic_is_named_only_where_that_cannot_make_it(read: Reader, offer: Offer, asked: list[str]) -> None:
    """Before 0.11 a broker makes whatever topic it is asked for."""
    found = read(offer, topics=["orders", "gone", "hidden"])
    assert [each for each in Library.asked if each.startswith("topics")] == asked
    message = [line for line in lines(found) if "topic gone" in line or "topic hidden" in line]
    hidden = "rights: topic hidden may not be described (TOPIC_AUTHORIZATION_FAILED)"
    assert message == [
        "contradiction: there is no topic gone",
        hidden if asked else "contradiction: there is no topic hidden",
    ]


def test_the_rest_is_done_without_rights(read: Reader) -> None:
    Library.refuses = ("broker", "topic", "racks")
    found = read()
    assert lines(found) == [
        "unreachable: the racks are not known (timed out)",
        "rights: the settings of brokers 1 and 2 are not known (broker authorization failed)",
        "rights: the settings of topics orders and plain are not known (topic authorization failed)",
    ]
    assert (len(found.topics), found.brokers[0].release) == (2, "2.8")


def test_eligible_leaders_are_asked_for_where_they_are_in_force(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def eligible(host: str, port: int, *_: Any) -> dict[tuple[str, int], Eligible]:
        asked.append((host, port))
        if host == "kafka-1":
            raise WireError(f"refused {CANARY}")
        return {("orders", 1): Eligible(isr=(2,), elr=(1,))}

    monkeypatch.setattr(wire, "eligible_leaders", eligible)
    assert [p.elr for p in read(NEW).topics[0].live] == [None, None]
    assert asked == []
    found = read(ELIGIBLE)
    assert [p.elr for p in found.topics[0].live] == [None, (1,)]
    assert asked == [("kafka-1", 9092), ("kafka-2", 9092)]
    assert found.problems == ()


def test_a_mechanism_that_is_not_spoken_costs_the_eligible_leaders_only(
    read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def eligible(*_: Any) -> Any:
        raise wire.Unspoken("OAUTHBEARER is not spoken here")

    monkeypatch.setattr(wire, "eligible_leaders", eligible)
    found = read(ELIGIBLE)
    (line,) = lines(found)
    assert line.startswith("unreachable: the eligible leader replicas are not known (kafka-1:9092: OAUTHBEARER")
    assert len(found.topics) == 2


def test_who_is_not_let_in_is_told_at_once(read: Reader) -> None:
    Library.hangs = True
    Library.errors = [KafkaError(KafkaError._AUTHENTICATION, "Invalid username or password")]
    found = read()
    assert lines(found) == ["rights: it does not let this user in: Invalid username or password"]
    assert (found.topics, found.brokers) == ((), ())


def test_a_listener_that_wants_sasl_is_told_from_one_that_is_gone(read: Reader) -> None:
    Library.fails = KafkaError(KafkaError._TRANSPORT, "Local: Broker transport failure")
    Library.errors = [KafkaError(KafkaError._TRANSPORT, "disconnected")]
    (problem,) = read().problems
    assert "does this listener want SASL" in problem.do
    Library.errors = [KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")]
    (problem,) = read().problems
    assert problem.message == "no answer to Metadata within 2 s (Local: Broker transport failure; 1/1 brokers are down)"


def test_nobody_answers(read: Reader) -> None:
    found = read(WireError("connection refused"), bootstrap="kafka-1:9092,[::1]:9093")
    assert lines(found) == [
        "unreachable: no broker answers within 2 s (kafka-1:9092: connection refused; [::1]:9093: connection refused)"
    ]
    assert Library.asked == []


def test_a_name_that_is_looked_up_for_ever_does_not_hold_the_audit(
    read: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(wire, "offer", lambda *_: released.wait())
    found = read_cluster("kafka-1:9092", timeout_s=0.1)
    released.set()
    assert "no answer within" in lines(found)[0]


def test_a_file_of_settings_that_cannot_be_read_is_a_problem(read: Reader, tmp_path: Path) -> None:
    found = read(command_config=tmp_path / "gone.properties")
    assert lines(found) == [f"unreadable: {tmp_path / 'gone.properties'}: No such file or directory"]
    assert Library.asked == []


def test_a_setting_that_the_library_does_not_know_is_a_problem_without_secrets(read: Reader, tmp_path: Path) -> None:
    path = tmp_path / "c.properties"
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.foo=1\nsasl.username=a\nsasl.password={CANARY}\n"
    )
    found = read(command_config=path)
    assert lines(found) == ['unreadable: No such property: "sasl.foo" ((hidden))']
    assert CANARY not in repr(found)


@pytest.mark.parametrize(
    "bootstrap", ["kafka", "kafka:", ":9092", "kafka:0", "kafka:99999", "kafka:9092,", "http://k:1"]
)
def test_an_address_that_is_none(bootstrap: str) -> None:
    with pytest.raises(UsageError, match="is not HOST:PORT"):
        parse_addresses(bootstrap)


@pytest.mark.parametrize("data", [b"rubbish", b"[]", b'{"config": 7}', b"\xff"])
def test_a_znode_that_cannot_be_read(data: bytes) -> None:
    assert isinstance(znode_settings(data), Refusal)


def test_a_topic_without_a_znode_of_settings_has_none() -> None:
    assert znode_settings(b"{}") == znode_settings(b"") == ()


def test_zookeeper_is_asked_for_what_brokers_do_not_tell(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, list[str]]] = []

    def znodes(hosts: str, topics: list[str], timeout_s: float) -> dict[str, tuple[ConfigEntry, ...]]:
        asked.append((hosts, topics))
        return {name: (ConfigEntry("min.insync.replicas", "2", "topic"),) for name in topics}

    monkeypatch.setattr(live, "_znodes", znodes)
    read(MIDDLE, zookeeper="zk:2181")
    assert asked == []
    found = read(OLD, zookeeper="zk:2181")
    assert asked == [("zk:2181", ["orders", "plain"])]
    assert found.topics[0].settings["min.insync.replicas"].value == "2"


def test_a_zookeeper_that_is_not_there_is_a_problem(read: Reader) -> None:
    found = read(OLD, zookeeper="127.0.0.1:1")
    assert any(line.startswith("unreachable: ZooKeeper at 127.0.0.1:1 does not tell settings") for line in lines(found))
    assert len(found.topics) == 2


def test_the_options() -> None:
    parser = argparse.ArgumentParser()
    add_cluster_options(parser)
    options = parser.parse_args(["--bootstrap", "k:1", "--command-config", "f", "--zookeeper", "z:1"])
    assert (options.bootstrap, options.command_config, options.zookeeper) == ("k:1", Path("f"), "z:1")
