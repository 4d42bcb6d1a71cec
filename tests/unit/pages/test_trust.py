"""docs/trust.md: its figures are those of the data, and there are no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import results
from pages import trust
from results import explained

TEXT = (Path(__file__).parents[3] / trust.PAGE).read_text(encoding="utf-8")


def test_figures_are_those_of_the_data() -> None:
    """`make docs` writes them."""
    assert trust.renewed(TEXT, results.by_scenario(), trust.in_ledger()) == TEXT
    told = trust.renewed(TEXT, {"s": {"cases": {"default": {"v": cell(99)}}}}, {"quiet": 2, "busy": 5})
    assert "99 runs count, and 99 runs of them were published" in told
    assert "2 runs of the 7 runs with lines of their own had a [quiet machine]" in " ".join(told.split())


def test_a_run_that_is_known_by_a_count_alone_is_counted() -> None:
    bad = sum(len(one.runs) for one in explained.entries()) + 2
    data = {"s": {"cases": {"default": {"v": cell(99) | {"verdicts": {"as-documented": 5, "unexpected": bad}}}}}}
    told = " ".join(trust.renewed(TEXT, data, {}).split())
    assert f"{bad} runs that count did not end as documented. 2 runs of them are known by a count alone." in told


def test_no_figure_is_written_by_hand() -> None:
    """Those of the incidents are held by tests/unit/app/test_incident.py."""
    before, _, incidents = trust.FIGURES.sub("", TEXT).partition("## How often `kafka-chaos incident` is right")
    assert re.findall(r"\d+", before + incidents.partition("\n## ")[2]) == []


def cell(restored: int) -> dict[str, Any]:
    return {"runs": restored, "restored": restored, "unnamed": 0}


def test_nine_whole_runs_are_kept() -> None:
    assert "Nine whole runs: `tests/data/runs/`" in TEXT
    kept = Path(__file__).parents[3] / "tests" / "data" / "runs"
    assert len(list(kept.glob("*.tar.xz"))) == 9


def test_nearly_half_of_the_runs_that_count_are_restored_as_the_readme_says() -> None:
    cells = [
        cell for one in results.by_scenario().values() for of_case in one["cases"].values() for cell in of_case.values()
    ]
    share = sum(cell["restored"] for cell in cells) / sum(cell["runs"] for cell in cells)
    assert 0.4 < share < 0.5
    readme = " ".join((Path(__file__).parents[3] / "README.md").read_text().split())
    assert "Nearly half of the runs that count are older: only counts were kept" in readme
