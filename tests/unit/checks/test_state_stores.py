"""state-store-leak: results that only an aborted processing explains, and results that committed outputs explain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from checks.anomalies.state_stores import state_store_leak, without_results
from checks.excuses import counted_at_least_once
from evidence.findings import Finding
from tests.records import run_record
from tests.unit.checks.histories import Row, view
from tests.unit.checks.test_transactions import output

READ = {"outputs_read": True}


def counted(number: int, *offsets: int) -> list[Row]:
    """The result of the output with this number counts the inputs at these offsets."""
    row: Row = {"kind": "in-result", "outcome": "ok", "producer": 9, "sequence": number, "process": "final-read-1"}
    return [row | {"offset": offset, "completed_ns": 500} for offset in offsets]


def leaks(*rows: Row, **how: Any) -> list[Mapping[str, Any]]:
    return list(state_store_leak(view(*rows, **(READ | how))))


def test_a_result_that_counts_each_input_once_is_explained() -> None:
    rows = [output(0, 0), *counted(0, 0), output(1, 1), *counted(1, 0, 1), output(2, 2), *counted(2, 2)]
    assert leaks(*rows) == []


def test_an_input_that_is_counted_twice_and_made_into_one_output_is_a_leak() -> None:
    (row,) = leaks(output(0, 0), *counted(0, 0), output(3, 1), *counted(1, 3, 3))
    assert (row["offset"], row["counted"], row["outputs"]) == (3, 2, 1)
    assert (row["result"]["producer"], row["result"]["sequence"], row["process"]) == (9, 1, "final-read-1")


def test_each_result_that_counts_it_so_is_told() -> None:
    rows = [output(3, 0), *counted(0, 3, 3), output(4, 1), *counted(1, 3, 3, 4), output(5, 2), *counted(2, 5)]
    assert [(row["offset"], row["result"]["sequence"]) for row in leaks(*rows)] == [(3, 0), (3, 1)]


def test_an_input_that_is_counted_and_was_never_made_into_an_output_is_a_leak() -> None:
    (row,) = leaks(output(5, 0), *counted(0, 3, 5))
    assert (row["offset"], row["counted"], row["outputs"]) == (3, 1, 0)


def test_what_comes_after_all_outputs_was_never_made_into_one() -> None:
    (row,) = leaks(output(5, 0), *counted(0, 5, 7))
    assert (row["offset"], row["outputs"]) == (7, 0)


def test_two_outputs_of_an_input_explain_that_it_is_counted_twice() -> None:
    """At least once: the second processing counts on top of the first."""
    assert leaks(output(3, 0), *counted(0, 3), output(3, 1), *counted(1, 3, 3)) == []


def test_where_nobody_read_the_outputs_nothing_is_known() -> None:
    assert leaks(output(3, 0), *counted(0, 3, 3), outputs_read=False) == []


def test_outputs_without_results_state_nothing() -> None:
    assert leaks(output(3, 0)) == []
    assert without_results(view(output(3, 0), **READ))
    assert not without_results(view(output(3, 0), *counted(0, 3), **READ))


@pytest.mark.parametrize(
    ("settings", "excused"),
    [
        ({"processing.guarantee": "at_least_once"}, True),
        ({"processing.guarantee": "exactly_once_v2"}, False),
        ({"transactional.id": "x"}, False),
        ({}, True),
    ],
)
def test_it_is_excused_where_nothing_is_done_in_transactions(settings: dict[str, str], excused: bool) -> None:
    run = run_record({"processes": [{"name": "processor-1", "kind": "processor", "settings": settings}]})
    finding = Finding(anomaly="state-store-leak", topic="t", partition=0, count=1)
    assert (counted_at_least_once(run, finding) is not None) == excused
