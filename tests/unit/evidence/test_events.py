"""Every kind of event comes back from a timeline as it was written, and what is none is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from evidence.events import (
    Acked,
    AnyEvent,
    BatchSent,
    Blind,
    Broker,
    Checkpoint,
    ClientEnded,
    Configuration,
    Container,
    Controller,
    ControllerWritten,
    CrashPoint,
    CreationRefused,
    DeadLetter,
    DeadLetters,
    DeleteRecords,
    DeleteTopic,
    Duty,
    End,
    Ends,
    EndsAnswer,
    Event,
    Failed,
    Fault,
    Firewall,
    GroupMember,
    GroupMembers,
    Handed,
    IsrChange,
    Log,
    Machine,
    Metadata,
    Missed,
    Moment,
    MoveReplica,
    Note,
    OffsetAnswer,
    OffsetCommit,
    Paced,
    Partition,
    PlaceTopic,
    Position,
    Precondition,
    Reassign,
    RecordsDeleted,
    ReplicaOffset,
    ReplicaPlace,
    Search,
    Send,
    ShareProgress,
    Software,
    Step,
    Stillness,
    StoreAnswer,
    Target,
    ThreadTime,
    Transaction,
    Unread,
    Waits,
    Znode,
    ZnodeOffset,
)
from evidence.timeline import HEADER, Timeline, read
from tests.proofs import proof as proof_of

RECORD: dict[str, Any] = {"process": "p", "topic": "t", "partition": 0, "producer": 1, "sequence": 3, "acks": "all"}
EVERY: tuple[Event, ...] = (
    Step(name="send", phase="begin", detail={"count": 3}),
    End(run="r1"),
    Note(text="slow"),
    Precondition(name="it is dead", held=False, detail={"leo": 4}),
    Duty(name="somebody leads", held=False, witness="metadata", detail={"seen": "nobody"}, since_ns=4, limit_ms=60000),
    Unread(topic="t", partition=0, end=9, reached=4, asked_ns=7),
    Waits(begin_ns=4, slices=((250_000, 120_000), (251_000, 0))),
    Stillness(begin_ns=4, late_ms=1200, cpu=0.9, memory=0.8, io=0.1, steal=0.2),
    Machine(seconds=40.5, late_ms=1200, cpu=0.4),
    Fault(
        fault_kind="kill",
        id="f1",
        phase="verified",
        target=Target(node="broker-1", role="leader of t-0"),
        description="kill -9 of broker-1",
        proof=proof_of("kill"),
    ),
    Moment(name="00-armed", nodes={"broker-1": {"t-0": Ends(leo=4, hw=3), "t-1": Ends()}}, begun_ns=5),
    Checkpoint(node="broker-1", file="replication-offset-checkpoint", offsets={"t-0": 3}, written_ns=9, before_ns=4),
    Send(**RECORD),
    Handed(**RECORD),
    Acked(**RECORD, outcome="ok", offset=3, invoked_ns=1, completed_ns=2),
    Failed(**RECORD, outcome="info", error="_MSG_TIMED_OUT"),
    Configuration(process="p", library="java-2.8.2", settings={"acks": "all"}),
    Position(process="p", topic="t", partition=0, offset=4, read_ns=7),
    Transaction(process="p", phase="commit", transaction=2, outcome="ok"),
    ClientEnded(process="p"),
    Controller(source="kraft", node=None, epoch=4),
    Broker(source="kraft", node="broker-1", state="registered", fenced=True),
    Broker(source="zookeeper", node="broker-1", state="gone"),
    Partition(
        source="kraft",
        topic="t",
        partition=0,
        leader=1,
        leader_epoch=2,
        isr=(1, 2),
        controller_epoch=1,
        replicas=(1, 2, 3),
        version=40,
        elr=(3,),
        adding=(3,),
        removing=(),
        source_ns=9,
    ),
    Missed(source="zookeeper", path="/controller_epoch", count=2, reason="two looks"),
    IsrChange(path="/isr_change_notification/isr_change_0000000004", state="holds", partitions=("t-0",)),
    Znode(path="/admin/reassign_partitions", content={"version": 1, "partitions": []}),
    PlaceTopic(topic="u", partitions=6, replication=2, by="request CreateTopics"),
    Znode(path="/controller", content={"brokerid": 2}, version=1, created=7, ephemeral=True),
    Znode(path="/controller_epoch", content=3),
    Znode(path="/controller", content=None),
    Metadata(
        type="REGISTER_BROKER_RECORD",
        version=3,
        offset=9,
        epoch=2,
        fields={"broker_id": 1, "fenced": True, "log_dirs": ["d"]},
        source_ns=4,
    ),
    DeleteRecords(topic="t", partition=0, before=5),
    RecordsDeleted(topic="t", partition=0, low_watermark=5),
    BatchSent(
        process="producer-1",
        topic="t",
        partition=0,
        offset=5,
        magic=2,
        codec=1,
        size=300,
        fingerprint="0a",
        timestamps_ms=(1, 2),
        sent_wall_ns=8,
    ),
    ControllerWritten(node="broker-2", epoch=3, controller_zxid=7, epoch_zxid=7),
    CreationRefused(node="broker-3", controller_zxid=7, zxid=9),
    MoveReplica(node="broker-1", topic="t", partition=0, directory="/data/second/kafka"),
    ReplicaPlace(
        node="broker-1", topic="t", partition=0, directory="/data/kafka", bytes=9, future="/data/second/kafka"
    ),
    Search(topic="t", partition=0, by="time", asked=1_700_000_000_000, found=None),
    Paced(topic="t", partition=0, latency=(0, 3), throughput=(3, 9), output="output", reader="consumer-1"),
    StoreAnswer(process="processor-1", store="postgresql", topic="t", partition=0, committed=None, outputs=0),
    ShareProgress(group="g", topic="t", partition=0, start=3, lag=2, end=9, asked_ns=1),
    DeadLetters(group="g", topic="d", letters=(DeadLetter(topic="t", partition=0, offset=7, deliveries=5),)),
    ZnodeOffset(group="g", topic="t", partition=0, path="/consumers/g/offsets/t/0", content="7"),
    GroupMembers(
        group="g", state="STABLE", members=(GroupMember(member_id="a-1", instance="a", partitions=(("t", 0),)),)
    ),
    ThreadTime(node="broker-1", thread="kafka-1-raft-io", begin_ns=1, elapsed_ns=9, running_ns=5, waiting_ns=3),
    EndsAnswer(topic="t", partition=0, high_watermark=5, last_stable_offset=2, asked_ns=8),
    CrashPoint(
        process="processor-1",
        producer=2,
        done="commit",
        following="process",
        round=2,
        group="g",
        topic="t",
        partition=0,
        committed=10,
        outputs=5,
        written=5,
        store="sqlite.sqlite",
        store_is_written_to=True,
    ),
    DeleteTopic(topic="u", by="request DeleteTopics"),
    OffsetCommit(group="g", topic="t", partition=0, offset=7, metadata_bytes=5000),
    OffsetAnswer(group="g", topic="t", partition=0, offset=None, error="NOT_COORDINATOR", asked_ns=8),
    Reassign(topic="t", partition=0, replicas=(3, 1), by="request AlterPartitionReassignments"),
    Blind(source="docker", phase="end", reason="open again"),
    Container(node="broker-1", action="die", exit_code=137, time_nano=7, signal=9),
    Software(source="docker", node="broker-1", version="4.3.1"),
    Firewall(node="broker-1", rules=("-A INPUT -j DROP",), changes=None),
    Log(node="broker-1", event="truncate", topic="t", partition=0, offset=3, line="Truncating log t-0 to offset 3"),
    ReplicaOffset(node="broker-1", what="remote-log-end", topic="t", partition=0, offset=3, replica=2, line="Recorded"),
)


def _kinds(base: type[Event]) -> Iterator[type[Event]]:
    for one in base.__subclasses__():
        further = list(_kinds(one))
        yield from further or [one]


def test_every_kind_is_here() -> None:
    assert {type(event) for event in EVERY} == set(get_args(AnyEvent)) == set(_kinds(Event))
    assert len({event.kind for event in EVERY}) == len(get_args(AnyEvent))


@pytest.mark.parametrize("event", EVERY, ids=lambda event: event.kind)
def test_what_a_writer_makes_a_reader_gets(tmp_path: Path, event: Event) -> None:
    with Timeline(tmp_path / "timeline.jsonl") as timeline:
        written = timeline.append(event)
    assert read(tmp_path / "timeline.jsonl").events == (written,)
    assert msgspec.structs.replace(written, monotonic_ns=event.monotonic_ns, wall_ns=event.wall_ns) == event
    assert min(written.monotonic_ns, written.wall_ns) > 0


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"kind":"new","monotonic_ns":1,"wall_ns":1,"source":"runner"}', "new"),
        ('{"kind":"note","monotonic_ns":1,"wall_ns":1,"source":"runner"}', "text"),
        ('{"kind":"note","monotonic_ns":1,"wall_ns":1,"source":"docker","text":"x"}', "docker"),
        ('{"kind":"note","monotonic_ns":1.5,"wall_ns":1,"source":"runner","text":"x"}', "monotonic_ns"),
        ('{"kind":"note","wall_ns":1,"source":"runner","text":"x"}', "no monotonic_ns"),
        (
            '{"kind":"broker","monotonic_ns":1,"wall_ns":1,"source":"kraft","node":"b","state":"registered"}',
            "is fenced or not",
        ),
        (
            '{"kind":"broker","monotonic_ns":1,"wall_ns":1,"source":"kraft","node":"b","state":"fenced","fenced":true}',
            "is fenced or not",
        ),
        ('{"kind":"note","monotonic_ns":1,"wall_ns":1,"source":"runner","text":"\xff"}', "line 2"),
    ],
)
def test_what_is_no_event_is_damaged(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "timeline.jsonl"
    path.write_bytes(HEADER + line.encode("latin-1") + b"\n")
    reading = read(path)
    assert reading.events == ()
    (damage,) = reading.damaged
    assert damage.startswith("timeline.jsonl line 2: ")
    assert reason in damage


def test_what_a_later_writer_adds_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "timeline.jsonl"
    line = b'{"kind":"note","monotonic_ns":1,"wall_ns":1,"source":"runner","text":"x","mood":"good"}\n'
    path.write_bytes(HEADER + line)
    assert read(path).events == (Note(monotonic_ns=1, wall_ns=1, text="x"),)


@pytest.mark.parametrize(
    ("broker", "alive"),
    [
        ('"source":"zookeeper","state":"registered","fenced":false', True),
        ('"source":"zookeeper","state":"gone"', False),
        ('"source":"kraft","state":"registered","fenced":true', False),
        ('"source":"kraft","state":"registered","fenced":false', True),
        ('"source":"kraft","state":"unfenced"', True),
        ('"source":"kraft","state":"fenced"', False),
    ],
)
def test_a_broker_that_is_registered_and_fenced_is_not_alive(tmp_path: Path, broker: str, alive: bool) -> None:
    path = tmp_path / "timeline.jsonl"
    line = f'{{"kind":"broker","monotonic_ns":1,"wall_ns":1,"node":"broker-1",{broker}}}\n'
    path.write_bytes(HEADER + line.encode())
    (event,) = read(path).of(Broker)
    assert event.alive == alive
