"""Which keys tell a producer, a consumer or a broker, whose client it is, and how keys are spelled elsewhere.

A .properties file does not say what it configures. A key that only producers have (`acks`, `linger.ms`) does; keys that
all clients share (`bootstrap.servers`, `ssl.*`) do not.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from audit.known import known
from audit.model import Client, Setting


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


PRODUCERS: Final = words(
    """acks request.required.acks enable.idempotence enable.gapless.guarantee retries message.send.max.retries
    max.in.flight.requests.per.connection max.in.flight linger.ms batch.size batch.num.messages buffer.memory
    compression.type compression.codec delivery.timeout.ms message.timeout.ms max.block.ms max.request.size
    key.serializer value.serializer partitioner.class partitioner transactional.id transaction.timeout.ms
    queue.buffering.max.messages queue.buffering.max.kbytes queue.buffering.max.ms queue.enqueue.timeout.ms
    producer.type serializer.class key.serializer.class delivery.report.only.error block.on.buffer.full
    request.required.acks sticky.partitioning.linger.ms metadata.broker.list"""
)
"""Keys that make a configuration a producer's (metadata.broker.list is librdkafka's for consumers too)."""
WEAK: Final = words("retries compression.type batch.size max.request.size")
"""Those of them that other programs have too, and consumers' applications: alone they tell no producer."""
CONSUMERS: Final = words(
    """group.id auto.offset.reset enable.auto.commit key.deserializer value.deserializer max.poll.records
    fetch.min.bytes max.poll.interval.ms session.timeout.ms isolation.level auto.commit.interval.ms auto.commit.enable
    partition.assignment.strategy group.instance.id max.partition.fetch.bytes consumer.timeout.ms
    enable.partition.eof"""
)
BROKERS: Final = words(
    """broker.id node.id process.roles log.dirs log.dir zookeeper.connect controller.quorum.voters
    controller.quorum.bootstrap.servers default.replication.factor inter.broker.protocol.version
    unclean.leader.election.enable min.insync.replicas log.flush.interval.messages log.flush.interval.ms
    offsets.topic.replication.factor num.replica.fetchers replica.lag.time.max.ms auto.leader.rebalance.enable"""
)
"""Keys that are enough, two of them, to make a configuration a broker's."""
MATTERS: Final = words(
    """acks request.required.acks enable.idempotence enable.gapless.guarantee retries message.send.max.retries
    max.in.flight.requests.per.connection max.in.flight delivery.timeout.ms message.timeout.ms request.timeout.ms
    transactional.id producer.type retry.backoff.ms min.insync.replicas unclean.leader.election.enable
    default.replication.factor inter.broker.protocol.version log.flush.interval.messages log.flush.interval.ms
    flush.messages flush.ms queue.enqueue.timeout.ms process.roles"""
)
"""Keys whose value decides what becomes of records: where it is not known, that is told."""


@cache
def java_keys() -> frozenset[str]:
    """Every key that any release of the Java producer had."""
    return frozenset(known("java-producer").history)


@cache
def java_constants() -> Mapping[str, str]:
    """ProducerConfig's constants, and the keys that they are."""
    found = {re.sub(r"[.-]", "_", key).upper() + "_CONFIG": key for key in java_keys()}
    found |= {"MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION": "max.in.flight.requests.per.connection"}
    return found | {
        "KEY_SERIALIZER_CLASS_CONFIG": "key.serializer",
        "VALUE_SERIALIZER_CLASS_CONFIG": "value.serializer",
    }


@cache
def librdkafka_keys() -> frozenset[str]:
    """Every key of librdkafka's producer."""
    return frozenset(known("librdkafka").history)


@cache
def scala_keys() -> frozenset[str]:
    """Every key of the old Scala producer."""
    return frozenset(known("scala-producer").history)


@cache
def producer_keys() -> frozenset[str]:
    """Every key that any producer knows."""
    return java_keys() | librdkafka_keys() | scala_keys()


SCALA: Final = frozenset(
    {"producer.type", "serializer.class", "key.serializer.class", "compressed.topics", "queue.enqueue.timeout.ms"}
)
JAVA: Final = frozenset({"key.serializer", "value.serializer", "interceptor.classes", "metric.reporters"})
LIBRDKAFKA: Final = frozenset({"default.topic.config", "log_level", "dr_cb", "dr_msg_cb", "error_cb", "stats_cb"})


def whose(keys: Iterable[str], otherwise: Client) -> Client:
    """Whose producer has these keys; `otherwise` if they do not tell.

    >>> whose({"request.required.acks", "producer.type"}, "java"), whose({"acks", "key.serializer"}, "unknown")
    ('scala', 'java')
    >>> whose({"acks", "message.timeout.ms"}, "unknown"), whose({"acks", "bootstrap.servers"}, "unknown")
    ('librdkafka', 'unknown')
    """
    found = set(keys)
    if found & SCALA:
        return "scala"
    if found & JAVA:
        return "java"
    if found & (LIBRDKAFKA | (librdkafka_keys() - java_keys() - scala_keys() - CONSUMERS)):
        return "librdkafka"
    if found & (java_keys() - librdkafka_keys() - scala_keys()):
        return "java"
    if (
        otherwise != "java"
        and "bootstrap.servers" in found
        and found & {"request.required.acks", "message.send.max.retries"}
    ):
        return "librdkafka"
    if {"metadata.broker.list", "request.required.acks"} <= found and otherwise == "java":
        return "scala"
    return otherwise


def latest(settings: Iterable[Setting]) -> Mapping[str, Setting]:
    """Settings by key; of one that is there twice the last."""
    found: dict[str, Setting] = {}
    for setting in settings:
        found.pop(setting.key, None)
        found[setting.key] = setting
    return found


def under(settings: Iterable[Setting], prefix: str) -> list[Setting]:
    """The settings below a prefix (with its dot), by what follows it."""
    return [
        dataclasses.replace(setting, key=setting.key[len(prefix) :])
        for setting in settings
        if setting.key.startswith(prefix) and len(setting.key) > len(prefix)
    ]


def squeezed(name: str) -> str:
    """A name without what relaxed spellings differ in.

    >>> squeezed("bootstrap-servers") == squeezed("bootstrapServers") == squeezed("BOOTSTRAP_SERVERS")
    True
    """
    return re.sub(r"[-_.]", "", name).lower()


@cache
def _by_squeezed() -> Mapping[str, str]:
    return {squeezed(key): key for key in sorted(producer_keys())}


AFTER_CONSTANTS: Final[Mapping[str, str]] = {
    "keyserializerclass": "key.serializer",
    "valueserializerclass": "value.serializer",
}
"""What people call settings after the names of ProducerConfig's constants."""


def relaxed(name: str) -> str | None:
    """The producer's key that a name spells in its own way (enableIdempotence, enable-idempotence, MAX_BLOCK_MS).

    >>> relaxed("key-serializer-class"), relaxed("key.serializer.class")
    ('key.serializer', 'key.serializer.class')
    """
    if name in producer_keys():
        return name
    return AFTER_CONSTANTS.get(squeezed(name)) or _by_squeezed().get(squeezed(name))


def dotted(variable: str) -> str:
    """The key that an environment variable spells: PRODUCER_LINGER_MS is producer.linger.ms.

    As Confluent's images do, `__` stands for `_` and `___` for `-`.
    """
    name = variable.lower().replace("___", "-").replace("__", "\0").replace("_", ".")
    return name.replace("\0", "_")
