"""Claims about replicas that are moved between the log directories of one broker (KIP-113).

What was asked for and where the replica lay is in the timeline: the harness looks at the brokers' files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, faults, judged
from evidence.basis import Basis
from evidence.events import MoveReplica, ReplicaPlace, of
from evidence.faults.process import KillProof
from evidence.nodes import number_of
from evidence.run_state import RunState
from evidence.text import plural

NOTHING: Final = "no replica was to be moved to another directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """A move that was asked for of a replica that lay elsewhere, and where it was seen from then until the next."""

    asked: MoveReplica
    looks: tuple[ReplicaPlace, ...]

    @property
    def moved_ns(self) -> int | None:
        """When it was first seen where it was to go, with nothing being copied."""
        return next((one.at_ns for one in self.looks if self._is_there(one)), None)

    @property
    def stayed(self) -> bool:
        """Whether it was there at the last look too."""
        return bool(self.looks) and self._is_there(self.looks[-1])

    def _is_there(self, one: ReplicaPlace) -> bool:
        return one.directory == self.asked.directory and one.future is None

    def copying_before(self, at_ns: int) -> bool:
        """Whether the last look before a time saw a part of a copy, and the replica elsewhere."""
        before = [one for one in self.looks if one.at_ns < at_ns]
        return bool(before) and before[-1].future == self.asked.directory and before[-1].future_bytes > 0

    def row(self) -> dict[str, Any]:
        last = self.looks[-1] if self.looks else None
        return {
            "node": self.asked.node,
            "topic": self.asked.topic,
            "partition": self.asked.partition,
            "at_ns": self.asked.at_ns,
            "directory": self.asked.directory,
            "lies_in": last.directory if last else None,
            "copied_to": last.future if last else None,
            "took_ms": None if self.moved_ns is None else elapsed_ms(self.asked.at_ns, self.moved_ns),
        }


def _moves(run_state: RunState) -> Iterator[_Move]:
    every = of(run_state.events, MoveReplica)
    for asked in every:
        whose = (asked.node, asked.topic, asked.partition)
        later = (one.at_ns for one in every if (one.node, one.topic, one.partition) == whose)
        until_ns = min((at_ns for at_ns in later if at_ns > asked.at_ns), default=run_state.end_ns + 1)
        looks = [one for one in of(run_state.events, ReplicaPlace) if (one.node, one.topic, one.partition) == whose]
        before = [one for one in looks if one.at_ns <= asked.at_ns]
        if before and before[-1].directory != asked.directory:
            yield _Move(asked=asked, looks=tuple(one for one in looks if asked.at_ns < one.at_ns < until_ns))


@claim("replica-moves-between-directories", source="KIP-113", basis=Basis.KIP)
def replica_moves_between_directories(evidence: RunEvidence) -> Judged:
    """A replica that is moved to another log directory of its broker ends there, and in no other."""
    moves = list(_moves(evidence.run_state))
    wrong = [move.row() for move in moves if not move.stayed]
    return judged([move.row() for move in moves], wrong, plural(len(moves), "replica") + " moved", NOTHING)


@claim("moving-replica-stays-in-sync", source="KIP-113", basis=Basis.KIP)
def moving_replica_stays_in_sync(evidence: RunEvidence) -> Judged:
    """A replica stays in the ISR while it is moved to another log directory. If it was the leader it stays that too.

    From the asking until it was seen there; in moves during which no fault struck its broker.
    """
    rows, wrong = [], []
    for move in _moves(evidence.run_state):
        where, number = (move.asked.topic, move.asked.partition), number_of(move.asked.node)
        begun = evidence.run_state.state_at(*where, move.asked.at_ns)
        end_ns = move.moved_ns or evidence.run_state.end_ns
        struck = any(
            fault.node == move.asked.node and move.asked.at_ns < fault.inject_ns < end_ns
            for fault in evidence.run_state.faults
        )
        if begun is None or struck:
            continue
        later = [one for one in evidence.run_state.states[where] if move.asked.at_ns < one.at_ns <= end_ns]
        rows.append(move.row() | {"led": begun.leader == number, "states": len(later)})
        if any(number not in one.isr or (begun.leader == number) != (one.leader == number) for one in later):
            wrong += rows[-1:]
    return judged(rows, wrong, plural(len(rows), "replica") + " in sync while it was moved", NOTHING)


@claim(
    "move-outlasts-kill",
    source="KIP-113; ReplicaManager.becomeLeaderOrFollower: future replicas (1.1.1 to 3.0.0)",
    basis=Basis.KIP,
)
def move_outlasts_kill(evidence: RunEvidence) -> Judged:
    """A broker that is killed while it copies a replica to another log directory ends the move when it is back, without
    being asked again.
    """
    rows, wrong = [], []
    for move in _moves(evidence.run_state):
        for kill in faults(evidence.run_state, KillProof):
            if kill.node == move.asked.node and move.copying_before(kill.inject_ns):
                rows.append(move.row() | {"killed_ns": kill.inject_ns})
                done = move.stayed and (move.moved_ns or 0) > kill.inject_ns
                wrong += [] if done else rows[-1:]
    seen = plural(len(rows), "move") + " ended after a kill half way"
    return judged(rows, wrong, seen, "no broker was killed while it copied a replica")
