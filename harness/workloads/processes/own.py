"""A recorder's side of a client of the user's own: used as librdkafka's producer and consumer are.

What the client says it was handed, or was told, is recorded by the same code as everybody's. Times are the recorder's:
a record is invoked before its line is written, and completed when its answer has been read, so the true interval is
within the recorded one. Whether an error is definite the client says.

A failure of the client's (ClientFailed) is raised once, by a poll, when everything that was heard before it has been
told; records without an answer have been told as unknown by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException, Message

from evidence.errors import ClientFailed
from evidence.history import schema
from evidence.history.writer import HistoryWriter
from evidence.text import visible
from harness.workloads import protocol
from harness.workloads.own_client import OwnClient
from harness.workloads.processes.adapted import AdaptedTransactions, Failure, Heard
from harness.workloads.processes.polls import Key, PollRecorder, PollResult
from harness.workloads.protocol import Assigned, Failed, Polled, Revoked
from harness.workloads.settings import COMMAND

STEP_LIMIT_S: Final = 90.0
"""For a step of a transaction: clients block for 60 s by default (max.block.ms)."""
POLL_LIMIT_S: Final = 60.0
"""Beyond the time that a poll may wait: a client that cannot reach its brokers may answer late."""
COMMIT_LIMIT_S: Final = 60.0
NO_NUMBER: Final = -1
GONE: Final = Failure(NO_NUMBER, "_CLIENT_FAILED", definite=False)
"""What is told of a record that will not be answered."""
BATCH: Final = 500
"""Records of a poll at most: Kafka's own default (max.poll.records)."""
COMMIT_INTERVAL_MS: Final = "5000"
"""Kafka's own default (auto.commit.interval.ms)."""


def started(library: Mapping[str, Any]) -> OwnClient:
    """The client of a library that is one of the user's own, after its greeting.

    Raises ClientFailed, also if it is not who it was when it was asked first.
    """
    client = OwnClient(library[COMMAND], Path(library["stderr"]))
    try:
        said = client.greeting()
        if said.label != library["label"]:
            raise client.fail(f"says that it is {said.label}, and was {library['label']} when it was asked first")
    except ClientFailed:
        client.close()
        raise
    return client


def failure_of(said: Failed) -> Failure:
    """What a client says of a failure, as recorders are told of one."""
    return Failure(NO_NUMBER if said.code is None else said.code, visible(said.error), definite=said.definite)


class OwnSending:
    """Hands records to a client of the user's own."""

    def __init__(
        self, client: OwnClient, name: str, bootstrap: str, settings: Mapping[str, Any], *, kafka: str
    ) -> None:
        self.client = client
        told = {key: str(value) for key, value in settings.items()}
        self._configuration = client.start(
            protocol.StartProducer(name=name, bootstrap=bootstrap, kafka=kafka, settings=told)
        )

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Heard) -> None:
        """Returns at once."""

        def answered(said: protocol.WithId | None) -> None:
            if said is None:
                heard(GONE, None)
            elif isinstance(said, Failed):
                heard(failure_of(said), None)
            elif isinstance(said, protocol.Acknowledged):
                heard(None, said.offset)

        self.client.tell(
            lambda number: protocol.Produce(id=number, topic=topic, partition=partition, key=key, value=value),
            answered,
        )

    def transact(self, step: str) -> None:
        """A step of a transaction, by its name in KafkaProducer; it is the client's affair when it initialises."""
        if step in STEPS:
            command, wanted = STEPS[step]
            said = self.client.ask(lambda number: command(id=number), wanted, STEP_LIMIT_S)
            if isinstance(said, Failed):
                raise KafkaException(failure_of(said))

    def configuration(self) -> dict[str, str]:
        """What the client says that it goes by."""
        return self._configuration


STEPS: Final[Mapping[str, tuple[type[Any], type[protocol.Answer]]]] = {
    "beginTransaction": (protocol.Begin, protocol.Begun),
    "commitTransaction": (protocol.Commit, protocol.Committed),
    "abortTransaction": (protocol.Abort, protocol.Aborted),
}


class OwnProducer(AdaptedTransactions):
    """A producer of the user's own."""

    def __init__(self, sending: OwnSending) -> None:
        super().__init__(sending)
        self._own = sending.client
        self._failed = False

    def poll(self, timeout_s: float = 0.0) -> int:
        """Tell what has been reported. Raises ClientFailed, once, when there is nothing left to tell."""
        told = super().poll(timeout_s)
        if not told and self._own.failure is not None and not self._failed:
            self._failed = True
            raise self._own.failure
        return told

    def close(self) -> None:
        """End its process."""
        self._own.close()


def own_producer(
    library: Mapping[str, Any], bootstrap: str, settings: Mapping[str, Any]
) -> tuple[OwnProducer, dict[str, str]]:
    """The producer of a client of the user's own, and what it says that it goes by. Raises ClientFailed."""
    client = started(library)
    try:
        sending = OwnSending(client, library["process"], bootstrap, settings, kafka=library["kafka"])
    except ClientFailed:
        client.close()
        raise
    return OwnProducer(sending), sending.configuration()


class OwnConsumer:
    """The part of `confluent_kafka.Consumer` that records of polls are made with, by a client of the user's own."""

    def __init__(self, client: OwnClient, take_move: Callable[[Assigned | Revoked], None]) -> None:
        """`take_move` is told what was said of partitions before a poll was answered."""
        self._client, self._take_move = client, take_move
        self.failed: Failed | None = None
        """What the last poll was answered with, if that was an error."""

    def consume(self, size: int, timeout_s: float) -> list[Message]:
        """One poll. Raises ClientFailed."""
        said = self._client.ask(
            lambda number: protocol.Poll(id=number, records=size, wait_ms=round(timeout_s * 1000)),
            Polled,
            timeout_s + POLL_LIMIT_S,
        )
        # `ask` has returned, so the None of this answer is there.
        while (move := self._client.moves.get_nowait()) is not None:
            self._take_move(move)
        self.failed = said if isinstance(said, Failed) else None
        return [] if isinstance(said, Failed) else [_message(one) for one in said.records]


def _message(record: protocol.PolledRecord) -> Message:
    known: dict[str, Any] = {} if record.leader_epoch is None else {"leader_epoch": record.leader_epoch}
    return Message(topic=record.topic, partition=record.partition, offset=record.offset, value=record.value, **known)


class OwnReader:
    """Reads with a client of the user's own what comes, and records it: as BackgroundReader does with librdkafka.

    A member of a group has its offsets committed when its records are on record, and at its end, unless its settings
    say enable.auto.commit=false.
    """

    def __init__(
        self,
        writer: HistoryWriter,
        bootstrap: str,
        settings: Mapping[str, Any],
        *,
        library: Mapping[str, Any],
        group: str,
        assign: Sequence[Key] = (),
        subscribe: Sequence[str] = (),
    ) -> None:
        """Either `assign` partitions, read from their beginning, or `subscribe` topics. Raises ClientFailed."""
        self._writer = writer
        self._client = started(library)
        told = {"auto.offset.reset": "earliest"} | {key: str(value) for key, value in settings.items()}
        every_ms = told.pop("auto.commit.interval.ms", COMMIT_INTERVAL_MS)
        commits = bool(subscribe) and told.get("enable.auto.commit", "true") == "true"
        self._commit_every_s = int(every_ms) / 1000 if commits else None
        try:
            self._client.start(
                protocol.StartConsumer(
                    name=library["process"],
                    bootstrap=bootstrap,
                    kafka=library["kafka"],
                    settings=told | {"group.id": group, "enable.auto.commit": "false"},
                    assign=tuple(assign),
                    subscribe=tuple(subscribe),
                )
            )
        except ClientFailed:
            self._client.close()
            raise
        self._consumer = OwnConsumer(self._client, self._take_move)
        self._polls = PollRecorder(writer, self._consumer, size=BATCH)  # type: ignore[arg-type]  # it has what is used
        self._uncommitted: dict[Key, int] = {}
        self._committed_s = time.monotonic()
        self.read = 0
        self.positions: dict[Key, int] = {}
        self.errors: list[str] = []
        if assign:
            self._note(schema.ASSIGN, schema.OK, assign)

    def poll(self, timeout_s: float) -> PollResult:
        """One poll, and what was said of partitions meanwhile. Raises ClientFailed."""
        invoked_ns = time.monotonic_ns()
        seen = self._polls.poll(timeout_s)
        if (failed := self._consumer.failed) is not None:
            self._note_error(failed, invoked_ns)
        self._writer.flush_if_old()
        self.read += seen.records
        self.positions |= seen.positions
        self._uncommitted |= seen.positions
        if self._commit_every_s is not None and time.monotonic() - self._committed_s >= self._commit_every_s:
            self._commit()
        return seen

    def _note_error(self, failed: Failed, invoked_ns: int) -> None:
        failure = failure_of(failed)
        self.errors.append(failure.name())
        self._writer.append(
            kind=schema.POLL_ERROR,
            outcome=schema.FAIL,
            invoked_ns=invoked_ns,
            completed_ns=time.monotonic_ns(),
            error=failure.code(),
            error_name=failure.name(),
        )

    def _take_move(self, move: Assigned | Revoked) -> None:
        if isinstance(move, Assigned):
            self._note(schema.ASSIGN, schema.OK, move.partitions)
            return
        self._note(schema.REVOKE, schema.INFO if move.lost else schema.OK, move.partitions)
        for place in move.partitions:
            self._uncommitted.pop(place, None)

    def _note(self, kind: str, outcome: str, places: Sequence[Key]) -> None:
        for topic, partition in places:
            self._writer.append(
                kind=kind, outcome=outcome, topic=topic, partition=partition, completed_ns=time.monotonic_ns()
            )

    def _commit(self) -> None:
        """Commit how far records are on record, and put on record what came of that."""
        self._committed_s = time.monotonic()
        if not self._uncommitted:
            return
        self._writer.flush()
        offsets, invoked_ns = dict(self._uncommitted), time.monotonic_ns()
        self._uncommitted.clear()
        places = tuple((topic, partition, offset) for (topic, partition), offset in offsets.items())
        said = self._client.ask(
            lambda number: protocol.CommitOffsets(id=number, offsets=places), protocol.Committed, COMMIT_LIMIT_S
        )
        failure = failure_of(said) if isinstance(said, Failed) else None
        if failure is not None:
            self.errors.append(failure.name())
        for topic, partition, offset in places:
            self._writer.append(
                kind=schema.GROUP_OFFSETS,
                outcome=schema.OK if failure is None else schema.INFO,
                topic=topic,
                partition=partition,
                offset=offset,
                invoked_ns=invoked_ns,
                completed_ns=time.monotonic_ns(),
                error=None if failure is None else failure.code(),
                error_name=None if failure is None else failure.name(),
            )

    def close(self) -> None:
        """Commit what is not, and end the client. Raises ClientFailed."""
        try:
            if self._commit_every_s is not None and self._client.failure is None:
                self._commit()
        finally:
            self._client.close()
