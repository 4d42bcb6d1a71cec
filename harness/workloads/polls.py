"""Recording what consumers are handed: a poll's records in one go, its errors one by one.

The records of one poll are one operation of many rows. Their times are the poll's own: invoked before it, completed
after it. Identities and checksums are read from the records' bytes, so a record that is damaged, or was never sent by
us, is on record as just that. Records' timestamps are not: asking the client for them costs as much as everything else
about a record but its checksum, and the replicas' files have them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from harness.history import record, schema
from harness.history.writer import NULL_32, HistoryWriter

Key = tuple[str, int]

# The type's own methods, called by map: as quick as it gets. Topics are None only for messages that stand for errors.
_topic_of: Final[Callable[[Message], str]] = Message.topic  # type: ignore[assignment]
_partition_of: Final = Message.partition
_offset_of: Final = Message.offset
_value_of: Final = Message.value
_leader_epoch_of: Final = Message.leader_epoch
_error_of: Final = Message.error


@dataclass(slots=True)
class Poll:
    """What one poll returned, beside the records that went to the history."""

    positions: dict[Key, int] = field(default_factory=dict)
    """For each partition that returned records: the offset after the last."""
    ends: dict[Key, int] = field(default_factory=dict)
    """Partitions whose end was reached, and that offset."""
    errors: list[tuple[Key | None, KafkaError]] = field(default_factory=list)
    records: int = 0
    messages: list[Message] = field(default_factory=list)
    """The records themselves, for those who do something with them."""


class PollRecorder:
    """Polls a consumer and records what it returns."""

    def __init__(self, writer: HistoryWriter, client: Consumer, *, size: int, topic: str | None = None) -> None:
        """`size`: how many records a poll returns at most; `topic`: the only one it can return records of, if known."""
        self._writer, self._client, self._size, self._topic = writer, client, size, topic
        self.transaction: int | None = None
        """What is polled from now on is part of this transaction of the process."""

    def poll(self, timeout_s: float) -> Poll:
        """One poll, waiting up to `timeout_s` for it to be full."""
        invoked_ns = time.monotonic_ns()
        messages = self._client.consume(self._size, timeout_s)
        completed_ns = time.monotonic_ns()
        seen = Poll()
        # Not by comparison with None: an error raises when it is compared with anything but a number or an error.
        if any(map(_error_of, messages)):
            for message in messages:
                if message.error() is not None:
                    self._failed(message, seen, invoked_ns, completed_ns)
            messages = [message for message in messages if message.error() is None]
        if messages:
            seen.messages = messages
            self._returned(messages, seen, invoked_ns, completed_ns)
        return seen

    def _failed(self, message: Message, seen: Poll, invoked_ns: int, completed_ns: int) -> None:
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

    def _returned(self, messages: list[Message], seen: Poll, invoked_ns: int, completed_ns: int) -> None:
        count = seen.records = len(messages)
        topics = list(map(_topic_of, messages)) if self._topic is None else [self._topic] * count
        partitions = np.fromiter(map(_partition_of, messages), np.int32, count)
        offsets = np.fromiter(map(_offset_of, messages), np.int64, count)
        epochs = _epochs(list(map(_leader_epoch_of, messages)))
        identities = record.decode_all(list(map(_value_of, messages)))
        # A consumer takes what waits for each partition in turn, so a poll is a few runs of one partition each.
        names = _numbers(topics) if self._topic is None else np.zeros(count, np.int32)
        steps = [0, *(np.flatnonzero((np.diff(partitions) != 0) | (np.diff(names) != 0)) + 1).tolist(), count]
        for begin, end in pairwise(steps):
            seen.positions[(topics[begin], int(partitions[begin]))] = int(offsets[end - 1]) + 1
        operation = self._writer.next_operation()
        changes = [0, *(np.flatnonzero(np.diff(names)) + 1).tolist(), count]
        for begin, end in pairwise(changes):
            part = slice(begin, end)
            self._writer.extend(
                end - begin,
                operation=operation,
                kind=schema.POLL,
                outcome=schema.OK,
                topic=topics[begin],
                partition=partitions[part],
                offset=offsets[part],
                producer=identities.producer[part],
                sequence=identities.sequence[part],
                invoked_ns=invoked_ns,
                completed_ns=completed_ns,
                valid=identities.valid[part],
                transaction=self.transaction,
                leader_epoch=None if epochs is None else epochs[part],
            )

    def watermarks(self, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
        """The log's first offset and its end as a consumer may read it (the leader's high watermark), put on record.

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


def _epochs(epochs: list[int | None]) -> npt.NDArray[np.int32] | None:
    """Leader epochs as an array; None if no record has one (formats before 2)."""
    unknown = epochs.count(None)
    if unknown == len(epochs):
        return None
    return np.array([NULL_32 if epoch is None else epoch for epoch in epochs] if unknown else epochs, np.int32)


def _numbers(words: list[str]) -> npt.NDArray[np.int32]:
    """Equal words as equal numbers."""
    known = {word: number for number, word in enumerate(dict.fromkeys(words))}
    if len(known) == 1:
        return np.zeros(len(words), np.int32)
    return np.array([known[word] for word in words], np.int32)
