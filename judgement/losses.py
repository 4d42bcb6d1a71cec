"""Which losses a documented lost-write covers: those of the sends whose loss the scenario expects, and no other.

That records are lost is documented of few of them, at one place of the sequence. `run.send(t, expected_loss=True)` says
which. A load is named as a whole, for nobody knows which of its records it will be; but a fault takes what was at stake
when it struck, and nothing that was safe by then. So of a load only those records may be lost

- that were acknowledged near to something that can have lost them (`at_stake`): a fault, or a change of leader. What
  was acknowledged before that is on other replicas; how long it takes to get there depends on what is lost
  (`reach_ns`): what followers have not fetched yet, what lay above their checkpointed high watermark where they
  truncate to that (KIP-101), what no disk had taken when the power went;
- that did not lie, before the first fault struck, below the high watermark which every replica had checkpointed or had
  when replicas were copied. No documented sequence loses these, but for a loss of power: a high watermark says that
  replicas have a record, and not that their disks do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from checks.catalogue import LOST_WRITE
from checks.excuses import truncates_to_high_watermark
from evidence.events import Checkpoint, Moment, of
from evidence.faults.process import PowerLossProof
from evidence.findings import Finding, Row
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.spans import Span, widened, within
from kafkafiles.checkpoints import HIGH_WATERMARKS

SHOWN: Final = 5
"""So many records are told by name."""
SECOND_NS: Final = 1_000_000_000
FETCHED_NS: Final = 5 * SECOND_NS
"""A follower in sync fetches within milliseconds (replica.fetch.wait.max.ms: 0.5 s); on a busy machine later."""
CHECKPOINTED_NS: Final = 10 * SECOND_NS
"""Twice replica.high.watermark.checkpoint.interval.ms, 5 s by default."""
LATE_WRITEBACK_NS: Final = 5 * SECOND_NS
AFTER_NS: Final = 15 * SECOND_NS
"""A leader that is replaced goes on acknowledging with acks=1 until it hears of that."""
WRITEBACK: Final = ("dirty_expire_centisecs", "dirty_writeback_centisecs")
"""Linux, sysctl vm: after the first of these a page is old enough to be written, and after the second it is looked."""
DEFAULT_WRITEBACK_CS: Final = 3500
"""Both, by default."""


def undocumented(run: RunRecord, run_state: RunState, found: Sequence[Finding]) -> list[str]:
    """A line for each finding of lost-write that has more than what the scenario expects to lose."""
    return [line for one in found if one.anomaly == LOST_WRITE for line in _beyond_expected(run, run_state, one)]


def _beyond_expected(run: RunRecord, run_state: RunState, finding: Finding) -> Iterator[str]:
    whole = {process.name for process in run.processes if process.expected_loss}
    named = {(send.process, send.key) for send in run_state.sends if send.expected_loss}
    rest = [row for row in finding.evidence if not any((row.process, record) in named for record in row.records[:1])]
    others = [row for row in rest if row.process not in whole]
    expected_here = sum(record.where == finding.where for _, record in named)
    if others:
        lost = f"{LOST_WRITE} in {finding.place}: {_names(others)} lost"
        yield f"{lost}, which no step expects (expected_loss=True where it is sent)"
    elif not whole and finding.count > expected_here:
        yield f"{LOST_WRITE} in {finding.place}: {finding.count} records lost, and {expected_here} were expected to be"
    of_loads = [row for row in rest if row.process in whole]
    times = at_stake(run, run_state, finding.where)
    safe = [row for row in of_loads if row.completed_ns is not None and not within(row.completed_ns, times)]
    if safe:
        yield (
            f"{LOST_WRITE} in {finding.place}: {_names(safe)} lost, acknowledged when nothing that was done to the "
            "cluster can have lost them"
        )
    if not _power_went(run_state):
        yield from _below_every_high_watermark(run_state, finding, of_loads, _marks_before(run_state, finding.place))


def reach_ns(run: RunRecord, run_state: RunState) -> int:
    """How long before something that loses records the last of those were acknowledged that it cannot lose."""
    still_ns = sum(end_ns - begin_ns for begin_ns, end_ns in run_state.still)
    if _power_went(run_state):
        told = run.disks.writeback if run.disks is not None else {}
        both = [told.get(name) for name in WRITEBACK]
        known = [one for one in both if one is not None]
        centiseconds = sum(known) if len(known) == len(both) else DEFAULT_WRITEBACK_CS
        return centiseconds * SECOND_NS // 100 + LATE_WRITEBACK_NS + still_ns
    return (CHECKPOINTED_NS if truncates_to_high_watermark(run) else FETCHED_NS) + still_ns


def _power_went(run_state: RunState) -> bool:
    return any(fault.proof_type is PowerLossProof for fault in run_state.faults)


def at_stake(run: RunRecord, run_state: RunState, where: TopicPartition | None) -> list[Span]:
    """The times, from and to, at which records of a partition were acknowledged that something can have lost."""
    states = run_state.states.get(where, ()) if where is not None else ()
    led = [(after.at_ns, after.at_ns) for before, after in pairwise(states) if before.leader != after.leader]
    return widened([*run_state.struck, *led], reach_ns(run, run_state), AFTER_NS)


def unnamed(run: RunRecord, found: Sequence[Finding]) -> list[str]:
    """Findings of lost-write that do not list every record, in runs that expect the loss of a whole load: whether a
    record of another client is among the others cannot be told. These are doubts.
    """
    if not any(process.expected_loss for process in run.processes):
        return []
    return [
        f"lost-write: {len(finding.evidence)} of {finding.count} lost records are listed; whether "
        "the loss of all of them was expected cannot be told"
        for finding in found
        if finding.anomaly == LOST_WRITE and not finding.whole
    ]


def _below_every_high_watermark(
    run_state: RunState, finding: Finding, rows: Sequence[Row], marks: Sequence[int]
) -> Iterator[str]:
    """A line for those of the lost records that were acknowledged before the first fault and lay below these high
    watermarks, of every replica; none if they are not known.
    """
    if not run_state.faults or not marks:
        return
    first_ns = run_state.faults[0].inject_ns
    early = [
        row
        for row in rows
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


def _marks(moments: Sequence[Moment], place: str) -> list[int]:
    """The high watermarks of a partition that its replicas had when they were first copied; none if one had none."""
    ends = [held[place] for held in moments[0].nodes.values() if place in held] if moments else []
    marks = [end.hw for end in ends if end.hw is not None]
    return marks if len(marks) == len(ends) else []


def _marks_before(run_state: RunState, place: str) -> list[int]:
    """Those that the replicas had before the first fault: when they were last copied until then, or in the files of
    brokers that were looked at, if those of every replica were.
    """
    first_ns = run_state.faults[0].inject_ns if run_state.faults else 0
    moments = [moment for moment in of(run_state.events, Moment) if moment.at_ns < first_ns]
    if marks := _marks(moments[-1:], place):
        return marks
    read = {
        one.node: (one.offsets or {}).get(place)
        for one in of(run_state.events, Checkpoint)
        if one.file == HIGH_WATERMARKS and one.at_ns < first_ns
    }
    topic, _, number = place.rpartition("-")
    states = run_state.states.get((topic, int(number)), ())
    replicas = {f"broker-{broker}" for broker in (states[0].replicas or states[0].isr)} if states else set()
    found = [read.get(node) for node in sorted(replicas)]
    known = [mark for mark in found if mark is not None]
    return known if len(known) == len(found) else []


def _names(rows: Sequence[Row]) -> str:
    names = [f"m{row.records[0].sequence} of {row.process}" for row in rows[:SHOWN] if row.records]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
