"""A load generator: many records, recorded at a cost that stays small beside sending them.

One delivery callback serves all records. It takes the sequence from the record's own header, so it needs no closure
per record, and the invocation times from a ring of the records in flight. Columns are preallocated arrays that become
one Arrow batch each time they are full or half a second old. Sequences are reserved in blocks, ahead of use.
"""

from __future__ import annotations

import queue
import struct
import time
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError, Producer

from harness.history import record, schema
from harness.history.outcomes import outcome_of
from harness.history.writer import HistoryWriter
from harness.workloads import child
from harness.workloads.scripted import ACKS

RESERVED: Final = 50_000
BLOCK: Final = 500
FLUSH_S: Final = 0.25
REPORT_S: Final = 0.05
STOP_LIMIT_S: Final = 60.0
SEQUENCE: Final = struct.Struct(">q")
SEQUENCE_AT: Final = 16


class LoadSender:
    """Sends sequences 0, 1, 2 … to the partitions in turn and records every outcome."""

    def __init__(
        self,
        writer: HistoryWriter,
        *,
        producer: int,
        run: str,
        settings: Mapping[str, Any],
        bootstrap: str,
        topic: str,
        partitions: Sequence[int],
        record_bytes: int,
        keys: int,
    ) -> None:
        self._writer, self._producer, self._topic = writer, producer, topic
        self._partitions, self._keys = list(partitions), keys
        payload = bytes(max(record_bytes - record.MINIMUM_BYTES, 0))
        self._encode = record.Encoder(record.run_hash(run), producer, payload)
        self._acks = ACKS[str(settings.get("acks", "all"))]
        self._client = Producer({"bootstrap.servers": bootstrap, "log_level": 0} | dict(settings))
        self.sent = self.acked = self.failed = 0
        self._reserved = 0
        self._invoked: dict[int, int] = {}
        self._flushed = time.monotonic()
        self._ok: dict[int, tuple[array[int], array[int], array[int], array[int]]] = {
            p: (array("q"), array("q"), array("q"), array("q")) for p in self._partitions
        }

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        (sequence,) = SEQUENCE.unpack_from(message.value(), SEQUENCE_AT)
        invoked_ns = self._invoked.pop(sequence)
        if error is None:
            self.acked += 1
            sequences, offsets, invoked, completed = self._ok[message.partition()]
            sequences.append(sequence)
            offsets.append(message.offset())
            invoked.append(invoked_ns)
            completed.append(time.monotonic_ns())
            return
        self.failed += 1
        self._writer.append(
            kind=schema.SEND,
            outcome=outcome_of(error.name()),
            topic=self._topic,
            partition=self._partitions[sequence % len(self._partitions)],
            producer=self._producer,
            sequence=sequence,
            invoked_ns=invoked_ns,
            completed_ns=time.monotonic_ns(),
            error=error.code(),
            error_name=error.name(),
            acks=self._acks,
        )

    def _reserve(self) -> None:
        """Put a block of sequences on record, for every partition: which of them goes where is the partition's turn."""
        for partition in self._partitions:
            self._writer.reserve(self._topic, partition, self._producer, self._reserved, RESERVED)
        self._reserved += RESERVED

    def send(self, count: int) -> int:
        """Hand up to `count` records to the client; returns how many it took."""
        produce, encode, partitions = self._client.produce, self._encode, self._partitions
        for taken in range(count):
            sequence = self.sent
            if sequence >= self._reserved:
                self._reserve()
            key = None if not self._keys else str(sequence % self._keys).encode()
            self._invoked[sequence] = time.monotonic_ns()
            try:
                produce(
                    self._topic,
                    value=encode(sequence),
                    key=key,
                    partition=partitions[sequence % len(partitions)],
                    on_delivery=self._delivered,
                )
            except BufferError:
                del self._invoked[sequence]
                return taken
            self.sent += 1
        return count

    def poll(self, timeout_s: float) -> None:
        """Serve deliveries, and write down what has come if it is time."""
        self._client.poll(timeout_s)
        if time.monotonic() - self._flushed >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Write down every outcome that has come."""
        self._flushed = time.monotonic()
        self._writer.flush()
        for partition, columns in self._ok.items():
            sequences, offsets, invoked, completed = columns
            if sequences:
                self._writer.append_columns(
                    len(sequences),
                    kind=schema.SEND,
                    outcome=schema.OK,
                    topic=self._topic,
                    partition=partition,
                    offset=memoryview(offsets),
                    producer=self._producer,
                    sequence=memoryview(sequences),
                    invoked_ns=memoryview(invoked),
                    completed_ns=memoryview(completed),
                    acks=self._acks,
                )
                self._ok[partition] = (array("q"), array("q"), array("q"), array("q"))

    def close(self) -> None:
        """Wait for what is in flight, then record the rest as unknown."""
        self._client.flush(STOP_LIMIT_S)
        if self._invoked:
            self._client.purge(in_queue=True, in_flight=True, blocking=True)
            self._client.flush(STOP_LIMIT_S)
        self.flush()


def main() -> None:
    """Send until enough is acknowledged, or the harness says stop."""
    arguments = child.read_arguments()
    stopping = False

    def stop() -> None:
        nonlocal stopping
        stopping = True

    child.live_with_parent(stop)
    commands = child.commands()
    wanted: int | None = arguments["records"]
    rate: float | None = arguments["rate_per_s"]
    with HistoryWriter(Path(arguments["path"]), arguments["process"]) as writer:
        sender = LoadSender(
            writer,
            producer=arguments["producer"],
            run=arguments["run"],
            settings=arguments["settings"],
            bootstrap=arguments["bootstrap"],
            topic=arguments["topic"],
            partitions=arguments["partitions"],
            record_bytes=arguments["record_bytes"],
            keys=arguments["keys"],
        )
        child.say(ready=True)
        commands.get()
        start = reported = time.monotonic()
        while not stopping:
            try:
                if commands.get_nowait() is None:
                    break
                break
            except queue.Empty:
                pass
            now = time.monotonic()
            allowed = BLOCK if rate is None else min(BLOCK, int((now - start) * rate) - sender.sent)
            if wanted is not None:
                allowed = min(allowed, wanted - sender.sent)
            taken = sender.send(allowed) if allowed > 0 else 0
            sender.poll(0.0 if taken == BLOCK else 0.005)
            if now - reported >= REPORT_S:
                reported = now
                child.say(sent=sender.sent, acked=sender.acked, failed=sender.failed)
            if wanted is not None and sender.acked + sender.failed >= wanted:
                break
        sender.close()
        child.say(sent=sender.sent, acked=sender.acked, failed=sender.failed, done=True)


if __name__ == "__main__":
    main()
