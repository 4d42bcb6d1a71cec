"""A leader that is gone and not replaced: on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Broker, Container, Event, Fault, Note, Partition, Target
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

Timed = tuple[float, Event]


def judged(*events: Timed) -> ClaimResult:
    timed = tuple(at(int(second * 1000) * 10**6, event) for second, event in sorted(events, key=lambda one: one[0]))
    return claims.judge("dead-leader-is-not-replaced", RunEvidence(run=run_record({}), run_state=RunState(timed)))


def state(leader: int, isr: tuple[int, ...], epoch: int = 0) -> Partition:
    where: dict[str, Any] = {"source": "kraft", "topic": "t", "partition": 0, "replicas": (1, 2)}
    return Partition(**where, leader=leader, leader_epoch=epoch, isr=isr, version=epoch)


def up(number: int) -> list[Timed]:
    node = f"broker-{number}"
    return [(0, Container(node=node, action="start")), (1, Broker(source="kraft", node=node, state="unfenced"))]


def killed(number: int, second: float) -> list[Timed]:
    about: dict[str, Any] = {"fault_kind": "kill", "id": f"k{number}", "target": Target(node=f"broker-{number}")}
    phases = [Fault(**about, description="kill", phase=phase) for phase in ("inject", "verified")]
    return [
        *((second, one) for one in phases),
        (second, Container(node=phases[0].target.node, action="die", exit_code=137)),
    ]


END: Timed = (60, Note(text="the end"))
BEFORE = [*up(1), *up(2), (2.0, state(1, (1, 2)))]


def test_nobody_leads_though_a_replica_in_sync_is_up() -> None:
    found = judged(*BEFORE, *killed(1, 10), END)
    assert (found.outcome, found.evidence[0]["up"]) == (HELD, ["broker-2"])
    assert found.observed == "1 partition without a leader for 50 s, a replica in sync being up"


def test_that_the_cluster_says_itself_that_nobody_leads_counts_too() -> None:
    assert judged(*BEFORE, (10, state(-1, (2,), 1)), END).outcome == HELD


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*killed(1, 10), (14, state(2, (2,), 1)), END], CONTRADICTED),
        ([*killed(1, 10), (25, Note(text="the end"))], CONTRADICTED),
        ([*killed(1, 10), *killed(2, 10.5), END], CONTRADICTED),
        ([(5, state(1, (1,))), *killed(1, 10), END], NOT_OBSERVED),
        ([END], NOT_OBSERVED),
    ],
    ids=["the other leads", "for less than 20 s", "the other is struck too", "the other was not in sync", "it lives"],
)
def test_what_is_no_leader_that_stays_away(events: list[Timed], outcome: str) -> None:
    assert judged(*BEFORE, *events).outcome == outcome
