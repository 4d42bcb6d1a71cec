"""Recording what consumers are handed: a poll's records in one go, its errors one by one.

The records of one poll are one operation of many rows. Their times are the poll's own: invoked before it, completed
after it. Identities and checksums are read from the records' bytes, so a record that is damaged, or was never sent by
us, is on record as just that. Records' timestamps are not: asking the client for them costs as much as everything else
about a record but its checksum, and the replicas' files have them.

Each accessor of a message is a call of 60 to 80 ns, a tenth of the cost of receiving it. Value, offset and partition
are read of every message (and the topic, if there can be several): where transaction markers or compaction leave holes
in logs, records of two partitions can together count up as if they were of one. Of records that count up in one
partition the leader epoch is read of the first and the last only, since it never goes back within a log. Only a message
that is no record of ours can be an error; librdkafka puts the error's text in place of the value.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from evidence.history import record, runs, schema
from evidence.history.writer import NULL_32, HistoryWriter

Key = tuple[str, int]

READING: Final[Mapping[str, Any]] = {
    "check.crcs": True,
    # While enough records wait to be polled librdkafka fetches no more, and by default not for a second after.
    "fetch.queue.backoff.ms": 10,
}
"""What every recording consumer's configuration has."""
ASSIGNED: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    **READING,
}
"""What those have that are assigned their partitions: they begin nowhere but where they are told to."""

NOBODY_ELSE: Final = nullcontext()
MARK: Final = b"CGMDv2:"

# The type's own methods, called by map: as quick as it gets. They return None only for messages that stand for errors.
_offset_of: Final[Callable[[Message], int]] = Message.offset  # type: ignore[assignment]
_partition_of: Final[Callable[[Message], int]] = Message.partition  # type: ignore[assignment]
_value_of: Final = Message.value


class _Place(NamedTuple):
    """Where a record lies."""

    topic: str
    partition: int
    leader_epoch: int | None


@dataclass(slots=True)
class PollResult:
    """What one poll returned, beside the records that went to the history."""

    positions: dict[Key, int] = field(default_factory=dict)
    """For each partition that returned records: the offset after the last."""
    ends: dict[Key, int] = field(default_factory=dict)
    """Partitions whose end was reached, and that offset."""
    errors: list[tuple[Key | None, KafkaError]] = field(default_factory=list)
    records: int = 0
    messages: list[Message] = field(default_factory=list)
    """The messages themselves, for callers that process them."""


def named(key: Key | None, error: KafkaError) -> str:
    """An error with the partition that it is of, if any, as the harness is told of it."""
    return f"{key[0]}-{key[1]}: {error.name()}" if key else error.name()


def generation_of(metadata: object) -> int | None:
    """The group's generation, of what a client says of its membership; None if it does not say, or is in none.

    librdkafka gives bytes: a mark, the generation in 32 bits in the machine's order, then names (rdkafka_cgrp.c,
    rd_kafka_consumer_group_metadata_write of 2.15). Kafka's own has a method from 2.5 on.

    >>> generation_of(MARK + (7).to_bytes(4, sys.byteorder) + b"group"), generation_of(b"something else")
    (7, None)
    """
    found = -1
    if isinstance(metadata, bytes) and metadata.startswith(MARK):
        found = int.from_bytes(metadata[len(MARK) :][:4], sys.byteorder, signed=True)
    elif hasattr(metadata, "generationId"):
        found = int(metadata.generationId())
    return None if found < 0 else found


class PollRecorder:
    """Polls a consumer and records what it returns."""

    def __init__(
        self,
        writer: HistoryWriter,
        client: Consumer,
        *,
        size: int,
        topic: str | None = None,
        recording: AbstractContextManager[Any] = NOBODY_ELSE,
    ) -> None:
        """`size`: how many records a poll returns at most; `topic`: the only one it can return records of, if known;
        `recording`: entered while a poll is recorded, where other threads write to the same history.
        """
        self._recording = recording
        self._writer, self._client, self._size, self._topic = writer, client, size, topic
        self._decoder = record.Decoder()
        self.transaction: int | None = None
        """What is polled from now on is part of this transaction of the process."""

    def poll(self, timeout_s: float) -> PollResult:
        """One poll, waiting up to `timeout_s` for it to be full."""
        invoked_ns = time.monotonic_ns()
        messages = self._client.consume(self._size, timeout_s)
        completed_ns = time.monotonic_ns()
        if not messages:
            return PollResult()
        with self._recording:
            return self._record(messages, invoked_ns, completed_ns)

    def _record(self, messages: list[Message], invoked_ns: int, completed_ns: int) -> PollResult:
        seen = PollResult()
        identities = self._decoder.decode(list(map(_value_of, messages)))
        if not identities.valid.all():
            doubtful = np.flatnonzero(~identities.valid).tolist()
            failed = [place for place in doubtful if messages[place].error() is not None]
            for place in failed:
                self._failed(messages[place], seen, invoked_ns, completed_ns)
            identities = identities.without(failed)
            for place in reversed(failed):
                del messages[place]
        if messages:
            seen.messages = messages
            self._returned(messages, identities, seen, invoked_ns, completed_ns)
        return seen

    def _failed(self, message: Message, seen: PollResult, invoked_ns: int, completed_ns: int) -> None:
        error, topic, partition, offset = message.error(), message.topic(), message.partition(), message.offset()
        assert error is not None
        key = (topic, partition) if topic is not None and partition is not None and partition >= 0 else None
        if error.code() == KafkaError._PARTITION_EOF and key is not None and offset is not None:
            seen.ends[key] = offset
            return
        seen.errors.append((key, error))
        self._writer.append(
            kind=schema.POLL_ERROR,
            outcome=schema.FAIL,
            topic=None if key is None else key[0],
            partition=None if key is None else key[1],
            invoked_ns=invoked_ns,
            completed_ns=completed_ns,
            error=error.code(),
            error_name=error.name(),
        )

    def _returned(
        self, messages: list[Message], found: record.Identities, seen: PollResult, invoked_ns: int, completed_ns: int
    ) -> None:
        count = seen.records = len(messages)
        offsets = np.fromiter(map(_offset_of, messages), np.int64, count)
        alike = [found.producer, found.valid, np.fromiter(map(_partition_of, messages), np.int32, count)]
        if self._topic is None:
            _, topics = np.unique([message.topic() for message in messages], return_inverse=True)
            alike.append(topics)
        begins = runs.starts([offsets, found.sequence], alike).tolist()
        # A consumer takes what waits for each partition in turn, so a poll is a few runs of one partition each.
        pieces = [piece for begin, end in pairwise([*begins, count]) for piece in self._pieces(messages, begin, end)]
        operation = self._writer.next_operation()
        for topic, group in groupby(pieces, lambda piece: piece[2].topic):
            together = list(group)
            first = np.array([begin for begin, _, _ in together])
            epochs = [NULL_32 if place.leader_epoch is None else place.leader_epoch for _, _, place in together]
            self._writer.extend(
                len(together),
                operation=operation,
                counts=np.array([end - begin for begin, end, _ in together]),
                kind=schema.POLL,
                outcome=schema.OK,
                topic=topic,
                partition=np.array([place.partition for _, _, place in together], np.int32),
                offset=offsets[first],
                producer=found.producer[first],
                sequence=found.sequence[first],
                invoked_ns=invoked_ns,
                completed_ns=completed_ns,
                valid=found.valid[first],
                transaction=self.transaction,
                leader_epoch=np.array(epochs, np.int32),
            )
        for _, end, place in pieces:
            seen.positions[(place.topic, place.partition)] = int(offsets[end - 1]) + 1

    def _place(self, message: Message) -> _Place:
        topic = message.topic() if self._topic is None else self._topic
        return _Place(topic, message.partition(), message.leader_epoch())  # type: ignore[arg-type]  # it is a record's

    def _pieces(self, messages: list[Message], begin: int, end: int) -> Iterator[tuple[int, int, _Place]]:
        """Divide messages [begin, end), which count up in one partition, where their leader epoch changes."""
        place = self._place(messages[begin])
        if end - begin == 1 or self._place(messages[end - 1]) == place:
            yield begin, end, place
        else:
            middle = (begin + end) // 2
            yield from self._pieces(messages, begin, middle)
            yield from self._pieces(messages, middle, end)

    def note(self, kind: str, outcome: str, partitions: Sequence[TopicPartition]) -> None:
        """Record that the consumer was given partitions, or has lost them (`kind`)."""
        generation = generation_of(self._client.consumer_group_metadata()) if kind == schema.ASSIGN else None
        for one in partitions:
            self._writer.append(
                kind=kind,
                outcome=outcome,
                topic=one.topic,
                partition=one.partition,
                offset=one.offset if one.offset >= 0 else None,
                count=generation,
                completed_ns=time.monotonic_ns(),
            )

    def watermarks(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        """Ask for a log's first offset and its end as a consumer may read it (the leader's high watermark); recorded.

        Raises KafkaException if no broker tells.
        """
        invoked_ns = time.monotonic_ns()
        answer = self._client.get_watermark_offsets(TopicPartition(topic, partition), timeout=timeout_s)
        if answer is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        low, high = answer
        self._writer.append(
            kind=schema.END_OFFSETS,
            outcome=schema.OK,
            topic=topic,
            partition=partition,
            offset=high,
            invoked_ns=invoked_ns,
            completed_ns=time.monotonic_ns(),
        )
        return int(low), int(high)
