from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from evidence.history import record, schema
from evidence.history.read import PLAIN_SCHEMA, plain, stream_batches
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child, load
from harness.workloads.processes.load import LoadSender
from harness.workloads.processes.single import Sender

pytestmark = pytest.mark.slow

NOWHERE = "127.0.0.1:1"


def table_of(path: Path) -> Any:
    complaints: list[str] = []
    batches = [plain(pa.Table.from_batches([batch])) for batch in stream_batches(path, complaints)]
    assert complaints == []
    return pa.concat_tables([PLAIN_SCHEMA.empty_table(), *batches]).to_pylist()


def sends_of(path: Path) -> Any:
    return [row for row in table_of(path) if row["kind"] == schema.SEND]


def a_load(writer: Any, bootstrap: str, topic: str, **changes: Any) -> Any:
    options: dict[str, Any] = {
        "producer": 3, "run": "r", "settings": {"linger.ms": "1"}, "bootstrap": bootstrap, "topic": topic,
        "partitions": [0, 2], "record_bytes": 100, "keys": 0,
    }  # fmt: skip
    return LoadSender(writer, **(options | changes))


def on_the_broker(bootstrap: str, topic: str, partitions: Any, count: Any) -> Any:
    """Every record of the partitions: (partition, offset) → (key, identity)."""
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "log_level": 0})
    client.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    found: dict[Any, Any] = {}
    while len(found) < count:
        for message in client.consume(1000, 1.0):
            assert message.error() is None, message.error()
            found[(message.partition(), message.offset())] = (message.key(), record.decode(message.value()))
    client.close()
    return found


@pytest.mark.parametrize("record_bytes", [1, 100, 1000])
@pytest.mark.parametrize("acks", ["all", "1"])
def test_every_record_of_a_load_is_recorded_as_the_broker_has_it(
    tmp_path: Path, bootstrap: str, topic: str, record_bytes: int, acks: str
) -> None:
    path = tmp_path / "l.arrows"
    with HistoryWriter(path, "l") as writer:
        settings = {"acks": acks, "linger.ms": "1"}
        sender = a_load(writer, bootstrap, topic, record_bytes=record_bytes, settings=settings)
        while sender.sent < 3000:
            sender.send(3000 - sender.sent)
            sender.poll(0.01)
        sender.close(30.0)
        assert (sender.sent, sender.acked, sender.failed, sender.in_flight) == (3000, 3000, 0, 0)
    rows = sends_of(path)
    assert sorted(row["sequence"] for row in rows) == list(range(3000))
    held = on_the_broker(bootstrap, topic, [0, 2], 3000)
    for row in rows:
        assert held[(row["partition"], row["offset"])][1] == record.Identity(record.run_hash("r"), 3, row["sequence"])
        assert row["outcome"] == "ok"
        assert row["acks"] == {"all": -1, "1": 1}[acks]
        assert row["invoked_ns"] < row["completed_ns"]


def test_a_record_has_the_key_that_the_harness_names(tmp_path: Path, bootstrap: str, topic: str) -> None:
    told: list[dict[str, Any]] = []
    with HistoryWriter(tmp_path / "p.arrows", "p") as writer:
        sender = Sender(writer, 3, "r", {}, bootstrap)
        for sequence, key in enumerate((None, "account", "\x00\x00\x00\x01")):
            sender.send(topic, 0, sequence, key=key, tell=told.append)
            sender.flush(30.0)
    held = on_the_broker(bootstrap, topic, [0], 3)
    assert [held[0, one["offset"]][0] for one in told] == [None, b"account", b"\x00\x00\x00\x01"]


def test_sequences_are_reserved_before_they_are_sent(
    tmp_path: Path, bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "RESERVED", 600)
    path = tmp_path / "l.arrows"
    with HistoryWriter(path, "l") as writer:
        sender = a_load(writer, bootstrap, topic)
        taken = sender.send(500)
        on_disk = [row for row in table_of(path) if row["kind"] == schema.RESERVE]
        assert taken == 500
        assert [(row["partition"], row["sequence"], row["count"]) for row in on_disk] == [(0, 0, 600), (2, 0, 600)]
        sender.send(500)
        assert [row["sequence"] for row in table_of(path) if row["kind"] == schema.RESERVE] == [0, 0, 600, 600]
        sender.close(30.0)


def test_a_small_batch_is_spread_over_the_partitions(tmp_path: Path, bootstrap: str, topic: str) -> None:
    path = tmp_path / "l.arrows"
    with HistoryWriter(path, "l") as writer:
        sender = a_load(writer, bootstrap, topic, partitions=[0, 1, 2])
        assert sender.send(7, spread=True) == 7
        sender.close(30.0)
    assert Counter(row["partition"] for row in sends_of(path)) == {0: 3, 1: 3, 2: 1}


def test_a_key_always_goes_to_one_partition(tmp_path: Path, bootstrap: str, topic: str) -> None:
    with HistoryWriter(tmp_path / "l.arrows", "l") as writer:
        sender = a_load(writer, bootstrap, topic, partitions=[0, 1, 2], keys=5)
        sender.send(60, spread=True)
        sender.close(30.0)
    found = on_the_broker(bootstrap, topic, [0, 1, 2], 60)
    homes = {(key, partition) for (partition, _), (key, _) in found.items()}
    assert homes == {(b"0", 0), (b"3", 0), (b"1", 1), (b"4", 1), (b"2", 2)}


def test_fewer_keys_than_partitions_leave_partitions_empty(tmp_path: Path, bootstrap: str, topic: str) -> None:
    with HistoryWriter(tmp_path / "l.arrows", "l") as writer:
        sender = a_load(writer, bootstrap, topic, partitions=[0, 1, 2], keys=1)
        sender.send(10)
        sender.close(30.0)
    assert {partition for partition, _ in on_the_broker(bootstrap, topic, [0, 1, 2], 10)} == {0}


def test_what_nobody_answers_is_recorded_as_unknown(tmp_path: Path) -> None:
    path = tmp_path / "l.arrows"
    with HistoryWriter(path, "l") as writer:
        sender = a_load(writer, NOWHERE, "t", settings={"message.timeout.ms": "200"})
        sender.send(20)
        sender.close(30.0)
        assert (sender.acked, sender.failed) == (0, 20)
    rows = sends_of(path)
    assert {(row["outcome"], row["error_name"], row["offset"]) for row in rows} == {("info", "_MSG_TIMED_OUT", None)}
    assert sorted((row["sequence"], row["partition"]) for row in rows) == [(n, 0) for n in range(20)]


def test_what_is_given_up_is_recorded_as_unknown(tmp_path: Path) -> None:
    path = tmp_path / "l.arrows"
    with HistoryWriter(path, "l") as writer:
        sender = a_load(writer, NOWHERE, "t")
        sender.send(20)
        sender.close(0.1)
        assert sender.in_flight == 0
    assert {(row["outcome"], row["error_name"]) for row in sends_of(path)} == {("info", "_PURGE_QUEUE")}
    assert len(sends_of(path)) == 20


def test_a_full_queue_is_recorded_as_never_sent(tmp_path: Path) -> None:
    path = tmp_path / "l.arrows"
    with HistoryWriter(path, "l") as writer:
        sender = a_load(writer, NOWHERE, "t", settings={"queue.buffering.max.messages": "5"})
        sender.send(8)
        assert (sender.sent, sender.failed) == (8, 3)
        sender.close(0.0)
    outcomes = Counter((row["outcome"], row["error_name"]) for row in sends_of(path))
    assert outcomes == {("fail", "_QUEUE_FULL"): 3, ("info", "_PURGE_QUEUE"): 5}
    assert {row["sequence"] for row in sends_of(path) if row["outcome"] == "fail"} == {5, 6, 7}


def test_the_ring_is_never_overrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "RING", 64)
    path = tmp_path / "l.arrows"
    with HistoryWriter(path, "l") as writer:
        sender = a_load(writer, NOWHERE, "t", partitions=[0])
        assert sender.send(100) == 64
        assert sender.send(1) == 0
        sender.close(0.0)
    assert sorted(row["sequence"] for row in sends_of(path)) == list(range(64))


def test_a_load_goes_round_the_ring(
    tmp_path: Path, bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "RING", 100)
    path = tmp_path / "l.arrows"
    with HistoryWriter(path, "l") as writer:
        sender = a_load(writer, bootstrap, topic)
        while sender.sent < 1000:
            sender.send(1000 - sender.sent)
            sender.poll(0.01)
        sender.close(30.0)
    rows = sends_of(path)
    assert sorted(row["sequence"] for row in rows) == list(range(1000))
    assert {row["partition"] for row in rows} == {0, 2}


def test_a_scripted_record_is_recorded_before_it_is_answered(
    tmp_path: Path, bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        sender, recorded = Sender(writer, 4, "r", {"acks": "1"}, bootstrap), list[Any]()
        monkeypatch.setattr(child, "say", lambda **answer: recorded.append((answer, sends_of(path))))
        sender.send_commanded({"id": 9, "topic": topic, "partition": 1, "sequence": 0})
        assert [row["kind"] for row in table_of(path)] == ["reserve"]
        while not recorded:
            sender.poll(0.05)
        ((answer, (row,)),) = recorded
        assert (answer.pop("id"), answer["outcome"], answer["offset"], answer["acks"]) == (9, "ok", 0, 1)
        assert {name: row[name] for name in answer} == answer
        assert sender.in_flight == 0
    assert on_the_broker(bootstrap, topic, [1], 1)[(1, 0)] == (None, record.Identity(record.run_hash("r"), 4, 0))


def test_a_scripted_record_that_cannot_be_sent(tmp_path: Path, bootstrap: str) -> None:
    path = tmp_path / "p.arrows"
    with HistoryWriter(path, "p") as writer:
        sender, answers = Sender(writer, 4, "r", {"queue.buffering.max.messages": "1"}, NOWHERE), list[Any]()
        for sequence in (0, 1):
            sender.send("t", 0, sequence, tell=answers.append)
        (answer,) = answers
        assert (answer["sequence"], answer["outcome"], answer["error"]) == (1, "fail", KafkaError._QUEUE_FULL)
        assert sender.in_flight >= 1  # librdkafka counts what it has to tell of its connections, too
        sender.flush(0.1)
    assert [(row["sequence"], row["outcome"]) for row in sends_of(path)] == [(1, "fail"), (0, "info")]
