"""Reads what matters to an audit from a live cluster, and writes nothing to it.

What the client library can ask it asks (confluent_kafka): topics with their replicas and ISR, racks, and the settings
of brokers and topics (DescribeConfigs, 0.11). What it cannot, `audit.wire` does: which release each broker is, the
cluster's features, eligible leaders. Before 0.11 settings of topics are in ZooKeeper alone (`--zookeeper`), and those
of brokers are in their own files. What follows from the answers is `audit.cluster`'s.

Harmless: the only requests are those of `REQUESTS`, and tests hold the request logs of real brokers against them. A
request for a topic by name may create it (`auto.create.topics.enable`), so the reader asks for all topics. It asks for
a topic by name only if that is missing among them, and only where a request can say that it must not be created
(Metadata 4, 0.11). Metrics of the client are not pushed (KIP-714). In ZooKeeper znodes are read.

Discreet: every text that is not ours goes through `Access.scrub`.

One thing that cannot be read does not keep the rest from being read: each is an `InputProblem`. `read_cluster`
therefore raises UsageError only for a malformed address.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

from audit import wire
from audit.access import Access, read_access
from audit.cluster import (
    DESCRIBE_CONFIGS,
    DESCRIBE_TOPIC_PARTITIONS,
    ELR,
    METADATA,
    ClusterReport,
    ConfigEntry,
    Member,
    Refusal,
    Source,
    address,
    inputs,
    named,
)
from audit.model import InputProblem, Inputs, LivePartition, Origin
from evidence.errors import UsageError
from kafkafiles.api_versions import API_VERSIONS, Offer

T = TypeVar("T")

LIMIT_S: Final = 10.0
"""How long the cluster may take to answer at all, and then each further question."""
TOPICS_AT_A_TIME: Final = 100
CORRECT: Final = "correct the file of --command-config"
BEFORE_API_VERSIONS: Final[Mapping[str, str]] = {"api.version.request": "false", "broker.version.fallback": "0.9.0"}
"""What librdkafka must be told because brokers before 0.10 do not answer ApiVersions. 0.8 takes the same Metadata."""

METADATA_WITHOUT_CREATION: Final = 4

REQUESTS: Final[Mapping[int, str]] = {
    METADATA: "Metadata",
    wire.LIST_GROUPS: "ListGroups",
    wire.SASL_HANDSHAKE: "SaslHandshake",
    API_VERSIONS: "ApiVersions",
    DESCRIBE_CONFIGS: "DescribeConfigs",
    wire.SASL_AUTHENTICATE: "SaslAuthenticate",
    DESCRIBE_TOPIC_PARTITIONS: "DescribeTopicPartitions",
}
"""Every request that a cluster may get from here. None of them changes anything."""


def read_cluster(
    bootstrap: str,
    *,
    command_config: Path | None = None,
    zookeeper: str | None = None,
    topics: Collection[str] = (),
    timeout_s: float = LIMIT_S,
    say: Callable[[str], None] = lambda _: None,
) -> Inputs:
    """The brokers and topics of a live cluster: all topics, and a problem for each of `topics` that is not there.

    `timeout_s` is how long the cluster may take to answer at all, and each further question; a cluster that nobody can
    reach takes that long. `say` is told what is being asked. Raises UsageError for a text that is no address.
    """
    origin = Origin(f"cluster {bootstrap}")
    addresses = parse_addresses(bootstrap)
    try:
        access = read_access(command_config)
        if access.tls:
            access.tls_context()
    except UsageError as error:
        return Inputs(problems=(InputProblem(origin, "unreadable", str(error), CORRECT),))
    told = _ask(bootstrap, addresses, access, topics, timeout_s, say)
    if isinstance(told, Refusal):
        return Inputs(problems=(InputProblem(origin, told.kind, told.message, told.do),))
    if zookeeper:
        told = _with_zookeeper(told, zookeeper, timeout_s, say)
    return inputs(told)


def parse_addresses(bootstrap: str) -> list[tuple[str, int]]:
    """The addresses of a list such as "kafka-1:9092,[::1]:9093". Raises UsageError.

    >>> parse_addresses("kafka:9092,[::1]:9093")
    [('kafka', 9092), ('::1', 9093)]
    """
    found: list[tuple[str, int]] = []
    for part in bootstrap.split(","):
        host, colon, port = part.strip().rpartition(":")
        if not colon or not host.strip("[]") or not port.isdigit() or not 0 < int(port) < 65536 or "/" in host:
            raise UsageError(f"--bootstrap {bootstrap!r}: {part.strip()!r} is not HOST:PORT, such as kafka-1:9092")
        found.append((host.strip("[]"), int(port)))
    return found


# Asking


def _ask(
    bootstrap: str,
    addresses: Sequence[tuple[str, int]],
    access: Access,
    topics: Collection[str],
    timeout_s: float,
    say: Callable[[str], None],
) -> ClusterReport | Refusal:
    say(f"asking {bootstrap} who it is (at most {timeout_s:g} s)")
    first = _first_offer(addresses, access, timeout_s)
    if isinstance(first, Refusal):
        return first
    try:
        client = _Client(bootstrap, access, first, timeout_s)
        seen = client.cluster()
    except _NotTold as error:
        return error.refusal
    without: list[Refusal] = []
    say(f"asking {named('broker', sorted(seen.brokers))} for releases, racks and settings")
    members = _members(seen.brokers, client.racks(without), access, timeout_s)
    missing = client.missing([name for name in topics if name not in seen.topics])
    broker_settings: Mapping[int, tuple[ConfigEntry, ...] | Refusal] = {}
    topic_settings: Mapping[str, tuple[ConfigEntry, ...] | Refusal] = {}
    if DESCRIBE_CONFIGS in first.apis:
        broker_settings = client.settings_of_brokers(sorted(seen.brokers))
        topic_settings = client.settings_of_topics(sorted(seen.topics))
    found = seen.topics
    if first.features.get(ELR, 0) > 0 and DESCRIBE_TOPIC_PARTITIONS in first.apis:
        found = _with_eligible_leaders(found, addresses, members, access, timeout_s, without)
    return ClusterReport(
        address=bootstrap,
        first=first,
        members=members,
        topics=found,
        missing=missing,
        broker_settings=broker_settings,
        topic_settings=topic_settings,
        without=tuple(without),
    )


def _side_by_side(work: Mapping[T, Callable[[], Any]], timeout_s: float) -> dict[T, Any]:
    """What each of these returns or raises (WireError, UsageError), all at once. Looking a name up cannot be told to
    give up: what is not done within the limit is TimeoutError, and its thread is left to itself.
    """
    done: queue.SimpleQueue[tuple[T, Any]] = queue.SimpleQueue()

    def run(key: T, job: Callable[[], Any]) -> None:
        try:
            done.put((key, job()))
        except (wire.WireError, UsageError) as error:
            done.put((key, error))

    for key, job in work.items():
        threading.Thread(target=run, args=(key, job), daemon=True).start()
    until, found = time.monotonic() + timeout_s, dict[T, Any]()
    while len(found) < len(work):
        try:
            key, result = done.get(timeout=max(until - time.monotonic(), 0.001))
        except queue.Empty:
            break
        found[key] = result
    late = wire.WireError(f"no answer within {timeout_s:g} s")
    return {key: found.get(key, late) for key in work}


def _first_offer(addresses: Sequence[tuple[str, int]], access: Access, timeout_s: float) -> Offer | Refusal:
    """What the first of these brokers offers that answers; a broker before 0.10 offers nothing and is there."""
    jobs = {each: partial(wire.offer, *each, access, timeout_s) for each in addresses}
    answers: dict[tuple[str, int], Any] = _side_by_side(jobs, timeout_s + 0.5)
    offers = [answer for answer in answers.values() if isinstance(answer, Offer)]
    if offers:
        return offers[0]
    if any(isinstance(answer, wire.EndedError) for answer in answers.values()) and not access.tls:
        return Offer()
    reasons = "; ".join(f"{address(*at)}: {access.scrub(str(answer))}" for at, answer in answers.items())
    return Refusal("unreachable", f"no broker answers within {timeout_s:g} s ({reasons})")


def _members(
    brokers: Mapping[int, tuple[str, int]], racks: Mapping[int, str | None], access: Access, timeout_s: float
) -> tuple[Member, ...]:
    jobs = {number: partial(wire.offer, *at, access, timeout_s) for number, at in brokers.items()}
    answers: dict[int, Any] = _side_by_side(jobs, timeout_s + 0.5)
    found: list[Member] = []
    for number, (host, port) in sorted(brokers.items()):
        answer = answers[number]
        if isinstance(answer, wire.EndedError):
            answer = Offer()
        elif isinstance(answer, Exception):
            answer = Refusal("unreachable", access.scrub(str(answer)))
        found.append(Member(id=number, host=host, port=port, rack=racks.get(number), offer=answer))
    return tuple(found)


def _with_eligible_leaders(
    topics: Mapping[str, tuple[LivePartition, ...]],
    addresses: Sequence[tuple[str, int]],
    members: Sequence[Member],
    access: Access,
    timeout_s: float,
    without: list[Refusal],
) -> dict[str, tuple[LivePartition, ...]]:
    """The partitions with their eligible leaders, from the first broker that tells them."""
    reasons: list[str] = []
    reached = [(each.host, each.port) for each in members if isinstance(each.offer, Offer)]
    for host, port in [*reached, *addresses][:3] if topics else ():
        try:
            eligible = wire.eligible_leaders(host, port, access, sorted(topics), timeout_s)
        except wire.WireError as error:
            reasons.append(f"{address(host, port)}: {access.scrub(str(error))}")
            if isinstance(error, wire.Unspoken):
                break
            continue
        return {name: tuple(_eligible(eligible, name, each) for each in all_) for name, all_ in topics.items()}
    if topics:
        message = f"the eligible leader replicas are not known ({'; '.join(reasons)})"
        without.append(Refusal("unreachable", message))
    return dict(topics)


def _eligible(known: Mapping[tuple[str, int], wire.Eligible], topic: str, partition: LivePartition) -> LivePartition:
    found = known.get((topic, partition.number))
    return partition if found is None else replace(partition, elr=found.elr)


class _Seen(NamedTuple):
    brokers: dict[int, tuple[str, int]]
    topics: dict[str, tuple[LivePartition, ...]]


class _NotTold(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class _Client:
    """The client library's side of the conversation."""

    def __init__(self, bootstrap: str, access: Access, first: Offer, timeout_s: float) -> None:
        from confluent_kafka.admin import AdminClient

        self._access, self._first, self._timeout_s = access, first, timeout_s
        self._errors: list[Any] = []
        logger = logging.Logger("kafka-chaos-audit")  # nobody's: what it is told goes nowhere
        logger.addHandler(logging.NullHandler())
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "client.id": wire.CLIENT,
            "enable.metrics.push": False,
            "allow.auto.create.topics": False,
            "socket.timeout.ms": int(timeout_s * 1000),
            "socket.connection.setup.timeout.ms": int(timeout_s * 1000),
            "log_level": 0,
            "error_cb": self._errors.append,
            **({} if first.answered else BEFORE_API_VERSIONS),
            **access.librdkafka(),
        }
        try:
            self._client = AdminClient(settings, logger=logger)
        except Exception as error:
            raise _NotTold(Refusal("unreadable", self._words(error), CORRECT)) from None

    def cluster(self) -> _Seen:
        """The brokers and all topics. Raises _NotTold, at once if nobody is let in."""
        done: Future[Any] = Future()

        def ask() -> None:
            try:
                done.set_result(self._client.list_topics(timeout=self._timeout_s))
            except Exception as error:
                done.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        until = time.monotonic() + self._timeout_s + 1
        while not done.done() and time.monotonic() < until:
            self._client.poll(0.1)
            if fatal := next((each for each in self._errors if each.name() in ("_AUTHENTICATION", "_SSL")), None):
                raise _NotTold(self._not_let_in(fatal))
        try:
            seen = done.result(timeout=0)
        except Exception as error:
            raise _NotTold(self._no_metadata(error)) from None
        topics = {
            name: tuple(
                LivePartition(
                    number=number,
                    leader=each.leader if each.leader >= 0 else None,
                    replicas=tuple(each.replicas),
                    isr=tuple(each.isrs),
                )
                for number, each in sorted(topic.partitions.items())
            )
            for name, topic in sorted(seen.topics.items())
            if topic.partitions
        }
        brokers = {number: (each.host, each.port) for number, each in seen.brokers.items()}
        return _Seen(brokers, topics)

    def _no_metadata(self, error: Exception) -> Refusal:
        self._client.poll(0)
        if self._first.answered and not self._access.sasl and "_TRANSPORT" in {each.name() for each in self._errors}:
            message = "it tells what it offers and ends the connection then"
            return Refusal(
                "unreachable", message, "does this listener want SASL (security.protocol SASL_PLAINTEXT or SASL_SSL)?"
            )
        last = f"; {self._words(self._errors[-1])}" if self._errors else ""
        message = f"no answer to Metadata within {self._timeout_s:g} s ({self._words(error)}{last})"
        return Refusal("unreachable", message)

    def _not_let_in(self, error: Any) -> Refusal:
        if error.name() == "_SSL":
            return Refusal("unreachable", f"no TLS connection: {self._words(error)}", CORRECT)
        message = f"it does not let this user in: {self._words(error)}"
        return Refusal("rights", message, "user, password and mechanism are those of --command-config")

    def racks(self, without: list[Refusal]) -> dict[int, str | None]:
        if not self._first.answered:  # there were none before 0.10
            return {}
        try:
            described = self._client.describe_cluster(request_timeout=self._timeout_s).result(
                timeout=self._timeout_s + 1
            )
        except Exception as error:
            without.append(Refusal("unreachable", f"the racks are not known ({self._words(error)})"))
            return {}
        return {node.id: node.rack for node in described.nodes}

    def missing(self, names: Sequence[str]) -> dict[str, Refusal | None]:
        """Why these topics are not among all topics: they do not exist, or may not be seen."""
        if not names:
            return {}
        if self._first.apis.get(METADATA, 0) < METADATA_WITHOUT_CREATION:
            return dict.fromkeys(names)
        from confluent_kafka import TopicCollection

        asked = self._client.describe_topics(TopicCollection(list(names)), request_timeout=self._timeout_s)
        found: dict[str, Refusal | None] = {}
        for name, future in asked.items():
            error = self._error_of(future)
            known = error in (None, "UNKNOWN_TOPIC_OR_PART")
            found[name] = None if known else Refusal("rights", str(error))
        return found

    def settings_of_brokers(self, brokers: Sequence[int]) -> dict[int, tuple[ConfigEntry, ...] | Refusal]:
        from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

        asked = {number: self._describe([ConfigResource("broker", str(number))]) for number in brokers}
        return {number: next(iter(self._entries(futures).values())) for number, futures in asked.items()}

    def settings_of_topics(self, topics: Sequence[str]) -> dict[str, tuple[ConfigEntry, ...] | Refusal]:
        from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

        found: dict[str, tuple[ConfigEntry, ...] | Refusal] = {}
        for start in range(0, len(topics), TOPICS_AT_A_TIME):
            some = topics[start : start + TOPICS_AT_A_TIME]
            found |= self._entries(self._describe([ConfigResource("topic", name) for name in some]))
        return found

    def _describe(self, resources: Sequence[Any]) -> dict[Any, Future[Any]]:
        described: dict[Any, Future[Any]] = self._client.describe_configs(
            list(resources), request_timeout=self._timeout_s
        )
        return described

    def _entries(self, asked: Mapping[Any, Future[Any]]) -> dict[str, tuple[ConfigEntry, ...] | Refusal]:
        found: dict[str, tuple[ConfigEntry, ...] | Refusal] = {}
        for resource, future in asked.items():
            try:
                told = future.result(timeout=self._timeout_s + 1)
            except Exception as error:
                code = error.args[0].name() if error.args and hasattr(error.args[0], "name") else ""
                kind: Literal["rights", "unreachable"] = "rights" if "AUTHORIZATION" in code else "unreachable"
                found[resource.name] = Refusal(kind, self._words(error))
            else:
                found[resource.name] = tuple(_entry(each) for each in told.values())
        return found

    def _error_of(self, future: Future[Any]) -> str | None:
        try:
            future.result(timeout=self._timeout_s + 1)
        except Exception as error:
            return error.args[0].name() if error.args and hasattr(error.args[0], "name") else self._words(error)
        return None

    def _words(self, error: Any) -> str:
        """An error of the library's in its own words, without secrets."""
        cause = error.args[0] if isinstance(error, Exception) and error.args else error
        return self._access.scrub(str(cause.str() if hasattr(cause, "str") else cause or type(error).__name__))


def _entry(told: Any) -> ConfigEntry:
    """A setting as the library gives it. Version 0 (0.11, 1.0) says only whether it is a default: of a topic that is
    everything which is not set for the topic itself (`AdminManager.describeConfigs`).
    """
    from confluent_kafka.admin import ConfigSource  # type: ignore[attr-defined]

    sources: dict[int, Source] = {
        ConfigSource.DYNAMIC_TOPIC_CONFIG.value: "topic",
        ConfigSource.DYNAMIC_BROKER_CONFIG.value: "broker",
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value: "cluster",
        ConfigSource.STATIC_BROKER_CONFIG.value: "file",
        ConfigSource.DEFAULT_CONFIG.value: "default",
    }
    number = told.source.value if hasattr(told.source, "value") else told.source
    source = sources.get(number, "default" if told.is_default else "unknown")
    return ConfigEntry(told.name, None if told.is_sensitive else told.value, source)


# ZooKeeper


def _with_zookeeper(told: ClusterReport, hosts: str, timeout_s: float, say: Callable[[str], None]) -> ClusterReport:
    """The same with the settings of topics that only ZooKeeper tells."""
    unknown = [name for name in told.topics if not isinstance(told.topic_settings.get(name), tuple)]
    if not unknown:
        return told
    say(f"asking ZooKeeper at {hosts} for settings of topics")
    try:
        settings = _znodes(hosts, unknown, timeout_s)
    except _NotTold as error:
        return replace(told, without=(*told.without, error.refusal))
    return replace(told, topic_settings={**told.topic_settings, **settings}, from_zookeeper=True)


def _znodes(hosts: str, topics: Sequence[str], timeout_s: float) -> dict[str, tuple[ConfigEntry, ...] | Refusal]:
    """The settings of topics from their znodes, which are read and nothing else. Raises _NotTold."""
    from kazoo.client import KazooClient
    from kazoo.exceptions import KazooException, NoNodeError
    from kazoo.handlers.threading import KazooTimeoutError

    logger = logging.Logger("kafka-chaos-audit")
    logger.addHandler(logging.NullHandler())
    client = KazooClient(hosts, timeout=timeout_s, read_only=True, logger=logger)
    found: dict[str, tuple[ConfigEntry, ...] | Refusal] = {}
    try:
        client.start(timeout=timeout_s)
        for topic in topics:
            try:
                data, _ = client.get(f"/config/topics/{topic}")
            except NoNodeError:
                data = b"{}"
            found[topic] = znode_settings(data)
    except (KazooException, KazooTimeoutError, OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise _NotTold(Refusal("unreachable", f"ZooKeeper at {hosts} does not tell settings ({reason})")) from None
    finally:
        client.stop()
        client.close()
    return found


def znode_settings(data: bytes) -> tuple[ConfigEntry, ...] | Refusal:
    """A topic's own settings from /config/topics/<topic> (`kafka.zk.ConfigEntityZNode`).

    >>> znode_settings(b'{"version":1,"config":{"min.insync.replicas":"2"}}')
    (ConfigEntry(name='min.insync.replicas', value='2', source='topic'),)
    """
    try:
        told = json.loads(data or b"{}")
        return tuple(
            ConfigEntry(str(name), str(value), "topic") for name, value in sorted(told.get("config", {}).items())
        )
    except (ValueError, AttributeError):
        return Refusal("unreachable", "its znode cannot be read")
