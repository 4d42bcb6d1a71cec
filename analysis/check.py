"""Checking one run: which pieces of work it has, what each piece finds, and the findings of all pieces together.

A run falls into one piece per topic-partition (history and replicas together, so that a finding has all its evidence)
and one for the metadata. Pieces need nothing of each other: Spark spreads them over its workers (analysis.job), a
test calls them in turn. One thing crosses them: a read in one partition proves what an operation of unknown outcome did
in another (analysis.indefinite). Pieces name such operations, and a piece in which others settle one is checked again
(`to_check_again`). A check that crashes is reported as crashed, with its error, and the others still report.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow.compute as pc

from analysis.across import in_one_process
from analysis.checks_of_partition import check_partition
from analysis.indefinite import newly_settled, settle, unknown_operations
from analysis.outputs import differing_outputs
from analysis.paces import paces_of
from analysis.partition import PROCESSOR, PartitionHistory, cost_of_faults, see
from analysis.pieces import Piece, pieces
from analysis.read_copies import holdings, unsent
from analysis.read_group_files import group_files, group_logs
from analysis.real_time_lag import real_time_lag
from analysis.result import Result, Where, merge
from analysis.run_evidence import evidence_of
from analysis.run_files import record_of, run_state_of
from analysis.subjects import count
from analysis.together import TOGETHER, look_together
from checks import claims
from checks.anomalies.delete_records import confirmed
from checks.anomalies.groups import not_copied
from checks.anomalies.min_insync import too_small
from checks.anomalies.stuck_reader import nobody_waits, starved_by_machine
from checks.anomalies.unwritable import by_machine
from checks.anomaly import (
    CLUSTER,
    COPIES,
    DELETIONS,
    GROUP_FILES,
    GROUPS,
    HISTORY,
    MIN_INSYNC,
    SERVICE,
    SETTINGS,
    SHARE_GROUPS,
    Reads,
)
from checks.catalogue import LOST_WRITE, UNSEEN, checks_of
from checks.copies import Copies
from checks.service import Service
from checks.settled_operations import NOTHING_SETTLED
from checks.shares import share_group_state
from checks.view import (
    pack,
)
from evidence import timeline
from evidence.errors import UsageError
from evidence.findings import Findings, Problem, Row
from evidence.history import schema
from evidence.history.compared import differing
from evidence.history.read import (
    NO_PARTITION,
    History,
    open_run,
    strangers,
)
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.rundir import RunDir
from evidence.subjects import place_of

NOT_READ: Final = (LOST_WRITE, UNSEEN)
"""Anomalies whose evidence names records that nobody read."""


def check_pieces(work: Sequence[Piece]) -> list[Result]:
    """Check pieces of one run; a result for each, in order. Small partitions are looked at together, and what is found
    of all those that are trivially clean is in the result of one of them. Never raises.
    """
    done: dict[int, Result] = {}
    for first in range(0, len(work), TOGETHER):
        places = range(first, min(first + TOGETHER, len(work)))
        try:
            clean, rest = look_together([(place, work[place]) for place in places])
            done |= clean | {place: check_piece(work[place], history) for place, history in rest.items()}
        except Exception:
            continue  # each by itself tells what is the matter
    return [done[place] if place in done else check_piece(piece) for place, piece in enumerate(work)]


def check_piece(piece: Piece, history: History | None = None) -> Result:
    """Run every check of one piece; its `history`, if it is read already, has all rows of it. Never raises: what goes
    wrong is a problem in the result.
    """
    result = Result()
    run_dir = RunDir(Path(piece.run_dir))
    try:
        run = record_of(run_dir)
        if piece.topic:
            _check_partition(run_dir, run, piece, history, result)
        else:
            _check_run(run_dir, run, result)
    except UsageError as error:
        result.problems.append(Problem("unreadable run", detail=str(error)))
    except Exception as error:
        result.crashed(f"{piece.topic}-{piece.partition}" if piece.topic else "metadata", error)
    return result


def _check_partition(run_dir: RunDir, run: RunRecord, piece: Piece, history: History | None, result: Result) -> None:
    where = (piece.topic, piece.partition)
    run_state = run_state_of(run_dir, where)
    seen, copies = see(run_dir, run, piece, run_state, history, result)
    service = Service(run, run_state, where)
    view, whole = seen.view, seen.whole if seen.left_out else lambda: seen.view
    result.problems += seen.history.problems
    given: dict[Reads, Any] = {
        HISTORY: view,
        COPIES: copies,
        DELETIONS: confirmed(run_state, *where),
        MIN_INSYNC: too_small(run, run_state, *where),
        SERVICE: service,
        SHARE_GROUPS: share_group_state(run, run_state, *where),
        GROUP_FILES: (files := group_files(run_dir, run, run_state, where)),
    }
    check_partition(result, where, given, whole)
    result.unknown += unknown_operations(view, _of_kind(run, PROCESSOR))
    lag = real_time_lag(view, seen.left_out.firsts if seen.left_out else None)
    result.lags += [] if lag is None else [lag]
    result.problems += (*unsent(view, copies, seen.sent), *differing_outputs(view))
    if (held_up := by_machine(view, service)) is not None:
        result.problems.append(Problem("the machine may be why records were not acknowledged in time", detail=held_up))
    if (uncopied := not_copied(whole() if view.members else view, files)) is not None:
        result.problems.append(Problem("missing copies of groups", detail=uncopied))
    read = view if nobody_waits(view, service) else whole()
    if (starved := starved_by_machine(read, service)) is not None:
        result.problems.append(Problem("the machine may be why records were not read in time", detail=starved))
    result.statistics["replica_records"] += sum(
        segment.records for copy in copies.copies for segment in copy.replica.segments
    )
    _add_holdings(copies, result)
    _count(seen, where, result)
    own = [one for one in run.subjects if place_of(one) == where]
    result.subjects += [count(whole(), one) for one in own]
    if seen.left_out is None and where in seen.history.tables:  # a partition so large that rows are left out has none
        result.availability += cost_of_faults(where, seen.history.tables[where], run, seen.history, run_state)


def _of_kind(run: RunRecord, kind: str) -> list[str]:
    return [one.name for one in run.of_kind(kind)]


def _add_holdings(copies: Copies, result: Result) -> None:
    """Add to the evidence of each lost record which disks held it at each moment."""
    unread = [finding for finding in result.findings if finding.anomaly in NOT_READ]
    values = {one: pack(one.producer, one.sequence) for finding in unread for one in finding.records}
    try:
        lay = holdings(copies, list(values.values()))
    except Exception as error:
        detail = f"where the lost records lay could not be told: {error!r}"
        result.problems.append(Problem("unreadable replicas", detail=detail))
        return

    def located(row: Row) -> Row:
        return msgspec.structs.replace(row, holdings=lay[values[row.records[0]]]) if row.records else row

    result.findings = [
        msgspec.structs.replace(finding, evidence=tuple(map(located, finding.evidence)))
        if finding.anomaly in NOT_READ
        else finding
        for finding in result.findings
    ]


def _count(seen: PartitionHistory, where: Where, result: Result) -> None:
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
    if view.final is None:
        result.unread(where)
    if where in history.tables:
        table = history.tables[where]
        indefinite = table.filter(pc.and_(pc.equal(table["outcome"], schema.INFO), pc.is_valid(table["error_name"])))
        result.unknown_errors.update(indefinite["error_name"].to_pylist())


def _check_run(run_dir: RunDir, run: RunRecord, result: Result) -> None:
    """Check the run as a whole: its processes' histories, its timeline, the metadata, the claims."""
    reading = timeline.read(run_dir.timeline)
    result.problems += [Problem("damaged timeline", detail=complaint) for complaint in reading.damaged]
    run_state = RunState(reading.trusted)
    history = open_run(run_dir, run, only=NO_PARTITION)
    result.problems += (*history.problems, *strangers(run_dir, run), *differing(run_dir, run))
    result.problems += group_logs(run_dir).problems
    known = {(piece.topic, piece.partition) for piece in pieces(run_dir)}
    for topic, partition in sorted(history.named - known):
        detail = f"{topic}-{partition} is in the histories and not in run.json: it was not checked"
        result.problems.append(Problem("unknown partition", detail=detail))
    given: dict[Reads, Any] = {CLUSTER: run_state, GROUPS: run_state, SETTINGS: run}
    for check in checks_of("run"):
        result.run(check, None, partial(check.function, *(given[kind] for kind in check.reads)))
    evidence = evidence_of(run_dir, run, run_state)
    for name in claims.declared(run):
        result.claim(name, evidence)
    result.paces += paces_of(run_dir, run, run_state)
    if not run_state.states:
        result.problems.append(Problem("no metadata", detail="the timeline states nothing about any partition"))


def to_check_again(work: Sequence[Piece], results: Sequence[Result]) -> dict[int, Piece]:
    """The pieces of one run to check again, by index: other pieces settle operations of unknown outcome in them."""
    settled = settle(row for result in results for row in result.unknown)
    known = [newly_settled(result.unknown, settled) if settled else NOTHING_SETTLED for result in results]
    return {place: replace(piece, settled=of) for place, (piece, of) in enumerate(zip(work, known, strict=True)) if of}


def check_run(run_dir: RunDir) -> Findings:
    """The findings of a run, its pieces checked one after the other in this process: what analysis.job does, without
    Spark. Tests hold checks against runs by it, and the job against it.
    """
    begun = time.monotonic()
    work = pieces(run_dir)
    results = check_pieces(work)
    for place, piece in to_check_again(work, results).items():
        results[place] = check_piece(piece)
    across = in_one_process(results)
    return merge(results, time.monotonic() - begun, across)
