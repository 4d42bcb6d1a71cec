"""Nights with a regression planted: the plan, the command, what is kept of a night, and the page of what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from app import options
from app.matrix import cells
from evidence.errors import UsageError
from harness.cluster import versions
from harness.scenario import get_scenario
from judgement.comparison import Fact, Ran
from tests.mutants import image
from tests.planted import PLAN, PLANTED, RELEASE, UNCHANGED, Planted, get, kept, page
from tests.planted.__main__ import PAGE, RESULTS, command, main
from tests.planted.kept import Night

LOST = Fact("anomaly", "lost-write")
WARNING = Fact("warning", "Log: Truncating t-N to offset N")
BUILD = "4.3.1@0123456789ab"


def night(name: str, runs: int = 5, change: Callable[[Ran], Ran] = lambda ran: ran, version: str = RELEASE) -> Night:
    """A quiet night: each cell of the plan, so many times."""
    every = [
        Ran(
            run=f"{name}-{scenario}-{number}",
            cell=(scenario, case, version),
            at=f"2026-11-24T20:0{number}:00Z",
            setting=("Linux, 2 cores", "quiet"),
            verdict="as-documented",
            shown={Fact("claim", "leader-replaced-in-time"): False},
            times_ms={"leader-replaced-in-time": 4000.0 + 10 * number},
            lines=frozenset({WARNING}),
        )
        for scenario, case in PLAN
        for number in range(runs)
    ]
    return Night(name=name, runs=tuple(map(change, every)))


def breaks(planted: Planted) -> Callable[[Ran], Ran]:
    """What runs of a build show, in one cell of the plan, or a time or a line in all."""
    fact = planted.first[-1]

    def changed(one: Ran) -> Ran:
        if fact.kind == "time":
            return replace(one, times_ms={name: ms + 3000 for name, ms in one.times_ms.items()})
        if fact.kind == "error line":
            return replace(one, lines=(one.lines or frozenset()) | {fact})
        return replace(one, shown={**one.shown, fact: True}) if one.cell[0] == PLAN[0][0] else one

    return changed


def test_the_plan_is_what_the_command_runs() -> None:
    asked = options.parser().parse_args(command(UNCHANGED, 2, RESULTS, 1, 5)[3:])
    assert (asked.versions, asked.seed, asked.repeat, asked.again) == ([RELEASE], 6, 5, 0)
    found = cells(
        map(get_scenario, asked.scenarios), [versions.get(RELEASE)], seed=asked.seed, repeat=1, cases=asked.case
    )
    assert [(cell.scenario, cell.case) for cell in found] == list(PLAN)
    built = options.parser().parse_args(command("elections-late", 1, RESULTS, 1, 5)[3:])
    assert built.versions is None
    assert built.kafka == str(RESULTS / "builds" / "elections-late")


@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)
def test_the_agents_file_has_every_change(planted: Planted) -> None:
    text = image.properties(planted.as_mutant, RELEASE)
    assert text.count(".class=") == len(planted.changes) > 0
    assert planted.broken.endswith(".")


def test_a_night_is_kept_and_read_as_it_was() -> None:
    before = night("elections-late-2", 2, lambda one: replace(one, lines=None) if one.run.endswith("1") else one)
    assert kept.from_json(kept.as_json(before), "x") == replace(before, runs=tuple(sorted(before.runs, key=_name)))
    assert (before.planted, before.number) == ("elections-late", 2)


def _name(run: Ran) -> str:
    return run.run


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 1, "lines": []}', '{"schema": 1, "lines": [1], "runs": []}'])
def test_what_is_no_night_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="x: not a night"):
        kept.from_json(text, "x")


def test_another_schema_and_another_name_are_refused() -> None:
    text = json.dumps(json.loads(kept.as_json(night("unchanged-1"))) | {"schema": 9})
    with pytest.raises(UsageError, match="schema 9, and 1 is known"):
        kept.from_json(text, "x")
    with pytest.raises(UsageError, match="elections-early-1: a night is called"):
        kept.split("elections-early-1")
    assert main(["night", "elections-early"]) == 254
    assert main(["keep", "/nowhere"]) == 254


def test_runs_that_are_kept_stay_as_they_are() -> None:
    first = night("unchanged-1", 1)
    other = [replace(run, verdict="unknown") for run in first.runs]
    assert kept.merged(first, [*other, *night("unchanged-1", 2).runs], "unchanged-1").runs[0].verdict == "as-documented"
    assert len(kept.merged(first, night("unchanged-1", 2).runs, "unchanged-1").runs) == 2 * len(PLAN)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)
def test_what_is_planted_is_told_alone_of_a_build_beside_its_release(planted: Planted) -> None:
    old = [night("unchanged-1"), night("unchanged-2")]
    new = night(f"{planted.name}-1", 5, breaks(planted), BUILD)
    found = page.held(old, new)
    assert page.right(found, planted)
    assert found.regressions[0].fact == planted.first[-1]
    assert not page.right(page.held(old, night(f"{planted.name}-1", version=BUILD)), planted)
    told = page.least_runs(old, new, planted)
    # A time needs five runs; a line of every cell is told by fewer.
    assert told == (2 if planted.first[-1].kind == "error line" else 5)


def test_another_regression_beside_it_is_not_right() -> None:
    def also(one: Ran) -> Ran:
        return replace(breaks(get("elections-late"))(one), shown={**one.shown, LOST: True})

    found = page.held([night("unchanged-1"), night("unchanged-2")], night("elections-late-1", change=also))
    assert not page.right(found, get("elections-late"))


def test_the_page_tells_alarms_and_what_is_missed() -> None:
    unchanged = [night("unchanged-1"), night("unchanged-2")]
    text = page.page([*unchanged, night("elections-late-1", version=BUILD)])
    assert "As it should be: 0 of 1 night." in text
    assert "- elections-late-1: the comparison reports nothing; with fewer than 5 runs that tell: 0 of 5 cells" in text
    assert "0 alarms in 2 comparisons; enough runs to tell: 2." in text
    few = page.page([*unchanged, night("elections-late-1", 1, version=BUILD)])
    assert "| too few runs | not |" in few
    assert "Not whole yet: elections-late-1 (1 of 25 runs)." not in few
    assert "Not whole yet: elections-late-1 (5 of 25 runs)." in few
    alarmed = page.page([unchanged[0], night("unchanged-2", change=breaks(get("elections-late")))])
    assert "1 alarm in 2 comparisons;" in alarmed


def test_the_page_is_that_of_the_kept_nights() -> None:
    assert page.page(kept.read(RESULTS)) == PAGE.read_text(), "`.venv/bin/python -m tests.planted page` makes it anew"


def test_runs_of_planted_builds_are_in_no_ledger_of_a_release() -> None:
    for one in kept.read(RESULTS):
        builds = {run.cell[2] for run in one.runs}
        assert builds == {RELEASE} if one.planted == UNCHANGED else all("@" in version for version in builds)
