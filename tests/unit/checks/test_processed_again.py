"""When an input may be processed again: what disturbs members, how far that reaches, and what a machine does."""

from __future__ import annotations

from typing import Literal

import pytest

from checks.excuses import AGAIN_BY_MACHINE, PROCESSED_AGAIN, counted_at_least_once, processed_at_least_once
from checks.processed_again import PATIENCE_NS, limits_of
from evidence.events import Event, Machine, Step, Stillness, Waits
from evidence.findings import Finding, Row
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.checks.test_availability_anomalies import SECOND, docker, fault, run_state_of
from tests.unit.checks.test_crash_claims import KILLED, stands
from tests.unit.timelines import at

SETTINGS = {"group.id": "g", "session.timeout.ms": "6000", "max.poll.interval.ms": "10000"}
RUN = run_record({"processes": [{"name": "processor-1", "kind": "processor", "settings": SETTINGS}]})
REACH_S = 6 + 10 + PATIENCE_NS // SECOND
"""How long after a disturbance the members of that run may process something again."""
UP = docker(0, "broker-1", "start")


def twice(*seconds: float | None, producers: tuple[int, ...] = (1, 2, 3)) -> Finding:
    """An input was processed at these times, by these producers."""
    outputs = [
        {"output": {"producer": producer, "sequence": 0}}
        | ({} if second is None else {"processed_ns": round(second * SECOND)})
        for second, producer in zip(seconds, producers, strict=False)
    ]
    row = Row(offset=3, process="final-read-1", detail={"outputs": outputs, "handed": 5})
    return Finding(anomaly="repeated-processing", topic="t", partition=0, count=1, evidence=(row,))


def why(finding: Finding, *events: Event) -> str | None:
    return processed_at_least_once(RUN, finding, run_state_of(UP, *events))


def application(
    second: float, phase: Literal["begin", "end"] = "begin", group: str = "g", name: str = "application"
) -> Step:
    detail = {"program": "process-then-commit", "group": group}
    return at(round(second * SECOND), Step(name=name, phase=phase, detail=detail))


def killed(second: float) -> list[Event]:
    """A broker dies, and is not started again."""
    return [
        fault(second, "inject", "kill", "broker-1"),
        docker(second + 1, "broker-1", "die", 137),
        fault(second + 2, "verified", "kill", "broker-1"),
    ]


def frozen(begin_s: float, end_s: float) -> list[Event]:
    """A member is frozen for a while."""
    phases = ((begin_s, "inject"), (begin_s, "verified"), (end_s, "heal"), (end_s, "healed"))
    return [fault(second, phase, "freeze-client", "processor-1") for second, phase in phases]  # type: ignore[arg-type]


def waits(*busy: tuple[float, float], until: int = 400) -> Waits:
    """Somebody waited for a CPU all the time between these seconds, in slices of half a second."""
    slices = [any(begin_s <= half / 2 < end_s for begin_s, end_s in busy) for half in range(2 * until)]
    return at(until * SECOND, Waits(begin_ns=0, slices=tuple((500_000, 500_000 if one else 0) for one in slices)))


@pytest.mark.parametrize(
    ("again_s", "events", "permitted"),
    [
        (12, [], False),
        # A fault, while it lasts and for as long as the group may take.
        (12, killed(100), False),
        (110, killed(100), True),
        (399, killed(100), True),
        (60, frozen(50, 55), True),
        (55 + REACH_S, frozen(50, 55), True),
        (56 + REACH_S, frozen(50, 55), False),
        (49, frozen(50, 55), False),
        # A container that is away.
        (30, [docker(20, "broker-1", "die", 1), docker(25, "broker-1", "start")], True),
        (26 + REACH_S, [docker(20, "broker-1", "die", 1), docker(25, "broker-1", "start")], False),
        (19, [docker(20, "broker-1", "die", 1), docker(25, "broker-1", "start")], False),
        # Members that come and leave beside others.
        (30, [application(1)], False),
        (30, [application(1), application(25)], True),
        (24, [application(1), application(25)], False),
        (26 + REACH_S, [application(1), application(25)], False),
        (30, [application(1), application(25, group="h")], False),
        (190, [application(1), application(25), application(185, "end")], True),
        (190, [application(1), application(185, "end")], False),
        (30, [application(1, name="streams"), application(25, name="streams")], True),
    ],
)
def test_a_repetition_follows_a_disturbance(again_s: float, events: list[Event], permitted: bool) -> None:
    assert why(twice(10, again_s), *events) == (PROCESSED_AGAIN if permitted else None)


def test_what_was_processed_long_before_and_not_committed_is_processed_again() -> None:
    """With commits that nobody waits for the first processing may lie anywhere."""
    assert why(twice(1, 380), *frozen(370, 375)) == PROCESSED_AGAIN


def test_each_repetition_has_a_disturbance_before_it() -> None:
    assert why(twice(10, 60, 200), *frozen(50, 55)) is None
    assert why(twice(10, 60, 70), *frozen(50, 55)) == PROCESSED_AGAIN


def test_a_member_that_stood_still_may_go_on_at_any_time() -> None:
    """Its own output may come long after its crash point; those of others follow it as they follow any disturbance."""
    point = stands(4, 20 * SECOND)
    assert why(twice(25, 300, producers=(9, KILLED)), point) == PROCESSED_AGAIN
    assert why(twice(25, 300, producers=(KILLED, 9)), point) is None
    assert why(twice(10, 60, producers=(KILLED, 9)), point) == PROCESSED_AGAIN
    assert why(twice(10, 15, producers=(KILLED, 9)), point) is None


def test_of_what_nobody_told_the_time_any_disturbance_may_be_the_reason() -> None:
    """A member that was killed may have said less than it did."""
    assert why(twice(None, 12), *killed(100)) == PROCESSED_AGAIN
    assert why(twice(None, 12)) is None
    # Of two processings with a time one is a repetition for sure.
    assert why(twice(None, 10, 12), *killed(100)) is None


def test_the_time_at_which_the_final_reader_has_read_an_output_is_not_that_of_its_processing() -> None:
    outputs = [{"output": {"producer": one, "sequence": 0}, "completed_ns": 500 * SECOND} for one in (1, 2)]
    row = Row(offset=3, detail={"outputs": outputs})
    finding = Finding(anomaly="repeated-processing", topic="t", partition=0, count=1, evidence=(row,))
    assert why(finding, *frozen(5, 6)) == PROCESSED_AGAIN


@pytest.mark.parametrize(
    ("again_s", "busy", "doubted"),
    [
        (12, [], False),
        # Half of a session within one session.
        (60, [(50, 53)], True),
        (60, [(50, 51), (52, 53), (54, 55)], True),
        (60, [(50, 52)], False),
        # It is no matter how often, and when in all, somebody waited for less.
        (390, [(begin_s, begin_s + 1) for begin_s in range(0, 380, 10)], False),
        # It comes after, and not for ever.
        (49, [(50, 53)], False),
        (52, [(50, 53)], False),
        (58 + REACH_S, [(50, 53)], False),
    ],
    ids=["idle", "half a session", "in parts", "too short", "now and then", "before", "too soon", "long ago"],
)
def test_a_busy_machine_is_a_doubt(again_s: float, busy: list[tuple[float, float]], doubted: bool) -> None:
    assert why(twice(10, again_s), waits(*busy)) == (AGAIN_BY_MACHINE if doubted else None)


def test_a_machine_that_stood_still_is_a_doubt() -> None:
    stillness = at(54 * SECOND, Stillness(begin_ns=50 * SECOND, late_ms=4000))
    assert why(twice(10, 60), stillness) == AGAIN_BY_MACHINE
    assert why(twice(10, 40), stillness) is None


def test_what_a_disturbance_explains_the_machine_need_not() -> None:
    assert why(twice(10, 60), waits((50, 58)), *frozen(50, 55)) == PROCESSED_AGAIN
    assert why(twice(10, 60, 200), waits((190, 198)), *frozen(50, 55)) == AGAIN_BY_MACHINE


def test_where_nothing_says_when_the_machine_was_busy_it_was_so_all_the_time() -> None:
    for share, reason in ((0.6, AGAIN_BY_MACHINE), (0.4, None)):
        machine = at(400 * SECOND, Machine(seconds=400, late_ms=0, cpu=share))
        assert why(twice(10, 60), machine) == reason


def test_what_the_machine_held_up_comes_later() -> None:
    """Patience is as much longer as somebody waited for a CPU, and not for ever."""
    late_s = 55 + REACH_S + 20
    assert why(twice(10, late_s), *frozen(50, 55), waits((60, 70))) is None
    assert why(twice(10, late_s), *frozen(50, 55), waits((60, 90))) == PROCESSED_AGAIN


def test_limits_are_those_of_the_members_and_of_the_brokers() -> None:
    def of(*members: dict[str, str], **brokers: str) -> tuple[int, int]:
        limits = limits_of(
            run_record({"settings": {name.replace("_", "."): one for name, one in brokers.items()}}), members
        )
        return limits.shortest_ns // 10**6, (limits.reach_ns - PATIENCE_NS) // 10**6

    assert of() == of({}) == (6_000, 345_000)
    assert of(SETTINGS) == (6_000, 16_000)
    assert of(SETTINGS, {"session.timeout.ms": "60000"}) == (6_000, 70_000)
    assert of({"session.timeout.ms": "60000"}) == (60_000, 360_000)
    assert of({"consumer.session.timeout.ms": "9000", "max.poll.interval.ms": "7000"}) == (7_000, 16_000)
    assert of({"zookeeper.session.timeout.ms": "9000"}) == (9_000, 309_000)
    assert of({}, group_consumer_session_timeout_ms="5000") == (5_000, 305_000)
    assert of({}, group_share_record_lock_duration_ms="15000") == (15_000, 315_000)
    assert of({}, broker_session_timeout_ms="4000", zookeeper_session_timeout_ms="4000") == (6_000, 345_000)


@pytest.mark.parametrize(("events", "reason"), [(frozen(5, 6), PROCESSED_AGAIN), ([], None)])
def test_a_result_that_counts_an_input_again_has_a_disturbance(events: list[Event], reason: str | None) -> None:
    """Its row says how many outputs name the input, and not which."""
    row = Row(offset=3, process="processor-1", detail={"counted": 2, "outputs": 1})
    finding = Finding(anomaly="state-store-leak", topic="t", partition=0, count=1, evidence=(row,))
    assert counted_at_least_once(RUN, finding, RunState(tuple(events))) == reason
