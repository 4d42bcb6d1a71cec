"""When a producer may have had a reason to send again, and when it had none."""

from __future__ import annotations

import pytest
from msgspec import structs

from checks.disturbances import AFTER_NS, within_reach
from evidence.events import Event, Fault, FaultPhase, Log, Partition, Target, Waits
from evidence.findings import Finding, Row
from evidence.run_state import RunState
from tests.proofs import proof
from tests.records import run_record
from tests.unit.timelines import at

SECOND = 1_000_000_000
RUN = run_record()
CREATED = at(10 * SECOND, Partition(source="kraft", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2)))


def leads(at_s: float, node: str = "broker-1", topic: str = "t") -> Event:
    log = Log(node=node, event="become-leader", topic=topic, partition=0, line="")
    return at(round(at_s * SECOND), log)


def sent(from_s: float, to_s: float) -> Finding:
    """Two records that were in flight at once and came in the wrong order."""
    flight = {"invoked_ns": round(from_s * SECOND), "completed_ns": round(to_s * SECOND)}
    row = Row(detail={"before": flight, "after": flight})
    return Finding(anomaly="nonmonotonic-send", topic="t", partition=0, count=1, evidence=(row,))


@pytest.mark.parametrize(
    ("events", "flight", "reached"),
    [
        ([CREATED, leads(11.5)], (11, 13), True),
        ([CREATED, leads(11.5)], (11.5 + AFTER_NS / SECOND + 0.1, 30), False),
        ([CREATED], (11, 13), False),
        ([CREATED, leads(11.5, node="broker-2")], (11, 13), False),
        ([CREATED, leads(11.5, topic="u")], (11, 13), False),
        ([CREATED, leads(9)], (11, 13), False),
        ([CREATED, structs.replace(CREATED, leader=2, leader_epoch=1, monotonic_ns=12 * SECOND)], (11, 13), False),
    ],
    ids=[
        "before its leader knew that it leads",
        "long after",
        "nothing says when the leader knew",
        "another broker",
        "another topic",
        "it knew before",
        "another leader, for no reason",
    ],
)
def test_what_is_within_reach(events: list[Event], flight: tuple[float, float], reached: bool) -> None:
    ordered = tuple(sorted(events, key=lambda event: event.at_ns))
    assert within_reach(RUN, RunState(ordered), sent(*flight)) == reached


def restarted(kind: str) -> list[Event]:
    """A broker is stopped at 20 s, and its process runs again from 26 s on."""

    def event(at_s: int, phase: FaultPhase, what: str) -> Event:
        proved = proof(what) if phase == "verified" else None
        target = Target(node="broker-1")
        return at(
            at_s * SECOND,
            Fault(fault_kind=what, id=what, phase=phase, target=target, description=what, proof=proved),
        )

    return [
        event(20, "inject", "stop"),
        event(21, "verified", "stop"),
        event(25, "inject", kind),
        event(26, "verified", kind),
    ]


@pytest.mark.parametrize("kind", ["start", "upgrade", "raise"])
def test_a_broker_that_runs_again_disturbs_nobody_for_long(kind: str) -> None:
    """Whatever it was started as: 200 s later nothing explains that a record is there twice."""
    state = RunState((CREATED, *restarted(kind)))
    assert within_reach(RUN, state, sent(26, 27))
    assert not within_reach(RUN, state, sent(226, 227))
    assert within_reach(RUN, RunState((CREATED, *restarted(kind)[:2])), sent(226, 227))


def waits(share: float) -> Event:
    """Some process waited for a CPU in this share of each slice from 10 s to 20 s."""
    slices = ((250_000, round(250_000 * share)),) * 40
    return at(20 * SECOND, Waits(begin_ns=10 * SECOND, slices=slices))


@pytest.mark.parametrize(
    ("share", "lasted_s", "reached"),
    [(0.9, 5.4, True), (0.9, 4.9, False), (0.0, 5.4, False), (0.05, 5.4, False)],
    ids=["it timed out by the machine", "it did not time out", "nobody waited", "it was late without the machine too"],
)
def test_a_request_that_timed_out_on_a_busy_machine(share: float, lasted_s: float, reached: bool) -> None:
    state = RunState((waits(share),))
    assert within_reach(RUN, state, sent(12, 12 + lasted_s), request_timeout_ns=5 * SECOND) == reached
    assert not within_reach(RUN, state, sent(12, 12 + lasted_s))


def test_records_that_are_answered_with_one_that_timed_out() -> None:
    state = RunState((waits(0.9),))
    first, second, later = (sent(*flight).evidence[0] for flight in ((12, 17.4), (16, 17.4), (16, 17.5)))
    both = structs.replace(sent(0, 1), evidence=(first, second))
    assert within_reach(RUN, state, both, request_timeout_ns=5 * SECOND)
    assert not within_reach(RUN, state, structs.replace(both, evidence=(first, later)), request_timeout_ns=5 * SECOND)
