"""A load generator: many records, recorded at a cost that stays small beside sending them.

The interpreter is the bottleneck of a Python producer, so the work for each record is the least that librdkafka needs.
That is one entry in the list given to `produce_batch`, and one call of the delivery callback, which appends two values
to two lists. Everything else is done in blocks: identities and checksums (evidence.history.record.Encoder), clocks,
rows, and the identities of delivery reports (from the records' own bytes, so nothing is inferred from their order).

Times are therefore those of blocks, and on the safe side. A record's `invoked_ns` is taken before its block is handed
over, its `completed_ns` after its report has come. So the true interval is always within the recorded one, and at most
a block and a poll shorter.

What is known of each record in flight (partition, time) lies in a ring indexed by its sequence. A record is not sent
while the one that had its place is still in flight, so memory is fixed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from confluent_kafka import KafkaError, Message

from evidence.errors import ClientFailed
from evidence.history import record, runs, schema
from evidence.history.writer import NULL, HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.adapted import outcome_of_error
from harness.workloads.processes.producers import end, open_producer
from harness.workloads.settings import OF_LIBRDKAFKA

RESERVED: Final = 100_000
"""Sequences put on record at once, ahead of their use."""
BLOCK: Final = 1_000
"""Records handed over at once."""
RING: Final = 1 << 20
"""Places for records in flight; more than IN_FLIGHT, so that a few that are stuck do not hold up the rest."""
IN_FLIGHT: Final = 50_000
"""Records in librdkafka's queue at most; its own limit of 100 000 is never reached."""
IN_FLIGHT_BYTES: Final = 256 << 20
GATHER: Final = 4_000
"""Delivery reports that are recorded together…"""
GATHER_NS: Final = 20_000_000
"""…unless the first of them is this old."""
REPORT_S: Final = 0.05
IDLE_POLL_S: Final = 0.005
STOP_LIMIT_S: Final = 60.0
ORPHAN_LIMIT_S: Final = 2.0
SENDER_ARGUMENTS: Final = (
    "producer", "run", "settings", "bootstrap", "library", "topic", "partitions", "record_bytes", "keys"
)  # fmt: skip


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
        library: Mapping[str, Any] = OF_LIBRDKAFKA,
        topic: str,
        partitions: Sequence[int],
        record_bytes: int,
        keys: int,
    ) -> None:
        """`record_bytes` is the size of values, at least that of an identity. With `keys`, record keys are
        "0" … "keys - 1", and each key always goes to one partition, as a partitioner would have it.
        """
        self._writer, self._producer, self._topic = writer, producer, topic
        self._targets = _targets(partitions, keys)
        self._next_target = 0
        payload = bytes(max(record_bytes - record.MINIMUM_BYTES, 0))
        self._encoder = record.Encoder(record.run_hash(run), producer, payload)
        self._in_flight_limit = max(BLOCK, min(IN_FLIGHT, IN_FLIGHT_BYTES // max(record_bytes, 1)))
        self._acks = child.acks_of(settings)
        self._client, self.configuration = open_producer(library, bootstrap, settings)
        self.sent = self.acked = self.failed = 0
        self._reserved = 0
        # One dictionary per record of a block, used again and again: librdkafka copies what is in it.
        self._entries: list[dict[str, Any]] = [{"value": b""} for _ in range(BLOCK)]
        self._invoked: npt.NDArray[np.int64] = np.zeros(RING, np.int64)
        self._partition: npt.NDArray[np.int32] = np.zeros(RING, np.int32)
        self._pending: npt.NDArray[np.bool_] = np.zeros(RING, np.bool_)
        self._values: list[bytes] = []
        self._offsets: list[int | None] = []
        self._polled: list[tuple[int, int]] = []
        self._refused: list[tuple[KafkaError, bytes]] = []
        self._report = _reporter(self._values, self._offsets, self._refused)

    @property
    def in_flight(self) -> int:
        """Records whose outcome is not known yet."""
        return self.sent - self.acked - self.failed

    def send(self, count: int, *, spread: bool = False) -> int:
        """Hand up to `count` records to the client; returns how many it took.

        They go to the partitions in turn, a block to each, or (`spread`) evenly to all.
        """
        taken = 0
        share = -(-count // len(self._targets)) if spread else BLOCK
        while taken < count:
            block = min(share, count - taken, BLOCK, self._in_flight_limit - self.in_flight, RING - self.sent % RING)
            if block <= 0 or self._pending[self.sent % RING : self.sent % RING + block].any():
                break
            self._send_block(block)
            taken += block
        return taken

    def _send_block(self, count: int) -> None:
        first, place = self.sent, self.sent % RING
        if first + count > self._reserved:
            self._writer.reserve(self._topic, (p for p, _ in self._targets), self._producer, self._reserved, RESERVED)
            self._reserved += RESERVED
        partition, keys = self._targets[self._next_target]
        self._next_target = (self._next_target + 1) % len(self._targets)
        entries = self._entries[:count]
        for entry, value in zip(entries, self._encoder.block(first, count), strict=True):
            entry["value"] = value
        if keys:
            for number, entry in enumerate(entries, first):
                entry["key"] = keys[number % len(keys)]
        self._invoked[place : place + count] = time.monotonic_ns()
        self._partition[place : place + count] = partition
        self._pending[place : place + count] = True
        self.sent += count
        good = self._client.produce_batch(self._topic, entries, partition=partition, on_delivery=self._report)
        if good < count:
            for number, entry in enumerate(entries, first):
                if (error := entry.pop("_error", None)) is not None:
                    self._record_failure(error, number)

    def poll(self, timeout_s: float) -> None:
        """Serve deliveries, and write down what has come if there is enough of it or it is time."""
        self._client.poll(timeout_s)
        self._take_note()
        if len(self._values) >= GATHER or (self._polled and time.monotonic_ns() - self._polled[0][1] >= GATHER_NS):
            self._record_deliveries()
        self._writer.flush_if_old()

    def _take_note(self) -> None:
        """Count the reports that a poll has brought, and note the time."""
        arrived = len(self._values) - sum(count for count, _ in self._polled)
        if arrived:
            self._polled.append((arrived, time.monotonic_ns()))
            self.acked += arrived
        for error, value in self._refused:
            self._record_failure(error, int(self._sequences([value])[0]))
        self._refused.clear()

    def _record_deliveries(self) -> None:
        if self._values:
            arrived, times = np.array(self._polled, np.int64).T
            sequences, offsets = self._sequences(self._values), _known(self._offsets)
            places = sequences % RING
            self._pending[places] = False
            invoked, partition, completed = self._invoked[places], self._partition[places], np.repeat(times, arrived)
            begins = runs.starts([sequences, offsets], [partition, invoked, completed])
            self._writer.extend(
                len(begins),
                counts=runs.lengths(begins, len(sequences)),
                kind=schema.SEND,
                outcome=schema.OK,
                topic=self._topic,
                partition=partition[begins],
                offset=offsets[begins],
                producer=self._producer,
                sequence=sequences[begins],
                invoked_ns=invoked[begins],
                completed_ns=completed[begins],
                acks=self._acks,
            )
            self._values.clear()
            self._offsets.clear()
            self._polled.clear()

    def _sequences(self, values: list[bytes]) -> npt.NDArray[np.int64]:
        """The sequences in values that this process made, all of one size."""
        size = len(values[0])
        if size <= 256:
            return np.frombuffer(b"".join(values), record.fields(size))["sequence"].astype(np.int64)
        end = record.SEQUENCE_AT + 8
        return np.frombuffer(b"".join([v[record.SEQUENCE_AT : end] for v in values]), ">i8").astype(np.int64)

    def _record_failure(self, error: KafkaError, sequence: int) -> None:
        place = sequence % RING
        self._pending[place] = False
        self.failed += 1
        self._writer.append(
            kind=schema.SEND,
            outcome=outcome_of_error(error),
            topic=self._topic,
            partition=int(self._partition[place]),
            producer=self._producer,
            sequence=sequence,
            invoked_ns=int(self._invoked[place]),
            completed_ns=time.monotonic_ns(),
            error=error.code(),
            error_name=error.name(),
            acks=self._acks,
        )

    def close(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for what is in flight, then give the rest up; what is given up is recorded as that."""
        deadline = time.monotonic() + timeout_s
        while self.in_flight and (left_s := deadline - time.monotonic()) > 0:
            self.poll(min(left_s, 0.1))
        if self.in_flight:
            self._client.purge(in_queue=True, in_flight=True, blocking=True)
            self._client.flush(ORPHAN_LIMIT_S)
        self.conclude()
        end(self._client)

    def conclude(self) -> None:
        """Record all that was heard; what nothing was heard of is given up, and recorded as that."""
        self._take_note()
        self._record_deliveries()
        newest = self.sent - 1
        for place in np.flatnonzero(self._pending).tolist():
            self._record_failure(KafkaError(KafkaError._PURGE_INFLIGHT), newest - (newest - place) % RING)
        self._writer.flush()


def _targets(partitions: Sequence[int], keys: int) -> list[tuple[int, list[bytes]]]:
    """The partitions that get records, each with its keys (none if records have no keys)."""
    targets = [
        (partition, [str(key).encode() for key in range(place, keys, len(partitions))])
        for place, partition in enumerate(partitions)
    ]
    return [target for target in targets if target[1]] if keys else targets


def _reporter(
    values: list[bytes], offsets: list[int | None], refused: list[tuple[KafkaError, bytes]]
) -> Callable[[KafkaError | None, Message], None]:
    """The delivery callback. It does as little as possible, since it is called for every record.

    The message itself is not kept: thousands of them waiting to be looked at would not fit the processor's caches, and
    making and freeing them would cost three times what is done here (measured: 0.4 µs a record against 0.12).
    """
    keep_value, keep_offset, refuse = values.append, offsets.append, refused.append

    def report(error: KafkaError | None, message: Message) -> None:
        if error is None:
            keep_value(message.value())  # type: ignore[arg-type]  # what we sent has a value
            keep_offset(message.offset())
        else:
            refuse((error, message.value()))  # type: ignore[arg-type]

    return report


def _known(offsets: list[int | None]) -> npt.NDArray[np.int64]:
    """Offsets as an array; null where none is known (acks=0)."""
    try:
        return np.array(offsets, np.int64)
    except TypeError:
        return np.array([NULL if offset is None else offset for offset in offsets], np.int64)


def main() -> None:
    """Send until enough is acknowledged or the harness says stop."""
    child.collect_garbage_rarely()
    with child.recording() as (arguments, commands, writer):
        wanted: int | None = arguments["records"]
        rate: float | None = arguments["rate_per_s"]
        sender = LoadSender(writer, **{name: arguments[name] for name in SENDER_ARGUMENTS})
        child.say(ready=True, configuration=sender.configuration)
        commands.wait()
        try:
            _work(sender, commands, wanted, rate)
            sender.close(ORPHAN_LIMIT_S if commands.orphaned else STOP_LIMIT_S)
        except ClientFailed:
            sender.conclude()
            raise
        child.say(sent=sender.sent, acked=sender.acked, failed=sender.failed, done=True)


def _work(sender: LoadSender, commands: child.Commands, wanted: int | None, rate: float | None) -> None:
    """Send, at a rate per second if there is one, until so many records have an outcome or the harness says stop."""
    start = reported = time.monotonic()
    while not commands.stopped:
        commands.next(0.0)
        now = time.monotonic()
        allowed = BLOCK if rate is None else min(BLOCK, int((now - start) * rate) - sender.sent)
        if wanted is not None:
            allowed = min(allowed, wanted - sender.sent)
        taken = sender.send(allowed, spread=rate is not None) if allowed > 0 else 0
        sender.poll(0.0 if taken == BLOCK else IDLE_POLL_S)
        if now - reported >= REPORT_S:
            reported = now
            child.say(sent=sender.sent, acked=sender.acked, failed=sender.failed)
        if wanted is not None and sender.acked + sender.failed >= wanted:
            return


if __name__ == "__main__":
    main()
