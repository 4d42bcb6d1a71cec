"""A producer that runs transactions on command, and records each step before anybody else hears of it.

    {"id": 1, "do": "begin"}                                      →  {"id": 1, "outcome": "ok", "transaction": 0, …}
    {"id": 2, "do": "send", "topic": "t", "partition": 0, "sequence": 4}  →  {"id": 2, "outcome": "ok", "offset": 7, …}
    {"id": 3, "do": "commit"}   {"id": 4, "do": "abort"}

Commands are carried out one after the other. A send's row has the outcome of its delivery; whether it counts, the row
of its transaction's end says (evidence.history.schema). A step is tried again until the limit if the client calls its
error retriable. Any error that is left of a commit or an abort leaves it unknown, whatever the error says: the
coordinator may have decided before the answer was lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from evidence.history import schema
from harness.workloads.processes import child
from harness.workloads.processes.polls import Key
from harness.workloads.processes.single import Sender, error_columns

IDLE_S: Final = 0.1
LIMIT_S: Final = 30.0
"""How long a step may take before its outcome is unknown."""
RESUMED_S: Final = 90.0
"""The same where the end of a transaction is asked for again: longer than transaction.timeout.ms by default, after
which the coordinator has ended it."""


class Transactions(Sender):
    """One transactional producer and the record of what it did.

    Its settings hold a transactional.id; without one there are sends and no transactions.
    """

    _initialised = False

    def begin(self) -> dict[str, Any]:
        """Begin the next transaction; the first time, fence off earlier owners of the transactional.id."""
        self.number = self.next_number

        def work() -> None:
            self.initialise()
            self._client.begin_transaction()

        return self._record(schema.BEGIN, work)

    def initialise(self) -> None:
        """Fence off earlier owners of the transactional.id, if that is not done; what they left open is aborted.

        Raises KafkaException if it cannot be done in time.
        """
        if not self._initialised:
            self._client.init_transactions(LIMIT_S)
            self._initialised = True

    @property
    def next_number(self) -> int:
        """The number that the next transaction will have."""
        return 0 if self.number is None else self.number + 1

    def commit(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Commit; records that are in flight are delivered first. A client that has waited in vain for the answer can
        only ask for it again (librdkafka, rd_kafka_commit_transaction): it does until the limit.
        """
        return self._record(schema.COMMIT, lambda: self._client.commit_transaction(LIMIT_S), timeout_s)

    def abort(self) -> dict[str, Any]:
        """Abort; records that are still in the queue are purged."""
        return self._record(schema.ABORT, lambda: self._client.abort_transaction(LIMIT_S))

    def deliver(self, timeout_s: float) -> None:
        """Wait until it is known what came of every record, one poll after the other. A flush would not do for a
        producer that is fenced: it goes on telling when that error is raised already, and nothing can be recorded.
        """
        deadline = time.monotonic() + timeout_s
        while self.in_flight and time.monotonic() < deadline:
            self.poll(IDLE_S)
        self.flush(timeout_s)

    def _record(self, kind: str, work: Callable[[], None], timeout_s: float | None = None) -> dict[str, Any]:
        invoked_ns = time.monotonic_ns()
        error = _tried(work, time.monotonic() + (timeout_s or LIMIT_S))
        columns = {
            "transaction": self.number,
            "invoked_ns": invoked_ns,
            "completed_ns": time.monotonic_ns(),
        } | error_columns(error)
        outcome = schema.OK if error is None else schema.INFO
        self._writer.append(kind=kind, outcome=outcome, flush=True, **columns)
        return {"outcome": outcome, **columns}

    def offsets(self, consumer: Consumer, positions: Mapping[Key, int], *, as_member: bool = True) -> dict[str, Any]:
        """Commit the offsets of the inputs to process next, with the transaction if there is one: its outcome and its
        error. With the transaction they are a member's (KIP-447), or those of a group whoever its members are.
        """
        places = [TopicPartition(*key, offset) for key, offset in positions.items()]
        invoked_ns = time.monotonic_ns()

        def work() -> None:
            if self.transactional:
                group = consumer.consumer_group_metadata() if as_member else consumer.group_alone()  # type: ignore[attr-defined]
                self._client.send_offsets_to_transaction(places, group, LIMIT_S)
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
                transaction=self.number if self.transactional else None,
                **error_columns(error),
            )
        self._writer.flush()
        return {"outcome": outcome} | error_columns(error)


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
    with child.recording() as (arguments, commands, writer):
        names = ("producer", "run", "settings", "bootstrap", "library")
        transactions = Transactions(writer, *(arguments[name] for name in names))
        ends = {"begin": transactions.begin, "commit": transactions.commit, "abort": transactions.abort}
        child.say(ready=True, configuration=transactions.configuration)
        while not commands.stopped:
            command = commands.next(IDLE_S)
            if command is None:
                continue
            if command["do"] in ends:
                child.say(id=command["id"], **ends[command["do"]]())
            else:
                transactions.send_commanded(command)
                transactions.deliver(LIMIT_S)
        transactions.end()


if __name__ == "__main__":
    main()
