"""Every anomaly: one history that has it, one that has not, and one for each subtle clause of its definition."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analysis.anomalies import PARTITION_CHECKS, Check
from analysis.anomalies.corrupt_record import corrupt_record
from analysis.anomalies.duplicate import duplicate
from analysis.anomalies.inconsistent_offsets import inconsistent_offsets
from analysis.anomalies.lost_write import lost_write, unseen
from analysis.anomalies.phantom import phantom
from analysis.view import Evidence
from tests.unit.analysis.histories import final_read, polled, reserved, sent, view


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


def test_two_producers_with_one_sequence_are_two_records() -> None:
    history = view(sent(0, 0, producer=1), sent(0, 1, producer=2), polled(1, 0, producer=2), final_read(2))
    assert [(row["producer"], row["sequence"]) for row in lost_write(history)] == [(1, 0)]


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
    assert sequences(row["values"]) == [0, 1]
    assert len(row["readers"]) == 2
    assert sequences(row["writers"]) == [0]


def test_one_offset_acknowledged_twice() -> None:
    (row,) = inconsistent_offsets(view(sent(3, 3), sent(4, 3), polled(3, 4)))
    assert sequences(row["values"]) == [3, 4]
    assert sequences(row["writers"]) == [3, 4]


def test_an_unknown_send_counts_only_when_a_poll_proves_it() -> None:
    assert inconsistent_offsets(view(sent(0, 0, "info"), sent(1, 0), polled(0, 1))) == []
    assert len(inconsistent_offsets(view(sent(0, 0, "info"), sent(1, 0), polled(0, 1), polled(7, 0)))) == 1


def test_offsets_read_twice_alike_are_consistent() -> None:
    assert inconsistent_offsets(view(sent(0, 0), polled(0, 0), polled(0, 0))) == []


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


@pytest.mark.parametrize("check", PARTITION_CHECKS.values(), ids=PARTITION_CHECKS)
def test_an_empty_history_has_no_anomaly(check: Check) -> None:
    assert check(view()) == []
