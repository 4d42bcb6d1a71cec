"""The harness's handles on transactional workloads: a producer that runs transactions on command, and a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidence import events
from evidence.errors import WaitTimeout
from evidence.events import Outcome, TransactionPhase
from harness.workloads.handles.client import Background, Client, CommandedProducer, SendResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStepResult:
    """The outcome of a step of a transaction: "ok" it was done, "info" unknown."""

    transaction: int
    outcome: Outcome
    error_name: str | None


class TransactionalProducer(CommandedProducer):
    """A producer process that runs transactions on command; its settings hold a transactional.id."""

    MODULE = "transactional"

    def begin(self, *, timeout_s: float) -> TransactionStepResult:
        """Begin a transaction."""
        return self._step("begin", timeout_s)

    def commit(self, *, timeout_s: float) -> TransactionStepResult:
        """Commit it."""
        return self._step("commit", timeout_s)

    def abort(self, *, timeout_s: float) -> TransactionStepResult:
        """Abort it."""
        return self._step("abort", timeout_s)

    def send(
        self, topic: str, partition: int, *, count: int = 1, timeout_s: float, key: str | None = None
    ) -> list[SendResult]:
        """Send records within the transaction, each delivered before the next."""
        place: dict[str, Any] = {"topic": topic, "partition": partition} | ({} if key is None else {"key": key})
        asked = ({"do": "send", "sequence": self._next_sequence()} | place for _ in range(count))
        return [SendResult(**self._ask(timeout_s, **one)) for one in asked]

    def _step(self, what: TransactionPhase, timeout_s: float) -> TransactionStepResult:
        heard = self._ask(timeout_s, do=what)
        ended = TransactionStepResult(
            transaction=heard["transaction"], outcome=heard["outcome"], error_name=heard["error_name"]
        )
        self._timeline.append(
            events.Transaction(
                process=self.name,
                phase=what,
                transaction=ended.transaction,
                outcome=ended.outcome,
                error=ended.error_name,
            )
        )
        return ended

    def _ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
        answer = self._answer(self._tell(**command), timeout_s)
        if answer is None:
            raise WaitTimeout(f"{self.name}: no answer to {command['do']} after {timeout_s:.0f} s")
        return answer


@dataclass(frozen=True, slots=True)
class Processed:
    """The progress of a pipeline: how many inputs it processed, and its last errors."""

    records: int
    errors: tuple[str, ...]

    def __str__(self) -> str:
        last = f", the last error {self.errors[-1]}" if self.errors else ""
        return f"{self.records} inputs processed{last}"


class Pipeline(Background[Processed]):
    """A process that forwards what it consumes; exactly once if its settings hold a transactional.id."""

    def __init__(
        self,
        client: Client,
        *,
        consumer_settings: Mapping[str, str],
        inputs: Mapping[str, Sequence[int]],
        output: str,
        output_partitions: int,
        group: str = "kafka-chaos-pipeline",
    ) -> None:
        child = client.start(
            "processor",
            consumer_settings=dict(consumer_settings),
            inputs=dict(inputs),
            output=output,
            output_partitions=output_partitions,
            group=group,
        )
        super().__init__(client.name, child, Processed(0, ()))

    def _progress(self, heard: Mapping[str, Any]) -> Processed:
        return Processed(heard["processed"], tuple(heard["errors"]))

    def wait_processed(self, count: int, *, timeout_s: float) -> Processed:
        """Wait until so many inputs are processed. WaitTimeout, or HarnessError if the pipeline has ended."""
        return self._wait(lambda progress: progress.records >= count, f"{count} records processed", timeout_s)
