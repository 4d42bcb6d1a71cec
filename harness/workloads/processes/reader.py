"""The final reader: it reads every partition from its beginning to the brokers' end offset and records all of it.

It is assigned the partitions (no group), never begins at another offset than told (`auto.offset.reset=error`), checks
batch checksums, and records each partition's end offset and that it was reached. Errors while leaders move are retried
until the limit: if a position is refused, the partition's bounds are requested again and reading continues from the
nearest offset that exists, which is recorded too. A client that gets no bounds for a while is replaced by another,
because it may keep what it heard of the cluster while that came up. (Seen with librdkafka 2 and Kafka 0.10.2: for five
minutes the client knew of no such partition, though every broker knew who leads it.)

Topics to which applications send their outputs are read once more, for what these were made from, and so are stores to
which they write (outputs.py).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from evidence.history import schema
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.outputs import read_outputs
from harness.workloads.processes.polls import ASSIGNED, Key, PollRecorder, named

BATCH: Final = 4_000
POLL_S: Final = 0.02
OFFSETS_S: Final = 2.0
CLIENT_S: Final = 15.0
"""How long a client is asked for bounds before another one is."""
LOST_POSITION: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})
FIXED: Final[Mapping[str, Any]] = {
    **ASSIGNED,
    "group.id": "kafka-chaos-final-read",
    "enable.partition.eof": True,
    "isolation.level": "read_uncommitted",
    "fetch.wait.max.ms": 10,
    "fetch.error.backoff.ms": 50,
}


class FinalReaderProcess:
    """Reads partitions to their ends and records every record."""

    def __init__(self, writer: HistoryWriter, bootstrap: str, settings: Mapping[str, Any]) -> None:
        self._writer = writer
        self._settings = child.client_settings(bootstrap, settings, fixed=FIXED)
        self._connect()
        self.errors: list[str] = []

    def _connect(self) -> None:
        self._client = Consumer(self._settings)
        self._polls = PollRecorder(self._writer, self._client, size=BATCH)

    def _bounds(self, key: Key, deadline: float) -> tuple[int, int] | None:
        """A log's first and end offset; None if no broker told them until the deadline. The client may be another one
        afterwards, which has no partitions assigned.
        """
        connected = time.monotonic()
        while (left_s := deadline - time.monotonic()) > 0:
            asked = time.monotonic()
            if asked - connected > CLIENT_S:
                self._client.close()
                self._connect()
                connected = asked
            try:
                return self._polls.watermarks(*key, min(OFFSETS_S, left_s))
            except KafkaException as error:
                self.errors.append(named(key, error.args[0]))
                # Without a leader the answer is an error at once: let metadata be looked up again before the next try.
                time.sleep(max(0.0, 0.1 - (time.monotonic() - asked)))
        return None

    def read(self, partitions: list[Key], deadline: float) -> dict[Key, tuple[int | None, int]]:
        """Read all to their ends; returns (end offset or None if it is not known, position reached) of each."""
        ends: dict[Key, int | None] = {}
        reached = dict.fromkeys(partitions, 0)
        for key in partitions:
            bounds = self._bounds(key, deadline)
            ends[key] = bounds[1] if bounds else None
        self._assign(reached)

        def unfinished() -> bool:
            return any(end is not None and reached[key] < end for key, end in ends.items())

        while unfinished() and time.monotonic() < deadline:
            seen = self._polls.poll(POLL_S)
            self._writer.flush_if_old()
            for key, offset in (*seen.positions.items(), *seen.ends.items()):
                reached[key] = max(reached[key], offset)
            for lost, error in seen.errors:
                self.errors.append(named(lost, error))
                if lost in ends and error.code() in LOST_POSITION:
                    bounds = self._bounds(lost, deadline)
                    ends[lost] = bounds[1] if bounds else None
                    if bounds:
                        low, high = bounds
                        self._assign(reached | {lost: min(max(reached[lost], low), high)})
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
        self._writer.flush()
        return {key: (ends[key], reached[key]) for key in partitions}

    def _assign(self, positions: Mapping[Key, int]) -> None:
        """Read every partition from its position on: the only way back for one whose position was refused, since a
        partition that is not being fetched cannot seek.
        """
        self._client.assign([TopicPartition(*key, offset or OFFSET_BEGINNING) for key, offset in positions.items()])

    def close(self) -> None:
        """Let go of the brokers."""
        self._client.close()


def main() -> None:
    """Read everything once the harness says go."""
    child.collect_garbage_rarely()
    with child.recording() as (arguments, commands, writer):
        reader = FinalReaderProcess(writer, arguments["bootstrap"], arguments["settings"])
        child.say(ready=True)
        if commands.wait() is not None:
            deadline = time.monotonic() + arguments["timeout_s"]
            seen = reader.read(child.partitions_of(arguments["topics"]), deadline)
            outputs, stores = child.partitions_of(arguments["outputs"]), arguments["stores"]
            if outputs or stores:
                bootstrap, settings = arguments["bootstrap"], arguments["settings"]
                read_outputs(writer, bootstrap, settings, outputs, stores, deadline, arguments["run"])
            child.say(
                done=True,
                errors=reader.errors[-5:],
                partitions=[[topic, number, end, position] for (topic, number), (end, position) in seen.items()],
            )
        reader.close()


if __name__ == "__main__":
    main()
