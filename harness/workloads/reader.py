"""The final reader: every partition from its beginning to the brokers' end offset, everything seen recorded.

It is assigned the partitions (no group), refuses to begin elsewhere than told (`auto.offset.reset=error`), checks
batch checksums, and records for each partition the end offset it was told and that it got there. Errors while leaders
move are waited out until the limit.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from harness.history import record, schema
from harness.history.writer import HistoryWriter
from harness.workloads import child

BATCH: Final = 2_000
CONSUME_S: Final = 0.1
OFFSETS_S: Final = 2.0


class _Columns:
    """What was read of one partition since the last flush."""

    def __init__(self) -> None:
        self.offset, self.producer, self.sequence = array("q"), array("i"), array("q")
        self.completed, self.timestamp, self.epoch = array("q"), array("q"), array("i")
        self.valid: list[bool] = []


class FinalReader:
    """Reads partitions to their ends and records every record."""

    def __init__(self, writer: HistoryWriter, bootstrap: str, settings: Mapping[str, Any]) -> None:
        self._writer = writer
        fixed = {
            "bootstrap.servers": bootstrap,
            "group.id": "kafka-chaos-final-read",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "check.crcs": True,
            "isolation.level": "read_uncommitted",
            "fetch.wait.max.ms": 10,
            "log_level": 0,
        }
        self._client = Consumer(fixed | dict(settings))
        self._columns: dict[tuple[str, int], _Columns] = {}
        self.errors: list[str] = []

    def end_offset(self, topic: str, partition: int, deadline: float) -> int | None:
        """The broker's end offset (what a consumer may read up to); None if none answered until the deadline."""
        while time.monotonic() < deadline:
            try:
                invoked_ns = time.monotonic_ns()
                _, high = self._client.get_watermark_offsets(TopicPartition(topic, partition), timeout=OFFSETS_S)
            except KafkaException as error:
                self.errors.append(f"{topic}-{partition}: {error.args[0].name()}")
                continue
            self._writer.append(
                kind=schema.END_OFFSETS,
                outcome=schema.OK,
                topic=topic,
                partition=partition,
                offset=high,
                invoked_ns=invoked_ns,
                completed_ns=time.monotonic_ns(),
            )
            return int(high)
        return None

    def read(self, partitions: list[tuple[str, int]], deadline: float) -> dict[tuple[str, int], tuple[int | None, int]]:
        """Read all to their ends; returns (end offset or None, position reached) of each."""
        ends = {key: self.end_offset(*key, deadline) for key in partitions}
        reached = dict.fromkeys(partitions, 0)
        self._client.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for topic, number in partitions])

        def unfinished() -> bool:
            return any(end is not None and reached[key] < end for key, end in ends.items())

        while unfinished() and time.monotonic() < deadline:
            for message in self._client.consume(BATCH, CONSUME_S):
                key, offset = (str(message.topic()), int(message.partition() or 0)), int(message.offset() or 0)
                error = message.error()
                if error is None:
                    self._take(key, message)
                    reached[key] = offset + 1
                elif error.code() == KafkaError._PARTITION_EOF:
                    reached[key] = max(reached[key], offset)
                else:
                    self.errors.append(f"{key[0]}-{key[1]}: {error.name()}: {error.str()}")
            self.flush()
        for (topic, number), end in ends.items():
            if end is not None and reached[(topic, number)] >= end:
                self._writer.append(
                    kind=schema.FINAL_READ,
                    outcome=schema.OK,
                    topic=topic,
                    partition=number,
                    offset=end,
                    completed_ns=time.monotonic_ns(),
                )
        return {key: (ends[key], reached[key]) for key in partitions}

    def _take(self, key: tuple[str, int], message: Any) -> None:
        columns = self._columns.setdefault(key, _Columns())
        identity = record.decode(message.value())
        columns.offset.append(message.offset())
        columns.producer.append(schema.UNKNOWN_IDENTITY if identity is None else identity.producer)
        columns.sequence.append(schema.UNKNOWN_IDENTITY if identity is None else identity.sequence)
        columns.completed.append(time.monotonic_ns())
        columns.timestamp.append(message.timestamp()[1])
        epoch = message.leader_epoch()
        columns.epoch.append(-1 if epoch is None else epoch)
        columns.valid.append(identity is not None)

    def flush(self) -> None:
        """Write down what was read."""
        for (topic, number), columns in self._columns.items():
            self._writer.append_columns(
                len(columns.offset),
                kind=schema.POLL,
                outcome=schema.OK,
                topic=topic,
                partition=number,
                offset=memoryview(columns.offset),
                producer=memoryview(columns.producer),
                sequence=memoryview(columns.sequence),
                completed_ns=memoryview(columns.completed),
                timestamp_ms=memoryview(columns.timestamp),
                leader_epoch=memoryview(columns.epoch),
                valid=columns.valid,
            )
        self._columns.clear()

    def close(self) -> None:
        self._client.close()


def main() -> None:
    """Read everything once the harness says go."""
    arguments = child.read_arguments()
    deadline = time.monotonic() + arguments["timeout_s"]

    def stop() -> None:
        nonlocal deadline
        deadline = 0.0

    child.live_with_parent(stop)
    with HistoryWriter(Path(arguments["path"]), arguments["process"]) as writer:
        reader = FinalReader(writer, arguments["bootstrap"], arguments["settings"])
        child.say(ready=True)
        child.commands().get()
        partitions = [(topic, number) for topic, numbers in arguments["topics"].items() for number in numbers]
        seen = reader.read(partitions, deadline)
        child.say(
            done=True,
            errors=reader.errors[-5:],
            partitions=[[topic, number, end, position] for (topic, number), (end, position) in seen.items()],
        )
        reader.close()


if __name__ == "__main__":
    main()
