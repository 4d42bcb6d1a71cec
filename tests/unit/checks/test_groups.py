"""What a group's coordinator had acknowledged it answers, until somebody commits another offset."""

from __future__ import annotations

import pytest

from checks.anomalies.groups import committed_offset_lost, committed_offset_regression, group_unavailable
from evidence.events import Event, OffsetAnswer, OffsetCommit
from evidence.run_state import RunState
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


def test_a_coordinator_that_answers_nothing_but_errors() -> None:
    errors = [answer(None, second, error="NOT_COORDINATOR") for second in (20, 30, 40)]
    (row,) = group_unavailable(run_state(commit(5, 1), *errors))
    assert (row["since_ns"], row["until_ns"], row["error"]) == (20 * 10**9, 40 * 10**9, "NOT_COORDINATOR")


@pytest.mark.parametrize(
    "events",
    [
        (answer(None, 20, error="E"), answer(None, 60, error="E")),
        (commit(5, 1), answer(None, 20, error="E"), answer(5, 60)),
        (commit(5, 1), answer(None, 20, error="E"), answer(None, 35, error="E")),
        (commit(5, 1), answer(None, 20, error="E"), answer(5, 30), answer(None, 45, error="E")),
    ],
    ids=["nothing was committed", "it answers in the end", "asked for less than 20 s", "it answers in between"],
)
def test_errors_that_pass_are_no_unavailable_group(events: tuple[Event, ...]) -> None:
    assert group_unavailable(run_state(*events)) == []


def test_the_time_that_the_first_question_waited_counts() -> None:
    waited = [answer(None, 30, error="_TIMED_OUT", took_s=10), answer(None, 41, error="_TIMED_OUT")]
    assert len(group_unavailable(run_state(commit(5, 1), *waited))) == 1
