"""Several producers in one process: each with its own sequences, its own history and its own count."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from evidence.errors import WaitTimeout
from evidence.history import schema
from evidence.history.writer import HistoryWriter
from evidence.rundir import RunDir
from evidence.timeline import Timeline
from harness.workloads.handles.client import Client
from harness.workloads.handles.producer_pool import ProducerPool as Handle
from harness.workloads.processes import child, single
from harness.workloads.processes.java import InThread
from harness.workloads.processes.producer_pool import RESERVED, PooledProducer, PoolProcess
from tests.unit.workloads.test_senders import sends_of, table_of


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(child, "say", lambda **message: told.append(message))
    return told


class Message:
    def offset(self) -> int:
        return 7


class Answering:
    """Answers when it is polled."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []

    def produce(self, topic: str, *, value: bytes, partition: int, on_delivery: Any) -> None:
        self.waiting.append(on_delivery)

    def flush(self, timeout_s: float) -> int:
        return 0

    def poll(self, timeout_s: float) -> int:
        waiting, self.waiting = self.waiting, []
        for on_delivery in waiting:
            on_delivery(None, Message())
        return len(waiting)


@pytest.fixture
def producers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(single, "open_producer", lambda *_: (Answering(), {"acks": "1"}))
    with HistoryWriter(tmp_path / "a.arrows", "a") as one, HistoryWriter(tmp_path / "b.arrows", "b") as two:
        yield [
            PooledProducer(
                writer, {"producer": number, "settings": {"acks": "1"}, "bootstrap": "x"}, "run", {"name": "java-1"}
            )
            for number, writer in ((4, one), (5, two))
        ]


def test_each_counts_its_own_sequences_and_records_in_its_own_history(
    producers: Any, said: list[dict[str, Any]], tmp_path: Path
) -> None:
    made = PoolProcess(producers)
    made.obey({"id": 1, "send": [[0, "t", 0, 2], [1, "t", 1, 1]]})
    assert said == [{"id": 1, "first": [0, 0], "progress": [[2, 0, 0, 0], [1, 0, 0, 0]]}]
    made.go_on()
    made.obey({"id": 2, "send": [[0, "t", 0, 1]]})
    assert said[-1] == {"id": 2, "first": [2], "progress": [[3, 2, 0, 0], [1, 1, 0, 0]]}
    made.go_on()
    made.report()
    made.report()
    assert said[2:] == [{"progress": [[3, 3, 0, 0], [1, 1, 0, 0]]}]
    for producer in producers:
        producer.close(0.0)
    mine = [(row["producer"], row["sequence"], row["offset"]) for row in sends_of(tmp_path / "a.arrows")]
    assert mine == [(4, 0, 7), (4, 1, 7), (4, 2, 7)]
    assert [row["process"] for row in sends_of(tmp_path / "b.arrows")] == ["b"]


def test_a_sequence_is_reserved_before_it_is_sent(producers: Any, tmp_path: Path) -> None:
    producers[0].send("t", 0, 2)
    (reserve,) = table_of(tmp_path / "a.arrows")
    assert (reserve["kind"], reserve["sequence"], reserve["count"]) == (schema.RESERVE, 0, 2)
    producers[0].send("t", 0, 1, ahead=RESERVED)
    producers[0].send("t", 0, 1, ahead=RESERVED)
    reserved = [(row["sequence"], row["count"]) for row in table_of(tmp_path / "a.arrows")]
    assert reserved == [(0, 2), (2, RESERVED)]


def test_a_stream_goes_on_until_it_is_ended(
    producers: Any, said: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    made = PoolProcess(producers)
    made.obey({"id": 1, "rate": 10.0, "to": [[1, "t", 1]]})
    for _ in range(5):
        now[0] += 0.1
        assert made.go_on()
    made.obey({"id": 2, "rate": 0.0, "to": []})
    now[0] += 10.0
    assert not made.go_on()
    assert [producer.sent for producer in producers] == [0, 5]


def test_one_by_one_waits_for_each_answer(producers: Any, said: list[dict[str, Any]]) -> None:
    PoolProcess(producers).obey({"id": 3, "one_by_one": [0, "t", 0, 20]})
    assert producers[0].progress == [20, 20, 0, 0]
    assert said == [{"id": 3, "first": [0], "progress": [[20, 20, 0, 0], [0, 0, 0, 0]]}]


def test_a_client_in_a_thread_of_its_own_sends_in_order_and_does_not_hold_up_its_caller() -> None:
    gate, sent, done = threading.Event(), [], threading.Event()

    class Synchronous:
        def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Any) -> None:
            gate.wait(10)
            sent.append(value)
            if len(sent) == 2:
                done.set()

        def configuration(self) -> dict[str, str]:
            return {"a": "b"}

    client = InThread(Synchronous())
    client.send("t", 0, None, b"1", lambda *_: None)
    client.send("t", 0, None, b"2", lambda *_: None)
    assert sent == []
    gate.set()
    assert done.wait(10)
    assert (sent, client.configuration()) == ([b"1", b"2"], {"a": "b"})


class Child:
    """A process that has said these lines already."""

    def __init__(self, *said: dict[str, Any]) -> None:
        self.said, self.told = list(said), list[dict[str, Any]]()

    def receive(self, timeout_s: float, what: str) -> dict[str, Any]:
        if not self.said:
            raise WaitTimeout(what)
        return self.said.pop(0)

    def send_message(self, **message: Any) -> None:
        self.told.append(message)


@contextmanager
def handle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *said: dict[str, Any]) -> Iterator[Handle]:
    child_ = Child({"ready": True, "configurations": [{}, {}]}, *said)
    monkeypatch.setattr(Client, "start", lambda *_, **__: child_)
    clients = [Client(RunDir(tmp_path), f"producer-{n}", n, "x", {}) for n in (1, 2)]
    with closing(Timeline(tmp_path / "timeline.jsonl")) as timeline:
        yield Handle(clients, {"name": "java-1"}, timeline)


def test_what_is_sent_is_unanswered_from_the_answer_to_the_command_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new = [[3, 3, 0, 0], [3, 3, 0, 0]], [[5, 3, 0, 0], [3, 3, 0, 0]]
    with handle(monkeypatch, tmp_path, {"progress": old}, {"id": 1, "first": [3], "progress": new}) as made:
        assert made.send([(0, "t", 0, 2)]) == [3]
        assert [one.unanswered for one in made.tallies] == [2, 0]
        with pytest.raises(WaitTimeout, match="not all answered"):
            made.wait(lambda tallies: all(one.unanswered == 0 for one in tallies), "all answered", 0.01)


def test_a_wait_ends_with_the_progress_that_satisfies_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = ({"progress": [[1, 0, 0, 0], [1, 1, 0, 0]]}, {"progress": [[1, 0, 0, 1]] * 2})
    with handle(monkeypatch, tmp_path, *told) as made:
        made.ready()
        made.wait(lambda tallies: tallies[0].info == 1, "known", 5.0)
        assert made.tallies[0].unanswered == 0


@pytest.mark.parametrize("fatal", [True, False])
def test_a_producer_that_cannot_go_on_fails_its_records_and_not_the_process(
    producers: Any, monkeypatch: pytest.MonkeyPatch, fatal: bool
) -> None:
    error = KafkaException(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "gone", fatal))

    def cannot(_self: object, timeout_s: float) -> int:
        raise error

    monkeypatch.setattr(Answering, "poll", cannot)
    with nullcontext() if fatal else pytest.raises(KafkaException):
        producers[0].poll()


def test_with_acks_0_an_offset_that_the_client_made_up_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka gives the records of a batch -1001, -1000 … if nobody told it where the first one lies."""
    monkeypatch.setattr(single, "open_producer", lambda *_: (Answering(), {"acks": "0"}))
    with HistoryWriter(tmp_path / "a.arrows", "a") as writer:
        producer = PooledProducer(
            writer, {"producer": 4, "settings": {"acks": "0"}, "bootstrap": "x"}, "run", {"name": "l"}
        )
        producer.send("t", 0, 1)
        producer.poll()
        producer.close(0.0)
    assert [(row["outcome"], row["offset"]) for row in sends_of(tmp_path / "a.arrows")] == [(schema.OK, None)]
