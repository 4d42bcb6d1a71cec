"""Checking one run: which pieces of work it has, what each piece finds, and the findings of all pieces together.

A run falls into one piece per topic-partition (history and replicas together, so that a finding has all its evidence)
and one for the metadata. Pieces need nothing of each other: Spark spreads them over its workers (analysis.job), a
test calls them in turn. One thing crosses them: a read in one partition proves what an operation of unknown outcome did
in another (checks.unknown). Pieces name such operations, and a piece in which others settle one is checked again
(`to_check_again`). A check that crashes is reported as crashed, with its error, and the others still report.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis import orderly
from analysis.due import Asked, due, times
from analysis.replicas import COPIES_CHECKS, Copies, holdings, load_copies, unreplicated_acknowledgement, unsent
from analysis.watermarks import WATERMARK_CHECKS
from checks import claims
from checks.anomalies import PARTITION_CHECKS
from checks.anomalies.cycles import dependencies, dependency_cycles
from checks.anomalies.lost_write import passed_by
from checks.anomalies.real_time_lag import real_time_lag
from checks.catalogue import HISTORIES, METADATA, REPLICAS
from checks.claims import Damage, RunEvidence
from checks.deleted import DELETION_CHECKS
from checks.ends import ENDS_CHECKS
from checks.groups import GROUP_CHECKS
from checks.half_committed import half_committed_transactions, seen_by_committed
from checks.metadata import METADATA_CHECKS, SETTINGS_CHECKS
from checks.settled import NOTHING_SETTLED, Settled
from checks.subjects import count
from checks.unknown import newly_settled, settle, unknown_operations
from checks.view import (
    EVIDENCE_LIMIT,
    NO_TRANSACTION,
    Elsewhere,
    Ints,
    PartitionView,
    Rows,
    endings_of,
    ends_of,
    identity_of,
    pack,
    view_of,
)
from evidence import timeline
from evidence.availability import FEWEST, availability
from evidence.course import Course
from evidence.errors import UsageError
from evidence.events import Event, Log, Moment, RecordsDeleted
from evidence.history import schema
from evidence.history.compared import differing
from evidence.history.read import (
    NO_PARTITION,
    UNREADABLE,
    History,
    open_run,
    sealed_files,
    sealed_partitions,
    shared_rows,
    shares,
    strangers,
)
from evidence.rundir import SCHEMA, RunDir
from evidence.subjects import place_of, subjects_of
from kafkafiles.replica import read_replica

if TYPE_CHECKING:
    from analysis.screen import Screened, Screening
    from analysis.witnesses import Witnesses

LARGE_ROWS: Final = 100_000
"""Partitions with at least so many rows are screened (analysis.screen); smaller ones are read whole as fast."""
SCREENED: Final = frozenset(
    {
        "lost-write",
        "unseen",
        "duplicate",
        "inconsistent-offsets",
        "phantom",
        "misdelivered",
        "corrupt-record",
        "aborted-read",
        "precommitted-read",
        "poll-skip",
        "internal-poll-skip",
        "nonmonotonic-poll",
        "internal-nonmonotonic-poll",
        "nonmonotonic-send",
        "internal-nonmonotonic-send",
    }
)
"""The checks that find the same in the rows that screening keeps as in all rows (a test compares the two). Every other
check is given the whole partition.
"""
OF_PIPELINES: Final = frozenset({"committed-too-far", "skipped-processing", "repeated-processing"})
"""The checks that find nothing where no pipeline processed or committed anything."""
HALF_COMMITTED: Final = "transaction-half-committed"
UNREPLICATED: Final = "unreplicated-acknowledgement"
OF_PARTITIONS: Final = (*PARTITION_CHECKS, *COPIES_CHECKS, UNREPLICATED, *WATERMARK_CHECKS, *DELETION_CHECKS)
"""The checks of a topic-partition, in their order."""
TOGETHER: Final = 512
"""Small partitions that are looked at together."""
PROCESSOR: Final = "processor"
WRITERS: Final = ("producer", PROCESSOR)
NOT_READ: Final = ("lost-write", "unseen")
"""Anomalies whose evidence names records that nobody read."""
UNCOMMITTED: Final = "read_uncommitted"
Evidence = Mapping[str, Any]
Where = tuple[str, int]
_Placed = tuple[int, Event]
Reads = tuple[str, ...]
"""The kinds of evidence that a check reads, in the catalogue's words."""
OF_HISTORIES: Final[Reads] = (HISTORIES,)
OF_COPIES: Final[Reads] = (REPLICAS, METADATA)
OF_METADATA: Final[Reads] = (METADATA,)
OF_DELETIONS: Final[Reads] = (HISTORIES, METADATA)
OF_ALL: Final[Reads] = (*OF_HISTORIES, *OF_COPIES)


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of work: a topic-partition of a run, or (topic "") its metadata."""

    run_dir: str
    topic: str
    partition: int
    settled: Settled = NOTHING_SETTLED
    """What other pieces say of operations of unknown outcome (checks.unknown)."""

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        # Tasks are given a hundred thousand of them: as dataclasses do it by themselves it takes four times as long.
        return type(self), (self.run_dir, self.topic, self.partition, self.settled)


@dataclass(slots=True)
class Result:
    """What was found in one piece, or in a whole run."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    statistics: Counter[str] = field(default_factory=Counter)
    unknown_errors: Counter[str] = field(default_factory=Counter)
    transactions: list[dict[str, Any]] = field(default_factory=list)
    """What this piece saw of each transaction that wrote to it; put together over all pieces in `merge`."""
    of_committed: list[dict[str, Any]] = field(default_factory=list)
    """What readers under read_committed saw of committed transactions; put together in `merge`."""
    dependencies: list[dict[str, Any]] = field(default_factory=list)
    """The dependencies between transactions that this piece shows; put together in `merge`."""
    lags: list[dict[str, Any]] = field(default_factory=list)
    """The longest real-time lag of this piece; the longest of all in `merge`."""
    claims: list[dict[str, Any]] = field(default_factory=list)
    """What came of the claims that run.json names (checks/claims/)."""
    availability: list[dict[str, Any]] = field(default_factory=list)
    """What faults cost this piece's clients (evidence/availability.py)."""
    subjects: list[dict[str, Any]] = field(default_factory=list)
    """What came of the records of subjects (evidence/subjects.py)."""
    unknown: list[dict[str, Any]] = field(default_factory=list)
    """What this piece tells of operations of unknown outcome; put together over all pieces in `to_check_again`."""

    def run(self, name: str, where: Where | None, reads: Reads, check: Callable[[], Sequence[Evidence]]) -> None:
        """Run one check, which reads evidence of these kinds: its findings, or its crash."""
        begun = time.monotonic()
        status, reason = "ok", None
        try:
            evidence = check()
        except Exception as error:
            status, reason, evidence = "crashed", f"{type(error).__name__}: {error}", ()
        self.checks.append(
            {"name": name, "status": status, "reason": reason, "seconds": round(time.monotonic() - begun, 4)}
        )
        if evidence:
            self.findings.append(_finding(name, where, evidence) | {"reads": list(reads)})

    def claim(self, name: str, evidence: RunEvidence) -> None:
        """Judge one claim: what came of it, or its crash."""
        try:
            self.claims.append(claims.judge(name, evidence))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self.checks.append({"name": f"claim {name}", "status": "crashed", "reason": reason, "seconds": 0.0})

    def as_json(self) -> dict[str, Any]:
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in found.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The result that `as_json` wrote, or what of it is not empty."""
        counters = {name: Counter(value.get(name, {})) for name in ("statistics", "unknown_errors")}
        return cls(**(dict(value) | counters))


def _finding(name: str, where: Where | None, evidence: Sequence[Evidence]) -> dict[str, Any]:
    count = evidence.total if isinstance(evidence, Rows) else len(evidence)
    first = evidence[0]
    if where is None and len({(row.get("topic"), row.get("partition")) for row in evidence}) == 1:
        where = (first["topic"], first["partition"]) if first.get("topic") is not None else None
    place = f" in {where[0]}-{where[1]}" if where else ""
    at = first.get("offset")
    summary = f"{name}: {count}{place}" + (f", the first at offset {at}" if at is not None else "")
    return {
        "anomaly": name,
        "topic": where[0] if where else None,
        "partition": where[1] if where else None,
        "count": count,
        "summary": summary,
        "evidence": list(evidence[:EVIDENCE_LIMIT]),
    }


def pieces(run_dir: RunDir) -> list[Piece]:
    """The pieces of a run: a topic-partition each of what `run.json` and the sealed histories name, and the rest.

    Raises UsageError if the directory is not that of a run.
    """
    facts = _facts(run_dir)
    stated, sealed = _stated_partitions(facts), sealed_partitions(run_dir, facts)
    path = str(run_dir.path)
    return [*(Piece(path, *where) for where in sorted(stated | sealed)), Piece(path, "", -1)]


def _stated_partitions(facts: Mapping[str, Any]) -> set[Where]:
    try:
        return {
            (str(topic["name"]), int(number)) for topic in facts.get("topics") or () for number in topic["partitions"]
        }
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"run.json does not say which partitions there are ({error!r}); it is damaged") from None


def check_pieces(work: Sequence[Piece]) -> list[Result]:
    """Check pieces of one run; a result for each, in order. Small partitions are looked at together, and what is found
    of all those that are orderly is in the result of one of them. Never raises.
    """
    done: dict[int, Result] = {}
    for first in range(0, len(work), TOGETHER):
        places = range(first, min(first + TOGETHER, len(work)))
        try:
            done |= _check_together([(place, work[place]) for place in places])
        except Exception:
            continue  # each by itself tells what is the matter
    return [done[place] if place in done else check_piece(piece) for place, piece in enumerate(work)]


def _check_together(work: Sequence[tuple[int, Piece]]) -> dict[int, Result]:
    """The results of those pieces whose rows can be read together: what is orderly is told at a glance, of the others
    each is checked.
    """
    run_dir = RunDir(Path(work[0][1].run_dir))
    facts = _facts(run_dir)
    counted = {place_of(one) for one in subjects_of(facts)}
    small = [
        (place, (piece.topic, piece.partition))
        for place, piece in work
        if piece.topic and not piece.settled and (piece.topic, piece.partition) not in counted
    ]
    keys = shares(run_dir, facts, [where for _, where in small])
    found = shared_rows(run_dir, facts, keys) if keys else None
    history = open_run(run_dir, facts, only=NO_PARTITION, counted=False)
    if found is None or history.problems:
        return {}
    table, key = found
    seen = orderly.look(table, key, len(keys))
    place_of = {where: place for place, where in small}
    apart = _apart(run_dir)
    plain = [one for one in np.flatnonzero(seen.orderly).tolist() if f"{keys[one][0]}-{keys[one][1]}" not in apart]

    def rows_of(one: int) -> pa.Table:
        first, last = np.searchsorted(key, [one, one + 1]).tolist()
        return table.slice(first, last - first)

    def lag_of(one: int) -> dict[str, Any] | None:
        return real_time_lag(view_of(*keys[one], rows_of(one), **_circumstances(facts, history)))

    results = {place_of[keys[one]]: Result(problems=_unread(keys[one], seen.final[one])) for one in plain}
    if plain:
        total = results[place_of[keys[plain[0]]]]
        total.checks += [{"name": name, "status": "ok", "reason": None, "seconds": 0.0} for name in OF_PARTITIONS]
        sends, polls = int(seen.sends[plain].sum()), int(seen.polls[plain].sum())
        total.statistics.update(
            partitions=len(plain),
            sends_ok=sends,
            sends_fail=0,
            sends_info=0,
            polled=polls,
            distinct_polled=sends,
            replica_records=0,
        )
    for one in plain:
        if seen.sends[one] >= FEWEST:
            course = _course_of(run_dir, keys[one])
            cost = _availability(keys[one], rows_of(one), facts, history, course)
            results[place_of[keys[one]]].availability += cost
    longest = orderly.longest_lag(seen, plain, lag_of)
    if longest is not None:
        results[place_of[keys[longest[0]]]].lags.append(longest[1])
    piece_at = dict(work)
    for one in sorted(set(range(len(keys))) - set(plain)):
        rows, place = rows_of(one), place_of[keys[one]]
        if len(rows) < LARGE_ROWS:
            results[place] = check_piece(piece_at[place], replace(history, tables={keys[one]: rows}))
    return results


def _apart(run_dir: RunDir) -> frozenset[str]:
    """The names (topic-number) of partitions of which there are copies, or should be, or that brokers' logs name, or
    of which records were deleted.
    """
    try:
        stamp = run_dir.timeline.stat()
    except OSError:
        return frozenset(_copied(run_dir))
    return _apart_by(run_dir, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=2)
def _apart_by(run_dir: RunDir, changed_ns: int, size: int) -> frozenset[str]:
    common, own = _by_partition(run_dir.timeline, changed_ns, size)
    logged = {where for where, events in own.items() if any(isinstance(event, Log) for _, event in events)}
    told = [event for events in (common, *own.values()) for _, event in events]
    logged |= {(event.topic, event.partition) for event in told if isinstance(event, RecordsDeleted)}
    stated = {
        name for _, event in common if isinstance(event, Moment) for held in event.nodes.values() for name in held
    }
    return frozenset(_copied(run_dir) | stated | {f"{topic}-{partition}" for topic, partition in logged})


def _copied(run_dir: RunDir) -> set[str]:
    return {path.name for moment in run_dir.moments() for path in run_dir.moment(moment).glob("*/*")}


def check_piece(piece: Piece, history: History | None = None) -> Result:
    """Run every check of one piece; its `history`, if it is read already, has all rows of it. Never raises: what goes
    wrong is a problem in the result.
    """
    result = Result()
    run_dir = RunDir(Path(piece.run_dir))
    try:
        facts = _facts(run_dir)
        if piece.topic:
            _check_partition(run_dir, facts, piece, history, result)
        else:
            _check_run(run_dir, facts, result)
    except UsageError as error:
        result.problems.append({"what": "unreadable run", "process": "", "detail": str(error)})
    except Exception as error:
        name = f"{piece.topic}-{piece.partition}" if piece.topic else "metadata"
        result.checks.append(
            {"name": name, "status": "crashed", "reason": f"{type(error).__name__}: {error}", "seconds": 0}
        )
    return result


def _check_partition(
    run_dir: RunDir, facts: Mapping[str, Any], piece: Piece, history: History | None, result: Result
) -> None:
    where = (piece.topic, piece.partition)
    course = _course_of(run_dir, where)
    seen, copies = _see(run_dir, facts, piece, course, history, result)
    view = seen.view
    result.problems += [problem.as_json() for problem in seen.history.problems]
    for name, check in PARTITION_CHECKS.items():
        of = seen.whole if seen.left_out and not _found_in_part(name, view) else lambda: view
        result.run(name, where, OF_HISTORIES, lambda check=check, of=of: check(of()))  # type: ignore[misc]
    result.transactions += transactions_of(view)
    if result.transactions:  # what both kinds of readers agree on may be left out of the view
        result.of_committed += seen_by_committed(seen.whole() if seen.left_out else view)
    result.dependencies += dependencies(view)
    result.unknown += unknown_operations(view, _of_kind(facts, PROCESSOR))
    lag = real_time_lag(view, seen.left_out.firsts if seen.left_out else None)
    result.lags += [] if lag is None else [lag]
    for name, on_copies in COPIES_CHECKS.items():
        result.run(name, where, OF_COPIES, lambda check=on_copies: check(copies))  # type: ignore[misc]
    result.run(UNREPLICATED, where, OF_ALL, lambda: unreplicated_acknowledgement(view, copies))
    for name, on_both in WATERMARK_CHECKS.items():
        result.run(name, where, OF_ALL, lambda check=on_both: check(view, copies))  # type: ignore[misc]
    whole = seen.whole if seen.left_out else lambda: view
    for name, on_deleted in DELETION_CHECKS.items():
        result.run(name, where, OF_DELETIONS, lambda check=on_deleted: check(whole, course, *where))  # type: ignore[misc]
    result.problems += unsent(view, copies, seen.sent)
    result.statistics["replica_records"] += sum(
        segment.records for copy in copies.copies for segment in copy.replica.segments
    )
    _add_holdings(copies, result)
    _count(seen, where, result)
    own = [one for one in subjects_of(facts) if place_of(one) == where]
    result.subjects += [count(seen.whole() if seen.left_out else view, one) for one in own]
    if seen.left_out is None and where in seen.history.tables:  # a partition so large that rows are left out has none
        result.availability += _availability(where, seen.history.tables[where], facts, seen.history, course)


def _availability(
    where: Where, rows: pa.Table, facts: Mapping[str, Any], history: History, course: Course
) -> list[dict[str, Any]]:
    """What faults cost the clients of a partition; nothing if too little was written."""
    final = {str(process["name"]) for process in facts.get("processes") or () if process.get("final")}
    cost = availability(*where, rows, course.faults, final=final, ended=_ended(history))
    return [] if cost is None else [cost]


def _ended(history: History) -> dict[str, int]:
    """When each process that ended properly did."""
    rows = history.operations.filter(pc.equal(history.operations["kind"], schema.CLOSE))
    return {
        row["process"]: int(row["completed_ns"] or 0) for row in rows.select(["process", "completed_ns"]).to_pylist()
    }


def _facts(run_dir: RunDir) -> Mapping[str, Any]:
    """The run's facts (run.json), read once by a process that checks many partitions. Raises as `read_run` does."""
    try:
        stamp = run_dir.run_json.stat()
    except OSError:
        return run_dir.read_run()
    return _read_facts(run_dir, stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=2)
def _read_facts(run_dir: RunDir, changed_ns: int, size: int) -> Mapping[str, Any]:
    return run_dir.read_run()


def _course_of(run_dir: RunDir, where: Where) -> Course:
    """The course of one topic-partition: its own events, and those of no partition."""
    path = run_dir.timeline
    try:
        stamp = path.stat()
    except OSError:
        return Course()
    common, own = _by_partition(path, stamp.st_mtime_ns, stamp.st_size)
    merged = heapq.merge(common, own.get(where, ()), key=lambda placed: placed[0])
    return Course(tuple(event for _, event in merged))


@lru_cache(maxsize=2)
def _by_partition(path: Path, changed_ns: int, size: int) -> tuple[list[_Placed], dict[Where, list[_Placed]]]:
    """The events of a timeline that are of no partition, and those of each, with their places in it: a process that
    checks many partitions of a run reads it once. The last event is among the former, for it ends the run's course.
    """
    common: list[_Placed] = []
    own: dict[Where, list[_Placed]] = {}
    events = timeline.read(path).trusted
    last = next((event for event in reversed(events) if not isinstance(event, Log)), None)
    for placed in enumerate(events):
        event = placed[1]
        topic, partition = getattr(event, "topic", None), getattr(event, "partition", None)
        if topic is None or partition is None or event is last:
            common.append(placed)
        else:
            own.setdefault((topic, partition), []).append(placed)
    return common, own


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the histories say of one topic-partition: the rows that checks need, if it is a large one."""

    history: History
    """Of the rows that are in `view`."""
    view: PartitionView
    left_out: Screened | None
    """What screening left out of the view; None if the view has every row."""
    whole: Callable[[], PartitionView]
    sent: Ints | None = None
    """Of a large partition, the values of the sends that may be left out."""


def _found_in_part(name: str, view: PartitionView) -> bool:
    """Whether a check finds the same in the rows that were kept as in all rows."""
    pipelines = view.processed is not None or view.committed_offsets is not None
    return name in SCREENED or (name in OF_PIPELINES and not pipelines)


def _see(
    run_dir: RunDir,
    facts: Mapping[str, Any],
    piece: Piece,
    course: Course,
    read: History | None,
    result: Result,
) -> tuple[_Seen, Copies]:
    """The view and the copies of one topic-partition, whose history may be `read`; problems with the copies go to the
    result.
    """
    where = (piece.topic, piece.partition)

    def view(history: History) -> PartitionView:
        rows = history.tables.get(where, history.operations.slice(0, 0))
        endings = endings_of(history.operations)
        circumstances = _circumstances(facts, history) | {"elsewhere": elsewhere(run_dir, facts, where)}
        return view_of(*where, rows, **circumstances, endings=endings, settled=piece.settled)

    # Files of other partitions are counted once for the run, by the piece of its metadata.
    @cache
    def whole() -> PartitionView:
        return view(read or open_run(run_dir, facts, only=where, counted=False))

    def copies(witnesses: Callable[[str], Witnesses] | None = None) -> Copies:
        try:
            found, problems = load_copies(
                run_dir, course, *where, compacted=_compacted(facts, where[0]), witnesses=witnesses
            )
        except Exception as error:
            detail = f"{where[0]}-{where[1]}: {error!r}"
            found, problems = Copies(), [{"what": "unreadable replicas", "process": "", "detail": detail}]
        result.problems += problems
        return found

    screening = None if read else _screening(run_dir, facts, where, course)
    if screening is None:
        history = read or open_run(run_dir, facts, only=where, counted=False)
        return _Seen(history, view(history), None, whole), copies()
    history = open_run(run_dir, facts, only=NO_PARTITION, counted=False)
    kept, loaded = _kept(screening, where, copies)
    history = replace(history, tables={where: kept.table})
    return _Seen(history, view(history), kept, whole, screening.table), loaded


def elsewhere(run_dir: RunDir, facts: Mapping[str, Any], where: Where) -> Elsewhere:
    """To which other topic-partitions of a run values were sent; its histories are read when that is asked."""

    def sent_to(values: Ints) -> dict[int, Where]:
        sent: dict[int, Where] = {}
        reserved: dict[int, Where] = {}
        for other in sorted((_stated_partitions(facts) | sealed_partitions(run_dir, facts)) - {where}):
            table = open_run(run_dir, facts, only=other, counted=False).tables.get(other)
            if table is None:
                continue
            there = view_of(*other, table)
            sent |= dict.fromkeys(values[np.isin(values, there.sends.value)].tolist(), other)
            for one in there.reservations:
                first = pack(one.producer, one.first)
                may = values[(values >= first) & (values < first + one.count)]
                reserved |= dict.fromkeys(may.tolist(), other)
        return reserved | sent

    return sent_to


def _screening(run_dir: RunDir, facts: Mapping[str, Any], where: Where, course: Course) -> Screening | None:
    """A large partition's histories, scanned once; None if it is not large, or the checks need every row."""
    files = sealed_files(run_dir, facts, where, least=LARGE_ROWS)
    try:
        if files is None:
            return None
        from analysis.screen import scan  # imports the compiler, which takes a second

        return scan(list(files), times(course.states.get(where, ()), course))
    except (*UNREADABLE, pa.ArrowException):
        return None  # reading the whole tells what is damaged, or does without


def _kept(
    screening: Screening, where: Where, load: Callable[[Callable[[str], Witnesses]], Copies]
) -> tuple[Screened, Copies]:
    """The rows that checks need, and the copies with those of their records that checks need."""
    from analysis.witnesses import Witnesses

    by_moment: dict[str, Witnesses] = {}

    def witnesses(moment: str) -> Witnesses:
        return by_moment.setdefault(moment, Witnesses(screening.table, screening.base))

    copies = load(witnesses)
    answers = ends_of(screening.answers())
    owed = list(due(where, copies, lambda copy: by_moment[copy.moment].seen_in(copy.broker)))
    kept = screening.finish(owed, Asked.of(copies, answers))
    parts = tuple(
        replace(copy, part=by_moment[copy.moment].part(copy.broker, screening.kept)) for copy in copies.copies
    )
    return kept, replace(copies, copies=parts)


def _circumstances(facts: Mapping[str, Any], history: History) -> dict[str, Any]:
    """The arguments of `view_of` that come from the run's facts: isolation levels, and histories that are missing."""
    kinds = {str(process.get("name")): process.get("kind") for process in facts.get("processes") or ()}
    torn = {problem.process for problem in history.problems}
    return {
        "uncommitted_readers": [
            str(process.get("name"))
            for process in facts.get("processes") or ()
            if (process.get("settings") or {}).get("isolation.level") == UNCOMMITTED or process.get("final")
        ],
        "readers_missing": any(kinds.get(name, "consumer") != "producer" for name in torn),
        "writers_missing": any(kinds.get(name, "producer") in WRITERS for name in torn),
        "torn": torn,
    }


def _of_kind(facts: Mapping[str, Any], kind: str) -> list[str]:
    return [str(one.get("name")) for one in facts.get("processes") or () if one.get("kind") == kind]


def _compacted(facts: Mapping[str, Any], topic: str) -> bool:
    settings = [one.get("settings") or {} for one in facts.get("topics") or () if one.get("name") == topic]
    return any("compact" in str(one.get("cleanup.policy", "")) for one in settings)


def _add_holdings(copies: Copies, result: Result) -> None:
    """Add to the evidence of each lost record which disks held it at each moment."""
    rows = {
        pack(row["producer"], row["sequence"]): row
        for finding in result.findings
        if finding["anomaly"] in NOT_READ
        for row in finding["evidence"]
    }
    try:
        for value, lay in holdings(copies, list(rows)).items():
            rows[value]["replicas"] = lay
    except Exception as error:
        detail = f"where the lost records lay could not be told: {error!r}"
        result.problems.append({"what": "unreadable replicas", "process": "", "detail": detail})


def transactions_of(view: PartitionView) -> list[dict[str, Any]]:
    """For each transaction that wrote to this partition: how it ended, which of its values were read, and which are
    missing although readers passed their place or the final read reached the end.
    """
    sends, gone = view.sends, passed_by(view)
    rows = np.flatnonzero(sends.transaction != NO_TRANSACTION)
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for row in rows.tolist():
        one = found.setdefault(
            (int(sends.process[row]), int(sends.transaction[row])),
            {
                "process": view.processes[sends.process[row]],
                "transaction": int(sends.transaction[row]),
                "topic": view.topic,
                "partition": view.partition,
                "ok": False,
                "fail": False,
                "proven": False,
                "read": [],
                "missing": [],
            },
        )
        one["ok"] = one["ok"] or bool(sends.ok[row])
        one["fail"] = one["fail"] or bool(sends.fail[row])
        one["proven"] = one["proven"] or bool(view.committed[row])
        if view.read[row] or gone[row]:
            one["read" if view.read[row] else "missing"].append(identity_of(int(sends.value[row])))
    return list(found.values())


def torn_transactions(seen: Iterable[Mapping[str, Any]]) -> Rows:
    """torn-transaction: of a transaction that was committed (or that reads prove to have been) some values were read,
    and others are not in the log: readers have passed them, or the final read came to its end.
    """
    parts: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for one in seen:
        parts.setdefault((one["process"], one["transaction"]), []).append(one)
    rows: list[Evidence] = []
    for (process, transaction), of_it in parts.items():
        read = [value | {"topic": p["topic"], "partition": p["partition"]} for p in of_it for value in p["read"]]
        missing = [value | {"topic": p["topic"], "partition": p["partition"]} for p in of_it for value in p["missing"]]
        aborted = any(part["fail"] for part in of_it)  # reading those is aborted-read
        # Of one that nobody knows to be committed, a reader at read_uncommitted may see what there is of it.
        if read and missing and not aborted and any(part["proven"] for part in of_it):
            outcome = "ok" if any(part["ok"] for part in of_it) else "info"
            rows.append(
                {"process": process, "transaction": transaction, "outcome": outcome, "read": read, "missing": missing}
            )
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


def _unread(where: Where, final: bool) -> list[dict[str, str]]:
    """The problem of a partition without a final read."""
    detail = f"{where[0]}-{where[1]} was not read to the brokers' end offset"
    return [] if final else [{"what": "no final read", "process": "", "detail": detail}]


def _count(seen: _Seen, where: Where, result: Result) -> None:
    view, history, left_out = seen.view, seen.history, seen.left_out
    sends, polls = view.sends, view.polls
    result.statistics.update(
        partitions=1,
        sends_ok=int(sends.ok.sum()) + (left_out.sends if left_out else 0),
        sends_fail=int(sends.fail.sum()),
        sends_info=int(sends.info.sum()),
        polled=len(polls) + (left_out.polls if left_out else 0),
        distinct_polled=len(np.unique(polls.value)) + (left_out.values if left_out else 0),
    )
    result.problems += _unread(where, view.final is not None)
    if where in history.tables:
        table = history.tables[where]
        indefinite = table.filter(pc.and_(pc.equal(table["outcome"], schema.INFO), pc.is_valid(table["error_name"])))
        result.unknown_errors.update(indefinite["error_name"].to_pylist())


def _check_run(run_dir: RunDir, facts: Mapping[str, Any], result: Result) -> None:
    """Check the run as a whole: its processes' histories, its timeline, the metadata, the claims."""
    reading = timeline.read(run_dir.timeline)
    result.problems += [
        {"what": "damaged timeline", "process": "", "detail": complaint} for complaint in reading.damaged
    ]
    course = Course(reading.trusted)
    history = open_run(run_dir, facts, only=NO_PARTITION)
    compared = (*history.problems, *strangers(run_dir, facts), *differing(run_dir, facts))
    result.problems += [problem.as_json() for problem in compared]
    known = {(piece.topic, piece.partition) for piece in pieces(run_dir)}
    for topic, partition in sorted(history.named - known):
        detail = f"{topic}-{partition} is in the histories and not in run.json: it was not checked"
        result.problems.append({"what": "unknown partition", "process": "", "detail": detail})
    for name, check in (METADATA_CHECKS | GROUP_CHECKS).items():
        result.run(name, None, OF_METADATA, lambda check=check: check(course))  # type: ignore[misc]
    for name, of_settings in (SETTINGS_CHECKS | ENDS_CHECKS).items():
        result.run(name, None, OF_METADATA, lambda check=of_settings: check(course, facts))  # type: ignore[misc]
    evidence = RunEvidence(
        run=facts,
        course=course,
        acknowledged=lambda *where: _acknowledged(run_dir, facts, where),
        read_at=lambda *where: _read_at(run_dir, facts, where),
        damaged=lambda *where: _damaged(run_dir, where),
        read_errors=lambda *where: _read_errors(run_dir, facts, where),
    )
    for name in claims.declared(facts):
        result.claim(name, evidence)
    if not course.states:
        result.problems.append(
            {"what": "no metadata", "process": "", "detail": "the timeline states nothing about any partition"}
        )


def _acknowledged(run_dir: RunDir, facts: Mapping[str, Any], where: tuple[str, int]) -> list[tuple[int, int]]:
    """When each acknowledged record of a partition was sent and acknowledged, in the order of the latter."""
    table = open_run(run_dir, facts, only=where, counted=False).tables.get(where)
    if table is None:
        return []
    sends = table.filter(_ended_well(table, schema.SEND))
    times = sends.select(["invoked_ns", "completed_ns"]).drop_null().sort_by("completed_ns")
    return list(zip(times["invoked_ns"].to_pylist(), times["completed_ns"].to_pylist(), strict=True))


def _read_at(
    run_dir: RunDir, facts: Mapping[str, Any], where: tuple[str, int]
) -> dict[tuple[int, int], tuple[int, ...]] | None:
    """The offsets at which each record of a partition was read, by producer and sequence; None without a final read."""
    table = open_run(run_dir, facts, only=where, counted=False).tables.get(where)
    if table is None or not pc.any(_ended_well(table, schema.FINAL_READ)).as_py():
        return None
    polls = table.filter(_ended_well(table, schema.POLL)).select(["producer", "sequence", "offset"]).drop_null()
    found: dict[tuple[int, int], set[int]] = {}
    for producer, sequence, offset in zip(*(column.to_pylist() for column in polls.columns), strict=True):
        found.setdefault((producer, sequence), set()).add(offset)
    return {record: tuple(sorted(offsets)) for record, offsets in found.items()}


def _damaged(run_dir: RunDir, where: tuple[str, int]) -> list[Damage]:
    """The entries with a wrong checksum in the copies of a partition's replicas, in the order of moments."""
    return [
        Damage(
            moment=moment,
            node=directory.parent.name,
            segment=problem.segment,
            position=problem.corrupt.position,
            size=problem.corrupt.size,
        )
        for moment in run_dir.moments()
        for directory in sorted(run_dir.moment(moment).glob(f"*/{where[0]}-{where[1]}"))
        for problem in read_replica(directory).problems
        if problem.corrupt.kind == "checksum"
    ]


def _read_errors(run_dir: RunDir, facts: Mapping[str, Any], where: tuple[str, int]) -> list[tuple[int, str]]:
    """When readers of a partition were given errors instead of records, and the errors' names, in no order."""
    table = open_run(run_dir, facts, only=where, counted=False).tables.get(where)
    if table is None:
        return []
    errors = table.filter(pc.equal(table["kind"], schema.POLL_ERROR)).select(["completed_ns", "error_name"]).drop_null()
    return list(zip(errors["completed_ns"].to_pylist(), errors["error_name"].to_pylist(), strict=True))


def _ended_well(table: pa.Table, kind: str) -> pa.ChunkedArray:
    """Which rows are of a kind and ended well."""
    return pc.and_(pc.equal(table["kind"], kind), pc.equal(table["outcome"], schema.OK))


def _merged_check(known: dict[str, Any], check: Mapping[str, Any]) -> None:
    known["seconds"] = round(known["seconds"] + check["seconds"], 4)
    if check["status"] == "crashed":
        known["status"], known["reason"] = "crashed", check["reason"]


def merge(results: Iterable[Result], seconds: float) -> dict[str, Any]:
    """The findings of a run from those of its pieces, as findings.json has them."""
    total = Result()
    checks: dict[str, dict[str, Any]] = {}
    problems: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for result in results:
        total.findings += result.findings
        problems |= {tuple(one.items()): one for one in result.problems}
        total.statistics.update(result.statistics)
        total.unknown_errors.update(result.unknown_errors)
        total.transactions += result.transactions
        total.of_committed += result.of_committed
        total.dependencies += result.dependencies
        total.lags += result.lags
        total.claims += result.claims
        total.availability += result.availability
        total.subjects += result.subjects
        for check in result.checks:
            if check["name"] in checks:
                _merged_check(checks[check["name"]], check)
            else:
                checks[check["name"]] = dict(check)
    total.problems = list(problems.values())
    total.run("torn-transaction", None, OF_HISTORIES, lambda: torn_transactions(total.transactions))
    total.run(HALF_COMMITTED, None, OF_HISTORIES, lambda: half_committed_transactions(total.of_committed))
    total.run("G0", None, OF_HISTORIES, lambda: dependency_cycles(total.dependencies)[0])
    total.run("G1c", None, OF_HISTORIES, lambda: dependency_cycles(total.dependencies)[1])
    checks |= {check["name"]: check for check in total.checks}
    if not total.statistics["sends_ok"]:
        detail = "no record was acknowledged: nothing can have been lost, and nothing was shown"
        total.problems.append({"what": "empty history", "process": "", "detail": detail})
    total.findings.sort(key=lambda finding: (finding["anomaly"], finding["topic"] or "", finding["partition"] or 0))
    return {
        "schema": SCHEMA,
        "checks": list(checks.values()),
        "findings": total.findings,
        "claims": total.claims,
        "availability": total.availability,
        "subjects": total.subjects,
        "problems": total.problems,
        "statistics": dict(sorted(total.statistics.items())),
        "real_time_lag": max(total.lags, key=lambda lag: int(lag["lag_ns"]), default=None),
        "unknown_errors": [{"error": name, "count": count} for name, count in sorted(total.unknown_errors.items())],
        "seconds": round(seconds, 3),
    }


def to_check_again(work: Sequence[Piece], results: Sequence[Result]) -> dict[int, Piece]:
    """The pieces of one run to check again, by index: other pieces settle operations of unknown outcome in them."""
    settled = settle(row for result in results for row in result.unknown)
    known = [newly_settled(result.unknown, settled) if settled else NOTHING_SETTLED for result in results]
    return {place: replace(piece, settled=of) for place, (piece, of) in enumerate(zip(work, known, strict=True)) if of}


def check_run(run_dir: RunDir) -> dict[str, Any]:
    """The findings of a run, its pieces checked one after the other in this process."""
    begun = time.monotonic()
    work = pieces(run_dir)
    results = check_pieces(work)
    for place, piece in to_check_again(work, results).items():
        results[place] = check_piece(piece)
    return merge(results, time.monotonic() - begun)
