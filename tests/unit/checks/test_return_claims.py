"""Claims about replicas whose broker was started again, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Broker, Event, Fault, Note, Partition, Target
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

Timed = tuple[float, Event]
RETURN, STAYS_OUT = "restarted-replicas-return", "restarted-replica-stays-out"


def judged(name: str, *events: Timed) -> ClaimResult:
    timed = tuple(at(int(second * 1000) * 10**6, event) for second, event in sorted(events, key=lambda one: one[0]))
    return claims.judge(name, RunEvidence(run=run_record({}), run_state=RunState(timed)))


def state(version: int, isr: tuple[int, ...], *, leader: int = 1, topic: str = "t") -> Partition:
    return Partition(
        source="kraft",
        topic=topic,
        partition=0,
        leader=leader,
        leader_epoch=0,
        isr=isr,
        replicas=(1, 2),
        version=version,
    )


def fault(kind: str, node: str, number: int = 1) -> list[Event]:
    about: dict[str, Any] = {"fault_kind": kind, "id": f"f{number}", "target": Target(node=node), "description": kind}
    return [Fault(**about, phase="inject"), Fault(**about, phase="verified")]


def started(second: float, node: str = "broker-2") -> list[Timed]:
    return [
        *((second, event) for event in fault("start", node)),
        (second + 1, Broker(source="kraft", node=node, state="unfenced")),
    ]


END: Timed = (100, Note(text="the end"))
DOWN: list[Timed] = [
    (0, state(1, (1, 2))),
    (1, Broker(source="kraft", node="broker-2", state="unfenced")),
    (2, Broker(source="kraft", node="broker-2", state="fenced")),
    (2, state(2, (1,))),
]


def test_a_replica_that_is_back_soon() -> None:
    history = [*DOWN, *started(10), (13, state(3, (1, 2))), END]
    found = judged(RETURN, *history)
    assert (found.outcome, found.measured_ms) == (HELD, 2000.0)
    assert judged(STAYS_OUT, *history).outcome == CONTRADICTED


def test_a_replica_that_never_comes_back() -> None:
    history = [*DOWN, *started(10), END]
    assert judged(RETURN, *history).outcome == CONTRADICTED
    found = judged(STAYS_OUT, *history)
    assert (found.outcome, found.evidence[0]["took_ms"]) == (HELD, 89_000.0)


def test_a_replica_that_comes_back_late() -> None:
    history = [*DOWN, *started(10), (60, state(3, (1, 2))), END]
    assert judged(RETURN, *history).outcome == CONTRADICTED
    # It was back: how long it may take is another claim's.
    assert judged(STAYS_OUT, *history).outcome == CONTRADICTED


def test_a_replica_that_is_out_until_its_broker_is_stopped_and_started_once_more() -> None:
    again: list[Timed] = [(50, event) for event in fault("stop", "broker-2", 2)]
    history = [*DOWN, *started(10), *again, (60, state(3, (1, 2))), END]
    found = judged(STAYS_OUT, *history)
    assert (found.outcome, found.evidence[0]["took_ms"]) == (HELD, 39_000.0)


@pytest.mark.parametrize(
    "history",
    [
        [*DOWN, END],
        [*DOWN, *started(10), (12, Note(text="the end"))],
        [*DOWN, *((10, event) for event in fault("start", "broker-2")), END],
        [*DOWN, *started(10), *((15, event) for event in fault("kill", "broker-1", 2)), END],
        [(0, state(1, (1,), leader=-1)), *started(10), END],
    ],
    ids=["nobody was started", "the run ends", "it does not register", "its leader dies", "nobody leads"],
)
def test_histories_that_say_nothing(history: list[Timed]) -> None:
    for name in (RETURN, STAYS_OUT):
        assert judged(name, *history).outcome == NOT_OBSERVED


def test_one_partition_of_two_that_stays_out_is_enough() -> None:
    beside: list[Timed] = [(0, state(1, (1,), topic="u")), (12, state(2, (1, 2), topic="u"))]
    history = [*DOWN, *beside, *started(10), END]
    assert judged(STAYS_OUT, *history).outcome == HELD
    assert judged(RETURN, *history).outcome == CONTRADICTED
