"""What came and went between two looks is told from ZooKeeper's own log, and what was read is not told again."""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any

from evidence.events import Event, IsrChange, Note, Znode
from evidence.timeline import Timeline
from evidence.timeline import read as read_timeline
from harness.observers.transactions import append_to, read_log, unseen
from kafkafiles.zookeeper_log import Transaction
from tests.unit.kafkafiles.test_zookeeper_log import HEAD, created, entry, header

ELECTION = "/admin/preferred_replica_election"
NOTE = "/isr_change_notification/isr_change_0000000004"
HELD: dict[str, Any] = {"version": 1, "partitions": [{"topic": "t", "partition": 0}]}
BYTES = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
MS = 1_000_000


def made(path: str, zxid: int, data: bytes = BYTES) -> Transaction:
    return Transaction(zxid=zxid, time_ms=1000 + zxid, session=1, kind="create", path=path, data=data)


def deleted(path: str, zxid: int) -> Transaction:
    return Transaction(zxid=zxid, time_ms=1000 + zxid, session=1, kind="delete", path=path)


LOG = [made(ELECTION, 5), made(NOTE, 6), made("/brokers/topics/t", 7), deleted(NOTE, 8), deleted(ELECTION, 9)]
ASKED, ANSWERED = Znode(path=ELECTION, content=HELD, created=5), Znode(path=ELECTION, content=None)
NOTIFIED = [
    IsrChange(path=NOTE),
    Znode(path=NOTE, content=HELD, created=6),
    IsrChange(path=NOTE, state="holds", partitions=("t-0",)),
    IsrChange(path=NOTE, state="gone"),
]


def told(*events: Event) -> list[tuple[int, Event]]:
    return unseen(LOG, events)


def test_what_nobody_saw_is_told_with_the_times_of_the_log() -> None:
    times = [1005, 1006, 1006, 1006, 1008, 1009]
    events = [ASKED, *NOTIFIED, ANSWERED]
    assert told() == [(at * MS, event) for at, event in zip(times, events, strict=True)]


def test_what_was_read_is_not_told_again() -> None:
    assert told(ASKED, ANSWERED, *NOTIFIED) == []
    assert [event for _, event in told(ASKED, ANSWERED)] == NOTIFIED


def test_a_notification_of_which_only_the_name_was_seen_gets_its_content() -> None:
    seen = [event for _, event in told(ASKED, NOTIFIED[0], NOTIFIED[3])]
    assert seen == NOTIFIED[1:3]


def test_another_request_in_the_same_znode_is_told() -> None:
    log = [made(ELECTION, 5), deleted(ELECTION, 6), made(ELECTION, 7), deleted(ELECTION, 8)]
    again = Znode(path=ELECTION, content=HELD, created=7)
    assert [event for _, event in unseen(log, [ASKED, ANSWERED])] == [again, ANSWERED]


def test_content_that_is_none_is_left_out() -> None:
    assert [event for _, event in unseen([made(NOTE, 6, b"\xff")], [])] == [IsrChange(path=NOTE)]


def test_logs_are_read_in_order_and_added_to_the_timeline(tmp_path: Path) -> None:
    folder = tmp_path / "zookeeper" / "version-2"
    folder.mkdir(parents=True)
    (folder / "log.9").write_bytes(HEAD + entry(header(9, 1) + created(ELECTION.encode(), BYTES)))
    (folder / "log.a").write_bytes(HEAD + entry(header(10, 2) + struct.pack(">i", len(ELECTION)) + ELECTION.encode()))
    assert [one.kind for one in read_log(tmp_path)] == ["create", "delete"]
    path, offset_ns = tmp_path / "timeline.jsonl", time.monotonic_ns() - time.time_ns()
    with Timeline(path) as timeline:
        append_to(timeline, [], tmp_path, wall_to_monotonic_ns=offset_ns)
    asked, answered = read_timeline(path).events
    assert (asked.wall_ns, answered.wall_ns) == (1_700_000_000_009 * MS, 1_700_000_000_010 * MS)
    assert asked.monotonic_ns == asked.wall_ns + offset_ns


def test_a_log_that_cannot_be_read_is_noted(tmp_path: Path) -> None:
    folder = tmp_path / "zookeeper" / "version-2"
    folder.mkdir(parents=True)
    (folder / "log.1").write_bytes(b"no log")
    path = tmp_path / "timeline.jsonl"
    with Timeline(path) as timeline:
        append_to(timeline, [], tmp_path, wall_to_monotonic_ns=0)
    (note,) = read_timeline(path).events
    assert isinstance(note, Note)
    assert "cannot be read: log.1" in note.text
