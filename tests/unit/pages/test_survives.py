"""What survives what: cells as the data has them, nothing where nothing was counted."""

from __future__ import annotations

from typing import Any

import pytest

from harness.scenario import all_scenarios
from pages import survives
from pages.survives import ROWS


def data(*, lost: list[int] | None, good: int = 2, runs: int = 2, **more: Any) -> dict[str, Any]:
    verdicts = {name: n for name, n in (("as-documented", good), ("unexpected", runs - good)) if n}
    cell = {"runs": runs, "good": good, "acknowledged": [14, 14], "lost_records": lost, "ids": ["a", "b"]}
    cell |= {"verdicts": verdicts, "lost": runs if lost and lost[1] else 0, "ack_ms": None} | more
    return {"page-cache-only": {"cases": {"flush-each": {"4.3.1": cell}}}}


def page(**of: Any) -> str:
    return survives.page({"versions": ["2.8.2", "4.3.1"]}, data(**of))


@pytest.mark.parametrize(
    ("of", "told"),
    [
        ({"lost": [0, 0], "good": 20, "runs": 20}, "| kept 20/20: at most 14 % lose |"),
        ({"lost": [10, 10]}, "| **lost 10** of 14 in 2/2 |"),
        ({"lost": [9, 10], "good": 1}, "| **lost 9–10** of 14 in 2/2 (1/2 as documented) |"),
        (
            {"lost": [0, 1], "good": 11, "runs": 14, "lost_runs": 2},
            "| **lost 1** of 14 in 2/13 (11/13 as documented, 1 unknown) |",
        ),
    ],
)
def test_a_cell_says_what_became_of_the_records(of: dict[str, Any], told: str) -> None:
    if lost_runs := of.pop("lost_runs", 0):
        of |= {"verdicts": {"as-documented": 11, "unexpected": 2, "unknown": 1}}
    cells = data(**of)
    if lost_runs:
        cells["page-cache-only"]["cases"]["flush-each"]["4.3.1"]["lost"] = lost_runs
    text = survives.page({"versions": ["2.8.2", "4.3.1"]}, cells)
    assert told in text
    assert "2.8.2" not in text


def test_runs_of_which_nothing_is_known_are_no_cell() -> None:
    assert "| [all replicas" not in page(lost=None)


def test_what_a_flush_costs_is_told_where_it_was_measured() -> None:
    flushed = data(lost=[0, 0], ack_ms=4.5)
    cases = flushed["page-cache-only"]["cases"]
    assert "What a flush costs" not in survives.page({"versions": ["4.3.1"]}, flushed)
    cases["default"] = {"4.3.1": cases["flush-each"]["4.3.1"] | {"ack_ms": 2}}
    assert "| default | 2 |\n| flush-each | 4.5 |" in survives.page({"versions": ["4.3.1"]}, flushed)


def test_every_row_is_a_case_of_a_scenario() -> None:
    """And all cases of the durability scenarios that are about records are rows."""
    scenarios = all_scenarios()
    assert [row for row in ROWS if row.case not in scenarios[row.scenario].cases] == []
    rows = {(row.scenario, row.case) for row in ROWS}
    about = ("memory-survives", "page-cache-only", "last-replica-standing", "rack-loss")
    cases = {(n, c) for n in about for c in scenarios[n].cases}
    assert cases <= rows
