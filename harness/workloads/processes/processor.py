"""A pipeline: it consumes one topic, sends an output for each input to another, and commits its offsets.

With a transactional.id each round (a poll, its outputs, its offsets) is one transaction: exactly once. Without one the
outputs are awaited and the offsets committed after them: at least once. The history has a `processed` row for each
output, with the input that it was made from, and a row for each commit of offsets.

A round that fails is aborted, and its inputs are read again from the offset committed last; an `assign` row says so. If
it cannot even be aborted (the producer is fenced off, or the outcome of a commit is unknown) the pipeline does nothing
more until it is stopped.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from evidence.history import schema
from evidence.history.inputs import Input
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.polls import ASSIGNED, Key, PollRecorder, PollResult
from harness.workloads.processes.transactional import LIMIT_S, Transactions

BATCH: Final = 500
POLL_S: Final = 0.05


class Processor:
    """Consumes assigned partitions from their beginning, and sends what it makes of them to another topic."""

    def __init__(
        self,
        writer: HistoryWriter,
        transactions: Transactions,
        bootstrap: str,
        settings: Mapping[str, Any],
        *,
        group: str,
        inputs: Sequence[Key],
        output: str,
        output_partitions: int,
    ) -> None:
        self._writer, self._transactions = writer, transactions
        self._client = Consumer(child.client_settings(bootstrap, settings, fixed={**ASSIGNED, "group.id": group}))
        self._polls = PollRecorder(writer, self._client, size=BATCH)
        self._output, self._output_partitions = output, output_partitions
        self._committed: dict[Key, int] = dict.fromkeys(inputs, OFFSET_BEGINNING)
        self._sequence = 0
        self.processed = 0
        """Inputs whose round succeeded."""
        self.ended = False
        """Whether the producer cannot recover, or the outcome of a transaction is unknown, so that it is not known
        either where to read on.
        """
        self.errors: list[str] = []
        self._assign()

    def _assign(self) -> None:
        """Read every partition from the offset committed last."""
        self._client.assign([TopicPartition(*key, offset) for key, offset in self._committed.items()])
        for (topic, partition), offset in self._committed.items():
            self._writer.append(
                kind=schema.ASSIGN,
                outcome=schema.OK,
                topic=topic,
                partition=partition,
                offset=offset if offset >= 0 else None,
                completed_ns=time.monotonic_ns(),
            )

    def round(self, timeout_s: float) -> bool:
        """One poll and the processing of its records. False if there were none."""
        transactional = self._transactions.transactional
        self._polls.transaction = self._transactions.next_number if transactional else None
        seen = self._polls.poll(timeout_s)
        self._writer.flush_if_old()
        self.errors += [error.name() for _, error in seen.errors]
        if not seen.messages:
            return False
        failed = self._carry_out(seen)
        if failed is None:
            self._committed |= seen.positions
            self.processed += seen.records
        else:
            self.errors.append(failed)
            self.ended = transactional and self._transactions.abort()["outcome"] != schema.OK
            if not self.ended:
                self._assign()
        return True

    def _carry_out(self, seen: PollResult) -> str | None:
        """Send the outputs and commit. Returns the step that failed, None if none did."""
        transactions = self._transactions
        if transactions.transactional and transactions.begin()["outcome"] != schema.OK:
            return "begin"
        first, count = self._sequence, len(seen.messages)
        self._sequence += count
        transactions.reserve(self._output, range(self._output_partitions), first, count)
        outcomes: list[str] = []
        for number, message in enumerate(seen.messages):
            source = Input(str(message.topic()), int(message.partition() or 0), int(message.offset() or 0))
            transactions.send(
                self._output,
                source.partition % self._output_partitions,
                first + number,
                source=source,
                tell=lambda answer: outcomes.append(answer["outcome"]),
            )
        transactions.flush(LIMIT_S)
        if outcomes != [schema.OK] * count:
            return "send"
        if transactions.offsets(self._client, seen.positions)["outcome"] != schema.OK:
            return "offsets"
        if transactions.transactional and transactions.commit()["outcome"] != schema.OK:
            return "commit"
        return None

    def close(self) -> None:
        """Let go of the brokers."""
        self._client.close()


def main() -> None:
    """Process until the harness says stop."""
    with child.recording() as (arguments, commands, writer):
        child.say(ready=True)
        if commands.wait() is None:
            return
        bootstrap = arguments["bootstrap"]
        transactions = Transactions(writer, arguments["producer"], arguments["run"], arguments["settings"], bootstrap)
        processor = Processor(
            writer,
            transactions,
            bootstrap,
            arguments["consumer_settings"],
            group=arguments["group"],
            inputs=child.partitions_of(arguments["inputs"]),
            output=arguments["output"],
            output_partitions=arguments["output_partitions"],
        )
        told = -1
        while not commands.stopped:
            commands.next(POLL_S if processor.ended else 0.0)
            if not processor.ended:
                processor.round(POLL_S)
            if processor.processed != told:
                told = processor.processed
                child.say(processed=told, errors=processor.errors[-5:])
        processor.close()
        writer.flush()
        child.say(processed=processor.processed, errors=processor.errors[-5:], done=True)


if __name__ == "__main__":
    main()
