"""Transactional workloads against a mock broker: every step is on record, and an end that went wrong is unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException

from evidence.history import schema
from evidence.history.inputs import Input
from evidence.history.read import PLAIN_SCHEMA, plain, stream_batches
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import transactional
from harness.workloads.processes.processor import Processor
from harness.workloads.processes.transactional import Transactions

pytestmark = pytest.mark.slow

NOWHERE = "127.0.0.1:1"
LIMIT_S = 30.0


def rows_of(path: Path) -> list[dict[str, Any]]:
    batches = [plain(pa.Table.from_batches([batch])) for batch in stream_batches(path, [])]
    rows: list[dict[str, Any]] = pa.concat_tables([PLAIN_SCHEMA.empty_table(), *batches]).to_pylist()
    return rows


def transactions(writer: HistoryWriter, bootstrap: str, **settings: str) -> Transactions:
    return Transactions(writer, 3, "r", settings, bootstrap)


def test_each_step_of_a_transaction_is_on_record(tmp_path: Path, bootstrap: str, topic: str) -> None:
    path, told = tmp_path / "t.arrows", list[dict[str, Any]]()
    with HistoryWriter(path, "t") as writer:
        producer = transactions(writer, bootstrap, **{"transactional.id": topic})
        for sequence, end in enumerate((producer.commit, producer.abort)):
            assert producer.begin()["outcome"] == "ok"
            producer.reserve(topic, [0], sequence, 1)
            producer.send(topic, 0, sequence, source=Input("in", 2, 40 + sequence), tell=told.append)
            producer.flush(LIMIT_S)
            assert end()["outcome"] == "ok"
    rows = rows_of(path)
    steps = ["begin", "reserve", "send", "processed"]
    assert [row["kind"] for row in rows] == [*steps, "commit", *steps, "abort", "close"]
    assert [row["transaction"] for row in rows] == [0, None, 0, 0, 0, 1, None, 1, 1, 1, None]
    assert [(row["topic"], row["partition"], row["offset"]) for row in rows if row["kind"] == schema.PROCESSED] == [
        ("in", 2, 40),
        ("in", 2, 41),
    ]
    assert [(row["outcome"], row["producer"], row["sequence"]) for row in rows if row["kind"] == schema.SEND] == [
        ("ok", 3, 0),
        ("ok", 3, 1),
    ]
    assert [answer["sequence"] for answer in told] == [0, 1]


def test_an_end_that_fails_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactional, "LIMIT_S", 0.2)
    path = tmp_path / "t.arrows"
    with HistoryWriter(path, "t") as writer:
        producer = transactions(writer, NOWHERE, **{"transactional.id": "x"})
        for step in (producer.begin, producer.commit, producer.abort):
            assert step()["outcome"] == "info"
    rows = [row for row in rows_of(path) if row["kind"] != schema.CLOSE]
    assert [(row["kind"], row["outcome"], row["transaction"]) for row in rows] == [
        (kind, "info", 0) for kind in ("begin", "commit", "abort")
    ]
    assert all(row["error_name"] for row in rows)


class UnansweredOnce:
    """A client whose first commit is not answered; what it does afterwards is the true client's."""

    def __init__(self, client: Any) -> None:
        self._client, self.asked = client, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def commit_transaction(self, timeout_s: float) -> None:
        self.asked += 1
        if self.asked == 1:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "no answer", False, True))
        self._client.commit_transaction(timeout_s)


@pytest.mark.parametrize(("timeout_s", "asked", "outcome"), [(LIMIT_S, 2, "ok"), (1e-9, 1, "info")])
def test_a_commit_that_is_not_answered_is_asked_for_again_until_the_limit(
    tmp_path: Path, bootstrap: str, topic: str, timeout_s: float, asked: int, outcome: str
) -> None:
    with HistoryWriter(tmp_path / "t.arrows", "t") as writer:
        producer = transactions(writer, bootstrap, **{"transactional.id": f"{topic}-{asked}"})
        producer._client = client = UnansweredOnce(producer._client)
        assert producer.begin()["outcome"] == "ok"
        assert producer.commit(timeout_s)["outcome"] == outcome
    assert client.asked == asked


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_pipeline_names_the_input_of_each_output(
    tmp_path: Path, bootstrap: str, topic: str, exactly_once: bool
) -> None:
    path = tmp_path / "p.arrows"
    with HistoryWriter(tmp_path / "s.arrows", "s") as writer:
        source = transactions(writer, bootstrap)
        source.reserve(topic, [0], 0, 5)
        for sequence in range(5):
            source.send(topic, 0, sequence)
        source.flush(LIMIT_S)
    with HistoryWriter(path, "p") as writer:
        settings = {"transactional.id": topic} if exactly_once else {}
        pipeline = Processor(
            writer, transactions(writer, bootstrap, **settings), bootstrap, {},
            group=topic, inputs=[(topic, 0)], output=f"{topic}-out", output_partitions=1,
        )  # fmt: skip
        while pipeline.processed < 5:
            pipeline.round(0.5)
        pipeline.close()
    rows = rows_of(path)
    assert [row["offset"] for row in rows if row["kind"] == schema.PROCESSED] == list(range(5))
    assert [row["sequence"] for row in rows if row["kind"] == schema.PROCESSED] == list(range(5))
    assert [row["offset"] for row in rows if row["kind"] == schema.OFFSETS][-1] == 5
    within = {row["transaction"] is not None for row in rows if row["kind"] in ("poll", "send", "processed", "offsets")}
    assert within == {exactly_once}
    assert pipeline.errors == []
