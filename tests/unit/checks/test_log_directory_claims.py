"""Claims about a log directory that fails beside another, on histories that show them, contradict them, or neither."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Broker, Container, Event, Fault, FaultPhase, Partition, Target
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at

SECOND = 1_000_000_000
Timed = tuple[float, Event]
LEFT, ON = "failed-log-directory-is-left", "other-log-directory-goes-on"


def state(partition: int, leader: int, *isr: int) -> Partition:
    return Partition(source="kraft", topic="t", partition=partition, leader=leader, leader_epoch=0, isr=isr)


def fault(kind: str, number: str, phase: FaultPhase, *replicas: str) -> Fault:
    proof = proof_of(kind, replicas=replicas) if (kind, phase) == ("disk-failure", "verified") else None
    return Fault(fault_kind=kind, id=number, phase=phase, target=Target(node="broker-1"), description="", proof=proof)


def failed(*replicas: str, proved: bool = True) -> list[Timed]:
    """The disk of broker-1 that has these replicas fails at 10, and the broker is stopped at 40."""
    told = [(10.0, fault("disk-failure", "f1", "inject")), (40.0, fault("stop", "f2", "inject"))]
    return [*told, (10.1, fault("disk-failure", "f1", "verified", *replicas))] if proved else [*told]


BEGUN: list[Timed] = [
    (1, Container(source="docker", node="broker-1", action="start")),
    (1, state(0, 1, 1, 2, 3)),
    (1, state(1, 1, 1, 2, 3)),
    *((1, Broker(source="kraft", node=f"broker-{n}", state="unfenced")) for n in (1, 2, 3)),
]
ENDED: list[Timed] = [(41, state(1, 2, 2, 3)), (60, state(0, 2, 1, 2, 3)), (60, state(1, 2, 1, 2, 3))]
"""The broker is stopped, and back."""
GONE: Timed = (12, state(0, 2, 2, 3))


def judged(name: str, *events: Sequence[Timed]) -> ClaimResult:
    in_order = sorted((one for each in [BEGUN, *events, ENDED] for one in each), key=lambda one: one[0])
    run_state = RunState(tuple(at(int(second * SECOND), event) for second, event in in_order))
    return claims.judge(name, RunEvidence(run=run_record({"kafka": "4.3.1"}), run_state=run_state))


def outcome(name: str, *events: Sequence[Timed]) -> str:
    return str(judged(name, *events).outcome)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*failed("t-0"), GONE], HELD),
        ([*failed("t-0"), (11, state(0, 2, 1, 2, 3)), GONE], HELD),
        ([*failed("t-0"), (30, state(0, 2, 2, 3))], CONTRADICTED),
        ([*failed("t-0"), (12, state(0, -1, 2, 3))], CONTRADICTED),
        ([*failed("t-0"), (12, state(0, 2, 1, 2, 3))], CONTRADICTED),
        ([*failed("t-0"), (45, state(0, 2, 2, 3))], CONTRADICTED),
        ([*failed("t-0"), (15, fault("stop", "f3", "inject"))], NOT_OBSERVED),
        ([*failed("t-0", "t-1"), GONE], NOT_OBSERVED),
        ([*failed("t-0", proved=False), GONE], NOT_OBSERVED),
        ([GONE], NOT_OBSERVED),
    ],
    ids=[
        "soon",
        "in two steps",
        "late",
        "nobody leads",
        "in the ISR",
        "when stopped",
        "stopped before its time was over",
        "no other",
        "unproved",
        "nothing",
    ],
)
def test_a_failed_log_directory_is_left(events: list[Timed], expected: str) -> None:
    assert outcome(LEFT, events) == expected


def test_a_broker_that_never_leaves_is_told_by_how_long_it_was_watched() -> None:
    result = judged(LEFT, failed("t-0"))
    assert (result.outcome, result.measured_ms) == (CONTRADICTED, 30_000)
    assert result.observed == "t-0 was not yet without broker-1 after 30.0 s"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*failed("t-0"), GONE], HELD),
        ([*failed("t-0"), GONE, (13, state(1, 1, 1, 2, 3))], HELD),
        ([*failed("t-0"), GONE, (13, state(1, 2, 1, 2, 3))], CONTRADICTED),
        ([*failed("t-0"), GONE, (13, state(1, 1, 1, 2))], HELD),
        ([*failed("t-0"), GONE, (13, state(1, 1, 2, 3))], CONTRADICTED),
        ([*failed("t-0"), GONE, (20, Broker(source="kraft", node="broker-1", state="fenced"))], CONTRADICTED),
        ([*failed("t-0"), GONE, (20, Container(source="docker", node="broker-1", action="die"))], CONTRADICTED),
        ([*failed("t-0", "t-1"), GONE], NOT_OBSERVED),
        ([GONE], NOT_OBSERVED),
    ],
    ids=[
        "as before",
        "stated anew",
        "another leads",
        "a follower of it left",
        "out of the ISR",
        "fenced",
        "ended",
        "no other",
        "nothing",
    ],
)
def test_the_other_log_directory_goes_on(events: list[Timed], expected: str) -> None:
    assert outcome(ON, events) == expected
