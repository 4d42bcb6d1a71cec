"""How long things took, over many runs: for each claim that is a duration, its spread beside the documented bound.

A run measures a claim once or more and its verdict has the measurement that came nearest to its bound. Here those of
the runs of one scenario, case and version are put together; none is left out, those over their bound included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final

from evidence.findings import ClaimResult

HEADINGS: Final = ("claim", "case", "version", "runs", "min", "median", "max", "bound")


def spread(values: Iterable[float]) -> list[float]:
    """How many values there are, the least, the median and the greatest of them; [] of none.

    >>> spread([3.0, 1.0, 2.0])
    [3, 1.0, 2.0, 3.0]
    """
    known = sorted(values)
    return [len(known), known[0], round(median(known), 1), known[-1]] if known else []


def of_claims(judged: Iterable[ClaimResult]) -> dict[str, dict[str, list[float]]]:
    """By claim, of what verdicts say of claims: the spread of what was measured (`ms`) and the bounds (`bound_ms`: the
    least and the greatest, for a bound may depend on who plays which role).
    """
    found: dict[str, list[ClaimResult]] = {}
    for one in judged:
        if one.measured_ms is not None:
            found.setdefault(one.name, []).append(one)
    return {
        name: {"ms": spread(one.measured_ms for one in ones if one.measured_ms is not None), "bound_ms": _bounds(ones)}
        for name, ones in sorted(found.items())
    }


def _bounds(ones: Sequence[ClaimResult]) -> list[float]:
    known = [one.bound_ms for one in ones if one.bound_ms is not None]
    return [min(known), max(known)] if known else []


def row(name: str, case: str, version: str, timing: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """The columns of a table of durations, in seconds."""
    number, *figures = timing["ms"]
    bounds = [f"{bound / 1000:.1f} s" for bound in dict.fromkeys(timing["bound_ms"])]
    return (name, case, version, f"{number:.0f}", *(f"{ms / 1000:.2f} s" for ms in figures), " to ".join(bounds))
