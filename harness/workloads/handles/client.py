"""The harness's handles on workload processes.

A handle starts its process at once and talks to it in lines of JSON (evidence/worker.py). A child that dies is
noticed at the next call; what it had recorded is in its history all the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar

from evidence import events
from evidence.errors import ClientFailed, HarnessError, RecorderDied, WaitTimeout
from evidence.events import Outcome
from evidence.worker import Worker
from harness.patience import Patience, lasted_s
from harness.workloads.settings import COMMAND, DEBUG, OF_LIBRDKAFKA
from harness.workloads.stores import located

if TYPE_CHECKING:
    from evidence.rundir import RunDir
    from evidence.timeline import Timeline

START_LIMIT_S: Final = 90.0
"""A process loads its client in a second; five that begin together on two busy processors took more than 30."""
SLICE_S: Final = 2.0
"""After so long without a word it is asked whether waiting is vain."""
STOP_LIMIT_S: Final = 90.0
"""Long enough for every record in flight to get its outcome before a load ends."""

Progress = TypeVar("Progress")


@dataclass(frozen=True, slots=True, kw_only=True)
class SendResult:
    """What came of one record."""

    topic: str
    partition: int
    producer: int
    sequence: int
    outcome: Outcome
    offset: int | None
    error: int | None
    error_name: str | None
    acks: int
    invoked_ns: int
    completed_ns: int
    transaction: int | None = None
    """The number of the transaction that it is part of, if any."""


class Unanswered(WaitTimeout):
    """What came of a record is not known in time. The process that sends it is well."""


PROCESSES: Final = "harness.workloads.processes"
COMMON: Final = tuple(f"{PROCESSES}.{module}" for module in ("scripted", "load", "reader", "consumer"))
"""What most runs start several times, for a fork server to load once; what the other processes load is among it."""


class Child(Worker):
    """A workload process, by the name of its module in harness.workloads.processes; RecorderDied once it has ended."""

    def __init__(self, module: str, name: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(name, f"{PROCESSES}.{module}", [json.dumps(dict(arguments))], gone=RecorderDied)

    def receive(self, timeout_s: float, what: str) -> dict[str, Any]:
        """The next message; ClientFailed if it is that a client of the user's own has failed."""
        message = super().receive(timeout_s, what)
        if "client_failed" in message:
            raise ClientFailed(f"{self.name}: {message['client_failed']}")
        return message


@dataclass(frozen=True, slots=True)
class Client:
    """A client of a run, as run.json has it: what every workload process is given."""

    run_dir: RunDir
    name: str
    producer_id: int
    """What its records are told from those of others by; of no meaning for one that only reads."""
    bootstrap: str
    settings: Mapping[str, str]
    library: Mapping[str, Any] = field(default_factory=lambda: OF_LIBRDKAFKA)
    """Of a producer: what it is driven by (harness/workloads/libraries.py)."""

    def start(self, module: str, **arguments: Any) -> Child:
        """Start its process, with arguments of its own kind beside those that all have."""
        common: dict[str, Any] = {
            "path": str(self.run_dir.stream(self.name).resolve()),
            "process": self.name,
            "producer": self.producer_id,
            "run": self.run_dir.path.name,
            "bootstrap": self.bootstrap,
            "settings": dict(self.settings),
            "library": dict(self.library) | self._of_own,
        }
        if DEBUG in self.settings:
            common["stderr"] = str(self.run_dir.complaints(self.name).resolve())
        return Child(module, self.name, common | arguments)

    @property
    def _of_own(self) -> dict[str, str]:
        """What the recorder of a client of the user's own is told beside: its name, and where its stderr goes."""
        if COMMAND not in self.library:
            return {}
        return {"process": self.name, "stderr": str(self.run_dir.complaints(self.name).resolve())}

    def note_configuration(self, timeline: Timeline, ready: Mapping[str, Any]) -> None:
        """Put what its producer is configured with into the timeline, if the process said so when it was ready."""
        if settings := ready.get("configuration"):
            timeline.append(events.Configuration(process=self.name, library=self.library["name"], settings=settings))


class Pending:
    """A record whose outcome may not be known yet."""

    def __init__(self, producer: ScriptedProducer, number: int) -> None:
        self._producer, self._number = producer, number

    @property
    def done(self) -> bool:
        """Whether its outcome is known."""
        return self._producer.answer(self._number, 0.0) is not None

    @property
    def acknowledged(self) -> bool:
        """Whether it is known to have been acknowledged."""
        answer = self._producer.answer(self._number, 0.0)
        return answer is not None and answer.outcome == "ok"

    def wait(self, timeout_s: float) -> SendResult:
        """Its outcome. Unanswered, a WaitTimeout, if it is not known in time."""
        answer = self._producer.answer(self._number, timeout_s)
        if answer is None:
            raise Unanswered(f"{self._producer.name}: the outcome of a record is not known after {timeout_s:.0f} s")
        return answer


Late = Callable[[str, float, str, int], HarnessError]
"""(what was waited for, its limit in seconds, what was seen, since when in monotonic ns) → the error to raise."""


def not_in_time(what: str, timeout_s: float, seen: str, since_ns: int) -> HarnessError:
    """What is waited for is a matter of the sequence; it may have been waited for longer than the limit."""
    return WaitTimeout(f"{seen} after {lasted_s(timeout_s, since_ns):.0f} s, wanted {what}")


class Handle:
    """What is asked of any workload process: who it is, and that it dies."""

    name: str
    _child: Child
    watch: Callable[[], object] = staticmethod(lambda: None)
    """Called again and again while something is waited for: it may raise what makes that vain."""
    late: Late = staticmethod(not_in_time)
    """Who is at fault if something does not come in time."""

    def kill(self) -> None:
        """Kill the process, -9."""
        self._child.kill()

    @property
    def clients(self) -> tuple[str, ...]:
        """Its name in run.json; a process may have several clients."""
        return (self.name,)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._child.pid

    @property
    def status(self) -> int | None:
        """How the process ended; None while it runs."""
        return self._child.status

    @property
    def last_words(self) -> str:
        """The end of what the process printed."""
        return self._child.output_tail


class CommandedProducer(Handle):
    """A producer process that does what it is told, command by command."""

    MODULE: ClassVar[str]
    """The module of harness.workloads.processes that the process runs."""

    def __init__(self, client: Client, timeline: Timeline) -> None:
        self.name, self._producer_id, self._timeline = client.name, client.producer_id, timeline
        self._client, self._child = client, client.start(self.MODULE)
        self._acks = str(client.settings.get("acks", "all"))
        self._sequence = self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._ready = False

    def _next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence - 1

    def _tell(self, **command: Any) -> int:
        """Give a command once the process is ready. Returns the command's number, which its answer carries."""
        self._make_ready()
        self._number += 1
        self._child.send_message(id=self._number, **command)
        return self._number

    def _make_ready(self) -> None:
        if not self._ready:
            self._client.note_configuration(self._timeline, self._child.receive(START_LIMIT_S, "starting"))
            self._ready = True

    def _answer(self, number: int, timeout_s: float) -> dict[str, Any] | None:
        """Wait for the answer to a command; None if it does not come in time."""
        patience = Patience(timeout_s)
        while number not in self._answers:
            self.watch()
            try:
                heard = self._child.receive(min(patience.left_s, SLICE_S), f"carrying out command {number}")
            except WaitTimeout:
                if patience.left_s <= 0:
                    return None
            else:
                self._take(heard)
        return self._answers[number]

    def _take(self, heard: dict[str, Any]) -> None:
        self._answers[heard.pop("id")] = heard

    def close(self) -> None:
        """End the process."""
        self._child.close()


class ScriptedProducer(CommandedProducer):
    """A producer process that sends single records on command."""

    MODULE = "scripted"

    def __init__(self, client: Client, timeline: Timeline) -> None:
        super().__init__(client, timeline)
        self._handed: set[int] = set()
        """The numbers of the commands whose records the client is known to have taken."""

    def send(
        self,
        topic: str,
        partition: int,
        *,
        count: int = 1,
        timeout_s: float,
        expected_loss: bool = False,
        key: str | None = None,
    ) -> list[SendResult]:
        """Send records one after the other, each once the outcome of the one before is known."""
        return [
            self.send_async(topic, partition, expected_loss=expected_loss, key=key).wait(timeout_s)
            for _ in range(count)
        ]

    def send_async(
        self,
        topic: str,
        partition: int,
        *,
        expected_loss: bool = False,
        again: SendResult | None = None,
        key: str | None = None,
        record_bytes: int = 0,
    ) -> Pending:
        """Send one record and return at once; `expected_loss` says in the timeline that the scenario documents its
        loss. With `again` it is the very record whose sending came to this, as an application sends it that was told of
        an error;
        with `record_bytes` its value has that size.
        """
        sequence = self._next_sequence() if again is None else again.sequence
        self._make_ready()
        self._timeline.append(events.Send(**self._about(topic, partition, sequence), expected_loss=expected_loss))
        more: dict[str, Any] = {} if key is None else {"key": key}
        more |= {"record_bytes": record_bytes} if record_bytes else {}
        return Pending(self, self._tell(topic=topic, partition=partition, sequence=sequence, **more))

    def hand_over(self, topic: str, partition: int, *, timeout_s: float) -> Pending:
        """Send one record and return when the client has taken it: the call that sends has returned.

        WaitTimeout if it does not return in time.
        """
        sequence = self._next_sequence()
        self._make_ready()
        self._timeline.append(events.Send(**self._about(topic, partition, sequence)))
        number = self._tell(topic=topic, partition=partition, sequence=sequence, tell_handed=True)
        deadline = time.monotonic() + timeout_s
        while number not in self._handed:
            self._take(self._child.receive(deadline - time.monotonic(), f"handing over record {sequence}"))
        return Pending(self, number)

    def _about(self, topic: str, partition: int, sequence: int) -> dict[str, Any]:
        return {
            "process": self.name,
            "topic": topic,
            "partition": partition,
            "producer": self._producer_id,
            "sequence": sequence,
            "acks": self._acks,
        }

    def answer(self, number: int, timeout_s: float) -> SendResult | None:
        """Wait for the outcome of a record; None if it is not known in time."""
        answer = self._answer(number, timeout_s)
        return None if answer is None else SendResult(**answer)

    def _take(self, heard: dict[str, Any]) -> None:
        if heard.pop("handed", False):
            self._handed.add(heard.pop("id"))
            self._timeline.append(events.Handed(**self._about(**heard)))
            return
        super()._take(heard)
        sent = SendResult(**heard)
        kind = events.Acked if sent.outcome == "ok" else events.Failed
        self._timeline.append(
            kind(
                **self._about(sent.topic, sent.partition, sent.sequence),
                offset=sent.offset,
                outcome=sent.outcome,
                error=sent.error_name,
                invoked_ns=sent.invoked_ns,
                completed_ns=sent.completed_ns,
            )
        )

    def close(self) -> None:
        """End the process and take in its last answers. May be called again."""
        self._child.close()
        try:
            while True:
                heard = self._child.receive(0.05, "closing")
                if "id" in heard:
                    self._take(heard)
        except HarnessError:
            return


class Background(Handle, Generic[Progress]):
    """A workload process that works by itself and reports its progress. As a context manager it is started on entering
    and stopped on leaving.
    """

    def __init__(self, name: str, child: Child, nothing: Progress) -> None:
        self.name, self._child, self._latest = name, child, nothing
        self._done = False

    def _progress(self, heard: Mapping[str, Any]) -> Progress:
        """The progress in a message of the process."""
        raise NotImplementedError

    def start(self) -> None:
        """Tell the process to begin."""
        self._take_ready(self._child.receive(START_LIMIT_S, "starting"))
        self._child.send_message(go=True)

    def _take_ready(self, ready: Mapping[str, Any]) -> None:
        """What the process says when it is ready."""

    def _hear(self, timeout_s: float, what: str) -> None:
        heard = self._child.receive(timeout_s, what)
        self._latest = self._progress(heard)
        self._done = self._done or heard.get("done", False)

    def _hear_all(self, what: str) -> None:
        """Take all that it has said so far. Raises RecorderDied, with the last that it printed, if it has ended."""
        with suppress(WaitTimeout):
            while True:
                self._hear(0.0, what)

    def _wait(self, enough: Callable[[Progress], bool], what: str, timeout_s: float) -> Progress:
        since_ns, patience = time.monotonic_ns(), Patience(timeout_s)
        while not enough(self._latest):
            if self._done:
                raise HarnessError(f"{self.name} ended with {self._latest}, wanted {what}")
            self.watch()
            try:
                self._hear(min(patience.left_s, SLICE_S), f"waiting for {what}")
            except WaitTimeout:
                if patience.left_s <= 0:
                    raise self.late(what, patience.limit_s, f"{self.name}: {self._latest}", since_ns) from None
        return self._latest

    def stop(self) -> Progress:
        """Stop, wait for what is in flight, and return the final progress."""
        if not self._done:
            try:
                with suppress(RecorderDied):  # one that has done all that it was to do ends by itself, and has said so
                    self._child.send_message(stop=True)
                while not self._done:
                    self._hear(STOP_LIMIT_S, "stopping")
            except HarnessError:
                if not self._done:
                    self._child.close()
                    raise
        self._child.close()
        return self._latest

    def kill(self) -> None:
        """Kill the process, -9. What it had told of until then is all there is: nothing more is waited for."""
        self._child.kill()
        self._done = True

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.stop()
        else:
            self._child.close()


@dataclass(frozen=True, slots=True)
class Summary:
    """The progress of a load: records sent, acknowledged and failed."""

    sent: int
    acked: int
    failed: int

    def __str__(self) -> str:
        return f"{self.sent} records sent, {self.acked} acknowledged, {self.failed} failed"


class LoadGenerator(Background[Summary]):
    """A load generator process."""

    def __init__(
        self,
        client: Client,
        *,
        topic: str,
        partitions: Sequence[int],
        rate_per_s: float | None,
        record_bytes: int,
        keys: int,
        records: int | None,
        timeline: Timeline | None = None,
    ) -> None:
        """What its client is configured with goes into the `timeline`, if one is given."""
        child = client.start(
            "load",
            topic=topic,
            partitions=list(partitions),
            rate_per_s=rate_per_s,
            record_bytes=record_bytes,
            keys=keys,
            records=records,
        )
        super().__init__(client.name, child, Summary(0, 0, 0))
        self._client, self._timeline = client, timeline
        self.beside: LoadGenerator | None = None
        """The idempotent producer that sends beside it, if one does."""

    def _take_ready(self, ready: Mapping[str, Any]) -> None:
        if self._timeline is not None:
            self._client.note_configuration(self._timeline, ready)

    def _progress(self, heard: Mapping[str, Any]) -> Summary:
        return Summary(heard["sent"], heard["acked"], heard["failed"])

    def wait_acked(self, count: int, *, timeout_s: float) -> Summary:
        """Wait until so many records are acknowledged. WaitTimeout, or HarnessError if the load ended with fewer."""
        return self._wait(lambda summary: summary.acked >= count, f"{count} records acknowledged", timeout_s)

    def wait_more(self, count: int, *, timeout_s: float) -> Summary:
        """Wait until so many records more are acknowledged than the process has told of by now; else the same."""
        return self.wait_acked(self._latest_acked() + count, timeout_s=timeout_s)

    def acked_in_all(self) -> int:
        """How many records it, and the one beside it, have told of as acknowledged by now: at least so many are."""
        return self._latest_acked() + (self.beside.acked_in_all() if self.beside is not None else 0)

    def _latest_acked(self) -> int:
        with suppress(WaitTimeout):
            while not self._done:
                self._hear(0.0, "catching up")
        return self._latest.acked


@dataclass(frozen=True, slots=True)
class FinalRead:
    """How far the final read came: (topic, partition) → (end offset or None if no broker told it, position reached)."""

    partitions: Mapping[tuple[str, int], tuple[int | None, int]]
    errors: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every partition was read to its end."""
        return all(end is not None and reached >= end for end, reached in self.partitions.values())


class FinalReader:
    """The final reader's process, started early and told to read when the cluster is at rest."""

    def __init__(
        self,
        client: Client,
        topics: Mapping[str, Sequence[int]],
        *,
        outputs: Mapping[str, Sequence[int]] = MappingProxyType({}),
        stores: Iterable[str] = (),
        timeout_s: float,
    ) -> None:
        """`outputs`: those of the topics to which applications send what they make of inputs; `stores`: the
        addresses, or files within the run directory, of stores to which they write it.
        """
        self._timeout_s = timeout_s
        self._child = client.start(
            "reader",
            topics=dict(topics),
            outputs=dict(outputs),
            stores=[located(client.run_dir.path, store) for store in stores],
            timeout_s=timeout_s,
        )

    def read(self) -> FinalRead:
        """Read everything; the process has ended when this returns."""
        self._child.receive(START_LIMIT_S, "starting")
        self._child.send_message(go=True)
        heard = self._child.receive(self._timeout_s + 30.0, "reading")
        self._child.close()
        partitions = {(topic, number): (end, position) for topic, number, end, position in heard["partitions"]}
        return FinalRead(partitions, tuple(heard["errors"]))

    def close(self) -> None:
        """End the process without reading."""
        self._child.close()


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """What a background consumer has read: how many records, and the offset after the last of each partition."""

    records: int
    positions: Mapping[tuple[str, int], int]
    errors: tuple[str, ...]
    at_ns: int = 0
    """When that was so, by the process's clock (monotonic)."""
    failures: int = 0
    """How many errors it was given in all; `errors` are the last of them."""

    def __str__(self) -> str:
        reached = [f"{topic}-{number} to {offset}" for (topic, number), offset in sorted(self.positions.items())]
        last = f", the last one {self.errors[-1]}" if self.errors else ""
        return f"{self.records} records read, {', '.join(reached) or 'no position'}, {self.failures} errors{last}"


class BackgroundConsumer(Background[ReadProgress]):
    """A consumer process that reads while the run goes on."""

    def __init__(
        self,
        client: Client,
        *,
        assign: Mapping[str, Sequence[int]] | None = None,
        subscribe: Sequence[str] = (),
        group: str = "kafka-chaos",
        timeline: Timeline | None = None,
    ) -> None:
        """Either `assign` partitions of topics, read from their beginning, or `subscribe` topics in `group`. What is
        heard of its positions goes into the `timeline`, if one is given.

        Raises ValueError if both are given, or neither.
        """
        if bool(assign) == bool(subscribe):
            raise ValueError("a consumer is assigned partitions or subscribed to topics, one of the two")
        child = client.start("consumer", assign=dict(assign or {}), subscribe=list(subscribe), group=group)
        super().__init__(client.name, child, ReadProgress(0, {}, ()))
        self._timeline = timeline

    def _progress(self, heard: Mapping[str, Any]) -> ReadProgress:
        positions = {(topic, number): offset for topic, number, offset in heard["positions"]}
        return ReadProgress(heard["read"], positions, tuple(heard["errors"]), heard["at_ns"], heard["failures"])

    def _hear(self, timeout_s: float, what: str) -> None:
        before = self._latest.positions
        super()._hear(timeout_s, what)
        for (topic, number), offset in self._latest.positions.items():
            if self._timeline is not None and before.get((topic, number)) != offset:
                self._timeline.append(
                    events.Position(
                        process=self.name, topic=topic, partition=number, offset=offset, read_ns=self._latest.at_ns
                    )
                )

    def wait_read(self, count: int, *, timeout_s: float) -> ReadProgress:
        """Wait until so many records have been read in all. WaitTimeout, or HarnessError if the process has ended."""
        return self._wait(lambda reading: reading.records >= count, f"{count} records read", timeout_s)

    def wait_position(self, topic: str, partition: int, offset: int, *, timeout_s: float) -> ReadProgress:
        """Wait until a partition has been read up to an offset. Raises as `wait_read` does."""
        return self._wait(
            lambda reading: reading.positions.get((topic, partition), 0) >= offset,
            f"{topic}-{partition} read up to {offset}",
            timeout_s,
        )

    def wait_failures(self, count: int, *, timeout_s: float) -> ReadProgress:
        """Wait until so many errors have been given to it in all. Raises as `wait_read` does."""
        return self._wait(lambda reading: reading.failures >= count, f"{count} errors", timeout_s)
