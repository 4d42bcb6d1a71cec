"""docs/ledger.md has the lines of the ledger as their types have them."""

from __future__ import annotations

from pathlib import Path

from pages import ledger

TEXT = (Path(__file__).parents[3] / ledger.PAGE).read_text(encoding="utf-8")


def test_the_tables_are_what_the_types_say() -> None:
    assert ledger.renewed(TEXT) == TEXT, "`make docs` writes them anew"
    assert "| `modified` | `bool` | Whether the tree of that commit had changes. |" in TEXT
