"""What came and went between two looks is told from ZooKeeper's own log, and what was read is not told again."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path
from typing import Any

from evidence.events import ControllerWritten, Event, IsrChange, Note, Partition, Znode, of
from evidence.timeline import Timeline
from evidence.timeline import read as read_timeline
from harness.observers.transactions import append_to, controllers, read_log, refused_creations, skipped_states, unseen
from kafkafiles.zookeeper_log import ZnodeChange
from tests.unit.kafkafiles.test_zookeeper_log import HEAD, created, entry, header

ELECTION = "/admin/preferred_replica_election"
NOTE = "/isr_change_notification/isr_change_0000000004"
HELD: dict[str, Any] = {"version": 1, "partitions": [{"topic": "t", "partition": 0}]}
BYTES = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
MS = 1_000_000


def made(path: str, zxid: int, data: bytes = BYTES) -> ZnodeChange:
    return ZnodeChange(zxid=zxid, time_ms=1000 + zxid, session=1, kind="create", path=path, data=data)


def deleted(path: str, zxid: int) -> ZnodeChange:
    return ZnodeChange(zxid=zxid, time_ms=1000 + zxid, session=1, kind="delete", path=path)


LOG = [made(ELECTION, 5), made(NOTE, 6), made("/brokers/topics/t", 7), deleted(NOTE, 8), deleted(ELECTION, 9)]
ASKED, ANSWERED = Znode(path=ELECTION, content=HELD, created=5), Znode(path=ELECTION, content=None)
NOTIFIED = [
    IsrChange(path=NOTE),
    Znode(path=NOTE, content=HELD, created=6),
    IsrChange(path=NOTE, state="holds", partitions=("t-0",)),
    IsrChange(path=NOTE, state="gone"),
]


def test_who_became_the_controller_by_which_transactions() -> None:
    def epoch(zxid: int, number: int, session: int = 1) -> ZnodeChange:
        data = str(number).encode()
        return ZnodeChange(zxid=zxid, time_ms=1000, session=session, kind="set", path="/controller_epoch", data=data)

    def controller(zxid: int, number: int) -> ZnodeChange:
        return made("/controller", zxid, json.dumps({"brokerid": number}).encode())

    log = [controller(3, 1), epoch(3, 1), controller(7, 2), epoch(8, 9, session=2), epoch(9, 2), epoch(10, 3)]
    assert [event for _, event in controllers(log)] == [
        ControllerWritten(node="broker-1", epoch=1, controller_zxid=3, epoch_zxid=3),
        ControllerWritten(node="broker-2", epoch=2, controller_zxid=7, epoch_zxid=9),
    ]
    assert list(controllers([controller(3, 1)])) == []


def test_to_whom_a_creation_was_refused_when_another_had_made_the_controllers_znode() -> None:
    def session(zxid: int, number: int, path: str = "", error: int = 0) -> ZnodeChange:
        kind: Any = "refused" if error else "create"
        return ZnodeChange(zxid=zxid, time_ms=zxid, session=number, kind=kind, path=path, error=error)

    log = [
        *(session(number, number, f"/brokers/ids/{number}") for number in (1, 2, 3)),
        session(4, 2, error=-110),
        session(5, 1, "/controller"),
        session(6, 1, error=-110),
        session(7, 2, error=-101),
        session(8, 2, error=-110),
        session(9, 2, error=-110),
        session(10, 9, error=-110),
        session(11, 3, "/controller"),
        session(12, 2, error=-110),
    ]
    assert [(one.node, one.controller_zxid, one.zxid) for _, one in refused_creations(log)] == [
        ("broker-2", 5, 8),
        ("broker-2", 11, 12),
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


STATE = "/brokers/topics/t/partitions/0/state"


def state(leader: int, epoch: int, *isr: int) -> dict[str, Any]:
    return {"controller_epoch": 1, "leader": leader, "version": 1, "leader_epoch": epoch, "isr": list(isr)}


ASSIGNED = ZnodeChange(
    zxid=7, time_ms=1007, session=1, kind="create", path="/brokers/topics/t", data=b'{"partitions":{"0":[2,3,1]}}'
)


def written(zxid: int, content: object, kind: Any = "set") -> ZnodeChange:
    data = json.dumps(content).encode()
    return ZnodeChange(zxid=zxid, time_ms=1000 + zxid, session=1, kind=kind, path=STATE, data=data)


def looked(version: int, at_ms: float, created: int = 8) -> Znode:
    content = state(2, 0, 2)
    return Znode(path=STATE, content=content, version=version, created=created, monotonic_ns=int(at_ms * MS), wall_ns=1)


NOBODY = written(21, state(-1, 1, 2))
STATES = [
    ASSIGNED,
    written(8, state(2, 0, 2), "create"),
    NOBODY,
    written(22, state(3, 2, 3)),
    written(29, state(3, 2, 3, 1)),
]


def skipped(*told: Event, log: list[ZnodeChange] = STATES) -> list[Event]:
    return skipped_states(log, told, wall_to_monotonic_ns=-1000 * MS)


def test_a_state_between_two_that_were_seen_is_told() -> None:
    znode, partition = skipped(looked(0, 8), looked(2, 22.5), looked(3, 29.5))
    assert znode == Znode(
        path=STATE, content=state(-1, 1, 2), version=1, created=8, monotonic_ns=21 * MS, wall_ns=1021 * MS
    )
    assert partition == Partition(
        source="zookeeper",
        topic="t",
        partition=0,
        leader=-1,
        leader_epoch=1,
        isr=(2,),
        controller_epoch=1,
        replicas=(2, 3, 1),
        version=1,
        source_ns=1021 * MS,
        monotonic_ns=21 * MS,
        wall_ns=1021 * MS,
    )


def test_states_that_were_seen_or_are_beyond_those_seen_are_not_told() -> None:
    assert skipped(looked(0, 8), looked(1, 21), looked(2, 22), looked(3, 29)) == []
    assert skipped(looked(2, 22)) == []
    assert skipped() == []


def test_states_that_were_skipped_stay_between_those_that_were_seen() -> None:
    late = [event.monotonic_ns for event in skipped(looked(0, 40), looked(3, 41))]
    assert late == [40 * MS + 1] * 4
    early = [event.monotonic_ns for event in skipped(looked(0, 8), looked(3, 20))]
    assert early == [20 * MS - 1] * 4


def test_a_state_that_was_skipped_follows_one_that_is_told_late() -> None:
    """The observer tells a znode when it has read it, and the partition's state when it has thought about it."""
    late = Partition(
        source="zookeeper",
        topic="t",
        partition=0,
        leader=2,
        leader_epoch=0,
        isr=(2,),
        version=0,
        monotonic_ns=28 * MS,
        wall_ns=1028 * MS,
    )
    found = skipped(looked(0, 8), late, looked(2, 29.5), looked(3, 30))
    assert [event.monotonic_ns for event in found] == [28 * MS + 1] * 2


def test_a_topic_that_is_made_again_has_states_of_its_own() -> None:
    gone = ZnodeChange(zxid=30, time_ms=1030, session=1, kind="delete", path=STATE)
    again = [
        *STATES,
        gone,
        written(31, state(1, 0, 1), "create"),
        written(32, state(-1, 1, 1)),
        written(33, state(1, 2, 1)),
    ]
    assert skipped(looked(0, 31, created=31), looked(3, 22), log=again) == []
    _, found = skipped(looked(0, 31, created=31), looked(2, 33, created=31), log=again)
    assert isinstance(found, Partition)
    assert (found.version, found.leader_epoch, found.isr) == (1, 1, (1,))


def test_a_state_that_is_none_is_left_out() -> None:
    log = [STATES[1], written(21, "none"), STATES[3]]
    assert skipped(looked(0, 8), looked(2, 22), log=log) == []


def test_skipped_states_are_added_to_the_timeline(tmp_path: Path) -> None:
    folder = tmp_path / "zookeeper" / "version-2"
    folder.mkdir(parents=True)
    data = [json.dumps(content).encode() for content in (state(2, 0, 2), state(-1, 1, 2), state(3, 2, 3))]
    entries = [entry(header(8, 1) + created(STATE.encode(), data[0]))]
    entries += [
        entry(header(zxid, 5) + struct.pack(">i", len(STATE)) + STATE.encode() + struct.pack(">i", len(one)) + one)
        for zxid, one in ((21, data[1]), (22, data[2]))
    ]
    (folder / "log.8").write_bytes(HEAD + b"".join(entries))
    path, offset_ns = tmp_path / "timeline.jsonl", time.monotonic_ns() - time.time_ns()
    begin_ns = 1_700_000_000_000 * MS + offset_ns
    told = [looked(0, begin_ns / MS + 8), looked(2, begin_ns / MS + 30)]
    with Timeline(path) as timeline:
        append_to(timeline, told, tmp_path, wall_to_monotonic_ns=offset_ns)
    (found,) = of(read_timeline(path).events, Partition)
    assert (found.version, found.leader, found.leader_epoch) == (1, -1, 1)


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
