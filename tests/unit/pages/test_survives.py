"""What survives what: cells as the data has them, nothing where nothing was counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.scenario import all_scenarios
from pages import reproduced, survives
from pages.survives import ROWS


def data(*, lost: list[int] | None, good: int = 2, runs: int = 2, **more: Any) -> dict[str, Any]:
    cell = {"runs": runs, "good": good, "acknowledged": [14, 14], "lost_records": lost, "ids": ["a", "b"]} | more
    return {"page-cache-only": {"cases": {"flush-each": {"4.3.1": cell}}}}


def page(**of: Any) -> str:
    return survives.page({"versions": ["2.8.2", "4.3.1"]}, data(**of))


@pytest.mark.parametrize(
    ("of", "told"),
    [
        ({"lost": [0, 0]}, "| kept 2/2 |"),
        ({"lost": [10, 10]}, "| **lost 10** of 14 2/2 |"),
        ({"lost": [9, 10], "good": 1}, "| **lost 9–10** of 14 1/2 |"),
    ],
)
def test_a_cell_says_what_became_of_the_records(of: dict[str, Any], told: str) -> None:
    text = page(**of)
    assert told in text
    assert "- page-cache-only (flush-each) on 4.3.1: `a`, `b`" in text
    assert "2.8.2" not in text


def test_runs_of_which_nothing_is_known_are_no_cell() -> None:
    assert "| [all replicas" not in page(lost=None)


def test_what_a_flush_costs_is_told_where_it_was_measured() -> None:
    flushed = data(lost=[0, 0], ack_ms=4.5)
    cases = flushed["page-cache-only"]["cases"]
    assert "What a flush costs" not in survives.page({"versions": ["4.3.1"]}, flushed)
    cases["default"] = {"4.3.1": cases["flush-each"]["4.3.1"] | {"ack_ms": 2}}
    assert "| default | 2 |\n| flush-each | 4.5 |" in survives.page({"versions": ["4.3.1"]}, flushed)


def test_the_price_is_that_of_the_run_that_was_disturbed_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survives, "median_ack_ms", lambda run_dir: run_dir)
    measured = [(9.0, True), (2.0, True), (1.0, False), (None, True)]
    runs: Any = [SimpleNamespace(run_dir=ms, verdict=SimpleNamespace(good=good)) for ms, good in measured]
    assert reproduced.price("page-cache-only", runs) == {"ack_ms": 2.0}
    assert reproduced.price("page-cache-only", runs[2:]) == {}
    assert reproduced.price("rack-loss", runs) == {}


def test_a_run_that_contradicts_has_lost_what_it_lost() -> None:
    def judged(verdict: str, lost: int) -> Any:
        found = SimpleNamespace(verdict=verdict, outcome=SimpleNamespace(acknowledged=9, lost=lost))
        return SimpleNamespace(run=SimpleNamespace(run=verdict), verdict=found)

    runs = [judged("as-documented", 0), judged("unexpected", 1), judged("unknown", 5), judged("error", 7)]
    assert survives.counts(runs)["lost_records"] == [0, 1]
    assert survives.counts(runs[2:])["lost_records"] is None


def test_every_row_is_a_case_of_a_scenario() -> None:
    """And all cases of the durability scenarios that are about records are rows."""
    scenarios = all_scenarios()
    assert [row for row in ROWS if row.case not in scenarios[row.scenario].cases] == []
    rows = {(row.scenario, row.case) for row in ROWS}
    about = ("memory-survives", "page-cache-only", "last-replica-standing", "rack-loss")
    cases = {(n, c) for n in about for c in scenarios[n].cases}
    assert cases <= rows
