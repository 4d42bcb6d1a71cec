"""A night begins with what is least known, and parts of it are the whole."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from datetime import date
from pathlib import Path

import pytest

from app import changed_code, plan
from app.cli import main
from app.matrix import MatrixCell
from app.options import shard
from app.plan import KnownCell
from evidence.ledger import AnyLine, Excluded, RunStarted, blob
from harness.scenario import get_scenario
from tests.ledgers import judged, restored, restored_cell, started


def cell(scenario: str, seed: int = 1) -> MatrixCell:
    return MatrixCell(scenario=scenario, version="4.3.1", seed=seed)


def test_what_is_least_known_comes_first() -> None:
    there = {
        ("old", "default", "4.3.1"): KnownCell(at="2026-01", good=True, seconds=9.0),
        ("new", "default", "4.3.1"): KnownCell(at="2026-03", good=True),
        ("bad", "default", "4.3.1"): KnownCell(at="2026-04", good=False),
        ("edited", "default", "4.3.1"): KnownCell(at="2026-05", good=True, changed=True),
        ("never", "default", "4.2.0"): KnownCell(at="2026-05", good=True, seconds=50.0),
    }
    wanted = [cell(name) for name in ("new", "edited", "old", "bad", "never")]
    runs = plan.planned([*wanted, cell("never", 2)], there)
    assert [(one.cell.scenario, one.cell.seed) for one in runs] == [
        ("never", 1),
        ("bad", 1),
        ("edited", 1),
        ("old", 1),
        ("new", 1),
        ("never", 2),
    ]
    assert [one.seconds for one in runs[:4]] == [50.0, plan.SECONDS, plan.SECONDS, 9.0]
    assert plan.in_words(runs) == (
        "2 never run, 1 not good last time, 1 of code that was changed, 2 run before; 0.1 h of runs"
    )


def test_the_last_run_that_counts_tells() -> None:
    lines: list[AnyLine] = [
        started("r1", at="2026-01", code="x"),
        judged("r1", "unexpected", seconds=30.0),
        started("r2", at="2026-02", code="y"),
        judged("r2", seconds=40.0),
        started("r3", at="2026-03", mutant="m"),
        judged("r3", "unexpected"),
        started("r4", at="2026-04"),
        judged("r4", "unknown"),
        Excluded(schema=1, run="r4", at="x", why="w"),
        started("r5", at="2026-05"),
        restored("r6", "unexpected", at="2025-01", version="4.2.0"),
        restored_cell(3, 3, at="2024-01", version="4.1.0", unnamed=3),
        restored_cell(3, 3, at="2024-01"),
    ]
    asked: list[str] = []

    def changed(runs: Collection[RunStarted]) -> list[str]:
        asked.extend(run.run for run in runs)
        return ["r2"]

    assert plan.known(lines, changed) == {
        ("s", "default", "4.3.1"): KnownCell(at="2026-02", good=True, changed=True, seconds=35.0),
        ("s", "default", "4.2.0"): KnownCell(at="2025-01", good=False),
        ("s", "default", "4.1.0"): KnownCell(at="2024-01", good=True),
    }
    assert asked == ["r2"]


def test_the_history_of_the_code_tells_whether_a_run_is_of_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    here, text = get_scenario("leader-crash").path, "scenario"
    runs = [
        started("same", scenario="leader-crash", commit="a"),
        started("other", scenario="leader-crash", commit="b", code=blob(Path(here).read_bytes())),
        started("not-here", scenario="leader-crash", commit="c", code=text),
        started("modified", scenario="leader-crash", commit="b", modified=True, code=blob(Path(here).read_bytes())),
        started("gone", scenario="nobody-knows-it", commit="a", code=text),
    ]
    history = {("a", "leader-crash"): False, ("b", "leader-crash"): True}
    monkeypatch.setattr(changed_code, "changed", lambda asked: {one: history[one] for one in asked if one in history})
    assert plan.code_changed(runs) == {"other", "not-here"}


def test_parts_are_the_whole_and_take_as_long() -> None:
    runs = plan.planned(
        [cell(f"s{number}") for number in range(40)],
        {
            (f"s{number}", "default", "4.3.1"): KnownCell(at="x", good=True, seconds=20.0 + number % 7)
            for number in range(40)
        },
    )
    parts = [plan.part(runs, number, 3) for number in (1, 2, 3)]
    assert sorted(str(one.cell) for each in parts for one in each) == sorted(str(one.cell) for one in runs)
    loads = [sum(one.seconds for one in each) for each in parts]
    assert max(loads) - min(loads) <= 26.0
    assert plan.part(runs, 1, 1) == runs


def test_coverage_is_of_what_can_be_run() -> None:
    there = {
        ("a", "default", "4.3.1"): KnownCell(at="2026-11-23T10:00", good=True, changed=True),
        ("b", "default", "4.3.1"): KnownCell(at="2026-11-01T10:00", good=False, changed=True),
        ("gone", "default", "4.3.1"): KnownCell(at="2020-11-01T10:00", good=True),
    }
    wanted = [cell("a"), cell("a", 2), cell("b"), cell("c"), MatrixCell(scenario="a", version="4.2.0", seed=1)]
    counted = {("a", "default", "4.3.1"): 5, ("b", "default", "4.3.1"): 4}
    first, second = plan.coverage(wanted, there, date(2026, 11, 24), counted=counted)
    assert (first.version, first.cells, first.run, first.within, first.oldest) == ("4.3.1", 3, 2, (1, 2), "2026-11-01")
    assert (first.five, first.changed) == (1, 1)
    assert (second.version, second.cells, second.run, second.oldest) == ("4.2.0", 1, 0, "")


def test_the_coverage_of_the_ledger_is_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "coverage", "--json", "--results", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"4.3.1", "0.8.2.2"} <= {row["version"] for row in rows}
    assert all(row["run"] == 0 < row["cells"] for row in rows)
    assert main(["ledger", "coverage", "--results", str(tmp_path)]) == 0
    assert "in all" in capsys.readouterr().out


def test_the_committed_page_of_coverage_is_that_of_the_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    """`make docs` writes it."""
    assert main(["ledger", "coverage", "--markdown"]) == 0
    assert capsys.readouterr().out == (Path(__file__).parents[3] / "docs" / "coverage.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["3", "0/2", "3/2", "a/b", "1/0"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="such as 3/8"):
        shard(text)
    assert shard("3/8") == (3, 8)


def test_a_part_is_of_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--scenarios", "baseline", "--versions", "4.3.1", "--shard", "1/2"]) == 254
    assert "--shard is a part of a plan: add --plan" in capsys.readouterr().err
