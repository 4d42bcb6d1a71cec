"""Which losses a documented lost-write covers: those of the sends whose loss the scenario expects, and no other.

That records are lost is documented of few of them, at one place of the sequence. `run.send(t, expected_loss=True)` says
which. A load is named as a whole, for nobody knows which of its records it will be. But a fault takes what was at stake
when it struck, and nothing that was safe by then. So of a load only those records may be lost

- that were acknowledged near to something that can have lost them (`at_stake`): a fault, or a change of leader. Records
  acknowledged before that are on other replicas. How long they take to get there depends on which are lost
  (`reach_ns`). These are records that followers have not fetched yet, records above their checkpointed high watermark
  where they truncate to that (KIP-101), or records that no disk had taken when the power went;
- that did not lie, when nothing had happened yet that can have lost them, below the high watermark which every replica
  had checkpointed, or had when replicas were copied. That was before the first fault, or later, when all were in sync
  again. No documented sequence loses these, but for a loss of power: a high watermark says that replicas have a record,
  and not that their disks do;
- that a leader can have acknowledged whose records can be lost, and not its successor (judgement/acknowledgers.py).

A loss of power takes what no disk had only where it took all of the ISR. Where a member was spared, which has all that
was acknowledged, what may be lost is what an election and a truncation may lose, and no more.

`REACHES` has how far each of these reaches, and from where that is known; docs/anomalies.md shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Final, NamedTuple

from checks.catalogue import LOST_WRITE
from checks.disturbances import strikes
from checks.excuses import truncates_to_high_watermark
from evidence.basis import Basis
from evidence.events import Checkpoint, Event, Moment, Partition
from evidence.faults.process import PowerLossProof
from evidence.findings import Finding, Row
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.spans import NEVER_NS, Span, widened, within
from judgement import acknowledgers
from kafkafiles.checkpoints import HIGH_WATERMARKS

SHOWN: Final = 5
"""So many records are told by name."""
SECOND_NS: Final = 1_000_000_000
FETCHED_NS: Final = 5 * SECOND_NS
CHECKPOINT_MS: Final = 5000
"""The default of replica.high.watermark.checkpoint.interval.ms, in every version."""
LATE_WRITEBACK_NS: Final = 5 * SECOND_NS
AFTER_NS: Final = 5 * SECOND_NS
WRITEBACK: Final = ("dirty_expire_centisecs", "dirty_writeback_centisecs")
"""Linux, sysctl vm: after the first of these a page is old enough to be written, and after the second it is looked."""
DEFAULT_WRITEBACK_CS: Final = 3500
"""Both, by default."""


class Reach(NamedTuple):
    """How long before, or after, something happened what it took was acknowledged."""

    what: str
    limit: str
    source: str
    basis: Basis


REACHES: Final = (
    Reach(
        "not fetched yet: before the fault, or the change of leader",
        f"{FETCHED_NS // SECOND_NS} s",
        "a follower in sync fetches within milliseconds (replica.fetch.wait.max.ms: 0.5 s), on a busy machine later; "
        "all of 1,249 records that loads lost in four runs on 4.3.1 were acknowledged while a fault lasted",
        Basis.MEASURED,
    ),
    Reach(
        "above a checkpointed high watermark, to which followers truncate: before the fault, or the change of leader",
        f"replica.high.watermark.checkpoint.interval.ms, and {FETCHED_NS // SECOND_NS} s as above",
        "KIP-101; Kafka documentation, broker configuration: replica.high.watermark.checkpoint.interval.ms",
        Basis.KIP,
    ),
    Reach(
        "on no disk, where the power took all of the ISR: before that",
        f"both settings of the machine, which the proof has, and {LATE_WRITEBACK_NS // SECOND_NS} s for a kernel that "
        "has other disks to write to",
        "Linux documentation, sysctl vm: dirty_expire_centisecs, dirty_writeback_centisecs",
        Basis.DOCUMENTATION,
    ),
    Reach(
        "acknowledged by a leader that is replaced and does not know it: after the fault, or the change of leader",
        f"{AFTER_NS // SECOND_NS} s",
        "TCP tries again at intervals that double, so a connection lasts some seconds longer than a cut. No document "
        "says how soon a broker learns that it leads no longer. None of these 1,249 came after the fault",
        Basis.MEASURED,
    ),
)


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
    # One that sends in transactions is no load: its scenario names the few records of one id, as it names single sends.
    loads = {one.name for one in run.processes if one.expected_loss and "transactional.id" not in one.settings}
    of_loads = [row for row in rest if row.process in loads]
    times = at_stake(run, run_state, finding.where)
    safe = [row for row in of_loads if row.completed_ns is not None and not within(row.completed_ns, times)]
    if safe:
        yield (
            f"{LOST_WRITE} in {finding.place}: {_names(safe)} lost, acknowledged when nothing that was done to the "
            "cluster can have lost them"
        )
    if not _power_took_isr(run_state, finding.where):
        yield from _below_every_high_watermark(run_state, finding, of_loads)
    if of_others := list(acknowledgers.kept(run_state, finding.where, of_loads)):
        terms = sorted({(term.node, term.epoch) for _, able in of_others for term in able})
        who = ", ".join(f"{node} in epoch {epoch}" for node, epoch in terms)
        yield (
            f"{LOST_WRITE} in {finding.place}: {_names([row for row, _ in of_others])} lost, and no leader that can "
            f"have acknowledged them ({who}) can have lost them"
        )


def reach_ns(run: RunRecord, run_state: RunState, where: TopicPartition | None) -> int:
    """How long before something that loses records the last of those were acknowledged that it cannot lose."""
    still_ns = _still_ns(run_state)
    if _power_took_isr(run_state, where):
        told = run.disks.writeback if run.disks is not None else {}
        both = [told.get(name) for name in WRITEBACK]
        known = [one for one in both if one is not None]
        centiseconds = sum(known) if len(known) == len(both) else DEFAULT_WRITEBACK_CS
        return centiseconds * SECOND_NS // 100 + LATE_WRITEBACK_NS + still_ns
    interval_ms = int(run.settings.get("replica.high.watermark.checkpoint.interval.ms", CHECKPOINT_MS))
    checkpointed_ns = interval_ms * SECOND_NS // 1000 if truncates_to_high_watermark(run) else 0
    return FETCHED_NS + checkpointed_ns + still_ns


def _still_ns(run_state: RunState) -> int:
    """How long the machine stood still, all times together."""
    return sum(end_ns - begin_ns for begin_ns, end_ns in run_state.still)


def _power_took_isr(run_state: RunState, where: TopicPartition | None) -> bool:
    """Whether every member of a partition's ISR lost power, as it was when the first one did; if nobody knows who these
    were, whether anybody did.
    """
    struck = [fault for fault in run_state.faults if fault.proof_type is PowerLossProof]
    then = run_state.state_at(*where, struck[0].inject_ns) if struck and where is not None else None
    nodes = {node for fault in struck for node in fault.nodes}
    return bool(struck) and (then is None or set(map(broker, then.isr)) <= nodes)


def at_stake(run: RunRecord, run_state: RunState, where: TopicPartition | None) -> list[Span]:
    """The times, from and to, at which records of a partition were acknowledged that something can have lost."""
    states = run_state.states.get(where, ()) if where is not None else ()
    led = [(after.at_ns, after.at_ns) for before, after in pairwise(states) if before.leader != after.leader]
    struck = [(one.inject_ns, one.until_ns) for one in run_state.faults if strikes(one)]
    return widened([*struck, *led], reach_ns(run, run_state, where), AFTER_NS + _still_ns(run_state))


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


def _below_every_high_watermark(run_state: RunState, finding: Finding, rows: Sequence[Row]) -> Iterator[str]:
    """A line for those of the lost records that lay below every replica's high watermark before anything happened that
    can have lost them.
    """
    early = [
        row
        for row in rows
        if row.offset is not None
        and row.completed_ns is not None
        and any(
            row.offset < floor.offset and floor.begin_ns <= row.completed_ns < floor.end_ns
            for floor in floors(run_state, finding.where)
        )
    ]
    if early:
        yield (
            f"{LOST_WRITE} in {finding.place}: {_names(early)} lost, acknowledged and below every replica's high "
            "watermark before anything happened that can have lost them"
        )


class Floor(NamedTuple):
    """What was acknowledged between two times, in which nothing happened, lay below the high watermark of every replica
    if it has an offset below this one.
    """

    begin_ns: int
    end_ns: int
    offset: int


def floors(run_state: RunState, where: TopicPartition | None) -> list[Floor]:
    """Each time at which the high watermarks of all replicas were known: from brokers' files, or from copies.

    After something has happened it begins when all replicas are in sync again. Until then one that led before may not
    know that another one leads, and acknowledges records at offsets at which the others have other ones.
    """
    if where is None:
        return []
    states = run_state.states.get(where, ())
    replicas = {broker(number) for number in (states[0].replicas or states[0].isr)} if states else set()
    happened = sorted(
        {at_ns for fault in run_state.faults if strikes(fault) for at_ns in (fault.inject_ns, fault.until_ns)}
        | {after.at_ns for before, after in pairwise(states) if before.leader != after.leader}
    )
    found = []
    for at_ns, marks in _high_watermarks(run_state.events, f"{where[0]}-{where[1]}", replicas):
        begin_ns = _in_sync_from(states, replicas, max((each for each in happened if each < at_ns), default=0))
        end_ns = min((each for each in happened if each >= at_ns), default=NEVER_NS)
        if all(read_ns > begin_ns for read_ns, _ in marks.values()):
            found.append(Floor(begin_ns, end_ns, min(mark for _, mark in marks.values())))
    return found


def _in_sync_from(states: Sequence[Partition], replicas: Set[str], since_ns: int) -> int:
    """From when on, after something had happened, all replicas were in sync; the start of the run if nothing had. Where
    nothing states the ISR, it is not waited for.
    """
    if since_ns == 0 or not states:
        return since_ns
    in_force = [state for state in states if state.at_ns <= since_ns][-1:]
    later = [state for state in states if state.at_ns > since_ns]
    whole = (state for state in [*in_force, *later] if set(map(broker, state.isr)) >= replicas)
    return next((max(state.at_ns, since_ns) for state in whole), NEVER_NS)


def _high_watermarks(
    events: Iterable[Event], place: str, replicas: Set[str]
) -> Iterator[tuple[int, Mapping[str, tuple[int, int]]]]:
    """Each time at which the high watermark of every replica was known, and when each was read and what it was, by
    node. A copy of the replicas begins anew; a checkpoint adds to what is known.
    """
    read: dict[str, tuple[int, int]] = {}
    for event in events:
        if isinstance(event, Moment):
            copied = {node: held[place].hw for node, held in event.nodes.items() if place in held}
            if not copied:
                continue
            read = {node: (event.at_ns, hw) for node, hw in copied.items() if hw is not None}
            known = len(read) == len(copied) and set(read) >= replicas
        elif isinstance(event, Checkpoint) and event.file == HIGH_WATERMARKS:
            mark = (event.offsets or {}).get(place)
            read |= {event.node: (event.at_ns, mark)} if mark is not None else {}
            known = bool(replicas) and set(read) >= replicas
        else:
            continue
        if known:
            yield event.at_ns, dict(read)


def _names(rows: Sequence[Row]) -> str:
    names = [f"m{row.records[0].sequence} of {row.process}" for row in rows[:SHOWN] if row.records]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
