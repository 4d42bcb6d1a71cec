"""What a client in the Java virtual machine is asked for, and how it answers, without one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from evidence.history.writer import HistoryWriter
from harness.workloads.processes import single, transactional
from harness.workloads.processes.java import Failure, Heard, JvmTransactions
from harness.workloads.processes.transactional import Transactions
from tests.unit.workloads.test_transactions import rows_of

TOO_LATE = Failure(KafkaError.REQUEST_TIMED_OUT, "REQUEST_TIMED_OUT", again=True)
FENCED = Failure(KafkaError.INVALID_PRODUCER_EPOCH, "INVALID_PRODUCER_EPOCH")


class Client:
    """In the place of KafkaProducer: takes every record, and fails at steps as told."""

    def __init__(self, **fails: list[Failure]) -> None:
        self.done: list[str] = []
        self._fails = fails

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Heard) -> None:
        self.done.append(f"send {len(value)} bytes to {topic}-{partition}")
        heard(None, 4)

    def transact(self, step: str, *arguments: Any) -> None:
        self.done.append(" ".join([step, *map(str, arguments)]))
        if self._fails.get(step):
            raise KafkaException(self._fails[step].pop(0))

    def offsets(self, places: Sequence[TopicPartition]) -> str:
        return ", ".join(f"{one.topic}-{one.partition}@{one.offset}" for one in places)

    def configuration(self) -> dict[str, str]:
        return {}


def transactions(client: Client, writer: HistoryWriter, monkeypatch: pytest.MonkeyPatch) -> Transactions:
    def opened(library: Any, bootstrap: str, settings: Any) -> tuple[JvmTransactions, dict[str, str]]:
        assert library["name"] == "java-4.3.1"
        return JvmTransactions(client), {}

    monkeypatch.setattr(single, "open_producer", opened)
    return Transactions(writer, 1, "r", {"transactional.id": "x"}, "nowhere", {"name": "java-4.3.1"})


def test_the_steps_of_a_transaction_are_kafka_producers_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, path = Client(), tmp_path / "t.arrows"
    with HistoryWriter(path, "t") as writer:
        producer = transactions(client, writer, monkeypatch)
        for end in (producer.commit, producer.abort):
            producer.begin()
            producer.reserve("t", [0], 0, 1)
            producer.send("t", 0, 0, record_bytes=1000)
            producer.deliver(1.0)
            assert end()["outcome"] == "ok"
    begun = ["beginTransaction", "send 1000 bytes to t-0"]
    assert client.done == ["initTransactions", *begun, "commitTransaction", *begun, "abortTransaction"]
    steps = ["begin", "reserve", "send"]
    assert [row["kind"] for row in rows_of(path)] == [*steps, "commit", *steps, "abort", "close"]


def test_offsets_go_with_the_transaction_for_a_member_or_a_group() -> None:
    client = Client()
    JvmTransactions(client).send_offsets_to_transaction([TopicPartition("t", 1, 7)], "group", 1.0)
    assert client.done == ["sendOffsetsToTransaction t-1@7 group"]


def test_a_step_that_took_too_long_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(commitTransaction=[TOO_LATE])
    with HistoryWriter(tmp_path / "t.arrows", "t") as writer:
        producer = transactions(client, writer, monkeypatch)
        producer.begin()
        assert producer.commit()["outcome"] == "ok"
    assert client.done[-2:] == ["commitTransaction"] * 2


@pytest.mark.parametrize(
    ("failures", "timeout_s", "told"),
    [([FENCED], 30.0, "INVALID_PRODUCER_EPOCH"), ([TOO_LATE] * 9, 0.0, "REQUEST_TIMED_OUT")],
    ids=["it is fenced", "again and again"],
)
def test_a_step_that_fails_is_unknown_and_says_why(
    failures: list[Failure], timeout_s: float, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactional, "LIMIT_S", timeout_s)
    with HistoryWriter(tmp_path / "t.arrows", "t") as writer:
        producer = transactions(Client(commitTransaction=list(failures)), writer, monkeypatch)
        producer.begin()
        ended = producer.commit()
    assert (ended["outcome"], ended["error_name"]) == ("info", told)
