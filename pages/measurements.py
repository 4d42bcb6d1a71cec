"""How long things took, and what clients saw, by case and version: the figures of cells as lines of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from evidence.run import DEFAULT_CASE
from judgement.report import timings as measured
from judgement.report.cells import version_key
from results import Value

MACHINES: Final = {"quiet": "quiet", "busy": "busy", "not told": "not on record"}
"""How tables name the load of a machine (analysis.ledger)."""
TIMINGS: Final = (*measured.HEADINGS[:3], "machine", *measured.HEADINGS[3:])
"""Headings of the table of durations."""
CLIENTS: Final = {
    "write_pause_ms": "longest pause of writes",
    "read_pause_ms": "longest pause of reads",
    "first_success_ms": "first success after a fault",
    "errors": "errors",
}
"""What clients saw, by the field of a cell: its heading."""


def has_cases(one: Value) -> bool:
    """Whether a scenario declares cases; one that does not has one called "default"."""
    return [case["name"] for case in one["cases"]] != [DEFAULT_CASE]


def cells(one: Value, data: Value) -> Iterator[tuple[str, str, Value]]:
    """Case ("–" where a scenario has no cases), version and what runs showed there, in the order of the scenario's
    cases; of former cases nothing.
    """
    for case in one["cases"]:
        of_case, name = data["cases"].get(case["name"], {}), case["name"] if has_cases(one) else "–"
        for version in sorted(of_case, key=version_key):
            yield name, version, of_case[version]


def spread(figures: Sequence[float] | None, key: str) -> str:
    """The least, the median and the greatest of a cell's measurements of what clients saw.

    >>> spread([5, 230.0, 400.0, 1900.0], "write_pause_ms"), spread(None, "errors")
    ('0.23 / 0.40 / 1.90 s', '–')
    """
    if not figures:
        return "–"
    _, *values = figures
    shown = [f"{value / 1000:.2f}" if key.endswith("_ms") else f"{value:.0f}" for value in values]
    return " / ".join(shown) + (" s" if key.endswith("_ms") else "")


def timings(found: Iterable[tuple[str, str, Value]]) -> list[tuple[str, ...]]:
    """A row for each duration, case and version, and each kind of machine that it was measured on."""
    rows = [
        (f"`{name}`", case, version, MACHINES[timing["load"]], *measured.row(name, case, version, timing)[3:])
        for case, version, cell in found
        for name, of_load in cell["timings"].items()
        for timing in of_load
    ]
    return sorted(rows, key=lambda row: row[0])
