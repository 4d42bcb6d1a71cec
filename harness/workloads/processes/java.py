"""Kafka's own producers, of any release, in a recorder of ours: `java-<release>` and, the old one, `scala-<release>`.

The Java virtual machine runs in the recorder's process (JPype), with the jars that the release was locked with; nothing
of ours runs on the Java side. What is made here speaks the part of `confluent_kafka.Producer` that the recorders use
(`evidence` of a record is written by the same code, whichever client sends it), and hands nothing to the client that
the settings do not say, but for the address and the serializers: every default is the release's own. So a step of a
transaction takes as long as the client lets it (max.block.ms), whatever limit the recorder has for librdkafka's.

A report comes on a thread of the client's. It is put into a queue there and told when the recorder polls, so a recorder
never runs on two threads. Java knows no purge: what is given up is reported as that, and what is heard of it later is
dropped; the process ends soon after, and with it whatever was still on its way.

Errors have the numbers of Kafka's protocol, in librdkafka's spelling, which evidence.history.outcomes knows. What has
no number of its own has its exception's name ("KafkaException", "IllegalStateException"), and is indefinite.

The Scala producer (kafka.javaapi.producer.Producer, the client of 0.8, removed in 2.0) sends synchronously and is told
no offset: a record is acknowledged, or all attempts have failed and nobody knows.
"""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from evidence.errors import HarnessError
from harness.setup.java import properties

UNKNOWN_SERVER_ERROR: Final = -1
OPTIONS: Final = ("-Xrs", "-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""-Xrs leaves signals to Python."""
BYTES: Final = "org.apache.kafka.common.serialization.ByteArraySerializer"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a record or a step of a transaction failed, as `confluent_kafka.KafkaError` tells it."""

    number: int
    text: str
    again: bool = False
    """Whether the step may be tried again."""

    def code(self) -> int:
        """The error's number in Kafka's protocol; -1 if it has none."""
        return self.number

    def name(self) -> str:
        """The error's name."""
        return self.text

    def retriable(self) -> bool:
        """Whether the step may be tried again: as KafkaProducer documents it, if it took too long."""
        return self.again


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a record, as `confluent_kafka.Message` tells it."""

    sent: bytes
    at: int | None

    def value(self) -> bytes:
        """The record's own bytes."""
        return self.sent

    def offset(self) -> int | None:
        """Its offset; None if the client was told none."""
        return self.at


OnDelivery = Callable[[Failure | None, Report], None]
Heard = Callable[[Failure | None, int | None], None]


class Sending(Protocol):
    """One client's way to send a record."""

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Heard) -> None:
        """Hand a record over; `heard` is told its error or its offset, on any thread, once or not at all."""

    def configuration(self) -> dict[str, str]:
        """Every setting that the client goes by, as text; null is "null"."""


class Transacting(Sending, Protocol):
    """One that has transactions, too."""

    def transact(self, step: str, *arguments: Any) -> None:
        """Carry out a step of a transaction, by its name in KafkaProducer. Raises KafkaException with a Failure."""

    def offsets(self, places: Sequence[TopicPartition]) -> Any:
        """Offsets as the client's own methods take them."""


class JvmProducer:
    """A producer in this process's Java virtual machine, used as `confluent_kafka.Producer` is."""

    def __init__(self, client: Sending) -> None:
        self._client = client
        self._reports: queue.SimpleQueue[tuple[int, Failure | None, int | None]] = queue.SimpleQueue()
        self._waiting: dict[int, tuple[bytes, OnDelivery]] = {}
        self._number = 0

    def produce(
        self, topic: str, *, value: bytes, key: bytes | None = None, partition: int, on_delivery: OnDelivery
    ) -> None:
        """Hand a record to the client. It may block as long as the client does (max.block.ms)."""
        number = self._number
        self._number += 1
        self._waiting[number] = value, on_delivery
        self._client.send(
            topic, partition, key, value, lambda error, offset: self._reports.put((number, error, offset))
        )

    def produce_batch(
        self, topic: str, entries: Sequence[Mapping[str, Any]], *, partition: int, on_delivery: OnDelivery
    ) -> int:
        """Hand records to the client one by one; returns how many: all."""
        for entry in entries:
            self.produce(
                topic, value=entry["value"], key=entry.get("key"), partition=partition, on_delivery=on_delivery
            )
        return len(entries)

    def poll(self, timeout_s: float = 0.0) -> int:
        """Tell what has been reported, waiting so long for a first report; returns how many there were."""
        told = 0
        wait_s = timeout_s if self._waiting else 0.0
        while True:
            try:
                number, error, offset = self._reports.get(timeout=wait_s) if wait_s > 0 else self._reports.get_nowait()
            except queue.Empty:
                return told
            wait_s = 0.0
            if (record := self._waiting.pop(number, None)) is not None:
                record[1](error, Report(record[0], offset))
                told += 1

    def flush(self, timeout_s: float) -> int:
        """Poll until every record is reported or the time is over; returns how many are not."""
        deadline = time.monotonic() + timeout_s
        while self._waiting and (left_s := deadline - time.monotonic()) > 0:
            self.poll(min(left_s, 0.1))
        return len(self._waiting)

    def purge(self, **_which: bool) -> None:
        """Give up every record that is not reported: whether it was written nobody knows."""
        self.poll()
        given_up, self._waiting = self._waiting, {}
        purged = KafkaError(KafkaError._PURGE_INFLIGHT)
        for value, on_delivery in given_up.values():
            on_delivery(Failure(purged.code(), purged.name()), Report(value, None))

    def __len__(self) -> int:
        """How many records are not reported."""
        return len(self._waiting)

    def configuration(self) -> dict[str, str]:
        """Every setting that the client goes by."""
        return self._client.configuration()


class JvmTransactions(JvmProducer):
    """The same with transactions. Each step raises KafkaException with a Failure."""

    def __init__(self, client: Transacting) -> None:
        super().__init__(client)
        self._transact, self._offsets = client.transact, client.offsets

    def init_transactions(self, _timeout_s: float) -> None:
        """Fence off earlier owners of the transactional.id."""
        self._transact("initTransactions")

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._transact("beginTransaction")

    def commit_transaction(self, _timeout_s: float) -> None:
        """Commit it, when its records are delivered."""
        self._transact("commitTransaction")

    def abort_transaction(self, _timeout_s: float) -> None:
        """Abort it."""
        self._transact("abortTransaction")

    def send_offsets_to_transaction(self, places: Sequence[TopicPartition], group: Any, _timeout_s: float) -> None:
        """Commit offsets with the transaction, for a member as the consumer tells of it or, by a text, for a group
        whoever its members are (KIP-447).
        """
        self._transact("sendOffsetsToTransaction", self._offsets(places), group)


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

    def transact(self, step: str, *arguments: Any) -> None:
        """KafkaProducer's own method."""
        try:
            getattr(self._producer, step)(*arguments)
        except self._thrown as error:
            raise KafkaException(failure_of(error)) from None

    def offsets(self, places: Sequence[TopicPartition]) -> Any:
        """A Map of TopicPartition and OffsetAndMetadata."""
        return offsets_of(places)

    def configuration(self) -> dict[str, str]:
        """From the producer's own ProducerConfig, which is private in every release."""
        from jpype import JClass

        config = _private(self._producer, self._producer.getClass(), "producerConfig")
        values = _private(config, JClass("org.apache.kafka.common.config.AbstractConfig").class_, "values")
        return {str(name): _text(values.get(name)) for name in sorted(values.keySet())}


class ScalaClient:
    """kafka.javaapi.producer.Producer, synchronous."""

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

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Heard) -> None:
        """Returns when the record is acknowledged or the last attempt has failed."""
        packed = None if key is None else self._bytes(key)
        message = self._message(topic, packed, self._integer(partition), self._bytes(value))
        try:
            self._producer.send(message)
        except self._thrown as error:
            heard(Failure(UNKNOWN_SERVER_ERROR, str(error.getClass().getSimpleName())), None)
        else:
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
) -> JvmProducer:
    """The producer `java-<release>` or `scala-<release>`, with the jars in a directory and the Java of a home. With
    `in_thread` one that sends synchronously does so on a thread of its own.

    Raises HarnessError, with the client's own words, if it cannot be made: for settings that it refuses, say.
    """
    import jpype

    kind = client.partition("-")[0]
    start_jvm(jars, java_home)
    try:
        sending = KINDS[kind](bootstrap, settings)
    except jpype.JException as error:
        cause = error.getCause() or error
        raise HarnessError(f"{client} refuses its settings: {cause.getMessage()}") from None
    if isinstance(sending, JavaClient) and "transactional.id" in settings:
        return JvmTransactions(sending)
    return JvmProducer(InThread(sending) if in_thread and isinstance(sending, ScalaClient) else sending)


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
