"""Claims about a cluster in which nothing happens: leaders stay, and the ISR stays whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from checks.claim import NOT_OBSERVED, Judged, RunEvidence, claim
from checks.claims import spontaneous
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import NO_LEADER, Partition
from evidence.records import TopicPartition
from evidence.text import plural


@claim("leaders-stay", source="Kafka documentation, Design: replication", basis=Basis.DOCUMENTATION)
def leaders_stay(evidence: RunEvidence) -> Judged:
    """The first leader of a partition leads it to the end of the run, in the same leader epoch.

    Nothing is said if all that may have ended a leadership is a machine that was busy, or stood still, for as long as
    half a session. If nobody leads then, that goes for whoever leads next.
    """
    return _judged(
        evidence,
        lambda before, after: (before.leader, before.leader_epoch) != (after.leader, after.leader_epoch),
        evidence.run_state.states,
        "with one leader",
        "the cluster stated nothing",
    )


@claim(
    "isr-stays-whole",
    source="Kafka documentation, Design: replication; broker configuration: replica.lag.time.max.ms",
    basis=Basis.DOCUMENTATION,
)
def isr_stays_whole(evidence: RunEvidence) -> Judged:
    """From when all replicas of a partition are in sync on, all are to the end of the run.

    Nothing is said if all that may have taken one out of the ISR is a machine that was busy, or stood still, for as
    long as half a session, or half of replica.lag.time.max.ms.
    """
    return _judged(
        evidence,
        lambda before, after: not set(before.isr) <= set(after.isr),
        dict(_from_whole(evidence)),
        "whose ISR stayed whole",
        "no state had all replicas in sync",
    )


def _from_whole(evidence: RunEvidence) -> Iterator[tuple[TopicPartition, Sequence[Partition]]]:
    """The states of each partition of the run's topics from that on in which all replicas are in sync."""
    for where, replicas in evidence.run.assignment.items():
        states = evidence.run_state.states.get(where, ())
        whole = (number for number, state in enumerate(states) if set(replicas) <= set(state.isr))
        if (first := next(whole, None)) is not None:
            yield where, states[first:]


def _judged(
    evidence: RunEvidence,
    differs: Callable[[Partition, Partition], bool],
    partitions: Mapping[TopicPartition, Sequence[Partition]],
    stayed: str,
    nothing: str,
) -> Judged:
    """What became of partitions; of those of the run's topics that are not among them nobody knows."""
    held_up = spontaneous.by_machine(evidence.run_state, evidence.run)
    follows = [one for states in partitions.values() for one in _changes(states, held_up) if differs(*one[:2])]
    changed = [after for _, after, _ in follows]
    wrong = [after for _, after, by_machine in follows if not by_machine]
    if changed and not wrong:
        what = plural(len(changed), "change")
        return Judged(outcome=NOT_OBSERVED, observed=f"the machine may be the reason of {what}, and of no more")
    if partitions and not wrong and (unseen := evidence.run.assignment.keys() - partitions.keys()):
        return Judged(outcome=NOT_OBSERVED, observed=f"of {plural(len(unseen), 'partition')} {nothing}")
    rows = [_row(states[-1]) for states in partitions.values()]
    return judged(rows, [_row(one) for one in wrong], f"{plural(len(rows), 'partition')} {stayed}", nothing)


def _changes(
    states: Sequence[Partition], held_up: Collection[tuple[TopicPartition | None, int]]
) -> Iterator[tuple[Partition, Partition, bool]]:
    """Each state of a partition with that before it, and whether the machine may be the reason that it came: where
    nobody led, it is if it is the reason that nobody did.
    """
    by_machine = False
    for before, after in pairwise(states):
        told = ((after.topic, after.partition), after.at_ns) in held_up
        by_machine = told or (by_machine and before.leader == NO_LEADER)
        yield before, after, by_machine


def _row(state: Partition) -> dict[str, Any]:
    about = {"topic": state.topic, "partition": state.partition, "at_ns": state.at_ns}
    return about | {"leader": state.leader, "leader_epoch": state.leader_epoch, "isr": list(state.isr)}
