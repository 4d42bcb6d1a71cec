"""Claims about an outage of ZooKeeper, or of KRaft's only controller.

It lasts from the fault's proof until the coordinator is started again, or continues. States from the time of the outage
have the writer's clock: ZooKeeper's states are read when it is back, with the time at which they were written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged, timed
from checks.claims.network.partitions import PAUSE_MS
from checks.claims.network.unavailability import longest_pause
from evidence.basis import Basis
from evidence.events import Broker, Controller, Event, Partition
from evidence.faults import DEATHS
from evidence.nodes import broker
from evidence.run_state import ALIVE
from evidence.text import plural

RESUMED_MS: Final = 10_000
"""From the end of an outage until the writes that it had stopped are acknowledged again, at most."""
ENDS: Final = (*DEATHS, "stop", "freeze")
"""Faults that take a node away."""


@dataclass(frozen=True, slots=True)
class _Outage:
    node: str
    begin_ns: int
    end_ns: int

    def row(self) -> dict[str, Any]:
        return {"node": self.node, "at_ns": self.begin_ns, "until_ns": self.end_ns}


def _outages(evidence: RunEvidence) -> Iterator[_Outage]:
    """When nobody kept the cluster's state: the only coordinator of the run was away."""
    run_state = evidence.run_state
    keepers = run_state.coordinators
    for fault in run_state.faults:
        if len(keepers) == 1 and fault.node == keepers[0] and fault.kind in ENDS and fault.proved_ns is not None:
            back_ns = fault.until_ns if fault.heal_ns is None else fault.heal_ns
            yield _Outage(fault.node, fault.proved_ns, min(back_ns, run_state.end_ns))


def _written_ns(event: Event) -> int:
    """When a state was written, by the run's clock: as its source says, or else when it was read."""
    source_ns = event.source_ns if isinstance(event, Partition) else None
    return event.at_ns if source_ns is None else event.at_ns - (event.wall_ns - source_ns)


@claim(
    "writes-go-on-without-coordinator",
    source="Kafka documentation, Design: replication; KIP-500",
    basis=Basis.DOCUMENTATION,
    bound=f"no wait is needed: a tolerance of {PAUSE_MS} ms for the machine",
    bound_source="Kafka documentation, Design: replication",
    bound_basis=Basis.DOCUMENTATION,
)
def writes_go_on_without_coordinator(evidence: RunEvidence) -> Judged:
    """While ZooKeeper or the only controller is down, and all other nodes are up, writes continue without a pause.

    Until the next fault a leader continues to acknowledge, as long as no state has to change.
    """
    rows = []
    for outage in _outages(evidence):
        later = [fault.inject_ns for fault in evidence.run_state.faults if fault.inject_ns > outage.begin_ns]
        until_ns = min([outage.end_ns, *later])
        for topic, number in evidence.run.assignment:
            pause = longest_pause(evidence, (topic, number), outage.begin_ns, until_ns)
            if pause is not None:
                row = outage.row() | {"topic": topic, "partition": number, "until_ns": until_ns}
                rows.append(row | {"at_ns": pause.at_ns, "took_ms": pause.ms, "bound_ms": PAUSE_MS})
    return timed(
        rows,
        lambda row: f"the longest pause of writes without {row['node']} was {row['took_ms'] / 1000:.2f} s",
        "nothing was written while the coordinator was away",
    )


@claim(
    "nothing-changes-without-coordinator",
    source="Kafka documentation, Design: replication; KIP-497, KIP-500",
    basis=Basis.DOCUMENTATION,
)
def nothing_changes_without_coordinator(evidence: RunEvidence) -> Judged:
    """While ZooKeeper or the only controller is down, no leader, ISR, controller or registration changes."""
    rows, wrong = [], []
    told = [event for event in evidence.run_state.events if isinstance(event, Partition | Broker | Controller)]
    for outage in _outages(evidence):
        changed = [event for event in told if outage.begin_ns < _written_ns(event) < outage.end_ns]
        rows.append(outage.row() | {"changes": [type(event).__name__ for event in changed]})
        wrong += rows[-1:] if changed else []
    return judged(rows, wrong, plural(len(rows), "outage") + " without a change", "the coordinator was never away")


@claim(
    "acks-all-waits-for-coordinator",
    source="Kafka documentation, Design: replication; KIP-497",
    basis=Basis.DOCUMENTATION,
)
def acks_all_waits_for_coordinator(evidence: RunEvidence) -> Judged:
    """A member of the ISR that dies while ZooKeeper or the only controller is down stays in the ISR: acks=all waits
    until the coordinator is back.
    """
    run_state, rows = evidence.run_state, list[dict[str, Any]]()
    for outage in _outages(evidence):
        killed = [
            one for one in run_state.faults if one.kind in DEATHS and outage.begin_ns < one.inject_ns < outage.end_ns
        ]
        for one in run_state.sends:
            state = run_state.state_at(one.topic, one.partition, outage.begin_ns)
            members = {broker(member) for member in state.isr} if state is not None else set()
            dead = [fault.node for fault in killed if fault.node in members and fault.inject_ns < one.sent_ns]
            if one.acks == "all" and dead and one.sent_ns < outage.end_ns:
                acked_ns = one.done_ns if one.outcome == "acked" else None
                record = {"topic": one.topic, "partition": one.partition, "producer": one.producer}
                record |= {"sequence": one.sequence, "outcome": one.outcome, "acked_ns": acked_ns}
                rows.append(outage.row() | record | {"dead": dead})
    wrong = [row for row in rows if row["acked_ns"] is not None and row["acked_ns"] < row["until_ns"]]
    seen = plural(len(rows), "record") + " with acks=all not acknowledged before it was back"
    return judged(rows, wrong, seen, "nobody sent with acks=all while a member of the ISR was dead too")


def _writes_with_dead_member(evidence: RunEvidence, until_ms: int) -> Iterator[dict[str, Any]]:
    """The longest pause of acks=1 from the death of a member of the ISR in an outage until so long after its end."""
    run_state = evidence.run_state
    acks = evidence.run.case_changes.acks
    for outage in _outages(evidence) if acks == "1" else ():
        for one in run_state.faults:
            if one.kind not in DEATHS or not outage.begin_ns < one.inject_ns < outage.end_ns:
                continue
            for (topic, number), state in (
                (key, run_state.state_at(*key, outage.begin_ns)) for key in run_state.states
            ):
                if state is not None and one.node in map(broker, state.isr) and one.node != broker(state.leader):
                    until_ns = outage.end_ns + until_ms * 1_000_000
                    pause = longest_pause(evidence, (topic, number), one.inject_ns, until_ns)
                    row = outage.row() | {"topic": topic, "partition": number, "dead": one.node}
                    yield from [row | {"at_ns": pause.at_ns, "took_ms": pause.ms}] if pause is not None else []


@claim(
    "writes-go-on-while-isr-cannot-shrink",
    source="KIP-497; Kafka sources, Partition.maybeShrinkIsr",
    basis=Basis.KIP,
    bound=f"no wait is needed: a tolerance of {PAUSE_MS} ms for the machine",
    bound_source="KIP-497",
    bound_basis=Basis.KIP,
)
def writes_go_on_while_isr_cannot_shrink(evidence: RunEvidence) -> Judged:
    """A leader still acknowledges acks=1 although a follower is dead and cannot be removed from the ISR."""
    rows = [row | {"bound_ms": PAUSE_MS} for row in _writes_with_dead_member(evidence, 0)]
    return timed(
        rows,
        lambda row: f"with {row['dead']} dead the longest pause of writes was {row['took_ms'] / 1000:.2f} s",
        "nobody wrote with acks=1 to a leader whose follower was dead",
    )


@claim(
    "writes-stop-while-isr-cannot-shrink",
    source="Partition.maybeShrinkIsr (2.6.2): the ISR is written to ZooKeeper under leaderIsrUpdateLock; KIP-497",
    basis=Basis.SOURCE,
)
def writes_stop_while_isr_cannot_shrink(evidence: RunEvidence) -> Judged:
    """Before KIP-497 a leader that cannot reach ZooKeeper stops taking records, even with acks=1, as soon as a follower
    has to leave the ISR. It holds the partition's lock while it tries to write the ISR. If several partitions have that
    follower, only the first one stops, because one thread writes all ISRs.
    """
    rows = [row | {"least_ms": PAUSE_MS} for row in _writes_with_dead_member(evidence, RESUMED_MS)]
    wrong = [row for row in rows if row["took_ms"] < row["least_ms"]]
    longest_s = max((row["took_ms"] for row in rows), default=0) / 1000
    seen = f"writes stopped for {longest_s:.2f} s at a leader that could not shrink its ISR"
    return judged(rows, wrong, seen, "nobody wrote with acks=1 to a leader whose follower was dead")


@claim(
    "sessions-outlast-coordinator",
    source="ZooKeeper, SessionTrackerImpl (3.4 to 3.8); BrokerHeartbeatManager (3.9.2, 4.3.1)",
    basis=Basis.SOURCE,
)
def sessions_outlast_coordinator(evidence: RunEvidence) -> Judged:
    """Live brokers stay registered through the death of ZooKeeper or of the only controller: when it starts, each
    session gets its full time again.

    A broker that lives through the outage stays registered, then and until the next fault.
    """
    run_state, rows, wrong = evidence.run_state, list[dict[str, Any]](), list[dict[str, Any]]()
    for outage in _outages(evidence):
        later = [one.inject_ns for one in run_state.faults if one.inject_ns > outage.end_ns and not one.starts]
        until_ns = min([run_state.end_ns, *later])
        strikes = {fault.node for fault in run_state.faults if outage.begin_ns <= fault.inject_ns < until_ns}
        for node, intervals in run_state.registrations.items():
            held = [one for one in intervals if one.value == ALIVE and one.begin_ns <= outage.begin_ns < one.end_ns]
            for one in held if node not in strikes else ():
                rows.append(outage.row() | {"broker": node, "registered_until_ns": one.end_ns})
                wrong += rows[-1:] if one.end_ns < until_ns else []
    return judged(rows, wrong, plural(len(rows), "broker") + " still registered", "the coordinator was never away")
