"""The high-level consumer of 0.8 (removed in 2.0), used as `confluent_kafka.Consumer` is (see java.py).

It finds its brokers, its group and its partitions in ZooKeeper, and needs that address alone. Its offsets stand there
too, or in Kafka, or in both (offsets.storage, dual.commit.enabled). A record counts as consumed when the iterator hands
it over (kafka.consumer.ConsumerIterator.next), and the client's own thread commits what is consumed
(auto.commit.interval.ms). Its answer to a commit that is asked for says nothing of failures, so none is asked for here.

It does not say where it begins to read. So a partition counts as assigned with the first record that it hands over. It
counts as taken when a rebalance begins, which releases before 0.9 report to nobody (ConsumerRebalanceListener).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Message, TopicPartition

from harness.setup.java import properties
from harness.workloads.processes.java import made_in_jvm

WAIT_MS: Final = 50
"""How long the iterator waits for a record before it says that none is there."""
OnPartitions = Callable[["ScalaConsumer", Sequence[TopicPartition]], None]


class ScalaConsumer:
    """kafka.javaapi.consumer.ConsumerConnector, with one stream of one topic."""

    def __init__(self, zookeeper: str, settings: Mapping[str, Any]) -> None:
        from jpype import JClass

        fixed = {"zookeeper.connect": zookeeper, "consumer.timeout.ms": str(WAIT_MS)}
        config = JClass("kafka.consumer.ConsumerConfig")(properties(settings, fixed))
        self._timed_out = JClass("kafka.consumer.ConsumerTimeoutException")
        self._connector = JClass("kafka.consumer.Consumer").createJavaConsumerConnector(config)
        self._group = str(settings["group.id"])
        self._iterator: Any = None
        self._assigned = set[tuple[str, int]]()
        self._on_assign: OnPartitions | None = None

    def subscribe(
        self, topics: Sequence[str], *, on_assign: OnPartitions, on_revoke: OnPartitions, on_lost: OnPartitions
    ) -> None:
        """Join the group; it has no word for partitions that are lost (`on_lost`)."""
        from jpype import JClass, JProxy

        def taken(ownership: Any) -> None:
            keys = [(str(one.getKey()), number) for one in ownership.entrySet() for number in _numbers(one.getValue())]
            self._assigned.difference_update(keys)
            on_revoke(self, [TopicPartition(*key) for key in keys])

        (topic,) = topics
        self._on_assign = on_assign
        if hasattr(self._connector, "setConsumerRebalanceListener"):
            heard = {"beforeReleasingPartitions": taken, "beforeStartingFetchers": lambda _member, _given: None}
            listener = JProxy("kafka.javaapi.consumer.ConsumerRebalanceListener", dict=heard)
            self._connector.setConsumerRebalanceListener(listener)
        streams = JClass("java.util.HashMap")()
        streams.put(topic, JClass("java.lang.Integer").valueOf(1))
        self._iterator = self._connector.createMessageStreams(streams).get(topic).get(0).iterator()

    def consume(self, size: int, timeout_s: float) -> list[Message]:
        """So many records, or those that come before the time is over. What is returned counts as consumed."""
        found: list[Message] = []
        deadline = time.monotonic() + timeout_s
        while len(found) < size:
            if self._has_next():
                found.append(self._next())
            elif time.monotonic() >= deadline:
                break
        return found

    def _has_next(self) -> bool:
        try:
            return bool(self._iterator.hasNext())
        except self._timed_out:
            return False

    def _next(self) -> Message:
        one = self._iterator.next()
        key = (str(one.topic()), int(one.partition()))
        if key not in self._assigned and self._on_assign is not None:
            self._assigned.add(key)
            self._on_assign(self, [TopicPartition(*key, int(one.offset()))])
        return Message(
            topic=key[0],
            partition=key[1],
            offset=int(one.offset()),
            key=None if one.key() is None else bytes(one.key()),
            value=None if one.message() is None else bytes(one.message()),
        )

    def consumer_group_metadata(self) -> str:
        """Nothing but the group's name: its members agree through ZooKeeper and count no generations."""
        return self._group

    def close(self) -> None:
        """Commit what is consumed, if it commits by itself, and leave the group."""
        self._connector.shutdown()


def _numbers(partitions: Any) -> Iterator[int]:
    """What is in a set of Java or of Scala: the listener is declared to be given the one, and is given the other
    (ZookeeperConsumerConnector.rebalance casts it). Both have an iterator of the same methods.
    """
    iterator = partitions.iterator()
    while iterator.hasNext():
        yield int(iterator.next())


def scala_consumer(
    client: str, zookeeper: str, settings: Mapping[str, Any], *, jars: Path, java_home: Path
) -> ScalaConsumer:
    """The consumer `scala-<release>`, with the jars in a directory and the Java of a home.

    Raises HarnessError, with the client's own words, if it cannot be made: for settings that it refuses, say.
    """
    return made_in_jvm(client, lambda: ScalaConsumer(zookeeper, settings), jars, java_home)
