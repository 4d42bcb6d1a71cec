"""Claims about a follower that is far behind and fetches, on the acknowledgements and the fetches that show it."""

from __future__ import annotations

from typing import Any

import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Event, Partition, ReplicaOffset
from evidence.findings import ClaimResult
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
RUN: dict[str, Any] = {
    "kafka": "0.8.2.2",
    "mode": "zookeeper",
    "settings": {"replica.lag.time.max.ms": "6000"},
    "topics": [{"name": "t"}],
}
BURST = 8000


def heard(at_ms: int, offset: int, replica: int = 2, by: int = 1) -> Event:
    about = {"node": f"broker-{by}", "topic": "t", "partition": 0, "line": ""}
    return at(at_ms * MS, ReplicaOffset(**about, what="remote-log-end", offset=offset, replica=replica))  # type: ignore[arg-type]


def isr(at_ms: int, *brokers: int, leader: int = 1) -> Event:
    state = Partition(source="zookeeper", topic="t", partition=0, leader=leader, leader_epoch=0, isr=brokers)
    return at(at_ms * MS, state)


def fetches(bursts: int) -> list[Event]:
    """Every two seconds a burst is acknowledged, and 1.5 s later the leader hears that the follower has it."""
    return [heard(10, 0), *(heard(2000 * number + 1500, BURST * number) for number in range(1, bursts + 1))]


def judged(name: str, *events: Event, bursts: int = 4) -> ClaimResult:
    acked = [(0, 2000 * number * MS) for number in range(1, bursts + 1) for _ in range(BURST)]
    run_state = RunState(tuple(sorted([isr(1, 1, 2), *events], key=lambda event: event.at_ns)))
    return claims.judge(
        name, RunEvidence(run=run_record(RUN), run_state=run_state, acknowledged=lambda topic, partition: acked)
    )


FLAPS = [isr(2700, 1), isr(3600, 1, 2), isr(6700, 1), isr(7600, 1, 2)]


def test_a_follower_that_fetches_leaves_and_comes_back() -> None:
    found = judged("isr-counts-messages", *fetches(4), *FLAPS)
    assert (found.outcome, [row["records_behind"] for row in found.evidence]) == (HELD, [BURST, BURST])
    assert judged("isr-does-not-count-messages", *fetches(4), *FLAPS).outcome == CONTRADICTED


def test_a_follower_that_fetches_stays() -> None:
    found = judged("isr-does-not-count-messages", *fetches(4))
    assert found.outcome == HELD
    assert [row["records_behind"] for row in found.evidence] == [BURST] * 4
    assert judged("isr-counts-messages", *fetches(4)).outcome == NOT_OBSERVED


@pytest.mark.parametrize(
    "events",
    [
        [*fetches(4), isr(1900, 1), isr(2100, 1, 2), *FLAPS],
        [*fetches(4), isr(6700, 1), isr(7600, 1, 2), isr(8700, 1)],
        [heard(10, 0), heard(12700, 0), isr(2700, 1), isr(12600, 1, 2), isr(12650, 1), isr(12900, 1, 2)],
    ],
    ids=["not behind", "never back", "had not fetched for long"],
)
def test_a_departure_for_another_reason_contradicts(events: list[Event]) -> None:
    assert judged("isr-counts-messages", *events).outcome == CONTRADICTED


def test_who_leaves_with_the_leader_says_nothing() -> None:
    events = [*fetches(4), isr(2700, 2, leader=2), isr(6700, 2, 1, leader=2)]
    assert judged("isr-counts-messages", *events).outcome == NOT_OBSERVED


@pytest.mark.parametrize("name", ["isr-counts-messages", "isr-does-not-count-messages"])
@pytest.mark.parametrize(
    "said",
    [
        [],
        fetches(4)[:1],
        [heard(10, 0), heard(20000, 4 * BURST)],
        [heard(10, 0, replica=3), heard(2500, 0, replica=3)],
        [heard(2000 * number + 10, 0, by=2) for number in range(4)],
    ],
    ids=["none", "cut", "a gap", "of another follower", "by another than the leader"],
)
def test_without_the_leaders_lines_nothing_is_observed(name: str, said: list[Event]) -> None:
    """A follower whose fetches nobody told of is not taken for one that is far behind."""
    flaps = FLAPS if name == "isr-counts-messages" and len(said) < 2 else []
    assert judged(name, *said, *flaps).outcome == NOT_OBSERVED


def test_a_follower_that_is_never_far_behind_shows_nothing() -> None:
    close = [heard(2000 * number + 1, BURST * number) for number in range(5)]
    assert judged("isr-does-not-count-messages", *close, bursts=0).outcome == NOT_OBSERVED


LEAVES, STAYS = "endless-lag-leaves-isr", "endless-lag-stays-in-isr"


def endless(seconds: int, every_ms: int = 1000) -> list[Event]:
    """A follower that fetches, and has half of what was acknowledged: 100 records a second."""
    return [heard(at_ms, at_ms // 20) for at_ms in range(20, seconds * 1000, every_ms)]


def behind(name: str, *events: Event) -> str:
    acked = [(0, number * 10 * MS) for number in range(3000)]
    run_state = RunState(tuple(sorted([isr(1, 1, 2), *events], key=lambda event: event.at_ns)))
    evidence = RunEvidence(run=run_record(RUN), run_state=run_state, acknowledged=lambda topic, partition: acked)
    return claims.judge(name, evidence).outcome


@pytest.mark.parametrize(
    ("events", "leaves", "stays"),
    [
        ([*endless(20), isr(8000, 1)], HELD, CONTRADICTED),
        ([*endless(20)], CONTRADICTED, HELD),
        ([*endless(20), isr(3000, 1)], CONTRADICTED, CONTRADICTED),
        ([*endless(10)], NOT_OBSERVED, NOT_OBSERVED),
        ([*endless(28, every_ms=7000), isr(15000, 1)], NOT_OBSERVED, NOT_OBSERVED),
        ([*endless(20), heard(19500, 3000), heard(19600, 3000)], CONTRADICTED, HELD),
        ([*endless(20), isr(600, 1), isr(900, 1, 2), isr(8000, 1)], HELD, CONTRADICTED),
        ([*endless(8), heard(8500, 3000), heard(9000, 3000)], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=[
        "leaves in time",
        "stays",
        "leaves early",
        "for too short",
        "seldom fetches",
        "caught up in the end",
        "left at first too",
        "caught up soon",
    ],
)
def test_a_follower_that_is_never_caught_up(events: list[Event], leaves: str, stays: str) -> None:
    assert (behind(LEAVES, *events), behind(STAYS, *events)) == (leaves, stays)
