"""Sentences of result are held to what runs showed: a claim of the text that the data refute is found here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import results
from harness.cluster import versions
from harness.scenario import Scenario, all_scenarios
from pages import answers, guide
from pages.scenarios import described

LOST_WRITE = "lost-write"
PAUSES: dict[str, tuple[str, tuple[str, ...], float, float]] = {
    "controlled-shutdown": ("writes then pause for about a second", ("clean",), 0.2, 1.5),
    "rolling-restart": ("writes pause for seconds at a time", ("clean", "clean-combined"), 1.0, 15.0),
}
"""What an operator is told of pauses, the cases that it is of, and the medians of the longest pause of writes (s)
between which that is true on every version that was measured."""
TELLS_OF_A_PAUSE = re.compile(r"paus\w* for (?!its|the|a session|replica)[^.]*?\b(second|millisecond)s?\b")


@pytest.fixture(scope="module")
def every() -> dict[str, Any]:
    return described()


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return results.by_scenario()


def measured(data: dict[str, Any], made: Scenario) -> Iterator[tuple[str, str, Any]]:
    """Case, version and counts of what was run of a scenario and is documented today."""
    for case in made.cases.values():
        for version, cell in (data.get(made.name) or {"cases": {}})["cases"].get(case.name, {}).items():
            if made.applies_to(versions.get(version), case):
                yield case.name, version, cell


@pytest.mark.parametrize("name", PAUSES)
def test_what_is_said_of_pauses_is_what_was_measured(name: str, data: dict[str, Any]) -> None:
    words, cases, least_s, most_s = PAUSES[name]
    assert words in all_scenarios()[name].operator
    medians = {
        (case, version): cell["clients"]["write_pause_ms"][2] / 1000
        for case in cases
        for version, cell in data[name]["cases"][case].items()
        if "write_pause_ms" in cell["clients"]
    }
    assert len(medians) >= 4
    assert {at: s for at, s in medians.items() if not least_s <= s <= most_s} == {}


def test_what_is_said_of_lost_seconds_is_no_less_than_what_was_lost(data: dict[str, Any]) -> None:
    advice = all_scenarios()["page-cache-only"].operator
    told = re.search(r"acknowledged records of the last (\d+) s", " ".join(advice.split()))
    assert told is not None
    most_ms = {
        (case, version): max(each["ms"][3] for each in cell["timings"]["lost-records-are-recent"])
        for case in ("default", "xfs")
        for version, cell in data["page-cache-only"]["cases"][case].items()
        if cell["timings"]
    }
    assert len(most_ms) >= 4
    assert 0.5 < max(most_ms.values()) / 1000 / int(told[1]) <= 1, most_ms


def test_no_other_advice_tells_how_long_writes_pause() -> None:
    """Whoever writes such a sentence adds it above, with the data that it is held to."""
    telling = {name for name, made in all_scenarios().items() if TELLS_OF_A_PAUSE.search(made.operator)}
    assert telling == PAUSES.keys()


def test_where_a_loss_is_documented_runs_lost_and_where_none_is_they_kept(data: dict[str, Any]) -> None:
    """The index says where records are lost by what is documented; this is what it rests on."""
    wrong = []
    for made in all_scenarios().values():
        for case, version, cell in measured(data, made):
            outcome = made.documented_for(versions.get(version), case)
            if LOST_WRITE in outcome.required and cell["good"] and cell["lost"] < cell["good"]:
                wrong.append(f"{made.name}, {case} on {version}: lost in {cell['lost']} of {cell['good']} good runs")
            if LOST_WRITE not in outcome.required | outcome.allowed and cell["lost"] > cell["runs"] - cell["good"]:
                wrong.append(f"{made.name}, {case} on {version}: lost in {cell['lost']}, {cell['good']} good")
    assert wrong == []


def test_the_index_names_no_version_as_losing_that_keeps(every: dict[str, Any]) -> None:
    """A version is among those of the first outcome that holds for it, so "every version" stands for itself alone."""
    versions_of = answers.run_on(every["scenarios"])
    for one in every["scenarios"]:
        for case in one["cases"]:
            losing = {
                v for outcome in case["documented"] if LOST_WRITE in outcome["required"] for v in outcome["versions"]
            }
            keeping = {
                v
                for outcome in case["documented"]
                if LOST_WRITE not in outcome["required"]
                for v in outcome["versions"]
            }
            assert losing.isdisjoint(keeping)
            alone = {**one, "cases": [case]}
            if losing and keeping:
                assert answers.EVERY_VERSION not in answers.documented(alone, versions_of), one["name"]


def test_a_page_of_the_museum_shows_the_bug_or_says_that_it_does_not(
    every: dict[str, Any], data: dict[str, Any]
) -> None:
    shown = 0
    for one in every["scenarios"]:
        told = (data.get(one["name"]) or {}).get("shown")
        if one["exhibit"] is None or told is None:
            continue
        says = "This run is on a release that has the fix" in guide.page(one, data[one["name"]])
        assert says is (told["version"] not in one["exhibit"]["affected"]), one["name"]
        shown += 1
    assert shown > 20


def test_the_pages_of_the_clock_say_how_often_retention_is_looked_at(
    every: dict[str, Any], data: dict[str, Any]
) -> None:
    made = guide.pages(every, data)
    survives = made["what-survives-what.md"]
    assert "every five minutes by default" in survives
    assert "Nothing but retention.ms=-1" not in survives
    assert "looked at each second" in survives
    clock = made["scenarios/clock-step.md"]
    assert "every five minutes by default (log.retention.check.interval.ms), here each second" in " ".join(
        clock.split()
    )
