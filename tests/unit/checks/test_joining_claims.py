"""Claims about a follower that joins the ISR under load, on the lines that a leader logs at TRACE."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Event, Log, OffsetKind, Partition, ReplicaOffset
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
RUN: dict[str, Any] = {
    "kafka": "2.2.2",
    "mode": "zookeeper",
    "settings": {"replica.lag.time.max.ms": "6000"},
    "topics": [{"name": "t"}],
}
JOINS, WAITS, LEAVES_BEHIND = (
    "follower-joins-at-high-watermark",
    "high-watermark-waits-for-caught-up",
    "high-watermark-leaves-caught-up-behind",
)


def said(at_ms: int, what: OffsetKind, offset: int, replica: int | None = None) -> Event:
    event = ReplicaOffset(node="broker-1", topic="t", partition=0, line="", what=what, offset=offset, replica=replica)
    return at(at_ms * MS, event)


def leader_has(at_ms: int, log_end: int, high_watermark: int) -> list[Event]:
    """The leader appends, the other follower has it, and the high watermark is this."""
    return [
        said(at_ms, "log-end", log_end),
        said(at_ms, "remote-log-end", log_end, replica=3),
        said(at_ms, "high-watermark", high_watermark),
    ]


def isr(at_ms: int, *brokers: int) -> list[Event]:
    """What the leader logs of its ISR, and what the cluster states."""
    kind: Any = "expand-isr" if len(brokers) > 2 else "shrink-isr"
    log = Log(node="broker-1", event=kind, topic="t", partition=0, isr=brokers, line="")
    state = Partition(source="zookeeper", topic="t", partition=0, leader=1, leader_epoch=0, isr=brokers)
    return [at(at_ms * MS, log), at(at_ms * MS, state)]


def fetch(at_ms: int, offset: int) -> Event:
    return said(at_ms, "remote-log-end", offset, replica=2)


def judged(name: str, *events: Event) -> ClaimResult:
    ordered = tuple(sorted(events, key=lambda event: event.at_ns))
    return claims.judge(name, RunEvidence(run=run_record(RUN), run_state=RunState(ordered)))


OUT = [*leader_has(900, 100, 100), *isr(1000, 1, 3), fetch(1100, 20)]
"""The follower's first fetch is answered with all that there is, up to 100."""
GROWS = leader_has(3000, 300, 300)
SECOND = fetch(3100, 100)
STANDS = leader_has(3500, 350, 300)
RISES = leader_has(3500, 350, 350)
THIRD = fetch(3700, 300)
JOINED = isr(3705, 1, 2, 3)


def test_the_high_watermark_waits_for_a_follower_that_has_caught_up() -> None:
    events = [*OUT, *GROWS, SECOND, *STANDS, THIRD, *JOINED]
    assert judged(WAITS, *events).outcome == HELD
    assert judged(LEAVES_BEHIND, *events).outcome == CONTRADICTED


def test_two_lines_may_tell_of_one_fetch() -> None:
    twice = [fetch(1101, 20), fetch(3140, 100), fetch(3701, 300)]
    assert judged(WAITS, *OUT, *GROWS, SECOND, *STANDS, THIRD, *twice, *JOINED).outcome == HELD


@pytest.mark.parametrize(("rises_to", "outcome"), [(310, HELD), (311, CONTRADICTED)])
def test_a_fetch_lets_it_rise_to_where_it_begins(rises_to: int, outcome: str) -> None:
    slow = [said(3670, "high-watermark", rises_to), fetch(3700, 310)]
    assert judged(WAITS, *OUT, *GROWS, SECOND, *STANDS, *slow).outcome == outcome


def test_the_high_watermark_leaves_it_behind() -> None:
    events = [*OUT, *GROWS, SECOND, *RISES, THIRD]
    assert judged(WAITS, *events).outcome == CONTRADICTED
    assert judged(LEAVES_BEHIND, *events).outcome == HELD


@pytest.mark.parametrize(
    "events",
    [
        [*OUT, *GROWS, fetch(3100, 99), *RISES, THIRD],
        [*OUT, *GROWS, SECOND, THIRD],
        [*OUT, *GROWS, SECOND, *RISES, fetch(3180, 300)],
        [*OUT, *GROWS, SECOND, *RISES, fetch(7200, 300)],
        [*OUT, *GROWS, SECOND, *RISES],
        [*OUT, SECOND, *STANDS, THIRD],
        [],
    ],
    ids=["not caught up", "nothing written", "at once", "too long ago", "no third fetch", "not below it", "no lines"],
)
@pytest.mark.parametrize("name", [WAITS, LEAVES_BEHIND])
def test_what_shows_nothing_of_waiting(name: str, events: list[Event]) -> None:
    assert judged(name, *events).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    ("log_end", "outcome"),
    [(300, HELD), (320, HELD), (299, CONTRADICTED), (350, NOT_OBSERVED)],
    ids=["at the high watermark", "beyond", "below", "at the log's end"],
)
def test_where_a_follower_joins(log_end: int, outcome: str) -> None:
    events = [*OUT, *GROWS, SECOND, *STANDS, fetch(3700, log_end), *JOINED]
    assert judged(JOINS, *events).outcome == outcome


def test_the_leader_may_tell_of_the_fetch_after_the_join() -> None:
    events = [*OUT, *GROWS, SECOND, *STANDS, *isr(3699, 1, 2, 3), THIRD]
    assert judged(JOINS, *events).outcome == HELD


def test_a_high_watermark_that_rises_with_the_join_is_none_of_before() -> None:
    events = [*OUT, *GROWS, SECOND, *STANDS, THIRD, *JOINED, *leader_has(3705, 350, 320)]
    assert judged(JOINS, *events).outcome == HELD


def test_without_lines_no_join_is_observed() -> None:
    assert judged(JOINS, *isr(1000, 1, 3), *isr(2000, 1, 2, 3)).outcome == NOT_OBSERVED
