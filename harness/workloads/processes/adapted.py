"""Clients other than librdkafka, made to speak the part of `confluent_kafka.Producer` that the recorders use.

So the evidence of a record is written by the same code, whichever client sends it. A client is a `Sending`: something
that records are handed to, and that tells what came of each, on any thread. A report is put into a queue there and told
when the recorder polls, so a recorder never runs on two threads.

What is given up is reported as that, and what is heard of it later is dropped; the process ends soon after, and with it
whatever was still on its way.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import KafkaError

from evidence.history.outcomes import outcome_of
from evidence.history.schema import FAIL, INFO


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a record or a step of a transaction failed, as `confluent_kafka.KafkaError` tells it."""

    number: int
    text: str
    again: bool = False
    """Whether the step may be tried again."""
    definite: bool | None = None
    """Whether it definitely was not done, if the client says so itself; None: the error's name tells."""

    def code(self) -> int:
        """The error's number in Kafka's protocol; -1 if it has none."""
        return self.number

    def name(self) -> str:
        """The error's name."""
        return self.text

    def retriable(self) -> bool:
        """Whether the step may be tried again: as KafkaProducer documents it, if it took too long."""
        return self.again


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a record, as `confluent_kafka.Message` tells it."""

    sent: bytes
    at: int | None

    def value(self) -> bytes:
        """The record's own bytes."""
        return self.sent

    def offset(self) -> int | None:
        """Its offset; None if the client was told none."""
        return self.at


OnDelivery = Callable[[Failure | None, Report], None]
Heard = Callable[[Failure | None, int | None], None]


class Sending(Protocol):
    """One client's way to send a record."""

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes, heard: Heard) -> None:
        """Hand a record over; `heard` is told its error or its offset, on any thread, once or not at all."""

    def configuration(self) -> dict[str, str]:
        """Every setting that the client goes by, as text; null is "null"."""


class Transacting(Sending, Protocol):
    """One that has transactions, too."""

    def transact(self, step: str) -> None:
        """Carry out a step of a transaction, by its name in KafkaProducer. Raises KafkaException with a Failure."""


class AdaptedProducer:
    """A client's producer, used as `confluent_kafka.Producer` is."""

    def __init__(self, client: Sending) -> None:
        self._client = client
        self._reports: queue.SimpleQueue[tuple[int, Failure | None, int | None]] = queue.SimpleQueue()
        self._waiting: dict[int, tuple[bytes, OnDelivery]] = {}
        self._number = 0

    def produce(
        self, topic: str, *, value: bytes, key: bytes | None = None, partition: int, on_delivery: OnDelivery
    ) -> None:
        """Hand a record to the client. It may block as long as the client does (max.block.ms)."""
        number = self._number
        self._number += 1
        self._waiting[number] = value, on_delivery
        self._client.send(
            topic, partition, key, value, lambda error, offset: self._reports.put((number, error, offset))
        )

    def produce_batch(
        self, topic: str, entries: Sequence[Mapping[str, Any]], *, partition: int, on_delivery: OnDelivery
    ) -> int:
        """Hand records to the client one by one; returns how many: all."""
        for entry in entries:
            self.produce(
                topic, value=entry["value"], key=entry.get("key"), partition=partition, on_delivery=on_delivery
            )
        return len(entries)

    def poll(self, timeout_s: float = 0.0) -> int:
        """Tell what has been reported, waiting so long for a first report; returns how many there were."""
        told = 0
        wait_s = timeout_s if self._waiting else 0.0
        while True:
            try:
                number, error, offset = self._reports.get(timeout=wait_s) if wait_s > 0 else self._reports.get_nowait()
            except queue.Empty:
                return told
            wait_s = 0.0
            if (record := self._waiting.pop(number, None)) is not None:
                record[1](error, Report(record[0], offset))
                told += 1

    def flush(self, timeout_s: float) -> int:
        """Poll until every record is reported or the time is over; returns how many are not."""
        deadline = time.monotonic() + timeout_s
        while self._waiting and (left_s := deadline - time.monotonic()) > 0:
            self.poll(min(left_s, 0.1))
        return len(self._waiting)

    def purge(self, **_which: bool) -> None:
        """Give up every record that is not reported: whether it was written nobody knows."""
        self.poll()
        given_up, self._waiting = self._waiting, {}
        purged = KafkaError(KafkaError._PURGE_INFLIGHT)
        for value, on_delivery in given_up.values():
            on_delivery(Failure(purged.code(), purged.name()), Report(value, None))

    def __len__(self) -> int:
        """How many records are not reported."""
        return len(self._waiting)

    def configuration(self) -> dict[str, str]:
        """Every setting that the client goes by."""
        return self._client.configuration()


class AdaptedTransactions(AdaptedProducer):
    """The same with transactions. Each step raises KafkaException with a Failure."""

    def __init__(self, client: Transacting) -> None:
        super().__init__(client)
        self._transact = client.transact

    def init_transactions(self, _timeout_s: float) -> None:
        """Fence off earlier owners of the transactional.id."""
        self._transact("initTransactions")

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._transact("beginTransaction")

    def commit_transaction(self, _timeout_s: float) -> None:
        """Commit it, when its records are delivered."""
        self._transact("commitTransaction")

    def abort_transaction(self, _timeout_s: float) -> None:
        """Abort it."""
        self._transact("abortTransaction")


def outcome_of_error(error: KafkaError | Failure | None) -> str:
    """What an operation came to: what the client says itself if it does, else what the error's name means."""
    if isinstance(error, Failure) and error.definite is not None:
        return FAIL if error.definite else INFO
    return outcome_of(None if error is None else error.name())
