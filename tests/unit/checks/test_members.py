"""Members of groups: two owners of a partition, offsets of a fenced member, and everything that only looks like it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from checks import excuses
from checks.anomalies.members import stale_commit_accepted, two_owners
from checks.view import Ending, Membership, PartitionView
from evidence.events import ClientEnded, Event, Fault, Target
from evidence.findings import found
from evidence.history import schema
from evidence.run_state import RunState
from tests.proofs import proof
from tests.records import run_record
from tests.unit.checks import histories
from tests.unit.checks.histories import Row
from tests.unit.timelines import at

GROUPS = {
    "slow": Membership("g"),
    "other": Membership("g"),
    "stranger": Membership("h"),
    "static": Membership("g", "a"),
    "successor": Membership("g", "a"),
}


def given(process: str, at: int, generation: int | None = None) -> Row:
    row = {"kind": schema.ASSIGN, "outcome": schema.OK, "process": process, "completed_ns": at}
    return row | {"count": generation}


def lost(process: str, at: int) -> Row:
    return {"kind": schema.REVOKE, "outcome": schema.INFO, "process": process, "completed_ns": at}


def committed(process: str, offset: int, at: int, outcome: str = schema.OK, **more: Any) -> Row:
    row = {"kind": schema.OFFSETS, "outcome": outcome, "process": process, "offset": offset}
    return row | {"invoked_ns": at, "completed_ns": at + 5} | more


def view(*rows: Row, **circumstances: Any) -> PartitionView:
    return histories.view(*rows, groups=GROUPS, **circumstances)


def test_of_an_owner_that_gave_the_partition_back_the_row_says_so() -> None:
    """One generation is one assignment: that the second heard of it later changes nothing."""
    (row,) = two_owners(view(given("slow", 0, 1), lost("slow", 50), given("other", 100, 1)))
    assert row["given_back_ns"] == 50
    (row,) = two_owners(view(given("slow", 0, 1), given("other", 100, 1), lost("slow", 150)))
    assert row["given_back_ns"] is None


SECOND = 10**9
SLOW = {"name": "slow", "kind": "processor", "settings": {"session.timeout.ms": "6000"}}


def killed(process: str, at_s: int, kind: str = "kill-client") -> list[Event]:
    fault = Fault(
        fault_kind=kind, id=f"{process}-{kind}", phase="inject", target=Target(node=process), description="", proof=None
    )
    verified = structs.replace(fault, phase="verified", proof=proof(kind))
    return [at(at_s * SECOND, one) for one in (fault, verified)]


def thawed(process: str, at_s: int) -> Event:
    fault, _ = killed(process, at_s, "freeze-client")
    return structs.replace(fault, phase="heal")


@pytest.mark.parametrize(
    ("kafka", "rows", "events", "forgotten"),
    [
        ("0.10.0.1", [lost("slow", 5)], [], True),
        ("0.9.0.1", [lost("slow", 5)], [], True),
        ("0.10.1.0", [lost("slow", 5)], [], False),
        ("4.3.1", [lost("slow", 5)], [], False),
        ("0.10.0.1", [], [], False),
        ("0.10.0.1", [], killed("slow", 1), True),
        ("0.10.0.1", [], killed("slow", 5), True),
        ("0.10.0.1", [], killed("slow", 6), False),
        ("0.10.0.1", [], killed("slow", 1, "freeze-client"), True),
        ("0.10.0.1", [lost("slow", 5), given("slow", 10, 2)], [], False),
        ("0.10.0.1", [], killed("other", 1), False),
    ],
    ids=[
        "given back",
        "0.9",
        "0.10.1",
        "4.3",
        "alive",
        "killed",
        "its last heartbeat was before",
        "its session lasts",
        "stopped",
        "given to it again",
        "another one killed",
    ],
)
def test_before_0_10_1_a_group_without_members_is_forgotten(
    kafka: str, rows: list[Row], events: list[Event], forgotten: bool
) -> None:
    found_rows = two_owners(view(given("slow", 0, 1), *rows, given("other", 8 * SECOND, 1)))
    finding = found("two-owners", ("t", 0), list(found_rows))
    run = run_record({"kafka": kafka, "processes": (SLOW,)})
    assert (excuses.group_forgotten(run, finding, RunState(tuple(events))) is not None) == forgotten
    assert excuses.group_forgotten(run, finding) is None


def test_what_was_given_back_in_an_earlier_generation_excuses_nothing() -> None:
    rows = given("slow", 0, 1), lost("slow", 5), given("slow", 10, 2), given("other", 8 * SECOND, 2)
    found_rows = two_owners(view(*rows))
    assert [row["given_back_ns"] for row in found_rows] == [None]
    run = run_record({"kafka": "0.10.0.1", "processes": (SLOW,)})
    assert excuses.group_forgotten(run, found("two-owners", ("t", 0), list(found_rows)), RunState(())) is None


OVERTAKEN = (given("slow", 0), committed("slow", 5, 10), given("other", 100), committed("other", 10, 110))
LATE = committed("slow", 7, 200)


def test_the_late_commit_of_a_member_that_was_replaced_is_found() -> None:
    (row,) = stale_commit_accepted(view(*OVERTAKEN, LATE))
    assert (row["process"], row["offset"], row["invoked_ns"], row["given_ns"]) == ("slow", 7, 200, 0)
    assert (row["owner"], row["owner_given_ns"], row["owner_committed"], row["owner_committed_ns"]) == (
        ("other", 100, 10, 115)
    )
    assert row["group"] == "g"


def test_one_that_is_refused_or_of_unknown_outcome_is_none() -> None:
    for outcome in (schema.FAIL, schema.INFO):
        assert stale_commit_accepted(view(*OVERTAKEN, committed("slow", 7, 200, outcome))) == []


def test_one_that_is_sent_before_the_new_owner_has_committed_proves_nothing() -> None:
    both = given("slow", 0), given("other", 100)
    assert stale_commit_accepted(view(*both, committed("other", 10, 110), committed("slow", 7, 112))) == []
    assert stale_commit_accepted(view(*both, committed("slow", 7, 200))) == []


def test_one_that_was_given_the_partition_again_is_no_stranger() -> None:
    assert stale_commit_accepted(view(*OVERTAKEN, given("slow", 150), LATE)) == []


def test_one_that_was_told_of_its_loss_is_not_fenced() -> None:
    assert stale_commit_accepted(view(*OVERTAKEN, lost("slow", 120), LATE)) == []


def test_an_owner_whose_commits_are_of_an_earlier_time_proves_nothing() -> None:
    rows = given("other", 0), committed("other", 10, 10), given("slow", 50), given("other", 100)
    assert stale_commit_accepted(view(*rows, LATE)) == []


def test_members_of_different_groups_do_not_know_of_each_other() -> None:
    rows = given("slow", 0), given("stranger", 100), committed("stranger", 10, 110)
    assert stale_commit_accepted(view(*rows, LATE)) == []


def test_one_whose_history_is_torn_may_have_been_told() -> None:
    assert stale_commit_accepted(view(*OVERTAKEN, LATE, torn=["slow"])) == []


def test_in_a_transaction_an_offset_counts_when_that_is_committed() -> None:
    late = committed("slow", 7, 200, transaction=3)
    for outcome, count in ((schema.OK, 1), (schema.FAIL, 0), (schema.INFO, 0)):
        ended = view(*OVERTAKEN, late, endings={("slow", 3): Ending(outcome, 300)})
        assert len(stale_commit_accepted(ended)) == count


def test_a_new_owners_transaction_takes_effect_at_its_end() -> None:
    rows = given("slow", 0), given("other", 100), committed("other", 10, 110, transaction=0), LATE
    for ends_ns, count in ((190, 1), (210, 0)):
        ended = view(*rows, endings={("other", 0): Ending(schema.OK, ends_ns)})
        assert len(stale_commit_accepted(ended)) == count


def test_without_groups_nobody_is_a_member() -> None:
    assert stale_commit_accepted(histories.view(*OVERTAKEN, LATE)) == []


def test_a_partition_that_two_members_are_given_in_one_generation_is_found() -> None:
    (row,) = two_owners(view(given("slow", 10, 4), given("other", 20, 4)))
    assert row == {
        "group": "g",
        "generation": 4,
        "owners": ["slow", "other"],
        "given_ns": [10, 20],
        "given_back_ns": None,
    }


def test_the_next_owner_is_of_a_later_generation() -> None:
    assert two_owners(view(given("slow", 10, 4), given("other", 20, 5), given("slow", 30, 6))) == []


def test_one_that_is_given_it_twice_is_one_owner() -> None:
    assert two_owners(view(given("slow", 10, 4), given("slow", 20, 4))) == []


def test_groups_count_their_own_generations() -> None:
    assert two_owners(view(given("slow", 10, 4), given("stranger", 20, 4))) == []


def test_a_static_member_may_be_another_process() -> None:
    assert two_owners(view(given("static", 10, 4), given("successor", 20, 4))) == []
    assert len(two_owners(view(given("static", 10, 4), given("other", 20, 4)))) == 1


def test_of_a_client_that_says_no_generation_nothing_is_known() -> None:
    assert two_owners(view(given("slow", 10), given("other", 20))) == []


CONSUMER = {"name": "slow", "kind": "processor", "settings": {"group.protocol": "consumer", "group.id": "g"}}
OTHER, THIRD = CONSUMER | {"name": "other"}, CONSUMER | {"name": "third"}
SHORT = {"group.consumer.session.timeout.ms": "6000", "group.consumer.heartbeat.interval.ms": "2000"}


@pytest.mark.parametrize(
    ("events", "processes", "settings", "permitted"),
    [
        (killed("other", 3), [CONSUMER, OTHER], SHORT, True),
        (killed("other", 5), [CONSUMER, OTHER], SHORT, False),
        (killed("other", 3), [CONSUMER, OTHER], {}, False),
        (killed("other", -40), [CONSUMER, OTHER], {}, True),
        (killed("other", 3), [CONSUMER, OTHER, THIRD], SHORT, False),
        ([*killed("other", 3), *killed("third", 2)], [CONSUMER, OTHER, THIRD], SHORT, True),
        ([*killed("other", 3, "freeze-client"), *killed("other", 7)], [CONSUMER, OTHER], SHORT, True),
        ([*killed("other", 1, "freeze-client"), thawed("other", 3)], [CONSUMER, OTHER], SHORT, False),
        ([*killed("other", -20, "freeze-client"), thawed("other", -1)], [CONSUMER, OTHER], SHORT, False),
        ([*killed("other", -20, "freeze-client"), thawed("other", 6)], [CONSUMER, OTHER], SHORT, True),
        ([*killed("other", 3), at(20 * SECOND, ClientEnded(process="third"))], [CONSUMER, OTHER, THIRD], SHORT, True),
        (killed("slow", 1), [CONSUMER, OTHER], SHORT, False),
        ([], [CONSUMER, OTHER], SHORT, False),
        (killed("other", 1), [SLOW, OTHER], SHORT, False),
    ],
    ids=[
        "its owner is gone",
        "its session lasts",
        "sessions are longer by default",
        "and are over some time",
        "a third one is there",
        "both are gone",
        "stopped, and killed later",
        "stopped, and on again in time",
        "back since long",
        "just back",
        "the third has left",
        "another one is gone",
        "alive",
        "classic protocol",
    ],
)
def test_an_empty_group_of_the_consumer_protocol_takes_offsets(
    events: list[Event], processes: list[dict[str, Any]], settings: dict[str, str], permitted: bool
) -> None:
    rows = [dict(row) for row in stale_commit_accepted(view(*OVERTAKEN, committed("slow", 7, 8 * SECOND)))]
    finding = found("stale-commit-accepted", ("t", 0), rows)
    run = run_record({"kafka": "4.3.1", "processes": processes, "settings": settings})
    assert (excuses.group_emptied(run, finding, RunState(tuple(events))) is not None) == permitted
    assert excuses.group_emptied(run, finding) is None
