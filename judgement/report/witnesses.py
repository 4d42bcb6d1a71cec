"""What a run's histories and copies of replicas say of single records, read on demand.

The timeline, and so `JudgedRun`, names the records of a script only. These files name every record: who sent it with
which outcome, who read it or read past it, and what each replica's disk held at its offset at each moment of copying.

A file that is missing or torn is no error: the rest is used, and `RecordSources.missing` has a line for each. Where
histories are missing altogether (a report made again from a few files of a run), the timeline takes their place: it
names the records of a script.

Cost: a partition's history is read once, whole (300 bytes a row in memory), and sorted once by what is asked for;
in each copy one batch is decoded for each offset. A record of which no offset is known is looked for in all
records of all copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evidence.errors import UsageError
from evidence.events import Ends, Moment
from evidence.history import schema
from evidence.history.read import PLAIN_SCHEMA, open_run
from evidence.history.record import MAGIC, decode, decode_all
from evidence.records import RecordId, TopicPartition
from evidence.run_state import Sent, acks_text
from judgement.report.facts import JudgedRun
from kafkafiles import checkpoints
from kafkafiles.batches import Corrupt, Record
from kafkafiles.errors import ParseError
from kafkafiles.replica import RecordsByOffset, Replica, SegmentProblem, read_replica

KINDS: Final = (schema.SEND, schema.POLL, schema.FINAL_READ)
COLUMNS: Final = (
    "process",
    "outcome",
    "offset",
    "producer",
    "sequence",
    "invoked_ns",
    "completed_ns",
    "error_name",
    "acks",
)
"""What of a history is asked about."""
OUTCOMES: Final = {schema.OK: "acked", schema.FAIL: "failed", schema.INFO: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A poll of `process` returned `record` from `offset`; `at_ns` is when the poll returned."""

    process: str
    at_ns: int | None
    offset: int
    record: RecordId


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPast:
    """`process` read at or beyond an offset, first at `at_ns`; `furthest` is the last offset it read.

    `end` is the brokers' end offset, if this is a final read that reached it.
    """

    process: str
    at_ns: int | None
    furthest: int
    end: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a replica holds at one offset. `record` is None if it is no record of our clients; `what` then says what."""

    record: RecordId | None
    leader_epoch: int = -1
    what: str = ""
    unclear: bool = False
    """Whether damaged bytes may have been a record of ours."""


class RecordedPartition:
    """What all processes recorded about one partition."""

    def __init__(self, where: TopicPartition, table: pa.Table) -> None:
        self._where = where
        self._of = {kind: table.filter(pc.equal(table["kind"], kind)).select(COLUMNS) for kind in KINDS}
        self._sorted: dict[tuple[str, str], tuple[Any, Any]] = {}
        """A column's values in order, and which rows they are in."""

    def _rows(self, kind: str, column: str, values: Iterable[int]) -> list[dict[str, Any]]:
        """The rows of a kind that have one of these values, in the order recorded."""
        if (kind, column) not in self._sorted:
            numbers = pc.fill_null(self._of[kind][column], -1).to_numpy()
            order = np.argsort(numbers, kind="stable")
            self._sorted[kind, column] = numbers[order], order
        numbers, order = self._sorted[kind, column]
        wanted = np.unique(np.fromiter(values, np.int64))
        ranges = zip(np.searchsorted(numbers, wanted), np.searchsorted(numbers, wanted, side="right"), strict=True)
        found = [order[begin:end] for begin, end in ranges if end > begin]
        if not found:
            return []
        rows: list[dict[str, Any]] = self._of[kind].take(np.sort(np.concatenate(found))).to_pylist()
        return rows

    def _id(self, row: Mapping[str, Any]) -> RecordId:
        own = (schema.UNKNOWN_IDENTITY if row[name] is None else row[name] for name in ("producer", "sequence"))
        return RecordId(*self._where, *own)

    def _send(self, row: Mapping[str, Any]) -> Sent:
        return Sent(
            process=row["process"],
            topic=self._where[0],
            partition=self._where[1],
            producer=row["producer"],
            sequence=row["sequence"],
            acks=acks_text(row["acks"]),
            sent_ns=row["invoked_ns"] or row["completed_ns"] or 0,
            done_ns=row["completed_ns"],
            outcome=OUTCOMES.get(row["outcome"], "unknown"),
            offset=row["offset"],
            error=row["error_name"],
        )

    def sends(self, ids: Iterable[RecordId]) -> list[Sent]:
        """How these records were sent, in the order of sending."""
        wanted = {(one.producer, one.sequence) for one in ids}
        rows = self._rows(schema.SEND, "sequence", {sequence for _, sequence in wanted})
        found = [self._send(row) for row in rows if (row["producer"], row["sequence"]) in wanted]
        return sorted(found, key=lambda send: send.sent_ns)

    def sends_at(self, offsets: Iterable[int]) -> list[Sent]:
        """Every send that was acknowledged at one of these offsets."""
        rows = self._rows(schema.SEND, "offset", offsets)
        return [self._send(row) for row in rows if row["outcome"] == schema.OK and row["producer"] is not None]

    def reads(self, ids: Iterable[RecordId], offsets: Iterable[int] = ()) -> list[Read]:
        """Every poll that returned one of these records, or anything from one of these offsets."""
        wanted = {(one.producer, one.sequence) for one in ids if one.is_ours}
        by_id = self._rows(schema.POLL, "sequence", {sequence for _, sequence in wanted})
        rows = [row for row in by_id if (row["producer"], row["sequence"]) in wanted]
        rows += self._rows(schema.POLL, "offset", offsets)
        found = {
            Read(process=row["process"], at_ns=row["completed_ns"], offset=row["offset"], record=self._id(row))
            for row in rows
            if row["offset"] is not None
        }
        return sorted(found, key=lambda read: (read.at_ns or 0, read.process, read.offset, read.record))

    @cached_property
    def _polls(self) -> dict[str, tuple[Any, Any]]:
        polls = self._of[schema.POLL].select(["process", "offset", "completed_ns"])
        polls = polls.filter(pc.is_valid(polls["offset"]))
        result = {}
        for process in sorted(pc.unique(polls["process"]).to_pylist()):
            own = polls.filter(pc.equal(polls["process"], process))
            times = pc.fill_null(own["completed_ns"], 0)
            result[process] = (own["offset"].to_numpy(), times.to_numpy())
        return result

    def reads_past(self, offset: int) -> list[ReadPast]:
        """Every process that was given something at this offset or beyond it."""
        end_of = {row["process"]: row["offset"] for row in self._of[schema.FINAL_READ].to_pylist()}
        found = []
        for process in sorted({*self._polls, *end_of}):
            offsets, times = self._polls.get(process, (np.empty(0, np.int64), np.empty(0, np.int64)))
            beyond = offsets >= offset
            end = end_of.get(process)
            if beyond.any():
                at_ns = int(times[beyond].min()) or None
                found.append(ReadPast(process=process, at_ns=at_ns, furthest=int(offsets.max()), end=end))
            elif end is not None and end > offset:
                # It came to the end, and there was nothing at the record's offset or after it.
                furthest = int(offsets.max()) if len(offsets) else -1
                found.append(ReadPast(process=process, at_ns=None, furthest=furthest, end=end))
        return found

    def known(self) -> dict[int, tuple[int, int]]:
        """The first and last sequence of each producer of which anything is recorded here."""
        both = pa.concat_tables([self._of[schema.SEND], self._of[schema.POLL]])
        ours = both.filter(pc.greater_equal(both["producer"], 0))
        groups = ours.group_by("producer").aggregate([("sequence", "min"), ("sequence", "max")]).to_pylist()
        return {row["producer"]: (row["sequence_min"], row["sequence_max"]) for row in groups}

    def offsets(self) -> tuple[int, int] | None:
        """The first and last offset of which anything is recorded here."""
        found = pc.min_max(pa.concat_tables([self._of[schema.SEND], self._of[schema.POLL]])["offset"])
        low, high = found["min"].as_py(), found["max"].as_py()
        return None if low is None else (low, high)


class ReplicaCopy:
    """One replica's files as they were at one moment. Raises ParseError if the directory is no partition's."""

    def __init__(self, node: str, directory: Path) -> None:
        self.node = node
        self._replica: Replica = read_replica(directory)
        self._records = RecordsByOffset(self._replica)
        self._where = (self._replica.topic, self._replica.partition)

    @property
    def leo(self) -> int:
        return self._replica.leo

    @property
    def start(self) -> int:
        return self._replica.start_offset

    @property
    def damage(self) -> list[str]:
        """What no crash explains in these files."""
        problems = self._replica.corruption
        return [f"segment {p.segment}, byte {p.corrupt.position}: {p.corrupt.reason}" for p in problems]

    def at(self, offset: int) -> Content | None:
        """What lies at an offset; None if nothing does."""
        found = self._records.at(offset)
        if isinstance(found, Corrupt):
            return Content(record=None, what=f"damaged bytes ({found.kind})", unclear=True)
        return None if found is None else self._content(found)

    def _content(self, found: Record) -> Content:
        if found.control is not None:
            return Content(record=None, leader_epoch=found.leader_epoch, what="a control record")
        identity = decode(found.value) if found.valid else None
        if identity is None:
            ours = found.value is not None and found.value.startswith(MAGIC)
            what = "a damaged record" if ours or not found.valid else "a record that is not ours"
            unclear = what == "a damaged record"
            return Content(record=None, leader_epoch=found.leader_epoch, what=what, unclear=unclear)
        return Content(
            record=RecordId(*self._where, identity.producer, identity.sequence), leader_epoch=found.leader_epoch
        )

    def find(self, ids: Iterable[RecordId]) -> Iterator[tuple[RecordId, int]]:
        """Where each of these records lies, by reading all of them."""
        wanted = {(one.producer, one.sequence): one for one in ids}
        for found in self._replica.record_batches():
            if isinstance(found, SegmentProblem):
                continue
            identities = decode_all(found.column("value").to_pylist())
            offsets = found.column("offset").to_numpy(zero_copy_only=False)
            near = np.flatnonzero(np.isin(identities.sequence, [sequence for _, sequence in wanted]))
            for row in near.tolist():
                one = wanted.get((int(identities.producer[row]), int(identities.sequence[row])))
                if one is not None:
                    yield one, int(offsets[row])


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What one replica held at the offsets asked for, at one moment. `leo` and `hw` are None if unknown."""

    node: str
    contents: Mapping[int, Content | None]
    leo: int | None
    hw: int | None
    start: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskState:
    """What each replica held at one moment of copying."""

    label: str
    at_ns: int | None
    holdings: tuple[Holding, ...]


class RecordSources:
    """The histories and copies of one run. Each is opened on demand, once."""

    def __init__(self, facts: JudgedRun) -> None:
        self._facts = facts
        self._histories: dict[TopicPartition, RecordedPartition] = {}
        self._copies: dict[TopicPartition, list[tuple[Moment, dict[str, ReplicaCopy]]]] = {}
        self._missing: dict[str, None] = {}

    @property
    def missing(self) -> tuple[str, ...]:
        """A line for each file that was needed so far and is missing or damaged."""
        return tuple(self._missing)

    def _miss(self, line: str) -> None:
        self._missing.setdefault(line)

    # Histories

    def history(self, where: TopicPartition) -> RecordedPartition:
        """What clients recorded about a partition."""
        if where not in self._histories:
            table = PLAIN_SCHEMA.empty_table()
            try:
                history = open_run(self._facts.run_dir, self._facts.run, only=where)
            except (UsageError, KeyError) as error:
                self._miss(f"histories cannot be read: {error}")
            else:
                table = history.tables.get(where, table)
                for problem in history.problems:
                    self._miss(f"{problem.what} of {problem.process}: {problem.detail}")
            self._histories[where] = RecordedPartition(where, table)
        return self._histories[where]

    def sends(self, ids: Sequence[RecordId]) -> dict[RecordId, list[Sent]]:
        """The sends of each record: from its process's history, else the timeline."""
        found: dict[RecordId, list[Sent]] = {one: [] for one in ids}
        for where in {one.where for one in ids}:
            for send in self.history(where).sends(one for one in ids if one.where == where):
                found[send.key].append(send)
        for one, sends in found.items():
            if not sends:
                other = self._facts.send_of(*one.where, one.producer, one.sequence)
                sends += [other] if other else []
        return found

    def sends_at(self, where: TopicPartition, offsets: Iterable[int]) -> list[Sent]:
        """Every send acknowledged at one of these offsets."""
        wanted = set(offsets)
        found = self.history(where).sends_at(wanted)
        known = {send.key for send in found}
        found += [
            send
            for send in self._facts.sends
            if (send.topic, send.partition) == where
            and send.outcome == "acked"
            and send.offset in wanted
            and send.key not in known
        ]
        return sorted(found, key=lambda send: send.sent_ns)

    def reads_past(self, where: TopicPartition, offset: int) -> list[ReadPast]:
        """Who read as far as this offset."""
        return self.history(where).reads_past(offset)

    # Copies of replicas

    def _replicas(self, where: TopicPartition) -> list[tuple[Moment, dict[str, ReplicaCopy]]]:
        if where not in self._copies:
            self._copies[where] = [(moment, self._copies_of(where, moment)) for moment in self._facts.moments]
        return self._copies[where]

    def _copies_of(self, where: TopicPartition, moment: Moment) -> dict[str, ReplicaCopy]:
        folder = self._facts.run_dir.moment(moment.name)
        name = f"{where[0]}-{where[1]}"
        if not folder.is_dir():
            self._miss(f"the copies of the replicas' files at “{moment.label}” are not there (replicas/{moment.name})")
            return {}
        assigned = {f"broker-{broker}" for broker in self._facts.assignment.get(where, ())}
        nodes = {path.name for path in folder.iterdir() if (path / name).is_dir()}
        copies = {}
        for node in sorted(nodes | assigned):
            if node not in nodes:
                if name in (moment.nodes.get(node) or {}):
                    self._miss(f"the copy of {node} at “{moment.label}” has no {name}, though it had when it was taken")
                continue
            try:
                copies[node] = ReplicaCopy(node, folder / node / name)
            except (ParseError, OSError) as error:
                self._miss(f"the copy of {node} at “{moment.label}” cannot be read: {error}")
                continue
            for damage in copies[node].damage:
                self._miss(f"the copy of {node} at “{moment.label}” is damaged: {damage}")
        return copies

    def _high_watermark(self, moment: Moment, node: str, where: TopicPartition) -> int | None:
        path = self._facts.run_dir.moment(moment.name) / node / checkpoints.HIGH_WATERMARKS
        try:
            return checkpoints.read_offset_checkpoint(path).offsets.get(where)
        except FileNotFoundError:
            stated = moment.nodes.get(node, {}).get(f"{where[0]}-{where[1]}", Ends())
            return stated.hw
        except (ParseError, OSError) as error:
            self._miss(f"the high watermarks of {node} at “{moment.label}” cannot be read: {error}")
            return None

    def disk_states(self, where: TopicPartition, offsets: Sequence[int]) -> list[DiskState]:
        """What each replica held at these offsets, moment by moment."""
        return [
            DiskState(
                label=moment.label,
                at_ns=moment.at_ns,
                holdings=tuple(
                    Holding(
                        node=copy.node,
                        contents={offset: copy.at(offset) for offset in offsets},
                        leo=copy.leo,
                        hw=self._high_watermark(moment, copy.node, where),
                        start=copy.start,
                    )
                    for copy in copies.values()
                ),
            )
            for moment, copies in self._replicas(where)
        ]

    def offsets(self, ids: Sequence[RecordId]) -> dict[RecordId, set[int]]:
        """Every offset at which a send or a read places each record; if none does, copies are searched."""
        found: dict[RecordId, set[int]] = {one: set() for one in ids}
        for one, sends in self.sends(ids).items():
            found[one] |= {send.offset for send in sends if send.offset is not None and send.offset >= 0}
        for where in {one.where for one in ids}:
            for read in self.history(where).reads([one for one in ids if one.where == where]):
                found[read.record].add(read.offset)
        for where in {one.where for one in ids}:
            lacking = [one for one in ids if one.where == where and not found[one] and one.is_ours]
            if lacking:
                for _, copies in self._replicas(where):
                    for copy in copies.values():
                        for one, offset in copy.find(lacking):
                            found[one].add(offset)
        return found

    def records_at(self, where: TopicPartition, offsets: Sequence[int]) -> list[RecordId]:
        """Every record of our clients that was acknowledged, read or on a disk at one of these offsets."""
        found = {send.key: None for send in self.sends_at(where, offsets)}
        found |= {read.record: None for read in self.history(where).reads((), offsets)}
        for disks in self.disk_states(where, offsets):
            for holding in disks.holdings:
                found |= {c.record: None for c in holding.contents.values() if c is not None and c.record is not None}
        return [one for one in found if one.is_ours]

    def known_offsets(self, where: TopicPartition) -> tuple[int, int] | None:
        """The first and last offset of a partition in any history or copy."""
        ends = [self.history(where).offsets()]
        ends += [
            (c.start, c.leo - 1) for _, copies in self._replicas(where) for c in copies.values() if c.leo > c.start
        ]
        known = [end for end in ends if end is not None]
        return (min(low for low, _ in known), max(high for _, high in known)) if known else None


def missing_from_timeline(facts: JudgedRun) -> list[str]:
    """What a run's record lacks, a line each: damaged lines, blind observers, missing logs, no analysis."""
    lines = [f"damaged: {line}" for line in facts.damaged]
    if facts.findings is None:
        lines.append("there are no findings: the run has not been analysed (`kafka-chaos check` does it)")
    for begin, end, why in facts.blind:
        lines.append(f"an observer saw nothing from {facts.at(begin):.1f} s to {facts.at(end):.1f} s: {why}")
    gone = [node for node in facts.brokers if not facts.run_dir.log(node).is_file()]
    if gone:
        lines.append(f"no log of {', '.join(gone)} (logs/<node>.log)")
    return lines
