"""Claims about acknowledgements: what acks=all waits for, and what it is refused for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, judged, timed
from checks.settings import HEARD_NS
from evidence.basis import Basis
from evidence.events import NO_LEADER
from evidence.run_state import FROZEN, RunState, Sent
from evidence.text import plural

SEEN_LATER_NS: Final = 500_000_000
"""An observer may see an ISR this much later than the leader acts on it."""
RELEASE_TOLERANCE_MS: Final = 1000
"""For a leader and a client that get no processor at once."""
REFUSED: Final = "NOT_ENOUGH_REPLICAS"
"""Refused before it was written; NOT_ENOUGH_REPLICAS_AFTER_APPEND says that it is in the leader's log."""


def _sent(one: Sent) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "producer": one.producer,
        "sequence": one.sequence,
        "acks": one.acks,
        "at_ns": one.sent_ns,
        "outcome": one.outcome,
        "error": one.error,
        "offset": one.offset,
    }


@claim(
    "acks-all-waits-for-isr",
    source="Kafka documentation, producer configuration: acks; Design: replication",
    basis=Basis.DOCUMENTATION,
)
def acks_all_waits_for_isr(evidence: RunEvidence) -> Judged:
    """With acks=all a record is not acknowledged while a member of the ISR stands still without it."""
    run_state = evidence.run_state
    rows, wrong = [], []
    for one in run_state.sends:
        state = run_state.state_at(one.topic, one.partition, one.sent_ns)
        if one.acks != "all" or one.outcome != "acked" or one.done_ns is None or state is None:
            continue
        frozen = [
            b for b in state.isr if b != state.leader and run_state.condition_at(f"broker-{b}", one.sent_ns) == FROZEN
        ]
        for broker in frozen:
            row = _sent(one) | {"frozen": broker, "waited_ms": elapsed_ms(one.sent_ns, one.done_ns)}
            rows.append(row)
            still = run_state.condition_at(f"broker-{broker}", one.done_ns) == FROZEN
            left_ns = _left_isr(run_state, one, broker)
            if still and (left_ns is None or left_ns > one.done_ns + SEEN_LATER_NS):
                wrong.append(row)
    nothing = "nothing sent with acks=all while a member of the ISR was frozen was acknowledged"
    return judged(rows, wrong, plural(len(rows), "acknowledgement") + " waited for the ISR", nothing)


def _left_isr(run_state: RunState, one: Sent, broker: int) -> int | None:
    """When an ISR without the broker was first stated after a record was sent; None if that never was."""
    later = (state for state in run_state.partitions[one.topic, one.partition] if state.begin_ns > one.sent_ns)
    return next((state.begin_ns for state in later if broker not in state.isr), None)


def _released(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """What waited with acks=all for a frozen member of the ISR: how long after that one had left it was acknowledged,
    and whether that was before another record was sent to the partition.
    """
    run_state = evidence.run_state
    for one in run_state.sends:
        state = run_state.state_at(one.topic, one.partition, one.sent_ns)
        if one.acks != "all" or one.outcome != "acked" or one.done_ns is None or state is None:
            continue
        for broker in state.isr:
            left_ns = _left_isr(run_state, one, broker)
            frozen = run_state.condition_at(f"broker-{broker}", one.sent_ns) == FROZEN
            if broker == state.leader or not frozen or left_ns is None:
                continue
            if run_state.condition_at(f"broker-{broker}", left_ns) != FROZEN:
                continue
            next_ns = [
                other.sent_ns
                for other in run_state.sends
                if (other.topic, other.partition) == (one.topic, one.partition) and other.sent_ns > one.sent_ns
            ]
            yield _sent(one) | {
                "frozen": broker,
                "took_ms": max(0.0, elapsed_ms(left_ns, one.done_ns)),
                "bound_ms": RELEASE_TOLERANCE_MS,
                "before_the_next": not next_ns or one.done_ns < next_ns[0],
            }


@claim(
    "shrunk-isr-releases-acks-all",
    source="Kafka documentation, Design: replication; KAFKA-13091",
    basis=Basis.DOCUMENTATION,
    bound=f"from the new ISR on: no waiting is needed, and a tolerance of {RELEASE_TOLERANCE_MS} ms for the machine",
    bound_source="Kafka documentation, Design: replication",
    bound_basis=Basis.DOCUMENTATION,
)
def shrunk_isr_releases_acks_all(evidence: RunEvidence) -> Judged:
    """A record that waits with acks=all for a replica that leaves the ISR is acknowledged when it has left.

    What waited for a member of the ISR is acknowledged once that one has left, without another record's help.
    """
    rows = list(_released(evidence))
    helped = [row for row in rows if not row["before_the_next"]]
    if helped:
        return judged(rows, helped, plural(len(rows), "record") + " released by the shrunk ISR", "")
    return timed(
        rows,
        lambda row: f"acknowledged {row['took_ms'] / 1000:.1f} s after the frozen replica had left the ISR",
        "nothing waited with acks=all for a replica that left the ISR",
    )


@claim("shrunk-isr-holds-back", source="KAFKA-13091 (protocol 2.7 to 3.0)", basis=Basis.JIRA)
def shrunk_isr_holds_back(evidence: RunEvidence) -> Judged:
    """A record that waits with acks=all for a replica that leaves the ISR is acknowledged only after the next
    record.
    """
    rows = list(_released(evidence))
    wrong = [row for row in rows if row["before_the_next"]]
    seen = plural(len(rows), "record") + " acknowledged only after the next was written"
    return judged(rows, wrong, seen, "nothing waited with acks=all for a replica that left the ISR")


def _min_isr(evidence: RunEvidence, topic: str) -> int:
    """A topic's min.insync.replicas: its own, the brokers', or 1."""
    name = "min.insync.replicas"
    own = next((plan.settings.get(name) for plan in evidence.run.topics if plan.name == topic), None)
    return int(own or evidence.run.settings.get(name, "1"))


def _below_min_isr(evidence: RunEvidence) -> Iterator[Sent]:
    """What was sent and answered while a partition had a leader and too small an ISR, from the first that was refused
    on, or from 5 s on: the cluster may state an ISR before the leader knows of it, and that takes no longer.
    """
    for topic, number in evidence.run_state.partitions:
        least = _min_isr(evidence, topic)
        for state in evidence.run_state.partitions[topic, number]:
            if state.leader == NO_LEADER or len(state.isr) >= least:
                continue
            within = [
                one
                for one in evidence.run_state.sends
                if (one.topic, one.partition) == (topic, number)
                and one.done_ns is not None
                and state.begin_ns <= one.sent_ns <= one.done_ns < state.end_ns
            ]
            knows = (one.error == REFUSED or one.sent_ns >= state.begin_ns + HEARD_NS for one in within)
            first = next((index for index, known in enumerate(knows) if known), len(within))
            yield from within[first:]


@claim(
    "acks-all-refused-below-min-isr",
    source="Kafka documentation, topic configuration: min.insync.replicas; KAFKA-1555",
    basis=Basis.DOCUMENTATION,
)
def acks_all_refused_below_min_isr(evidence: RunEvidence) -> Judged:
    """With fewer replicas in sync than min.insync.replicas a record with acks=all is refused."""
    asked = [one for one in _below_min_isr(evidence) if one.acks == "all"]
    wrong = [_sent(one) for one in asked if one.error != REFUSED]
    seen = plural(len(asked), "record") + " with acks=all refused"
    return judged([_sent(one) for one in asked], wrong, seen, "nothing was refused for too small an ISR")


@claim(
    "acks-1-goes-on-below-min-isr",
    source="Kafka documentation, topic configuration: min.insync.replicas; KAFKA-1555",
    basis=Basis.DOCUMENTATION,
)
def acks_1_goes_on_below_min_isr(evidence: RunEvidence) -> Judged:
    """With fewer replicas in sync than min.insync.replicas a record with acks=1 is acknowledged."""
    asked = [one for one in _below_min_isr(evidence) if one.acks == "1"]
    wrong = [_sent(one) for one in asked if one.outcome != "acked"]
    seen = plural(len(asked), "record") + " with acks=1 acknowledged below min.insync.replicas"
    return judged([_sent(one) for one in asked], wrong, seen, "nothing was sent with acks=1 beside what was refused")


@claim(
    "refused-record-not-in-log",
    source="Kafka documentation, topic configuration: min.insync.replicas; KAFKA-1555",
    basis=Basis.DOCUMENTATION,
)
def refused_record_not_in_log(evidence: RunEvidence) -> Judged:
    """A record that was refused because of min.insync.replicas has no place in the log.

    The records acknowledged before and after what was refused have offsets that follow each other: there is no room for
    it. Where a load writes too, or what came of another record is not known, that says nothing.
    """
    run, sends = evidence.run, evidence.run_state.sends
    producers = {process.name for process in run.of_kind("producer")}
    rows: list[dict[str, Any]] = []
    if producers <= {one.process for one in sends}:
        for key in dict.fromkeys((one.topic, one.partition) for one in sends):
            rows += _around([one for one in sends if (one.topic, one.partition) == key])
    wrong = [row for row in rows if row["offset_after"] != row["offset_before"] + 1]
    seen = plural(len(rows), "time") + " nothing between what was acknowledged before and after refusals"
    return judged(rows, wrong, seen, "no refusal stands between two acknowledged records")


def _around(sends: list[Sent]) -> Iterator[dict[str, Any]]:
    """The acknowledged records before and after refusals of a partition, if only refusals stand between them."""
    before: Sent | None = None
    refused: list[Sent] = []
    for one in sends:
        if one.error == REFUSED:
            refused.append(one)
        elif one.outcome == "acked" and one.offset is not None:
            if before is not None and refused:
                offsets = {"offset_before": before.offset, "offset_after": one.offset}
                yield _sent(refused[0]) | offsets | {"refused": len(refused)}
            before, refused = one, []
        else:
            before, refused = None, []
