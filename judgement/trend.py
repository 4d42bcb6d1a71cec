"""How cells and durations went over time: by nights, releases or commits. From the table of all nights, and drawn only.

Whether something changed is not decided here: `judgement.comparison` tests two samples of runs, with its chance of
error. Here everybody sees what each cell and each duration was, one period beside the other.

A night begins and ends at noon (UTC) and has the date of its end, so that it is not cut in two at midnight. Commits
stand in the order in which their first runs began. Runs whose outcome is the user's own, and those of brokers that were
changed on purpose, are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Final, Literal, get_args

from evidence.releases import numbers
from evidence.run import full_name
from judgement.verdict import AS_DOCUMENTED, NOT_REPRODUCED, UNEXPECTED

By = Literal["night", "release", "commit"]
BYS: Final = get_args(By)
COMMIT: Final = 10
"""Letters of a commit's name that are shown."""
UNNAMED: Final = "no commit"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """A row of the table of all nights: one thing that a run showed (docs/nights.md)."""

    run: str
    at: datetime
    scenario: str
    case: str
    version: str
    commit: str | None
    modified: bool
    what: str
    name: str
    outcome: str
    number: float | None
    load: str = ""


@dataclass(frozen=True, slots=True, order=True)
class TrendSubject:
    """What a line of the picture is of: a cell, or a duration in it. By releases a cell has no version."""

    scenario: str
    case: str
    version: str
    name: str = ""
    """Of the duration: a claim's, or of a time that every run has; "" of the cell."""

    @property
    def cell(self) -> str:
        """The cell in words."""
        where = f" on {self.version}" if self.version else ""
        return full_name(self.scenario, self.case) + where


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What the runs of a cell showed in one period."""

    good: int = 0
    bad: int = 0
    doubtful: int = 0
    """Runs that are unknown, or an error."""

    @property
    def runs(self) -> int:
        return self.good + self.bad + self.doubtful

    @property
    def mark(self) -> str:
        """✕ if a run was bad, ? if none was and one is doubtful, ✓ if all were good, · without runs."""
        return "✕" if self.bad else "?" if self.doubtful else "✓" if self.good else "·"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How long something took in the runs of one period, in milliseconds."""

    runs: int
    least_ms: float
    median_ms: float
    most_ms: float
    busy: int
    """Runs of these whose machine was busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Everything that is drawn."""

    by: By
    periods: Sequence[str]
    """In the order of time, or of releases."""
    runs: int
    cells: Mapping[TrendSubject, Mapping[str, Period]]
    durations: Mapping[TrendSubject, Mapping[str, Spread]]

    @property
    def not_always_good(self) -> list[TrendSubject]:
        """Cells with a run that was not good, those of the last period first."""
        found = [one for one, periods in self.cells.items() if any(p.good < p.runs for p in periods.values())]

        def last(one: TrendSubject) -> int:
            known = [at for at, period in enumerate(self.periods) if self.cells[one].get(period, Period()).mark in "✕?"]
            return -known[-1]

        return sorted(found, key=lambda one: (last(one), one))

    @property
    def by_change(self) -> list[tuple[float, TrendSubject]]:
        """Durations of two periods or more, with the last median as a share of the median of the others; that which
        changed most is first.
        """
        found = []
        for one, spreads in self.durations.items():
            medians = [spreads[period].median_ms for period in self.periods if period in spreads]
            if len(medians) > 1 and (before := median(medians[:-1])) > 0 and medians[-1] > 0:
                found.append((medians[-1] / before, one))
        return sorted(found, key=lambda pair: (-max(pair[0], 1 / pair[0]), pair[1]))


@dataclass(slots=True)
class _Gathered:
    verdicts: dict[TrendSubject, dict[str, Counter[str]]] = field(default_factory=dict)
    times: dict[TrendSubject, dict[str, list[tuple[float, str]]]] = field(default_factory=dict)
    first: dict[str, datetime] = field(default_factory=dict)
    runs: set[str] = field(default_factory=set)


def trend(rows: Iterable[HistoryRow], by: By) -> Trend:
    """What these rows show, by nights, releases or commits."""
    gathered = _Gathered()
    for row in rows:
        period = period_of(row, by)
        subject = TrendSubject(row.scenario, row.case, "" if by == "release" else row.version)
        gathered.first[period] = min(row.at, gathered.first.get(period, row.at))
        gathered.runs.add(row.run)
        if row.what == "verdict":
            kind = "bad" if row.outcome in (UNEXPECTED, NOT_REPRODUCED) else "doubtful"
            kind = "good" if row.outcome == AS_DOCUMENTED else kind
            gathered.verdicts.setdefault(subject, {}).setdefault(period, Counter())[kind] += 1
        elif row.what in ("claim", "time") and row.number is not None:
            named = TrendSubject(subject.scenario, subject.case, subject.version, row.name)
            gathered.times.setdefault(named, {}).setdefault(period, []).append((row.number, row.load))
    return Trend(
        by=by,
        periods=_ordered(gathered.first, by),
        runs=len(gathered.runs),
        cells={
            one: {period: Period(**counts) for period, counts in periods.items()}
            for one, periods in sorted(gathered.verdicts.items())
        },
        durations={
            one: {period: _spread(values) for period, values in periods.items()}
            for one, periods in sorted(gathered.times.items())
        },
    )


def period_of(row: HistoryRow, by: By) -> str:
    """The period that a run belongs to.

    >>> about = dict(run="r", scenario="s", case="c", version="4.3.1", commit="0123456789abc", modified=True)
    >>> about |= dict(what="verdict", name="", outcome="", number=None)
    >>> evening = HistoryRow(at=datetime(2026, 11, 23, 22, 5), **about)
    >>> [period_of(evening, by) for by in BYS]
    ['2026-11-24', '4.3.1', '0123456789+']
    """
    if by == "night":
        return (row.at + timedelta(hours=12)).date().isoformat()
    if by == "release":
        return row.version
    return (row.commit[:COMMIT] if row.commit else UNNAMED) + ("+" if row.modified else "")


def _ordered(first: Mapping[str, datetime], by: By) -> list[str]:
    if by == "release":
        return sorted(first, key=lambda version: (numbers(version), version))
    return sorted(first) if by == "night" else sorted(first, key=lambda period: (first[period], period))


def _spread(values: Sequence[tuple[float, str]]) -> Spread:
    times = [ms for ms, _ in values]
    busy = sum(load == "busy" for _, load in values)
    return Spread(runs=len(times), least_ms=min(times), median_ms=median(times), most_ms=max(times), busy=busy)
