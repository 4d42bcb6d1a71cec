"""Kafka's own producers, of any release, in a recorder of ours: `java-<release>` and, the old one, `scala-<release>`.

The Java virtual machine runs in the recorder's process (JPype), with the jars that the release was locked with; nothing
of ours runs on the Java side. The producer made here is used as librdkafka's is (adapted.py). It hands nothing to the
client that the settings do not say, but for the address and the serializers, so every default is the release's own. So
a step of a transaction takes as long as the client lets it (max.block.ms), whatever limit the recorder has for
librdkafka's. Java knows no purge.

Errors have the numbers of Kafka's protocol, in librdkafka's spelling, which evidence.history.outcomes knows. What has
no number of its own has its exception's name ("KafkaException", "IllegalStateException"), and is indefinite.

The Scala producer (kafka.javaapi.producer.Producer, the client of 0.8, removed in 2.0) sends synchronously and is told
no offset: a record is acknowledged, or all attempts have failed and nobody knows. With producer.type=async it reports
nothing: what became of a record that is in its queue nobody ever knows.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from evidence.errors import HarnessError
from harness.setup.java import properties
from harness.workloads.processes.adapted import (
    AdaptedProducer,
    AdaptedTransactions,
    Failure,
    Heard,
    Sending,
    Transacting,
)

Client = TypeVar("Client")
UNKNOWN_SERVER_ERROR: Final = -1
OPTIONS: Final = ("-Xrs", "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""-Xrs leaves signals to Python."""
BYTES: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"


def offsets_of(places: Sequence[TopicPartition]) -> Any:
    """Offsets as Java clients take them: a Map of TopicPartition and OffsetAndMetadata."""
    from jpype import JClass

    partition = JClass("org.apache.kafka.common.TopicPartition")
    offset = JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")
    found = JClass("java.util.HashMap")()
    for one in places:
        found.put(partition(one.topic, one.partition), offset(one.offset))
    return found


def failure_of(error: Any) -> Failure:
    """What a Java client threw, or handed over."""
    from jpype import JClass

    number = int(JClass("org.apache.kafka.common.protocol.Errors").forException(error).code())
    again = isinstance(error, JClass("org.apache.kafka.common.errors.TimeoutException"))
    if number == UNKNOWN_SERVER_ERROR:
        return Failure(number, str(error.getClass().getSimpleName()), again)
    return Failure(number, KafkaError(number).name(), again)


class JavaClient:
    """org.apache.kafka.clients.producer.KafkaProducer."""

    def __init__(self, bootstrap: str, settings: Mapping[str, Any]) -> None:
        from jpype import JArray, JByte, JClass, JProxy

        self._record = JClass("org.apache.kafka.clients.producer.ProducerRecord")
        self._thrown = JClass("java.lang.Throwable")
        self._integer = JClass("java.lang.Integer")
        self._bytes: Callable[[bytes], Any] = JArray(JByte)
        self._callback: Callable[[Callable[..., None]], Any] = lambda heard: JProxy(
            "org.apache.kafka.clients.producer.Callback", dict={"onCompletion": heard}
        )
        fixed = {"bootstrap.servers": bootstrap, "key.serializer": BYTES, "value.serializer": BYTES}
        self._producer = JClass("org.apache.kafka.clients.producer.KafkaProducer")(properties(settings, fixed))

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Heard) -> None:
        """As the client does: asynchronously."""

        def completed(metadata: Any, error: Any) -> None:
            if error is not None:
                heard(failure_of(error), None)
            else:
                offset = int(metadata.offset())
                heard(None, offset if offset >= 0 else None)

        packed = None if key is None else self._bytes(key)
        record = self._record(topic, self._integer(partition), packed, self._bytes(value))
        try:
            self._producer.send(record, self._callback(completed))
        except self._thrown as error:
            heard(failure_of(error), None)

    def transact(self, step: str) -> None:
        """KafkaProducer's own method, with no arguments."""
        self._transact(step)

    def send_offsets(self, places: Sequence[TopicPartition], group: Any) -> None:
        """KafkaProducer's sendOffsetsToTransaction."""
        self._transact("sendOffsetsToTransaction", offsets_of(places), group)

    def _transact(self, step: str, *arguments: Any) -> None:
        try:
            getattr(self._producer, step)(*arguments)
        except self._thrown as error:
            raise KafkaException(failure_of(error)) from None

    def configuration(self) -> dict[str, str]:
        """From the producer's own ProducerConfig, which is private in every release."""
        from jpype import JClass

        config = _private(self._producer, self._producer.getClass(), "producerConfig")
        values = _private(config, JClass("org.apache.kafka.common.config.AbstractConfig").class_, "values")
        return {str(name): _text(values.get(name)) for name in sorted(values.keySet())}


class TakingOffsets(Transacting, Protocol):
    """A client whose transactions take offsets, too."""

    def send_offsets(self, places: Sequence[TopicPartition], group: Any) -> None:
        """Commit offsets with the transaction. Raises KafkaException with a Failure."""


class JvmTransactions(AdaptedTransactions):
    """A producer of Kafka's own with transactions."""

    def __init__(self, client: TakingOffsets) -> None:
        super().__init__(client)
        self._send_offsets = client.send_offsets

    def send_offsets_to_transaction(self, places: Sequence[TopicPartition], group: Any, _timeout_s: float) -> None:
        """Commit offsets with the transaction, for a member as the consumer tells of it or, by a text, for a group
        whoever its members are (KIP-447).
        """
        self._send_offsets(places, group)


class ScalaClient:
    """kafka.javaapi.producer.Producer."""

    def __init__(self, bootstrap: str, settings: Mapping[str, Any]) -> None:
        from jpype import JArray, JByte, JClass

        self._message = JClass("kafka.producer.KeyedMessage")
        self._thrown = JClass("java.lang.Throwable")
        self._integer = JClass("java.lang.Integer")
        self._bytes: Callable[[bytes], Any] = JArray(JByte)
        # A partition key whose hash is the partition's number: the default partitioner takes it modulo their count.
        fixed = {"metadata.broker.list": bootstrap, "serializer.class": "kafka.serializer.DefaultEncoder"}
        self._config = JClass("kafka.producer.ProducerConfig")(properties(settings, fixed))
        self._producer = JClass("kafka.javaapi.producer.Producer")(self._config)
        self._reports = str(self._config.producerType()) == "sync"

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Heard) -> None:
        """Returns when the record is acknowledged or the last attempt has failed; asynchronous, when it is queued."""
        packed = None if key is None else self._bytes(key)
        message = self._message(topic, packed, self._integer(partition), self._bytes(value))
        try:
            self._producer.send(message)
        except self._thrown as error:
            heard(Failure(UNKNOWN_SERVER_ERROR, str(error.getClass().getSimpleName())), None)
        else:
            if self._reports:
                heard(None, None)

    def configuration(self) -> dict[str, str]:
        """What ProducerConfig's own readers give: their names are the settings' in camel case."""
        found = {}
        for method in self._config.getClass().getMethods():
            name = str(method.getName())
            if method.getParameterCount() == 0 and name[0].islower() and str(method.getReturnType().getName()) in PLAIN:
                found[name] = _text(method.invoke(self._config))
        return {CAPITAL.sub(r".\g<0>", name).lower(): found[name] for name in sorted(found.keys() - NOT_SETTINGS)}


class InThread:
    """A client that sends synchronously, on a thread of its own: records go out one after the other, in order."""

    def __init__(self, client: Sending) -> None:
        self._client = client
        self._records: queue.SimpleQueue[tuple[str, int, bytes | None, bytes, Heard]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Heard) -> None:
        """Returns at once."""
        self._records.put((topic, partition, key, value, heard))

    def _work(self) -> None:
        while True:
            self._client.send(*self._records.get())

    def configuration(self) -> dict[str, str]:
        return self._client.configuration()


PLAIN: Final = frozenset({"int", "short", "boolean", "long", "java.lang.String"})
NOT_SETTINGS: Final = frozenset({"hashCode", "toString", "logIdent", "loggerName"})
CAPITAL: Final = re.compile("[A-Z]")
KINDS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], Sending]]] = {"java": JavaClient, "scala": ScalaClient}


def jvm_producer(
    client: str,
    bootstrap: str,
    settings: Mapping[str, Any],
    *,
    jars: Path,
    java_home: Path,
    in_thread: bool = False,
) -> AdaptedProducer:
    """The producer `java-<release>` or `scala-<release>`, with the jars in a directory and the Java of a home. With
    `in_thread` one that sends synchronously does so on a thread of its own.

    Raises HarnessError, with the client's own words, if it cannot be made: for settings that it refuses, say.
    """
    sending = made_in_jvm(client, lambda: KINDS[client.partition("-")[0]](bootstrap, settings), jars, java_home)
    if isinstance(sending, JavaClient) and "transactional.id" in settings:
        return JvmTransactions(sending)
    return AdaptedProducer(InThread(sending) if in_thread and isinstance(sending, ScalaClient) else sending)


def made_in_jvm(client: str, make: Callable[[], Client], jars: Path, java_home: Path) -> Client:
    """A client that `make` makes in this process's Java virtual machine.

    Raises HarnessError, with the client's own words, if it cannot be made: for settings that it refuses, say.
    """
    import jpype

    start_jvm(jars, java_home)
    try:
        return make()
    except jpype.JException as error:
        cause = error.getCause() or error
        raise HarnessError(f"{client} refuses its settings: {cause.getMessage()}") from None


def start_jvm(jars: Path, java_home: Path) -> None:
    """Start this process's Java virtual machine with the jars in a directory and the Java of a home, once."""
    import jpype

    if jpype.isJVMStarted():
        return
    library = next(java_home.glob("lib/**/libjvm.so"), None)
    classes = sorted(map(str, jars.glob("*.jar")))
    jpype.startJVM(None if library is None else str(library), *OPTIONS, classpath=classes, convertStrings=False)
    # What goes wrong is in the history; stderr is for the reasons of a crash.
    log4j = jpype.JPackage("org").apache.log4j
    log4j.LogManager.getRootLogger().setLevel(log4j.Level.OFF)


def _text(value: Any) -> str:
    """As Java writes it: "true", not "True"."""
    from jpype import JClass

    return str(JClass("java.util.Objects").toString(value))


def _private(owner: Any, declared: Any, name: str) -> Any:
    """The value of a private field."""
    field = declared.getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)
