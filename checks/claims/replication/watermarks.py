"""Claims about the high watermark: who raises it when, and that nobody is shown what lies above it.

Those about single steps go by what brokers log at TRACE (evidence.replication): without these lines, without those of
one of the brokers, or with a part of them, nothing was observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from checks.claim import NOT_OBSERVED, Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, judged
from checks.claims.replication.acks import SEEN_LATER_NS
from checks.settings import min_insync
from evidence.basis import Basis
from evidence.events import Log, Position, ReplicaOffset, of
from evidence.records import TopicPartition
from evidence.replication import Trace, topics_of, trace_of, traced_partitions, ways
from evidence.run_state import FROZEN, RunState, Sent
from evidence.text import plural

NONE_BELOW: Final = "no consumer was at work while a record was acknowledged with too few replicas in sync"
NO_TRACE: Final = "no broker told of its replicas' offsets at TRACE"


@claim(
    "record-hidden-until-isr-has-it",
    source="Kafka documentation, Design: replication (committed messages); KIP-101",
    basis=Basis.DOCUMENTATION,
)
def record_hidden_until_isr_has_it(evidence: RunEvidence) -> Judged:
    """A record is given to consumers only when every member of the ISR has it, or has left.

    A record that the leader acknowledged by itself is given to no consumer while a frozen member of the ISR lacks it,
    though the consumer is given another record from the same leader meanwhile; it is given to it after that.
    """
    run_state = evidence.run_state
    positions = of(run_state.events, Position)
    rows: list[dict[str, Any]] = []
    for one in run_state.sends:
        for hidden_until_ns in _hidden(run_state, one):
            rows += _readers(run_state, positions, one, hidden_until_ns)
    wrong = [row for row in rows if row["read_while_hidden"]]
    seen = plural(len(rows), "record") + " read only when every member of the ISR had it"
    nothing = "no consumer was at work while a record was in its leader's log and not in all of the ISR"
    return judged(rows, wrong, seen, nothing)


@claim("high-watermark-waits-for-min-isr", source="KAFKA-15583", basis=Basis.JIRA)
def high_watermark_waits_for_min_isr(evidence: RunEvidence) -> Judged:
    """From 3.7 on a record that is acknowledged with acks=1 while fewer replicas than min.insync.replicas are in sync
    is given to no consumer until enough are.

    The consumer is given another record from the same leader meanwhile, and this one after that.
    """
    rows = _below_min_isr(evidence)
    wrong = [row for row in rows if row["read_while_hidden"]]
    return judged(rows, wrong, plural(len(rows), "record") + " read only when enough were in sync", NONE_BELOW)


@claim(
    "high-watermark-ignores-min-isr",
    source="Partition.maybeIncrementLeaderHW (0.8.2.2 to 3.6.2); KAFKA-15583",
    basis=Basis.SOURCE,
)
def high_watermark_ignores_min_isr(evidence: RunEvidence) -> Judged:
    """Before 3.7 a record that is acknowledged with acks=1 is given to consumers though fewer replicas than
    min.insync.replicas are in sync.
    """
    rows = _below_min_isr(evidence)
    wrong = [row for row in rows if not row["read_while_hidden"]]
    return judged(rows, wrong, plural(len(rows), "record") + " read while too few were in sync", NONE_BELOW)


def _below_min_isr(evidence: RunEvidence) -> list[dict[str, Any]]:
    """What consumers were given of records that were acknowledged while too few replicas were in sync, until the
    cluster stated that enough are.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    positions = of(run_state.events, Position)
    for one in run_state.sends:
        state = run_state.state_at(one.topic, one.partition, one.sent_ns)
        needed = min_insync(evidence.run, run_state, (one.topic, one.partition), one.sent_ns)
        if state is None or one.outcome != "acked" or one.acks == "all" or len(state.isr) >= needed:
            continue
        later = (s for s in run_state.partitions[one.topic, one.partition] if s.begin_ns > one.sent_ns)
        enough = next((s.begin_ns - SEEN_LATER_NS for s in later if len(s.isr) >= needed), None)
        if enough is not None:
            rows += _readers(run_state, positions, one, enough)
    return rows


def _hidden(run_state: RunState, one: Sent) -> Iterator[int]:
    """Until when a record that was acknowledged without them was missing from frozen followers in the ISR: to the
    beginning of their thaw, or until they had left the ISR for certain.
    """
    state = run_state.state_at(one.topic, one.partition, one.sent_ns)
    if state is None or one.outcome != "acked" or one.acks == "all" or one.done_ns is None:
        return
    states = run_state.partitions[one.topic, one.partition]
    for broker in state.isr:
        node = f"broker-{broker}"
        if broker == state.leader or run_state.condition_at(node, one.sent_ns) != FROZEN:
            continue
        left = [
            later.begin_ns - SEEN_LATER_NS
            for later in states
            if later.begin_ns > one.sent_ns and broker not in later.isr
        ]
        thawed = [
            fault.heal_ns
            for fault in run_state.faults
            if fault.kind == "freeze"
            and fault.node == node
            and fault.heal_ns is not None
            and fault.heal_ns > one.sent_ns
        ]
        ends = [*left[:1], *thawed[:1]]
        if ends:
            yield min(ends)


def _readers(run_state: RunState, positions: list[Position], one: Sent, until_ns: int) -> Iterator[dict[str, Any]]:
    """What each consumer was given of the record's partition, and of others of its leader, while it was hidden."""
    leader = run_state.state_at(one.topic, one.partition, one.sent_ns)
    for process in dict.fromkeys(position.process for position in positions):
        own = [position for position in positions if position.process == process]
        here = [p for p in own if (p.topic, p.partition) == (one.topic, one.partition) and p.offset > (one.offset or 0)]
        during = [p for p in own if (one.done_ns or 0) < p.read_ns < until_ns]
        served = [p for p in during if p not in here and _led_by(run_state, p) == (leader.leader if leader else None)]
        if here and (served or any(p in during for p in here)):
            yield {
                "topic": one.topic,
                "partition": one.partition,
                "offset": one.offset,
                "at_ns": one.done_ns,
                "process": process,
                "hidden_ms": elapsed_ms(one.done_ns or 0, until_ns),
                "read_ms": elapsed_ms(one.done_ns or 0, here[0].read_ns),
                "read_while_hidden": here[0].read_ns < until_ns,
            }


def _led_by(run_state: RunState, position: Position) -> int | None:
    state = run_state.state_at(position.topic, position.partition, position.read_ns)
    return state.leader if state else None


@claim(
    "high-watermark-follows-in-steps",
    source="KIP-101, Motivation; Kafka documentation, Design: replication",
    basis=Basis.KIP,
)
def high_watermark_follows_in_steps(evidence: RunEvidence) -> Judged:
    """A record is under the leader's high watermark after the follower's second fetch, and under the follower's with
    the answer to that: append, fetch, append, fetch, high watermark, answer, high watermark.

    Each acknowledged record went through evidence.replication.STEPS in their order, to each follower.
    """
    run_state = evidence.run_state
    found = [way for where in traced_partitions(run_state, topics_of(evidence.run)) for way in ways(run_state, where)]
    rows = [
        {
            "topic": way.record.topic,
            "partition": way.record.partition,
            "offset": way.record.offset,
            "leader": way.leader,
            "follower": way.follower,
            "steps": {f"{name}_ns": one.at_ns for name, one in way.steps.items()},
            "missing": list(way.missing),
            "out_of_order": [f"{other} before {one}" for one, other in way.wrong],
        }
        for way in found
    ]
    wrong = [row for row in rows if row["out_of_order"]]
    untold = [way for way in found if way.missing]
    if untold and not wrong:
        observed = f"of the record at offset {untold[0].record.offset} no line tells: {', '.join(untold[0].missing)}"
        return Judged(outcome=NOT_OBSERVED, observed=observed, evidence=[row for row in rows if row["missing"]])
    return judged(rows, wrong, plural(len(rows), "record") + " under the high watermark step by step", NO_TRACE)


def _watched(run_state: RunState, where: TopicPartition) -> tuple[Trace, set[str]]:
    """What was said of a partition, and the replicas that were in sync at any time and said nothing of their own."""
    trace = trace_of(run_state, where)
    silent = {f"broker-{broker}" for state in run_state.states.get(where, ()) for broker in state.isr}
    return trace, silent - {one.node for one in trace.of("high-watermark")}


def _each(
    evidence: RunEvidence, rows_of: Callable[[RunState, TopicPartition, Trace], list[dict[str, Any]]], seen: str
) -> Judged:
    """A claim about high watermarks as they were said: judged by each partition's rows, if no replica is silent."""
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for where in traced_partitions(run_state, topics_of(evidence.run)):
        trace, silent = _watched(run_state, where)
        if silent:
            observed = f"{', '.join(sorted(silent))} did not tell of the high watermark of {where[0]}-{where[1]}"
            return Judged(outcome=NOT_OBSERVED, observed=observed)
        rows += [{"topic": where[0], "partition": where[1]} | row for row in rows_of(run_state, where, trace)]
    wrong = [row for row in rows if not row["held"]]
    return judged(rows, wrong, plural(len(rows), "value") + f" of high watermarks, {seen}", NO_TRACE)


def _row(one: ReplicaOffset, held: bool, **about: object) -> dict[str, Any]:
    return {"node": one.node, "at_ns": one.at_ns, "high_watermark": one.offset, **about, "held": held}


@claim(
    "high-watermark-within-log",
    source="KIP-101: motivation; ReplicaFetcherThread: the follower's is the smaller of the two",
    basis=Basis.KIP,
)
def high_watermark_within_log(evidence: RunEvidence) -> Judged:
    """The high watermark of a replica is never above its own log end."""

    def rows(run_state: RunState, where: TopicPartition, trace: Trace) -> list[dict[str, Any]]:
        cut = [
            one for one in of(run_state.events, Log) if one.event == "truncate" and (one.topic, one.partition) == where
        ]
        found, ends = list[dict[str, Any]](), dict[str, int]()
        said: list[Log | ReplicaOffset] = [*cut, *trace.of("log-end", "high-watermark")]
        for one in sorted(said, key=lambda one: one.at_ns):
            if isinstance(one, Log):
                if one.offset is not None:
                    ends[one.node] = min(ends.get(one.node, one.offset), one.offset)
            elif one.what == "log-end":
                ends[one.node] = one.offset
            elif one.node in ends:
                found.append(_row(one, one.offset <= ends[one.node], log_end=ends[one.node]))
        return found

    return _each(evidence, rows, "none above the replica's log end")


@claim(
    "leader-high-watermark-never-falls",
    source="Partition.maybeIncrementLeaderHW (0.8.2.2 to 4.3.1)",
    basis=Basis.SOURCE,
)
def leader_high_watermark_never_falls(evidence: RunEvidence) -> Judged:
    """A leader's high watermark does not fall within one leader epoch."""

    def rows(run_state: RunState, where: TopicPartition, trace: Trace) -> list[dict[str, Any]]:
        found, highest = list[dict[str, Any]](), dict[tuple[str, int], int]()
        for one in trace.of("high-watermark"):
            state = run_state.state_at(*where, one.at_ns)
            if state is not None and one.node == f"broker-{state.leader}":
                term = (one.node, state.leader_epoch)
                before = highest.get(term, one.offset)
                found.append(_row(one, one.offset >= before, leader_epoch=state.leader_epoch, before=before))
                highest[term] = max(before, one.offset)
        return found

    return _each(evidence, rows, "none below the leader's last in its epoch")


@claim("follower-high-watermark-behind-leaders", source="KIP-101, Motivation", basis=Basis.KIP)
def follower_high_watermark_behind_leaders(evidence: RunEvidence) -> Judged:
    """A follower's high watermark is never above the one that its leader has had.

    No follower has a high watermark, by an answer of its leader's in this leader epoch, that the leader has not had
    yet. What it came with, from its own file, may be from before.
    """

    def rows(run_state: RunState, where: TopicPartition, trace: Trace) -> list[dict[str, Any]]:
        found, answered = list[dict[str, Any]](), dict[str, int]()
        for one in trace.of("response", "high-watermark"):
            state = run_state.state_at(*where, one.at_ns)
            if state is None or one.node == f"broker-{state.leader}":
                continue
            if one.what == "response":
                answered[one.node] = state.leader_epoch
            elif answered.get(one.node) == state.leader_epoch:
                led = [
                    other.offset
                    for other in trace.of("high-watermark")
                    if other.node == f"broker-{state.leader}" and trace.ordered(other, one)
                ]
                found.append(_row(one, one.offset <= max(led, default=0), leaders=max(led, default=0)))
        return found

    return _each(evidence, rows, "none of a follower above its leader's")
