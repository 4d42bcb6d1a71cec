"""Programs' words against their outputs: a difference is a problem."""

from __future__ import annotations

import pytest

from analysis.outputs import differing_outputs
from checks.view import outputs_read
from tests.unit.checks.histories import Row, table, view
from tests.unit.checks.test_transactions import made, output


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        ([made(0, 0, 10), output(0, 0)], []),
        ([made(0, 0, 10, "info"), output(0, 0)], []),
        ([made(0, 0, 10, "info")], []),
        ([made(0, 0, 10)], ["1 inputs that a program calls processed are in no output: t-0@0"]),
        ([output(0, 0), output(1, 1)], ["2 inputs were made into outputs that no program told of: t-0@0, 1"]),
        ([made(0, 0, 10, "fail"), output(0, 0)], ["1 inputs were made into outputs that no program told of: t-0@0"]),
    ],
)
def test_a_difference_is_told(rows: list[Row], problems: list[str]) -> None:
    assert [one.detail for one in differing_outputs(view(*rows, outputs_read=True))] == problems


def test_a_program_that_was_killed_may_have_done_more_than_it_told() -> None:
    assert differing_outputs(view(output(0, 0), outputs_read=True, writers_missing=True)) == []
    (problem,) = differing_outputs(view(made(0, 0, 10), outputs_read=True, writers_missing=True))
    assert problem.what == "outputs differ"


def test_where_nobody_read_outputs_nothing_differs() -> None:
    assert differing_outputs(view(made(0, 0, 10))) == []


def test_a_final_reader_that_died_has_not_read_outputs() -> None:
    of_none = {"topic": None, "partition": None}
    assert not outputs_read(table(output(0, 0)))
    assert outputs_read(table(output(0, 0), {"kind": "output", "outcome": "ok", "process": "final-read-1"} | of_none))
