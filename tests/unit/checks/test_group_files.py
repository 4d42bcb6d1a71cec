"""The coordinators' topic as a second witness: offsets that are not in it, two owners in it, and all that is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from checks.anomalies.groups import (
    committed_offset_not_in_files,
    earlier_offset_in_files,
    member_began_anew,
    member_began_behind,
    not_copied,
    without_group_files,
)
from checks.anomalies.members import two_owners_in_files, without_ownerships
from checks.group_files import NO_GROUP_FILES, GroupCopy, GroupFiles, Ownership
from checks.view import Ending, Membership, PartitionView
from evidence.events import OffsetCommit
from evidence.history import schema
from kafkafiles.group_log import Commit, Member, Standing
from tests.unit.checks import histories
from tests.unit.checks.histories import Row

COPIED_NS = 1000


def in_file(offset: int | None, at: int, *, group: str = "g", standing: Standing = "counts") -> Commit:
    return Commit(
        group=group, topic="t", partition=0, offset=offset, metadata="", committed_ms=0, at=at, standing=standing
    )


def copy(*commits: Commit, node: str = "broker-1", **more: Any) -> GroupCopy:
    about = GroupCopy(number=0, moment="00-final", node=node, begun_ns=COPIED_NS, commits=commits)
    return replace(about, **more)


def files(*copies: GroupCopy, **more: Any) -> GroupFiles:
    return replace(GroupFiles(partitions=1, copies=copies), **more)


def told(*offsets: int, outcome: str = schema.OK, at: int = 10, **more: Any) -> PartitionView:
    rows = [
        {"kind": schema.OFFSETS, "outcome": outcome, "process": "application", "offset": offset, "invoked_ns": at}
        | {"completed_ns": at + number}
        | more
        for number, offset in enumerate(offsets)
    ]
    return histories.view(*rows, groups={"application": Membership("g")})


def test_an_acknowledged_offset_that_is_nowhere_is_lost() -> None:
    (row,) = committed_offset_not_in_files(told(3, 7), files(copy(), copy(node="broker-2")))
    assert (row["group"], row["committed"], row["process"], row["in_files"]) == ("g", 7, "application", None)
    assert (row["topic"], row["partition"], row["nodes"]) == ("t", 0, ["broker-1", "broker-2"])
    assert earlier_offset_in_files(told(7), files(copy())) == []


def test_it_happened_before_it_was_seen_and_not_when_it_was_committed() -> None:
    """What a power loss took was committed before the fault, which documents it all the same."""
    (row,) = committed_offset_not_in_files(told(7), files(copy(begun_ns=COPIED_NS + 1), copy(node="broker-2")))
    assert (row["at_ns"], row["acknowledged_ns"]) == (COPIED_NS, 10)


def test_an_earlier_one_in_its_place_is_a_regression() -> None:
    (row,) = earlier_offset_in_files(told(3, 7), files(copy(in_file(3, 0))))
    assert (row["committed"], row["in_files"]) == (7, 3)
    assert committed_offset_not_in_files(told(3, 7), files(copy(in_file(3, 0)))) == []


def test_of_a_client_that_is_no_member_too() -> None:
    commit = OffsetCommit(monotonic_ns=10, group="g", topic="t", partition=0, offset=7)
    (row,) = committed_offset_not_in_files(histories.view(), files(copy(), told=[commit]))
    assert (row["committed"], row["process"], row["acknowledged_ns"]) == (7, None, 10)
    assert committed_offset_not_in_files(histories.view(), files(copy(in_file(7, 0)), told=[commit])) == []


def test_commits_of_a_partition_that_was_copied_of_no_broker() -> None:
    due = GroupFiles(partitions=1, due_ns=COPIED_NS)
    assert "g: offsets were acknowledged" in (not_copied(told(7), due) or "")
    commit = OffsetCommit(monotonic_ns=10, group="h", topic="t", partition=0, offset=7)
    assert "h: offsets" in (not_copied(histories.view(), replace(due, told=[commit])) or "")


def test_what_is_no_copy_that_is_missing() -> None:
    due = GroupFiles(partitions=1, due_ns=COPIED_NS)
    assert not_copied(told(7), replace(due, copied=frozenset({0}))) is None
    assert not_copied(told(7), replace(due, due_ns=None)) is None
    assert not_copied(told(7), replace(due, partitions=0)) is None
    assert not_copied(told(7), replace(due, outside=frozenset({"application"}))) is None
    assert not_copied(told(7, at=COPIED_NS), due) is None
    assert not_copied(told(7, outcome=schema.INFO), due) is None
    assert not_copied(histories.view(), due) is None


def nothing(view: PartitionView, found: GroupFiles) -> bool:
    return committed_offset_not_in_files(view, found) == [] == earlier_offset_in_files(view, found)


def test_one_that_was_replaced_or_removed_later_was_there() -> None:
    assert nothing(told(7), files(copy(in_file(7, 0), in_file(3, 1))))
    assert nothing(told(7), files(copy(in_file(7, 0), in_file(None, 1))))


def test_one_copy_that_has_it_is_enough() -> None:
    assert nothing(told(7), files(copy(), copy(in_file(7, 0), node="broker-2")))
    both = copy(in_file(3, 0)), copy(in_file(3, 0), in_file(7, 1), in_file(5, 2), node="broker-2")
    assert nothing(told(7), files(*both))


@pytest.mark.parametrize("outcome", [schema.INFO, schema.FAIL])
def test_one_that_was_not_acknowledged_may_be_missing(outcome: str) -> None:
    assert nothing(told(7, outcome=outcome), files(copy()))


def test_one_that_was_acknowledged_when_copying_had_begun_may_be_missing() -> None:
    assert nothing(told(7, at=COPIED_NS), files(copy()))


def test_a_later_offset_is_no_loss() -> None:
    assert nothing(told(7), files(copy(in_file(9, 0))))


def test_an_offset_of_an_aborted_transaction_does_not_count_and_of_an_open_one_may() -> None:
    (row,) = committed_offset_not_in_files(told(7), files(copy(in_file(7, 0, standing="aborted"))))
    assert row["in_files"] is None
    assert nothing(told(7), files(copy(in_file(7, 0, standing="open"))))


def test_an_offset_in_a_transaction_that_was_not_committed_may_be_missing() -> None:
    row: dict[str, Any] = {"kind": schema.OFFSETS, "outcome": schema.OK, "process": "application", "offset": 7}
    row |= {"invoked_ns": 5, "completed_ns": 6, "transaction": 1}
    for outcome, found in (("ok", 1), ("fail", 0), ("info", 0)):
        ended = {("application", 1): Ending(outcome, 20)}
        view = histories.view(row, groups={"application": Membership("g")}, endings=ended)
        assert len(committed_offset_not_in_files(view, files(copy()))) == found


def test_other_groups_offsets_are_not_looked_at() -> None:
    assert len(committed_offset_not_in_files(told(7), files(copy(in_file(7, 0, group="h"))))) == 1


def test_offsets_in_a_store_outside_kafka_are_not_looked_for() -> None:
    assert nothing(told(7), files(copy(), outside=frozenset({"application"})))


def test_without_a_copy_of_the_groups_partition_nothing_is_said() -> None:
    assert nothing(told(7), NO_GROUP_FILES)
    assert nothing(told(7), files(copy(number=1)))
    assert nothing(told(7), files(copy(), partitions=0))
    assert without_group_files(told(7), NO_GROUP_FILES)
    assert without_group_files(histories.view(), files(copy()))
    assert not without_group_files(told(7), files(copy()))


# Where members begin


def given(process: str, at_ns: int) -> Row:
    return {"kind": schema.ASSIGN, "outcome": schema.OK, "process": process, "completed_ns": at_ns, "invoked_ns": at_ns}


def commit(process: str, offset: int, at_ns: int, outcome: str = schema.OK) -> Row:
    times = {"invoked_ns": at_ns - 1, "completed_ns": at_ns}
    return {"kind": schema.OFFSETS, "outcome": outcome, "process": process, "offset": offset} | times


def reads(process: str, at_ns: int, *offsets: int, first: int = 0) -> list[Row]:
    """`first`: the sequence of the record at offset 0."""
    return [
        histories.polled(offset, first + offset, process=process, completed_ns=at_ns + number)
        for number, offset in enumerate(offsets)
    ]


FIRST = [given("a", 10), *reads("a", 20, 0, 1, 2, 3), commit("a", 2, 30), commit("a", 4, 40)]


def began(*rows: Row, elsewhere: Iterable[str] = ()) -> tuple[list[int], list[int]]:
    """From where members began that began too early: with the first record, and later."""
    view = histories.view(*rows, groups={"a": Membership("g"), "b": Membership("g"), "c": Membership("h")})
    about = GroupFiles(elsewhere=frozenset(elsewhere))
    anew, behind = member_began_anew(view, about), member_began_behind(view, about)
    return [row["began"] for row in anew], [row["began"] for row in behind]


def test_a_member_that_begins_before_its_groups_offset() -> None:
    assert began(*FIRST, given("b", 50), *reads("b", 60, 0, 1, 2, 3, 4)) == ([0], [])
    assert began(*FIRST, given("b", 50), *reads("b", 60, 2, 3, 4)) == ([], [2])
    assert began(*FIRST, given("a", 50), *reads("a", 60, 2, 3)) == ([], [2])


@pytest.mark.parametrize(
    "rows",
    [
        [*FIRST, given("b", 50), *reads("b", 60, 4, 5)],
        [*FIRST, given("b", 50), *reads("b", 60, 6)],
        [*FIRST, given("c", 50), *reads("c", 60, 0, 1, 2, 3)],
        [*FIRST[:-1], commit("a", 4, 40, schema.INFO), given("b", 50), *reads("b", 60, 2, 3)],
        [*FIRST[:-1], commit("a", 4, 55), given("b", 50), *reads("b", 60, 2, 3)],
        [*FIRST, commit("a", 2, 45), given("b", 50), *reads("b", 60, 2, 3)],
        [*FIRST, commit("a", 2, 70), given("b", 50), *reads("b", 60, 2, 3)],
        [*FIRST, given("b", 50), *reads("b", 60, 0, 1)],
        [*FIRST, given("b", 50), *reads("b", 60, 0, 1, 2, 3, first=7)],
        [given("a", 10), *reads("a", 20, 0, 1, 2, 3)],
        [*FIRST, *reads("b", 60, 0, 1, 2, 3)],
    ],
    ids=[
        "with it",
        "later",
        "another group",
        "not acknowledged",
        "acknowledged later",
        "an earlier one was committed last",
        "an earlier one may have been",
        "it never came so far",
        "the log was cut off",
        "nothing was committed",
        "it was given nothing",
    ],
)
def test_a_member_that_begins_where_it_may(rows: list[Row]) -> None:
    assert began(*rows) == ([], [])


LATE = [given("a", 10), *reads("a", 20, 0, 1, 2, 3), commit("a", 2, 30, schema.INFO), commit("a", 4, 40)]
"""Nobody answered its first commit, which may be taken after the second one."""


def asynchronous(process: str, offset: int, at_ns: int) -> list[Row]:
    """The rows of a commit that is not waited for: when it is sent, and when it is answered."""
    return [commit(process, offset, at_ns, schema.INFO), commit(process, offset, at_ns)]


def test_a_commit_that_is_not_waited_for_and_answered_is_no_unknown_one() -> None:
    base = [given("a", 10), *reads("a", 20, *range(10))]
    commits = [row for number in (2, 4, 6, 8, 10) for row in asynchronous("a", number, 30 + number)]
    assert began(*base, *commits, given("b", 60), *reads("b", 70, *range(4, 12))) == ([], [4])


def test_an_unknown_commit_explains_its_own_offset_alone() -> None:
    base = [given("a", 10), *reads("a", 20, *range(10)), commit("a", 2, 30, schema.INFO), commit("a", 10, 40)]
    assert began(*base, given("b", 60), *reads("b", 70, *range(6, 12))) == ([], [6])
    assert began(*base, given("b", 60), *reads("b", 70, *range(2, 12))) == ([], [])


def test_an_unknown_commit_of_an_earlier_generation_is_refused() -> None:
    """The partition was given anew before the commit that was acknowledged last."""
    base = [given("a", 10), *reads("a", 20, *range(10)), commit("a", 2, 30, schema.INFO), given("a", 35)]
    assert began(*base, commit("a", 10, 40), given("b", 60), *reads("b", 70, *range(2, 12))) == ([], [2])


def test_a_commit_that_nobody_answered_may_be_taken_late() -> None:
    assert began(*LATE, given("b", 50), *reads("b", 60, 2, 3, 4)) == ([], [])
    # Behind that one too nobody may begin.
    assert began(*LATE, given("b", 50), *reads("b", 60, 0, 1, 2, 3, 4)) == ([0], [])
    assert began(*LATE, given("b", 50), *reads("b", 60, 1, 2, 3, 4)) == ([], [1])


@pytest.mark.parametrize(
    "first",
    [
        commit("a", 2, 30, schema.FAIL),
        commit("a", 3, 30, schema.INFO),
        commit("c", 2, 30, schema.INFO),
        commit("b", 2, 70, schema.INFO),
    ],
    ids=["it was refused", "it was of another offset", "another group's", "it was sent later"],
)
def test_what_cannot_be_a_late_commit(first: Row) -> None:
    rows = [given("a", 10), *reads("a", 20, 0, 1, 2, 3), commit("a", 4, 40), first]
    assert began(*rows, given("b", 50), *reads("b", 60, 2, 3, 4)) == ([], [2])


def test_a_commit_in_a_transaction_that_nobody_knows_the_end_of_may_be_taken_late() -> None:
    rows = [given("a", 10), *reads("a", 20, 0, 1, 2, 3), commit("a", 2, 30) | {"transaction": 1}, commit("a", 4, 40)]
    rows += [given("b", 50), *reads("b", 60, 2, 3, 4)]
    groups = {"a": Membership("g"), "b": Membership("g")}
    for outcome, found in (("ok", 1), ("fail", 1), ("info", 0)):
        view = histories.view(*rows, groups=groups, endings={("a", 1): Ending(outcome, 31)})
        assert len(member_began_behind(view, GroupFiles())) == found


def test_members_that_may_begin_elsewhere() -> None:
    assert began(*FIRST, given("b", 50), *reads("b", 60, 0, 1, 2, 3), elsewhere={"b"}) == ([], [])
    assert began(*FIRST, given("b", 50), *reads("b", 60, 0, 1, 2, 3), elsewhere={"a"}) == ([], [])


# Owners


def member(name: str, instance: str = "") -> Member:
    return Member(member_id=name, instance=instance, client_id="c", partitions=frozenset({("t", 0)}))


def owned(*members: Member, generation: int = 1, at: int = 5) -> Ownership:
    return Ownership(group="g", generation=generation, members=members, written_ms=0, at=at)


def test_two_members_of_one_record_that_have_the_partition_are_found_once() -> None:
    both = owned(member("a"), member("b"))
    copies = [copy(ownerships=(both,)), copy(ownerships=(both,), node="broker-2")]
    (row,) = two_owners_in_files(files(*copies))
    assert (row["group"], row["generation"], row["owners"], row["log_offset"]) == ("g", 1, ["a", "b"], 5)
    assert row["node"] == "broker-1"


def test_one_after_the_other_in_two_generations_is_a_rebalance() -> None:
    one_by_one = owned(member("a")), owned(member("b"), generation=2, at=6)
    assert two_owners_in_files(files(copy(ownerships=one_by_one))) == []
    assert without_ownerships(files(copy()))
    assert not without_ownerships(files(copy(ownerships=one_by_one)))


def test_one_static_member_under_two_ids_is_one_member() -> None:
    assert two_owners_in_files(files(copy(ownerships=(owned(member("a", "i"), member("b", "i")),)))) == []
