"""How often what may be seen was seen: an allowance without a rate says nothing, for it cannot fail.

Counts are those of the ledger (results/cells.jsonl), with an interval. They stand wherever it is said what may be seen:
in `kafka-chaos list`, on a scenario's page and in the report of a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

import results
from evidence.cells import NOT_TOLD
from evidence.text import plural
from judgement import sampling
from judgement.verdict import ERROR, UNKNOWN
from results import Value

NOTHING_SHOWN: Final = {UNKNOWN: "unknown", ERROR: "error", NOT_TOLD: "verdict not on record"}
"""Verdicts that say nothing about Kafka, and how tables name them."""


def telling(cell: Value) -> int:
    """How many runs of a cell say something about Kafka."""
    nothing: int = sum(cell["verdicts"].get(name, 0) for name in NOTHING_SHOWN)
    return int(cell["runs"]) - nothing


def rate(name: str, cells: Iterable[Value]) -> str:
    """How often an anomaly was seen in the runs of some cells that say something, and what share that leaves possible.

    >>> thirteen = {"runs": 13, "verdicts": {"as-documented": 13}, "seen": {"lost-write": 2}}
    >>> rate("lost-write", [thirteen]), rate("duplicate", [thirteen]), rate("duplicate", [])
    ('lost-write in 2 of 13 runs (1 to 46 %)', 'duplicate in 0 of 13 runs (at most 21 %)', 'duplicate, never run')
    """
    counted = [(max(telling(cell), cell["seen"].get(name, 0)), cell["seen"].get(name, 0)) for cell in cells]
    runs, times = sum(ran for ran, _ in counted), sum(seen for _, seen in counted)
    if not runs:
        return f"{name}, never run"
    return f"{name} in {times} of {plural(runs, 'run')} ({sampling.between(times, runs)})"


def on_record(scenario: str, case: str, version: str, names: Iterable[str]) -> str:
    """The rates of some anomalies in the runs of a cell that are on record."""
    cells = [cell] if (cell := _cells().get((scenario, case, version))) is not None else []
    return ", ".join(rate(name, cells) for name in names)


@cache
def _cells() -> Mapping[tuple[str, str, str], Value]:
    path = results.ROOT / results.CELLS
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return {(row["scenario"], row["case"], row["version"]): row for row in rows}
