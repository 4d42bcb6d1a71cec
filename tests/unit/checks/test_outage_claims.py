"""Claims about an outage of the coordinator, each on a history that shows it, one that contradicts it, one of nothing.

ZooKeeper is killed, or frozen, from second 10 to second 20. Broker 1 leads t-0, whose replicas are 1, 2 and 3.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED
from evidence.events import Acked, Broker, Container, Event, Fault, FaultPhase, Partition, Send, Target
from tests.unit.checks.test_partition_claims import FIRST, RUN, SECOND, Timed, judged, state


def struck(at_s: float, kind: str, node: str, name: str) -> list[Timed]:
    """A fault of a node, proved half a second later."""

    def phase(second: float, phase: FaultPhase) -> Timed:
        return (second, Fault(fault_kind=kind, id=name, phase=phase, target=Target(node=node), description=kind))

    return [phase(at_s, "inject"), phase(at_s + 0.5, "verified")]


def killed(at_s: float, node: str, name: str, start: float | None = None) -> list[Timed]:
    died: list[Timed] = [(at_s, Container(node=node, action="die", exit_code=137))]
    back = [] if start is None else [*struck(start, "start", node, f"{name}-start")]
    back += [] if start is None else [(start, Container(node=node, action="start"))]
    return [*struck(at_s, "kill", node, name), *died, *back]


AWAY = killed(10, "zookeeper", "f1", start=20)
FROZEN = [
    *struck(10, "freeze", "zookeeper", "f1"),
    (20.0, Fault(fault_kind="freeze", id="f1", phase="heal", target=Target(node="zookeeper"), description="freeze")),
    (20.1, Fault(fault_kind="freeze", id="f1", phase="healed", target=Target(node="zookeeper"), description="freeze")),
]
FOLLOWER = killed(14, "broker-2", "f2")


@pytest.mark.parametrize("outage", [AWAY, FROZEN], ids=["killed", "frozen"])
@pytest.mark.parametrize(
    ("acknowledged", "outcome", "took_ms"),
    [
        ([(second, second + 0.2) for second in range(9, 20)], HELD, 200),
        ([(9, 9.1), (11, 13.5), (13, 13.8)], CONTRADICTED, 2500),
        ([(9, 9.1), (11, 13.5), (13, 21)], CONTRADICTED, 2500),
        ([(9, 9.1), (11, 21)], CONTRADICTED, 3000),
        ([(9, 9.1), (13, 21)], HELD, 1000),
        ([(9, 9.1), (15, 19)], NOT_OBSERVED, None),
    ],
    ids=["as ever", "a pause", "and a longer one later", "until it is back", "hardly", "only after the next fault"],
)
def test_writes_go_on(
    outage: list[Timed], acknowledged: list[tuple[float, float]], outcome: str, took_ms: float | None
) -> None:
    found = judged("writes-go-on-without-coordinator", FIRST, *outage, *FOLLOWER, acknowledged=acknowledged)
    assert (found.outcome, found.measured_ms) == (outcome, took_ms)
    # A machine that stands still explains a pause only from its beginning on.
    assert outcome != CONTRADICTED or [row["at_ns"] for row in found.evidence] == [11_000_000_000]


def written(read_s: float, written_s: float) -> Timed:
    """A state that is read later than it was written."""
    at_s, event = state(read_s, (1, 3), 1)
    assert isinstance(event, Partition)
    return (at_s, structs.replace(event, source_ns=int(written_s * SECOND)))


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*AWAY], HELD),
        ([*AWAY, written(22, 21)], HELD),
        ([*AWAY, written(22, 9)], HELD),
        ([*AWAY, written(22, 15)], CONTRADICTED),
        ([*AWAY, state(15, (1, 3), 1)], CONTRADICTED),
        ([*AWAY, (15, Broker(source="zookeeper", node="broker-3", state="gone"))], CONTRADICTED),
        ([state(15, (1, 3), 1)], NOT_OBSERVED),
    ],
    ids=["nothing", "afterwards", "before", "written meanwhile", "stated meanwhile", "a broker gone", "no outage"],
)
def test_nothing_changes(events: list[Timed], outcome: str) -> None:
    assert judged("nothing-changes-without-coordinator", FIRST, *events).outcome == outcome


def sent(at_s: float, done_s: float | None, acks: str = "all") -> list[Timed]:
    about: dict[str, Any] = {"process": "producer-1", "topic": "t", "partition": 0, "producer": 1, "sequence": 0}
    answer = Acked(**about, acks=acks, outcome="ok", offset=3, invoked_ns=0, completed_ns=0)
    return [(at_s, Send(**about, acks=acks)), *([] if done_s is None else [(done_s, answer)])]


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*FOLLOWER, *sent(15, 22)], HELD),
        ([*FOLLOWER, *sent(15, None)], HELD),
        ([*FOLLOWER, *sent(15, 17)], CONTRADICTED),
        ([*FOLLOWER, *sent(13, 13.5)], NOT_OBSERVED),
        ([*FOLLOWER, *sent(15, 15.5, acks="1")], NOT_OBSERVED),
        ([*sent(15, 15.5)], NOT_OBSERVED),
        ([*killed(14, "broker-4", "f2"), *sent(15, 15.5)], NOT_OBSERVED),
    ],
    ids=["then", "never", "at once", "before it died", "acks=1", "nobody died", "of another ISR"],
)
def test_acks_all_waits(events: list[Timed], outcome: str) -> None:
    assert judged("acks-all-waits-for-coordinator", FIRST, *AWAY, *events).outcome == outcome


def gone(at_s: float, node: str = "broker-3") -> tuple[float, Event]:
    return (at_s, Broker(source="zookeeper", node=node, state="gone"))


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([*AWAY], HELD),
        ([*AWAY, *FOLLOWER, gone(22, "broker-2")], HELD),
        ([*AWAY, gone(22)], CONTRADICTED),
        ([*AWAY, *killed(30, "broker-3", "f3"), gone(34)], HELD),
        ([*AWAY, gone(9)], HELD),
        ([gone(22)], NOT_OBSERVED),
    ],
    ids=["all stay", "a dead one", "ended when it was back", "killed later", "gone before", "no outage"],
)
def test_sessions_outlast_it(events: list[Timed], outcome: str) -> None:
    assert judged("sessions-outlast-coordinator", FIRST, *events).outcome == outcome


ACKS_1 = RUN | {"case_changes": {"acks": "1"}}


@pytest.mark.parametrize(
    ("acknowledged", "go_on", "stop"),
    [
        ([(second, second + 0.2) for second in range(9, 30)], HELD, CONTRADICTED),
        ([(13.9, 14.1), (16, 21), (22, 22.1)], CONTRADICTED, HELD),
        ([(second, second + 0.2) for second in range(9, 16)] + [(16.5, 22)], CONTRADICTED, HELD),
        ([(13.9, 14.1), (15, 18), (19, 19.1)], CONTRADICTED, HELD),
        ([(13.9, 13.95), (34, 40)], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["they go on", "they stop", "they stop later", "they pause", "nobody wrote"],
)
def test_writes_while_the_isr_cannot_shrink(acknowledged: list[tuple[float, float]], go_on: str, stop: str) -> None:
    events = [FIRST, *AWAY, *FOLLOWER]
    for name, outcome in ("writes-go-on-while-isr-cannot-shrink", go_on), ("writes-stop-while-isr-cannot-shrink", stop):
        assert judged(name, *events, acknowledged=acknowledged, run=ACKS_1).outcome == outcome
        assert judged(name, *events, acknowledged=acknowledged).outcome == NOT_OBSERVED
