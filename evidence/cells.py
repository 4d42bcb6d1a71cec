"""What the runs of one scenario and case on one version showed together: the rows of every table of runs.

A row is made of the ledger's lines alone (`analysis.ledger`), committed as results/cells.jsonl, and read by pages and
commands that have neither Java nor Spark. docs/ledger.md says what counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Final

from msgspec import Struct

Spread = tuple[float, ...]
"""How many values, the least, the median and the most; () of none."""

NOT_TOLD: Final = "not told"
"""The verdict of a run that was published in counts which do not tell it, or that measured a cell of the audit."""


class Timing(Struct, frozen=True, kw_only=True):
    """How long something took in several runs."""

    ms: Spread
    bound_ms: tuple[float, ...] = ()
    """The least and the greatest bound that the settings of the runs gave."""
    load: str
    """QUIET, BUSY or UNTOLD (analysis.ledger): how busy the machine was."""


class Pacing(Struct, frozen=True, kw_only=True):
    """How long applications took that were left alone, in several runs (evidence/findings.py, Pace)."""

    latency_p50_ms: Spread
    latency_p99_ms: Spread
    inputs_per_s: Spread
    load: str
    """QUIET, BUSY or UNTOLD (analysis.ledger): how busy the machine was."""


class Aside(Struct, frozen=True, kw_only=True):
    """A run that does not count, and why."""

    run: str = ""
    """"" of runs without names."""
    runs: int = 1
    why: str


class CellRow(Struct, frozen=True, kw_only=True):
    """A cell."""

    scenario: str
    case: str
    version: str
    runs: int
    """Those that count."""
    good: int
    """Of these, how many ended as documented."""
    verdicts: Mapping[str, int] = {}
    lost: int = 0
    """Runs that lost acknowledged records."""
    lost_records: tuple[int, int] | None = None
    """The least and the most in a run."""
    acknowledged: tuple[int, int] | None = None
    seen: Mapping[str, int] = {}
    """Anomalies, each with the number of runs that had it; of restored runs at least so many."""
    permitted: Mapping[str, int] = {}
    """Of these, runs in which the clients' settings permitted it; runs before the ledger do not tell."""
    claims: Mapping[str, Mapping[str, int]] = {}
    """Claims, with the number of runs for each outcome."""
    timings: Mapping[str, tuple[Timing, ...]] = {}
    clients: Mapping[str, Spread] = {}
    """What clients saw, of the worst partition of each run: write_pause_ms, read_pause_ms, first_success_ms, errors.
    Times of machines that were busy are left out."""
    seconds: float | None = None
    """The median time to a verdict."""
    ack_ms: float | None = None
    paces: tuple[Pacing, ...] = ()
    """By how busy the machine was."""
    not_good: tuple[str, ...] = ()
    """"NAME: what", of every run that did not end as documented and has a name."""
    aside: tuple[Aside, ...] = ()
    """Runs that were started and do not count."""
    restored: int = 0
    """How many of the runs were restored from what was published of them."""
    unnamed: int = 0
    """Of these, how many have no name."""
    days: tuple[str, ...] = ()
    """The first and the last."""
    commits: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    """The names of the runs that count."""


def spread(values: Iterable[float]) -> Spread:
    """How many values there are, the least, the median and the most of them.

    >>> spread([3.0, 1.0, 2.0]), spread([])
    ((3.0, 1.0, 2.0, 3.0), ())
    """
    known = sorted(values)
    return (float(len(known)), known[0], round(median(known), 1), known[-1]) if known else ()


def pooled(spreads: Iterable[Spread]) -> Spread:
    """Several spreads as one, whose median is that of the spread with the most values: the others' are not known.

    >>> pooled([(1, 4.0, 4.0, 4.0), (5, 1.0, 2.0, 3.0), ()])
    (6, 1.0, 2.0, 4.0)
    """
    known = [one for one in spreads if one]
    if not known:
        return ()
    largest = max(known, key=lambda one: one[0])
    return (sum(one[0] for one in known), min(one[1] for one in known), largest[2], max(one[3] for one in known))
