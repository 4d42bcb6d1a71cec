"""Bisection: which releases are between two, what decides one, and where the border is; runs are simulated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app import bisect, symptoms
from app.commands.bisect import as_text, in_order
from app.matrix import MatrixCell
from evidence.errors import UsageError
from evidence.rundir import RunDir
from harness.cluster import versions
from harness.scenario import get_scenario

KNOWN = ("2.7.0", "2.8.0", "2.8.1", "2.8.2", "3.0.0", "3.0.1", "3.0.2", "3.1.0", "3.1.1", "3.3.0", "3.3.1")


def ids(found: Any) -> list[str]:
    return [version.id for version in found]


def test_between_two_is_what_the_newer_one_descends_from() -> None:
    found = bisect.path(versions.get("2.8.1"), versions.get("3.1.1"), KNOWN)
    assert ids(found) == ["3.0.0", "3.1.0", "3.1.1"]
    beside = bisect.others(versions.get("2.8.1"), versions.get("3.1.1"), KNOWN, found)
    assert ids(beside) == ["2.8.2", "3.0.1", "3.0.2"]


def test_within_a_line_every_release_is_between() -> None:
    assert ids(bisect.path(versions.get("3.0.0"), versions.get("3.0.2"), KNOWN)) == ["3.0.1", "3.0.2"]


def test_the_way_to_run_is_that_of_the_ends() -> None:
    found = bisect.path(versions.get("3.0.0"), versions.get("3.3.1-zk"), KNOWN)
    assert ids(found) == ["3.1.0", "3.3.0-zk", "3.3.1-zk"]
    with pytest.raises(UsageError, match="not run in the same way"):
        bisect.path(versions.get("3.0.0"), versions.get("3.3.1-kraft"), KNOWN)


@pytest.mark.parametrize(("good", "bad", "fix"), [("3.1.0", "2.8.1", False), ("2.8.1", "3.1.0", True)])
def test_ends_the_wrong_way_round_are_refused(good: str, bad: str, fix: bool) -> None:
    with pytest.raises(UsageError, match="--fix"):
        in_order(versions.get(good), versions.get(bad), fix=fix)
    assert ids(in_order(versions.get(good), versions.get(bad), fix=not fix)) == ["2.8.1", "3.1.0"]


def test_one_release_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="one release"):
        in_order(versions.get("2.8.1"), versions.get("2.8.1"), fix=False)


Shows = Callable[[str, int], tuple[tuple[str, ...], bool]]
"""By version and seed: the anomalies that a run has, and whether it is sound."""


@pytest.fixture
def bisection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bisect.Bisection]:
    monkeypatch.setattr(bisect.Bisection, "_image", lambda self, version: None)

    def make(older: str, newer: str, shows: Shows, **more: Any) -> bisect.Bisection:
        by_path: dict[Path, Any] = {}

        def run(cell: MatrixCell) -> RunDir:
            seen, sound = shows(cell.version, cell.seed)
            run_dir = RunDir(tmp_path / f"{cell.version}-{cell.seed}")
            by_path[run_dir.path] = SimpleNamespace(seen=seen, sound=sound)
            return run_dir

        monkeypatch.setattr(bisect, "read_verdict", lambda run_dir: by_path[run_dir.path])
        return bisect.Bisection(
            scenario=get_scenario("baseline"),
            case="default",
            older=versions.get(older),
            newer=versions.get(newer),
            fix=more.pop("fix", False),
            rate=more.pop("rate", 0.95),
            root=tmp_path,
            seed=1,
            run=run,
            echo=lambda line: None,
            known=KNOWN,
            **more,
        )

    return make


def test_the_first_release_with_the_symptom_is_found(bisection: Callable[..., bisect.Bisection]) -> None:
    having = {"3.1.0", "3.1.1"}
    made = bisection("2.8.0", "3.1.1", lambda version, seed: (("duplicate",) if version in having else (), True))
    made.ends()
    assert made.symptom == ("duplicate",)
    border = made.border()
    assert (border.last.id, border.first.id, border.base) == ("3.0.0", "3.1.0", None)
    assert made.tested["3.0.0"].sound == 2
    assert "3.0.1" not in made.tested


def test_the_first_release_without_it_is_found(bisection: Callable[..., bisect.Bisection]) -> None:
    having = {"3.0.0"}
    made = bisection("3.0.0", "3.0.2", lambda v, seed: (("duplicate",) if v in having else (), True), fix=True)
    made.ends()
    assert made.border().first.id == "3.0.1"


def test_a_change_of_the_branch_alone_is_told(bisection: Callable[..., bisect.Bisection]) -> None:
    # 2.8.0 and the development branch have it, and 2.8.1 mended it for itself.
    made = bisection("2.8.1", "3.1.0", lambda version, seed: (("x",) if version != "2.8.1" else (), True), named=("x",))
    made.ends()
    border = made.border()
    assert border.first.id == "3.0.0"
    assert border.only_the_branch


def test_a_time_is_a_symptom_and_what_is_not_measured_decides_nothing(
    bisection: Callable[..., bisect.Bisection], monkeypatch: pytest.MonkeyPatch
) -> None:
    late = symptoms.longer("write_pause_ms=6")

    def shown(wanted: Any, run_dir: RunDir) -> dict[str, bool | None]:
        version = run_dir.path.name.rpartition("-")[0]
        return {one.name: None if version == "3.0.0" else version in ("3.1.0", "3.1.1") for one in wanted}

    monkeypatch.setattr("app.bisect.symptoms.shown", shown)
    made = bisection("2.8.0", "3.1.1", lambda version, seed: ((), True), named=(late.name,), beside=(late,))
    made.ends()
    assert made.symptom == ("write_pause_ms over 6 s",)
    border = made.border()
    assert (ids(border.unsure), border.first.id) == (["3.0.0"], "3.1.0")


def test_ends_that_do_not_differ_are_refused_in_a_line(bisection: Callable[..., bisect.Bisection]) -> None:
    made = bisection("2.8.0", "3.1.1", lambda version, seed: (("duplicate",), True))
    with pytest.raises(UsageError, match="do not differ") as refused:
        made.ends()
    assert "\n" not in str(refused.value)


def test_runs_that_prove_nothing_decide_nothing(bisection: Callable[..., bisect.Bisection]) -> None:
    def shows(version: str, seed: int) -> tuple[tuple[str, ...], bool]:
        return (("duplicate",) if version in ("3.1.0", "3.1.1") else (), version != "3.0.0")

    made = bisection("2.8.0", "3.1.1", shows)
    made.ends()
    border = made.border()
    assert ids(border.unsure) == ["3.0.0"]
    assert border.first.id == "3.1.0"
    assert made.tested["3.0.0"].cannot


def test_a_symptom_that_shows_seldom_takes_more_runs(bisection: Callable[..., bisect.Bisection]) -> None:
    def shows(version: str, seed: int) -> tuple[tuple[str, ...], bool]:
        return (("duplicate",) if version != "2.8.0" and seed % 3 == 0 else (), True)

    made = bisection("2.8.0", "3.1.1", shows, rate=0.3)
    made.ends()
    assert made.border().first.id == "3.0.0"
    assert made.tested["2.8.0"].sound == 14


def test_what_was_found_is_kept_and_told(bisection: Callable[..., bisect.Bisection], tmp_path: Path) -> None:
    made = bisection("3.0.0", "3.0.2", lambda v, seed: (("duplicate",) if v != "3.0.0" else (), True))
    made.made = {"an image"}
    made.ends()
    kept = json.loads((tmp_path / bisect.STATE).read_text())
    assert kept["images"] == ["an image"]
    assert kept["symptom"] == ["duplicate"]
    found = {
        "scenario": "baseline",
        "good": "3.0.0",
        "bad": "3.0.2",
        "fix": False,
        "symptom": ["duplicate"],
        "rate": 0.95,
        "last": "3.0.0",
        "first": "3.0.1",
        "unsure": [],
        "only_the_branch": False,
        "tested": kept["tested"],
        "beside": [],
        "museum": [],
        "changes": {"cannot": ["the release notes"]},
    }
    text = "\n".join(as_text(found))
    assert "first bad release: 3.0.1, with duplicate" in text
    assert "0 of 2 runs had it" in text
    assert "the release notes" in text
