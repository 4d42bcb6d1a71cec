"""Replica logs, the second witness: copies of what lay on each broker's disk at named moments, held against each
other, against what the clients were told, and against themselves.

replica-divergence: two replicas that are both in the ISR hold different records at one offset below the smaller of
their log end offsets. A replica that is not in the ISR may hold what it likes: it has still to truncate. So may, above
the high watermark, one that is in the ISR but has not settled: after an election a follower, or a broker that is frozen
or dead, may hold records that the new leader never had, until it truncates. So above the larger of the two replicas'
high watermarks only replicas are compared that run, of a partition whose leader and ISR have not changed for
`QUIET_NS`. Below a high watermark that either has announced, in-sync replicas must agree at any time.

unreplicated-acknowledgement: a record acknowledged under acks=all before the copies were taken, and missing from the
copy of a replica that was in every ISR stated from before its sending until the copying.

leader-epoch-regression, as far as files tell: a leader-epoch checkpoint whose epochs or start offsets go back, or that
gives a batch another epoch than the batch itself carries. What the file does not have *yet* (an epoch newer than its
last; brokers from 3.7 on write it behind the log) counts only against a broker that runs and is quiet.

two-leaders-in-one-epoch: two replicas hold different records at one offset under one leader epoch, whether in sync or
not, and each as it was written: a batch whose checksum does not fit says nothing of who wrote it.

corrupt-record: a checksum that does not fit, or bytes that are no record. The torn end of a log whose broker is dead is
neither: recovery cuts it off. Where a fault of the run has flipped a bit, the damage is found and the rest of the copy
counts; any other damage makes the copy unreadable. index-mismatch: an .index or .timeindex entry that points to
something else than the .log holds.

Replicas are compared as bytes while their files are read for everything else, so agreeing replicas cost little more
than reading them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from analysis.in_parts import read_in_parts
from checks import metadata, stated
from checks.catalogue import registered
from checks.view import (
    EVIDENCE_LIMIT,
    NO_IDENTITY,
    Evidence,
    Ints,
    PartitionView,
    Rows,
    identity_of,
    pack,
    sender,
    value_of,
)
from evidence.course import UP, Course, in_isr_throughout, isr_at
from evidence.events import DeleteRecords, Moment, Partition, of
from evidence.faults.files import FlipProof
from evidence.history import record
from evidence.rundir import RunDir
from kafkafiles import indexes
from kafkafiles.batches import Record
from kafkafiles.checkpoints import LOG_START_OFFSETS, EpochStart, read_offset_checkpoint
from kafkafiles.columns import read_headers
from kafkafiles.errors import ParseError
from kafkafiles.replica import Difference, Examination, Replica, SegmentProblem, examine, read_replica

if TYPE_CHECKING:
    from analysis.witnesses import Witnesses

Problem = dict[str, str]

QUIET_NS: Final = 1_000_000_000
ACKS_ALL: Final = -1
WITH_EPOCHS: Final = 2
"""The first message format whose batches carry a leader epoch."""
_FIELDS: Final = ("key", "value", "headers", "timestamp_ms", "control")


@dataclass(frozen=True, kw_only=True)
class Copy:
    """One replica as it lay on one broker's disk at one moment."""

    moment: str
    at_ns: int
    node: str
    replica: Replica
    high_watermark: int | None = None
    condition: str = UP
    asked_ns: int | None = None
    """When its copying began; `at_ns` is when all copies of the moment were there."""
    part: tuple[Ints, Ints] | None = None
    """Of a screened partition, what of its contents checks need."""

    @property
    def broker(self) -> int:
        return metadata.broker_of(self.node)

    @property
    def begun_ns(self) -> int:
        """A time before its copying began; for runs that do not record it, `QUIET_NS` before `at_ns`."""
        return self.at_ns - QUIET_NS if self.asked_ns is None else self.asked_ns

    @cached_property
    def damaged(self) -> bool:
        """Whether it has problems that no crash explains. Its log end offset is then not known."""
        return bool(_damage(self))

    @cached_property
    def contents(self) -> tuple[Ints, Ints]:
        """Values and offsets of its data records in log order; of a screened partition only those that checks need."""
        if self.part is not None:
            return self.part
        values, offsets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for batch in self.replica.record_batches():
            if isinstance(batch, SegmentProblem):
                continue
            data = batch.filter(batch["control"].is_null())
            found = record.decode_all(data["value"].to_numpy(zero_copy_only=False).tolist())
            values.append(value_of(found.producer, found.sequence))
            offsets.append(data["offset"].to_numpy(zero_copy_only=False).astype(np.int64))
        return np.concatenate(values), np.concatenate(offsets)

    def place(self) -> dict[str, Any]:
        """The copy's moment and broker, as evidence."""
        return {"moment": self.moment, "node": self.node, "broker": self.broker}


@dataclass(frozen=True, kw_only=True)
class Copies:
    """All copies of one partition, and what the timeline says of the partition."""

    copies: tuple[Copy, ...] = ()
    states: tuple[Partition, ...] = ()
    course: Course = field(default_factory=Course)
    """What held when in the whole run."""
    differences: Mapping[str, Sequence[Difference[int]]] = field(default_factory=dict)
    """By moment, the offsets at which the copies taken then differ, by broker."""

    def moments(self) -> Iterator[tuple[int, list[Copy]]]:
        """The copies of each moment, with its time, in order."""
        for moment in dict.fromkeys(copy.moment for copy in self.copies):
            of_it = [copy for copy in self.copies if copy.moment == moment]
            yield of_it[0].at_ns, of_it

    def isr_at(self, at_ns: int) -> list[int] | None:
        return isr_at(self.states, at_ns)

    def quiet(self, at_ns: int) -> bool:
        """Whether leader and ISR were known at a time and had not changed for `QUIET_NS`."""
        times = [state.monotonic_ns for state in self.states if state.monotonic_ns <= at_ns]
        return bool(times) and times[-1] <= at_ns - QUIET_NS

    def compared(self) -> Iterator[tuple[int, list[Copy], Difference[int]]]:
        """Every offset at which copies of one moment differ: the moment's time, its copies, the difference."""
        for at_ns, copies in self.moments():
            for difference in self.differences.get(copies[0].moment, ()):
                yield at_ns, copies, difference


def load_copies(
    run_dir: RunDir,
    course: Course,
    topic: str,
    partition: int,
    *,
    compacted: bool = False,
    witnesses: Callable[[str], Witnesses] | None = None,
) -> tuple[Copies, list[Problem]]:
    """The copies of one partition at all moments, and what is wrong with them. Of a partition that is screened,
    `witnesses` of a moment are told which records its copies hold.
    """
    states = course.states.get((topic, partition), ())
    moments = {moment.name: moment for moment in of(course.events, Moment)}
    found: list[Copy] = []
    found_to_differ: dict[str, Sequence[Difference[int]]] = {}
    problems: list[Problem] = []
    names = sorted({*run_dir.moments(), *(name for name, event in moments.items() if event.nodes)})
    of_moment = {moment: sorted(run_dir.moment(moment).glob(f"*/{topic}-{partition}")) for moment in names}
    stated_ones = {moment: paths for moment, paths in of_moment.items() if moment in moments}
    in_parts = read_in_parts(stated_ones, compacted=compacted, witnesses=witnesses)
    for moment, directories in of_moment.items():
        if moment not in moments:
            if directories:
                detail = f"{moment}: the timeline does not say when these copies were taken"
                problems.append(_of_timeline("unknown moment", detail))
            continue
        at_ns = moments[moment].monotonic_ns
        held = {node for node, held in moments[moment].nodes.items() if f"{topic}-{partition}" in held}
        if gone := sorted(held - {path.parent.name for path in directories}):
            detail = f"{moment}: {', '.join(gone)} had {topic}-{partition}, and there is no copy of it"
            problems.append(_of_timeline("missing copies", detail))
        told = None if witnesses is None else witnesses(moment)
        unreadable: dict[Path, str] = {}
        if (examined := in_parts.get(moment)) is None:
            examined, unreadable = _examine(directories, compacted, told)
        problems += [_problem(moment, path.parent.name, path, reason) for path, reason in unreadable.items()]
        found_to_differ[moment] = examined.differences
        for replica in examined.replicas.values():
            directory = replica.path
            node = directory.parent.name
            ends = moments[moment].nodes.get(node, {}).get(directory.name)
            copy = Copy(
                moment=moment,
                at_ns=at_ns,
                node=node,
                replica=replica,
                high_watermark=None if ends is None else ends.hw,
                condition=course.condition_at(node, at_ns),
                asked_ns=moments[moment].begun_ns,
            )
            found.append(copy)
            if told is not None and (copy.broker in told.refused or replica.problems or replica.notes):
                told.take(copy.broker, *replace(copy).contents)
            problems += [
                _problem(moment, node, directory, f"segment {p.segment}: {p.corrupt.kind}: {p.corrupt.reason}")
                for p in _damage(copy)
                if not _was_struck(course, copy, p)
            ]
            problems += [_problem(moment, node, directory, note) for note in replica.notes]
        by_path = {replica.path: replica for replica in examined.replicas.values()}
        problems += [
            _problem(moment, directory.parent.name, directory, complaint)
            for directory in directories
            for complaint in stated.complaints(moments[moment], directory, by_path.get(directory))
        ]
        if states and len(directories) > 1 and isr_at(states, at_ns) is None:
            detail = f"{moment}: nothing was stated of {topic}-{partition} before these copies were taken"
            problems.append({"what": "unknown ISR", "process": "", "detail": detail})
    return Copies(copies=tuple(found), states=states, course=course, differences=found_to_differ), problems


def _examine(
    directories: Sequence[Path], compacted: bool, witnesses: Witnesses | None
) -> tuple[Examination[int], dict[Path, str]]:
    """The copies of one moment, by broker, read together; those that cannot be read, with the reason, left out."""
    readable = {metadata.broker_of(directory.parent.name): directory for directory in directories}
    unreadable: dict[Path, str] = {}
    while True:
        if witnesses is not None:
            witnesses.begin()
        try:
            return examine(readable, compacted=compacted, passed=witnesses), unreadable
        except (ParseError, OSError, ValueError):
            before = len(readable)
            for broker, directory in list(readable.items()):
                try:
                    read_replica(directory)
                except (ParseError, OSError, ValueError) as error:
                    unreadable[directory] = str(error)
                    del readable[broker]
            if len(readable) == before:
                raise


def _problem(moment: str, node: str, directory: Path, detail: str) -> Problem:
    place = f"{moment}/{node}/{directory.name}"
    about = {"what": "unreadable replica", "process": node, "detail": f"{place}: {detail}"}
    return about | {"file": f"replicas/{place}/*"}


def _of_timeline(what: str, detail: str) -> Problem:
    """The moments that the timeline tells of are not those of which there are copies."""
    return {"what": what, "process": "", "detail": detail, "file": "timeline.jsonl"}


def _damage(copy: Copy) -> list[SegmentProblem]:
    """Problems of a copy that no crash of its broker explains."""
    segments = {segment.base_offset: segment for segment in copy.replica.segments}
    last = max(segments, default=-1)
    found = []
    for problem in copy.replica.problems:
        corrupt, at_end = problem.corrupt, False
        if problem.segment == last:
            at_end = corrupt.kind in ("zero-padding", "torn") or (
                copy.condition != UP and corrupt.position + corrupt.size >= segments[last].size
            )
        if not at_end:
            found.append(problem)
    return found


def _was_struck(course: Course, copy: Copy, problem: SegmentProblem) -> bool:
    """Whether a fault of the run has flipped a bit there before, in this copy's log or in another of its partition:
    damage may spread.
    """
    file, corrupt = f"{copy.replica.path.name}/{problem.segment:020}.log", problem.corrupt
    return any(
        fault.inject_ns <= copy.at_ns
        and proof.file == file
        and corrupt.position <= proof.position < corrupt.position + corrupt.size
        for fault, proof in course.proved(FlipProof)
    )


# The checks: each takes the copies, most the clients' view as well


def describe(one: Record | None) -> dict[str, Any] | None:
    """A record as evidence: its identity and the fields that are compared; None for no record."""
    if one is None:
        return None
    identity = record.decode(one.value)
    return {
        "producer": NO_IDENTITY if identity is None else identity.producer,
        "sequence": NO_IDENTITY if identity is None else identity.sequence,
        "leader_epoch": one.leader_epoch,
        "timestamp_ms": one.timestamp_ms,
        "size": 0 if one.value is None else len(one.value),
        "codec": str(one.codec),
    }


def _differing_fields(one: Record | None, other: Record | None) -> tuple[str, ...]:
    """The fields in which two records differ."""
    if one is None or other is None:
        return () if one is other else ("record",)
    fields = [name for name in _FIELDS if getattr(one, name) != getattr(other, name)]
    if one.magic >= WITH_EPOCHS and other.magic >= WITH_EPOCHS and one.leader_epoch != other.leader_epoch:
        fields.append("leader_epoch")
    return tuple(fields)


def _settled(copies: Copies, at_ns: int, pair: tuple[Copy, Copy]) -> bool:
    return copies.quiet(at_ns) and all(copy.condition == UP for copy in pair)


def replica_divergence(copies: Copies) -> Rows:
    """Offsets at which in-sync replicas differ, at each moment."""
    rows = Rows()
    for at_ns, of_moment, difference in copies.compared():
        isr = copies.isr_at(at_ns) or []
        in_sync = [copy for copy in of_moment if copy.broker in isr and copy.broker in difference.records]
        fields: set[str] = set()
        for pair in combinations(in_sync, 2):
            known = [copy.high_watermark for copy in pair if copy.high_watermark is not None]
            if difference.offset < max(known, default=0) or _settled(copies, at_ns, pair):
                fields.update(_differing_fields(*(difference.records[copy.broker] for copy in pair)))
        if not fields:
            continue
        rows.total += 1
        if len(rows) < EVIDENCE_LIMIT:
            rows.append(
                {
                    "moment": of_moment[0].moment,
                    "offset": difference.offset,
                    "fields": sorted(fields),
                    "brokers": {
                        str(copy.broker): describe(difference.records[copy.broker])
                        for copy in sorted(in_sync, key=lambda copy: copy.broker)
                    },
                    "isr": isr,
                }
            )
    return rows


def two_leaders(copies: Copies) -> Rows:
    """Offsets at which replicas hold different records of one leader epoch, so that two brokers appended under it."""
    rows = Rows()
    for _, of_moment, difference in copies.compared():
        held = [(broker, one) for broker, one in difference.records.items() if one and one.magic >= WITH_EPOCHS]
        guilty = [
            (broker, other)
            for (broker, one), (other, another) in combinations(held, 2)
            if one.leader_epoch == another.leader_epoch >= 0 and one.valid and another.valid
            if _differing_fields(one, another)
        ]
        if guilty:
            rows.total += 1
            rows.append(
                {
                    "moment": of_moment[0].moment,
                    "offset": difference.offset,
                    "brokers": {str(broker): describe(one) for broker, one in held},
                }
            )
    return Rows(rows[:EVIDENCE_LIMIT], total=rows.total)


def unreplicated_acknowledgement(view: PartitionView, copies: Copies) -> Rows:
    """Records acknowledged under acks=all and missing from a replica that was in the ISR throughout."""
    sends = view.sends
    rows = Rows()
    # -1 is acks=all; a history that does not say (acks null) does not accuse.
    acked = np.flatnonzero(sends.ok & (sends.acks == ACKS_ALL) & (sends.invoked_ns >= 0) & (sends.completed_ns >= 0))
    for at_ns, of_moment in copies.moments():
        begun = [copy for copy in of_moment if copy.replica.segments]
        due = acked[sends.completed_ns[acked] <= min(copy.begun_ns for copy in of_moment)]
        if not len(due):
            continue
        # From one change of the ISR to the next, the brokers that stay are the same for all sends.
        changes = sorted({state.monotonic_ns for state in copies.states if state.monotonic_ns <= at_ns})
        stay = np.searchsorted(changes, sends.invoked_ns[due], side="right")
        lacking: dict[int, list[Copy]] = {}
        expected: dict[int, list[int]] = {}
        for era in np.unique(stay).tolist():
            if era == 0:
                continue  # sent before anything was stated of the partition
            brokers = in_isr_throughout(copies.states, changes[era - 1], at_ns)
            of_era = due[stay == era]
            for copy in begun:
                if copy.broker not in brokers:
                    continue
                # Below its start a log has been cut by retention, not by replication.
                kept = (sends.offset[of_era] < 0) | (sends.offset[of_era] >= copy.replica.start_offset)
                values, offsets = copy.contents
                # What cannot be told whose it is may be the very record.
                kept &= ~np.isin(sends.offset[of_era], offsets[values == NO_IDENTITY])
                missing = of_era[kept & ~np.isin(sends.value[of_era], values)]
                for row in missing.tolist():
                    lacking.setdefault(row, []).append(copy)
                    expected[row] = sorted(brokers)
        for row in sorted(lacking):
            rows.total += 1
            if len(rows) < EVIDENCE_LIMIT:
                rows.append(
                    sender(view, row)
                    | {
                        "moment": of_moment[0].moment,
                        "missing_from": [copy.node for copy in lacking[row]],
                        "log_ends": {copy.node: copy.replica.leo for copy in lacking[row]},
                        "in_isr_throughout": expected[row],
                    }
                )
    return rows


def unsent(view: PartitionView, copies: Copies, left_out: Ints | None = None) -> list[Problem]:
    """Records of ours on disks that no history has the sending of, though none is missing or torn: a problem of the
    histories, for nobody but our clients can have made their bytes. `left_out` has the sends that are not in the view.
    One that was sent to another partition is none: whoever reads it is told so (misdelivered).
    """
    if view.writers_missing:
        return []
    for copy in copies.copies:
        values, offsets = copy.contents
        unheard = (values != NO_IDENTITY) & ~np.isin(values, view.sends.value)
        for one in view.reservations:
            first = pack(one.producer, one.first)
            unheard &= (values < first) | (values >= first + one.count)
        if left_out is not None and unheard.any():
            unheard[unheard] = ~np.isin(values[unheard], left_out)
        if unheard.any():
            unheard[unheard] = ~np.isin(values[unheard], list(view.elsewhere(np.unique(values[unheard]))))
        if unheard.any():
            at = int(np.flatnonzero(unheard)[0])
            who = identity_of(int(values[at]))
            place = f"{view.topic}-{view.partition}@{offsets[at]}"
            what = f"m{who['sequence']} of producer {who['producer']} at {place} in “{copy.moment}”"
            detail = f"{copy.node} held {what}, and no history has its sending"
            return [{"what": "incomplete history", "process": "", "detail": detail, "file": "history/*"}]
    return []


def corrupt_on_disk(copies: Copies) -> Rows:
    """Places in segments whose checksum does not match, or whose bytes are no record."""
    return Rows(
        copy.place()
        | {
            "segment": problem.segment,
            "position": problem.corrupt.position,
            "size": problem.corrupt.size,
            "kind": problem.corrupt.kind,
            "reason": problem.corrupt.reason,
        }
        for copy in copies.copies
        for problem in _damage(copy)
    )


def epochs_of_batches(replica: Replica, entries: Sequence[EpochStart], deleted_before: int = 0) -> tuple[Ints, Ints]:
    """Offset and leader epoch of the batches that matter: those at which the log's epoch changes, and those at which
    the file says that it does. What was deleted by request may lie on the disk for long, in a batch or a segment that
    has later records too: it is no part of the log, and the file begins after it.
    """
    stated = [entry.start_offset for entry in entries]
    runs = [
        (max(run.first_offset, deleted_before), run) for run in replica.epoch_runs if run.last_offset >= deleted_before
    ]
    found = [
        (offset, run.epoch)
        for first, run in runs
        for offset in sorted({first, *(at for at in stated if first < at <= run.last_offset)})
    ]
    columns = np.array(found, dtype=np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def epoch_disagreements(
    entries: Sequence[EpochStart], base: Ints, epoch: Ints, *, settled: bool = True
) -> list[dict[str, Any]]:
    """What an epoch file says that goes back, or that its log's batches (base offset, epoch) contradict."""
    found: list[dict[str, Any]] = [
        {"what": "the epoch file goes back", "before": _entry(before), "after": _entry(after)}
        for before, after in pairwise(entries)
        if after.epoch <= before.epoch or after.start_offset < before.start_offset
    ]
    back = np.flatnonzero(np.diff(epoch) < 0)
    found += [
        {"what": "the log's epochs go back", "offset": int(base[at + 1]), "epochs": epoch[at : at + 2].tolist()}
        for at in back.tolist()
    ]
    if not entries:
        return found + [
            {"what": "the epoch file is empty", "offset": int(base[0]), "batch_epoch": int(epoch[0])}
            for _ in [0][: int(settled and len(base) > 0)]
        ]
    starts = np.array([entry.start_offset for entry in entries])
    numbers = np.array([NO_IDENTITY, *(entry.epoch for entry in entries)])
    by_file = numbers[np.searchsorted(starts, base, side="right")]
    wrong = by_file != epoch
    if not settled:
        wrong &= epoch <= entries[-1].epoch
    return found + [
        {
            "what": "the epoch file disagrees with a batch",
            "offset": int(base[at]),
            "batch_epoch": int(epoch[at]),
            "file_epoch": None if by_file[at] == NO_IDENTITY else int(by_file[at]),
            "epoch_file": [_entry(entry) for entry in entries[-20:]],
        }
        for at in np.flatnonzero(wrong)[:EVIDENCE_LIMIT].tolist()
    ]


def _entry(entry: EpochStart) -> dict[str, int]:
    return {"epoch": entry.epoch, "start_offset": entry.start_offset}


def epoch_files(copies: Copies) -> Rows:
    """Replicas whose leader-epoch checkpoint goes back, or disagrees with the epochs in their own batches."""
    rows: list[Evidence] = []
    for copy in copies.copies:
        if copy.replica.epochs is None:
            continue
        settled = copy.condition == UP and copies.quiet(copy.at_ns)
        entries = copy.replica.epochs.entries
        batches = epochs_of_batches(copy.replica, entries, _deleted_before(copies, copy))
        wrong = epoch_disagreements(entries, *batches, settled=settled)
        rows += [copy.place() | row for row in wrong]
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


def _deleted_before(copies: Copies, copy: Copy) -> int:
    """The offset before which the partition's records had been deleted when a copy was taken: by request, or because
    the leader's log begins later, as the broker's file of log starts has it.
    """
    where = (copy.replica.topic, copy.replica.partition)
    told = [one for one in of(copies.course.events, DeleteRecords) if (one.topic, one.partition) == where]
    asked = max((one.before for one in told if one.at_ns <= copy.at_ns), default=0)
    try:
        starts = read_offset_checkpoint(copy.replica.path.parent / LOG_START_OFFSETS).offsets
    except (OSError, ParseError):  # releases before 0.11 have none
        return asked
    return max(asked, starts.get(where, 0))


def index_mismatch(copies: Copies) -> Rows:
    """Entries of .index and .timeindex files of closed segments that point to something else than the log holds.

    A segment that is still written to has an index of preallocated room, whose end may hold what was there before.
    """
    rows: list[Evidence] = []
    for copy in copies.copies:
        for segment in copy.replica.segments[:-1]:
            rows += [copy.place() | wrong for wrong in _wrong_entries(segment.path)]
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


def _wrong_entries(log: Path) -> Iterator[dict[str, str]]:
    offsets, times = log.with_suffix(".index"), log.with_suffix(".timeindex")
    closed = [path for path in (offsets, times) if path.exists() and not indexes.is_open(path.read_bytes())]
    if not closed:
        return
    headers, _ = read_headers(log)
    for path in closed:
        try:
            if path == offsets:
                lines = indexes.check_index(indexes.read_index(path), headers)
            else:
                lines = indexes.check_time_index(indexes.read_time_index(path), headers)
        except ParseError as error:  # its entries do not even ascend
            lines = [str(error)]
        for wrong in lines:
            yield {"file": path.name, "what": wrong}


def log_start_regression(copies: Copies) -> Rows:
    """Replicas whose log begins at a smaller offset than it did at an earlier moment."""
    rows: list[Evidence] = []
    begun: dict[str, Copy] = {}
    for copy in copies.copies:
        before = begun.get(copy.node)
        if before is not None and copy.replica.start_offset < before.replica.start_offset:
            was = {"moment": before.moment, "start_offset": before.replica.start_offset}
            rows.append(copy.place() | {"start_offset": copy.replica.start_offset, "before": was})
        begun[copy.node] = copy
    return Rows(rows)


def holdings(copies: Copies, wanted: Sequence[int]) -> dict[int, dict[str, dict[str, int | None]]]:
    """Where each value lay: value → moment → node → offset (None: not in that replica), unreadable copies left out."""
    found: dict[int, dict[str, dict[str, int | None]]] = {value: {} for value in wanted}
    if not wanted:
        return found
    asked = np.array(sorted(wanted))
    for copy in copies.copies:
        for value in found:
            found[value].setdefault(copy.moment, {})[copy.node] = None
        values, offsets = copy.contents
        for at in np.flatnonzero(np.isin(values, asked)).tolist():
            found[int(values[at])][copy.moment][copy.node] = int(offsets[at])
    return found


COPIES_CHECKS: Final[Mapping[str, Any]] = registered(
    {
        "replica-divergence": replica_divergence,
        "two-leaders-in-one-epoch": two_leaders,
        "corrupt-record": corrupt_on_disk,
        "leader-epoch-regression": epoch_files,
        "index-mismatch": index_mismatch,
        "log-start-regression": log_start_regression,
    }
)
"""By name of the anomaly; some of the names have another check among those of histories or metadata."""
