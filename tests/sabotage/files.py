"""Sabotage of finished run directories: each case damages a copy in one way.

Every case is judged twice: as it is, and with a manifest made anew for the damaged files (and a timeline that ends as
its length wants), as if who did it had thought of that. What is told then is told by the evidence itself.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evidence.history import schema
from evidence.history.read import MANIFEST
from evidence.history.seal import seal_run
from evidence.run import RunRecord
from evidence.rundir import RunDir, read_json, write_json
from evidence.timeline import HEADER
from kafkafiles.batches import Record, records
from kafkafiles.group_log import GroupEvent, events_of
from tests.streams import rewrite, store, stored, without_row
from tests.unit.kafkafiles.encode import R, batch

Runs = Mapping[str, RunDir]
Damage = Callable[[RunDir, Runs], bool]
"""Damages a copy, given the other runs; False if there is nothing of that kind in it."""
GROUP_LOGS: Final = "*-final/broker-*/__consumer_offsets-*/*.log"
BAD: Final = ("unknown", "unexpected", "not-reproduced", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One way of damaging a run directory."""

    name: str
    before: str
    """What it came to before (RELIABILITY.md's table, at ff22bf4)."""
    damage: Damage
    allowed: tuple[str, ...] = ("unknown",)
    """What it may come to: what was changed proves nothing, for Kafka or against it."""
    bound_only: bool = False
    """Whether only the manifest can tell: the evidence says nothing else that the change contradicts."""
    forged: tuple[str, ...] = BAD
    """What it may come to with the manifest made anew."""
    of_subjects: bool = False
    """Whether it is about runs with subjects, and these alone; all others are about runs without."""
    finds: str = ""
    """The anomaly that is found then, with the manifest made anew."""
    of: str = ""
    """The exhibit of the museum, the share group, the member that was too slow, or the application that counts, whose
    run it is about, and that alone; all others are about no such run."""

    def concerns(self, record: RunRecord) -> bool:
        """Whether it is about this run."""
        scenario = record.full_name
        if self.of or scenario.startswith("museum-") or scenario in (SHARED, OVERTAKEN, COUNTS):
            return self.of == scenario
        return self.of_subjects == bool(record.subjects)


def lines(run: RunDir) -> list[dict[str, Any]]:
    """The events of a timeline."""
    return [json.loads(line) for line in run.timeline.read_text().splitlines()[1:]]


def put(run: RunDir, events: list[dict[str, Any]]) -> bool:
    run.timeline.write_text(HEADER.decode() + "".join(json.dumps(event) + "\n" for event in events))
    return True


def _without_schema(run: RunDir, _runs: Runs) -> bool:
    """A timeline that does not say of which schema it is."""
    run.timeline.write_bytes(run.timeline.read_bytes().removeprefix(HEADER))
    return True


def _edited(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Damage:
    """A timeline of which each event is changed; None leaves it out."""

    def damage(run: RunDir, _runs: Runs) -> bool:
        before = lines(run)
        after = [event for event in map(change, [dict(event) for event in before]) if event is not None]
        return after != before and put(run, after)

    return damage


def _fault(phase: str, **changes: Any) -> Damage:
    def change(event: dict[str, Any]) -> dict[str, Any]:
        of_it = event["kind"] == "fault" and event["phase"] == phase
        return event | changes if of_it else event

    return _edited(change)


def _without_fault(kind: str) -> Damage:
    """A timeline that has nothing of the faults of a kind."""
    return _edited(lambda event: None if event["kind"] == "fault" and event["fault_kind"] == kind else event)


def _proof(fault: str, **changes: Any) -> Damage:
    """Another proof of a fault of this kind."""

    def change(event: dict[str, Any]) -> dict[str, Any]:
        if event["kind"] == "fault" and event["fault_kind"] == fault and event["phase"] == "verified":
            return event | {"proof": event["proof"] | changes}
        return event

    return _edited(change)


def _event(kind: str, **changes: Any) -> Damage:
    """Events of a kind, with other fields."""
    return _edited(lambda event: event | changes if event["kind"] == kind else event)


def _removed(pattern: str) -> Damage:
    """Files that are gone."""

    def damage(run: RunDir, _runs: Runs) -> bool:
        found = [path for path in run.path.glob(pattern) if path.is_file()]
        for path in found:
            path.unlink()
        return bool(found)

    return damage


def _not_migrated(event: dict[str, Any]) -> dict[str, Any]:
    """ZooKeeper never had it from a KRaft controller that it has the metadata."""
    own = event["kind"] == "znode" and event["path"] == "/migration"
    return event | {"content": event["content"] | {"kraft_metadata_offset": -1}} if own else event


def _ruled_by_broker_1(event: dict[str, Any]) -> dict[str, Any]:
    return event | {"node": "broker-1"} if event["kind"] == "controller" and event["node"] else event


def _of_another_exhibit(run: RunDir, runs: Runs) -> bool:
    """The timeline of another run, of an exhibit of the museum too."""
    own = run.read_run().full_name
    others = [one for one in runs.values() if one.read_run().full_name not in (own, "")]
    museum = [one for one in others if one.read_run().full_name.startswith("museum-")]
    shutil.copy(museum[0].timeline, run.timeline)
    return True


def _exit_code_0(event: dict[str, Any]) -> dict[str, Any]:
    if event["kind"] == "fault" and "exit_code" in (event["proof"] or {}):
        event["proof"] = event["proof"] | {"exit_code": 0}
    return event


def _verified_first(event: dict[str, Any]) -> dict[str, Any]:
    if event["kind"] == "fault" and event["phase"] == "verified":
        return event | {"monotonic_ns": event["monotonic_ns"] - 60 * 10**9, "wall_ns": event["wall_ns"] - 60 * 10**9}
    return event


def _trace_cut(run: RunDir, _runs: Runs) -> bool:
    """Without what was said at TRACE from the middle of it on."""
    events = lines(run)
    said = [number for number, event in enumerate(events) if event["kind"] == "replica-offset"]
    by_time = sorted(said, key=lambda number: events[number]["monotonic_ns"])
    gone = set(by_time[len(by_time) // 2 :])
    return bool(gone) and put(run, [event for number, event in enumerate(events) if number not in gone])


def _of_the_other(event: dict[str, Any]) -> dict[str, Any]:
    """What the one broker said at TRACE put down as the other's."""
    others = {"broker-1": "broker-2", "broker-2": "broker-1"}
    return event | {"node": others.get(event["node"], "")} if event["kind"] == "replica-offset" else event


def _held_null(event: dict[str, Any]) -> dict[str, Any]:
    return event | {"held": None} if event["kind"] == "precondition" else event


def _without(kind: str) -> Damage:
    return _edited(lambda event: None if event["kind"] == kind else event)


FOURTH: Final = 9
"""The id of a broker that nobody has."""
MINUTE_NS: Final = 60 * 10**9
LONG_NS: Final = 3 * MINUTE_NS
"""Longer than a follower may lag in any run."""


def _later(event: dict[str, Any], by_ns: int) -> dict[str, Any]:
    """The same event, so much later."""
    return event | {name: event[name] + by_ns for name in ("monotonic_ns", "wall_ns", "begun_ns") if name in event}


def _of_kind(events: Sequence[dict[str, Any]], kind: str, **fields: Any) -> list[dict[str, Any]]:
    return [one for one in events if one["kind"] == kind and all(one.get(name) == fields[name] for name in fields)]


def _at_the_end(
    made: Callable[[list[dict[str, Any]]], dict[str, Any] | None], told_ns: int = 0, end_ns: int = 0
) -> Damage:
    """A timeline with one more event so long after its end, which comes so much later then."""

    def damage(run: RunDir, _runs: Runs) -> bool:
        events = lines(run)
        *before, end = events
        told = made(events)
        if told is None:
            return False
        times = {name: end[name] for name in ("monotonic_ns", "wall_ns")}
        return put(run, [*before, _later(times | told, told_ns), _later(end, end_ns)])

    return damage


def _died(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """A broker that no fault had struck ended with an error."""
    struck = {node for one in _of_kind(events, "fault") for node in one["target"]["node"].split(", ")}
    spared = sorted({one["node"] for one in _of_kind(events, "broker")} - struck)
    if not spared:
        return None
    return _of_kind(events, "container", action="start")[0] | {"node": spared[0], "action": "die", "exit_code": 1}


def _led_by_nobody(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The partition lost its leader."""
    last = _of_kind(events, "partition", topic="t")[-1]
    return _again(last, leader=-1, leader_epoch=last["leader_epoch"] + 1)


def _led_by_another(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Another replica in sync led the partition, for no reason."""
    last = _of_kind(events, "partition", topic="t")[-1]
    other = next(one for one in last["isr"] if one != last["leader"])
    return _again(last, leader=other, leader_epoch=last["leader_epoch"] + 1)


def _left_isr(events: list[dict[str, Any]]) -> dict[str, Any]:
    """A follower left the ISR, for no reason."""
    last = _of_kind(events, "partition", topic="t")[-1]
    other = next(one for one in last["isr"] if one != last["leader"])
    return _again(last, isr=[one for one in last["isr"] if one != other])


def _lost_session(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The session of the leader ended, for no reason."""
    last = _of_kind(events, "partition", topic="t")[-1]
    state = {"node": f"broker-{last['leader']}", "state": "gone" if last["source"] == "zookeeper" else "fenced"}
    return {"kind": "broker", "source": last["source"]} | state


def _in_another_office(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The controller was elected again, for no reason."""
    last = _of_kind(events, "controller")[-1]
    return {"kind": "controller", "source": last["source"], "node": last["node"], "epoch": last["epoch"] + 1}


def _controlled_by_nobody(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The controller gave up, and nobody took its place."""
    return _in_another_office(events) | {"node": None}


def _led_from_outside(run: RunDir, _runs: Runs) -> bool:
    """The leader was left alone in the ISR, and another replica led then; all for no reason."""
    *before, end = lines(run)
    alone = _left_isr(before) | {"isr": [_of_kind(before, "partition", topic="t")[-1]["leader"]]}
    other = next(one for one in _of_kind(before, "partition", topic="t")[-1]["isr"] if one != alone["leader"])
    elected = _again(alone, leader=other, leader_epoch=alone["leader_epoch"] + 1, isr=[other])
    times = {name: end[name] for name in ("monotonic_ns", "wall_ns")}
    told = [_later(times | one, LONG_NS) for one in (alone, elected)]
    return put(run, [*before, *told, _later(end, LONG_NS)])


def _again(state: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A partition's next state."""
    kept = {name: state[name] for name in state if name not in ("monotonic_ns", "wall_ns", "source_ns")}
    return kept | {"version": state["version"] + 1} | changes


def _read_by_nobody(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The final reader did not come to the end in a minute."""
    of_it = {"topic": "t", "partition": 0, "end": 4, "reached": 0, "asked_ns": events[-1]["monotonic_ns"]}
    return {"kind": "unread", "source": "runner"} | of_it


def _out_of_sync(run: RunDir, _runs: Runs) -> bool:
    """A replica was not in the ISR when the partition had been copied, a minute later, at the end."""
    events = lines(run)
    last = _of_kind(events, "partition", topic="t")[-1]
    (final,) = (place for place, one in enumerate(events) if one["kind"] == "moment" and one["name"].endswith("-final"))
    others = [one for one in last["isr"] if one != last["leader"]]
    times = {name: events[final][name] - 10**6 for name in ("monotonic_ns", "wall_ns")}
    shrunk = times | _again(last, isr=[one for one in last["isr"] if one != others[-1]])
    return put(run, [*events[:final], shrunk, *(_later(one, MINUTE_NS) for one in events[final:])])


def _long_under_its_leader(events: Sequence[dict[str, Any]], acked: Mapping[str, Any]) -> bool:
    """Whether a record was sent a tenth of a minute after its partition's leader was stated first, and acknowledged
    before another was.
    """
    stated = _of_kind(events, "partition", topic=acked["topic"], partition=acked["partition"])
    sent_ns, answered_ns = acked["invoked_ns"], acked["monotonic_ns"]
    leader = next((one["leader"] for one in reversed(stated) if one["monotonic_ns"] <= sent_ns), None)
    others = [one["monotonic_ns"] for one in stated if one["leader"] != leader]
    before_ns = max((at_ns for at_ns in others if at_ns <= sent_ns), default=0)
    since = [one["monotonic_ns"] for one in stated if before_ns < one["monotonic_ns"] <= sent_ns]
    long = bool(since) and sent_ns > since[0] + MINUTE_NS // 10
    return leader is not None and long and not any(sent_ns < at_ns <= answered_ns for at_ns in others)


def _asks_for_four(run: RunDir, _runs: Runs) -> bool:
    """The topic wanted all of four replicas in sync and had three, and acknowledged all the same, long after it had
    them. With three replicas it would ask for no more than these (KAFKA-15583).
    """
    events = lines(run)
    if not any(_long_under_its_leader(events, one) for one in _of_kind(events, "acked", acks="all", outcome="ok")):
        return False
    facts = read_json(run.run_json)
    topics = [
        one
        | {"settings": one["settings"] | {"min.insync.replicas": "4"}}
        | {"partitions": {name: [*brokers, FOURTH] for name, brokers in one["partitions"].items()}}
        for one in facts["topics"]
    ]
    write_json(run.run_json, facts | {"topics": topics})
    names = [one["name"] for one in topics]
    for state in _of_kind(events, "partition"):
        if state["topic"] in names and state.get("replicas"):
            state["replicas"] = [*state["replicas"], FOURTH]
    return put(run, events)


def _cut_timeline(first: int, last: int) -> Damage:
    def damage(run: RunDir, _runs: Runs) -> bool:
        events = lines(run)
        return put(run, events[first : len(events) - last])

    return damage


def _swap(name: str, other: str) -> Damage:
    def damage(run: RunDir, runs: Runs) -> bool:
        source = runs[other].path / name
        if run.read_run().run == runs[other].read_run().run:
            return False
        shutil.copy(source, run.path / name)
        return True

    return damage


def _foreign_producer(run: RunDir, runs: Runs) -> bool:
    """The producer's history, as recorded and as sealed, of another run that sent the same."""
    other = next((r for r in runs.values() if r.read_run().run != run.read_run().run), None)
    assert other is not None
    for path in [*other.history.rglob("producer-1.*")]:
        target = run.path / path.relative_to(other.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return True


def _copies(pattern: str, *, every: bool) -> Damage:
    def damage(run: RunDir, _runs: Runs) -> bool:
        found = sorted(run.replicas.glob(pattern))
        for path in found if every else found[:1]:
            path.unlink()
        return bool(found)

    return damage


def _clean_cut(run: RunDir, _runs: Runs) -> bool:
    """The last batch of the first copy of the last moment, cut off at its beginning."""
    from kafkafiles.batches import BatchHeader, scan_batches

    for segment in sorted(run.replicas.glob("*-final/broker-*/t-0/*.log")):
        data = segment.read_bytes()
        batches = [found for found in scan_batches(data) if isinstance(found, BatchHeader)]
        if len(batches) > 1:
            segment.write_bytes(data[: batches[-1].position])
            return True
    return False


def _flip_last_batch(run: RunDir, _runs: Runs) -> bool:
    """A bit in the last batch of every copy of the first moment."""
    for segment in sorted(run.moment(run.moments()[0]).glob("broker-*/t-0/*.log")):
        data = bytearray(segment.read_bytes())
        data[-1] ^= 1
        segment.write_bytes(data)
    return True


def _group_logs(change: Callable[[GroupEvent, bytes], bytes | None]) -> Damage:
    """Every copy of the coordinators' topic with other values, and the timeline with the sizes that it has then."""

    def damage(run: RunDir, _runs: Runs) -> bool:
        before = sum(path.stat().st_size for path in run.replicas.glob(GROUP_LOGS))
        for path in run.replicas.glob(GROUP_LOGS):
            data = path.read_bytes()
            found = [one for one in records(data) if isinstance(one, Record)]
            changed = [
                one if one.value is None else replace(one, value=change(event, one.value) or one.value)
                for one, event in zip(found, events_of(data), strict=True)
            ]
            path.write_bytes(b"".join(map(_written, changed)))
        events = lines(run)
        for event in _of_kind(events, "moment"):
            for node, files in event["files"].items():
                for name in [name for name in files if name.startswith("__consumer_offsets-")]:
                    files[name] = (run.moment(event["name"]) / node / name).stat().st_size
        return put(run, events) and before > 0

    return damage


def _no_group_logs(run: RunDir, _runs: Runs) -> bool:
    """No copy of the coordinators' topic, and a timeline that names none."""
    copies = {path.parent for path in run.replicas.glob(GROUP_LOGS)}
    for path in copies:
        shutil.rmtree(path)
    events = lines(run)
    for event in _of_kind(events, "moment"):
        event.pop("group_logs", None)
        for files in event["files"].values():
            for name in [name for name in files if name.startswith("__consumer_offsets-")]:
                del files[name]
    return put(run, events) and bool(copies)


def _written(one: Record) -> bytes:
    """A record as a batch of its own."""
    made = R(key=one.key, value=one.value, timestamp=one.timestamp_ms)
    producer = (one.producer_id, one.producer_epoch, one.sequence)
    control = one.control is not None
    return batch(
        one.offset, [made], producer=producer, transactional=one.transactional, control=control, epoch=one.leader_epoch
    )


def _first_offset(event: GroupEvent, value: bytes) -> bytes | None:
    """Commits of the first input alone."""
    return value[:2] + (1).to_bytes(8, "big") + value[10:] if event.kind == "OFFSET_COMMIT" else None


def _with_a_twin(event: GroupEvent, value: bytes) -> bytes | None:
    """One more member with what the only one has (GROUP_METADATA, version 3: the members are its last field)."""
    if event.kind != "GROUP_METADATA" or len((event.fields or {})["members"]) != 1:
        return None
    name = (event.fields or {})["members"][0]["member_id"].encode()
    at = value.rindex(len(name).to_bytes(2, "big") + name)
    member = value[at:]
    return value[: at - 4] + (2).to_bytes(4, "big") + member + member.replace(name, name[:-1] + b"~", 1)


def _of_broker_1(run: RunDir, _runs: Runs) -> bool:
    for moment in run.moments():
        nodes = sorted(run.moment(moment).iterdir())
        for node in nodes[1:]:
            shutil.rmtree(node)
            shutil.copytree(nodes[0], node)
    return True


def _drop_rows(chosen: Callable[[pa.Table, int], list[bool]], kind: str, process: str) -> Damage:
    """Rows of a process left out of its sealed files, and the numbers of rows made to fit."""

    def damage(run: RunDir, _runs: Runs) -> bool:
        names = [p.name for p in run.read_run().processes if p.kind == kind or p.name == process]
        changed = False
        for name in names:
            counts = {}
            for path in run.sealed.glob(f"topic=*/partition=*/{name}.parquet"):
                table = pq.read_table(path, partitioning=None)
                kept = table.filter(pa.array(chosen(table, len(table))))
                changed = changed or len(kept) < len(table)
                pq.write_table(kept, path, write_page_checksum=True)
                where = (path.parent.parent.name.partition("=")[2], int(path.parent.name.partition("=")[2]))
                counts[where] = len(kept)
            operations = run.sealed_operations(name)
            table = pq.read_table(operations, partitioning=None)
            manifest = [[topic, partition, rows] for (topic, partition), rows in counts.items()]
            metadata = dict(table.schema.metadata) | {MANIFEST: json.dumps(manifest).encode()}
            pq.write_table(table.replace_schema_metadata(metadata), operations, write_page_checksum=True)
        return changed

    return damage


def _not_sequence(number: int) -> Callable[[pa.Table, int], list[bool]]:
    """Everything but the send of one record."""

    def chosen(table: pa.Table, _rows: int) -> list[bool]:
        of_it = pc.and_(pc.equal(table["kind"], schema.SEND), pc.equal(table["sequence"], number))
        return [not one for one in pc.fill_null(of_it, False).to_pylist()]

    return chosen


def _no_polls(table: pa.Table, _rows: int) -> list[bool]:
    return [kind != schema.POLL for kind in table["kind"].to_pylist()]


def _stream_without_a_row(run: RunDir, _runs: Runs) -> bool:
    """A row of the recorded stream left out, and nothing sealed."""
    shutil.rmtree(run.sealed)
    rewrite(run.stream("producer-1"), lambda table: without_row(table, table["kind"].to_pylist().index(schema.SEND)))
    return True


def _other_checksums(run: RunDir, _runs: Runs) -> bool:
    """An offset of the recorded stream changed, its batches otherwise as they were, and nothing sealed."""
    shutil.rmtree(run.sealed)
    path = run.stream("producer-1")
    names, batches = stored(path)
    at = names.get_field_index("offset")

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [pc.add(column, 1) if number == at else column for number, column in enumerate(batch.columns)]
        return pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    store(path, names, [(change(batch), told) for batch, told in batches])
    return True


def _resealed(kind: str, change: Callable[[pa.Table], pa.Table]) -> Damage:
    """The histories of all processes of a kind with other rows, the numbers made to fit, and sealed again."""

    def numbered(table: pa.Table) -> pa.Table:
        changed = change(table)
        at = changed.schema.get_field_index("op")
        return changed.set_column(at, changed.schema.field(at), pa.array(range(len(changed)), pa.int64()))

    def damage(run: RunDir, _runs: Runs) -> bool:
        shutil.rmtree(run.sealed)
        for one in run.read_run().of_kind(kind):
            rewrite(run.stream(one.name), numbered)
        seal_run(run)
        return True

    return damage


def _not_of(kind: str) -> Callable[[pa.Table], pa.Table]:
    """All rows but those of a kind."""
    return lambda table: table.filter(pc.not_equal(table["kind"], kind))


def _below(offset: int) -> Callable[[pa.Table], pa.Table]:
    """All rows but what a member of a share group was given, and said of it, from an offset on."""

    def change(table: pa.Table) -> pa.Table:
        shared = pc.is_in(table["kind"].cast(pa.string()), pa.array([schema.DELIVERED, schema.ACCEPT]))
        return table.filter(pc.invert(pc.and_(shared, pc.fill_null(pc.greater_equal(table["offset"], offset), False))))

    return change


def _in_generation_1(table: pa.Table) -> pa.Table:
    """All rows, each assignment of the first generation."""
    at = table.schema.get_field_index("count")
    given = pc.equal(table["kind"].cast(pa.string()), schema.ASSIGN)
    return table.set_column(at, table.schema.field(at), pc.if_else(given, pa.scalar(1, pa.int64()), table["count"]))


def _every_commit_taken(table: pa.Table) -> pa.Table:
    """All rows, those of offsets as if the coordinator had taken each."""
    at = table.schema.get_field_index("outcome")
    outcome = table["outcome"].cast(pa.string())
    taken = pc.if_else(pc.equal(table["kind"].cast(pa.string()), schema.OFFSETS), schema.OK, outcome)
    return table.set_column(at, table.schema.field(at), taken.cast(table.schema.field(at).type))


def _higher_numbers(table: pa.Table) -> pa.Table:
    """The last record that a member was given, once more and with a higher number, at the end."""
    given = table.filter(pc.equal(table["kind"], schema.DELIVERED))
    if not len(given):
        return table
    last = given.slice(len(given) - 1)
    at, completed = (table.schema.get_field_index(name) for name in ("count", "completed_ns"))
    latest = pc.max(table["completed_ns"]).as_py()
    last = last.set_column(at, table.schema.field(at), pc.add(last["count"], 1))
    last = last.set_column(completed, table.schema.field(completed), pa.array([latest], pa.int64()))
    return pa.concat_tables([table.slice(0, len(table) - 1), last, table.slice(len(table) - 1)])


def _counted_again(table: pa.Table) -> pa.Table:
    """All rows, and the last input that a result counts once more."""
    rows = pc.indices_nonzero(pc.equal(table["kind"].cast(pa.string()), schema.IN_RESULT)).to_pylist()
    if not rows:
        return table
    return pa.concat_tables([table.slice(0, rows[-1] + 1), table.slice(rows[-1], 1), table.slice(rows[-1] + 1)])


def _without_the_last_send(run: RunDir, _runs: Runs) -> bool:
    """The producer's last record left out of its history, with its reservation, the numbers made to fit, and sealed
    again.
    """

    def change(table: pa.Table) -> pa.Table:
        last = pc.max(table["sequence"])
        kept = table.filter(pc.fill_null(pc.not_equal(table["sequence"], last), True))
        at = table.schema.get_field_index("op")
        return kept.set_column(at, table.schema.field(at), pa.array(range(len(kept)), pa.int64()))

    rewrite(run.stream("producer-1"), change)
    shutil.rmtree(run.sealed)
    seal_run(run)
    return True


def _torn_stream(share: float, process: str) -> Damage:
    def damage(run: RunDir, _runs: Runs) -> bool:
        shutil.rmtree(run.sealed)
        path = run.stream(process)
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])
        return True

    return damage


def _flip(pattern: str, seed: int) -> Damage:
    """One byte of a file, anywhere in it."""

    def damage(run: RunDir, _runs: Runs) -> bool:
        chance = random.Random(seed)
        paths = sorted(run.path.glob(pattern))
        if not paths:
            return False
        path = chance.choice(paths)
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        return True

    return damage


def _flip_stream(seed: int) -> Damage:
    def damage(run: RunDir, runs: Runs) -> bool:
        shutil.rmtree(run.sealed)
        return _flip("history/*.arrows", seed)(run, runs)

    return damage


def _facts(**changes: Any) -> Damage:
    def damage(run: RunDir, _runs: Runs) -> bool:
        write_json(run.run_json, read_json(run.run_json) | changes)
        return True

    return damage


def _allowed(run: RunDir, _runs: Runs) -> bool:
    facts = read_json(run.run_json)
    facts["documented"] = facts["documented"] | {"allowed": ["lost-write", "phantom", "duplicate"]}
    write_json(run.run_json, facts)
    return True


def _subjects(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Damage:
    """Other subjects in run.json. The first of what is changed was acknowledged by the leader alone, and lost."""

    def damage(run: RunDir, _runs: Runs) -> bool:
        facts = read_json(run.run_json)
        losing = [one for one in facts["subjects"] if one["stated"]["must"] == ["loses"]]
        rest = [one for one in facts["subjects"] if one not in losing]
        write_json(run.run_json, facts | {"subjects": change([*losing, *rest])})
        return True

    return damage


def _first(**changes: Any) -> Damage:
    return _subjects(lambda found: [found[0] | changes, *found[1:]])


def _each_others_process(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first, *between, last = found
    return [first | {"process": last["process"]}, *between, last | {"process": first["process"]}]


def _each_others_history(run: RunDir, _runs: Runs) -> bool:
    """The streams of two subjects under each other's names, and nothing sealed."""
    shutil.rmtree(run.sealed)
    one, other = (run.stream(f"producer-{number}") for number in (2, 3))
    beside = one.with_suffix(".tmp")
    one.rename(beside)
    other.rename(one)
    beside.rename(other)
    return True


def _added(run: RunDir, _runs: Runs) -> bool:
    (run.history / "note.txt").write_text("x")
    return True


SOUND: Final = (*BAD, "as-documented")
NO_ACCUSATION: Final = ("unknown", "error", "as-documented")

SUBJECTS: Final = tuple(
    Case(name=f"subjects: {name}", before="not tried", damage=damage, of_subjects=True, **more)
    for name, damage, more in (
        ("two have each other's process", _subjects(_each_others_process), {}),
        ("two have each other's history, nothing sealed", _each_others_history, {"forged": ("unknown",)}),
        ("one is said to have other acks", _first(acks="all"), {"forged": ("unknown",)}),
        ("one is said to be idempotent", _first(idempotence=True), {"forged": ("unknown",)}),
        ("one is said to have one request in flight", _first(in_flight=17), {"forged": ("unknown",)}),
        ("one is said to be of another partition", _first(partition=0, topic="t"), {}),
        ("one is there twice", _subjects(lambda found: [found[0], *found]), {"forged": ("unknown",)}),
        ("one is left out", _subjects(lambda found: found[1:]), {"forged": ("unexpected",)}),
        ("all are left out", _subjects(lambda found: []), {"forged": ("unexpected",)}),
        (
            "one must lose nothing",
            _first(stated={"must": [], "may": [], "why": "forged", "source": "forged", "basis": "measured"}),
            {"forged": ("unexpected",)},
        ),
        ("one's losses are not expected", _first(expected_loss=[]), {"forged": ("unexpected",)}),
        ("one's losses are all expected", _first(expected_loss=None), {"forged": SOUND, "bound_only": True}),
        ("no client says what it goes by", _without("configuration"), {"forged": ("unknown",)}),
    )
)
"""On what is said of subjects."""

SHARED: Final = "share-group (killed)"
OVERTAKEN: Final = "rebalance-while-processing (slower)"
COUNTS: Final = "streams-count (exactly-once-v2)"
LATE_END, RETURN, STUCK = "museum-late-end", "museum-deleted-records-return", "museum-marker-lost"
GROUPS, SILENT, LONG_NAME = "museum-oldest-offsets", "museum-unloadable-group", "museum-long-topic-name"
FORGOTTEN, MISDELIVERED = "museum-forgotten-overrides", "museum-misdelivered"
MIGRATED = "museum-ids-given-twice"
SEEN_FROM_ANSWERS: Final = {"forged": SOUND, "bound_only": True}
"""What a coordinator answers and takes back shows it without the commit."""
EXHIBITS: Final = (LATE_END, RETURN, STUCK, GROUPS, SILENT, LONG_NAME, FORGOTTEN, MISDELIVERED, MIGRATED)
MUSEUM: Final = (
    *(Case(name=f"{of.removeprefix('museum-')}: {name}", before="not tried", damage=damage, of=of, allowed=BAD, **more)
      for of, name, damage, more in (
        (LATE_END, "the delay has no proof", _proof("delay", packets_dropped={}, not_taken=[]),
         {"forged": ("unknown",)}),
        (LATE_END, "a request came through in spite of the delay", _proof("delay", not_taken=[]),
         {"forged": ("unknown",)}),
        (LATE_END, "nothing was delayed", _without_fault("delay"), {}),
        (LATE_END, "no precondition, such as that the packet came", _without("precondition"), {"forged": ("unknown",)}),
        (LATE_END, "nobody read as consumers of transactions do", _drop_rows(_no_polls, "consumer", ""), {}),
        (RETURN, "the answer to the deletion is left out", _without("records-deleted"), {}),
        (RETURN, "the answer to the deletion is of another partition", _event("records-deleted", partition=9), {}),
        (RETURN, "the answer to the deletion deletes nothing", _event("records-deleted", low_watermark=0), {}),
        (RETURN, "the brokers' own ends are not in Docker's account", _without("container"), {"forged": ("unknown",)}),
        (RETURN, "the final read is dropped", _drop_rows(_no_polls, "final-read", ""), {}),
        (STUCK, "answers for the log's end are left out", _without("ends-answer"), {}),
        (STUCK, "answers for the log's end are of another partition", _event("ends-answer", partition=9), {}),
        (GROUPS, "answers of the coordinator are left out", _without("offset-answer"), {}),
        (GROUPS, "answers of the coordinator are of another group", _event("offset-answer", group="other"),
         SEEN_FROM_ANSWERS),
        (GROUPS, "commits are left out", _without("offset-commit"), SEEN_FROM_ANSWERS),
        (SILENT, "answers of the coordinator are left out", _without("offset-answer"), {}),
        (SILENT, "commits are left out", _without("offset-commit"), SEEN_FROM_ANSWERS),
        (LONG_NAME, "Docker told of nothing", _without("container"), {}),
        (LONG_NAME, "brokers' logs say nothing", _without("log"), {}),
        (FORGOTTEN, "brokers' logs say nothing", _without("log"), {}),
        (MISDELIVERED, "what the final reader recorded is gone", _removed("history/**/final-read-1.*"), {}),
        (MISDELIVERED, "the delay has no proof", _proof("delay", packets_dropped={}), {"forged": ("unknown",)}),
        (MIGRATED, "nothing migrated", _without_fault("migration"), {}),
        (MIGRATED, "brokers were not started with other settings", _proof("start", settings={}),
         {"forged": ("unknown",)}),
        (MIGRATED, "the migration's proof names no broker", _proof("migration", brokers=[]), {"forged": ("unknown",)}),
        (MIGRATED, "brokers' logs say nothing", _without("log"), {"forged": ("unknown",)}),
        (MIGRATED, "ZooKeeper's znodes are left out", _without("znode"), {"forged": ("unknown",)}),
        (MIGRATED, "ZooKeeper has the metadata nowhere", _edited(_not_migrated), {"forged": BAD}),
        (MIGRATED, "a broker is the controller to the end", _edited(_ruled_by_broker_1), {"forged": BAD}),
      )),
    *(Case(name=f"{of.removeprefix('museum-')}: timeline of another exhibit", before="not tried",
           damage=_of_another_exhibit, of=of, allowed=BAD)
      for of in EXHIBITS),
)  # fmt: skip
"""On the faults and the anomalies of the museum."""

SHARES: Final = tuple(
    Case(name=f"share group: {name}", before="not tried", damage=damage, of=SHARED, allowed=BAD, **more)
    for name, damage, more in (
        ("its members' deliveries are left out", _resealed("processor", _not_of(schema.DELIVERED)), {}),
        ("what its members said is left out", _resealed("processor", _not_of(schema.ACCEPT)), {}),
        (
            "a record is delivered again after it was accepted",
            _resealed("processor", _higher_numbers),
            {"forged": ("unexpected",), "finds": "delivered-too-often"},
        ),
        (
            "its members were given none of the last records",
            _resealed("processor", _below(15)),
            {"forged": ("unexpected",), "finds": "share-record-lost"},
        ),
        ("its coordinator's answers are left out", _without("share-progress"), SEEN_FROM_ANSWERS),
        ("nobody says where the member stood still", _without("crash-point"), {"forged": ("unknown",)}),
        ("the kill of the member has no proof", _proof("kill-client", status=0), {"forged": ("unknown",)}),
    )
)
"""On share groups."""

MEMBERS: Final = tuple(
    Case(name=f"slow member: {name}", before="not tried", damage=damage, of=OVERTAKEN, allowed=BAD, **more)
    for name, damage, more in (
        (
            "its late commit is said to be taken",
            _resealed("processor", _every_commit_taken),
            {"forged": ("unexpected",), "finds": "stale-commit-accepted"},
        ),
        (
            "its successor was given the partition in the same generation",
            _resealed("processor", _in_generation_1),
            {"forged": ("unexpected",), "finds": "two-owners"},
        ),
        ("what members committed is left out", _resealed("processor", _not_of(schema.OFFSETS)), {}),
        (
            "whom the group gave the partition is left out",
            _resealed("processor", _not_of(schema.ASSIGN)),
            {"forged": SOUND, "bound_only": True},
        ),
        ("nobody says where it stood still", _without("crash-point"), {"forged": ("unknown",)}),
        (
            "the coordinators' topic has earlier offsets",
            _group_logs(_first_offset),
            {"forged": ("unexpected",), "finds": "committed-offset-regression"},
        ),
        (
            "the coordinators' topic gives its partition to another member, too",
            _group_logs(_with_a_twin),
            {"forged": ("unexpected",), "finds": "two-owners"},
        ),
        ("a copy of the coordinators' topic is gone", _copies(GROUP_LOGS, every=False), {"forged": ("unknown",)}),
        ("the coordinators' topic was not copied", _no_group_logs, {"forged": ("unknown",)}),
    )
)
"""On members of groups."""

RESULTS: Final = tuple(
    Case(name=f"results in a store: {name}", before="not tried", damage=damage, of=COUNTS, allowed=BAD, **more)
    for name, damage, more in (
        (
            "one counts an input twice",
            _resealed("final-read", _counted_again),
            {"forged": ("unexpected",), "finds": "state-store-leak"},
        ),
        (
            "nobody says what they count",
            _resealed("final-read", _not_of(schema.IN_RESULT)),
            {"forged": ("unknown",)},
        ),
        (
            "the outputs that state them are left out",
            _resealed("final-read", _not_of(schema.OUTPUT)),
            {"forged": ("unknown",)},
        ),
        ("nobody says where the application stood still", _without("crash-point"), {"forged": ("unknown",)}),
        ("the kill of the application has no proof", _proof("kill-client", status=0), {"forged": ("unknown",)}),
    )
)
"""On results that an application keeps in a store."""

DUTIES: Final = (
    *(Case(name=f"Kafka's duties: {name}", before="not tried", damage=damage, allowed=BAD, forged=("unexpected",),
           finds=anomaly)
      for name, damage, anomaly in (
        ("a broker exited by itself", _at_the_end(_died), "broker-exit"),
        ("a partition was led by nobody for a minute", _at_the_end(_led_by_nobody, end_ns=MINUTE_NS), "no-leader"),
        ("a replica stayed out of the ISR for a minute", _out_of_sync, "stuck-isr"),
        ("nobody could read it for a minute", _at_the_end(_read_by_nobody, MINUTE_NS, MINUTE_NS), "unreadable"),
        ("another led for no reason", _at_the_end(_led_by_another, MINUTE_NS, MINUTE_NS), "spontaneous-election"),
        ("one left the ISR for no reason", _at_the_end(_left_isr, LONG_NS, LONG_NS), "spontaneous-isr-shrink"),
        ("a session ended for no reason", _at_the_end(_lost_session, MINUTE_NS, MINUTE_NS), "spontaneous-fencing"),
        ("the controller was elected again for no reason", _at_the_end(_in_another_office, MINUTE_NS, MINUTE_NS),
         "spontaneous-controller-change"),
        ("its session ended and it never registered again", _at_the_end(_lost_session, end_ns=MINUTE_NS),
         "not-registered"),
        ("there was no controller for a minute", _at_the_end(_controlled_by_nobody, end_ns=MINUTE_NS), "no-controller"),
        ("who was not in sync led", _led_from_outside, "unclean-election"),
        ("acks=all was acknowledged by three of four", _asks_for_four, "acknowledged-below-min-insync"),
      )),
    Case(name="timeline: nothing says who led a partition, and its ISR", before="not tried",
         damage=_without("partition"), forged=("unknown",)),
    *(Case(name=f"timeline: nothing says {name}", before="not tried", damage=_without(kind), bound_only=True,
           forged=SOUND)
      for name, kind in (("which brokers were registered", "broker"), ("who was the controller", "controller"))),
)  # fmt: skip
"""On what Kafka owes after the storm (checks/anomalies/availability.py, spontaneous.py, unclean.py, min_insync.py)."""

CASES: Final = (
    *SUBJECTS,
    *MUSEUM,
    *SHARES,
    *MEMBERS,
    *RESULTS,
    *DUTIES,
    Case(name="every poll of the final reader dropped, counts adjusted", before="as-documented where a loss is",
         damage=_drop_rows(_no_polls, "final-read", ""), forged=("unknown",)),
    Case(name="acknowledgement of m0 dropped from the sealed file, counts adjusted", before="as-documented",
         damage=_drop_rows(_not_sequence(0), "", "producer-1"), forged=("unknown",)),
    Case(name="the last send dropped everywhere, numbers made to fit", before="not tried",
         damage=_without_the_last_send, forged=("unknown",)),
    Case(name="a send dropped from the stream, nothing sealed", before="as-documented", damage=_stream_without_a_row,
         forged=("unknown",)),
    Case(name="offsets in the stream changed, nothing sealed", before="not tried", damage=_other_checksums,
         forged=("unknown",)),
    Case(name="producer's history of another run", before="as-documented", damage=_foreign_producer),
    Case(name="segment file of one copy removed", before="as-documented, 35 of 37",
         damage=_copies("*/broker-*/t-0/*.log", every=False)),
    Case(name="segment files of all copies removed", before="as-documented, 8 of 10",
         damage=_copies("*/broker-*/t-0/*.log", every=True)),
    Case(name="last batch of a copy cut off cleanly", before="as-documented, 16 of 37", damage=_clean_cut,
         forged=("unknown",)),
    Case(name="bit of the last batch of the first moment's copies flipped", before="as-documented of dead brokers",
         damage=_flip_last_batch),
    Case(name="every broker's copy made from broker-1's files", before="as-documented", damage=_of_broker_1,
         forged=("unknown",)),
    Case(name="leader-epoch files of copies removed", before="as-documented",
         damage=_copies("*/broker-*/t-0/leader-epoch-checkpoint", every=True)),
    Case(name="indexes of copies removed", before="as-documented",
         damage=_copies("*/broker-*/t-0/*.index", every=True)),
    Case(name="high watermark checkpoints of copies removed", before="as-documented",
         damage=_copies("*/broker-*/replication-offset-checkpoint", every=True), forged=("unknown",)),
    Case(name="timeline: proofs are empty", before="as-documented", damage=_fault("verified", proof={})),
    Case(name="timeline: there are no proofs", before="as-documented", damage=_fault("verified", proof=None)),
    Case(
        name="timeline: faults of a kind that nobody has",
        before="as-documented",
        damage=_fault("verified", fault_kind="new", proof={"kind": "new", "anything": False}),
    ),
    Case(name="timeline: exit code 0 in the proof of a kill", before="as-documented", damage=_edited(_exit_code_0)),
    Case(name="timeline: verified before inject", before="as-documented", damage=_edited(_verified_first)),
    Case(name="timeline: no Docker event at all", before="as-documented", damage=_without("container")),
    Case(name="timeline: held=null", before="as-documented", damage=_edited(_held_null)),
    Case(name="timeline: no precondition at all", before="as-documented", damage=_without("precondition")),
    Case(name="timeline: no duty of Kafka at all", before="not tried", damage=_without("duty")),
    Case(name="timeline: every duty of Kafka is undone", before="not tried", damage=_event("duty", held=False)),
    Case(name="timeline: nothing says how the machine was", before="not tried", damage=_without("machine"),
         bound_only=True, forged=SOUND),
    Case(name="timeline: nothing that brokers said at TRACE", before="not tried", damage=_without("replica-offset"),
         forged=("unknown",)),
    Case(name="timeline: the second half of what brokers said at TRACE cut", before="not tried", damage=_trace_cut,
         forged=("unknown",)),
    Case(name="timeline: what brokers said at TRACE under each other's names", before="not tried",
         damage=_edited(_of_the_other), forged=("unknown",)),
    Case(name="timeline: last five lines cut", before="as-documented", damage=_cut_timeline(0, 5),
         bound_only=True, forged=SOUND),
    Case(name="timeline: first ten lines cut", before="as-documented", damage=_cut_timeline(10, 0),
         bound_only=True, forged=SOUND),
    Case(name="timeline: its first line, which says the schema, cut", before="not tried", damage=_without_schema),
    Case(name="timeline of another run", before="as-documented",
         damage=_swap("timeline.jsonl", "double-failover 0.10.2.2")),
    Case(name="run.json: another release", before="as-documented", damage=_facts(kafka="3.0.0", version="3.0.0")),
    Case(name="run.json: another run's name", before="as-documented", damage=_facts(run="another")),
    Case(name="run.json: other settings", before="as-documented",
         damage=_facts(settings={}), bound_only=True, forged=SOUND),
    Case(name="run.json: more is allowed", before="as-documented", damage=_allowed, bound_only=True, forged=SOUND),
    Case(name="a file added to the histories", before="not looked at", damage=_added, bound_only=True, forged=SOUND),
    *(Case(name=f"producer's stream torn at {share:.0%}, nothing sealed", before="unexpected (phantom), 53 of 63",
           damage=_torn_stream(share, "producer-1"), forged=("unknown",))
      for share in (0.2, 0.4, 0.6, 0.8, 0.95)),
    *(Case(name=f"a bit of a sealed file flipped (seed {seed})", before="other values, 199 of 250; 161 unexpected",
           damage=_flip("history/sealed/**/*.parquet", seed), forged=NO_ACCUSATION)
      for seed in range(8)),
    *(Case(name=f"a bit of a stream flipped, nothing sealed (seed {seed})", before="as-documented, 14 of 1000",
           damage=_flip_stream(seed), forged=NO_ACCUSATION)
      for seed in range(8)),
)  # fmt: skip
