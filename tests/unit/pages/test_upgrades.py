"""docs/upgrades.md: its table is that of the data, and its pauses are those of the ledger."""

from __future__ import annotations

from pathlib import Path

import results
from evidence.ledger import AnyLine
from pages import upgrades
from tests.ledgers import judged, started

TEXT = (Path(__file__).parents[3] / upgrades.PAGE).read_text(encoding="utf-8")


def test_the_table_is_that_of_the_data() -> None:
    """`make docs` writes it."""
    assert upgrades.renewed(TEXT, results.by_scenario(), upgrades.of_ledger()) == TEXT
    cell = {"runs": 3, "good": 1, "lost": 0, "verdicts": {"as-documented": 1, "unexpected": 1, "error": 1}}
    cells = {"4.0.2": cell, "4.0.2-to-4.4.0": cell, "4.3.1": cell | {"runs": 0}}
    made = upgrades.renewed(TEXT, {"upgrade-rolling": {"cases": {"plain": cells}}})
    told = "1 of 3 | 0 of 2 | 1 error, 1 unexpected |"
    assert [line for line in made.splitlines() if line.startswith("| `upgrade-")] == [
        f"| `upgrade-rolling` | `plain` | 4.0.2 → 4.3.1 | {told}",
        f"| `upgrade-rolling` | `plain` | 4.0.2 → 4.4.0 | {told}",
    ]


def told(run: str, case: str, pause_ms: float, *, lost: int = 0, modified: bool = False) -> list[AnyLine]:
    begun = started(run, scenario=upgrades.MIGRATION, case=case, version="3.9.2-zk", modified=modified)
    return [begun, judged(run, write_pause_ms=pause_ms, lost=lost)]


def test_the_pauses_of_a_migration_are_the_longest_of_its_runs() -> None:
    lines = [
        *told("r1", "leader-dies", 3981.0),
        *told("r2", "leader-dies", 5379.5),
        *told("r3", "zookeeper-dies", 20181.7),
        *told("r4", "plain", 1719.8),
        *told("r5", "plain", 90000.0, lost=7, modified=True),
    ]
    text = " ".join(upgrades.pauses(lines).split())
    assert text.startswith("4 runs on 3.9.2 lost no acknowledged records.")
    assert "at most 5.4 s when the leader died (a session is 4 s), for at most 20.2 s when ZooKeeper died" in text
    assert "and for at most 1.7 s otherwise" in text
    assert "lost 2 acknowledged" in upgrades.pauses([*lines, *told("r6", "plain", 1.0, lost=2)])
