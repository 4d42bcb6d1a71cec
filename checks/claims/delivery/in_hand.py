"""What members of a group may process again, or skip, however often they die and lose their partitions.

A member has inputs in its hand from the poll that returned them until it has committed or processed them. What it
loses there is the whole of what a crash, or a rebalance, can do to inputs: the next owner begins with the committed
offset. So the sum of what was in hand bounds a run in which many members die.

A member that commits first has committed all that it has processed, so nobody processes that again.

A stay is the time from one moment at which a member is given a partition to the next such moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checks.anomaly import DELIVERY
from checks.claim import HandedOver, Judged, MemberCommit, Processing, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import CrashPoint, of
from evidence.faults.clients import KillClientProof
from evidence.history.outcomes import OK
from evidence.text import plural

NAMED: Final = 20
"""Inputs that a row names."""
NOTHING: Final = "no member stood at a crash point, or nobody read its inputs and their outputs to the ends"


@dataclass(frozen=True, slots=True)
class Stay:
    """What a member was given, and what it committed, while it had a partition."""

    process: str
    polls: Sequence[HandedOver]
    commits: Sequence[MemberCommit]

    @property
    def uncommitted(self) -> frozenset[int]:
        """The inputs that it was given, and no acknowledged commit of its own lies beyond."""
        committed = max((one.offset for one in self.commits if one.outcome == OK), default=0)
        return frozenset(offset for poll in self.polls for offset in poll.offsets if offset >= committed)

    @property
    def last(self) -> HandedOver:
        return self.polls[-1]


def stays(evidence: RunEvidence, topic: str, partition: int) -> list[Stay]:
    """Every stay of a member with a partition in which it was given inputs."""
    changes = [one for one in evidence.member_changes(topic, partition) if one.given]

    def stay_of(process: str, at_ns: int) -> tuple[str, int]:
        return process, sum(one.process == process and one.at_ns <= at_ns for one in changes)

    polls: dict[tuple[str, int], list[HandedOver]] = {}
    commits: dict[tuple[str, int], list[MemberCommit]] = {}
    for poll in evidence.handed_over(topic, partition):
        polls.setdefault(stay_of(poll.process, poll.at_ns), []).append(poll)
    for commit in evidence.member_commits(topic, partition):
        commits.setdefault(stay_of(commit.process, commit.invoked_ns), []).append(commit)
    return [Stay(stay[0], given, commits.get(stay, ())) for stay, given in polls.items()]


def _of_members(evidence: RunEvidence) -> Iterator[tuple[tuple[str, int], Processing, list[Stay]]]:
    """Each partition of inputs in which a member stood at a crash point: what became of its inputs, and the stays."""
    points = of(evidence.run_state.events, CrashPoint)
    for where in sorted({(one.topic, one.partition) for one in points}):
        found = stays(evidence, *where)
        processing = evidence.processing(*where) if found else None
        if processing is not None:
            yield where, processing, found


def _row(
    where: tuple[str, int], processing: Processing, beyond: Iterable[int], seen: int, bound: int
) -> dict[str, Any]:
    """A row of evidence: how many were `seen`, how many were in hand at most, and those `beyond`."""
    outside = sorted(beyond)
    return {
        "topic": where[0],
        "partition": where[1],
        "inputs": len(processing.inputs),
        "count": seen,
        "in_hand": bound,
        "not_in_hand": outside[:NAMED],
        "not_in_hand_count": len(outside),
    }


@claim("repeats-no-more-than-was-in-hand", source=DELIVERY, basis=Basis.DOCUMENTATION)
def repeats_no_more_than_was_in_hand(evidence: RunEvidence) -> Judged:
    """An input is processed again at most as often as a member lost its partition, or its life, with that input handed
    over and not committed.

    Asked of the partitions in which a member stood at a crash point. Committed is what the coordinator acknowledged to
    that member during the same stay. How often an input was processed is what is in the output.
    """
    rows: list[dict[str, Any]] = []
    for where, processing, found in _of_members(evidence):
        in_hand = Counter(offset for stay in found for offset in stay.uncommitted)
        again = {offset: len(made) - 1 for offset, made in processing.outputs.items() if len(made) > 1}
        beyond = [offset for offset, times in again.items() if times > in_hand[offset]]
        rows.append(_row(where, processing, beyond, sum(again.values()), in_hand.total()))
    return _told(rows, "processed again")


@claim("commit-first-repeats-none", source=DELIVERY, basis=Basis.DOCUMENTATION)
def commit_first_repeats_none(evidence: RunEvidence) -> Judged:
    """An application that commits, and then processes, processes no input twice, whatever becomes of its members.

    Asked of the partitions in which a member stood at a crash point: a member processes what it has committed, and who
    gets the partition next begins behind that. How often an input was processed is what is in the output.
    """
    rows: list[dict[str, Any]] = []
    for where, processing, _ in _of_members(evidence):
        again = {offset: len(made) - 1 for offset, made in processing.outputs.items() if len(made) > 1}
        rows.append(_row(where, processing, again, sum(again.values()), 0))
    return _told(rows, "processed again")


@claim("skips-no-more-than-was-in-hand", source=DELIVERY, basis=Basis.DOCUMENTATION)
def skips_no_more_than_was_in_hand(evidence: RunEvidence) -> Judged:
    """The inputs that are never processed are among those that the last poll of a member had returned when it was
    killed.

    For programs that commit, and then process, poll by poll. Asked of the partitions in which a member stood at a crash
    point. What is processed is in the output.
    """
    killed = {name for fact, _ in evidence.run_state.proved(KillClientProof) for name in fact.nodes}
    rows: list[dict[str, Any]] = []
    for where, processing, found in _of_members(evidence):
        last: dict[str, HandedOver] = {}
        for stay in found:
            if stay.process in killed and (stay.process not in last or stay.last.at_ns > last[stay.process].at_ns):
                last[stay.process] = stay.last
        in_hand = frozenset(offset for poll in last.values() for offset in poll.offsets)
        rows.append(_row(where, processing, processing.skipped - in_hand, len(processing.skipped), len(in_hand)))
    return _told(rows, "never processed")


def _told(rows: Sequence[dict[str, Any]], what: str) -> Judged:
    wrong = [row for row in rows if row["not_in_hand_count"]]
    count, bound, inputs = (sum(row[name] for row in rows) for name in ("count", "in_hand", "inputs"))
    outside = sum(row["not_in_hand_count"] for row in rows)
    more = f", {plural(outside, 'input')} of them without having been in hand" if outside else ""
    observed = f"of {plural(inputs, 'input')} {count} {what}{more}, at most {bound} owed"
    return judged(rows, wrong, observed, NOTHING)
