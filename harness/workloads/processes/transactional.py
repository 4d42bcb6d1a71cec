"""A producer that runs transactions on command, and records each step before anybody else hears of it.

    {"id": 1, "do": "begin"}                                      →  {"id": 1, "outcome": "ok", "transaction": 0, …}
    {"id": 2, "do": "send", "topic": "t", "partition": 0, "sequence": 4}  →  {"id": 2, "outcome": "ok", "offset": 7, …}
    {"id": 3, "do": "commit"}   {"id": 4, "do": "abort"}

Commands are carried out one after the other. A send's row has the outcome of its delivery; whether it counts, the row
of its transaction's end says (evidence.history.schema). What librdkafka calls retriable is tried again until the limit;
any error that is left of a commit or an abort leaves it unknown, whatever the error says: the coordinator may have
decided before the answer was lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from evidence.history import record, schema
from evidence.history.outcomes import outcome_of
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.polls import Key
from harness.workloads.processes.single import send_one

IDLE_S: Final = 0.1
LIMIT_S: Final = 30.0
"""How long a step may take before its outcome is unknown."""


class Transactions:
    """One transactional producer and the record of what it did."""

    def __init__(
        self, writer: HistoryWriter, producer: int, run: str, settings: Mapping[str, Any], bootstrap: str
    ) -> None:
        """`settings` hold a transactional.id; without one there are sends and no transactions."""
        self._writer, self._producer, self._run = writer, producer, record.run_hash(run)
        self._acks = child.acks_of(settings)
        self._client = Producer(child.client_settings(bootstrap, settings))
        self.transactional = "transactional.id" in settings
        self.number: int | None = None
        """The transaction that was begun last."""
        self._initialised = False

    def begin(self) -> dict[str, Any]:
        """Begin the next transaction; the first time, fence off earlier owners of the transactional.id."""
        self.number = self.next_number

        def work() -> None:
            if not self._initialised:
                self._client.init_transactions(LIMIT_S)
                self._initialised = True
            self._client.begin_transaction()

        return self._record(schema.BEGIN, work)

    @property
    def next_number(self) -> int:
        """The number that the next transaction will have."""
        return 0 if self.number is None else self.number + 1

    def commit(self) -> dict[str, Any]:
        """Commit; records that are in flight are delivered first."""
        return self._record(schema.COMMIT, lambda: self._client.commit_transaction(LIMIT_S))

    def abort(self) -> dict[str, Any]:
        """Abort; records that are still in the queue are purged."""
        return self._record(schema.ABORT, lambda: self._client.abort_transaction(LIMIT_S))

    def _record(self, kind: str, work: Callable[[], None]) -> dict[str, Any]:
        invoked_ns = time.monotonic_ns()
        error = _tried(work, time.monotonic() + LIMIT_S)
        columns = {
            "transaction": self.number,
            "invoked_ns": invoked_ns,
            "completed_ns": time.monotonic_ns(),
            "error": None if error is None else error.code(),
            "error_name": None if error is None else error.name(),
        }
        outcome = schema.OK if error is None else schema.INFO
        self._writer.append(kind=kind, outcome=outcome, flush=True, **columns)
        return {"outcome": outcome, **columns}

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
        source: tuple[str, int, int] | None = None,
        tell: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Send one reserved record, and record and `tell` what came of it when that is known (`flush`).

        `source`: topic, partition and offset of the input that this record was made from.
        """
        invoked_ns = time.monotonic_ns()
        transaction = self.number if self.transactional else None

        def heard(error: KafkaError | None, offset: int | None) -> None:
            name = None if error is None else error.name()
            made: dict[str, Any] = {
                "producer": self._producer,
                "sequence": sequence,
                "invoked_ns": invoked_ns,
                "completed_ns": time.monotonic_ns(),
                "error": None if error is None else error.code(),
                "error_name": name,
                "transaction": transaction,
            }
            sent: dict[str, Any] = {
                "topic": topic,
                "partition": partition,
                "offset": offset,
                "acks": self._acks,
            } | made
            self._writer.append(kind=schema.SEND, outcome=outcome_of(name), **sent)
            if source is not None:
                made |= zip(("topic", "partition", "offset"), source, strict=True)
                self._writer.append(kind=schema.PROCESSED, outcome=outcome_of(name), **made)
            if tell is not None:
                tell({"outcome": outcome_of(name), **sent})

        value = record.encode(self._run, self._producer, sequence)
        send_one(self._client, topic, partition, value, key, heard)

    def flush(self, limit_s: float = LIMIT_S) -> None:
        """Wait for what is in flight; what is not known by then is purged and recorded as unknown."""
        if self._client.flush(limit_s):
            self._client.purge(in_queue=True, in_flight=True, blocking=True)
            self._client.flush(limit_s)
        self._writer.flush()

    def offsets(self, consumer: Consumer, positions: Mapping[Key, int]) -> str:
        """Commit the offsets of the inputs to process next, with the transaction if there is one; the outcome."""
        places = [TopicPartition(*key, offset) for key, offset in positions.items()]
        invoked_ns = time.monotonic_ns()

        def work() -> None:
            if self.transactional:
                self._client.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), LIMIT_S)
            else:
                consumer.commit(offsets=places, asynchronous=False)

        error = _tried(work, time.monotonic() + LIMIT_S)
        outcome = schema.OK if error is None else schema.INFO
        for (topic, partition), offset in positions.items():
            self._writer.append(
                kind=schema.OFFSETS,
                outcome=outcome,
                topic=topic,
                partition=partition,
                offset=offset,
                invoked_ns=invoked_ns,
                completed_ns=time.monotonic_ns(),
                error=None if error is None else error.code(),
                error_name=None if error is None else error.name(),
                transaction=self.number if self.transactional else None,
            )
        self._writer.flush()
        return outcome


def _tried(work: Callable[[], None], deadline: float) -> KafkaError | None:
    """Retry a call until the deadline while its error is retriable. Returns the last error; None if it succeeded."""
    while True:
        try:
            work()
        except KafkaException as error:
            failure: KafkaError = error.args[0]
            if not failure.retriable() or time.monotonic() >= deadline:
                return failure
        else:
            return None


def main() -> None:
    """Do what the harness commands until its lines end. A transaction that is open then is left to its time-out."""
    arguments = child.read_arguments()
    commands = child.Commands()
    with HistoryWriter(Path(arguments["path"]), arguments["process"], run=arguments["run"]) as writer:
        transactions = Transactions(
            writer, arguments["producer"], arguments["run"], arguments["settings"], arguments["bootstrap"]
        )
        ends = {"begin": transactions.begin, "commit": transactions.commit, "abort": transactions.abort}
        child.say(ready=True)
        while not commands.stopped:
            command = commands.next(IDLE_S)
            if command is None:
                continue
            number, what = command["id"], command["do"]
            if what in ends:
                child.say(id=number, **ends[what]())
                continue
            topic, partition, sequence = command["topic"], command["partition"], command["sequence"]
            transactions.reserve(topic, [partition], sequence, 1)
            transactions.send(
                topic,
                partition,
                sequence,
                key=command.get("key"),
                tell=lambda answer, number=number: child.say(id=number, **answer),  # type: ignore[misc]
            )
            transactions.flush()


if __name__ == "__main__":
    main()
