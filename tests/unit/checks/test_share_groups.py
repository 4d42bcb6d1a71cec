"""Share groups: what members were given and said, and the records that were lost or delivered too often."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from checks import claims
from checks.anomalies.share_groups import delivered_too_often, share_record_lost
from checks.claims import CONTRADICTED, HELD, NOT_OBSERVED, RunEvidence
from checks.shares import ShareGroupState, share_group_state, share_steps
from evidence.events import (
    Broker,
    ClientEnded,
    Container,
    DeadLetter,
    DeadLetters,
    Event,
    Fault,
    Partition,
    ShareProgress,
    Target,
)
from evidence.run_state import RunState
from evidence.shares import UNANSWERED
from evidence.spans import Span
from tests.proofs import proof
from tests.records import run_record
from tests.unit.checks.histories import Row, polled, sent, view
from tests.unit.timelines import at

RUN = {"topics": [{"name": "t", "partitions": {"0": [1, 2, 3]}}]}
REFUSED = "INVALID_RECORD_STATE"


def delivered(offset: int, count: int, at_ns: int, *, member: int = 1) -> Row:
    """A member was given the record, for the how manyth time."""
    return {
        "kind": "delivered",
        "outcome": "ok",
        "process": f"processor-{member}",
        "offset": offset,
        "count": count,
        "producer": 1,
        "sequence": offset,
        "invoked_ns": at_ns - 1,
        "completed_ns": at_ns,
    }


def unanswered(offset: int, at_ns: int) -> Row:
    """What a member said of a record, and its client told nothing of."""
    return said("accept", offset, at_ns, "info") | {"error_name": UNANSWERED}


def said(kind: str, offset: int, at_ns: int, outcome: str = "ok", *, member: int = 1) -> Row:
    """What a member said of a record, and the answer."""
    return {
        "kind": kind,
        "outcome": outcome,
        "process": f"processor-{member}",
        "offset": offset,
        "invoked_ns": at_ns - 1,
        "completed_ns": at_ns,
        "error_name": REFUSED if outcome == "fail" else None,
    }


RECORDS = [row for offset in range(3) for row in (sent(offset, offset), polled(offset, offset))]
FIRST = [delivered(0, 1, 10), said("accept", 0, 20)]


def saying(kind: str, offset: int, at_ns: int, *, member: int = 1) -> Row:
    """What a member was about to say of a record."""
    return said(kind, offset, at_ns, "info", member=member) | {"completed_ns": None}


LOCK_NS = 5_000


def done(passed: int, limit: int = 5, *, at_ns: int = 100 * LOCK_NS, forgotten: Sequence[Span] = ()) -> ShareGroupState:
    progress = ShareProgress(group="g", topic="t", partition=0, start=passed, lag=1, end=passed + 1, asked_ns=1)
    return ShareGroupState(limit=limit, lock_ns=LOCK_NS, forgotten=forgotten, told=[at(at_ns, progress)])


# share-record-lost


def test_a_record_that_nobody_was_given_and_the_group_has_passed() -> None:
    (row,) = share_record_lost(view(*RECORDS, *FIRST, delivered(2, 1, 30), said("accept", 2, 31)), done(3))
    assert (row["offset"], row["deliveries"], row["passed"]) == (1, 0, 3)


def test_a_record_that_was_passed_sooner_than_members_can_have_held_it_so_often() -> None:
    """Five members might have held it one after the other, had there been time for five locks."""
    rows = [*FIRST, *(delivered(2, 1, 30 + member, member=member) for member in range(1, 6))]
    assert share_record_lost(view(*RECORDS, *rows), done(2, at_ns=6 * LOCK_NS)) == []
    (row,) = share_record_lost(view(*RECORDS, *rows), done(2, at_ns=4 * LOCK_NS))
    assert row["offset"] == 1


def test_members_that_ended_may_have_held_a_record_without_waiting_for_its_lock() -> None:
    """What they return counts (KAFKA-19972)."""
    progress = ShareProgress(group="g", topic="t", partition=0, start=2, lag=1, end=3, asked_ns=1)
    members = {f"processor-{number}": 40 * number for number in range(1, 6)}
    for at_ns, lost in ((201, []), (199, [1])):
        state = ShareGroupState(lock_ns=LOCK_NS, told=[at(at_ns, progress)], ended=members)
        assert [row["offset"] for row in share_record_lost(view(*RECORDS, *FIRST), state)] == lost


def test_when_sessions_of_members_may_have_ended() -> None:
    member = {"name": "processor-1", "kind": "processor", "settings": {"share.acknowledgement.mode": "explicit"}}
    others = [member | {"name": "processor-2"}, {"name": "producer-1", "kind": "producer", "settings": {}}]
    fault = Fault(
        fault_kind="kill-client", id="f", phase="inject", target=Target(node="processor-2"), description="", proof=None
    )
    killed = [at(7, fault), at(9, structs.replace(fault, phase="verified", proof=proof("kill-client")))]
    closed = [at(20 * 10**9, ClientEnded(process=name)) for name in ("processor-1", "producer-1")]
    run = run_record(RUN, processes=(member, *others))
    assert share_group_state(run, RunState((*killed, *closed)), "t", 0).ended == {
        "processor-1": 5 * 10**9,
        "processor-2": 7,
    }


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([*FIRST], done(1)),
        ([*FIRST, delivered(1, 1, 30), said("accept", 1, 31)], done(2)),
        ([*FIRST, delivered(1, 1, 30), said("reject", 1, 31)], done(2)),
        ([*FIRST, delivered(1, 1, 30), said("accept", 1, 31, "info")], done(2)),
        ([*FIRST, delivered(1, 1, 30), saying("accept", 1, 31)], done(2)),
        ([*FIRST, delivered(1, 5, 30), said("release", 1, 31)], done(2)),
        ([*FIRST, delivered(1, 4, 30), said("release", 1, 31)], done(2)),
        ([delivered(1, 1, 30), said("accept", 1, 31)], done(2)),
        ([], done(3)),
    ],
    ids=[
        "not passed",
        "accepted",
        "rejected",
        "nobody knows the answer",
        "the member died before the answer",
        "delivered up to the limit",
        "its last delivery may be in a member's client",
        "before the group's beginning",
        "no share group",
    ],
)
def test_a_record_that_is_not_lost_to_the_group(rows: list[Row], state: ShareGroupState) -> None:
    assert share_record_lost(view(*RECORDS, *rows), state) == []


def test_a_refused_acceptance_is_none() -> None:
    rows = [*FIRST, delivered(1, 1, 30), saying("accept", 1, 31), said("accept", 1, 31, "fail")]
    assert [row["offset"] for row in share_record_lost(view(*RECORDS, *rows), done(2))] == [1]


# delivered-too-often


@pytest.mark.parametrize(
    "rows",
    [
        [*FIRST, delivered(0, 2, 30, member=2)],
        [delivered(0, 1, 10), said("reject", 0, 20), delivered(0, 2, 30)],
        [delivered(0, count, 10 * count) for count in range(1, 7)],
        [*FIRST, delivered(0, 1, 30, member=2)],
        [*FIRST, delivered(0, 1, 30)],
        [delivered(0, 1, 10), said("reject", 0, 20), delivered(0, 1, 30, member=2)],
        [delivered(0, 1, 10), delivered(0, 1, 12, member=2), said("accept", 0, 20), said("accept", 0, 21, member=2)],
        [delivered(0, 1, 10 * number) for number in range(1, 7)],
        [delivered(0, 1, 10), delivered(0, 1, 50, member=2), said("accept", 0, 60, member=2)],
    ],
    ids=[
        "after it was accepted",
        "after it was rejected",
        "beyond the limit",
        "by a broker that forgot that it was accepted",
        "to the same member",
        "by a broker that forgot that it was rejected",
        "to two members at once",
        "more often than the limit, with one number",
        "by a broker that forgot that the first member had it",
    ],
)
def test_a_record_that_is_delivered_too_often(rows: list[Row]) -> None:
    assert [row["offset"] for row in delivered_too_often(view(*RECORDS, *rows), done(0))] == [0]


@pytest.mark.parametrize(
    "rows",
    [
        FIRST,
        [delivered(0, 1, 10), said("release", 0, 20), delivered(0, 2, 30), said("accept", 0, 40)],
        [delivered(0, 1, 10), said("accept", 0, 20, "fail"), delivered(0, 2, 30)],
        [delivered(0, 1, 10), said("accept", 0, 20, "info"), delivered(0, 2, 30)],
        [delivered(0, 2, 10, member=2), said("accept", 0, 20, member=2), delivered(0, 1, 30)],
        [delivered(0, 1, 10), delivered(0, 2, 50, member=2), said("accept", 0, 60)],
        [delivered(0, count, 10 * count) for count in range(1, 6)],
        [delivered(0, 1, 10), delivered(0, 2, 50, member=2), said("accept", 0, 60, member=2), said("accept", 0, 90)],
        [delivered(0, 1, 10), delivered(0, 1, 50)],
    ],
    ids=[
        "once",
        "released",
        "refused",
        "no answer",
        "it lay in a client, and its lock has run out",
        "another member held it when it was accepted",
        "up to the limit",
        "what is said of a record that the group has passed does nothing",
        "once more to the member that has it",
    ],
)
def test_a_record_that_is_delivered_as_often_as_it_may_be(rows: list[Row]) -> None:
    assert delivered_too_often(view(*RECORDS, *rows), done(0)) == []


@pytest.mark.parametrize(
    ("forgotten", "again"),
    [((15, 15), []), ((25, 28), [0])],
    ids=["it may have lain in a client since", "it was accepted before"],
)
def test_a_broker_that_begins_to_lead_knows_what_was_accepted(forgotten: Span, again: list[int]) -> None:
    """It does not know what was delivered and not accepted, so two deliveries may have the first number."""
    rows = [*FIRST, delivered(0, 1, 30, member=2)]
    found = delivered_too_often(view(*RECORDS, *rows), done(0, forgotten=[forgotten]))
    assert [row["offset"] for row in found] == again


def test_a_record_that_was_sent_after_a_leader_was_replaced_was_forgotten_by_nobody() -> None:
    late = [row | {"invoked_ns": 16} if row["kind"] == "send" else row for row in RECORDS]
    rows = [delivered(0, 1, 17), said("accept", 0, 20), delivered(0, 1, 30, member=2)]
    assert [row["offset"] for row in delivered_too_often(view(*late, *rows), done(0, forgotten=[(15, 15)]))] == [0]


def test_when_brokers_may_have_forgotten_what_they_delivered() -> None:
    states = [led(1, 1), led(5, 2), led(7, 2)]
    ends = [at(9, Container(node="broker-2", action="die", time_nano=9))]
    state = share_group_state(run_record(RUN), RunState((*states, *ends)), "dlq", 0)
    assert [end_ns for _, end_ns in state.forgotten] == [9, 5, 7]
    elsewhere = share_group_state(run_record(RUN), RunState(tuple(states)), "t", 0)
    assert elsewhere.forgotten == ()


def test_what_is_known_of_a_share_group() -> None:
    told = [
        at(1, ShareProgress(group="g", topic="t", partition=0, start=4, lag=3, end=9, asked_ns=1)),
        at(2, ShareProgress(group="g", topic="t", partition=0, start=6, lag=0, end=9, asked_ns=2)),
        at(3, ShareProgress(group="g", topic="t", partition=0, end=0, error="none answers", asked_ns=3)),
        at(4, ShareProgress(group="g", topic="u", partition=0, start=70, lag=0, end=70, asked_ns=4)),
    ]
    assert [one.done for one in told] == [6, 9, None, 70]
    state = share_group_state(run_record(RUN), RunState(tuple(told)), "t", 0)
    assert (state.limit, state.passed) == (5, 9)
    limited = run_record(RUN, settings={"group.share.delivery.count.limit": "2"})
    assert share_group_state(limited, RunState(()), "t", 0).limit == 2
    locked = run_record(RUN, settings={"group.share.record.lock.duration.ms": "5000"})
    assert share_group_state(locked, RunState(()), "t", 0).lock_ns == 5_000_000_000


# Claims


def outcome(name: str, *rows: Row, passed: int = 3) -> str:
    told: Event = at(9, ShareProgress(group="g", topic="t", partition=0, start=passed, lag=1, end=9, asked_ns=9))
    steps = share_steps(whole(*rows))
    evidence = RunEvidence(run=run_record(RUN), run_state=RunState((told,)), shares=lambda topic, partition: steps)
    return claims.judge(name, evidence).outcome


def whole(*rows: Row) -> list[Row]:
    """Rows with all columns that a history has."""
    columns = ("error_name", "count", "producer", "sequence")
    return [dict.fromkeys(columns) | row for row in rows]


REFUSAL = [delivered(1, 1, 30), said("accept", 1, 40, "fail")]
SILENCE = [delivered(1, 1, 30), unanswered(1, 40)]


@pytest.mark.parametrize(
    ("rows", "answered", "not_answered"),
    [
        ([*FIRST, *REFUSAL], HELD, NOT_OBSERVED),
        ([*FIRST, *SILENCE, delivered(1, 2, 50)], CONTRADICTED, HELD),
        ([*FIRST, *SILENCE], CONTRADICTED, CONTRADICTED),
        ([*FIRST, delivered(1, 1, 30), saying("accept", 1, 40)], NOT_OBSERVED, NOT_OBSERVED),
        (FIRST, NOT_OBSERVED, NOT_OBSERVED),
    ],
    ids=["refused", "not told, and delivered again", "not told", "the member died", "accepted"],
)
def test_what_a_client_tells_of_acknowledgements(rows: list[Row], answered: str, not_answered: str) -> None:
    assert outcome("acknowledgement-is-answered", *rows) == answered
    assert outcome("acknowledgement-is-not-answered", *rows) == not_answered


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (FIRST, HELD),
        ([*FIRST, delivered(0, 2, 30, member=2)], CONTRADICTED),
        ([*FIRST, delivered(0, 1, 30, member=2)], CONTRADICTED),
        ([delivered(0, 1, 10), delivered(0, 1, 15, member=2), said("accept", 0, 20, member=2)], HELD),
        ([delivered(0, 2, 10, member=2), said("accept", 0, 20, member=2), delivered(0, 1, 30)], HELD),
        ([delivered(0, 1, 10), said("accept", 0, 20, "fail"), delivered(0, 2, 30)], NOT_OBSERVED),
        ([], NOT_OBSERVED),
    ],
)
def test_accepted_records(rows: list[Row], expected: str) -> None:
    assert outcome("accepted-record-is-not-delivered-again", *rows) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([delivered(0, 1, 10), said("reject", 0, 20)], HELD),
        ([delivered(0, 1, 10), said("reject", 0, 20), delivered(0, 2, 30)], CONTRADICTED),
        (FIRST, NOT_OBSERVED),
    ],
)
def test_rejected_records(rows: list[Row], expected: str) -> None:
    assert outcome("rejected-record-is-delivered-once", *rows) == expected


def released(times: int) -> list[Row]:
    return [
        row
        for count in range(1, times + 1)
        for row in (delivered(0, count, 10 * count), said("release", 0, 10 * count + 5))
    ]


@pytest.mark.parametrize(
    ("rows", "passed", "expected"),
    [
        (released(5), 1, HELD),
        (released(4), 1, CONTRADICTED),
        (released(6), 1, CONTRADICTED),
        (released(5), 0, CONTRADICTED),
        ([*released(2), delivered(0, 3, 90), said("accept", 0, 95)], 1, NOT_OBSERVED),
    ],
    ids=["at the limit", "before", "beyond", "the group has not passed it", "accepted in the end"],
)
def test_released_records(rows: list[Row], passed: int, expected: str) -> None:
    assert outcome("released-record-is-archived-at-limit", *rows, passed=passed) == expected


LATE = [delivered(0, 1, 10), delivered(0, 2, 50, member=2)]
ACCEPTED = said("accept", 0, 55, member=2)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([*LATE, said("accept", 0, 60, "fail")], HELD),
        ([*LATE, said("accept", 0, 60)], CONTRADICTED),
        ([*LATE, said("accept", 0, 60, "info")], NOT_OBSERVED),
        ([*LATE, said("accept", 0, 60, member=2)], NOT_OBSERVED),
        ([*LATE, ACCEPTED, said("accept", 0, 60)], NOT_OBSERVED),
        ([delivered(0, 1, 10), said("accept", 0, 40, "fail"), delivered(0, 2, 50, member=2)], NOT_OBSERVED),
    ],
    ids=[
        "refused",
        "taken",
        "no answer",
        "of the other member",
        "the other member has accepted it",
        "before the other one was given it",
    ],
)
def test_late_acknowledgements(rows: list[Row], expected: str) -> None:
    assert outcome("late-acknowledgement-is-refused", *rows, passed=0) == expected


@pytest.mark.parametrize(
    ("rows", "passed", "expected"),
    [
        ([*LATE, ACCEPTED, said("accept", 0, 60)], 1, HELD),
        ([*LATE, ACCEPTED, said("accept", 0, 60, "fail")], 1, CONTRADICTED),
        ([*LATE, ACCEPTED, said("release", 0, 60), delivered(0, 3, 70)], 1, CONTRADICTED),
        ([*LATE, ACCEPTED, said("accept", 0, 60)], 0, NOT_OBSERVED),
        ([*LATE, ACCEPTED], 1, NOT_OBSERVED),
    ],
    ids=["answered", "refused", "it changes something", "nobody says that it is passed", "nobody is late"],
)
def test_late_acknowledgements_of_passed_records(rows: list[Row], passed: int, expected: str) -> None:
    assert outcome("late-acknowledgement-of-passed-record-is-ignored", *rows, passed=passed) == expected


# Dead letters


def read(*offsets: int, at_ns: int = 900) -> Event:
    letters = tuple(DeadLetter(topic="t", partition=0, offset=offset) for offset in offsets)
    return at(at_ns, DeadLetters(group="g", topic="dlq", letters=letters))


def of_letters(name: str, events: list[Event], *rows: Row) -> str:
    steps = share_steps(whole(*rows))
    evidence = RunEvidence(
        run=run_record(RUN), run_state=RunState(tuple(events)), shares=lambda topic, partition: steps
    )
    return claims.judge(name, evidence).outcome


REJECTED_ROWS = [delivered(0, 1, 10), said("reject", 0, 20)]


@pytest.mark.parametrize(
    ("events", "rows", "expected"),
    [
        ([read(0)], REJECTED_ROWS, HELD),
        ([read(0)], released(5), HELD),
        ([read(), read(0)], REJECTED_ROWS, HELD),
        ([read()], REJECTED_ROWS, CONTRADICTED),
        ([read(0, 0)], REJECTED_ROWS, CONTRADICTED),
        ([read(0, 1)], REJECTED_ROWS, CONTRADICTED),
        ([read(0)], released(4), CONTRADICTED),
        ([read(0)], FIRST, CONTRADICTED),
        ([], REJECTED_ROWS, NOT_OBSERVED),
        ([read()], FIRST, NOT_OBSERVED),
    ],
    ids=[
        "rejected",
        "archived at the limit",
        "the last reading counts",
        "none",
        "twice",
        "one too many",
        "released less often",
        "accepted",
        "nobody read",
        "nothing to write",
    ],
)
def test_dead_letters(events: list[Event], rows: list[Row], expected: str) -> None:
    assert of_letters("undeliverable-record-is-a-dead-letter", events, *rows) == expected


def led(at_ns: int, leader: int) -> Event:
    state = Partition(source="kraft", topic="dlq", partition=0, leader=leader, leader_epoch=at_ns, isr=(1,))
    return at(at_ns, state)


def alive(at_ns: int) -> list[Event]:
    return [
        at(at_ns, Container(node="broker-1", action="start", time_nano=at_ns)),
        at(at_ns, Broker(source="kraft", node="broker-1", state="registered", fenced=False)),
    ]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*alive(1), led(2, 1), led(15, -1), led(30, 1), read()], HELD),
        ([*alive(1), led(2, 1), led(15, -1), led(30, 1), read(0)], CONTRADICTED),
        ([*alive(1), led(2, 1), led(15, -1), read()], NOT_OBSERVED),
        ([*alive(1), led(2, 1), read()], NOT_OBSERVED),
        ([*alive(1), led(2, 1), led(15, -1), led(30, 1)], NOT_OBSERVED),
        ([*alive(1), led(30, 1), read(0)], NOT_OBSERVED),
    ],
    ids=[
        "it is lost",
        "it is there",
        "read while nobody leads",
        "there was a leader",
        "nobody read",
        "there was no topic yet",
    ],
)
def test_dead_letters_without_a_leader(events: list[Event], expected: str) -> None:
    rows = [delivered(0, 1, 10), said("reject", 0, 20)]
    assert of_letters("dead-letters-lost-without-leader", [*events, *alive(950)[:1]], *rows) == expected
