"""Claims about the threads of brokers, each on a history that shows it, one that contradicts it, and one of nothing.

The controller is killed at second 10 and started at second 20, or broker 1 is cut from it meanwhile.
"""

from __future__ import annotations

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Container, Note, ThreadTime
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.checks.test_outage_claims import killed
from tests.unit.checks.test_partition_claims import SECOND, Timed, cut
from tests.unit.timelines import at

CONTROLLER = "controller-101"
DEAD = killed(10, CONTROLLER, "f1", start=20)
CUT = cut(10, 20, ("broker-1", CONTROLLER))


def outcome_of(name: str, *events: Timed) -> str:
    """How a claim comes out of these events, in a minute for which the controller runs but where they say otherwise."""
    runs, end = Container(node=CONTROLLER, action="start"), Note(text="the end")
    order = sorted([(0.0, runs), *events, (60.0, end)], key=lambda one: one[0])
    run_state = RunState(tuple(at(int(second * SECOND), event) for second, event in order))
    return claims.judge(name, RunEvidence(run=run_record({"mode": "kraft"}), run_state=run_state)).outcome


def thread(begin_s: float, end_s: float, share: float, *, waiting_s: float = 0.0, node: str = "broker-1") -> Timed:
    """A thread that ran for a share of the time in which it had a processor or wanted none."""
    running_ns = int(share * (end_s - begin_s - waiting_s) * SECOND)
    seen = ThreadTime(
        node=node,
        thread=f"kafka-{node[-1]}-raft-io",
        begin_ns=int(begin_s * SECOND),
        elapsed_ns=int((end_s - begin_s) * SECOND),
        running_ns=running_ns,
        waiting_ns=int(waiting_s * SECOND),
    )
    return (end_s, seen)


BUSY, IDLE = thread(14, 19, 0.9), thread(14, 19, 0.02)


@pytest.mark.parametrize("away", [DEAD, CUT], ids=["killed", "cut"])
@pytest.mark.parametrize(
    ("watched", "spins", "waits"),
    [
        ([BUSY], HELD, CONTRADICTED),
        ([IDLE], CONTRADICTED, HELD),
        ([thread(14, 19, 0.9, waiting_s=4.5)], HELD, CONTRADICTED),
        ([thread(11, 19, 0.9)], NOT_OBSERVED, NOT_OBSERVED),
        ([thread(14, 21, 0.9)], NOT_OBSERVED, NOT_OBSERVED),
        ([thread(1, 9, 0.9)], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["busy", "idle", "a busy machine", "too soon", "until it was back", "before"],
)
def test_a_broker_that_reaches_no_controller(away: list[Timed], watched: list[Timed], spins: str, waits: str) -> None:
    assert outcome_of("quorum-lost-thread-spins", *away, *watched) == spins
    assert outcome_of("quorum-lost-thread-waits", *away, *watched) == waits


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*DEAD, thread(3, 9, 0.05), thread(23, 28, 0.1)], HELD),
        ([*DEAD, thread(3, 9, 0.9)], CONTRADICTED),
        ([*CUT, thread(14, 19, 0.9, node="broker-2")], CONTRADICTED),
        ([*CUT, BUSY, thread(14, 19, 0.01, node="broker-2")], HELD),
        ([*DEAD, BUSY], NOT_OBSERVED),
    ],
    ids=["idle", "busy before", "busy beside one that is cut", "idle beside one that is cut", "away"],
)
def test_a_broker_that_reaches_a_controller(events: list[Timed], outcome: str) -> None:
    assert outcome_of("quorum-reached-thread-waits", *events) == outcome


def test_other_threads_are_not_judged() -> None:
    at_s, seen = BUSY
    assert isinstance(seen, ThreadTime)
    other = (
        at_s,
        ThreadTime(node="broker-1", thread="main", begin_ns=seen.begin_ns, elapsed_ns=9, running_ns=1, waiting_ns=0),
    )
    assert outcome_of("quorum-lost-thread-waits", *DEAD, other) == NOT_OBSERVED
