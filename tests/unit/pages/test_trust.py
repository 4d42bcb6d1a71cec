"""docs/trust.md: its figures are those of the data, and there are no others."""

from __future__ import annotations

import re
from pathlib import Path

import results
from pages import trust

TEXT = (Path(__file__).parents[3] / trust.PAGE).read_text(encoding="utf-8")


def test_figures_are_those_of_the_data() -> None:
    """`make docs` writes them."""
    assert trust.renewed(TEXT, results.by_scenario()) == TEXT
    assert "99 runs were published" in trust.renewed(TEXT, {"s": {"cases": {"default": {"v": cell(99)}}}})


def test_no_figure_is_written_by_hand() -> None:
    assert re.findall(r"\d+", trust.FIGURES.sub("", TEXT)) == []


def cell(restored: int) -> dict[str, int]:
    return {"restored": restored, "unnamed": 0}
