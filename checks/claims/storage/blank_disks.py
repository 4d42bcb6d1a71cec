"""Claims about a broker that comes back with its id and a blank disk: what becomes of the replicas that it had."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import faults, judged
from evidence.basis import Basis
from evidence.events import NO_LEADER, Moment, Partition, of
from evidence.faults.files import WipeProof
from evidence.faults.process import StartProof
from evidence.nodes import broker, number_of
from evidence.text import plural

FINAL: Final = "final"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Blank:
    """A replica whose broker came back without it."""

    broker: int
    topic: str
    partition: int
    at_ns: int
    """When the broker was started again."""
    in_isr: bool
    """Whether it was in the ISR then."""
    elected: Partition | None
    """The first leader that was elected then."""
    back: Partition | None
    """The first state with the replica in the ISR again, after one without it."""

    @property
    def row(self) -> dict[str, Any]:
        return {
            "node": broker(self.broker),
            "topic": self.topic,
            "partition": self.partition,
            "at_ns": self.at_ns,
            "in_isr": self.in_isr,
            "elected": self.elected.leader if self.elected else None,
            "back_ns": self.back.at_ns if self.back else None,
        }


def _blanks(evidence: RunEvidence) -> Iterator[_Blank]:
    run_state = evidence.run_state
    for wipe, proof in run_state.proved(WipeProof):
        starts = (one for one in faults(run_state, StartProof) if one.node == wipe.node)
        start = next((one for one in starts if one.inject_ns > wipe.inject_ns), None)
        if start is None:
            continue
        number = number_of(wipe.node)
        for (topic, partition), states in run_state.states.items():
            before = run_state.state_at(topic, partition, start.inject_ns)
            if before is None or f"{topic}-{partition}" not in proof.logs_before:
                continue
            after = [state for state in states if state.at_ns > start.inject_ns]
            later = [s for s in after if s.leader != NO_LEADER and s.leader_epoch > before.leader_epoch]
            isrs = pairwise([before.isr, *(state.isr for state in after)])
            returns = (two for two, (old, new) in zip(after, isrs, strict=True) if number in new and number not in old)
            yield _Blank(
                broker=number,
                topic=topic,
                partition=partition,
                at_ns=start.inject_ns,
                in_isr=number in before.isr,
                elected=later[0] if later else None,
                back=next(returns, None),
            )


@claim("blank-replica-refilled", source="Kafka documentation, Design: replication", basis=Basis.DOCUMENTATION)
def blank_replica_refilled(evidence: RunEvidence) -> Judged:
    """A replica out of the ISR whose broker comes back with a blank disk is filled from the leader, and joins the ISR
    with all of its log.
    """
    final = next((one for one in reversed(of(evidence.run_state.events, Moment)) if one.label == FINAL), None)
    rows, wrong = [], []
    for blank in _blanks(evidence):
        name = f"{blank.topic}-{blank.partition}"
        ends = {node: held[name].leo for node, held in (final.nodes if final else {}).items() if name in held}
        if blank.in_isr or len(ends) < 2:
            continue
        own = ends.get(broker(blank.broker))
        rows.append(blank.row | {"log_end": own, "log_ends": ends})
        wrong += rows[-1:] if blank.back is None or own is None or set(ends.values()) != {own} else []
    return judged(rows, wrong, plural(len(rows), "replica") + " refilled", "no replica out of the ISR came back blank")


def _last_in_sync(evidence: RunEvidence) -> list[dict[str, Any]]:
    """The elections of partitions whose last replica in sync had come back blank."""
    rows = []
    for blank in _blanks(evidence):
        states = evidence.run_state.states[blank.topic, blank.partition]
        last = next((state.isr for state in reversed(states) if state.isr and state.at_ns <= blank.at_ns), ())
        rows += [blank.row | {"last_isr": list(last)}] if blank.elected and last == (blank.broker,) else []
    return rows


@claim("blank-replica-elected", source="KIP-966: motivation", basis=Basis.KIP)
def blank_replica_elected(evidence: RunEvidence) -> Judged:
    """The last replica in the ISR is elected when its broker comes back, though with a blank disk."""
    rows = _last_in_sync(evidence)
    wrong = [row for row in rows if broker(row["elected"]) != row["node"]]
    return judged(rows, wrong, plural(len(rows), "election"), "no replica that was the last in sync came back blank")


@claim("blank-replica-passed-over", source="KIP-966: unclean shutdown of an eligible leader replica", basis=Basis.KIP)
def blank_replica_passed_over(evidence: RunEvidence) -> Judged:
    """The last replica in the ISR is not elected if its broker comes back with a blank disk and another is eligible."""
    rows = _last_in_sync(evidence)
    wrong = [row for row in rows if broker(row["elected"]) == row["node"]]
    return judged(rows, wrong, plural(len(rows), "election"), "no replica that was the last in sync came back blank")
