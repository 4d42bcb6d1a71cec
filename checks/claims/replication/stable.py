"""Claims about the last stable offset: where open transactions hold it, and what lets it advance.

What was open when is read from the leader's log, in which the records of transactions and the markers of their ends
stand in the order in which they took effect. A question to the leader has two answers, the high watermark first: they
are taken for one state of the log where the next question has the same high watermark. Two leaders may have given
them, one of which is cut off from the others and does not know that it is replaced: then they say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged, timed
from checks.settings import SWEPT_EVERY, transactions_swept_ms
from evidence.basis import Basis
from evidence.events import EndsAnswer, Position, Transaction, of
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.text import plural
from kafkafiles.batches import CONTROL_ABORT
from kafkafiles.stored import StoredBatch

TIME_OUT_MS: Final = 60_000
"""The default of transaction.timeout.ms."""
MARKER_MS: Final = 4000
"""For a coordinator that writes its own log before it has the marker written, on a busy machine."""
UNASKED: Final = "nobody asked how far the partition may be read while nothing was written"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quiet:
    """Two answers to one question, the same high watermark as the next one's, and the end that the log says."""

    where: TopicPartition
    answer: EndsAnswer
    until_ns: int
    first_open: int | None
    """The first offset of the oldest transaction that is open below the high watermark."""
    had_open: bool
    """Whether one was open at any offset below."""

    @property
    def row(self) -> dict[str, Any]:
        return {
            "topic": self.where[0],
            "partition": self.where[1],
            "at_ns": self.answer.at_ns,
            "high_watermark": self.answer.high_watermark,
            "last_stable_offset": self.answer.last_stable_offset,
            "first_open": self.first_open,
        }


def _log_of_leader(evidence: RunEvidence, where: TopicPartition) -> tuple[StoredBatch, ...]:
    states = evidence.run_state.states.get(where, ())
    replica = evidence.stored(*where).get(broker(states[-1].leader)) if states else None
    return replica.batches if replica else ()


def open_at(log: Iterable[StoredBatch], end: int) -> dict[int, int]:
    """The transactions that are open in a log before an offset: by producer id, the offset of the first record."""
    found: dict[int, int] = {}
    for batch in log:
        header = batch.header
        if header.last_offset >= end:
            break
        if header.is_control:
            found.pop(header.producer_id, None)
        elif header.is_transactional and batch.offsets:
            found.setdefault(header.producer_id, batch.offsets[0])
    return found


def _quiet(evidence: RunEvidence) -> Iterator[_Quiet]:
    for where in evidence.run.assignment:
        log = _log_of_leader(evidence, where)
        answers = [one for one in of(evidence.run_state.events, EndsAnswer) if (one.topic, one.partition) == where]
        for one, following in pairwise(answers):
            if log and one.of_one_leader and one.high_watermark == following.high_watermark:
                open_ones = open_at(log, one.high_watermark)
                yield _Quiet(
                    where=where,
                    answer=one,
                    until_ns=following.at_ns,
                    first_open=min(open_ones.values(), default=None),
                    had_open=any(b.header.is_transactional and b.header.last_offset < one.high_watermark for b in log),
                )


@claim("last-stable-offset-at-first-open", source="KIP-98: last stable offset", basis=Basis.KIP)
def last_stable_offset_at_first_open(evidence: RunEvidence) -> Judged:
    """While transactions are open, the last stable offset is the first offset of the oldest one, whatever was written
    and ended behind it.
    """
    rows = [one.row for one in _quiet(evidence) if one.first_open is not None]
    wrong = [row for row in rows if row["last_stable_offset"] != row["first_open"]]
    return judged(rows, wrong, plural(len(rows), "answer") + " while a transaction was open", UNASKED)


@claim("last-stable-offset-released", source="KIP-98: last stable offset", basis=Basis.KIP)
def last_stable_offset_released(evidence: RunEvidence) -> Judged:
    """When no transaction is open, the last stable offset is the high watermark."""
    rows = [one.row for one in _quiet(evidence) if one.had_open and one.first_open is None]
    wrong = [row for row in rows if row["last_stable_offset"] != row["high_watermark"]]
    return judged(rows, wrong, plural(len(rows), "answer") + " after all transactions had ended", UNASKED)


@claim(
    "committed-reader-waits",
    source="Kafka documentation, consumer configuration: isolation.level",
    basis=Basis.DOCUMENTATION,
)
def committed_reader_waits(evidence: RunEvidence) -> Judged:
    """A read_committed consumer gets no record at or above the last stable offset, and gets the records there when the
    transaction has ended.
    """
    readers = {
        process.name
        for process in evidence.run.of_kind("consumer")
        if process.settings.get("isolation.level") == "read_committed"
    }
    positions = [one for one in of(evidence.run_state.events, Position) if one.process in readers]
    rows = []
    for quiet in _quiet(evidence):
        own = [one for one in positions if (one.topic, one.partition) == quiet.where]
        before = [one.offset for one in own if one.read_ns <= quiet.until_ns]
        after = [one.offset for one in own if one.read_ns > quiet.until_ns]
        if quiet.first_open is not None and before:
            rows.append(quiet.row | {"read_up_to": max(before), "later": max(after, default=None)})
    wrong = [row for row in rows if row["read_up_to"] > row["first_open"] or (row["later"] or 0) <= row["first_open"]]
    return judged(rows, wrong, plural(len(rows), "time") + " held back", "no reader was at work while one was open")


@claim(
    "silent-transaction-aborted-in-time",
    source="KIP-98: transaction.timeout.ms",
    basis=Basis.KIP,
    bound=f"transaction.timeout.ms, {SWEPT_EVERY}, and a tolerance of {MARKER_MS} ms for the machine",
    bound_source="Kafka documentation, producer configuration: transaction.timeout.ms; "
    "TransactionStateManager.timedOutTransactions (0.11.0.3 to 4.3.1)",
    bound_basis=Basis.DOCUMENTATION,
)
def silent_transaction_aborted_in_time(evidence: RunEvidence) -> Judged:
    """A transaction that its producer neither commits nor aborts is aborted by the coordinator when
    transaction.timeout.ms has passed.

    From the first record of the transaction to the marker of its abort, by the brokers' clocks. Only in runs in which
    no producer aborts: the log does not say who has asked for an abort.
    """
    told = of(evidence.run_state.events, Transaction)
    if any(one.phase == "abort" for one in told):
        return judged([], [], "", "a producer has aborted a transaction itself")
    limits = {
        int(process.settings.get("transaction.timeout.ms", TIME_OUT_MS))
        for process in evidence.run.processes
        if "transactional.id" in process.settings
    }
    rows: list[dict[str, Any]] = [
        {"topic": where[0], "partition": where[1], "offset": marker.header.last_offset, "took_ms": float(took_ms)}
        | {"least_ms": min(limits), "bound_ms": _bound_ms(evidence, min(limits))}
        for where in evidence.run.assignment
        for marker, took_ms in _aborted(_log_of_leader(evidence, where))
    ]
    early = [row for row in rows if row["took_ms"] < row["least_ms"]]
    if early:
        return judged(rows, early, plural(len(rows), "abort") + " by time-out", "")
    return timed(
        rows,
        lambda row: f"the abort came {row['took_ms'] / 1000:.1f} s after the first record",
        "no transaction was aborted",
    )


def _bound_ms(evidence: RunEvidence, limit_ms: int) -> float:
    return limit_ms + transactions_swept_ms(evidence.run) + MARKER_MS


def _aborted(log: Iterable[StoredBatch]) -> Iterator[tuple[StoredBatch, int]]:
    """Each marker of an abort, and how long after the transaction's first record it was written (ms)."""
    begun: dict[int, int] = {}
    for batch in log:
        header = batch.header
        if header.is_transactional and not header.is_control:
            begun.setdefault(header.producer_id, batch.timestamps_ms[0])
        elif header.is_control:
            first_ms = begun.pop(header.producer_id, None)
            if first_ms is not None and batch.control == CONTROL_ABORT:
                yield batch, batch.timestamps_ms[0] - first_ms
