"""What a newcomer reads names every word that a scenario has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "writing-a-scenario.md"
INNER = {"account", "admin", "clients", "cluster", "nemesis", "observer", "timeline", "topics"}
"""Of a run and not words of its scenario."""


def words() -> set[str]:
    """The public methods of `Run`, and what its constructor takes over from the nouns."""
    tree = ast.parse((ROOT / "harness" / "run" / "__init__.py").read_text())
    run = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Run")
    own = {node.name for node in run.body if isinstance(node, ast.FunctionDef)}
    taken = {node.attr for node in ast.walk(run) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    return {name for name in own | taken if not name.startswith("_")} - INNER


def test_the_page_on_scenarios_has_every_word_of_a_run() -> None:
    page = PAGE.read_text()
    named = {name for name in words() if re.search(rf"`(run\.)?{name}\b", page)}
    assert {"send", "kill", "wait_isr", "case"} <= named
    assert words() - named == set()
