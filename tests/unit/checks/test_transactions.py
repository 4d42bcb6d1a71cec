"""Transactions and pipelines as our own recorders write them: what counts is how the transaction ended."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.real_time_lag import real_time_lag
from checks.anomalies.aborted_read import aborted_read
from checks.anomalies.lost_write import lost_write
from checks.anomalies.order import internal_poll_skip, poll_skip
from checks.anomalies.processing import committed_too_far, repeated_processing, skipped_processing
from checks.anomalies.transactions import torn_transactions, transactions_of
from checks.view import Ending, Membership, PartitionView, endings_of
from tests.unit.checks.histories import Row, assigned, final_read, polled, sent, table, view

COMMITTED, ABORTED, UNKNOWN = Ending("ok", 500), Ending("fail", 500), Ending("info", -1)


def inside(sequence: int, transaction: int = 1, **more: Any) -> Row:
    """Producer 1 sent a record within a transaction, and it was delivered."""
    return sent(sequence, sequence, transaction=transaction, **more)


def ended(*rows: Row, uncommitted: str = "", **endings: Ending) -> PartitionView:
    """The view of these rows, producer 1's transactions (t1, t2, …) having ended so."""
    by_process = {("producer-1", int(name[1:])): ending for name, ending in endings.items()}
    return view(*rows, endings=by_process, uncommitted_readers=[uncommitted] if uncommitted else [])


# How a transaction ended


def ending(kind: str, outcome: str, at: int) -> Row:
    row: Row = {"kind": kind, "outcome": outcome, "process": "producer-1", "transaction": 1, "completed_ns": at}
    return row | {"topic": None, "partition": None}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([ending("commit", "ok", 5)], Ending("ok", 5)),
        ([ending("abort", "ok", 5)], Ending("fail", 5)),
        ([ending("commit", "info", 5)], UNKNOWN),
        ([ending("abort", "info", 5)], UNKNOWN),
        ([ending("commit", "info", 5), ending("commit", "ok", 6)], Ending("ok", 6)),
        ([ending("commit", "info", 5), ending("abort", "ok", 6)], Ending("fail", 6)),
        ([ending("commit", "ok", 5), ending("abort", "info", 6)], Ending("ok", 5)),
    ],
)
def test_how_a_transaction_ended(rows: list[Row], expected: Ending) -> None:
    assert endings_of(table(*rows)) == {("producer-1", 1): expected}


@pytest.mark.parametrize(
    ("endings", "outcome"),
    [({"t1": COMMITTED}, "ok"), ({"t1": ABORTED}, "fail"), ({"t1": UNKNOWN}, "info"), ({}, "info")],
    ids=["committed", "aborted", "unknown", "never ended"],
)
def test_a_delivered_record_has_its_transactions_outcome(endings: dict[str, Ending], outcome: str) -> None:
    sends = view(inside(0), endings={("producer-1", int(name[1:])): one for name, one in endings.items()}).sends
    assert [bool(flags[0]) for flags in (sends.ok, sends.fail, sends.info)] == [
        outcome == name for name in ("ok", "fail", "info")
    ]


def test_a_record_is_acknowledged_when_its_transaction_is() -> None:
    assert ended(inside(0), sent(1, 1), t1=COMMITTED).sends.completed_ns.tolist() == [500, 15]


def test_a_delivery_of_unknown_outcome_stays_so_in_a_committed_transaction() -> None:
    assert ended(inside(0, outcome="info"), t1=COMMITTED).sends.info.tolist() == [True]


# What readers may see


def test_an_aborted_record_that_was_read() -> None:
    assert len(aborted_read(ended(inside(0), polled(0, 0), t1=ABORTED))) == 1
    assert aborted_read(ended(inside(0), polled(0, 0), t1=ABORTED, uncommitted="reader-1")) == []
    assert aborted_read(ended(inside(0), polled(0, 0), t1=COMMITTED)) == []


def test_an_unknown_transaction_is_proven_by_a_reader_of_committed_records_alone() -> None:
    rows = (inside(0), inside(1), polled(0, 0), final_read(2))
    assert [row["sequence"] for row in lost_write(ended(*rows))] == [1]
    assert lost_write(ended(*rows, uncommitted="reader-1")) == []
    assert lost_write(view(sent(0, 0, "info"), polled(0, 0), final_read(1), uncommitted_readers=["reader-1"])) == []


def test_a_transaction_that_died_half_way_is_not_torn() -> None:
    rows = (inside(0), inside(1), polled(0, 0), final_read(2))
    assert torn_transactions(transactions_of(ended(*rows, uncommitted="reader-1"))) == []
    assert len(torn_transactions(transactions_of(ended(*rows)))) == 1
    assert len(torn_transactions(transactions_of(ended(*rows, t1=COMMITTED, uncommitted="reader-1")))) == 1


ABORTED_BETWEEN = (
    *(sent(0, 0), inside(1), sent(2, 2)),
    *(polled(offset, offset, process="final-read-1", op=100) for offset in range(3)),
)


@pytest.mark.parametrize("op", [(7, 7), (7, 8)], ids=["inside a poll", "between polls"])
def test_what_is_aborted_is_passed_by(op: tuple[int, int]) -> None:
    reads = (polled(0, 0, op=op[0]), polled(2, 2, op=op[1]))
    check = internal_poll_skip if op[0] == op[1] else poll_skip
    assert check(ended(*ABORTED_BETWEEN, *reads, t1=ABORTED, uncommitted="final-read-1")) == []
    assert check(ended(*ABORTED_BETWEEN, *reads, uncommitted="final-read-1")) == []
    assert len(check(ended(*ABORTED_BETWEEN, *reads, t1=COMMITTED, uncommitted="final-read-1"))) == 1


def test_a_reader_at_read_uncommitted_passes_nothing_by() -> None:
    rows = (sent(0, 0), inside(1), sent(2, 2), polled(1, 1, process="other"), polled(0, 0), polled(2, 2))
    names = ["reader-1", "other"]
    found = poll_skip(view(*rows, endings={("producer-1", 1): ABORTED}, uncommitted_readers=names))
    assert len(found) == 1


# Pipelines


def made(offset: int, output: int, at: int, outcome: str = "ok", **more: Any) -> Row:
    """The pipeline processed the input at an offset."""
    row: Row = {"kind": "processed", "outcome": outcome, "offset": offset, "producer": 9, "sequence": output}
    return row | {"process": "pipeline", "completed_ns": at, **more}


def commits(offset: int, at: int, outcome: str = "ok", **more: Any) -> Row:
    """The pipeline committed an offset."""
    row: Row = {"kind": "offsets", "outcome": outcome, "offset": offset, "process": "pipeline", "completed_ns": at}
    return row | more


INPUTS = tuple(polled(offset, offset, process="pipeline", completed_ns=1) for offset in range(3))


def processing(*rows: Row, **how: Any) -> tuple[int, int, int]:
    """How many findings: committed too far, skipped, repeated."""
    history = view(*(sent(n, n) for n in range(3)), *rows, **how)
    checks = (committed_too_far, skipped_processing, repeated_processing)
    return tuple(len(check(history)) for check in checks)  # type: ignore[return-value]


def test_a_pipeline_that_processes_and_then_commits() -> None:
    assert processing(*INPUTS, *(made(n, n, 10 + n) for n in range(3)), commits(3, 13)) == (0, 0, 0)


def test_an_offset_committed_beyond_what_was_processed() -> None:
    rows = (*INPUTS, made(0, 0, 10), commits(3, 11), made(1, 1, 12), made(2, 2, 13))
    assert processing(*rows) == (1, 0, 0)
    (row,) = committed_too_far(view(*rows))
    assert (row["offset"], row["process"], row["unprocessed"], row["unprocessed_count"]) == (3, "pipeline", [1, 2], 2)


def test_an_input_that_is_never_processed() -> None:
    rows = (*INPUTS, made(0, 0, 10), made(2, 2, 11), commits(3, 12))
    assert processing(*rows) == (1, 1, 0)
    (row,) = skipped_processing(view(*rows))
    assert (row["offset"], row["sequence"], row["committed"]["offset"]) == (1, 1, 3)


def test_an_input_that_is_processed_twice() -> None:
    rows = (*INPUTS, made(0, 0, 10), made(0, 5, 11))
    assert processing(*rows) == (0, 0, 1)
    (row,) = repeated_processing(view(*rows))
    assert (row["offset"], [one["output"]["sequence"] for one in row["outputs"]]) == (0, [0, 5])


def test_inputs_beyond_the_committed_offset_are_not_due_yet() -> None:
    assert processing(*INPUTS, made(0, 0, 10), commits(1, 11)) == (0, 0, 0)


def test_an_unknown_output_is_neither_missing_nor_a_second_one() -> None:
    assert processing(*INPUTS[:1], made(0, 0, 10, "info"), commits(1, 11)) == (0, 0, 0)
    assert processing(*INPUTS[:1], made(0, 0, 10, "info"), made(0, 1, 11), commits(1, 12)) == (0, 0, 0)


def test_an_output_that_failed_is_none() -> None:
    assert processing(*INPUTS[:1], made(0, 0, 10, "fail"), commits(1, 11)) == (1, 1, 0)
    assert processing(*INPUTS[:1], made(0, 0, 10, "fail"), made(0, 1, 11), commits(1, 12)) == (0, 0, 0)


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_a_commit_that_may_not_hold_accuses_nobody(outcome: str) -> None:
    assert processing(*INPUTS, made(0, 0, 10), commits(3, 11, outcome)) == (0, 0, 0)


def test_where_a_pipeline_begins_is_its_own_affair() -> None:
    others = [polled(n, n, completed_ns=1) for n in range(3)]
    assert processing(*others, INPUTS[2], made(2, 0, 10), commits(3, 11)) == (0, 0, 0)


def test_holes_in_offsets_and_foreign_records_are_no_inputs() -> None:
    foreign = polled(1, -1, producer=-1, process="pipeline", completed_ns=1, valid=False)
    assert processing(INPUTS[0], foreign, INPUTS[2], made(0, 0, 10), made(2, 1, 10), commits(7, 11)) == (0, 0, 0)


def test_an_aborted_transaction_takes_its_processing_and_its_offsets_back() -> None:
    endings = {("pipeline", 1): ABORTED, ("pipeline", 2): COMMITTED}
    first = (made(0, 0, 10, transaction=1), commits(1, 11, transaction=1))
    again = (made(0, 1, 12, transaction=2), commits(1, 13, transaction=2))
    assert processing(*INPUTS[:1], *first, *again, endings=endings) == (0, 0, 0)
    assert processing(*INPUTS[:1], *first, *again, endings=dict.fromkeys(endings, COMMITTED)) == (0, 0, 1)


def test_aborted_values_are_no_inputs() -> None:
    rows = (sent(5, 3, transaction=4), polled(3, 5, completed_ns=1), *INPUTS[:1], made(0, 0, 10), commits(4, 11))
    how = {"endings": {("producer-1", 4): ABORTED}, "uncommitted_readers": ["reader-1"]}
    assert skipped_processing(view(*rows, **how)) == []


# Outputs that name their inputs: what is there counts


def output(offset: int, number: int, *, producer: int = 9) -> Row:
    """The final reader found an output that names the input at an offset."""
    row: Row = {"kind": "output", "outcome": "ok", "offset": offset, "producer": producer, "sequence": number}
    return row | {"process": "final-read-1", "completed_ns": 500}


READ = {"outputs_read": True}
DIED = READ | {"writers_missing": True}
"""A pipeline was killed: its rows may say less than it did."""


def test_an_input_that_no_output_names_was_not_processed_whatever_the_program_says() -> None:
    rows = (*INPUTS, *(made(n, n, 10) for n in range(3)), commits(3, 11))
    assert processing(*rows, output(0, 0), output(1, 1), output(2, 2), **READ) == (0, 0, 0)
    assert processing(*rows, output(0, 0), output(2, 2), **READ) == (1, 1, 0)
    assert processing(*rows, **READ) == (1, 3, 0)


def test_an_input_that_two_outputs_name_was_processed_twice_whatever_the_program_says() -> None:
    rows = (*INPUTS[:1], made(0, 0, 10), commits(1, 11), output(0, 0), output(0, 1, producer=8))
    assert processing(*rows, **READ) == (0, 0, 1)
    (row,) = repeated_processing(view(*rows, **READ))
    assert [one["output"]["producer"] for one in row["outputs"]] == [9, 8]


def test_how_often_an_input_that_is_processed_twice_was_handed_to_a_member() -> None:
    """Once in each stay of a member with the partition; of a share group's member once with each delivery."""
    twice = (*INPUTS[:1], output(0, 0), output(0, 1, producer=8))
    (row,) = repeated_processing(view(*twice, **READ))
    assert "handed" not in row
    stays = [assigned(reader=process) | {"completed_ns": 1} for process in ("pipeline", "another", "pipeline")]
    groups = {process: Membership("g") for process in ("pipeline", "another")}
    (row,) = repeated_processing(view(*twice, *stays, groups=groups, **READ))
    assert row["handed"] == 3
    given: Row = {"kind": "delivered", "outcome": "ok", "process": "pipeline", "offset": 0, "count": 1}
    (row,) = repeated_processing(view(*twice, *(given | {"completed_ns": at} for at in (1, 2)), **READ))
    assert row["handed"] == 2


def test_when_an_output_was_made_its_program_says() -> None:
    """The final reader says when it has read the output. A program that was killed may not have said it."""
    rows = (*INPUTS[:1], made(0, 0, 10), output(0, 0), output(0, 1, producer=8))
    (row,) = repeated_processing(view(*rows, **READ))
    assert [one.get("processed_ns") for one in row["outputs"]] == [10, None]
    assert [one["completed_ns"] for one in row["outputs"]] == [500, 500]
    # Whatever it knows of the outcome: the output is there.
    unsure = (*INPUTS[:1], made(0, 0, 10, "info"), made(0, 1, 11), output(0, 0), output(0, 1))
    (row,) = repeated_processing(view(*unsure, **READ))
    assert [one["processed_ns"] for one in row["outputs"]] == [10, 11]
    # Without a reader of outputs what the programs say is all there is.
    (row,) = repeated_processing(view(*INPUTS, made(0, 0, 10), made(0, 5, 11)))
    assert [one["processed_ns"] for one in row["outputs"]] == [10, 11]


def test_an_unknown_output_is_there_or_it_is_not() -> None:
    rows = (*INPUTS[:1], made(0, 0, 10, "info"), commits(1, 11))
    assert processing(*rows, output(0, 0), **READ) == (0, 0, 0)
    assert processing(*rows, **READ) == (1, 1, 0)


def test_a_pipeline_that_was_killed_skipped_what_no_output_names() -> None:
    rows = (*INPUTS, made(0, 0, 10), commits(2, 11), output(0, 0), output(2, 2))
    assert processing(*rows, **DIED) == (1, 1, 0)
    # Without a reader of outputs it may have done more than its rows say.
    assert processing(*rows[:-2], writers_missing=True) == (0, 0, 0)


def test_an_input_below_one_that_was_processed_is_passed_though_nobody_told_of_a_commit() -> None:
    assert processing(*INPUTS, output(0, 0), output(2, 2), **DIED) == (0, 1, 0)
    assert processing(*INPUTS, output(0, 0), output(1, 1), **DIED) == (0, 0, 0)


def test_when_a_killed_pipeline_processed_an_input_nobody_knows() -> None:
    rows = (*INPUTS[:1], commits(1, 9), made(0, 0, 10), output(0, 0))
    assert processing(*rows, **READ) == (1, 0, 0)
    assert processing(*rows, **DIED) == (0, 0, 0)


# Real-time lag


def took(offset: int, invoked: int, completed: int, **more: Any) -> Row:
    return polled(offset, offset, invoked_ns=invoked, completed_ns=completed, **more)


def test_the_longest_a_consumer_waited_for_what_was_in_the_log() -> None:
    rows = (sent(0, 0), sent(1, 1), sent(2, 2), took(0, 6, 7), took(1, 40, 41), took(2, 90, 91))
    lag = real_time_lag(view(*rows))
    assert lag is not None
    assert (lag["lag_ns"], lag["offset"], lag["process"]) == (65, 2, "reader-1")
    assert (lag["in_log_ns"], lag["polled_ns"]) == (25, 90)


def test_a_value_that_was_not_surely_in_the_log_is_not_waited_for() -> None:
    assert real_time_lag(view(sent(0, 0), sent(1, 1, "info"), took(0, 6, 7), took(1, 900, 901))) is None
    assert real_time_lag(view(sent(0, 0), sent(1, 1), took(0, 6, 7), took(1, 14, 20))) is None


def test_another_reader_shows_that_it_was_there() -> None:
    rows = (sent(1, 1, "info"), took(0, 6, 7), took(1, 20, 30, process="other"), took(1, 50, 51))
    lag = real_time_lag(view(*rows))
    assert lag is not None
    assert lag["lag_ns"] == 20


@pytest.mark.parametrize("between", [assigned(), took(2, 30, 31)], ids=["assigned", "another position"])
def test_a_consumer_that_was_not_at_the_position_did_not_wait(between: Row) -> None:
    assert real_time_lag(view(sent(0, 0), sent(1, 1), took(0, 6, 7), between, took(1, 90, 91))) is None
