"""Claims about the high watermark: what is not in every in-sync replica is not shown to readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from evidence.claims.acks import SEEN_LATER_NS
from evidence.claims.basis import Claim, Judged, Witness, count, judged
from evidence.course import FROZEN, Course, Sent
from evidence.events import Position, of


def record_hidden_until_isr_has_it(witness: Witness) -> Judged:
    """A record that the leader acknowledged by itself is given to no consumer while a frozen member of the ISR lacks
    it, though the consumer is given another record from the same leader meanwhile; it is given to it after that.
    """
    course = witness.course
    positions = of(course.events, Position)
    rows: list[dict[str, Any]] = []
    for one in course.sends:
        for hidden_until_ns in _hidden(course, one):
            rows += _readers(course, positions, one, hidden_until_ns)
    wrong = [row for row in rows if row["read_while_hidden"]]
    seen = count(len(rows), "record") + " read only when every member of the ISR had it"
    nothing = "no consumer was at work while a record was in its leader's log and not in all of the ISR"
    return judged(rows, wrong, seen, nothing)


def _hidden(course: Course, one: Sent) -> Iterator[int]:
    """Until when a record that was acknowledged without them was missing from frozen followers in the ISR: to the
    beginning of their thaw, or until they had left the ISR for certain.
    """
    state = course.state_at(one.topic, one.partition, one.sent_ns)
    if state is None or one.outcome != "acked" or one.acks == "all" or one.done_ns is None:
        return
    states = course.partitions[one.topic, one.partition]
    for broker in state.isr:
        node = f"broker-{broker}"
        if broker == state.leader or course.condition_at(node, one.sent_ns) != FROZEN:
            continue
        left = [
            later.begin_ns - SEEN_LATER_NS
            for later in states
            if later.begin_ns > one.sent_ns and broker not in later.isr
        ]
        thawed = [
            fault.heal_ns
            for fault in course.faults
            if fault.kind == "freeze"
            and fault.node == node
            and fault.heal_ns is not None
            and fault.heal_ns > one.sent_ns
        ]
        ends = [*left[:1], *thawed[:1]]
        if ends:
            yield min(ends)


def _readers(course: Course, positions: list[Position], one: Sent, until_ns: int) -> Iterator[dict[str, Any]]:
    """What each consumer was given of the record's partition, and of others of its leader, while it was hidden."""
    leader = course.state_at(one.topic, one.partition, one.sent_ns)
    for process in dict.fromkeys(position.process for position in positions):
        own = [position for position in positions if position.process == process]
        here = [p for p in own if (p.topic, p.partition) == (one.topic, one.partition) and p.offset > (one.offset or 0)]
        during = [p for p in own if (one.done_ns or 0) < p.read_ns < until_ns]
        served = [p for p in during if p not in here and _led_by(course, p) == (leader.leader if leader else None)]
        if here and (served or any(p in during for p in here)):
            yield {
                "topic": one.topic,
                "partition": one.partition,
                "offset": one.offset,
                "at_ns": one.done_ns,
                "process": process,
                "hidden_ms": round((until_ns - (one.done_ns or 0)) / 1e6, 1),
                "read_ms": round((here[0].read_ns - (one.done_ns or 0)) / 1e6, 1),
                "read_while_hidden": here[0].read_ns < until_ns,
            }


def _led_by(course: Course, position: Position) -> int | None:
    state = course.state_at(position.topic, position.partition, position.read_ns)
    return state.leader if state else None


CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        name="record-hidden-until-isr-has-it",
        says="A record is given to consumers only when every member of the ISR has it, or has left.",
        source="Kafka documentation, Design: replication (committed messages); KIP-101",
        judge=record_hidden_until_isr_has_it,
    ),
)
