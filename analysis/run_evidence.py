"""The evidence of a run that claims are judged by (checks.claim.RunEvidence), read when a claim asks for it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from checks.claim import Damage, HandedOver, MemberChange, MemberCommit, Processing, Result, RunEvidence
from checks.pipelines import pipelines_of
from checks.shares import KINDS, ShareStep, share_steps
from checks.view import outputs_read
from evidence.events import CrashPoint, OffsetAnswer, StoreAnswer
from evidence.history import schema
from evidence.history.outcomes import OK
from evidence.history.read import History, open_run
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.rundir import RunDir
from kafkafiles.replica import read_replica
from kafkafiles.stored import StoredReplica, read_stored

Opened = Callable[[tuple[str, int]], History]
"""The histories of a partition."""
KEPT: Final = 4
"""Partitions: a claim of an application's inputs asks of three, one after the other."""


def evidence_of(run_dir: RunDir, run: RunRecord, run_state: RunState) -> RunEvidence:
    """The evidence of a run, whose histories and copies are read when a claim asks for them; the last `KEPT` histories
    are kept, for a claim may ask several things of a partition.
    """

    @lru_cache(maxsize=KEPT)
    def opened(where: tuple[str, int]) -> History:
        return open_run(run_dir, run, only=where, counted=False)

    return RunEvidence(
        run=run,
        run_state=run_state,
        acknowledged=lambda *where: _acknowledged(opened, where, run.beside),
        failed=lambda *where: _failed(opened, where, run.beside),
        acknowledged_in_all=lambda *where: _acknowledged(opened, where, frozenset()),
        read_at=lambda *where: _read_at(opened, where),
        damaged=lambda *where: _damaged(run_dir, where),
        stored=lambda *where: _stored(run_dir, where),
        read_errors=lambda *where: _read_errors(opened, where),
        processing=lambda *where: _processing(opened, run, run_state, where),
        processing_by=lambda *where: _processing_by(opened, run, run_state, where),
        read_meanwhile=lambda *where: _read_meanwhile(opened, run, where),
        called_processed=lambda *where: _called_processed(opened, where),
        member_commits=lambda *where: _member_commits(opened, where),
        member_changes=lambda *where: _member_changes(opened, run, where),
        handed_over=lambda *where: _handed_over(opened, run, where),
        shares=lambda *where: _shares(opened, where),
    )


def _acknowledged(opened: Opened, where: tuple[str, int], without: Collection[str]) -> list[tuple[int, int]]:
    """When each acknowledged record of a partition was sent and acknowledged, in the order of the latter; of these
    processes none.
    """
    table = opened(where).tables.get(where)
    return [] if table is None else _times_of(table.filter(_ended_well(table, schema.SEND)), without)


def _failed(opened: Opened, where: tuple[str, int], without: Collection[str]) -> list[tuple[int, int]]:
    """When each record of a partition that was not acknowledged was sent and given up, in the order of the latter; of
    these processes none.
    """
    table = opened(where).tables.get(where)
    if table is None:
        return []
    sends = table.filter(pc.equal(table["kind"], schema.SEND))
    return _times_of(sends.filter(pc.not_equal(sends["outcome"], schema.OK)), without)


def _times_of(sends: pa.Table, without: Collection[str]) -> list[tuple[int, int]]:
    """When each record was sent, and when that ended, in the order of the latter; of these processes none."""
    sends = sends.filter(pc.invert(pc.is_in(sends["process"], pa.array(sorted(without), pa.string()))))
    times = sends.select(["invoked_ns", "completed_ns"]).drop_null().sort_by("completed_ns")
    return list(zip(times["invoked_ns"].to_pylist(), times["completed_ns"].to_pylist(), strict=True))


def _read_at(opened: Opened, where: tuple[str, int]) -> dict[tuple[int, int], tuple[int, ...]] | None:
    """The offsets at which each record of a partition was read, by producer and sequence; None without a final read."""
    table = opened(where).tables.get(where)
    if table is None or not pc.any(_ended_well(table, schema.FINAL_READ)).as_py():
        return None
    polls = table.filter(_ended_well(table, schema.POLL)).select(["producer", "sequence", "offset"]).drop_null()
    found: dict[tuple[int, int], set[int]] = {}
    for producer, sequence, offset in zip(*(column.to_pylist() for column in polls.columns), strict=True):
        found.setdefault((producer, sequence), set()).add(offset)
    return {record: tuple(sorted(offsets)) for record, offsets in found.items()}


def _processing(opened: Opened, run: RunRecord, run_state: RunState, where: tuple[str, int]) -> Processing | None:
    """What became of a partition's inputs; None if nobody told what outputs were made from.

    Where the steps of a run were broken off, its applications were ended, whatever they had still to do. The inputs
    that nobody had committed yet are left out there: they are neither processed nor skipped.
    """
    history = opened(where)
    table = history.tables.get(where)
    read = table is not None and outputs_read(history.operations)
    if table is None or not read or not pc.any(_ended_well(table, schema.FINAL_READ)).as_py():
        return None
    inputs = table.filter(_ended_well(table, schema.POLL))["offset"].drop_null().to_pylist()
    outputs = table.filter(pc.equal(table["kind"], schema.OUTPUT))
    counted = table.filter(pc.equal(table["kind"], schema.IN_RESULT))
    made = _producers_of(outputs)
    if run.failure is not None:
        committed = _committed(opened, run_state, where)
        inputs = [one for one in inputs if one < committed or one in made]
    return Processing(
        inputs=frozenset(inputs),
        outputs=made,
        results=_results_of(outputs, counted),
        order=outputs.sort_by("op")["offset"].to_pylist(),
    )


def _committed(opened: Opened, run_state: RunState, where: tuple[str, int]) -> int:
    """The furthest offset of a partition that is known to have been committed, by whoever told it; 0 for none."""
    told = [
        one.offset or 0 if isinstance(one, OffsetAnswer) else one.committed or 0
        for one in run_state.events
        if isinstance(one, OffsetAnswer | CrashPoint | StoreAnswer) and (one.topic, one.partition) == where
    ]
    acknowledged = [one.offset for one in _member_commits(opened, where) if one.outcome == OK]
    return max(told + acknowledged, default=0)


def _processing_by(
    opened: Opened, run: RunRecord, run_state: RunState, where: tuple[str, int]
) -> dict[str, Processing]:
    """The same of each of several applications, by its group."""
    pipelines, of_all = pipelines_of(run), _processing(opened, run, run_state, where)
    if of_all is None or len(pipelines) < 2:
        return {}
    table = opened(where).tables[where]
    outputs = table.filter(pc.equal(table["kind"], schema.OUTPUT)).sort_by("op")
    own = {
        one.group: outputs.filter(pc.is_in(outputs["producer"], pa.array(sorted(one.producers), pa.int32())))
        for one in pipelines
    }
    return {
        group: Processing(inputs=of_all.inputs, outputs=_producers_of(made), order=made["offset"].to_pylist())
        for group, made in own.items()
    }


def _read_meanwhile(opened: Opened, run: RunRecord, where: tuple[str, int]) -> dict[str, list[int | None]]:
    """From what inputs of a partition each consumer was given outputs, in order: one that reads what is committed."""
    table, inputs = opened(where).tables.get(where), run.assignment
    readers = [one.name for one in run.of_kind("consumer") if one.settings.get("isolation.level") == "read_committed"]
    found: dict[str, list[int | None]] = {}
    for output in sorted({one.output for one in run.of_kind("processor") if one.output}):
        many = sum(topic == output for topic, _ in inputs)
        shared = [(topic, number) for topic, number in inputs if topic == where[0] and number % many == where[1] % many]
        if table is None or shared != [where]:
            continue  # nobody knows of what partition an output is that nobody finds at the end
        place = output, where[1] % many
        made = table.filter(pc.equal(table["kind"], schema.OUTPUT)).select(["producer", "sequence", "offset"])
        source = {(row["producer"], row["sequence"]): row["offset"] for row in made.to_pylist()}
        given = opened(place).tables.get(place)
        if given is None:
            continue
        for name in readers:
            polls = given.filter(pc.and_(_ended_well(given, schema.POLL), pc.equal(given["process"], name)))
            rows = polls.sort_by([("op", "ascending"), ("offset", "ascending")]).to_pylist()
            if rows:
                found.setdefault(name, []).extend(source.get((row["producer"], row["sequence"])) for row in rows)
    return found


def _results_of(outputs: pa.Table, counted: pa.Table) -> list[Result]:
    """What outputs state of their keys, by the rows of the outputs and of what their results count."""
    found: dict[tuple[int, int], list[int]] = {}
    for row in counted.select(["producer", "sequence", "offset"]).to_pylist():
        found.setdefault((row["producer"], row["sequence"]), []).append(row["offset"])
    return [
        Result(key=row["count"], offset=row["offset"], counted=found[row["producer"], row["sequence"]])
        for row in outputs.select(["producer", "sequence", "offset", "count"]).to_pylist()
        if row["count"] is not None and (row["producer"], row["sequence"]) in found
    ]


def _called_processed(opened: Opened, where: tuple[str, int]) -> dict[int, list[int]]:
    """Of each input of a partition the producers that have made an output of it, as the programs recorded."""
    table = opened(where).tables.get(where)
    return {} if table is None else _producers_of(table.filter(_ended_well(table, schema.PROCESSED)))


def _producers_of(rows: pa.Table) -> dict[int, list[int]]:
    """Of each input the producers that its rows name."""
    found: dict[int, list[int]] = {}
    made = rows.select(["offset", "producer"]).drop_null()
    for offset, producer in zip(made["offset"].to_pylist(), made["producer"].to_pylist(), strict=True):
        found.setdefault(offset, []).append(producer)
    return found


def _member_commits(opened: Opened, where: tuple[str, int]) -> list[MemberCommit]:
    """What applications committed for a partition, in the order of their asking."""
    table = opened(where).tables.get(where)
    if table is None:
        return []
    rows = table.filter(pc.equal(table["kind"], schema.OFFSETS)).sort_by("invoked_ns").to_pylist()
    return [
        MemberCommit(
            process=row["process"],
            offset=row["offset"],
            invoked_ns=row["invoked_ns"],
            outcome=row["outcome"],
            error=row["error_name"],
        )
        for row in rows
    ]


def _member_changes(opened: Opened, run: RunRecord, where: tuple[str, int]) -> list[MemberChange]:
    """To which applications a partition was given, and from which it was taken, in order."""
    table = opened(where).tables.get(where)
    if table is None:
        return []
    kinds = pc.is_in(table["kind"], pa.array([schema.ASSIGN, schema.REVOKE]))
    rows = table.filter(pc.and_(kinds, _of_applications(table, run))).sort_by("completed_ns").to_pylist()
    return [
        MemberChange(process=row["process"], given=row["kind"] == schema.ASSIGN, at_ns=row["completed_ns"])
        for row in rows
    ]


def _handed_over(opened: Opened, run: RunRecord, where: tuple[str, int]) -> list[HandedOver]:
    """What each poll of an application returned of a partition, in order."""
    table = opened(where).tables.get(where)
    if table is None:
        return []
    rows = table.filter(pc.and_(_ended_well(table, schema.POLL), _of_applications(table, run)))
    found: dict[tuple[int, str], list[int]] = {}
    named = rows.select(["completed_ns", "process", "offset"]).drop_null()
    for at_ns, process, offset in zip(*(column.to_pylist() for column in named.columns), strict=True):
        found.setdefault((at_ns, process), []).append(offset)
    return [
        HandedOver(process=process, at_ns=at_ns, offsets=tuple(sorted(offsets)))
        for (at_ns, process), offsets in sorted(found.items())
    ]


def _of_applications(table: pa.Table, run: RunRecord) -> pa.ChunkedArray:
    """Which rows are of applications."""
    applications = pa.array([process.name for process in run.of_kind("processor")], pa.string())
    return pc.is_in(table["process"], applications)


def _shares(opened: Opened, where: tuple[str, int]) -> tuple[ShareStep, ...]:
    """What members of share groups did with the records of a partition, in order."""
    table = opened(where).tables.get(where)
    if table is None:
        return ()
    return share_steps(table.filter(pc.is_in(table["kind"], value_set=pa.array(KINDS, pa.string()))).to_pylist())


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


def _stored(run_dir: RunDir, where: tuple[str, int]) -> dict[str, StoredReplica]:
    """What the last copies of a partition's replicas hold, by node; nothing if none were taken."""
    last = [run_dir.moment(moment) for moment in run_dir.moments()][-1:]
    found = (directory for moment in last for directory in sorted(moment.glob(f"*/{where[0]}-{where[1]}")))
    return {directory.parent.name: read_stored(directory) for directory in found}


def _read_errors(opened: Opened, where: tuple[str, int]) -> list[tuple[int, str]]:
    """When readers of a partition were given errors instead of records, and the errors' names, in no order."""
    table = opened(where).tables.get(where)
    if table is None:
        return []
    errors = table.filter(pc.equal(table["kind"], schema.POLL_ERROR)).select(["completed_ns", "error_name"]).drop_null()
    return list(zip(errors["completed_ns"].to_pylist(), errors["error_name"].to_pylist(), strict=True))


def _ended_well(table: pa.Table, kind: str) -> pa.ChunkedArray:
    """Which rows are of a kind and ended well."""
    return pc.and_(pc.equal(table["kind"], kind), pc.equal(table["outcome"], schema.OK))
