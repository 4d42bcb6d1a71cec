"""Claims about brokers that come back with a blank disk, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Ends, Event, Fault, FaultPhase, Moment, Partition, Target
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
Timed = tuple[float, Event]


def fault(kind: str, phase: FaultPhase, **proof: Any) -> Fault:
    target = Target(node="broker-1")
    return Fault(
        fault_kind=kind,
        id=f"f-{kind}",
        phase=phase,
        target=target,
        description=kind,
        proof=proof_of(kind, **proof) if phase == "verified" else None,
    )


def state(leader: int, epoch: int, *isr: int) -> Partition:
    return Partition(source="kraft", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=isr)


def final(**ends: int) -> Moment:
    nodes = {name.replace("_", "-"): {"t-0": Ends(leo=leo, hw=leo)} for name, leo in ends.items()}
    return Moment(name="02-final", nodes=nodes, begun_ns=0)


def judged(name: str, *events: Timed) -> str:
    timed = tuple(at(int(second * 1000) * MS, event) for second, event in sorted(events, key=lambda event: event[0]))
    return str(claims.judge(name, RunEvidence(run=run_record({}), run_state=RunState(timed))).outcome)


WIPED: list[Timed] = [
    (1, state(1, 0, 1, 2)),
    (20, fault("wipe", "inject")),
    (20.1, fault("wipe", "verified", logs_before=["t-0"])),
    (21, fault("start", "inject")),
    (21.1, fault("start", "verified")),
]
OUT: list[Timed] = [*WIPED, (15, state(2, 1, 2))]
BACK: Timed = (25, state(2, 1, 2, 1))
LAST: list[Timed] = [*WIPED, (10, state(1, 0, 1)), (15, state(-1, 1, 1))]
ELIGIBLE: list[Timed] = [*WIPED, (10, state(1, 0, 1)), (15, state(-1, 1))]


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*OUT, BACK, (30, final(broker_1=5, broker_2=5))], HELD),
        ([*OUT, BACK, (30, final(broker_1=4, broker_2=5))], CONTRADICTED),
        ([*OUT, (30, final(broker_1=5, broker_2=5))], CONTRADICTED),
        ([*OUT, BACK], NOT_OBSERVED),
        ([*LAST, (25, state(1, 2, 1)), (30, final(broker_1=5, broker_2=5))], NOT_OBSERVED),
        ([(1, state(1, 0, 1, 2)), (30, final(broker_1=5, broker_2=5))], NOT_OBSERVED),
    ],
    ids=["refilled", "not all of it", "never back", "nobody looked", "still in the ISR", "no blank disk"],
)
def test_a_blank_replica_is_refilled(events: list[Timed], outcome: str) -> None:
    assert judged("blank-replica-refilled", *events) == outcome


@pytest.mark.parametrize(
    ("events", "elected", "passed_over"),
    [
        ([*LAST, (25, state(1, 2, 1))], HELD, CONTRADICTED),
        ([*LAST, (25, state(2, 2, 2))], CONTRADICTED, HELD),
        ([*ELIGIBLE, (25, state(2, 2, 2))], CONTRADICTED, HELD),
        ([*ELIGIBLE, (25, state(1, 2, 1))], HELD, CONTRADICTED),
        (LAST, NOT_OBSERVED, NOT_OBSERVED),
        ([*OUT, BACK, (28, state(1, 2, 1, 2))], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["elected", "another", "another, the ISR is empty", "elected from nowhere", "nobody", "it was out of sync"],
)
def test_a_blank_replica_that_was_the_last_in_sync(events: list[Timed], elected: str, passed_over: str) -> None:
    assert judged("blank-replica-elected", *events) == elected
    assert judged("blank-replica-passed-over", *events) == passed_over
