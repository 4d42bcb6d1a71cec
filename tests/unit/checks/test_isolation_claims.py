"""Claims about a leader that has lost those who decide, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Acked, Event, Failed, Fault, FaultPhase, Partition, Send, Target
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
RUN: dict[str, Any] = {
    "mode": "zookeeper",
    "settings": {"zookeeper.session.timeout.ms": "4000"},
    "processes": [
        {"name": "alone", "settings": {"bootstrap.servers": "172.20.0.11:9092"}},
        {"name": "another", "settings": {"bootstrap.servers": "172.20.0.12:9092"}},
        {"name": "all", "settings": {"bootstrap.servers": "172.20.0.12:9092,172.20.0.11:9092"}},
    ],
}
Timed = tuple[float, Event]


def cut(phase: FaultPhase, nodes: str = "broker-1, zookeeper") -> Fault:
    return Fault(fault_kind="cut", id="f1", phase=phase, target=Target(node=nodes), description="cut")


def led_by(leader: int, version: int) -> Partition:
    return Partition(
        source="zookeeper", topic="t", partition=0, leader=leader, leader_epoch=version, isr=(leader,), version=version
    )


def sent(second: float, process: str = "alone", acks: str = "1", acked: bool = True) -> list[Timed]:
    about: dict[str, Any] = {"process": process, "topic": "t", "partition": 0, "producer": 1, "acks": acks}
    about["sequence"] = int(second * 10)
    answer = (
        Acked(**about, outcome="ok", offset=7) if acked else Failed(**about, outcome="info", error="_MSG_TIMED_OUT")
    )
    return [(second, Send(**about)), (second + 0.1, answer)]


def judged(name: str, *events: Timed) -> ClaimResult:
    timed = tuple(at(int(second * 1000) * MS, event) for second, event in sorted(events, key=lambda event: event[0]))
    return claims.judge(name, RunEvidence(run=run_record(RUN), run_state=RunState(timed)))


CUT: list[Timed] = [(1, led_by(1, 0)), (10, cut("inject")), (10.5, cut("verified"))]
REPLACED: list[Timed] = [*CUT, (15, led_by(2, 1)), (30, cut("heal")), (31, cut("healed"))]
FROM_A_BROKER: list[Timed] = [(at_s, e) for at_s, e in REPLACED if not isinstance(e, Fault)] + [
    (10, cut("inject", "broker-1, broker-2")),
    (10.5, cut("verified", "broker-1, broker-2")),
]


@pytest.mark.parametrize(("second", "outcome"), [(14, HELD), (18, HELD), (19, CONTRADICTED)])
def test_an_isolated_leader_is_replaced(second: float, outcome: str) -> None:
    found = judged("isolated-leader-replaced-in-time", *CUT, (second, led_by(2, 1)))
    assert (found.outcome, found.bound_ms) == (outcome, 8700)


def test_what_isolates_no_leader_shows_nothing() -> None:
    assert judged("isolated-leader-replaced-in-time", *CUT).outcome == NOT_OBSERVED
    assert judged("isolated-leader-replaced-in-time", *FROM_A_BROKER).outcome == NOT_OBSERVED
    assert judged("isolated-leader-replaced-in-time", *REPLACED[1:]).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    ("records", "one", "every"),
    [
        (sent(20), HELD, NOT_OBSERVED),
        (sent(20, acked=False), CONTRADICTED, NOT_OBSERVED),
        (sent(20, acks="all"), NOT_OBSERVED, CONTRADICTED),
        (sent(20, acks="all", acked=False), NOT_OBSERVED, HELD),
        (sent(20, "another"), NOT_OBSERVED, NOT_OBSERVED),
        (sent(20, "all", acks="all"), NOT_OBSERVED, NOT_OBSERVED),
        (sent(12), NOT_OBSERVED, NOT_OBSERVED),
        (sent(40, acks="all"), NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["1", "1, refused", "all", "all, refused", "to another", "by one who knows all", "before", "healed"],
)
def test_what_a_replaced_leader_acknowledges(records: list[Timed], one: str, every: str) -> None:
    assert judged("replaced-leader-acknowledges-acks-1", *REPLACED, *records).outcome == one
    assert judged("replaced-leader-acknowledges-no-acks-all", *REPLACED, *records).outcome == every
