"""Claims about replicas that move between log directories, each shown, contradicted, and not observed."""

from __future__ import annotations

from typing import Final

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import End, Event, Fault, FaultPhase, MoveReplica, Partition, ReplicaPlace, Target
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

Timed = tuple[float, Event]
ONE, TWO = "/data/kafka", "/data/second/kafka"


def lies(directory: str | None, future: str | None = None, future_bytes: int = 5) -> ReplicaPlace:
    return ReplicaPlace(
        node="broker-1",
        topic="t",
        partition=0,
        directory=directory,
        bytes=9,
        future=future,
        future_bytes=future_bytes if future else 0,
    )


def state(second: float, leader: int, *isr: int) -> Timed:
    return (second, Partition(source="kraft", topic="t", partition=0, leader=leader, leader_epoch=0, isr=isr))


def kill(second: float, node: str = "broker-1") -> list[Timed]:
    def phase(name: FaultPhase) -> Fault:
        return Fault(fault_kind="kill", id=f"f{second}", phase=name, target=Target(node=node), description="kill")

    return [(second, phase("inject")), (second + 0.1, phase("verified"))]


ASKED: Final[list[Timed]] = [
    state(1, 1, 1, 2),
    (9, lies(ONE)),
    (10, MoveReplica(node="broker-1", topic="t", partition=0, directory=TWO)),
]
MOVED: Timed = (20, lies(TWO))
END: Timed = (60, End(run="r", lines=9))


def outcomes(*events: Timed) -> tuple[str, str, str]:
    told = tuple(at(int(second * 1e9), event) for second, event in sorted([*events, END], key=lambda one: one[0]))
    evidence = RunEvidence(run=run_record({}), run_state=RunState(told))
    names = ("replica-moves-between-directories", "moving-replica-stays-in-sync", "move-outlasts-kill")
    moves, stays, outlasts = (claims.judge(name, evidence).outcome for name in names)
    return moves, stays, outlasts


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*ASKED, MOVED], (HELD, HELD, NOT_OBSERVED)),
        ([*ASKED, (15, lies(ONE, TWO)), MOVED], (HELD, HELD, NOT_OBSERVED)),
        ([*ASKED, (20, lies(ONE))], (CONTRADICTED, HELD, NOT_OBSERVED)),
        ([*ASKED, (20, lies(TWO, ONE))], (CONTRADICTED, HELD, NOT_OBSERVED)),
        ([*ASKED, MOVED, (30, lies(ONE))], (CONTRADICTED, HELD, NOT_OBSERVED)),
        ([*ASKED, state(15, 1, 1), MOVED], (HELD, HELD, NOT_OBSERVED)),
        ([*ASKED, state(15, 2, 2), MOVED], (HELD, CONTRADICTED, NOT_OBSERVED)),
        ([*ASKED, state(15, 2, 1, 2), MOVED], (HELD, CONTRADICTED, NOT_OBSERVED)),
        ([*ASKED, MOVED, state(25, 2, 2)], (HELD, HELD, NOT_OBSERVED)),
        ([*ASKED, (12, lies(ONE, TWO)), *kill(13), state(15, 2, 2), MOVED], (HELD, NOT_OBSERVED, HELD)),
        ([*ASKED, (12, lies(ONE, TWO)), *kill(13), (20, lies(ONE, TWO))], (CONTRADICTED, NOT_OBSERVED, CONTRADICTED)),
        ([*ASKED, (12, lies(ONE, TWO, 0)), *kill(13), MOVED], (HELD, NOT_OBSERVED, NOT_OBSERVED)),
        ([*ASKED, (12, lies(ONE, TWO)), *kill(13, "broker-2"), MOVED], (HELD, HELD, NOT_OBSERVED)),
        ([*ASKED, MOVED, *kill(25)], (HELD, HELD, NOT_OBSERVED)),
        ([ASKED[0], (9, lies(TWO)), ASKED[2], MOVED], (NOT_OBSERVED, NOT_OBSERVED, NOT_OBSERVED)),
    ],
    ids=[
        "moved",
        "in two steps",
        "never",
        "back again",
        "moved and gone",
        "another leaves the ISR",
        "it leaves the ISR",
        "it leads no more",
        "leaves later",
        "killed half way",
        "killed and never moved",
        "killed before anything was copied",
        "another killed",
        "killed afterwards",
        "it lay there before",
    ],
)
def test_a_replica_that_is_moved(events: list[Timed], expected: tuple[str, str, str]) -> None:
    assert outcomes(*events) == expected


def test_asked_again_it_has_not_outlasted_the_kill() -> None:
    again = (14.0, MoveReplica(node="broker-1", topic="t", partition=0, directory=TWO))
    events = [*ASKED, (12.0, lies(ONE, TWO)), *kill(13), (13.5, lies(ONE, TWO)), again, MOVED]
    assert outcomes(*events)[2] == CONTRADICTED
