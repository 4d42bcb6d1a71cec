"""What a group's coordinator had acknowledged it answers, until somebody commits another offset."""

from __future__ import annotations

from typing import Any

import pytest

from checks import excuses
from checks.anomalies.groups import (
    committed_offset_ahead,
    committed_offset_lost,
    committed_offset_regression,
    group_unavailable,
    partition_of,
)
from evidence import findings
from evidence.engine import ContainerAction
from evidence.events import (
    Container,
    Event,
    Fault,
    FaultPhase,
    OffsetAnswer,
    OffsetCommit,
    Partition,
    Step,
    Stillness,
    Target,
    Waits,
)
from evidence.run_state import RunState
from tests.proofs import proof
from tests.records import run_record
from tests.unit.timelines import at


def commit(offset: int, at_s: int, *, group: str = "g", partition: int = 0) -> Event:
    return at(at_s * 10**9, OffsetCommit(group=group, topic="t", partition=partition, offset=offset))


def answer(
    offset: int | None, at_s: int, *, group: str = "g", partition: int = 0, error: str | None = None, took_s: int = 0
) -> Event:
    asked_ns = (at_s - took_s) * 10**9
    said = OffsetAnswer(group=group, topic="t", partition=partition, offset=offset, error=error, asked_ns=asked_ns)
    return at(at_s * 10**9, said)


def run_state(*events: Event) -> RunState:
    return RunState(events)


def test_an_offset_that_was_committed_and_is_not_there() -> None:
    (row,) = committed_offset_lost(run_state(commit(5, 1), answer(None, 9)))
    assert row == {
        "group": "g",
        "topic": "t",
        "partition": 0,
        "committed": {"offset": 5, "kind": "offset-commit", "at_ns": 10**9},
        "answered": None,
        "at_ns": 9 * 10**9,
    }


def test_an_offset_that_a_member_committed_is_known_by_an_answer() -> None:
    (row,) = committed_offset_lost(run_state(answer(None, 1), answer(5, 2), answer(None, 9)))
    assert row["committed"] == {"offset": 5, "kind": "offset-answer", "at_ns": 2 * 10**9}


@pytest.mark.parametrize(
    "events",
    [
        (answer(None, 1), commit(5, 2), answer(5, 3)),
        (commit(5, 1), answer(None, 2, group="other")),
        (commit(5, 1), answer(None, 2, partition=1)),
        (commit(5, 1), answer(None, 2, error="_TIMED_OUT")),
        (commit(5, 1), answer(4, 2)),
    ],
    ids=["before the commit", "another group", "another partition", "no answer", "an earlier one"],
)
def test_what_is_no_lost_offset(events: tuple[Event, ...]) -> None:
    assert committed_offset_lost(run_state(*events)) == []


def test_the_offset_0_is_one_too() -> None:
    (row,) = committed_offset_lost(run_state(commit(0, 1), answer(None, 9)))
    assert row["committed"]["offset"] == 0
    assert committed_offset_regression(run_state(commit(0, 1), answer(0, 9))) == []


GROUP = {"group": "g", "partition": "t-0"}


def step(name: str, at_s: int, **detail: Any) -> Event:
    return at(at_s * 10**9, Step(name=name, phase="begin", detail=detail))


def test_an_offset_that_nobody_committed() -> None:
    (row,) = committed_offset_ahead(run_state(commit(10, 1), answer(500, 9), answer(501, 10)), run_record())
    assert (row["committed"], row["answered"], row["at_ns"]) == (10, 500, 9 * 10**9)


@pytest.mark.parametrize(
    "events",
    [
        (commit(10, 1), answer(10, 9)),
        (commit(10, 1), commit(20, 2), answer(20, 9)),
        (answer(20, 9),),
        (commit(10, 1), step("commit an offset without waiting", 2, offset=20, **GROUP), answer(20, 9)),
        (commit(10, 1), step("application", 2, group="g"), answer(20, 9)),
        (commit(10, 1), answer(None, 9, error="E")),
    ],
    ids=[
        "it was committed",
        "it was committed later",
        "nobody knows what was committed",
        "its commit may have been taken",
        "the group has members",
        "an error",
    ],
)
def test_what_is_no_offset_ahead(events: tuple[Event, ...]) -> None:
    assert committed_offset_ahead(run_state(*events), run_record()) == []


def test_what_a_member_of_the_run_commits_nobody_tells() -> None:
    member = {"name": "consumer-1", "kind": "consumer", "settings": {"group.id": "g"}}
    events = run_state(commit(10, 1), answer(500, 9))
    assert committed_offset_ahead(events, run_record(processes=[member])) == []


def test_an_offset_that_went_back() -> None:
    (row,) = committed_offset_regression(run_state(commit(18, 1), commit(100, 2), answer(18, 9)))
    assert (row["committed"]["offset"], row["answered"]) == (100, 18)


@pytest.mark.parametrize(
    "events",
    [
        (commit(100, 1), answer(100, 2), answer(120, 3)),
        (commit(100, 1), commit(18, 2), answer(18, 3)),
        (commit(100, 1), answer(None, 2)),
        (commit(100, 1), answer(18, 2, group="other")),
    ],
    ids=["it rises", "somebody committed it", "none at all", "another group"],
)
def test_what_is_no_offset_that_went_back(events: tuple[Event, ...]) -> None:
    assert committed_offset_regression(run_state(*events)) == []


BEGUN = "commit an offset without waiting"


@pytest.mark.parametrize(
    ("events", "found"),
    [
        # The first commit was never acknowledged: it may be taken after the second one.
        ((step(BEGUN, 1, offset=18, **GROUP), commit(100, 2), answer(18, 9)), 0),
        ((step(BEGUN, 1, offset=18, **GROUP), commit(100, 2), answer(18, 3), answer(18, 9)), 0),
        # It was, and the second one after it.
        ((step(BEGUN, 1, offset=18, **GROUP), commit(18, 2), commit(100, 3), answer(18, 9)), 1),
        # It has another offset, is another group's, or is begun later.
        ((step(BEGUN, 1, offset=17, **GROUP), commit(100, 2), answer(18, 9)), 1),
        ((step(BEGUN, 1, offset=18, **GROUP | {"group": "other"}), commit(100, 2), answer(18, 9)), 1),
        ((commit(100, 2), answer(18, 9), step(BEGUN, 10, offset=18, **GROUP)), 1),
        # Of two commits of one offset one was acknowledged.
        (
            (*(step(BEGUN, at_s, offset=18, **GROUP) for at_s in (1, 2)), commit(18, 3), commit(100, 4), answer(18, 9)),
            0,
        ),
        # It is taken once: what comes after it stays.
        ((step(BEGUN, 1, offset=18, **GROUP), commit(100, 2), answer(18, 3), answer(17, 9)), 1),
    ],
    ids=[
        "not acknowledged",
        "answered twice",
        "acknowledged",
        "another offset",
        "another group",
        "begun later",
        "one of two acknowledged",
        "an earlier one after it",
    ],
)
def test_a_commit_that_nobody_answered_may_be_taken_late(events: tuple[Event, ...], found: int) -> None:
    assert len(committed_offset_regression(run_state(*events))) == found
    # No commit takes an offset away.
    assert len(committed_offset_lost(run_state(*events, answer(None, 20)))) == 1


def test_a_coordinator_that_answers_nothing_but_errors() -> None:
    errors = [answer(None, second, error="NOT_COORDINATOR") for second in (20, 30, 40)]
    (row,) = group_unavailable(run_state(commit(5, 1), *errors))
    assert (row["since_ns"], row["until_ns"], row["error"]) == (20 * 10**9, 40 * 10**9, "NOT_COORDINATOR")


@pytest.mark.parametrize(
    "events",
    [
        (answer(None, 20, error="E"), answer(None, 60, error="E")),
        (commit(5, 1), answer(None, 20, error="E"), answer(None, 35, error="E")),
        (commit(5, 1), answer(None, 20, error="E"), answer(5, 30), answer(None, 45, error="E")),
    ],
    ids=["nothing was committed", "asked for less than 20 s", "it answers in between"],
)
def test_errors_that_pass_are_no_unavailable_group(events: tuple[Event, ...]) -> None:
    assert group_unavailable(run_state(*events)) == []


ERRORS = [answer(None, second, error="E") for second in range(20, 220, 10)]
OFFSETS = "__consumer_offsets"


def leads(leader: int, at_s: int, *, partition: int = 0) -> Event:
    state = Partition(source="kraft", topic=OFFSETS, partition=partition, leader=leader, leader_epoch=at_s, isr=(1, 2))
    return at(at_s * 10**9, state)


def struck(kind: str, node: str, begin_s: int, end_s: int | None) -> list[Event]:
    times: list[tuple[FaultPhase, int]] = [("inject", begin_s), ("verified", begin_s)]
    times += [("heal", end_s), ("healed", end_s)] if end_s is not None else []
    return [
        at(
            at_s * 10**9,
            Fault(
                fault_kind=kind, id=f"{kind} of {node}", phase=phase, target=Target(node=node), description="",
                proof=proof(kind) if phase == "verified" else None,
            ),
        )
        for phase, at_s in times
    ]  # fmt: skip


def container(node: str, action: ContainerAction, at_s: int) -> Event:
    return at(at_s * 10**9, Container(node=node, action=action, time_nano=at_s))


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([], True),
        (struck("freeze", "broker-1", 10, 300), False),
        (struck("freeze", "broker-1", 10, 205), False),
        (struck("freeze", "broker-1", 10, 100), True),
        ([leads(1, 1), *struck("freeze", "broker-1", 10, 300)], False),
        ([leads(1, 1), *struck("freeze", "broker-2", 10, 300)], True),
        ([leads(1, 1), *struck("freeze", "zookeeper", 10, 300)], False),
        ([leads(1, 1), *struck("kill-client", "reader-1", 10, None)], True),
        ([leads(1, 1), leads(-1, 15)], False),
        ([leads(1, 1), *[leads(1 + second % 2, second) for second in range(20, 220, 15)]], False),
        ([leads(1, 1), container("broker-1", "die", 15)], False),
        ([leads(1, 1), container("broker-1", "die", 15), container("broker-1", "start", 205)], False),
        ([at(219 * 10**9, Stillness(begin_ns=20 * 10**9, late_ms=1))], True),
        ([at(60 * 10**9, Stillness(begin_ns=20 * 10**9, late_ms=1))], True),
    ],
    ids=[
        "nothing happened",
        "a broker stood still, and nobody knows who coordinates",
        "nearly to the end",
        "for a while",
        "the coordinator stood still",
        "another broker stood still",
        "the cluster's coordinator stood still",
        "a client was killed",
        "nobody leads its offsets",
        "somebody else leads them each 15 s",
        "it is dead",
        "it was dead until just now",
        "the machine stood still, for ten times as long as may be",
        "the machine stood still for a while",
    ],
)
@pytest.mark.parametrize("answers", [False, True], ids=["to the end", "until it answers"])
def test_a_coordinator_that_might_answer(events: list[Event], found: bool, answers: bool) -> None:
    told = [commit(5, 1), *ERRORS, *([answer(5, 221)] if answers else []), *events]
    state = run_state(*sorted(told, key=lambda event: event.at_ns))
    assert bool(group_unavailable(state)) == found


@pytest.mark.parametrize(("answers", "found"), [(False, True), (True, False)])
def test_what_comes_in_the_end_may_have_come_late_because_the_machine_was_busy(answers: bool, found: bool) -> None:
    waits = at(50 * 10**9, Waits(begin_ns=20 * 10**9, slices=((30_000_000, 25_000_000),)))
    told = [commit(5, 1), *ERRORS[:4], *([answer(5, 51)] if answers else []), waits]
    assert bool(group_unavailable(run_state(*sorted(told, key=lambda event: event.at_ns)))) == found


def test_of_several_partitions_of_offsets_one_is_the_groups() -> None:
    """The others' leaders do not matter."""
    others = [leads(-1, 1, partition=number) for number in range(50) if number != partition_of("g", 50)]
    dead = container("broker-2", "die", 15)
    for leader, found in ((1, True), (2, False)):
        told = [*others, leads(leader, 1, partition=partition_of("g", 50)), commit(5, 1), dead, *ERRORS]
        assert bool(group_unavailable(run_state(*told))) == found


@pytest.mark.parametrize(("group", "partition"), [("g", 103 % 50), ("hello", 99162322 % 50), ("polygenelubricants", 0)])
def test_a_group_has_its_partition_by_javas_hash(group: str, partition: int) -> None:
    assert partition_of(group, 50) == partition


def test_the_time_that_the_first_question_waited_counts() -> None:
    waited = [answer(None, 30, error="_TIMED_OUT", took_s=10), answer(None, 41, error="_TIMED_OUT")]
    assert len(group_unavailable(run_state(commit(5, 1), *waited))) == 1


@pytest.mark.parametrize(
    ("kafka", "until_s", "error", "settings", "permitted"),
    [
        ("0.10.2.2", 50, "NOT_COORDINATOR", {}, True),
        ("1.0.2", 54, "NOT_COORDINATOR", {}, True),
        ("1.0.2", 56, "NOT_COORDINATOR", {}, False),
        ("1.0.2", 50, "NOT_COORDINATOR", {"replica.socket.timeout.ms": "3000"}, False),
        ("1.0.2", 50, "COORDINATOR_LOAD_IN_PROGRESS", {}, False),
        ("1.1.0", 50, "NOT_COORDINATOR", {}, False),
    ],
    ids=["0.10", "as long as it waits", "longer", "it waits for less", "another answer", "1.1"],
)
def test_before_1_1_a_new_coordinator_is_held_up_by_its_last_fetch(
    kafka: str, until_s: int, error: str, settings: dict[str, str], permitted: bool
) -> None:
    errors = [answer(None, second, error=error) for second in (21, 30, until_s)]
    state = run_state(leads(2, 0), commit(5, 1), leads(-1, 18), leads(3, 20), *errors, answer(5, 60))
    (row,) = group_unavailable(state)
    finding = findings.found("group-unavailable", ("t", 0), [row])
    run = run_record({"kafka": kafka, "settings": settings})
    assert (excuses.held_up_by_last_fetch(run, finding, state) is not None) == permitted
    assert excuses.held_up_by_last_fetch(run, finding) is None
