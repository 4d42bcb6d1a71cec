"""Members of share groups (KIP-932), used in one way: librdkafka's, and Kafka's own from 4.2 on.

A member is handed records from wherever the group stands, each with the number of times that it was delivered so far.
It says of each what is to become of it: accepted, released to be delivered again, or rejected. In the implicit mode it
accepts what a poll returned by its next poll. The broker's answer is heard later, record by record, whichever call of
the client was sent with it: `heard` is told of each.

Source: KIP-932; librdkafka 2.16 calls its share consumer a preview.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from confluent_kafka import AcknowledgeType, KafkaError, KafkaException, Message, ShareConsumer, TopicPartition

from harness.setup.java import properties
from harness.workloads.processes import child
from harness.workloads.processes.adapted import Failure
from harness.workloads.processes.java import failure_of, made_in_jvm
from harness.workloads.processes.java_consumer import BYTES
from harness.workloads.settings import LIBRDKAFKA

Saying = Literal["accept", "release", "reject"]
Error = KafkaError | Failure
Heard = Callable[[str, int, Iterable[int], Error | None], None]
"""Told what the broker answered to what was said of the records at these offsets of a topic's partition."""
READING: Final[Mapping[str, Any]] = {"check.crcs": True}


@dataclass(frozen=True, slots=True)
class Delivered:
    """A record that a member was handed."""

    topic: str
    partition: int
    offset: int
    value: bytes | None
    count: int
    """How often it was delivered, this time included, as the broker says; 0 if it does not."""


class Sharing(Protocol):
    """A member of a share group."""

    def subscribe(self, topic: str) -> None:
        """Join the group."""

    def poll(self, timeout_s: float) -> tuple[list[Delivered], list[Error]]:
        """One poll, waiting that long for a first record: what it returned, and errors in place of records."""

    def acknowledge(self, records: Sequence[Delivered], said: Saying) -> None:
        """Say what is to become of records; it is sent with the next `commit`. KafkaException if the client refuses
        it, because it holds the record no longer, say.
        """

    def commit(self, timeout_s: float) -> None:
        """Send what was said and wait for the answers. KafkaException if the client does not."""

    def close(self) -> None:
        """Leave the group."""


class LibrdkafkaShare:
    """confluent_kafka.ShareConsumer."""

    def __init__(self, bootstrap: str, settings: Mapping[str, Any], heard: Heard) -> None:
        self._heard = heard
        self._client = ShareConsumer(child.client_settings(bootstrap, dict(READING) | dict(settings)))
        self._client.set_acknowledgement_commit_callback(self._answered)

    def _answered(self, offsets: Mapping[TopicPartition, Iterable[int]], error: KafkaException | None) -> None:
        for place, answered in offsets.items():
            self._heard(place.topic, place.partition, answered, None if error is None else error.args[0])

    def subscribe(self, topic: str) -> None:
        """Join the group."""
        self._client.subscribe([topic])

    def poll(self, timeout_s: float) -> tuple[list[Delivered], list[Error]]:
        """One poll. In the explicit mode all records of the poll before have to be acknowledged."""
        messages = list(self._client.poll(timeout_s))
        errors = [error for one in messages if (error := one.error()) is not None]
        return [_delivered(one) for one in messages if one.error() is None], [*errors]

    def acknowledge(self, records: Sequence[Delivered], said: Saying) -> None:
        """Say what is to become of records."""
        for one in records:
            self._client.acknowledge_offset(one.topic, one.partition, one.offset, AcknowledgeType[said.upper()])

    def commit(self, timeout_s: float) -> None:
        """Send what was said and wait for the answers."""
        self._client.commit_sync(timeout_s)

    def close(self) -> None:
        """Leave the group."""
        self._client.close()


def _delivered(message: Message) -> Delivered:
    return Delivered(
        str(message.topic()),
        int(message.partition() or 0),
        int(message.offset() or 0),
        message.value(),
        int(message.delivery_count() or 0),
    )


class JvmShare:
    """org.apache.kafka.clients.consumer.KafkaShareConsumer."""

    def __init__(self, bootstrap: str, settings: Mapping[str, Any], heard: Heard) -> None:
        from jpype import JClass, JProxy

        self._heard = heard
        self._thrown = JClass("java.lang.Throwable")
        self._list = JClass("java.util.ArrayList")
        self._types = JClass("org.apache.kafka.clients.consumer.AcknowledgeType")
        self._duration = JClass("java.time.Duration")
        fixed = {"bootstrap.servers": bootstrap, "key.deserializer": BYTES, "value.deserializer": BYTES}
        self._consumer = JClass("org.apache.kafka.clients.consumer.KafkaShareConsumer")(properties(settings, fixed))
        self._records: dict[tuple[str, int, int], Any] = {}
        """What the last poll returned: the client acknowledges its own records, and offsets only where it could not
        read one."""
        callback = "org.apache.kafka.clients.consumer.AcknowledgementCommitCallback"
        self._consumer.setAcknowledgementCommitCallback(JProxy(callback, dict={"onComplete": self._answered}))

    def _answered(self, offsets: Any, error: Any) -> None:
        failure = None if error is None else failure_of(error)
        for entry in offsets.entrySet():
            place = entry.getKey()
            answered = [int(offset) for offset in entry.getValue()]
            self._heard(str(place.topic()), int(place.partition()), answered, failure)

    def subscribe(self, topic: str) -> None:
        """Join the group."""
        self._consumer.subscribe(self._list([topic]))

    def poll(self, timeout_s: float) -> tuple[list[Delivered], list[Error]]:
        """One poll."""
        try:
            found = self._consumer.poll(self._duration.ofMillis(int(timeout_s * 1000)))
        except self._thrown as error:
            return [], [failure_of(error)]
        self._records = {(str(one.topic()), int(one.partition()), int(one.offset())): one for one in found}
        return [
            Delivered(
                *place,
                None if one.value() is None else bytes(one.value()),
                int(one.deliveryCount().get()) if one.deliveryCount().isPresent() else 0,
            )
            for place, one in self._records.items()
        ], []

    def acknowledge(self, records: Sequence[Delivered], said: Saying) -> None:
        """Say what is to become of records."""
        how = self._types.valueOf(said.upper())
        try:
            for one in records:
                self._consumer.acknowledge(self._records[one.topic, one.partition, one.offset], how)
        except self._thrown as error:
            raise KafkaException(failure_of(error)) from None

    def commit(self, timeout_s: float) -> None:
        """Send what was said and wait for the answers."""
        try:
            self._consumer.commitSync(self._duration.ofMillis(int(timeout_s * 1000)))
        except self._thrown as error:
            raise KafkaException(failure_of(error)) from None

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()


def open_share_consumer(
    library: Mapping[str, Any], bootstrap: str, settings: Mapping[str, Any], heard: Heard
) -> Sharing:
    """A share consumer of a library. Raises HarnessError or KafkaException for settings that the client refuses."""
    if library["name"] == LIBRDKAFKA:
        return LibrdkafkaShare(bootstrap, settings, heard)
    jars, java_home = Path(library["jars"]), Path(library["java_home"])
    return made_in_jvm(library["name"], lambda: JvmShare(bootstrap, settings, heard), jars, java_home)
