"""Questions about what brokers store: a batch whose bytes are known is sent to them, and their logs are searched.

What was sent and what was answered is in the timeline. It is compared with the copies of the replicas afterwards
(checks/claims/storage/files.py).
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Literal

from evidence.errors import HarnessError, WaitTimeout
from evidence.events import BatchSent, Search
from harness.cluster.cluster import KAFKA_PORT
from harness.cluster.librdkafka import client_settings, consumer, place
from harness.cluster.requests import RequestRefused, produce
from harness.observers.replicas import directory_of
from harness.polling import poll
from kafkafiles.batches import BatchHeader, decode_batch, scan_batches
from kafkafiles.making import gzip_batch
from kafkafiles.stored import fingerprint, read_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from confluent_kafka import Consumer

    from harness.run.parts import Parts
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Partition, Who
    from harness.workloads.handles.client import Client

ASK_S: Final = 30.0
AGAIN_S: Final = 0.5
NOT_LEADER: Final = 6
ALL: Final = -1
PAYLOAD: Final = bytes(100)
"""Of each record, after its identity: something to compress."""
APART_MS: Final = 10
"""Between the timestamps of two records of a batch."""
RAW: Final = {"acks": "all", "compression.type": "gzip", "retries": "0"}


class Logs:
    """Sends batches and searches logs."""

    def __init__(
        self, parts: Parts, sequence_log: SequenceLog, who: Who, register: Callable[[str, Mapping[str, str]], Client]
    ) -> None:
        """`register` puts a new client of a kind, with settings, into run.json."""
        self._timeline, self._run_dir, self._sequence_log = parts.timeline, parts.run_dir, sequence_log
        self._cluster, self._who, self._register_client = parts.cluster, who, register
        self._searcher_settings: dict[str, Any] = {
            "group.id": "searcher",
            "enable.auto.commit": False,
            **client_settings(parts.cluster.bootstrap, parts.version.client_settings),
        }

    def send_batch(self, t: Partition, count: int, *, magic: int) -> BatchSent:
        """Send so many records as one gzip batch in message format `magic` to the partition's leader, with acks=all.

        The batch's bytes are the harness's own, by a connection of its own: no client library compresses them again.
        The records have a history like those of any producer. Raises HarnessError if the batch is not taken.
        """
        from evidence.history import record, schema
        from evidence.history.writer import HistoryWriter

        client = self._register_client("producer", RAW)
        run, producer = record.run_hash(self._run_dir.path.name), client.producer_id
        first_ms = int(time.time() * 1000) - count * APART_MS
        values = [record.encode(run, producer, sequence, PAYLOAD) for sequence in range(count)]
        batch = gzip_batch(values, [first_ms + APART_MS * number for number in range(count)], magic=magic)
        detail = {"partition": str(t), "count": count, "magic": magic}
        path, name = self._run_dir.stream(client.name), self._run_dir.path.name
        with self._sequence_log.step("send a batch", **detail), HistoryWriter(path, client.name, run=name) as history:
            history.reserve(t.topic, [t.number], producer, 0, count)
            invoked_ns, sent_wall_ns = time.monotonic_ns(), time.time_ns()
            offset = self._produce(t, batch, magic)
            completed_ns = time.monotonic_ns()
            for sequence in range(count):
                history.append(
                    kind=schema.SEND,
                    outcome=schema.OK,
                    topic=t.topic,
                    partition=t.number,
                    offset=offset + sequence,
                    producer=producer,
                    sequence=sequence,
                    invoked_ns=invoked_ns,
                    completed_ns=completed_ns,
                    acks=ALL,
                )
            sent = self._sent(t, client.name, batch, offset, sent_wall_ns)
            self._timeline.append(sent)
        return sent

    def _produce(self, t: Partition, batch: bytes, magic: int) -> int:
        """The first offset of a batch that the leader has taken. A broker that leads no longer has written nothing: the
        next one is asked.
        """

        def ask() -> int | None:
            address = (self._who.leader_of(t).node.address, KAFKA_PORT)
            try:
                return produce(address, *t, batch, magic=magic, timeout_s=ASK_S)
            except OSError as error:
                raise HarnessError(f"{address[0]} did not answer to a batch: {error}") from None
            except RequestRefused as error:
                if error.code != NOT_LEADER:
                    raise
                return None

        offset = poll(ask, ASK_S, until=lambda answer: answer is not None, every_s=AGAIN_S)
        if offset is None:
            raise WaitTimeout(f"no broker that leads {t} took a batch in {ASK_S:.0f} s")
        return offset

    @staticmethod
    def _sent(t: Partition, process: str, batch: bytes, offset: int, sent_wall_ns: int) -> BatchSent:
        header = next(scan_batches(batch))
        assert isinstance(header, BatchHeader)
        return BatchSent(
            process=process,
            topic=t.topic,
            partition=t.number,
            offset=offset,
            magic=header.magic,
            codec=header.codec,
            size=header.size,
            fingerprint=fingerprint(batch, header),
            timestamps_ms=tuple(decode_batch(batch, header).timestamps_ms),
            sent_wall_ns=sent_wall_ns,
        )

    def search_log(self, t: Partition, samples: int, *, by_time: bool) -> None:
        """Ask the partition's leader for so many offsets from all over its log, as a reader that begins there; and with
        `by_time` (0.10.1 and later) for the first record at or after the times of those records, and a millisecond
        after each.
        """
        placed = list(self._samples(t, samples))
        with (
            self._sequence_log.step("search the log", partition=str(t), samples=samples, by_time=by_time),
            closing(consumer(self._searcher_settings)) as client,
        ):
            for offset, _ in placed:
                self._tell(t, "offset", offset, self._first_read(client, t, offset))
            times = sorted({stamp + after for _, stamp in placed for after in (0, 1)}) if by_time else []
            for asked in times:
                (answer,) = client.offsets_for_times([place(t, asked)], timeout=ASK_S)
                self._tell(t, "time", asked, answer.offset if answer.offset >= 0 else None)

    def _samples(self, t: Partition, samples: int) -> Iterator[tuple[int, int]]:
        """Offsets and timestamps of records, evenly from the first to the last one of the leader's log."""
        leader = self._cluster.data / self._who.leader_of(t).node.name
        batches = read_stored(directory_of(leader, str(t)) / str(t)).batches
        found = [pair for one in batches for pair in zip(one.offsets, one.timestamps_ms, strict=True)]
        if len(found) < samples:
            raise HarnessError(f"{t} has {len(found)} records, too few to search it in {samples} places")
        return (found[number * (len(found) - 1) // (samples - 1)] for number in range(samples))

    @staticmethod
    def _first_read(client: Consumer, t: Partition, offset: int) -> int | None:
        """The offset of the first record that a reader is given which begins at an offset; None for none in time."""
        client.assign([place(t, offset)])
        deadline = time.monotonic() + ASK_S
        while time.monotonic() < deadline:
            message = client.poll(1.0)
            if message is not None and message.error() is None:
                found = message.offset()
                return None if found is None else int(found)
        return None

    def _tell(self, t: Partition, by: Literal["offset", "time"], asked: int, found: int | None) -> None:
        self._timeline.append(Search(topic=t.topic, partition=t.number, by=by, asked=asked, found=found))
