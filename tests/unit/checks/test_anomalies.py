"""Every anomaly: one history that has it, one that has not, and one for each subtle clause of its definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from checks.anomalies.aborted_read import aborted_read
from checks.anomalies.corrupt_record import corrupt_record
from checks.anomalies.duplicate import duplicate
from checks.anomalies.inconsistent_offsets import inconsistent_offsets
from checks.anomalies.lost_write import lost_write, unseen
from checks.anomalies.order import (
    internal_nonmonotonic_poll,
    internal_nonmonotonic_send,
    internal_poll_skip,
    nonmonotonic_poll,
    nonmonotonic_send,
    poll_skip,
)
from checks.anomalies.phantom import phantom
from checks.anomalies.precommitted_read import precommitted_read
from checks.anomalies.transactions import torn_transactions, transactions_of
from checks.anomaly import HISTORY, Check
from checks.catalogue import checks_of
from checks.view import EVIDENCE_LIMIT, Evidence
from tests.unit.checks.histories import Row, asked_end, assigned, final_read, polled, reserved, sent, view


def sequences(evidence: Sequence[Evidence]) -> list[int]:
    return [row["sequence"] for row in evidence]


# lost-write and unseen


def test_a_record_that_readers_have_passed_is_lost() -> None:
    history = view(sent(0, 0), sent(1, 1), sent(2, 2), polled(0, 0), polled(2, 2))
    assert sequences(lost_write(history)) == [1]
    assert unseen(history) == []


def test_the_evidence_explains_the_loss() -> None:
    (row,) = lost_write(view(sent(7, 3), polled(4, 8), sent(8, 4), final_read(5)))
    assert row == {
        "producer": 1,
        "sequence": 7,
        "offset": 3,
        "process": "producer-1",
        "outcome": "ok",
        "acks": -1,
        "invoked_ns": 70,
        "completed_ns": 75,
        "furthest_read": {"offset": 4, "process": "reader-1"},
        "final_offset": 5,
    }


def test_nothing_is_lost_when_everything_was_read() -> None:
    history = view(sent(0, 0), sent(1, 1), polled(0, 0), polled(1, 1), final_read(2))
    assert lost_write(history) == []
    assert unseen(history) == []


def test_holes_in_offsets_are_no_loss() -> None:
    assert lost_write(view(sent(0, 0), sent(1, 5), polled(0, 0), polled(5, 1), final_read(7))) == []


def test_beyond_the_furthest_read_a_record_is_only_unseen() -> None:
    history = view(sent(0, 0), sent(1, 1), polled(0, 0))
    assert lost_write(history) == []
    assert sequences(unseen(history)) == [1]


def test_a_complete_final_read_turns_unseen_into_lost() -> None:
    history = view(sent(0, 0), sent(1, 1), polled(0, 0), final_read(1))
    assert sequences(lost_write(history)) == [1]
    assert unseen(history) == []


def test_an_acknowledged_record_without_an_offset_needs_the_final_read() -> None:
    assert sequences(unseen(view(sent(0, None), polled(5, 9), sent(9, 5)))) == [0]
    assert sequences(lost_write(view(sent(0, None), final_read(0)))) == [0]


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_what_was_never_acknowledged_is_never_lost(outcome: str) -> None:
    assert lost_write(view(sent(0, None, outcome), sent(1, 1), polled(1, 1), final_read(2))) == []


def test_a_record_read_by_a_failed_poll_is_not_lost() -> None:
    assert lost_write(view(sent(0, 0), polled(0, 0, outcome="info"), final_read(1))) == []


def test_a_failed_poll_does_not_move_the_furthest_position() -> None:
    history = view(sent(0, 0), sent(1, 1), polled(1, 1, outcome="info"))
    assert lost_write(history) == []
    assert sequences(unseen(history)) == [0]


def test_what_was_read_and_lies_beyond_the_end_is_lost() -> None:
    rows = [*(sent(n, n) for n in range(3)), *(polled(n, n, completed_ns=40) for n in range(3))]
    (first, second) = lost_write(view(*rows, asked_end(1, at_ns=50), final_read(1)))
    assert (first["sequence"], second["sequence"]) == (1, 2)
    assert first["read_before"] == {
        **{"producer": 1, "sequence": 1, "offset": 1, "process": "reader-1", "completed_ns": 40}
    }
    assert lost_write(view(*rows, asked_end(3, at_ns=50), final_read(3))) == []
    assert lost_write(view(*rows)) == []


def test_what_was_acknowledged_or_read_after_the_end_was_asked_for_is_not_lost() -> None:
    end = (asked_end(1, at_ns=50), final_read(1))
    kept = (sent(0, 0), polled(0, 0, completed_ns=40))
    assert lost_write(view(*kept, sent(9, 1), polled(1, 9, completed_ns=99), *end)) == []
    assert lost_write(view(*kept, sent(1, 1), polled(1, 1, completed_ns=99), *end)) == []
    assert lost_write(view(*kept, sent(1, 1, "info"), polled(1, 1, completed_ns=40), *end)) == []
    assert len(lost_write(view(*kept, sent(1, 1), polled(1, 1, completed_ns=40), *end))) == 1


def test_what_lies_below_the_end_as_well_is_not_lost() -> None:
    end = (asked_end(1, at_ns=50), final_read(1))
    assert lost_write(view(sent(0, 0), polled(0, 0, completed_ns=1), polled(4, 0, completed_ns=2), *end)) == []
    assert len(lost_write(view(sent(0, None), polled(4, 0, completed_ns=2), *end))) == 1


def test_what_was_read_and_whose_place_was_read_later_with_another_value_is_lost() -> None:
    end = (asked_end(1, at_ns=50), final_read(1))
    rows = (sent(0, 0), sent(1, 0), polled(0, 0, completed_ns=20))
    assert sequences(lost_write(view(*rows, polled(0, 1, completed_ns=60), *end))) == [0]
    assert lost_write(view(*rows, polled(0, 1, completed_ns=60))) == []
    assert sequences(lost_write(view(*rows, polled(0, 1, completed_ns=10), *end))) == [1]
    both = (polled(0, 1, completed_ns=60), polled(0, 0, completed_ns=70))
    assert sequences(lost_write(view(*rows, *both, *end))) == []
    elsewhere = (
        polled(0, 1, completed_ns=60),
        sent(2, 1),
        polled(1, 2, completed_ns=60),
        polled(1, 0, completed_ns=15),
    )
    end = (asked_end(2, at_ns=50), final_read(2))
    assert sequences(lost_write(view(*rows, *elsewhere, *end))) == [0]
    assert lost_write(view(*rows, *elsewhere[:1], polled(1, 0, completed_ns=15), *end)) == []


def test_of_several_final_reads_the_one_that_was_asked_for_last_counts() -> None:
    first, second = (asked_end(1, at_ns=5), final_read(1)), (asked_end(1, at_ns=30), final_read(1))
    rows = (sent(0, 0, completed_ns=1), polled(0, 0, completed_ns=2), sent(1, 1, completed_ns=20))
    assert lost_write(view(*rows, *first)) == []
    assert sequences(lost_write(view(*rows, *first, *second))) == [1]
    assert sequences(lost_write(view(*rows, *second, *first))) == [1]
    further = (asked_end(2, at_ns=5), final_read(2))
    read = (*rows, polled(1, 1, completed_ns=21))
    assert lost_write(view(*read, *further)) == []
    assert sequences(lost_write(view(*read, *further, *second))) == [1]


def test_two_producers_with_one_sequence_are_two_records() -> None:
    history = view(sent(0, 0, producer=1), sent(0, 1, producer=2), polled(1, 0, producer=2), final_read(2))
    assert [(row["producer"], row["sequence"]) for row in lost_write(history)] == [(1, 0)]


def test_acknowledged_after_the_final_read_asked_for_the_end_a_record_is_only_unseen() -> None:
    late = view(sent(0, 0), sent(9, 1), polled(0, 0), asked_end(1, at_ns=50), final_read(1))
    assert lost_write(late) == []
    assert sequences(unseen(late)) == [9]
    below_the_end = view(sent(9, 0), sent(0, 1), polled(1, 0), asked_end(2, at_ns=50), final_read(2))
    assert sequences(lost_write(below_the_end)) == [9]


def test_what_a_reader_without_a_history_was_given_is_not_known() -> None:
    rows = (sent(0, 0), sent(1, 1), polled(1, 1))
    assert sequences(lost_write(view(*rows))) == [0]
    assert lost_write(view(*rows, readers_missing=True)) == []
    assert sequences(unseen(view(*rows, readers_missing=True))) == [0]
    assert sequences(lost_write(view(*rows, final_read(2), readers_missing=True))) == [0]


def test_one_value_that_was_read_proves_its_whole_operation() -> None:
    batch = (sent(0, 0, "info", op=7), sent(1, 1, "info", op=7), sent(2, 2, "info", op=8), sent(3, 3))
    history = view(*batch, polled(0, 0), polled(3, 3))
    assert sequences(lost_write(history)) == [1]


def test_a_failed_poll_proves_nothing() -> None:
    batch = (sent(0, 0, "info", op=7), sent(1, 1, "info", op=7), sent(3, 3))
    assert lost_write(view(*batch, polled(0, 0, outcome="info"), polled(3, 3))) == []


def test_a_transaction_is_one_operation() -> None:
    part = [sent(n, n, "info", transaction=5) for n in (0, 1)]
    assert sequences(lost_write(view(*part, polled(0, 0), sent(2, 2), polled(2, 2)))) == [1]


def test_evidence_is_curtailed_and_its_count_is_not() -> None:
    rows = lost_write(view(*(sent(n, n) for n in range(EVIDENCE_LIMIT + 5)), final_read(5000)))
    assert (len(rows), rows.total) == (EVIDENCE_LIMIT, EVIDENCE_LIMIT + 5)


# duplicate


def test_one_value_at_two_offsets_is_a_duplicate() -> None:
    (row,) = duplicate(view(sent(0, 0), polled(0, 0), polled(3, 0)))
    assert (row["producer"], row["sequence"], row["offsets"]) == (1, 0, [0, 3])
    assert [reading["offset"] for reading in row["readers"]] == [0, 3]
    assert sequences(row["writers"]) == [0]


def test_an_acknowledged_offset_counts_as_seen() -> None:
    assert duplicate(view(sent(0, 2), polled(0, 0)))[0]["offsets"] == [0, 2]


def test_reading_one_offset_twice_is_no_duplicate() -> None:
    assert duplicate(view(sent(0, 0), polled(0, 0), polled(0, 0))) == []


def test_records_that_are_not_ours_are_no_duplicates_of_each_other() -> None:
    strangers = [polled(offset, -1, producer=-1, valid=False) for offset in (0, 1)]
    assert duplicate(view(*strangers)) == []


# inconsistent-offsets


def test_one_offset_read_with_two_values() -> None:
    (row,) = inconsistent_offsets(view(sent(0, 0), sent(1, 1), polled(0, 0), polled(0, 1)))
    assert row["offset"] == 0
    assert [one.sequence for one in row["records"]] == [0, 1]
    assert len(row["readers"]) == 2
    assert sequences(row["writers"]) == [0]


def test_one_offset_acknowledged_twice() -> None:
    (row,) = inconsistent_offsets(view(sent(3, 3), sent(4, 3), polled(3, 4)))
    assert [one.sequence for one in row["records"]] == [3, 4]
    assert sequences(row["writers"]) == [3, 4]


def test_an_unknown_send_counts_only_when_a_poll_proves_it() -> None:
    assert inconsistent_offsets(view(sent(0, 0, "info"), sent(1, 0), polled(0, 1))) == []
    assert len(inconsistent_offsets(view(sent(0, 0, "info"), sent(1, 0), polled(0, 1), polled(7, 0)))) == 1


def test_offsets_read_twice_alike_are_consistent() -> None:
    assert inconsistent_offsets(view(sent(0, 0), polled(0, 0), polled(0, 0))) == []


def test_a_damaged_record_is_no_second_value() -> None:
    assert inconsistent_offsets(view(sent(0, 0), polled(0, -1, producer=-1, valid=False))) == []


def test_values_of_one_offset_are_found_in_any_order() -> None:
    history = view(sent(0, 0), sent(1, 0), polled(0, 0), polled(0, 1), polled(0, 0), polled(1, 5), sent(5, 1))
    assert [row["offset"] for row in inconsistent_offsets(history)] == [0]


# phantom and corrupt-record


def test_a_value_that_nobody_sent_is_a_phantom() -> None:
    assert sequences(phantom(view(sent(0, 0), polled(0, 0), polled(1, 1)))) == [1]


@pytest.mark.parametrize("outcome", ["ok", "info", "fail"])
def test_a_value_that_was_sent_is_none_whatever_came_of_it(outcome: str) -> None:
    assert phantom(view(sent(0, None, outcome), polled(0, 0))) == []


def test_a_reserved_value_is_none_and_the_next_one_is() -> None:
    history = view(reserved(0, 2), polled(0, 0), polled(1, 1), polled(2, 2))
    assert sequences(phantom(history)) == [2]


def test_a_reservation_is_one_producers() -> None:
    assert sequences(phantom(view(reserved(0, 2, producer=2), polled(0, 0, producer=1)))) == [0]


def test_a_damaged_record_is_corrupt_and_no_phantom() -> None:
    history = view(polled(0, -1, producer=-1, valid=False))
    assert [row["offset"] for row in corrupt_record(history)] == [0]
    assert phantom(history) == []


def test_a_sound_record_is_not_corrupt() -> None:
    assert corrupt_record(view(sent(0, 0), polled(0, 0))) == []


def test_a_producer_nothing_is_known_of_may_have_lost_its_history() -> None:
    rows = (sent(0, 0), polled(0, 0), polled(1, 0, producer=9), polled(2, 4))
    assert [(row["producer"], row["sequence"]) for row in phantom(view(*rows))] == [(9, 0), (1, 4)]
    assert sequences(phantom(view(*rows, writers_missing=True))) == [4]


def test_a_writer_whose_history_is_torn_may_have_sent_what_it_says_nothing_of() -> None:
    """A value of a torn writer is nobody's accusation; one of a writer that left everything is."""
    rows = (sent(0, 0), sent(1, 0, producer=2, process="whole"), polled(0, 0), polled(2, 4), polled(3, 7, producer=2))
    assert sequences(phantom(view(*rows))) == [4, 7]
    torn = view(*rows, writers_missing=True, torn=[rows[0]["process"]])
    assert sequences(phantom(torn)) == [7]
    of_torn = reserved(1, 2)
    assert sequences(phantom(view(*rows, of_torn, writers_missing=True, torn=[rows[0]["process"]]))) == [7]


# aborted-read and precommitted-read


def test_a_value_whose_send_failed_was_read() -> None:
    (row,) = aborted_read(view(sent(0, None, "fail"), polled(0, 0)))
    assert (row["offset"], row["writer"]["outcome"]) == (0, "fail")


def test_reads_of_unknown_sends_are_not_aborted() -> None:
    assert aborted_read(view(sent(0, None, "info"), sent(1, 1), polled(0, 0), polled(1, 1))) == []


def test_a_failed_poll_is_no_aborted_read() -> None:
    assert aborted_read(view(sent(0, None, "fail"), polled(0, 0, outcome="fail"))) == []


def test_an_aborted_transaction_may_be_read_uncommitted_and_a_failed_send_may_not() -> None:
    aborted = (sent(0, 0, "fail", transaction=1), polled(0, 0))
    assert len(aborted_read(view(*aborted))) == 1
    assert aborted_read(view(*aborted, uncommitted_readers=["reader-1"])) == []
    assert len(aborted_read(view(sent(0, None, "fail"), polled(0, 0), uncommitted_readers=["reader-1"]))) == 1


def test_a_value_that_failed_once_and_was_sent_again() -> None:
    assert aborted_read(view(sent(0, None, "fail"), sent(0, 0), polled(0, 0))) == []


def test_an_operation_that_read_what_it_sent() -> None:
    own: dict[str, Any] = {"process": "worker-1", "op": 3}
    assert sequences(precommitted_read(view(sent(0, 0, **own), polled(0, 0, **own)))) == [0]
    assert precommitted_read(view(sent(0, 0, **own), polled(0, 0, process="worker-1", op=4))) == []
    assert precommitted_read(view(sent(0, 0, **own), polled(0, 0, process="worker-2", op=3))) == []


def test_a_transaction_that_read_what_it_sent() -> None:
    one: dict[str, Any] = {"process": "worker-1", "transaction": 2}
    assert sequences(precommitted_read(view(sent(0, 0, **one), polled(0, 0, **one)))) == [0]
    assert precommitted_read(view(sent(0, 0, **one), polled(0, 0, process="worker-1", transaction=3))) == []


# order of reads


def log(*offsets: int) -> list[Row]:
    """Acknowledged records at these offsets; sequences as offsets."""
    return [sent(offset, offset) for offset in offsets]


def test_a_consumer_that_leaves_a_record_out_between_polls() -> None:
    (row,) = poll_skip(view(*log(0, 1, 2), polled(0, 0), polled(2, 2)))
    assert sequences(row["skipped"]) == [1]
    assert (row["before"]["offset"], row["after"]["offset"], row["process"]) == (0, 2, "reader-1")


def test_holes_in_offsets_are_no_skip() -> None:
    history = view(*log(0, 7), polled(0, 0), polled(7, 7))
    assert poll_skip(history) == []
    assert internal_poll_skip(history) == []


def test_what_only_another_reader_saw_is_skipped_too() -> None:
    history = view(polled(1, 1, process="reader-2"), polled(0, 0), polled(2, 2))
    assert [row["process"] for row in poll_skip(history)] == ["reader-1"]


def test_a_skip_inside_one_poll_is_internal() -> None:
    history = view(*log(0, 1, 2), polled(0, 0, op=50), polled(2, 2, op=50))
    assert poll_skip(history) == []
    assert sequences(internal_poll_skip(history)[0]["skipped"]) == [1]


def test_a_consumer_that_goes_back_or_stands_still() -> None:
    back = view(*log(0, 1), polled(1, 1), polled(0, 0))
    assert [row["offset"] for row in nonmonotonic_poll(back)] == [0]
    assert len(nonmonotonic_poll(view(*log(0), polled(0, 0), polled(0, 0)))) == 1
    assert len(internal_nonmonotonic_poll(view(polled(1, 1, op=50), polled(0, 0, op=50)))) == 1
    assert nonmonotonic_poll(view(*log(0, 1), polled(0, 0), polled(1, 1))) == []


def test_two_readers_of_one_partition_are_not_compared() -> None:
    history = view(*log(0, 1), polled(1, 1), polled(0, 0, process="reader-2"))
    assert nonmonotonic_poll(history) == []


def test_a_new_assignment_begins_anew() -> None:
    back = view(*log(0, 1), polled(1, 1), assigned(), polled(0, 0))
    assert nonmonotonic_poll(back) == []
    assert poll_skip(view(*log(0, 1, 2), polled(0, 0), assigned(), polled(2, 2))) == []
    other = view(*log(0, 1), polled(1, 1), assigned(reader="reader-2"), polled(0, 0))
    assert len(nonmonotonic_poll(other)) == 1


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_a_poll_counts_whatever_became_of_its_operation(outcome: str) -> None:
    assert len(nonmonotonic_poll(view(*log(0, 1), polled(1, 1, outcome=outcome), polled(0, 0)))) == 1
    assert len(poll_skip(view(*log(0, 1, 2), polled(0, 0), polled(2, 2, outcome=outcome)))) == 1
    parts = [polled(offset, offset, outcome=outcome, op=9) for offset in (0, 2, 1)]
    assert len(internal_poll_skip(view(*log(0, 1, 2), *parts))) == 1
    assert len(internal_nonmonotonic_poll(view(*log(0, 1, 2), *parts))) == 1
    assert poll_skip(view(*log(0, 1), polled(0, 0, outcome=outcome), polled(1, 1))) == []


def test_a_partition_that_was_rebalanced_inside_a_poll() -> None:
    reads = [polled(offset, offset, op=9) for offset in (0, 2, 1)]
    for checked in (internal_poll_skip, internal_nonmonotonic_poll):
        assert len(checked(view(*log(0, 1, 2), *reads))) == 1
        assert checked(view(*log(0, 1, 2), assigned() | {"op": 9}, *reads)) == []
        assert len(checked(view(*log(0, 1, 2), assigned() | {"op": 8}, *reads))) == 1
        assert len(checked(view(*log(0, 1, 2), assigned(reader="reader-2") | {"op": 9}, *reads))) == 1


# order of sends


def test_two_sends_in_another_order() -> None:
    (row,) = nonmonotonic_send(view(sent(0, 1), sent(1, 0)))
    assert (row["before"]["sequence"], row["after"]["sequence"]) == (0, 1)
    assert nonmonotonic_send(view(sent(0, 0), sent(1, 4))) == []


def test_two_producers_have_no_order() -> None:
    assert nonmonotonic_send(view(sent(0, 1), sent(1, 0, producer=2))) == []


def test_order_inside_one_operation_is_internal() -> None:
    history = view(sent(0, 1, op=5), sent(1, 0, op=5))
    assert nonmonotonic_send(history) == []
    assert len(internal_nonmonotonic_send(history)) == 1
    assert len(internal_nonmonotonic_send(view(sent(0, 1, transaction=5), sent(1, 0, transaction=5)))) == 1


def test_an_unknown_offset_is_known_from_a_read() -> None:
    assert len(nonmonotonic_send(view(sent(0, None), sent(1, 1), polled(2, 0)))) == 1
    assert nonmonotonic_send(view(sent(0, None), sent(1, 1))) == []


def test_a_lost_value_has_no_place() -> None:
    assert nonmonotonic_send(view(sent(0, 3), sent(1, 3), polled(3, 1))) == []


def test_failed_and_unknown_sends_have_no_place() -> None:
    assert nonmonotonic_send(view(sent(0, 5, "info"), sent(1, 4), sent(2, 3, "fail"))) == []


def test_a_value_sent_again_is_no_step_back_against_itself() -> None:
    again = sent(0, 0, invoked_ns=3)
    assert nonmonotonic_send(view(sent(0, 0, "info"), again, polled(0, 0))) == []
    late = sent(0, None, invoked_ns=30)
    assert nonmonotonic_send(view(sent(0, 0), sent(1, 1), late, polled(0, 0), polled(1, 1))) == []
    assert len(nonmonotonic_send(view(sent(0, 2), again | {"offset": 2}, sent(1, 1)))) == 1
    around = (sent(0, 5), sent(1, 1), sent(1, 1, invoked_ns=15), sent(2, 3))
    assert [row["offset"] for row in nonmonotonic_send(view(*around))] == [1]
    assert len(nonmonotonic_send(view(sent(0, 5), sent(1, 7), sent(2, 3), sent(1, 7, invoked_ns=40)))) == 1


# torn-transaction


def torn(*histories: list[Row]) -> Sequence[Evidence]:
    return torn_transactions([one for rows in histories for one in transactions_of(view(*rows))])


def test_a_transaction_of_which_a_part_is_gone() -> None:
    (row,) = torn([sent(0, 0, transaction=1), sent(1, 1, transaction=1), polled(0, 0), final_read(2)])
    assert (row["process"], row["transaction"]) == ("producer-1", 1)
    assert sequences(row["given"]) == [0]
    assert sequences(row["missing"]) == [1]


def test_a_transaction_torn_across_partitions() -> None:
    here = [sent(0, 0, transaction=1), polled(0, 0), final_read(1)]
    there = [sent(1, 0, transaction=1), final_read(0)]
    assert len(torn(here, there)) == 1
    assert torn(here) == []
    assert torn(there) == []


def test_what_nothing_says_of_is_not_missing() -> None:
    assert torn([sent(0, 0, transaction=1), sent(1, 1, transaction=1), polled(0, 0)]) == []


def test_an_unknown_transaction_that_was_read_is_all_there() -> None:
    part = [sent(n, None, "info", transaction=1) for n in (0, 1)]
    assert torn([*part, polled(0, 0), final_read(1)])[0]["outcome"] == "info"
    assert torn([*part, polled(0, 0), polled(1, 1), final_read(2)]) == []


def test_an_aborted_transaction_that_was_read_is_an_aborted_read() -> None:
    part = [sent(n, None, "fail", transaction=1) for n in (0, 1)]
    assert torn([*part, polled(0, 0), final_read(1)]) == []


@pytest.mark.parametrize(
    "check", [one for one in checks_of("partition") if one.reads == (HISTORY,)], ids=lambda one: one.anomaly
)
def test_an_empty_history_has_no_anomaly(check: Check) -> None:
    assert check.function(view()) == []
