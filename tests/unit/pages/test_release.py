"""The page of a release: what changed in its settings and jars, and what runs on both releases showed."""

from __future__ import annotations

from typing import Any

from pages.release import APART, ComparedReleases, Keys, changed_jars, changed_settings, page


def cell(good: int, seen: dict[str, int] | None = None, ms: list[float] | None = None, **more: Any) -> dict[str, Any]:
    timings = {"controller-elected": [{"ms": ms, "bound_ms": [9000.0], "load": "quiet"}]} if ms else {}
    return {
        "runs": 3,
        "good": good,
        "seen": seen or {},
        "timings": timings,
        "clients": {},
        "not_good": [f"run-{number}: lost: unexpected" for number in range(3 - good)],
    } | more


def compared(old: dict[str, Any] | None, new: dict[str, Any] | None, **more: Any) -> ComparedReleases:
    cells = {name: found for name, found in (("4.3.1", old), ("4.4.0", new)) if found}
    nothing: Any = {"broker": ({}, {}), "topic": ({}, {}), "java-producer": ({}, {})}
    values: dict[str, Any] = {
        "release": "4.4.0",
        "before": "4.3.1",
        "versions": (("4.3.1", "4.4.0"),),
        "made": "2026-11-23, on 2 cores",
        "settings": nothing,
        "jars": ({}, {}),
        "data": {"baseline": {"cases": {"default": cells}}},
        "cells": (("baseline", "default", "4.3.1"), ("baseline", "default", "4.4.0")),
    }
    return ComparedReleases(**values | more)


def test_settings_that_came_went_and_changed() -> None:
    before: Keys = {
        "a": {"default": "1", "type": "int"},
        "b": {"default": None},
        "c": {"default": "x"},
        "e": {"default": ""},
    }
    after: Keys = {
        "a": {"default": "2", "type": "long"},
        "c": {"default": "x"},
        "d": {"default": "3"},
        "e": {"default": None},
    }
    assert list(changed_settings(before, after)) == [
        "new: `d` (default 3)",
        "gone: `b` (had no default)",
        "`a`: default 1 → 2, type int → long",
        "`e`: default empty → none",
    ]


def test_libraries_are_told_and_kafkas_own_jars_are_not() -> None:
    assert list(changed_jars({"g:a": "1", "g:b": "1"}, {"g:b": "1", "g:c": "2", "org.apache.kafka:k": "3"})) == [
        "gone: g:a 1",
        "new: g:c 2",
    ]


def test_runs_that_ended_alike_differ_in_nothing() -> None:
    told = page(compared(cell(3), cell(3)))
    assert "Every run ended as documented, on both releases." in told
    assert "| baseline |  | 3 of 3 | 3 of 3 |  |" in told
    assert "On 4.4.0 3 of 3 runs ended as documented; 0 settings came, went or changed." in told
    assert "No setting came or went" in told


def test_a_run_that_did_not_is_told_and_marked() -> None:
    told = page(compared(cell(3), cell(2, {"lost-write": 1})))
    assert "- baseline on 4.4.0: lost: unexpected" in told
    assert "| baseline |  | 3 of 3 | 2 of 3 (lost-write 1) | yes |" in told


def test_the_same_anomaly_in_other_numbers_is_no_difference() -> None:
    told = page(compared(cell(3, {"duplicate": 1}), cell(3, {"duplicate": 3})))
    assert "| 3 of 3 (duplicate 1) | 3 of 3 (duplicate 3) |  |" in told


def test_times_whose_ranges_do_not_meet_are_marked() -> None:
    apart = page(compared(cell(3, ms=[3, 1000.0, 1500.0, 2000.0]), cell(3, ms=[3, 2001.0, 2500.0, 3000.0])))
    assert f"| 1.00 / 1.50 / 2.00 | 2.00 / 2.50 / 3.00 | {APART} |" in apart
    meet = page(compared(cell(3, ms=[3, 1000.0, 1500.0, 2000.0]), cell(3, ms=[3, 2000.0, 2500.0, 3000.0])))
    assert f"| {APART} |" not in meet


def test_single_runs_are_no_ranges() -> None:
    told = page(compared(cell(3, ms=[1, 1000.0, 1000.0, 1000.0]), cell(3, ms=[3, 2001.0, 2500.0, 3000.0])))
    assert f"| {APART} |" not in told


def test_a_release_without_tools_says_so_before_their_libraries_are_told_as_gone() -> None:
    (first, *_) = changed_jars({"org.apache.kafka:kafka-tools": "1", "g:a": "1"}, {})
    assert first.startswith("this release was resolved without Kafka's tools")


def test_what_was_not_run_is_named_and_is_no_difference() -> None:
    told = page(compared(cell(3), None))
    assert "there was no time: baseline on 4.4.0." in told
    assert "| baseline |  | 3 of 3 | – |  |" in told
