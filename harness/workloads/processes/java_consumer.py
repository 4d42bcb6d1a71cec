"""Kafka's own consumer, of any release from 0.9 on, used as `confluent_kafka.Consumer` is (see java.py).

The messages that it returns are confluent_kafka's own, so whatever records polls records these. The release's own
defaults hold: the client is given the address, the deserializers, and what the settings say. `poll` takes a Duration
since 2.0 and milliseconds before; how many records it returns is the client's affair (max.poll.records, 0.10.0 and
later).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException, Message, TopicPartition

from harness.setup.java import properties
from harness.workloads.processes.adapted import Failure
from harness.workloads.processes.java import failure_of, made_in_jvm, offsets_of

BYTES: Final = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
NO_OFFSET: Final = -1001
"""librdkafka's OFFSET_INVALID: begin where the group left off."""
OnPartitions = Callable[["JvmConsumer", Sequence[TopicPartition]], None]
OnCommit = Callable[[Failure | None, Sequence[TopicPartition]], None]


class JvmConsumer:
    """org.apache.kafka.clients.consumer.KafkaConsumer."""

    def __init__(self, bootstrap: str, settings: Mapping[str, Any], on_commit: OnCommit | None = None) -> None:
        from jpype import JClass

        self._thrown = JClass("java.lang.Throwable")
        self._list = JClass("java.util.ArrayList")
        self._group, self._on_commit = settings["group.id"], on_commit
        fixed = {"bootstrap.servers": bootstrap, "key.deserializer": BYTES, "value.deserializer": BYTES}
        self._consumer = JClass("org.apache.kafka.clients.consumer.KafkaConsumer")(properties(settings, fixed))
        self._wait = _waiting(self._consumer)

    def subscribe(
        self, topics: Sequence[str], *, on_assign: OnPartitions, on_revoke: OnPartitions, on_lost: OnPartitions
    ) -> None:
        """Join the group. Before 2.4 (KIP-429) partitions that are lost are told of as revoked."""
        from jpype import JProxy

        heard = {
            "onPartitionsAssigned": lambda given: on_assign(self, _places(given)),
            "onPartitionsRevoked": lambda taken: on_revoke(self, _places(taken)),
            "onPartitionsLost": lambda lost: on_lost(self, _places(lost)),
        }
        listener = JProxy("org.apache.kafka.clients.consumer.ConsumerRebalanceListener", dict=heard)
        self._consumer.subscribe(self._list(list(topics)), listener)

    def consume(self, _size: int, timeout_s: float) -> list[Message]:
        """One poll, waiting that long for a first record. Raises KafkaException if the client does."""
        try:
            found = self._consumer.poll(self._wait(timeout_s))
        except self._thrown as error:
            raise KafkaException(failure_of(error)) from None
        return [
            Message(
                topic=str(one.topic()),
                partition=int(one.partition()),
                offset=int(one.offset()),
                key=None if one.key() is None else bytes(one.key()),
                value=None if one.value() is None else bytes(one.value()),
            )
            for one in found
        ]

    def commit(self, *, offsets: Sequence[TopicPartition], asynchronous: bool) -> None:
        """Commit offsets and wait for the answer, or have it told to `on_commit` in a later poll (`asynchronous`).
        Raises KafkaException if they are refused.

        From 0.10.0 on commitAsync writes the request to the socket before it returns
        (ConsumerCoordinator.commitOffsetsAsync: client.pollNoWakeup; before that, 0.9, the next poll does).
        """
        try:
            if asynchronous:
                self._consumer.commitAsync(offsets_of(offsets), self._callback(offsets))
            else:
                self._consumer.commitSync(offsets_of(offsets))
        except self._thrown as error:
            raise KafkaException(failure_of(error)) from None

    def _callback(self, offsets: Sequence[TopicPartition]) -> Any:
        from jpype import JProxy

        def answered(_: Any, error: Any) -> None:
            if self._on_commit is not None:
                self._on_commit(None if error is None else failure_of(error), offsets)

        return JProxy("org.apache.kafka.clients.consumer.OffsetCommitCallback", dict={"onComplete": answered})

    def seek(self, place: TopicPartition) -> None:
        """Go on reading a partition at an offset."""
        from jpype import JClass

        partition = JClass("org.apache.kafka.common.TopicPartition")(place.topic, place.partition)
        self._consumer.seek(partition, JClass("java.lang.Long").valueOf(place.offset).longValue())

    def consumer_group_metadata(self) -> Any:
        """The member and the generation that it is (KIP-447, 2.5 and later); before that the group's name."""
        return self._consumer.groupMetadata() if hasattr(self._consumer, "groupMetadata") else self._group

    def group_alone(self) -> Any:
        """The group without a member, as a producer before KIP-447 was told it."""
        from jpype import JClass

        if not hasattr(self._consumer, "groupMetadata"):
            return self._group
        return JClass("org.apache.kafka.clients.consumer.ConsumerGroupMetadata")(self._group)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()


def _places(partitions: Any) -> list[TopicPartition]:
    return [TopicPartition(str(one.topic()), int(one.partition()), NO_OFFSET) for one in partitions]


def _waiting(consumer: Any) -> Callable[[float], Any]:
    """How its release is told how long to wait, in seconds."""
    from jpype import JClass

    names = {
        str(method.getParameterTypes()[0].getName())
        for method in consumer.getClass().getMethods()
        if method.getName() == "poll" and method.getParameterCount() == 1
    }
    if "java.time.Duration" in names:
        duration = JClass("java.time.Duration")
        return lambda seconds: duration.ofMillis(int(seconds * 1000))
    return lambda seconds: int(seconds * 1000)


def jvm_consumer(
    client: str,
    bootstrap: str,
    settings: Mapping[str, Any],
    *,
    jars: Path,
    java_home: Path,
    on_commit: OnCommit | None = None,
) -> JvmConsumer:
    """The consumer `java-<release>`, with the jars in a directory and the Java of a home.

    Raises HarnessError, with the client's own words, if it cannot be made: for settings that it refuses, say.
    """
    return made_in_jvm(client, lambda: JvmConsumer(bootstrap, settings, on_commit), jars, java_home)
