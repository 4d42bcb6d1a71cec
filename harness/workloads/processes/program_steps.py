"""What a program can do: the steps that programs.py writes applications with, each recorded in the history. A member of
a share group has steps of its own (share_steps.py).

An output names the input that it was made from in its own bytes (evidence.history.inputs). The history has the same
rows as that of a pipeline: the polls, an output's `send` and `processed`, and each commit of `offsets`. One that writes
to a store outside Kafka (harness/workloads/stores) begins where the store says, and never asks its group. A program
stands still between two of its steps on order. Its client's own threads continue then, as they do while any program
works.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Message, TopicPartition

from evidence.errors import ClientFailed
from evidence.history import schema
from evidence.history.inputs import Input
from evidence.history.writer import HistoryWriter
from harness.workloads.processes import child
from harness.workloads.processes.consumers import open_consumer
from harness.workloads.processes.polls import Key, PollRecorder
from harness.workloads.processes.transactional import LIMIT_S, RESUMED_S, Transactions
from harness.workloads.stores import open_store
from harness.workloads.stores.types import Output, Store, StoreFull, StoreLost

POLL_S: Final = 0.2
ANSWERED_S: Final = 330.0
"""Longer than any producer tries to send a record by default (message.timeout.ms, delivery.timeout.ms)."""


class ProducingSteps:
    """What every program of an application can do: make outputs, stand still. Its steps may be called from several
    threads.
    """

    def __init__(self, arguments: Mapping[str, Any], commands: child.Commands, writer: HistoryWriter) -> None:
        self._commands, self._writer = commands, writer
        self._transactions = Transactions(
            writer,
            arguments["producer"],
            arguments["run"],
            arguments["settings"],
            arguments["bootstrap"],
            arguments["library"],
        )
        self._one_at_a_time = threading.RLock()
        """Held while a step writes to the history, never while the program polls or stands still."""
        self._output, self._output_partitions = arguments["output"], arguments["output_partitions"]
        self._stops = (*arguments["stop_between"], arguments["stop_in_round"])
        self._visits = Counter[tuple[str, str]]()
        self._sequence = self._processed = 0
        self._errors: list[str] = []
        self._told_to_go_on = threading.Event()
        self._producer = arguments["producer"]

    def _make(self, sources: Sequence[Input]) -> None:
        """Send an output for each input and wait until all are acknowledged, for as long as the producer tries.

        Raises ClientFailed if some are not: an application that committed their inputs all the same would skip these,
        and one that made them again might make them twice. Of a transaction it is no failure: that one is aborted.
        """
        outcomes = list[str]()
        transactional = self._transactions.transactional
        with self._one_at_a_time:
            first = self._sequence
            self._sequence += len(sources)
            self._transactions.reserve(self._output, range(self._output_partitions), first, len(sources))
            for number, source in enumerate(sources):
                self._transactions.send(
                    self._output,
                    source.partition % self._output_partitions,
                    first + number,
                    source=source,
                    tell=lambda answer: outcomes.append(answer["outcome"]),
                )
            self._transactions.flush(LIMIT_S if transactional else ANSWERED_S)
        made = outcomes.count(schema.OK)
        self._processed += made
        self._errors += ["send"] if made < len(sources) else []
        self._tell()
        if made < len(sources) and not transactional:
            raise ClientFailed(f"{len(sources) - made} of {len(sources)} outputs are not acknowledged")

    def between(self, done: str, following: str) -> None:
        """The program has carried out one step and not begun the other: the place to stand still, if this is it."""
        self._visits[(done, following)] += 1
        if (done, following, self._visits[(done, following)]) != self._stops:
            return
        self._told_to_go_on.clear()
        self._tell(at={"done": done, "following": following, "round": self._stops[2]})
        while not self._told_to_go_on.is_set() and self._goes_on(POLL_S):
            pass

    def _goes_on(self, wait_s: float) -> bool:
        """Whether the program is not to end; commands of the harness are waited for that long."""
        if self._commands.next(wait_s) is not None:
            self._told_to_go_on.set()
        return not self._commands.stopped

    def _tell(self, **more: Any) -> None:
        child.say(processed=self._processed, errors=self._errors[-5:], **more)


class ProgramSteps(ProducingSteps):
    """What a program of a consumer group's member can do."""

    _on_commit: Callable[..., None] | None = None
    """Hears the answers to commits that are not waited for; None if there are none."""
    _failure: ClientFailed | None = None
    """What a thread of its own, or a callback, has failed with."""

    def __init__(self, arguments: Mapping[str, Any], commands: child.Commands, writer: HistoryWriter) -> None:
        super().__init__(arguments, commands, writer)
        self._client = open_consumer(
            arguments["library"], arguments["bootstrap"], arguments["consumer_settings"], self._on_commit
        )
        self._polls = PollRecorder(writer, self._client, size=arguments["batch"], recording=self._one_at_a_time)
        self._open_store = partial(open_store, arguments["store"], arguments["run"])
        self._store: Store | None = self._open_store() if arguments["store"] else None
        self._made: list[Output] = []
        self._next = dict[Key, int]()
        """What is written to the store in the transaction that is open there."""
        if self._transactions.transactional:
            self._transactions.initialise()
        self._client.subscribe([arguments["input"]], on_assign=self._given, on_revoke=self._taken, on_lost=self._lost)

    def _given(self, client: Any, partitions: Sequence[Any]) -> None:
        if self._store is not None:
            for one in partitions:
                one.offset = self._following((one.topic, one.partition))
            client.assign(partitions)
        self._note(schema.ASSIGN, schema.OK, partitions)

    def _following(self, key: Key) -> int:
        """Where the store says that a partition's inputs go on."""
        assert self._store is not None
        following = self._store.next_of(key)
        return OFFSET_BEGINNING if following is None else following

    def _taken(self, _: Any, partitions: Sequence[Any]) -> None:
        self._note(schema.REVOKE, schema.OK, partitions)

    def _lost(self, _: Any, partitions: Sequence[Any]) -> None:
        self._note(schema.REVOKE, schema.INFO, partitions)

    def _note(self, kind: str, outcome: str, partitions: Sequence[Any]) -> None:
        with self._one_at_a_time:
            self._polls.note(kind, outcome, partitions)

    def poll(self) -> Sequence[Message]:
        """The next inputs, at least one; none if the program is to end. Raises ClientFailed if its own thread, or a
        callback, has failed.
        """
        while self._goes_on(0.0):
            self._before_poll()
            self._raise_failure()
            seen = self._polls.poll(POLL_S)
            self._raise_failure()
            with self._one_at_a_time:
                self._writer.flush()
            self._errors += [error.name() for _, error in seen.errors]
            if seen.messages:
                return seen.messages
        return ()

    def _before_poll(self) -> None:
        """What the thread that polls has to do for others: nothing."""

    @contextmanager
    def own_thread(self, work: Callable[[Sequence[Message]], None]) -> Iterator[Callable[[Sequence[Message]], object]]:
        """Have a thread of the program's own work on what it is given, one after the other. If that fails, nothing is
        worked on any more, and the program fails with it.
        """

        def carry_out(inputs: Sequence[Message]) -> None:
            if self._failure is None:
                try:
                    work(inputs)
                except ClientFailed as error:
                    self._failure = error

        with ThreadPoolExecutor(max_workers=1) as worker:
            yield lambda inputs: worker.submit(carry_out, inputs)
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def process(self, inputs: Sequence[Message]) -> None:
        """Send an output for each input and wait until all are acknowledged. Raises ClientFailed if some are not."""
        self._make([_source(one) for one in inputs])

    def commit(self, inputs: Sequence[Message], *, as_member: bool = True) -> bool:
        """Commit the offsets after these inputs and wait for the answer: whether the coordinator has taken them. Within
        a transaction they may be committed for the group, whoever its members are (`as_member`).
        """
        with self._one_at_a_time:
            answer = self._transactions.offsets(self._client, after(inputs), as_member=as_member)
        return self._ok("offsets", answer)

    def write(self, inputs: Sequence[Message], *, by_key: bool = False) -> None:
        """Write an output for each input to the store, in the transaction that is open there; `by_key` in the place of
        an earlier output of the same input. Raises StoreLost, as all steps of the store do, if the store is not there
        any more, and StoreFull if it has no room.
        """
        assert self._store is not None
        made = [Output(self._producer, self._sequence + number, _source(one)) for number, one in enumerate(inputs)]
        self._sequence += len(made)
        self._store.write(made, by_key=by_key)
        self._made += made

    def write_offsets(self, inputs: Sequence[Message]) -> None:
        """Write the offsets after these inputs to the store, in the transaction that is open there."""
        assert self._store is not None
        self._store.write_offsets(after(inputs))
        self._next |= after(inputs)

    def end_writing(self) -> None:
        """Commit the store's transaction: what was written is on the disk when this returns, if the store's settings
        have it so. Otherwise, and if StoreLost or StoreFull is raised, the history leaves open whether it is there.
        """
        assert self._store is not None
        invoked_ns = time.monotonic_ns()
        try:
            self._store.commit()
        except (StoreFull, StoreLost):
            self._ended_writing(schema.INFO, invoked_ns)
            raise
        self._ended_writing(schema.OK if self._store.durable else schema.INFO, invoked_ns)
        self._processed += len(self._made)
        self._made, self._next = [], {}
        self._tell()

    def _ended_writing(self, outcome: str, invoked_ns: int) -> None:
        done: dict[str, Any] = {
            "outcome": outcome,
            "invoked_ns": invoked_ns,
            "completed_ns": time.monotonic_ns(),
        }
        with self._one_at_a_time:
            for output in self._made:
                made: dict[str, Any] = {"producer": output.producer, "sequence": output.sequence}
                made |= zip(("topic", "partition", "offset"), output.source, strict=True)
                self._writer.append(kind=schema.PROCESSED, **made, **done)
            for (topic, partition), offset in self._next.items():
                self._writer.append(kind=schema.OFFSETS, topic=topic, partition=partition, offset=offset, **done)
            self._writer.flush()

    def reconnect(self) -> None:
        """Connect to the store again. Raises StoreLost if that is not possible in time."""
        assert self._store is not None
        self._errors.append("store lost")
        self._made, self._next = [], {}
        self._store.close()
        deadline = time.monotonic() + LIMIT_S
        while self._goes_on(POLL_S):
            try:
                self._store = self._open_store()
            except StoreLost:
                if time.monotonic() >= deadline:
                    raise
            else:
                break
        self._tell()

    def return_to_stored(self) -> None:
        """Continue to read each partition where the store says."""
        self._return_to({key: self._following(key) for key in map(_key, self._client.assignment())})

    def _return_to(self, offsets: Mapping[Key, int]) -> None:
        """Read partitions from these offsets, though others were read already. The history has it as an assignment by
        the program itself, at the offset: what the next poll returns there is no fault of the consumer's.
        """
        places = [TopicPartition(*key, offset) for key, offset in offsets.items()]
        for place in places:
            self._client.seek(place)
        self._note(schema.ASSIGN, schema.OK, places)

    def begin(self) -> None:
        """Begin a transaction."""
        with self._one_at_a_time:
            self._transactions.begin()

    def end(self) -> bool:
        """Commit the transaction: whether it is. While nobody answers it is asked for again."""
        with self._one_at_a_time:
            answer = self._transactions.commit(RESUMED_S)
        return self._ok("end", answer)

    def give_up(self, inputs: Sequence[Message]) -> bool:
        """Abort the transaction and go back to the first of its inputs: whether that can be done. It cannot if the
        producer is fenced off, or if nobody knows how the transaction ended.
        """
        with self._one_at_a_time:
            answer = self._transactions.abort()
        aborted = self._ok("abort", answer)
        if aborted:
            self._return_to(before(inputs))
        return aborted

    def _ok(self, step: str, answer: Mapping[str, Any]) -> bool:
        """Whether a step is done; if not, the harness hears which one, and of which error."""
        done = bool(answer["outcome"] == schema.OK)
        if not done:
            self._errors.append(f"{step} {answer['error_name']}")
            self._tell()
        return done

    def close(self) -> None:
        """Leave the group; the last word of the process."""
        self._client.close()
        if self._store is not None:
            self._store.close()
        self._writer.flush()
        self._tell(done=True)


def _source(message: Message) -> Input:
    return Input(str(message.topic()), int(message.partition() or 0), int(message.offset() or 0))


def _key(place: TopicPartition) -> Key:
    return place.topic, place.partition


def before(inputs: Sequence[Message]) -> dict[Key, int]:
    """For each partition the offset of the first of some inputs."""
    sources = [_source(message) for message in reversed(inputs)]
    return {(one.topic, one.partition): one.offset for one in sources}


def after(inputs: Sequence[Message]) -> dict[Key, int]:
    """For each partition the offset after the last of some inputs."""
    return {(str(message.topic()), int(message.partition() or 0)): int(message.offset() or 0) + 1 for message in inputs}
