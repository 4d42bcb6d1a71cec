"""Which losses a documented lost-write covers: those of the sends that the scenario names as doomed, and no other.

That records are lost is documented of few of them, at one place of the sequence. `run.send(t, doomed=True)` says there
which; a load is named as a whole. Runs made before sends were named are held to what their files show all the same:
what was acknowledged before the first fault, and lay below the high watermark that every replica had checkpointed when
replicas were first copied, no documented sequence loses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from checks.catalogue import LOST_WRITE
from evidence.course import Course
from evidence.events import Moment, of
from evidence.run import RunRecord
from evidence.rundir import DOOMED, leaves

Facts = Mapping[str, Any]

SHOWN: Final = 5
"""So many records are told by name."""


def undocumented(run: RunRecord, course: Course, found: Sequence[Facts]) -> list[str]:
    """A line for each finding of lost-write that has more than the doomed."""
    losses = [finding for finding in found if finding.get("anomaly") == LOST_WRITE]
    judged = _against_the_named if leaves(run, DOOMED) else _against_the_files
    return [line for finding in losses for line in judged(run, course, finding)]


def _against_the_named(run: RunRecord, course: Course, finding: Facts) -> Iterator[str]:
    whole = {process.name for process in run.processes if process.doomed}
    named = {(send.topic, send.partition, send.process, send.sequence) for send in course.sends if send.doomed}
    where = (finding.get("topic"), finding.get("partition"))
    rows = finding.get("evidence") or ()
    others = [
        row
        for row in rows
        if row.get("process") not in whole and (*where, row.get("process"), row.get("sequence")) not in named
    ]
    count = int(finding.get("count") or 0)
    doomed_here = sum((topic, partition) == where for topic, partition, _, _ in named)
    if others:
        yield f"{_place(where)}: {_names(others)} lost, which no step named as doomed (doomed=True where it is sent)"
    elif not whole and count > doomed_here:
        yield f"{_place(where)}: {count} records lost, and {doomed_here} were named as doomed"


def unnamed(run: RunRecord, found: Sequence[Facts]) -> list[str]:
    """Findings of lost-write that do not list every record, in runs in which a whole load is doomed: whether a record
    of another client is among the others cannot be told. These are doubts.
    """
    if not any(process.doomed for process in run.processes):
        return []
    return [
        f"lost-write: {len(finding.get('evidence') or ())} of {finding.get('count')} lost records are listed; whether "
        "all of them were doomed cannot be told"
        for finding in found
        if finding.get("anomaly") == LOST_WRITE and int(finding.get("count") or 0) > len(finding.get("evidence") or ())
    ]


def _against_the_files(run: RunRecord, course: Course, finding: Facts) -> Iterator[str]:
    moments, where = of(course.events, Moment), (finding.get("topic"), finding.get("partition"))
    if not course.faults or not moments:
        return
    key = f"{where[0]}-{where[1]}"
    ends = [partitions[key] for partitions in moments[0].nodes.values() if key in partitions]
    marks = [end.hw for end in ends if end.hw is not None]
    if not marks or len(marks) < len(ends):
        return
    first_ns = course.faults[0].inject_ns
    early = [
        row
        for row in finding.get("evidence") or ()
        if isinstance(row.get("offset"), int)
        and row["offset"] < min(marks)
        and isinstance(row.get("completed_ns"), int)
        and row["completed_ns"] < first_ns
    ]
    if early:
        yield (
            f"{_place(where)}: {_names(early)} lost, acknowledged before the first fault and below every replica's "
            "high watermark"
        )


def _place(where: tuple[object, object]) -> str:
    return f"{LOST_WRITE} in {where[0]}-{where[1]}"


def _names(rows: Sequence[Facts]) -> str:
    names = [f"m{row.get('sequence')} of {row.get('process')}" for row in rows[:SHOWN]]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
