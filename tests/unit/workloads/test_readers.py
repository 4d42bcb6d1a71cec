import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Producer

from evidence.history import record, schema
from evidence.history.read import plain, stream_batches
from evidence.history.writer import HistoryWriter
from harness.workloads.processes.consumer import BackgroundReader
from harness.workloads.processes.polls import PollRecorder
from harness.workloads.processes.reader import FinalReaderProcess

pytestmark = pytest.mark.slow

RUN = record.run_hash("r")


def rows_of(path: Path, kind: Any = None) -> Any:
    complaints: list[str] = []
    tables = [plain(pa.Table.from_batches([batch])) for batch in stream_batches(path, complaints)]
    assert complaints == []
    rows = pa.concat_tables(tables).to_pylist()
    return [row for row in rows if kind in (None, row["kind"])]


def put(client: Any, topic: str, partition: Any, values: Any) -> Any:
    """Write values to the mock cluster."""
    for value in values:
        client.produce(topic, value=value, partition=partition)
    assert client.flush(10) == 0


def ours(first: int, count: int) -> list[bytes]:
    return [record.encode(RUN, 1, first + number, b"x" * number) for number in range(count)]


def test_a_final_read_sees_everything(tmp_path: Path, mock_cluster: Producer, bootstrap: str, topic: str) -> None:
    put(mock_cluster, topic, 0, [*ours(0, 5), b"not ours", record.encode(RUN, 1, 5)[:-1] + b"!"])
    put(mock_cluster, topic, 3, ours(100, 2))
    path = tmp_path / "f.arrows"
    with HistoryWriter(path, "f") as writer:
        reader = FinalReaderProcess(writer, bootstrap, {})
        seen = reader.read([(topic, 0), (topic, 1), (topic, 3)], time.monotonic() + 30)
        reader.close()
    assert seen == {(topic, 0): (7, 7), (topic, 1): (0, 0), (topic, 3): (2, 2)}
    polls = rows_of(path, schema.POLL)
    found = {
        partition: [
            (row["offset"], row["producer"], row["sequence"], row["valid"])
            for row in polls
            if row["partition"] == partition
        ]
        for partition in (0, 1, 3)
    }
    assert found[0] == [*((n, 1, n, True) for n in range(5)), (5, -1, -1, False), (6, -1, -1, False)]
    assert found[1] == []
    assert found[3] == [(0, 1, 100, True), (1, 1, 101, True)]
    assert all(row["completed_ns"] >= row["invoked_ns"] for row in polls)
    ends = {(row["partition"], row["offset"]) for row in rows_of(path, schema.END_OFFSETS)}
    assert ends == {(row["partition"], row["offset"]) for row in rows_of(path, schema.FINAL_READ)}
    assert ends == {(0, 7), (1, 0), (3, 2)}


def test_a_final_read_that_nobody_answers_says_so(tmp_path: Path) -> None:
    path = tmp_path / "f.arrows"
    with HistoryWriter(path, "f") as writer:
        reader = FinalReaderProcess(writer, "127.0.0.1:1", {})
        seen = reader.read([("t", 0)], time.monotonic() + 0.5)
        reader.close()
    assert seen == {("t", 0): (None, 0)}
    assert any("t-0" in error for error in reader.errors)
    assert rows_of(path, schema.FINAL_READ) == []


def read_until(reader: Any, count: Any) -> Any:
    while reader.read < count:
        reader.poll(0.1)


def test_a_background_reader_reads_what_comes(
    tmp_path: Path, mock_cluster: Producer, bootstrap: str, topic: str
) -> None:
    path = tmp_path / "c.arrows"
    with HistoryWriter(path, "c") as writer:
        reader = BackgroundReader(writer, bootstrap, {}, group="g", assign=[(topic, 0), (topic, 1)])
        put(mock_cluster, topic, 0, ours(0, 3))
        read_until(reader, 3)
        put(mock_cluster, topic, 1, ours(10, 2))
        put(mock_cluster, topic, 0, ours(3, 1))
        read_until(reader, 6)
        reader.close()
        assert reader.positions == {(topic, 0): 4, (topic, 1): 2}
    polls = rows_of(path, schema.POLL)
    seen = sorted((row["partition"], row["offset"], row["sequence"]) for row in polls)
    assert seen == [(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 3, 3), (1, 0, 10), (1, 1, 11)]
    assert [(row["partition"], row["offset"]) for row in rows_of(path, schema.ASSIGN)] == [(0, None), (1, None)]


def test_a_position_that_does_not_exist_is_no_silent_reset(
    tmp_path: Path, mock_cluster: Producer, bootstrap: str, topic: str
) -> None:
    put(mock_cluster, topic, 0, ours(0, 3))
    path = tmp_path / "c.arrows"
    with HistoryWriter(path, "c") as writer:
        reader = BackgroundReader(writer, bootstrap, {}, group="g", assign=[(topic, 0), (topic, 1)])
        read_until(reader, 3)
        reader.positions[(topic, 0)] = 77
        reader._assign()
        put(mock_cluster, topic, 1, ours(10, 1))
        read_until(reader, 7)
        reader.close()
    assert {row["error_name"] for row in rows_of(path, schema.POLL_ERROR)} == {"_AUTO_OFFSET_RESET"}
    assigned = [row["offset"] for row in rows_of(path, schema.ASSIGN) if row["partition"] == 0]
    assert assigned == [None, 77, 0]
    assert [row["offset"] for row in rows_of(path, schema.POLL) if row["partition"] == 0] == [0, 1, 2, 0, 1, 2]


def test_a_subscriber_records_what_it_is_given(
    tmp_path: Path, mock_cluster: Producer, bootstrap: str, topic: str
) -> None:
    put(mock_cluster, topic, 2, ours(0, 3))
    path = tmp_path / "c.arrows"
    with HistoryWriter(path, "c") as writer:
        reader = BackgroundReader(writer, bootstrap, {}, group=topic, subscribe=[topic])
        read_until(reader, 3)
        reader.close()
    assert {row["partition"] for row in rows_of(path, schema.ASSIGN)} == {0, 1, 2, 3}
    assert {(row["partition"], row["outcome"]) for row in rows_of(path, schema.REVOKE)} == {
        (partition, "ok") for partition in range(4)
    }
    assert [row["sequence"] for row in rows_of(path, schema.POLL)] == [0, 1, 2]


class Said:
    """A message as confluent_kafka hands it out."""

    def __init__(self, topic: str | None, partition: Any, offset: Any, value: Any = b"", error: Any = None) -> None:
        self._said = (topic, partition, offset, value, error)

    def topic(self) -> Any:
        return self._said[0]

    def partition(self) -> Any:
        return self._said[1]

    def offset(self) -> Any:
        return self._said[2]

    def value(self) -> Any:
        return self._said[3]

    def error(self) -> Any:
        return self._said[4]

    def leader_epoch(self) -> Any:
        return None if self._said[1] else 4


class Client:
    """A consumer that says what it was told to."""

    def __init__(self, messages: Any) -> None:
        self._messages = messages

    def consume(self, size: Any, timeout: Any) -> Any:
        return self._messages


def test_one_poll_of_several_topics_and_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("offset", "partition", "value"):
        monkeypatch.setattr(f"harness.workloads.processes.polls._{name}_of", getattr(Said, name))
    messages = [
        Said("a", 0, 5, record.encode(RUN, 1, 50)),
        Said("a", 0, 7, record.encode(RUN, 1, 51)),
        Said("b", 0, 0, None),
        Said("b", 1, 3, record.encode(RUN, 2, 9)),
        Said("b", 0, -1001, error=KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)),
        Said("b", 2, 12, error=KafkaError(KafkaError._PARTITION_EOF)),
        Said(None, None, None, error=KafkaError(KafkaError._ALL_BROKERS_DOWN)),
        Said("a", 0, 8, record.encode(RUN, 1, 52)),
    ]
    path = tmp_path / "c.arrows"
    with HistoryWriter(path, "c") as writer:
        client: Any = Client(messages)
        seen = PollRecorder(writer, client, size=10).poll(0.0)
        client = Client([])
        assert PollRecorder(writer, client, size=10).poll(0.0).records == 0
    assert seen.records == 5
    assert seen.positions == {("a", 0): 9, ("b", 0): 1, ("b", 1): 4}
    assert seen.ends == {("b", 2): 12}
    assert [(key, error.name()) for key, error in seen.errors] == [
        (("b", 0), "NOT_LEADER_FOR_PARTITION"),
        (None, "_ALL_BROKERS_DOWN"),
    ]
    polls = rows_of(path, schema.POLL)
    assert [(row["topic"], row["partition"], row["offset"], row["sequence"], row["valid"]) for row in polls] == [
        ("a", 0, 5, 50, True),
        ("a", 0, 7, 51, True),
        ("b", 0, 0, -1, False),
        ("b", 1, 3, 9, True),
        ("a", 0, 8, 52, True),
    ]
    assert [row["leader_epoch"] for row in polls] == [4, 4, 4, None, 4]
    assert len({row["op"] for row in polls}) == 1
    errors = rows_of(path, schema.POLL_ERROR)
    assert [(row["topic"], row["partition"], row["outcome"]) for row in errors] == [
        ("b", 0, "fail"),
        (None, None, "fail"),
    ]


def test_records_that_count_up_across_partitions_stay_with_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("offset", "partition", "value"):
        monkeypatch.setattr(f"harness.workloads.processes.polls._{name}_of", getattr(Said, name))
    messages = [Said("a" if n < 60 else "b", int(n >= 37), n, record.encode(RUN, 1, n)) for n in range(100)]
    path = tmp_path / "c.arrows"
    with HistoryWriter(path, "c") as writer:
        client: Any = Client(list(messages))
        seen = PollRecorder(writer, client, size=100).poll(0.0)
    assert seen.positions == {("a", 0): 37, ("a", 1): 60, ("b", 1): 100}
    rows = rows_of(path, schema.POLL)
    assert [(row["topic"], row["partition"], row["offset"], row["sequence"], row["leader_epoch"]) for row in rows] == [
        ("a" if n < 60 else "b", int(n >= 37), n, n, None if n >= 37 else 4) for n in range(100)
    ]
    assert {(row["op"], row["valid"], row["producer"]) for row in rows} == {(0, True, 1)}


def test_a_record_that_fits_into_the_hole_of_another_partition_is_not_taken_for_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offset 2 of partition 0 is a transaction's marker; partition 1 has a record at just this offset."""
    for name in ("offset", "partition", "value"):
        monkeypatch.setattr(f"harness.workloads.processes.polls._{name}_of", getattr(Said, name))
    path = tmp_path / "c.arrows"
    with HistoryWriter(path, "c") as writer:
        client: Any = Client([Said("a", int(n == 2), n, record.encode(RUN, 1, n)) for n in range(5)])
        PollRecorder(writer, client, size=10).poll(0.0)
    assert [(row["partition"], row["offset"]) for row in rows_of(path, schema.POLL)] == [
        (0, 0),
        (0, 1),
        (1, 2),
        (0, 3),
        (0, 4),
    ]


class Moving:
    """A consumer of a log that is truncated under it: its position is refused, then it reads on from where told."""

    def __init__(self) -> None:
        self.high = 5
        self.assigned: list[int] = []
        self._polls = [
            [Said("t", 0, n, record.encode(RUN, 1, n)) for n in range(2)],
            [Said("t", 0, -1001, error=KafkaError(KafkaError._AUTO_OFFSET_RESET))],
        ]

    def get_watermark_offsets(self, partition: Any, timeout: Any) -> Any:
        return (0, self.high)

    def assign(self, partitions: Any) -> Any:
        (one,) = partitions
        self.assigned.append(one.offset)
        if one.offset >= 0:
            self._polls.append([Said("t", 0, one.offset, record.encode(RUN, 1, 8))])

    def consume(self, size: Any, timeout: Any) -> Any:
        if self._polls and len(self._polls[0]) == 1:
            self.high = 3
        return self._polls.pop(0) if self._polls else []


def test_a_final_read_goes_on_where_the_log_was_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("offset", "partition", "value"):
        monkeypatch.setattr(f"harness.workloads.processes.polls._{name}_of", getattr(Said, name))
    client = Moving()
    monkeypatch.setattr("harness.workloads.processes.reader.Consumer", lambda settings: client)
    path = tmp_path / "f.arrows"
    with HistoryWriter(path, "f") as writer:
        seen = FinalReaderProcess(writer, "b", {}).read([("t", 0)], time.monotonic() + 10)
    assert client.assigned == [OFFSET_BEGINNING, 2]
    assert seen == {("t", 0): (3, 3)}
    assert [row["offset"] for row in rows_of(path, schema.END_OFFSETS)] == [5, 3]
    assert [row["offset"] for row in rows_of(path, schema.FINAL_READ)] == [3]
    assert [row["error_name"] for row in rows_of(path, schema.POLL_ERROR)] == ["_AUTO_OFFSET_RESET"]


class Stuck:
    """A consumer that never learns of the partition."""

    def __init__(self) -> None:
        self.closed = False

    def get_watermark_offsets(self, partition: Any, timeout: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))

    def close(self) -> None:
        self.closed = True


def test_a_client_that_is_told_nothing_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("offset", "partition", "value"):
        monkeypatch.setattr(f"harness.workloads.processes.polls._{name}_of", getattr(Said, name))
    monkeypatch.setattr("harness.workloads.processes.reader.CLIENT_S", 0.2)
    stuck = Stuck()
    clients = iter([stuck, Moving()])
    monkeypatch.setattr("harness.workloads.processes.reader.Consumer", lambda settings: next(clients))
    with HistoryWriter(tmp_path / "f.arrows", "f") as writer:
        reader = FinalReaderProcess(writer, "b", {})
        seen = reader.read([("t", 0)], time.monotonic() + 10)
    assert seen == {("t", 0): (3, 3)}
    assert stuck.closed
    assert reader.errors[0] == "t-0: _UNKNOWN_PARTITION"
