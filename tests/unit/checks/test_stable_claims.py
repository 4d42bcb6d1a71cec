"""Claims about the last stable offset, on small logs with transactions and answers to who asks for ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from checks.claims.replication.stable import MARKER_MS, open_at
from evidence.events import EndsAnswer, Event, Partition, Position, Transaction
from evidence.run_state import RunState
from kafkafiles.batches import CONTROL_ABORT, CONTROL_COMMIT, BatchHeader
from kafkafiles.stored import StoredBatch, StoredReplica, StoredSegment
from tests.records import run_record
from tests.unit.timelines import at

LED: Event = Partition(source="kraft", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1,))
READER = {"name": "consumer-1", "kind": "consumer", "settings": {"isolation.level": "read_committed"}}
SENDER = {"name": "producer-1", "settings": {"transactional.id": "a", "transaction.timeout.ms": "5000"}}
TRANSACTIONAL, CONTROL = 0x10, 0x30


def batch(offset: int, producer: int, attributes: int, *, stamp: int = 0, control: int | None = None) -> StoredBatch:
    header = BatchHeader(
        position=offset * 100,
        size=100,
        magic=2,
        base_offset=offset,
        last_offset=offset,
        count=1,
        crc=0,
        attributes=attributes,
        producer_id=producer,
    )
    return StoredBatch(header=header, fingerprint="", offsets=(offset,), timestamps_ms=(stamp,), control=control)


def record(offset: int, producer: int, stamp: int = 0) -> StoredBatch:
    return batch(offset, producer, TRANSACTIONAL, stamp=stamp)


def marker(offset: int, producer: int, control: int = CONTROL_COMMIT, stamp: int = 0) -> StoredBatch:
    return batch(offset, producer, CONTROL, stamp=stamp, control=control)


LOG = (batch(0, -1, 0), record(1, 7), batch(2, -1, 0), record(3, 8), marker(4, 8), marker(5, 7))
"""A transaction from 1 to 5, and one from 3 to 4 within it."""


def ends(high: int, stable: int) -> EndsAnswer:
    return EndsAnswer(topic="t", partition=0, high_watermark=high, last_stable_offset=stable, asked_ns=0)


def of_epochs(high: int, stable: int, *epochs: int | None) -> EndsAnswer:
    first, second = epochs
    return structs.replace(ends(high, stable), leader_epochs=(first, second))


def read(offset: int, at_ns: int) -> Position:
    return Position(process="consumer-1", topic="t", partition=0, offset=offset, read_ns=at_ns)


def outcome(name: str, *events: Event, log: Sequence[StoredBatch] = LOG, **run: Any) -> str:
    told = tuple(at(second, event) for second, event in enumerate([LED, *events]))
    replica = StoredReplica(
        files=(), segments=(StoredSegment(base_offset=0, size=600, batches=tuple(log), index=None),)
    )
    topics = [{"name": "t", "partitions": {0: (1,)}, "settings": {}}]
    evidence = RunEvidence(
        run=run_record({"topics": topics, "processes": [READER, SENDER], **run}),
        run_state=RunState(told),
        stored=lambda *_: {"broker-1": replica},
    )
    return claims.judge(name, evidence).outcome


@pytest.mark.parametrize(("end", "expected"), [(1, {}), (2, {7: 1}), (4, {7: 1, 8: 3}), (5, {7: 1}), (6, {})])
def test_what_is_open(end: int, expected: dict[int, int]) -> None:
    assert open_at(LOG, end) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([ends(5, 1), ends(5, 1)], HELD),
        ([ends(4, 1), ends(4, 1)], HELD),
        ([ends(5, 5), ends(5, 5)], CONTRADICTED),
        ([ends(4, 3), ends(4, 3)], CONTRADICTED),
        ([ends(4, 3), ends(5, 3)], NOT_OBSERVED),
        ([ends(6, 6), ends(6, 6)], NOT_OBSERVED),
    ],
    ids=["one open", "two open", "not held", "held at the second", "while it moves", "none open"],
)
def test_where_it_is_held(answers: list[EndsAnswer], expected: str) -> None:
    assert outcome("last-stable-offset-at-first-open", *answers) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([ends(6, 6), ends(6, 6)], HELD),
        ([ends(6, 1), ends(6, 1)], CONTRADICTED),
        ([ends(1, 1), ends(1, 1)], NOT_OBSERVED),
        ([ends(5, 1), ends(5, 1)], NOT_OBSERVED),
        ([of_epochs(6, 1, 1, 0), of_epochs(6, 1, 1, 0)], NOT_OBSERVED),
        ([of_epochs(6, 1, 1, 1), of_epochs(6, 1, 1, 1)], CONTRADICTED),
        ([of_epochs(6, 1, None, 1), of_epochs(6, 1, None, 1)], CONTRADICTED),
    ],
    ids=["released", "still held", "before any", "open", "by two leaders", "by one", "by one that does not say"],
)
def test_what_releases_it(answers: list[EndsAnswer], expected: str) -> None:
    assert outcome("last-stable-offset-released", *answers) == expected


HELD_BACK = [ends(5, 1), ends(5, 1)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([read(1, 0)], [read(6, 9)], HELD),
        ([read(2, 0)], [read(6, 9)], CONTRADICTED),
        ([read(1, 0)], [], CONTRADICTED),
        ([], [read(6, 9)], NOT_OBSERVED),
    ],
    ids=["waits", "does not wait", "is never let go", "came later"],
)
def test_readers_of_what_is_committed(before: list[Position], after: list[Position], expected: str) -> None:
    assert outcome("committed-reader-waits", *before, *HELD_BACK, *after) == expected


def aborted(after_ms: int) -> tuple[StoredBatch, ...]:
    return record(0, 7, stamp=1000), marker(1, 7, CONTROL_ABORT, stamp=1000 + after_ms)


BOUND_MS = 5000 + 2000 + MARKER_MS
SETTINGS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000"}


@pytest.mark.parametrize(
    ("log", "events", "expected"),
    [
        (aborted(5000), (), HELD),
        (aborted(BOUND_MS), (), HELD),
        (aborted(BOUND_MS + 1), (), CONTRADICTED),
        (aborted(4999), (), CONTRADICTED),
        (LOG, (), NOT_OBSERVED),
        (aborted(100), (Transaction(process="producer-1", phase="abort", transaction=0, outcome="ok"),), NOT_OBSERVED),
    ],
    ids=["in time", "at the bound", "too late", "too early", "none", "by its producer"],
)
def test_silent_transactions(log: tuple[StoredBatch, ...], events: tuple[Event, ...], expected: str) -> None:
    assert outcome("silent-transaction-aborted-in-time", *events, log=log, settings=SETTINGS) == expected
