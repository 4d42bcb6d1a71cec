"""Kafka Connect: workers in distributed mode, a connector on them, and what it has committed.

A source's offsets are records of a topic of Connect's own. They are read there, as far as readers of what is committed
may read, and told as lines of the source's file. A sink's offsets are those of a consumers' group (harness/run/groups).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack, closing, contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from evidence.borders import CONNECT_SINK_WOKEN
from evidence.errors import WaitTimeout
from harness.cluster.librdkafka import client_settings, consumer, is_end, place, refusals
from harness.polling import poll
from harness.workloads import settings as defaults
from harness.workloads.connectors import (
    LINES,
    OFFSETS,
    RUNNING,
    Task,
    group_of,
    lines_before,
    position_of,
    sink,
    source,
    task_of,
)
from harness.workloads.handles.connect import ConnectWorker, NotAnswered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.run.clients import Clients
    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Partition

WORKERS: Final = 3
SOURCE: Final = "source"
SINK: Final = "sink"
"""The names of connectors."""
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
TASK_LIMIT_S: Final = 240.0
"""Three Java virtual machines start on a busy machine, and their workers form a group."""
ASK_S: Final = 5.0
AGAIN_S: Final = 0.5
READ_AT_ONCE: Final = 500
EVERYTHING: Final[Mapping[str, str]] = MappingProxyType({"isolation.level": "read_uncommitted"})


class Connectors:
    """Starts workers and connectors, and asks Connect."""

    def __init__(self, parts: Parts, sequence_log: SequenceLog, clients: Clients) -> None:
        self._sequence_log, self._starter = sequence_log, clients
        self._sinks_are_woken = parts.version.release < CONNECT_SINK_WOKEN.release
        self._reader_of_all: dict[str, Any] = {
            "group.id": "connect-reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **client_settings(parts.cluster.bootstrap, parts.version.client_settings),
        }

    @contextmanager
    def connect_source(
        self, t: Partition, output: str, *, worker: Mapping[str, str], connector: Mapping[str, str]
    ) -> Iterator[list[ConnectWorker]]:
        """Three workers of Kafka Connect with a connector that sends the lines of a file to the topic `output`, while
        the block lasts. The file gets its lines by `append_lines`. `worker` and `connector` are settings of theirs.

        Raises UsageError if the case's client is not Kafka Connect, or if the output has more than one partition;
        WaitTimeout if the connector's task does not run in time.
        """
        with self._workers(t, output, group=SOURCE, settings=worker) as workers:
            self._make(workers, SOURCE, source(output, connector))
            yield workers

    @contextmanager
    def connect_sink(
        self, t: Partition, *, worker: Mapping[str, str] = NOTHING, connector: Mapping[str, str] = NOTHING
    ) -> Iterator[list[ConnectWorker]]:
        """Three workers of Kafka Connect with a connector that writes the records of t's topic to a file, a line for
        each, while the block lasts. Each worker has a file of its own. Its group is `group_of(SINK)`.

        Raises as `connect_source` does.
        """
        with self._workers(t, "", group=group_of(SINK), settings=worker) as workers:
            self._make(workers, SINK, sink(t.topic, connector))
            yield workers

    @contextmanager
    def _workers(
        self, t: Partition, output: str, *, group: str, settings: Mapping[str, str]
    ) -> Iterator[list[ConnectWorker]]:
        """Three workers while the block lasts."""
        with ExitStack() as stack:
            yield [
                stack.enter_context(self._starter.connect_worker(t, output, group=group, settings=settings))
                for _ in range(WORKERS)
            ]

    @contextmanager
    def join_workers(
        self, t: Partition, workers: Sequence[ConnectWorker], *, worker: Mapping[str, str]
    ) -> Iterator[ConnectWorker]:
        """Another worker beside these, which work on t, while the block lasts. `worker` are its settings. The file that
        a source reads has the lines there that theirs have.
        """
        one = workers[0]
        lines = len(one.lengths)
        with self._starter.connect_worker(t, one.output, group=one.group, settings=worker, lines=lines) as joining:
            joining.wait_lines(lines)
            yield joining

    def append_lines(self, workers: Sequence[ConnectWorker], count: int) -> None:
        """Write so many further lines into the file that a source reads: into each worker's own."""
        with self._sequence_log.step("write lines for the source", count=count):
            for one in workers:
                one.append(count)

    def worker_of_task(self, workers: Sequence[ConnectWorker], *, timeout_s: float = TASK_LIMIT_S) -> ConnectWorker:
        """Wait until the task of their connector runs on one of these workers, and return that one. A source's task
        that has failed because nobody fenced it is restarted, as operators have to.

        Raises WaitTimeout if it does not in time; HarnessError, with Connect's own words, if connector or task has
        failed, and if a worker has ended.
        """
        name = SOURCE if workers[0].output else SINK
        with self._sequence_log.step("wait until the task runs", connector=name):
            found = self._asked(workers, lambda one: self._task(one, name))
            last = poll(
                lambda: next(found),
                timeout_s,
                until=lambda task: isinstance(task, Task) and _running_on(task, workers) is not None,
                every_s=AGAIN_S,
                watch=lambda: _require_running(workers),
            )
        on = _running_on(last, workers) if isinstance(last, Task) else None
        if on is None:
            raise WaitTimeout(f"the task of {name} does not run after {timeout_s:.0f} s: {last or 'there is none'}")
        others = tuple(one.producer_id for one in workers if one is not on)
        on.beside = others
        return on

    def _task(self, worker: ConnectWorker, connector: str) -> Task | None:
        """What a worker says of a connector's task. One that was not fenced is restarted, by the call that says so in
        the task's state at once (KIP-745, 3.0).
        """
        woken = self._sinks_are_woken and connector == SINK
        task = task_of(worker.ask("GET", f"/connectors/{connector}/status"), woken=woken)
        if task is not None and task.not_fenced:
            worker.ask("POST", f"/connectors/{connector}/restart?includeTasks=true&onlyFailed=true")
            self._sequence_log.note(f"the failed task of {connector} is restarted: {task.not_fenced}")
        return task

    def wait_lines_committed(
        self, workers: Sequence[ConnectWorker], lines: int, *, timeout_s: float = TASK_LIMIT_S
    ) -> None:
        """Wait until Connect has committed that the source is done with so many lines.

        Raises WaitTimeout if it has not in time; HarnessError if a worker has ended, or the committed offset is none
        of a line's end.
        """
        with self._sequence_log.step("wait until Connect has committed lines", lines=lines):
            found = poll(
                lambda: self.lines_committed(workers[0]),
                timeout_s,
                until=lambda committed: committed == lines,
                every_s=AGAIN_S,
                watch=lambda: _require_running(workers),
            )
        if found != lines:
            said = "nobody says how many are" if found is None else f"{found} are"
            raise WaitTimeout(f"{lines} lines are not committed after {timeout_s:.0f} s: {said}")

    def lines_committed(self, worker: ConnectWorker) -> int | None:
        """How many lines Connect has committed that the source is done with, by its topic of offsets; None if nobody
        answers.
        """
        records = self._records((OFFSETS, 0), 0, defaults.READ_COMMITTED)
        return None if records is None else lines_before(position_of(records, SOURCE, LINES), worker.lengths)

    def makers_of(self, output: Partition, since: int) -> frozenset[int]:
        """The numbers of the workers that have made the outputs from an offset on, as these say themselves, open
        transactions included; none if the outputs cannot be read.
        """
        from evidence.history import record  # numpy is loaded where a run uses it

        with self._sequence_log.step("ask the outputs who made them", partition=str(output), since=since):
            records = self._records(output, since, EVERYTHING) or []
            found = (record.decode(value) for _, value in records)
            return frozenset(one.producer for one in found if one is not None)

    def _records(
        self, where: tuple[str, int], since: int, isolation: Mapping[str, str]
    ) -> list[tuple[bytes | None, bytes | None]] | None:
        """Key and value of the records of a partition from an offset on; None if they cannot be read to their end."""
        found: list[tuple[bytes | None, bytes | None]] = []
        deadline = time.monotonic() + ASK_S
        with closing(consumer(self._reader_of_all | dict(isolation))) as client:
            try:
                end = client.get_watermark_offsets(place(where), timeout=ASK_S)[1]
                client.assign([place(where, since)])
                while time.monotonic() < deadline:
                    for one in client.consume(READ_AT_ONCE, AGAIN_S):
                        error = one.error()
                        if error is None:
                            found.append((_bytes(one.key()), _bytes(one.value())))
                        elif is_end(error) and (one.offset() or 0) >= end:
                            return found
            except refusals():
                return None
        return None

    def _make(self, workers: Sequence[ConnectWorker], name: str, configuration: Mapping[str, str]) -> None:
        """Make a connector, and wait until its task runs."""
        with self._sequence_log.step("make a connector", connector=name, **configuration):
            answers = self._asked(workers, lambda one: one.ask("PUT", f"/connectors/{name}/config", configuration))
            made = poll(
                lambda: next(answers),
                TASK_LIMIT_S,
                until=lambda answer: isinstance(answer, dict),
                every_s=AGAIN_S,
                watch=lambda: _require_running(workers),
            )
        if not isinstance(made, dict):
            raise WaitTimeout(f"the connector {name} is not made after {TASK_LIMIT_S:.0f} s: {made}")
        self.worker_of_task(workers)

    @staticmethod
    def _asked(workers: Sequence[ConnectWorker], ask: Callable[[ConnectWorker], Any]) -> Iterator[Any]:
        """What one worker after the other answers, without an end; in place of an answer who gave none, as a text."""
        while True:
            for one in workers:
                try:
                    yield ask(one)
                except NotAnswered as error:
                    yield str(error)


def _running_on(task: Task, workers: Sequence[ConnectWorker]) -> ConnectWorker | None:
    """The worker on which a task runs; None if it runs on none of these."""
    return next((one for one in workers if task == Task(one.address, RUNNING)), None)


def _require_running(workers: Sequence[ConnectWorker]) -> None:
    for one in workers:
        one.require_running()


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
