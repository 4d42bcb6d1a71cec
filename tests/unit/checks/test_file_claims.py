"""Claims about the files of a partition's directory, on small logs that show them, contradict them, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import BatchSent, Event, Moment, Partition, Search
from evidence.run_state import RunState
from kafkafiles.batches import BatchHeader
from kafkafiles.indexes import IndexEntry
from kafkafiles.stored import StoredBatch, StoredReplica, StoredSegment
from tests.records import run_record
from tests.unit.timelines import at

LED_BY_1: Event = Partition(source="kraft", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2))
SETTINGS = {"segment.bytes": "300", "index.interval.bytes": "100"}


def batch(
    position: int,
    offsets: Sequence[int],
    *,
    size: int = 100,
    stamp: int = 0,
    magic: int = 2,
    codec: int = 1,
    content: str = "c",
    by: int = 0,
) -> StoredBatch:
    header = BatchHeader(
        position=position,
        size=size,
        magic=magic,
        base_offset=offsets[0],
        last_offset=offsets[-1],
        count=len(offsets),
        crc=0,
        attributes=codec | by << 3,
        leader_epoch=0,
    )
    stamps = tuple(stamp + number for number in range(len(offsets))) if by == 0 else (stamp,) * len(offsets)
    return StoredBatch(header=header, fingerprint=content, offsets=tuple(offsets), timestamps_ms=stamps)


def segment(base: int, *batches: StoredBatch, entries: Sequence[int] | None = None) -> StoredSegment:
    index = None if entries is None else tuple(IndexEntry(offset=base, position=position) for position in entries)
    return StoredSegment(base_offset=base, size=sum(one.header.size for one in batches), batches=batches, index=index)


def log(*segments: StoredSegment) -> StoredReplica:
    return StoredReplica(files=(), segments=segments)


def outcome(
    name: str,
    replicas: Mapping[str, StoredReplica],
    *events: Event,
    settings: Mapping[str, str] = SETTINGS,
    kafka: str = "4.3.1",
    **run: Any,
) -> str:
    told = tuple(at(second, event) for second, event in enumerate([LED_BY_1, *events]))
    topics = [{"name": "t", "partitions": {0: (1, 2)}, "settings": dict(settings)}]
    evidence = RunEvidence(
        run=run_record(topics=topics, kafka=kafka, **run), run_state=RunState(told), stored=lambda *_: replicas
    )
    return claims.judge(name, evidence).outcome


THREE = [batch(0, [0, 1]), batch(100, [2, 3]), batch(200, [4])]
FULL = segment(0, *THREE)


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([FULL, segment(5, batch(0, [5]))], HELD),
        ([FULL, segment(6, batch(0, [5]))], CONTRADICTED),
        ([FULL, segment(6, batch(0, [6]))], CONTRADICTED),
        ([segment(0)], NOT_OBSERVED),
    ],
    ids=["named", "misnamed", "a gap", "empty"],
)
def test_names_of_segments(segments: list[StoredSegment], expected: str) -> None:
    assert outcome("segment-named-by-first-offset", {"broker-1": log(*segments)}) == expected


@pytest.mark.parametrize(
    ("node", "segments", "expected"),
    [
        ("broker-1", [FULL, segment(5, batch(0, [5]))], HELD),
        ("broker-1", [segment(0, *THREE[:2]), segment(4, batch(0, [4]))], CONTRADICTED),
        ("broker-2", [segment(0, *THREE[:2]), segment(4, batch(0, [4]))], HELD),
        ("broker-1", [segment(0, *THREE[:2]), segment(4, batch(0, [4], magic=1))], HELD),
        ("broker-2", [segment(0, batch(0, [0], size=301)), segment(1, batch(0, [1]))], CONTRADICTED),
        ("broker-1", [FULL], NOT_OBSERVED),
    ],
    ids=["full", "room left", "a follower's fetch", "single messages", "too large", "one segment"],
)
def test_when_segments_are_closed(node: str, segments: list[StoredSegment], expected: str) -> None:
    assert outcome("segment-rolled-when-full", {node: log(*segments)}) == expected


NEXT = segment(5, batch(0, [5]))


@pytest.mark.parametrize(
    ("node", "closed", "expected"),
    [
        ("broker-1", segment(0, *THREE, entries=[200]), HELD),
        ("broker-1", segment(0, *THREE, entries=[100]), CONTRADICTED),
        ("broker-1", segment(0, *THREE, entries=[]), CONTRADICTED),
        ("broker-2", segment(0, *THREE, entries=[]), HELD),
        ("broker-2", segment(0, *THREE, entries=[150, 200]), CONTRADICTED),
        ("broker-1", segment(0, *THREE), NOT_OBSERVED),
    ],
    ids=["spaced", "too near", "none", "a follower's fetch", "too near on a follower", "still open"],
)
def test_entries_of_indexes(node: str, closed: StoredSegment, expected: str) -> None:
    assert outcome("index-entries-spaced", {node: log(closed, NEXT)}) == expected


OLD = {"00000000000000000000.log", "00000000000000000000.index"}
TIMED = OLD | {"00000000000000000000.timeindex"}
WITH_EPOCHS = TIMED | {"leader-epoch-checkpoint"}
NEW = WITH_EPOCHS | {"partition.metadata"}
SECOND = {f"00000000000000000005.{suffix}" for suffix in ("log", "index", "timeindex", "snapshot")}


@pytest.mark.parametrize(
    ("kafka", "files", "expected"),
    [
        ("0.8.2.2", OLD, HELD),
        ("0.8.2.2", TIMED, CONTRADICTED),
        ("0.10.2.2", TIMED, HELD),
        ("0.10.2.2", OLD, CONTRADICTED),
        ("1.1.1", WITH_EPOCHS, HELD),
        ("1.1.1", WITH_EPOCHS | SECOND, HELD),
        ("1.1.1", WITH_EPOCHS | SECOND - {"00000000000000000005.snapshot"}, CONTRADICTED),
        ("2.8.2", WITH_EPOCHS, HELD),
        ("2.8.2", NEW, HELD),
        ("2.2.2", NEW, CONTRADICTED),
        ("4.3.1", NEW, HELD),
        ("4.3.1", WITH_EPOCHS, CONTRADICTED),
        ("4.3.1", NEW - {"leader-epoch-checkpoint"}, CONTRADICTED),
        ("4.3.1", set(), NOT_OBSERVED),
    ],
)
def test_files_of_a_release(kafka: str, files: set[str], expected: str) -> None:
    paths = {f"t-0/{name}": 1 for name in files} | {"meta.properties": 1}
    moment = Moment(name="00-final", files={"broker-1": paths}, begun_ns=0)
    assert outcome("directory-has-files-of-release", {}, moment, kafka=kafka) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (log(segment(0, *THREE[:2]), segment(4, batch(0, [4]))), HELD),
        (log(segment(0, *THREE[:2])), CONTRADICTED),
        (log(segment(0, *THREE[:2], batch(200, [4], content="other"))), CONTRADICTED),
        (None, NOT_OBSERVED),
    ],
    ids=["other segments", "shorter", "other bytes", "alone"],
)
def test_bytes_of_followers(other: StoredReplica | None, expected: str) -> None:
    replicas = {"broker-1": log(FULL)} | ({"broker-2": other} if other else {})
    assert outcome("follower-stores-leaders-bytes", replicas) == expected


SENT = BatchSent(
    process="producer-1",
    topic="t",
    partition=0,
    offset=7,
    magic=2,
    codec=1,
    size=100,
    fingerprint="c",
    timestamps_ms=(50, 51),
    sent_wall_ns=0,
)
KEPT = batch(0, [7, 8], stamp=50)
ANEW = batch(0, [7, 8], stamp=50, content="other")


@pytest.mark.parametrize(
    ("name", "stored", "expected"),
    [
        ("batch-stored-as-sent", KEPT, HELD),
        ("batch-stored-as-sent", ANEW, CONTRADICTED),
        ("batch-stored-as-sent", batch(0, [9]), CONTRADICTED),
        ("batch-compressed-anew", ANEW, HELD),
        ("batch-compressed-anew", KEPT, CONTRADICTED),
        ("batch-compressed-as-topic-says", batch(0, [7, 8], codec=2), HELD),
        ("batch-compressed-as-topic-says", KEPT, CONTRADICTED),
        ("batch-stored-in-topics-format", batch(0, [7, 8], magic=1), HELD),
        ("batch-stored-in-topics-format", KEPT, CONTRADICTED),
        ("create-time-kept", KEPT, HELD),
        ("create-time-kept", batch(0, [7, 8], stamp=65), CONTRADICTED),
        ("append-time-set", batch(0, [7, 8], stamp=0, by=1), HELD),
        ("append-time-set", batch(0, [7, 8], stamp=71, by=1), CONTRADICTED),
        ("append-time-set", KEPT, CONTRADICTED),
    ],
)
def test_a_batch_whose_bytes_are_known(name: str, stored: StoredBatch, expected: str) -> None:
    settings = {"compression.type": "snappy"}
    replicas = {"broker-1": log(segment(7, stored)), "broker-2": log(segment(7, stored))}
    assert outcome(name, replicas, SENT, settings=settings) == expected
    assert outcome(name, replicas, settings=settings) == NOT_OBSERVED


def search(by: Any, asked: int, found: int | None) -> Search:
    return Search(topic="t", partition=0, by=by, asked=asked, found=found)


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("offset-found-in-log", search("offset", 8, 8), HELD),
        ("offset-found-in-log", search("offset", 8, 7), CONTRADICTED),
        ("offset-found-in-log", search("offset", 8, None), CONTRADICTED),
        ("offset-found-in-log", search("time", 50, 7), NOT_OBSERVED),
        ("time-found-in-log", search("time", 50, 7), HELD),
        ("time-found-in-log", search("time", 51, 8), HELD),
        ("time-found-in-log", search("time", 52, None), HELD),
        ("time-found-in-log", search("time", 51, 7), CONTRADICTED),
        ("time-found-in-log", search("time", 52, 8), CONTRADICTED),
    ],
)
def test_searches(name: str, asked: Search, expected: str) -> None:
    assert outcome(name, {"broker-1": log(segment(7, KEPT)), "broker-2": log()}, asked) == expected
