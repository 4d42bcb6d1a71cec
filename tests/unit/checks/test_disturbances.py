"""When a producer may have had a reason to send again, and when it had none."""

from __future__ import annotations

import pytest
from msgspec import structs

from checks.disturbances import AFTER_NS, within_reach
from evidence.events import Event, Log, Partition
from evidence.findings import Finding, Row
from evidence.run_state import RunState
from tests.unit.timelines import at

SECOND = 1_000_000_000
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
        ([CREATED, structs.replace(CREATED, leader=2, leader_epoch=1, monotonic_ns=12 * SECOND)], (11, 13), True),
    ],
    ids=[
        "before its leader knew that it leads",
        "long after",
        "nothing says when the leader knew",
        "another broker",
        "another topic",
        "it knew before",
        "another leader",
    ],
)
def test_what_is_within_reach(events: list[Event], flight: tuple[float, float], reached: bool) -> None:
    ordered = tuple(sorted(events, key=lambda event: event.at_ns))
    assert within_reach(RunState(ordered), sent(*flight)) == reached
