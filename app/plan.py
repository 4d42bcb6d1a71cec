"""What a night runs first: what is not known, by the ledger, and how many machines share it.

    1. cells that were never run
    2. cells whose last run was not good
    3. cells whose code has changed since their last run: of the scenario, its claims or its faults
    4. all others, the longest ago first

Within the first three, cells stand in the order they were given (`app.matrix.night_order`: every case on some release
of every line before the next), so a night that is cut short is even.

Each of several machines makes the same plan, from the committed ledger and the same commit, and takes its part of it.
Cells are dealt out one after the other: each goes to the part that has the least to do by then, according to how long
runs of the cells took. So all parts begin with what is least known, and end together.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Final, Literal

from app import changed_code
from app.matrix import MatrixCell
from evidence import ledger
from evidence.ledger import AnyLine, Excluded, RestoredCell, RestoredRun, RunJudged, RunStarted
from harness.scenario import all_scenarios

NEVER: Final = "never run"
NOT_GOOD: Final = "not good last time"
CHANGED: Final = "of code that was changed"
OTHERS: Final = "run before"
Why = Literal["never run", "not good last time", "of code that was changed", "run before"]
ORDER: Final[tuple[Why, ...]] = (NEVER, NOT_GOOD, CHANGED, OTHERS)
SECONDS: Final = 36.0
"""A run takes so long if nobody knows better: the median of the first 3,019."""

ENOUGH: Final = 5
"""Runs that a cell is to have."""
DAYS: Final = (14, 30)
"""Each case is to be run on each line within so many days, and each cell within so many."""

Key = tuple[str, str, str]
"""Scenario, case and version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCell:
    """What the ledger has of a cell."""

    at: str
    """When it was last run."""
    good: bool
    """Whether that run ended well; of restored runs and counts that do not tell, yes."""
    changed: bool = False
    """Whether its code is another since (app/changed_code.py); of runs that do not tell, no."""
    seconds: float | None = None
    """The median of its runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A run that is to be made."""

    cell: MatrixCell
    why: Why
    seconds: float
    """That it will take, by what is known."""


def known(lines: Iterable[AnyLine], changed: Changed) -> dict[Key, KnownCell]:
    """What a ledger has of each cell; without runs that are excluded, of a mutant, or with settings of one's own.

    `changed` is asked of the last run of each: `code_changed`, or `nothing_changed`, which takes no time.
    """
    every = list(lines)
    excluded = {line.run for line in every if isinstance(line, Excluded)}
    started = _started(every, excluded)
    last: dict[Key, tuple[str, bool, str]] = {}
    seconds = _seconds(every, started)
    for line in every:
        if isinstance(line, RunJudged) and (begun := started.get(line.run)) is not None:
            key = (begun.scenario, begun.case, begun.version)
            good = line.verdict in ("as-documented", "observed")
            last[key] = max(last.get(key, ("", False, "")), (begun.at, good, line.run))
        elif isinstance(line, RestoredCell):
            key = (line.scenario, line.case, line.version)
            last[key] = max(last.get(key, ("", False, "")), (line.at, True, ""))
        elif isinstance(line, RestoredRun) and line.run not in excluded:
            key = (line.scenario, line.case, line.version)
            good = line.verdict in (None, "as-documented", "observed")
            last[key] = max(last.get(key, ("", False, "")), (line.at, good, ""))
    code = changed([started[run] for _, _, run in last.values() if run])
    return {
        key: KnownCell(at=at, good=good, changed=run in code, seconds=median(seconds[key]) if key in seconds else None)
        for key, (at, good, run) in last.items()
    }


Changed = Callable[[Collection[RunStarted]], Collection[str]]
"""Of which runs the code is another now, by name."""


def nothing_changed(_: Collection[RunStarted]) -> Collection[str]:
    """For those who do not ask."""
    return ()


def code_changed(runs: Collection[RunStarted]) -> Collection[str]:
    """The runs whose code is another now: as git's history tells. Where it does not, because the tree had changes or
    the commit is not here, the text of the scenario decides.
    """
    known = changed_code.changed((run.commit or "", run.scenario) for run in runs if not run.modified)
    texts = {name: ledger.blob(Path(one.path).read_bytes()) for name, one in all_scenarios().items()}

    def is_changed(run: RunStarted) -> bool:
        if not run.modified and (told := known.get((run.commit or "", run.scenario))) is not None:
            return told
        return bool(run.code) and run.code != texts.get(run.scenario, run.code)

    return {run.run for run in runs if is_changed(run)}


def _started(lines: Iterable[AnyLine], excluded: Collection[str]) -> dict[str, RunStarted]:
    """The runs that tell of a release as it is, by name."""
    return {
        line.run: line
        for line in lines
        if isinstance(line, RunStarted) and line.run not in excluded and not line.observed and not line.mutant
    }


def _seconds(lines: Iterable[AnyLine], started: Mapping[str, RunStarted]) -> dict[Key, list[float]]:
    """How long the runs of each cell took."""
    found: dict[Key, list[float]] = {}
    for line in lines:
        if isinstance(line, RunJudged) and (begun := started.get(line.run)) is not None:
            found.setdefault((begun.scenario, begun.case, begun.version), []).append(line.seconds)
    return found


def durations(lines: Iterable[AnyLine], cells: Iterable[MatrixCell]) -> dict[MatrixCell, float]:
    """How long a run of each of these cells takes, by what a ledger has of it, or of its scenario."""
    every = list(lines)
    excluded = {line.run for line in every if isinstance(line, Excluded)}
    of_cell = {key: median(those) for key, those in _seconds(every, _started(every, excluded)).items()}
    of_scenario = _by_scenario(of_cell)
    return {cell: _expected(cell, of_cell, of_scenario) for cell in cells}


def _by_scenario(of_cell: Mapping[Key, float]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for (scenario, _, _), took in of_cell.items():
        found.setdefault(scenario, []).append(took)
    return {scenario: median(those) for scenario, those in found.items()}


def _expected(cell: MatrixCell, of_cell: Mapping[Key, float], of_scenario: Mapping[str, float]) -> float:
    return of_cell.get(_key(cell), of_scenario.get(cell.scenario, SECONDS))


def planned(wanted: Sequence[MatrixCell], there: Mapping[Key, KnownCell]) -> list[PlannedRun]:
    """All of these runs, what is least known first."""
    of_cell = {key: one.seconds for key, one in there.items() if one.seconds is not None}
    of_scenario = _by_scenario(of_cell)

    def run(cell: MatrixCell) -> PlannedRun:
        why = _why(there.get(_key(cell)))
        return PlannedRun(cell=cell, why=why, seconds=_expected(cell, of_cell, of_scenario))

    def place(one: PlannedRun) -> tuple[int, int, str]:
        before = there.get(_key(one.cell))
        return one.cell.seed, ORDER.index(one.why), before.at if before is not None and one.why == OTHERS else ""

    return sorted(map(run, wanted), key=place)


def _key(cell: MatrixCell) -> Key:
    return cell.scenario, cell.case, cell.version


def _why(one: KnownCell | None) -> Why:
    if one is None:
        return NEVER
    if not one.good:
        return NOT_GOOD
    return CHANGED if one.changed else OTHERS


def part(runs: Sequence[PlannedRun], number: int, of: int) -> list[PlannedRun]:
    """The part of one of so many machines, from 1 on, in the order of the plan.

    >>> from app.matrix import MatrixCell
    >>> plan = [PlannedRun(cell=MatrixCell(scenario=s, version="1", seed=1), why=NEVER, seconds=t)
    ...         for s, t in (("a", 9), ("b", 5), ("c", 6), ("d", 2))]
    >>> [one.cell.scenario for one in part(plan, 2, 2)]
    ['b', 'c']
    """
    loads = [(0.0, one) for one in range(1, of + 1)]
    mine = []
    for run in runs:
        load, least = heapq.heappop(loads)
        heapq.heappush(loads, (load + run.seconds, least))
        if least == number:
            mine.append(run)
    return mine


def in_words(runs: Sequence[PlannedRun]) -> str:
    """How many runs there are of each reason, and how long they take: "3 never run, 1 run before; 0.1 h"."""
    tally = Counter(one.why for one in runs)
    told = ", ".join(f"{tally[why]} {why}" for why in ORDER if tally[why])
    return f"{told or 'nothing'}; {sum(one.seconds for one in runs) / 3600:.1f} h of runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of what can be run on a version was ever run."""

    version: str
    cells: int
    run: int
    """Of these, how many were ever run."""
    five: int
    """How many have that many runs that count and say something (ENOUGH)."""
    changed: int
    """Of how many the last run was good, and the code is another since."""
    within: tuple[int, ...]
    """How many were run within each of DAYS."""
    oldest: str
    """The day on which the cell was last run that waits longest; "" if none was ever run."""


def coverage(
    wanted: Iterable[MatrixCell],
    there: Mapping[Key, KnownCell],
    today: date,
    *,
    counted: Mapping[Key, int],
) -> list[Coverage]:
    """Of each version, in the order in which they are first wanted. `counted` has the runs of each cell that count and
    say something.
    """
    by_version: dict[str, set[Key]] = {}
    for cell in wanted:
        by_version.setdefault(cell.version, set()).add(_key(cell))
    found = []
    for version, keys in by_version.items():
        days = sorted(there[key].at[:10] for key in keys if key in there)
        since = [(today - timedelta(days=number)).isoformat() for number in DAYS]
        found.append(
            Coverage(
                version=version,
                cells=len(keys),
                run=len(days),
                five=sum(counted.get(key, 0) >= ENOUGH for key in keys),
                changed=sum(_why(there[key]) == CHANGED for key in keys if key in there),
                within=tuple(sum(day >= first for day in days) for first in since),
                oldest=days[0] if days else "",
            )
        )
    return found
