"""docs/recall.md: a bug is found by its signs, on its release, by a scenario that does not state it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evidence.ledger import AnyLine, Excluded, RestoredRun, RunJudged
from pages import recall
from pages.recall import NEEDS, Affected, Sought, exhibits, in_ledger, page, releases, sought

BUG = Affected(
    bug="KAFKA-1",
    title="it loses",
    affected=("2.8.1",),
    signs=frozenset({"lost-write", "acks-all-waits-for-isr"}),
    stated=("double-failover",),
)


def told(run: str, scenario: str = "baseline", version: str = "2.8.1", **more: object) -> list[AnyLine]:
    """A run of the ledger that was unexpected for a lost record."""
    values: dict[str, Any] = {"at": "2026-11-23T00:00:00.000Z", "run": run, "scenario": scenario, "version": version}
    verdict: dict[str, Any] = {"verdict": "unexpected", "seen": ("lost-write",)}
    return [RestoredRun(schema=1, source="0", **(values | verdict | more))]


@pytest.mark.parametrize(
    ("lines", "runs", "unexpected", "found"),
    [
        (told("r"), 1, 1, ("r",)),
        (told("r", seen=(), told="the claim acks-all-waits-for-isr is contradicted"), 1, 1, ("r",)),
        (told("r", seen=("phantom",)), 1, 1, ()),
        (told("r", verdict="as-documented"), 1, 0, ()),
        (told("r", "exhibit"), 0, 0, ()),
        (told("r", version="2.8.2"), 0, 0, ("r",)),
        (told("r", commits=("01234567+",)), 0, 0, ()),
        ([*told("r"), Excluded(schema=1, run="r", at="", why="x")], 0, 0, ()),
        (
            [
                RunJudged(
                    schema=1,
                    run="r",
                    at="",
                    verdict="unexpected",
                    sound=True,
                    seconds=1.0,
                    documented="0",
                    manifest="0",
                )
            ],
            0,
            0,
            (),
        ),
    ],
    ids=[
        "anomaly",
        "claim",
        "another",
        "documented",
        "of the museum",
        "elsewhere",
        "of a modified tree",
        "excluded",
        "not started",
    ],
)
def test_a_bug_is_found_in_the_ledger(lines: list[AnyLine], runs: int, unexpected: int, found: tuple[str, ...]) -> None:
    seen = sought(lines, [BUG], {"exhibit"}, {"r": "KAFKA-1"})["KAFKA-1"]
    assert (seen.count, seen.unexpected, seen.found) == (runs, unexpected, found)


def test_a_sign_that_comes_of_something_else_finds_nothing() -> None:
    seen = sought(told("r"), [BUG], set(), {"r": "KAFKA-2"})["KAFKA-1"]
    assert (seen.unexpected, seen.found, seen.named) == (1, (), 1)
    assert sought(told("r"), [BUG], set(), {})["KAFKA-1"].found == ()


def test_a_run_that_found_a_bug_before_it_was_stated_found_it() -> None:
    seen = sought(told("r", "double-failover"), [BUG], set(), {"r": "KAFKA-1"})["KAFKA-1"]
    assert (seen.count, seen.found) == (0, ("r",))


def test_the_page_tells_found_missed_and_not_run() -> None:
    missed, not_run = (
        Affected(bug=bug, title="it stalls", affected=("1.1.1",), signs=frozenset()) for bug in ("KAFKA-2", "KAFKA-3")
    )
    text = page(
        [BUG, missed, not_run],
        {
            "KAFKA-1": Sought(runs={"2.8.1": 2}, scenarios=1, unexpected=1, found=("r",)),
            "KAFKA-2": Sought(runs={"1.1.1": 4}, scenarios=2, unexpected=0),
            "KAFKA-3": Sought(runs={}, scenarios=0, unexpected=0),
        },
    )
    assert "**1 of 3 bugs were found unprompted.** 1 bug is stated by another scenario besides. 1 was not found" in text
    assert "No run with a verdict is on a release that has KAFKA-3." in text
    assert (
        "| KAFKA-1 | it loses | acks-all-waits-for-isr, lost-write | 2.8.1 (2) | 1 | 1 | 0 | r | double-failover | – |"
        in text
    )
    assert "| KAFKA-2 | it stalls | – | 1.1.1 (4) | 2 | 0 | 0 | – | – | – |" in text


def test_every_bug_is_stated_elsewhere_or_needs_something() -> None:
    assert {one.bug for one in exhibits() if not one.stated} == NEEDS.keys()
    assert all(one.signs for one in exhibits())


def test_releases_are_those_that_a_bug_is_shown_on() -> None:
    assert releases([BUG, Affected(bug="KAFKA-2", title="", affected=("0.11.0.0",), signs=frozenset())]) == [
        "0.11.0.0",
        "2.8.1",
    ]


def test_the_committed_page_is_that_of_the_ledger() -> None:
    """`make docs` writes it."""
    text = (Path(__file__).parents[3] / recall.PAGE).read_text(encoding="utf-8")
    assert text == page(exhibits(), in_ledger(exhibits()))
