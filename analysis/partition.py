"""What histories and copies say of one topic-partition: all rows, or those that checks need of a large one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.pieces import Piece
from analysis.read_copies import load_copies
from analysis.result import Result, Where
from analysis.rows_needed import EndAnswers, due, times
from analysis.run_files import stated_partitions
from checks.copies import Copies
from checks.pipelines import pipelines_of
from checks.view import (
    Elsewhere,
    Ints,
    Membership,
    PartitionView,
    closed_of,
    endings_of,
    ends_of,
    outputs_read,
    pack,
    view_of,
)
from evidence.availability import availability
from evidence.findings import Availability, Problem
from evidence.history import schema
from evidence.history.read import (
    NO_PARTITION,
    UNREADABLE,
    History,
    open_run,
    sealed_files,
    sealed_partitions,
)
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.rundir import RunDir

if TYPE_CHECKING:
    from analysis.copied_records import CopiedRecords
    from analysis.screen import Screened, Screening


LARGE_ROWS: Final = 100_000
"""Partitions with at least so many rows are screened (analysis.screen); smaller ones are read whole as fast."""
PROCESSOR: Final = "processor"
WRITERS: Final = ("producer", PROCESSOR)
UNCOMMITTED: Final = "read_uncommitted"


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """What the histories say of one topic-partition: the rows that checks need, if it is a large one."""

    history: History
    """Of the rows that are in `view`."""
    view: PartitionView
    left_out: Screened | None
    """What screening left out of the view; None if the view has every row."""
    whole: Callable[[], PartitionView]
    sent: Ints | None = None
    """Of a large partition, the values of the sends that may be left out."""


def see(
    run_dir: RunDir,
    run: RunRecord,
    piece: Piece,
    run_state: RunState,
    read: History | None,
    result: Result,
) -> tuple[PartitionHistory, Copies]:
    """The view and the copies of one topic-partition, whose history may be `read`; problems with the copies go to the
    result.
    """
    where = (piece.topic, piece.partition)

    def view(history: History) -> PartitionView:
        rows = history.tables.get(where, history.operations.slice(0, 0))
        endings = endings_of(history.operations)
        known = circumstances(run, history) | {"elsewhere": elsewhere(run_dir, run, where)}
        read = outputs_read(history.operations)
        return view_of(*where, rows, **known, endings=endings, settled=piece.settled, outputs_read=read)

    # Files of other partitions are counted once for the run, by the piece of its metadata.
    @cache
    def whole() -> PartitionView:
        return view(read or open_run(run_dir, run, only=where, counted=False))

    def copies(copied: Callable[[str], CopiedRecords] | None = None) -> Copies:
        try:
            found, problems = load_copies(
                run_dir, run_state, *where, compacted=_compacted(run, where[0]), copied=copied
            )
        except Exception as error:
            detail = f"{where[0]}-{where[1]}: {error!r}"
            found, problems = Copies(), [Problem("unreadable replicas", detail=detail)]
        result.problems += problems
        return found

    screening = None if read else _screening(run_dir, run, where, run_state)
    if screening is None:
        history = read or open_run(run_dir, run, only=where, counted=False)
        return PartitionHistory(history, view(history), None, whole), copies()
    history = open_run(run_dir, run, only=NO_PARTITION, counted=False)
    kept, loaded = _kept(screening, where, copies)
    history = replace(history, tables={where: kept.table})
    return PartitionHistory(history, view(history), kept, whole, screening.table), loaded


def elsewhere(run_dir: RunDir, run: RunRecord, where: Where) -> Elsewhere:
    """To which other topic-partitions of a run values were sent; its histories are read when that is asked."""

    def sent_to(values: Ints) -> dict[int, Where]:
        sent: dict[int, Where] = {}
        reserved: dict[int, Where] = {}
        for other in sorted((stated_partitions(run) | sealed_partitions(run_dir, run)) - {where}):
            table = open_run(run_dir, run, only=other, counted=False).tables.get(other)
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


def _screening(run_dir: RunDir, run: RunRecord, where: Where, run_state: RunState) -> Screening | None:
    """A large partition's histories, scanned once; None if it is not large, or the checks need every row."""
    files = sealed_files(run_dir, run, where, least=LARGE_ROWS)
    try:
        if files is None:
            return None
        from analysis.screen import scan  # imports the compiler, which takes a second

        return scan(list(files), times(run_state.states.get(where, ()), run_state))
    except (*UNREADABLE, pa.ArrowException):
        return None  # reading the whole tells what is damaged, or does without


def _kept(
    screening: Screening, where: Where, load: Callable[[Callable[[str], CopiedRecords]], Copies]
) -> tuple[Screened, Copies]:
    """The rows that checks need, and the copies with those of their records that checks need."""
    from analysis.copied_records import CopiedRecords

    by_moment: dict[str, CopiedRecords] = {}

    def copied(moment: str) -> CopiedRecords:
        return by_moment.setdefault(moment, CopiedRecords(screening.table, screening.base))

    copies = load(copied)
    answers = ends_of(screening.answers())
    owed = list(due(where, copies, lambda copy: by_moment[copy.moment].seen_in(copy.broker)))
    kept = screening.finish(owed, EndAnswers.of(copies, answers))
    parts = tuple(
        replace(copy, part=by_moment[copy.moment].part(copy.broker, screening.kept)) for copy in copies.copies
    )
    return kept, replace(copies, copies=parts)


def circumstances(run: RunRecord, history: History) -> dict[str, Any]:
    """The arguments of `view_of` that come from the run's record: isolation levels, groups, histories that are
    missing, and when processes ended.
    """
    kinds = {process.name: process.kind for process in run.processes}
    torn = {problem.process for problem in history.problems}
    return {
        "uncommitted_readers": [
            process.name
            for process in run.processes
            if process.settings.get("isolation.level") == UNCOMMITTED or process.final
        ],
        "groups": _groups(run),
        "pipelines": pipelines_of(run),
        "readers_missing": any(kinds.get(name, "consumer") != "producer" for name in torn),
        "writers_missing": any(kinds.get(name, "producer") in WRITERS for name in torn),
        "torn": torn,
        "closed_ns": closed_of(history.operations),
    }


def _groups(run: RunRecord) -> dict[str, Membership]:
    """The group of each application, of those that a coordinator leads: consumers of 0.8 agree through ZooKeeper, and a
    share group gives nobody a partition.
    """
    return {
        process.name: Membership(process.settings["group.id"], process.settings.get("group.instance.id", ""))
        for process in run.of_kind("processor")
        if "group.id" in process.settings and not (process.library or run.client).startswith("scala-")
    }


def _compacted(run: RunRecord, topic: str) -> bool:
    return any("compact" in one.settings.get("cleanup.policy", "") for one in run.topics if one.name == topic)


def cost_of_faults(
    where: Where, rows: pa.Table, run: RunRecord, history: History, run_state: RunState
) -> list[Availability]:
    """What faults cost the clients of a partition; nothing if too little was written."""
    final = {process.name for process in run.processes if process.final}
    cost = availability(*where, rows, run_state.faults, final=final, beside=run.beside, ended=_ended(history))
    return [] if cost is None else [cost]


def _ended(history: History) -> dict[str, int]:
    """When each process that ended properly did."""
    rows = history.operations.filter(pc.equal(history.operations["kind"], schema.CLOSE))
    return {
        row["process"]: int(row["completed_ns"] or 0) for row in rows.select(["process", "completed_ns"]).to_pylist()
    }
