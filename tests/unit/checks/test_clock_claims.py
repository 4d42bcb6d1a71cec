"""Claims about a broker with a wrong clock, each on histories that show it, contradict it, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Acked, Container, Event, Failed, Fault, FaultPhase, Log, Partition, Send, Target
from evidence.run_state import RunState
from tests.proofs import proof as proof_of
from tests.records import run_record
from tests.unit.timelines import at

RUN = {"kafka": "4.3.1", "settings": {"replica.lag.time.max.ms": "3000"}}
SECOND = 1_000_000_000
Timed = tuple[float, Event]
LED: list[Timed] = [(1, Partition(source="kraft", topic="t", partition=0, leader=1, leader_epoch=0, isr=(1, 2, 3)))]


def struck(kind: str, begin: float, end: float, node: str = "broker-1", **more: Any) -> list[Timed]:
    phases: tuple[tuple[float, FaultPhase], ...] = ((begin, "inject"), (begin + 1, "verified"), (end, "heal"))
    proof = {"seconds": more.pop("seconds")} if "seconds" in more else {}
    return [
        (
            second,
            Fault(
                fault_kind=kind,
                id=f"{kind}-1",
                phase=phase,
                target=Target(node=node),
                description=kind,
                proof=proof_of(kind, **proof) if phase == "verified" else None,
                **more,
            ),
        )
        for second, phase in (*phases, (end + 0.5, "healed"))
    ]


def deleted(second: float, node: str = "broker-1", made: str = "") -> Timed:
    line = f"Deleting segment LogSegment(baseOffset=0{made}) due to log retention time 604800000ms breach"
    return second, Log(node=node, event="retention", topic="t", partition=0, line=line)


def sent(second: float, error: str | None = None) -> list[Timed]:
    record: dict[str, Any] = {"process": "producer-1", "topic": "t", "partition": 0, "producer": 1, "acks": "all"}
    record |= {"sequence": int(second * 10)}
    came = Failed(outcome="fail", error=error, **record) if error else Acked(outcome="ok", offset=1, **record)
    times = {"invoked_ns": int(second * SECOND), "completed_ns": int((second + 0.1) * SECOND)}
    return [(second, Send(**record)), (second + 0.1, structs.replace(came, **times))]


def outcome(name: str, *events: Sequence[Timed]) -> Any:
    in_order = sorted((one for each in (LED, *events) for one in each), key=lambda one: one[0])
    run_state = RunState(tuple(at(int(second * SECOND), event) for second, event in in_order))
    return claims.judge(name, RunEvidence(run=run_record(RUN), run_state=run_state)).outcome


AHEAD = struck("clock-step", 10, 30, seconds=8 * 86400)
BEHIND = struck("clock-step", 10, 60, seconds=-7200)
DELETES = "wrong-clock-deletes-young-records"


@pytest.mark.parametrize("made", ["", ", largestRecordTimestamp=Some(12000)", ", largestRecordTimestamp=12000"])
def test_only_the_broker_with_the_wrong_clock_deletes(made: str) -> None:
    assert outcome(DELETES, AHEAD, [deleted(20, made=made)]) == HELD


def test_a_broker_with_the_right_time_that_deletes_contradicts() -> None:
    for wrong in (deleted(20, node="broker-2"), deleted(40), deleted(5)):
        assert outcome(DELETES, AHEAD, [deleted(20), wrong]) == CONTRADICTED
    assert outcome(DELETES, BEHIND, [deleted(20)]) == CONTRADICTED


def test_records_that_were_old_anyhow_contradict() -> None:
    old = deleted(700_000, made=", largestRecordTimestamp=12000")
    assert outcome(DELETES, struck("clock-step", 10, 800_000, seconds=8 * 86400), [old]) == CONTRADICTED


def test_nothing_deleted_says_nothing() -> None:
    assert outcome(DELETES, AHEAD) == NOT_OBSERVED


@pytest.mark.parametrize(
    ("sends", "refuses", "takes"),
    [
        ([sent(20, "INVALID_TIMESTAMP"), sent(5), sent(70)], HELD, CONTRADICTED),
        ([sent(20), sent(25)], CONTRADICTED, HELD),
        ([sent(20, "INVALID_TIMESTAMP"), sent(25)], CONTRADICTED, CONTRADICTED),
        ([sent(20, "NOT_ENOUGH_REPLICAS")], CONTRADICTED, CONTRADICTED),
        ([sent(5), sent(70)], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["refused", "taken", "one of each", "refused for something else", "sent at other times"],
)
def test_what_comes_of_records_while_the_clock_is_behind(sends: list[list[Timed]], refuses: str, takes: str) -> None:
    assert outcome("clock-behind-refuses-records", BEHIND, *sends) == refuses
    assert outcome("clock-behind-takes-records", BEHIND, *sends) == takes


def test_a_clock_that_is_ahead_is_not_behind() -> None:
    assert outcome("clock-behind-takes-records", AHEAD, sent(20)) == NOT_OBSERVED


def isr(second: float, *brokers: int) -> Timed:
    state = Partition(
        source="kraft", topic="t", partition=0, leader=1, leader_epoch=0, isr=brokers, version=int(second)
    )
    return second, state


def cut(begin: float, end: float, follower: str = "broker-2") -> list[Timed]:
    return struck("cut", begin, end, node=f"{follower}, broker-1", links=((follower, "broker-1"),))


LEFT, BACK = isr(62, 1, 3), isr(75, 1, 2, 3)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([cut(20, 70), [LEFT, BACK]], HELD),
        ([cut(20, 70), [isr(40, 1, 3), BACK]], CONTRADICTED),
        ([cut(20, 70)], CONTRADICTED),
        ([cut(55, 70), [LEFT, BACK]], NOT_OBSERVED),
        ([cut(62, 70), [isr(65, 1, 3), BACK]], NOT_OBSERVED),
        ([], NOT_OBSERVED),
    ],
    ids=["stays, then leaves", "leaves before", "stays for ever", "cut too late", "cut when it was right", "no cut"],
)
def test_a_replica_that_fetches_nothing_while_the_clock_is_behind(events: list[list[Timed]], expected: str) -> None:
    assert outcome("lag-not-seen-while-clock-behind", BEHIND, *events) == expected


def test_a_cut_between_followers_is_none_from_the_leader() -> None:
    between = struck("cut", 20, 70, node="broker-2, broker-3", links=(("broker-2", "broker-3"),))
    assert outcome("lag-not-seen-while-clock-behind", BEHIND, between, [LEFT]) == NOT_OBSERVED


WAITS, FETCHES = "follower-waits-for-its-old-time", "follower-fetches-by-the-right-time"
FOLLOWER_AHEAD = struck("clock-step", 10, 30, node="broker-2", seconds=8 * 86400)


def died(second: float) -> Timed:
    return second, Container(node="broker-2", action="die", exit_code=0)


@pytest.mark.parametrize(
    ("events", "waits", "fetches"),
    [
        ([isr(34, 1, 3), died(60), isr(62, 1, 2, 3), isr(90, 1, 2, 3)], HELD, CONTRADICTED),
        ([isr(20, 1, 3), died(60)], HELD, CONTRADICTED),
        ([isr(34, 1, 3), isr(50, 1, 2, 3), died(60)], CONTRADICTED, CONTRADICTED),
        ([isr(50, 1, 2, 3), died(60)], CONTRADICTED, HELD),
        ([isr(31.2, 1, 3), died(33)], NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["out until it is started anew", "out before", "comes back", "never left", "not watched for long"],
)
def test_a_follower_whose_clock_was_ahead(events: list[Timed], waits: str, fetches: str) -> None:
    assert outcome(WAITS, FOLLOWER_AHEAD, events) == waits
    assert outcome(FETCHES, FOLLOWER_AHEAD, events) == fetches


def test_a_leader_or_a_clock_behind_is_no_follower_ahead() -> None:
    behind = struck("clock-step", 10, 30, node="broker-2", seconds=-7200)
    for other in (AHEAD, behind):
        assert outcome(WAITS, other, [isr(34, 1, 3), isr(90, 1, 3)]) == NOT_OBSERVED
