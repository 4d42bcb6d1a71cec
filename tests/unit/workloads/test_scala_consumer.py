"""What the consumer of 0.8 is asked for, and how it answers, without a Java virtual machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from harness.workloads.processes.scala_consumer import ScalaConsumer


class TimedOut(Exception):
    """kafka.consumer.ConsumerTimeoutException."""


class Record:
    """kafka.message.MessageAndMetadata."""

    def __init__(self, partition: int, offset: int, message: bytes | None = b"v") -> None:
        self.topic, self.key = (lambda: "t"), (lambda: None)
        self.partition, self.offset, self.message = (lambda: partition), (lambda: offset), (lambda: message)


class Connector:
    """kafka.javaapi.consumer.ConsumerConnector with one stream; None is a time in which nothing comes."""

    def __init__(self, *records: Record | None) -> None:
        self._records: Iterator[Record | None] = iter(records)
        self._next: Record | None = None
        self.ended = False
        self.settings: dict[str, str] = {}
        self.taken: Callable[[Any], None] = lambda _: None

    def createMessageStreams(self, streams: dict[str, int]) -> Any:
        assert streams == {"t": 1}
        stream = SimpleNamespace(iterator=lambda: self)
        return SimpleNamespace(get=lambda _topic: SimpleNamespace(get=lambda _number: stream))

    def hasNext(self) -> bool:
        self._next = next(self._records, None)
        if self._next is None:
            raise TimedOut
        return True

    def next(self) -> Record | None:
        return self._next

    def shutdown(self) -> None:
        self.ended = True


class Told(Connector):
    """The same from 0.9 on, which has a listener."""

    def setConsumerRebalanceListener(self, listener: dict[str, Any]) -> None:
        self.taken = listener["beforeReleasingPartitions"]


def consumer(connector: Connector, monkeypatch: pytest.MonkeyPatch) -> ScalaConsumer:
    def configured(settings: dict[str, str]) -> dict[str, str]:
        connector.settings = settings
        return settings

    class Streams(dict[str, int]):
        put = dict.__setitem__

    classes: dict[str, Any] = {
        "kafka.consumer.ConsumerConfig": configured,
        "kafka.consumer.ConsumerTimeoutException": TimedOut,
        "kafka.consumer.Consumer": SimpleNamespace(createJavaConsumerConnector=lambda _config: connector),
        "java.util.HashMap": Streams,
        "java.lang.Integer": SimpleNamespace(valueOf=int),
    }
    jpype = SimpleNamespace(JClass=classes.__getitem__, JProxy=lambda _name, **heard: heard["dict"])
    monkeypatch.setitem(sys.modules, "jpype", jpype)
    monkeypatch.setattr(
        "harness.workloads.processes.scala_consumer.properties", lambda given, fixed: {**given, **fixed}
    )
    return ScalaConsumer("10.0.0.2:2181", {"group.id": "g"})


class ScalaIterator:
    """scala.collection.Iterator, which Python cannot iterate over."""

    def __init__(self, *values: int) -> None:
        self._values = list(values)

    def hasNext(self) -> bool:
        return bool(self._values)

    def next(self) -> int:
        return self._values.pop(0)


class Heard:
    """What an application hears of its partitions."""

    def __init__(self) -> None:
        self.given = list[tuple[str, int, int]]()
        self.taken = list[tuple[str, int]]()

    def on_assign(self, _: object, partitions: Sequence[TopicPartition]) -> None:
        self.given += [(one.topic, one.partition, one.offset) for one in partitions]

    def on_revoke(self, _: object, partitions: Sequence[TopicPartition]) -> None:
        self.taken += [(one.topic, one.partition) for one in partitions]

    def subscribe(self, of: ScalaConsumer) -> None:
        of.subscribe(["t"], on_assign=self.on_assign, on_revoke=self.on_revoke, on_lost=self.on_revoke)


@pytest.mark.parametrize("kind", [Connector, Told], ids=["0.8.2", "0.9"])
def test_records_and_the_partitions_that_they_come_from(kind: type[Connector], monkeypatch: pytest.MonkeyPatch) -> None:
    connector, heard = kind(Record(0, 4), Record(1, 7, None), Record(0, 5), None, None, Record(0, 6)), Heard()
    made = consumer(connector, monkeypatch)
    assert connector.settings == {"group.id": "g", "zookeeper.connect": "10.0.0.2:2181", "consumer.timeout.ms": "50"}
    heard.subscribe(made)
    read = made.consume(2, 0.0)
    assert [(one.partition(), one.offset(), one.value()) for one in read] == [(0, 4, b"v"), (1, 7, None)]
    assert [one.offset() for one in made.consume(9, 0.0)] == [5]
    assert made.consume(9, 0.0) == []
    assert heard.given == [("t", 0, 4), ("t", 1, 7)]
    made.close()
    assert connector.ended


def test_a_partition_that_was_taken_is_given_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    connector, heard = Told(Record(0, 4), Record(0, 4)), Heard()
    made = consumer(connector, monkeypatch)
    heard.subscribe(made)
    made.consume(1, 0.0)
    entry = SimpleNamespace(getKey=lambda: "t", getValue=lambda: SimpleNamespace(iterator=lambda: ScalaIterator(0)))
    connector.taken(SimpleNamespace(entrySet=lambda: [entry]))
    made.consume(1, 0.0)
    assert (heard.given, heard.taken) == ([("t", 0, 4), ("t", 0, 4)], [("t", 0)])
