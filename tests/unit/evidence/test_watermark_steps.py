"""The way of a record under the high watermarks, and the claims about it, by what brokers said at TRACE."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from checks import claims
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from evidence.events import Acked, Event, Log, OffsetKind, Partition, ReplicaOffset, Send
from evidence.findings import ClaimResult
from evidence.replication import STEPS, ReplicaEnds, StepName, ways
from evidence.run_state import RunState
from tests.records import run_record
from tests.unit.timelines import at

MS = 1_000_000
RUN: dict[str, Any] = {"kafka": "2.8.2", "mode": "zookeeper", "topics": [{"name": "t"}]}
STEP_CLAIM = "high-watermark-follows-in-steps"
OTHERS = ("high-watermark-within-log", "leader-high-watermark-never-falls", "follower-high-watermark-behind-leaders")


def state(*, leader: int = 1, epoch: int = 0, isr: tuple[int, ...] = (1, 2)) -> Partition:
    return Partition(source="zookeeper", topic="t", partition=0, leader=leader, leader_epoch=epoch, isr=isr)


def said(broker: int, what: OffsetKind, offset: int, topic: str = "t", **more: Any) -> ReplicaOffset:
    return ReplicaOffset(node=f"broker-{broker}", what=what, topic=topic, partition=0, offset=offset, line="", **more)


def record(offset: int, sent_ms: int, acked_ms: int) -> list[Event]:
    send = Send(process="p", topic="t", partition=0, producer=1, sequence=offset, acks="all")
    about = {"process": "p", "topic": "t", "producer": 1, "sequence": offset, "acks": "all"}
    acked = Acked(**about, partition=0, offset=offset, outcome="ok")  # type: ignore[arg-type]
    return [at(sent_ms * MS, send), at(acked_ms * MS, acked)]


def way(offset: int, begin_ms: int) -> dict[StepName, ReplicaOffset]:
    """How a record at this offset goes, in steps of 10 ms."""
    steps: dict[StepName, ReplicaOffset] = {
        "leader-appends": said(1, "log-end", offset + 1),
        "first-answer": said(2, "response", offset, high_watermark=offset),
        "follower-appends": said(2, "log-end", offset + 1),
        "second-fetch": said(2, "fetch", offset + 1),
        "leader-hears": said(1, "remote-log-end", offset + 1, replica=2),
        "leader-raises": said(1, "high-watermark", offset + 1),
        "second-answer": said(2, "response", offset + 1, high_watermark=offset + 1),
        "follower-raises": said(2, "high-watermark", offset + 1),
    }
    return {name: at((begin_ms + 10 * number) * MS, one) for number, (name, one) in enumerate(steps.items(), start=1)}


def run_state(*events: Event) -> RunState:
    return RunState(tuple(sorted(events, key=lambda event: event.at_ns)))


def whole(first: dict[StepName, ReplicaOffset] | None = None) -> list[Event]:
    """Two records, one after the other."""
    first = way(0, 1000) if first is None else first
    return [
        at(MS, state()),
        *record(0, 1000, 1070),
        *first.values(),
        *record(1, 3000, 3070),
        *way(1, 3000).values(),
    ]


def judged(name: str, *events: Event) -> ClaimResult:
    return claims.judge(name, RunEvidence(run=run_record(RUN), run_state=run_state(*events)))


def moved(steps: dict[StepName, ReplicaOffset], name: StepName, to_ms: int) -> dict[StepName, ReplicaOffset]:
    return steps | {name: at(to_ms * MS, steps[name])}


def test_the_way_of_a_record_with_what_each_replica_had() -> None:
    found = ways(run_state(*whole()), ("t", 0))
    assert [(one.record.offset, one.leader, one.follower) for one in found] == [
        (0, "broker-1", "broker-2"),
        (1, "broker-1", "broker-2"),
    ]
    assert list(found[1].steps) == list(STEPS)
    assert found[1].missing == ()
    assert [found[1].ends[name] for name in ("leader-appends", "leader-raises")] == [
        (ReplicaEnds(log_end=2, high_watermark=1), ReplicaEnds(log_end=1, high_watermark=1)),
        (ReplicaEnds(log_end=2, high_watermark=2), ReplicaEnds(log_end=2, high_watermark=1)),
    ]


@pytest.mark.parametrize("name", [STEP_CLAIM, *OTHERS])
def test_what_is_documented_is_held(name: str) -> None:
    assert judged(name, *whole()).outcome == HELD


def test_the_leader_may_tell_of_the_follower_after_its_high_watermark() -> None:
    """From 2.8 on; and before 0.11 no line says what the follower asks for."""
    steps = moved(way(0, 1000), "leader-hears", 1065)
    del steps["second-fetch"]
    assert judged(STEP_CLAIM, *whole(steps)).outcome == HELD


@pytest.mark.parametrize(
    ("name", "to_ms"),
    [
        ("leader-appends", 1025),
        ("leader-raises", 1025),
        ("leader-hears", 1025),
        ("second-fetch", 1065),
        ("second-answer", 1055),
        ("follower-raises", 1065),
    ],
)
def test_steps_in_another_order_contradict(name: StepName, to_ms: int) -> None:
    found = judged(STEP_CLAIM, *whole(moved(way(0, 1000), name, to_ms)))
    assert found.outcome == CONTRADICTED
    assert [row["offset"] for row in found.evidence] == [0]


def test_lines_of_two_brokers_in_one_millisecond_have_no_order_and_those_of_one_have() -> None:
    steps = way(0, 1000)
    assert judged(STEP_CLAIM, *whole(moved(steps, "second-answer", 1060))).outcome == HELD
    last: StepName = "follower-raises"
    swapped = {last: steps[last]} | moved(steps, last, 1070)
    assert judged(STEP_CLAIM, *whole(swapped)).outcome == CONTRADICTED


@pytest.mark.parametrize("name", ["leader-appends", "first-answer", "leader-hears", "leader-raises", "follower-raises"])
@pytest.mark.parametrize("offset", [0, 1])
def test_a_record_of_which_a_line_is_missing_is_not_observed(offset: int, name: StepName) -> None:
    """The next record's line is no substitute for it."""
    gone = way(offset, 1000 + 2000 * offset)[name]
    found = judged(STEP_CLAIM, *[one for one in whole() if one != gone])
    assert found.outcome == NOT_OBSERVED
    assert name in found.observed
    assert [row["offset"] for row in found.evidence] == [offset]


@pytest.mark.parametrize("name", [STEP_CLAIM, *OTHERS])
def test_without_trace_nothing_is_observed(name: str) -> None:
    events = [one for one in whole() if not isinstance(one, ReplicaOffset)]
    assert judged(name, *events).outcome == NOT_OBSERVED


@pytest.mark.parametrize("name", [STEP_CLAIM, *OTHERS])
@pytest.mark.parametrize("silent", ["broker-1", "broker-2"])
def test_without_the_lines_of_one_broker_nothing_is_observed(name: str, silent: str) -> None:
    """So it is too if its log is another broker's: the parser takes no line that names another."""
    events = [one for one in whole() if not (isinstance(one, ReplicaOffset) and one.node == silent)]
    assert judged(name, *events).outcome == NOT_OBSERVED


@pytest.mark.parametrize("name", [STEP_CLAIM, *OTHERS])
def test_what_was_said_of_another_topic_is_no_evidence(name: str) -> None:
    events = [
        msgspec.structs.replace(one, topic="__consumer_offsets") if isinstance(one, ReplicaOffset) else one
        for one in whole()
    ]
    assert judged(name, *events).outcome == NOT_OBSERVED


def test_a_high_watermark_above_the_log_end_contradicts() -> None:
    found = judged("high-watermark-within-log", *whole(), at(4000 * MS, said(2, "high-watermark", 3)))
    assert found.outcome == CONTRADICTED
    assert [(row["node"], row["high_watermark"], row["log_end"]) for row in found.evidence] == [("broker-2", 3, 2)]


def test_a_truncation_takes_the_log_end_back() -> None:
    cut = Log(node="broker-2", event="truncate", topic="t", partition=0, offset=1, line="")
    events = [*whole(), at(4000 * MS, cut), at(4001 * MS, said(2, "high-watermark", 2))]
    assert judged("high-watermark-within-log", *events).outcome == CONTRADICTED


@pytest.mark.parametrize(("epoch", "outcome"), [(0, CONTRADICTED), (1, HELD)], ids=["same epoch", "next epoch"])
def test_a_leaders_high_watermark_may_fall_with_its_epoch_only(epoch: int, outcome: str) -> None:
    fallen = [at(4000 * MS, state(epoch=epoch)), at(4100 * MS, said(1, "high-watermark", 1))]
    assert judged("leader-high-watermark-never-falls", *whole(), *fallen).outcome == outcome


def test_a_followers_high_watermark_may_fall() -> None:
    events = [*whole(), at(4100 * MS, said(2, "high-watermark", 1))]
    assert judged("leader-high-watermark-never-falls", *events).outcome == HELD


def test_a_follower_ahead_of_its_leader_contradicts_if_its_leader_told_it() -> None:
    ahead = at(4100 * MS, said(2, "high-watermark", 3))
    answered = at(4050 * MS, said(2, "response", 2, high_watermark=3))
    name = "follower-high-watermark-behind-leaders"
    assert judged(name, *whole(), answered, ahead).outcome == CONTRADICTED
    # In a new epoch, before any answer, it has what it came with.
    assert judged(name, *whole(), at(4000 * MS, state(epoch=1)), ahead).outcome == HELD


def test_a_follower_that_left_the_isr_meanwhile_is_not_waited_for() -> None:
    events = [at(MS, state()), *record(0, 1000, 2000), at(1500 * MS, state(isr=(1,)))]
    assert ways(run_state(*events), ("t", 0)) == ()
