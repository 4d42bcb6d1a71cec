"""A producer of single records, and the record of what came of each: scripted, with transactions, or in a pipeline.

A record's sequence is reserved in the history before the record goes to the client.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from evidence.history import record, schema
from evidence.history.inputs import Input
from evidence.history.outcomes import outcome_of
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.producers import open_producer
from harness.workloads.settings import OF_LIBRDKAFKA


def error_columns(error: KafkaError | None) -> dict[str, Any]:
    """An error as a row of the history has it; both columns are None if there is none."""
    return {
        "error": None if error is None else error.code(),
        "error_name": None if error is None else error.name(),
    }


class Sender:
    """Sends records and records what came of them."""

    def __init__(
        self,
        writer: HistoryWriter,
        producer: int,
        run: str,
        settings: Mapping[str, Any],
        bootstrap: str,
        library: Mapping[str, Any] = OF_LIBRDKAFKA,
    ) -> None:
        self._writer, self._producer, self._run = writer, producer, record.run_hash(run)
        self._client, self.configuration = open_producer(library, bootstrap, settings)
        # Where nothing is written it is the client's default, which is its own affair.
        self._acks = child.acks_of(self.configuration | dict(settings))
        self.transactional = "transactional.id" in settings
        self.number: int | None = None
        """The transaction that was begun last."""
        self.in_flight = 0
        """Records whose outcome is not known yet."""

    def reserve(self, topic: str, partitions: Sequence[int], sequence: int, count: int) -> None:
        """Put on record what may be sent from now on."""
        self._writer.reserve(topic, partitions, self._producer, sequence, count)

    def send(
        self,
        topic: str,
        partition: int,
        sequence: int,
        *,
        key: str | None = None,
        record_bytes: int = 0,
        source: Input | None = None,
        tell: Callable[[dict[str, Any]], None] | None = None,
        flush: bool = False,
    ) -> None:
        """Send one reserved record, and record and `tell` what came of it when that is known (`poll`, `flush`), or at
        once if the client refuses it. With `flush` it is on disk before it is told.

        `record_bytes`: the size of its value, if it is to be larger than its identity.
        `source`: the input that this record was made from, which its bytes name.
        """
        self.in_flight += 1
        invoked_ns = time.monotonic_ns()
        transaction = self.number if self.transactional else None

        def heard(error: KafkaError | None, offset: int | None) -> None:
            self.in_flight -= 1
            made: dict[str, Any] = {
                "producer": self._producer,
                "sequence": sequence,
                "invoked_ns": invoked_ns,
                "completed_ns": time.monotonic_ns(),
                "transaction": transaction,
            } | error_columns(error)
            sent = {"topic": topic, "partition": partition, "offset": offset, "acks": self._acks} | made
            outcome = outcome_of(made["error_name"])
            self._writer.append(kind=schema.SEND, outcome=outcome, flush=flush, **sent)
            if source is not None:
                made |= zip(("topic", "partition", "offset"), source, strict=True)
                self._writer.append(kind=schema.PROCESSED, outcome=outcome, **made)
            if tell is not None:
                tell({"outcome": outcome, **sent})

        def delivered(error: KafkaError | None, message: Message | None) -> None:
            offset = message.offset() if error is None and message is not None else None
            # With acks=0 nobody told it: librdkafka counts up from -1001, which is a real one's from the 1002nd on.
            heard(error, None if offset is None or offset < 0 or self._acks == 0 else offset)

        keyed = {} if key is None else {"key": key.encode()}
        payload = bytes(max(0, record_bytes - record.MINIMUM_BYTES)) if source is None else source.payload
        value = record.encode(self._run, self._producer, sequence, payload)
        try:
            self._client.produce(topic, value=value, partition=partition, on_delivery=delivered, **keyed)
        except BufferError:
            heard(KafkaError(KafkaError._QUEUE_FULL), None)
        except KafkaException as error:
            heard(error.args[0], None)

    def send_commanded(self, command: Mapping[str, Any]) -> None:
        """Send the record that a command of the harness names; its answer is said when the outcome is known, and before
        that, if the command asks for it, that the client has taken the record.
        """
        topic, partition, sequence = command["topic"], command["partition"], command["sequence"]
        self.reserve(topic, [partition], sequence, 1)
        tell, key = lambda answer: child.say(id=command["id"], **answer), command.get("key")
        size = command.get("record_bytes", 0)
        self.send(topic, partition, sequence, key=key, record_bytes=size, tell=tell, flush=True)
        if command.get("tell_handed"):
            child.say(id=command["id"], handed=True, topic=topic, partition=partition, sequence=sequence)

    def poll(self, timeout_s: float) -> None:
        """Serve deliveries for a moment.

        An idempotent producer of librdkafka that cannot go on (its records are gone from the log, say) raises that
        once, and each of its records fails with it.
        """
        try:
            self._client.poll(timeout_s)
        except KafkaException as error:
            if not error.args[0].fatal():
                raise

    def flush(self, timeout_s: float) -> None:
        """Wait for what is in flight; what is not known by then is purged and recorded as unknown."""
        if self._client.flush(timeout_s):
            self._client.purge(in_queue=True, in_flight=True, blocking=True)
            self._client.flush(timeout_s)
        self._writer.flush()
