"""Which losses a documented lost-write covers: those of the sends that the scenario names as doomed, and no other.

That records are lost is documented of few of them, at one place of the sequence. `run.send(t, expected_loss=True)` says
which; a load is named as a whole. Runs made before sends were named are held to what their files show: what
was acknowledged before the first fault, and lay below the high watermark that every replica had checkpointed when
replicas were first copied, no documented sequence loses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from checks.catalogue import LOST_WRITE
from evidence.events import Moment, of
from evidence.findings import Finding, Row
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.rundir import DOOMED, leaves

Facts = Mapping[str, Any]

SHOWN: Final = 5
"""So many records are told by name."""


def undocumented(run: RunRecord, run_state: RunState, found: Sequence[Finding]) -> list[str]:
    """A line for each finding of lost-write that has more than the doomed."""
    judged = _against_the_named if leaves(run, DOOMED) else _against_the_files
    return [line for one in found if one.anomaly == LOST_WRITE for line in judged(run, run_state, one)]


def _against_the_named(run: RunRecord, run_state: RunState, finding: Finding) -> Iterator[str]:
    whole = {process.name for process in run.processes if process.doomed}
    named = {(send.process, send.key) for send in run_state.sends if send.doomed}
    others = [
        row
        for row in finding.evidence
        if row.process not in whole and not any((row.process, record) in named for record in row.records[:1])
    ]
    doomed_here = sum(record.where == finding.where for _, record in named)
    if others:
        lost = f"{LOST_WRITE} in {finding.place}: {_names(others)} lost"
        yield f"{lost}, which no step named as doomed (expected_loss=True where it is sent)"
    elif not whole and finding.count > doomed_here:
        yield f"{LOST_WRITE} in {finding.place}: {finding.count} records lost, and {doomed_here} were named as doomed"


def unnamed(run: RunRecord, found: Sequence[Finding]) -> list[str]:
    """Findings of lost-write that do not list every record, in runs in which a whole load is doomed: whether a record
    of another client is among the others cannot be told. These are doubts.
    """
    if not any(process.doomed for process in run.processes):
        return []
    return [
        f"lost-write: {len(finding.evidence)} of {finding.count} lost records are listed; whether "
        "all of them were doomed cannot be told"
        for finding in found
        if finding.anomaly == LOST_WRITE and not finding.whole
    ]


def _against_the_files(run: RunRecord, run_state: RunState, finding: Finding) -> Iterator[str]:
    moments = of(run_state.events, Moment)
    if not run_state.faults or not moments:
        return
    ends = [partitions[finding.place] for partitions in moments[0].nodes.values() if finding.place in partitions]
    marks = [end.hw for end in ends if end.hw is not None]
    if not marks or len(marks) < len(ends):
        return
    first_ns = run_state.faults[0].inject_ns
    early = [
        row
        for row in finding.evidence
        if row.offset is not None
        and row.offset < min(marks)
        and row.completed_ns is not None
        and row.completed_ns < first_ns
    ]
    if early:
        yield (
            f"{LOST_WRITE} in {finding.place}: {_names(early)} lost, acknowledged before the first fault and below "
            "every replica's high watermark"
        )


def _names(rows: Sequence[Row]) -> str:
    names = [f"m{row.records[0].sequence} of {row.process}" for row in rows[:SHOWN] if row.records]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
