"""Runs that did not end as documented, as pages tell them."""

from __future__ import annotations

from typing import Any

import pytest

from pages import deviations
from results.explained import Explained

WHY = Explained(
    runs=("r1", "r3"), cause="our-statement", why="We were wrong.", followed="It is mended.", commits=("a" * 40,)
)
TOLD = dict.fromkeys(WHY.runs, WHY)


def cell(*bad: str, ids: str = "r1 r2 r3 r4 r5", unnamed: int = 0) -> dict[str, Any]:
    names = ids.split()
    lines = [f"{run}: all kept: unexpected: the claim c is contradicted: 2 s; another" for run in bad]
    return {"runs": len(names), "good": len(names) - len(bad) - unnamed, "ids": names, "not_good": lines}


def test_runs_of_one_explanation_are_told_together_with_what_came_later() -> None:
    (one,) = deviations.of([(("a", "4.3.1"), cell("r1", ids="r1 r2")), (("b", "4.3.1"), cell("r3", ids="r3 s1"))], TOLD)
    assert [(run.place, run.run) for run in one.runs] == [(("a", "4.3.1"), "r1"), (("b", "4.3.1"), "r3")]
    assert one.runs[0].reason == "all kept: unexpected: the claim c is contradicted: 2 s"
    assert one.cause == "Our statement was wrong"
    assert one.sentences == (
        "We were wrong. It is mended (aaaaaaaa). Later runs of the same case and version: 2 of 2 as documented."
    )
    assert one.by_reason == {one.runs[0].reason: ["r1", "r3"]}


def test_later_runs_begin_after_the_last_of_the_cell() -> None:
    (one,) = deviations.of([(("a", "4.3.1"), cell("r1", "r3"))], TOLD)
    assert (one.later, one.good) == (2, 2)
    first, second = deviations.of([(("a", "4.3.1"), cell("r1", "r4"))], TOLD)
    assert (first.later, first.good) == (4, 3)
    assert second.explained is None


def test_a_cell_that_does_not_name_all_of_its_bad_runs_says_at_least() -> None:
    (one,) = deviations.of([(("a", "4.3.1"), cell("r1", unnamed=1))], TOLD)
    assert one.sentences.endswith("at least 3 of 4 as documented.")


def test_without_later_runs_and_without_an_explanation_that_is_said() -> None:
    (one,) = deviations.of([(("a", "4.3.1"), cell("r9", ids="r9"))], TOLD)
    assert one.cause == "Not explained yet"
    assert one.sentences == "The same case and version has no later run that counts."


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("1 LOST; other × 10: unknown: no proof; more", "1 LOST: unknown: no proof"),
        ("unknown: no proof", "unknown: no proof"),
        ("a: error: it said:\\nnt)\\n[log]", "a: error: it said:"),
        ("a: error: " + "x" * 300, "a: error: " + "x" * 189 + "…"),
        ("lost: unexpected", "lost: unexpected"),
    ],
)
def test_a_reason_is_its_first_clause(words: str, told: str) -> None:
    assert deviations.shortened(words) == told
    assert len(told) <= deviations.LONGEST
