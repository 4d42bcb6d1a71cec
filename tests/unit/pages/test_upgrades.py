"""docs/upgrades.md: its table is that of the data, and its pauses are those of the ledger."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import results
from pages import upgrades

TEXT = (Path(__file__).parents[3] / upgrades.PAGE).read_text(encoding="utf-8")


def test_the_table_is_that_of_the_data() -> None:
    """`make docs` writes it."""
    assert upgrades.renewed(TEXT, results.by_scenario()) == TEXT
    cell = {"runs": 3, "good": 1, "lost": 0, "verdicts": {"as-documented": 1, "unexpected": 1, "error": 1}}
    made = upgrades.renewed(
        TEXT, {"upgrade-rolling": {"cases": {"plain": {"4.0.2": cell, "4.3.1": cell | {"runs": 0}}}}}
    )
    row = "| `upgrade-rolling` | `plain` | 4.0.2 → 4.3.1 | 1 of 3 | 0 of 2 | 1 error, 1 unexpected |"
    assert [line for line in made.splitlines() if line.startswith("| `upgrade-")] == [row]


def test_the_pauses_of_a_migration_are_those_of_its_runs() -> None:
    lines: dict[str, dict[str, Any]] = {}
    ledger = results.ROOT / results.LEDGER / "migration-to-kraft.jsonl"
    for line in map(json.loads, ledger.read_text(encoding="utf-8").splitlines()):
        lines.setdefault(line["run"], {})[line["kind"]] = line
    counted = [one for one in lines.values() if "judged" in one and not one["started"].get("modified")]
    paused_s: dict[str, float] = {}
    for one in counted:
        case = one["started"]["case"]
        paused_s[case] = max(paused_s.get(case, 0), round(one["judged"]["write_pause_ms"] / 1000, 1))
    told = re.search(
        r"paused for ([\d.]+) s when the leader died.* for ([\d.]+) s when ZooKeeper died, and for at most ([\d.]+) s",
        " ".join(TEXT.split()),
    )
    assert told is not None
    dead = [paused_s.pop("leader-dies"), paused_s.pop("zookeeper-dies")]
    assert [float(each) for each in told.groups()] == [*dead, max(paused_s.values())]
