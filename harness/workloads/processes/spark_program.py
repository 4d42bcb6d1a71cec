"""The programs of applications of Spark Structured Streaming, through PySpark (spark.py): Kafka to three sinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evidence.history.inputs import Input
from harness.workloads.stores.types import Output, Store

BATCHES: Final = ("spark-batches", 0)
"""Beside which name a store keeps the next batch."""
Line = tuple[str, int, int, bytes]
"""The place of an input, and the output that is made of it."""


def inputs(spark: Any, bootstrap: str, topic: str, settings: Mapping[str, str]) -> Any:
    """The stream of a topic's records, from its first one on."""
    source = spark.readStream.format("kafka").options(**settings)
    source = source.option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
    return source.option("startingOffsets", "earliest").load()


def to_kafka(spark: Any, given: Any, bootstrap: str, output: str, lines: Sequence[Line]) -> Any:
    """Kafka's sink: each input becomes the line that names it."""
    made = spark.createDataFrame(lines, "topic string, partition int, offset bigint, line binary")
    outputs = given.drop("value").join(made, ["topic", "partition", "offset"])
    sink = outputs.selectExpr("line AS value").writeStream.format("kafka")
    return sink.option("kafka.bootstrap.servers", bootstrap).option("topic", output)


def to_files(given: Any, directory: str, run: str, producer: int) -> Any:
    """The file sink: each input becomes a line of text."""
    line = f"concat_ws(' ', '{run}', '{producer}', topic, partition, offset) AS value"
    return given.selectExpr(line).writeStream.format("text").option("path", directory)


class ToStore:
    """What foreachBatch calls: the outputs of a batch are one transaction of a store."""

    def __init__(self, store: Store, producer: int, *, by_batch_id: bool) -> None:
        self._store, self._producer, self._by_batch_id = store, producer, by_batch_id
        self.made = 0

    def __call__(self, batch: Any, batch_id: int) -> None:
        """Write a batch; `by_batch_id` not if the store says that it has it, and says so from now on."""
        if self._by_batch_id and batch_id < (self._store.next_of(BATCHES) or 0):
            return
        places = [Input(row.topic, row.partition, row.offset) for row in batch.collect()]
        self._store.write([Output(self._producer, self.made + number, place) for number, place in enumerate(places)])
        if self._by_batch_id:
            self._store.write_offsets({BATCHES: batch_id + 1})
        self._store.commit()
        self.made += len(places)
