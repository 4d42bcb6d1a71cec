"""Claims about leaders and controllers: who is elected, when, in which epoch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from evidence.claims.basis import Claim, Judged, Witness, count, judged
from evidence.course import Course
from evidence.events import NO_LEADER, Partition


def _elections(course: Course) -> Iterator[tuple[Partition, Partition]]:
    """The states before and after each change of a partition's leader, as far as both were seen.

    With ZooKeeper a state's version counts by one, so a gap tells of states that nobody saw.
    """
    for states in course.states.values():
        for before, after in pairwise(states):
            whole = after.source != "zookeeper" or (before.version or 0) + 1 == after.version
            if before.leader != after.leader and whole:
                yield before, after


def _election(before: Partition, after: Partition) -> dict[str, Any]:
    return {
        "topic": after.topic,
        "partition": after.partition,
        "at_ns": after.at_ns,
        "leader": after.leader,
        "leader_before": before.leader,
        "leader_epoch": after.leader_epoch,
        "leader_epoch_before": before.leader_epoch,
        "isr_before": list(before.isr),
    }


def leader_epoch_rises_by_one(witness: Witness) -> Judged:
    """At each change of leader, to nobody too, the leader epoch is the one before and one more."""
    rows = [_election(before, after) for before, after in _elections(witness.course)]
    wrong = [row for row in rows if row["leader_epoch"] != row["leader_epoch_before"] + 1]
    return judged(rows, wrong, count(len(rows), "change") + " of leader", "no leader changed")


def leader_elected_from_isr(witness: Witness) -> Judged:
    """Whoever is elected was in the ISR (or eligible, KIP-966) when the leader before it went."""
    elections = [(b, a) for b, a in _elections(witness.course) if a.leader != NO_LEADER]
    rows = [_election(before, after) for before, after in elections]
    wrong = [_election(b, a) for b, a in elections if a.leader not in (*b.isr, *(b.elr or ()))]
    return judged(rows, wrong, count(len(rows), "leader") + " elected", "no leader was elected")


# Controllers


def one_controller_at_a_time(witness: Witness) -> Judged:
    """Each controller has an epoch of its own, higher than that of any before it."""
    stated = [one for one in witness.course.controllers if one.value]
    rows: list[dict[str, Any]] = [
        {"controller": one.value, "epoch": int(one.detail.rpartition(" ")[2]), "at_ns": one.begin_ns} for one in stated
    ]
    wrong = [
        after | {"controller_before": before["controller"], "epoch_before": before["epoch"]}
        for before, after in pairwise(rows)
        if after["controller"] != before["controller"] and after["epoch"] <= before["epoch"]
    ]
    return judged(rows, wrong, count(len(rows), "controller") + " in turn", "nobody was controller")


CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        name="leader-epoch-rises-by-one",
        says="At each change of a partition's leader its leader epoch rises by exactly one.",
        source="KIP-101; Kafka documentation, Design: replication",
        judge=leader_epoch_rises_by_one,
    ),
    Claim(
        name="leader-elected-from-isr",
        says="Every leader that is elected was in the ISR before its election (clean elections).",
        source="Kafka documentation, Design: replication; KIP-966",
        judge=leader_elected_from_isr,
    ),
    Claim(
        name="one-controller-at-a-time",
        says="There is one controller at a time, and each has a higher epoch than the one before.",
        source="Kafka documentation, Design: replication; KIP-500",
        judge=one_controller_at_a_time,
    ),
)
