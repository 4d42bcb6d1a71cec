"""Claims about a leader that has lost only ZooKeeper, or only KRaft's controllers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import (
    ELECTION_MS,
    SESSION_BOUND,
    elapsed_ms,
    judged,
    known_alone,
    session_bound_ms,
    session_ms,
    timed,
)
from evidence.basis import Basis
from evidence.nodes import broker
from evidence.run_state import FaultFact, Sent
from evidence.text import plural


def _isolated(evidence: RunEvidence) -> Iterator[tuple[FaultFact, str, str, int, int | None]]:
    """Each cut of a broker from those who decide alone: the fault, the broker's node, each partition that it led then,
    and when another led that (None: nobody did).
    """
    run_state = evidence.run_state
    for fault in run_state.faults:
        nodes = fault.nodes
        brokers = [node for node in nodes if node.startswith("broker-")]
        if fault.kind != "cut" or fault.proved_ns is None or len(brokers) != 1 or len(nodes) == 1:
            continue
        for (topic, partition), states in run_state.states.items():
            led = run_state.state_at(topic, partition, fault.inject_ns)
            if led is not None and broker(led.leader) == brokers[0]:
                others = (s.at_ns for s in states if s.at_ns > fault.inject_ns and s.leader not in (-1, led.leader))
                yield fault, brokers[0], topic, partition, next(others, None)


@claim(
    "isolated-leader-replaced-in-time",
    source="Kafka documentation, Design: replication; broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms",
    basis=Basis.DOCUMENTATION,
    bound=f"{SESSION_BOUND}, and {ELECTION_MS} ms for the election, whose time is not documented",
    bound_source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms; of elections nothing is documented, and 3 s are more than was "
    "seen",
    bound_basis=Basis.MEASURED,
)
def isolated_leader_replaced_in_time(evidence: RunEvidence) -> Judged:
    """A leader that is cut off only from ZooKeeper or KRaft's controllers is replaced when its session expires."""
    rows = []
    for fault, node, topic, partition, replaced_ns in _isolated(evidence):
        limit_ms = session_ms(evidence.run, node)
        if replaced_ns is None or limit_ms is None:
            continue
        took_ms = max(0.0, elapsed_ms(fault.whole_ns, replaced_ns))
        row = {"node": node, "topic": topic, "partition": partition, "at_ns": fault.inject_ns, "took_ms": took_ms}
        rows.append(row | {"bound_ms": session_bound_ms(limit_ms) + ELECTION_MS})
    return timed(
        rows,
        lambda row: (
            f"{row['topic']}-{row['partition']} had another leader {row['took_ms'] / 1000:.1f} s after the cut "
            f"of {row['node']}"
        ),
        "no leader was cut from those who decide alone, or nobody took its place",
    )


def _sent_to_the_old_leader(evidence: RunEvidence, acks: str) -> Iterator[tuple[Sent, str]]:
    """What clients that know an isolated leader alone sent to it while another led, and that leader."""
    alone = known_alone(evidence.run)
    for fault, node, topic, partition, replaced_ns in _isolated(evidence):
        until_ns = fault.heal_ns or evidence.run_state.end_ns
        for sent in evidence.run_state.sends if replaced_ns is not None else ():
            meanwhile = (replaced_ns or 0) < sent.sent_ns < until_ns
            if (
                alone.get(sent.process) == node
                and meanwhile
                and (sent.topic, sent.partition, sent.acks) == (topic, partition, acks)
            ):
                yield sent, node


def _rows(evidence: RunEvidence, acks: str) -> list[dict[str, Any]]:
    return [
        {"node": node, "process": sent.process, "producer": sent.producer, "sequence": sent.sequence}
        | {"at_ns": sent.sent_ns, "outcome": sent.outcome, "offset": sent.offset, "error": sent.error}
        for sent, node in _sent_to_the_old_leader(evidence, acks)
    ]


@claim(
    "replaced-leader-acknowledges-acks-1",
    source="Kafka documentation, Design: replication; KIP-966",
    basis=Basis.DOCUMENTATION,
)
def replaced_leader_acknowledges_acks_1(evidence: RunEvidence) -> Judged:
    """A leader that is replaced without knowing it still acknowledges acks=1 to clients that know no other leader."""
    rows = _rows(evidence, "1")
    wrong = [row for row in rows if row["outcome"] != "acked"]
    return judged(rows, wrong, plural(len(rows), "record") + " sent to it", "nothing was sent to it with acks=1")


@claim(
    "replaced-leader-acknowledges-no-acks-all",
    source="Kafka documentation, Design: replication; producer configuration: acks; KIP-966",
    basis=Basis.DOCUMENTATION,
)
def replaced_leader_acknowledges_no_acks_all(evidence: RunEvidence) -> Judged:
    """A leader that is replaced without knowing it acknowledges nothing with acks=all."""
    rows = _rows(evidence, "all")
    wrong = [row for row in rows if row["outcome"] == "acked"]
    return judged(rows, wrong, plural(len(rows), "record") + " sent to it", "nothing was sent to it with acks=all")
