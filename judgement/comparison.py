"""What is different between two samples of runs: of the night before and tonight's, of a release and one's own build.

A run is a handful of facts (`Ran`): which anomalies it showed, which claims held, how long things took, what brokers
warned of. Runs are compared cell by cell: scenario, case and version; seeds tell the runs of a cell apart. Where
several versions are compared with others, the caller names the cells alike before.

A fact is asked for twice, of each cell alone and of all cells together, because a thing that is a little worse in forty
cells is seen in none of them. What may be told of so many tests `judgement.difference.significant` decides, for each of
the FAMILIES by itself with its share of the error. A time is told only if it is longer or shorter by LEAST_SHARE, and
by SPREADS times the spread of runs of one side. Times are compared among runs of one machine that was as busy.

One thing that is broken is seen as several facts: a lost record is also at no offset where it was. So regressions that
show in the same runs are told together, as one (`together`): those runs cannot tell them apart. An error line belongs
to others only if it is in no other run, because brokers that complain everywhere complain of something else.

A run that is unknown or an error says nothing by what it does not show. What it shows counts: a lost write is lost,
however little else of the run is known. So where something is asked to be more frequent on one side, all runs of that
side count, and of the other those that are sound. Blind runs can hide a difference, and cannot make one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from statistics import median
from typing import Final, Literal, get_args

from checks.catalogue import LOST_WRITE
from evidence.run import full_name
from judgement import difference
from judgement.difference import LEAST_RUNS, CountedRuns, Effect, Significance, Timed

ERROR: Final = 0.05
"""The greatest chance that anything is told of two samples of the same Kafka on the same machine."""
LEAST_SHARE: Final = 0.2
SPREADS: Final = 2.0

Cell = tuple[str, str, str]
"""Scenario, case and version."""
Kind = Literal["anomaly", "audit", "claim", "time", "error line", "blind", "warning"]
RANK: Final[Mapping[Kind, int]] = {kind: rank for rank, kind in enumerate(get_args(Kind))}
"""What is told first."""
REGRESSIONS: Final = frozenset[Kind]({"anomaly", "audit", "claim", "time", "error line"})
"""What is one if it is worse. A run that is unknown tells nothing of Kafka, and a warning is no failure."""
FAMILIES: Final = 5
"""Counts and times, each by cell and of all cells; lines of logs, of all cells. Each has its share of the error."""


AS_BUSY: Final = 5.0
"""Points of per cent of `Ran.waited`. Ours: in an unchanged night with 92 to 94 the longest pause of reads was 22 %
longer than in one with 62 to 82."""


@dataclass(frozen=True, slots=True, order=True)
class Fact:
    """What a run can show, or how long something took in it."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What there is to compare of a run."""

    run: str
    cell: Cell
    at: str
    place: str = ""
    """Its directory, if that is there."""
    code: str = ""
    """Which text of the scenario was run; "" if that is not on record."""
    setting: tuple[str, str] = ("", "")
    """The machine, and how busy it was: times of other machines are not compared with its own."""
    waited: float | None = None
    """The share of the run in which some process waited for a CPU, in per cent; None if that is not on record."""
    verdict: str
    text: str = ""
    """What became of it, in words."""
    shown: Mapping[Fact, bool] = field(default_factory=dict)
    """Anomalies it showed, or outcomes of a subject of the audit, and each claim that was observed, by whether that was
    contradicted.
    """
    times_ms: Mapping[str, float] = field(default_factory=dict)
    lines: frozenset[Fact] | None = None
    """Warnings and errors of brokers; None where there are no logs to read."""

    @property
    def blind(self) -> bool:
        return self.verdict in ("unknown", "error")

    def shows(self, fact: Fact) -> bool | None:
        """Whether it shows something; None if it cannot tell."""
        match fact.kind:
            case "blind":
                return self.blind
            case "error line" | "warning":
                return None if self.lines is None else fact in self.lines
            case "claim":
                return self.shown.get(fact)
            case _:
                return self.shown.get(fact, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """What is different in a cell."""

    cell: Cell
    counted: CountedRuns | None = None
    """Of how many runs, of a fact that is counted."""
    effect: Effect | None = None
    """Of a time."""
    alone: bool
    """Whether this cell by itself tells it, or only all cells together."""
    old: tuple[Ran, ...]
    """Runs to look at."""
    new: tuple[Ran, ...]
    accepted: str = ""
    """Why this is accepted; "" if nobody accepted it."""

    @property
    def name(self) -> str:
        return name_of(self.cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that is different: a fact, and the cells that show it, the plainest first."""

    fact: Fact
    worse: bool
    p: float
    """As corrected for the number of tests."""
    cells: tuple[CellChange, ...]
    summary: CellChange
    """Of all of these cells together."""

    @property
    def shown_in(self) -> frozenset[str]:
        """The newer runs that show it; of a time, all that were measured in its cells."""
        return frozenset(run.run for one in self.cells if not one.accepted for run in one.new)

    @property
    def regression(self) -> bool:
        return self.worse and self.fact.kind in REGRESSIONS and any(not one.accepted for one in self.cells)

    @property
    def accepted(self) -> bool:
        return self.worse and self.fact.kind in REGRESSIONS and not self.regression


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two samples of runs, and what is different."""

    old: str
    """What they are called."""
    new: str
    pairs: Mapping[Cell, tuple[Sequence[Ran], Sequence[Ran]]]
    """Of every cell that both have, the runs of both sides that were compared."""
    changes: tuple[Change, ...]
    only_old: tuple[Cell, ...]
    only_new: tuple[Cell, ...]
    other_code: tuple[str, ...]
    """Cells that both have, and whose scenario is not the same: each with what was run."""
    notes: tuple[str, ...] = ()
    """What else is to be known: runs without a verdict, exceptions that ended."""
    error: float = ERROR

    @cached_property
    def regressions(self) -> list[Change]:
        return [change for change in self.changes if change.regression]

    @cached_property
    def together(self) -> list[list[Change]]:
        """All of `regressions`, those that show in the same runs as one, the worst first."""
        groups: list[list[Change]] = []
        for change in self.regressions:
            line, shown = change.fact.kind == "error line", change.shown_in
            mine = [
                group
                for group in groups
                if (shown <= _shown_in(group) if line else not shown.isdisjoint(_shown_in(group)))
            ][: 1 if line else None]
            rest = [group for group in groups if not any(group is one for one in mine)]
            groups = [[*chain.from_iterable(mine), change], *rest]
            groups.sort(key=lambda group: self.regressions.index(group[0]))
        return groups

    @cached_property
    def too_few(self) -> list[Cell]:
        """Cells that have fewer than LEAST_RUNS runs that tell something, on either side."""
        return [
            cell
            for cell, sides in self.pairs.items()
            if any(sum(not run.blind for run in side) < LEAST_RUNS for side in sides)
        ]

    @property
    def too_little(self) -> bool:
        """Whether most cells have too few runs for "no regression" to mean anything."""
        return not self.regressions and 2 * len(self.too_few) > len(self.pairs)


def _shown_in(group: Iterable[Change]) -> frozenset[str]:
    return frozenset(chain.from_iterable(change.shown_in for change in group))


def compare(
    old: Sequence[Ran],
    new: Sequence[Ran],
    *,
    names: tuple[str, str] = ("old", "new"),
    accepted: Callable[[Cell, Fact], str] = lambda cell, fact: "",
    notes: Iterable[str] = (),
    error: float = ERROR,
) -> Comparison:
    """Hold two samples of runs side by side; pure."""
    before, after = by_cell(old), by_cell(new)
    pairs: dict[Cell, tuple[Sequence[Ran], Sequence[Ran]]] = {}
    other = []
    for cell in sorted(before.keys() & after.keys()):
        same = _of_same_code(before[cell], after[cell])
        if same is None:
            codes = (sorted({run.code[:8] for run in side}) for side in (before[cell], after[cell]))
            other.append(f"{name_of(cell)}: {' or '.join(next(codes))}, now {' or '.join(next(codes))}")
        else:
            pairs[cell] = same
    found = [*_counted(pairs, error / FAMILIES), *_timed(pairs, error / FAMILIES), *_logged(pairs, error / FAMILIES)]
    return Comparison(
        old=names[0],
        new=names[1],
        pairs=pairs,
        changes=tuple(sorted((_accept(change, accepted) for change in found), key=_order)),
        only_old=tuple(sorted(before.keys() - after.keys())),
        only_new=tuple(sorted(after.keys() - before.keys())),
        other_code=tuple(other),
        notes=tuple(notes),
        error=error,
    )


def by_cell(runs: Iterable[Ran]) -> dict[Cell, list[Ran]]:
    """Runs by cell, in the order of their names, which is that of time."""
    found: dict[Cell, list[Ran]] = {}
    for run in sorted(runs, key=lambda one: one.run):
        found.setdefault(run.cell, []).append(run)
    return found


def name_of(cell: Cell) -> str:
    """A cell in words: "leader-crash (acks-1) on 4.3.1"."""
    return f"{full_name(cell[0], cell[1])} on {cell[2]}"


def _of_same_code(old: Sequence[Ran], new: Sequence[Ran]) -> tuple[Sequence[Ran], Sequence[Ran]] | None:
    """The runs of a text of the scenario that both sides ran; of runs that do not tell theirs it is taken to be so.

    None if there are none.
    """
    known = {run.code for run in old} & {run.code for run in new} - {""}
    mine, yours = ({run.code for run in side} - {""} for side in (old, new))
    if not mine or not yours:
        return old, new
    kept = tuple([run for run in side if run.code in known or not run.code] for side in (old, new))
    return (kept[0], kept[1]) if all(kept) else None


def _accept(change: Change, accepted: Callable[[Cell, Fact], str]) -> Change:
    if not change.worse:
        return change
    return replace(change, cells=tuple(replace(one, accepted=accepted(one.cell, change.fact)) for one in change.cells))


def _order(change: Change) -> tuple[object, ...]:
    lost = change.fact.name == LOST_WRITE
    return (not change.regression, not change.worse, RANK[change.fact.kind], not lost, change.p, change.fact)


# What is counted

_Pairs = Mapping[Cell, tuple[Sequence[Ran], Sequence[Ran]]]


@dataclass(frozen=True, slots=True)
class _Question:
    """Whether a fact is more frequent on the newer side (`worse`), or on the older one."""

    fact: Fact
    worse: bool

    def count(self, sides: tuple[Sequence[Ran], Sequence[Ran]]) -> CountedRuns | None:
        """How many runs show it, of those that can tell; None if one side has no such run."""
        old, new = (
            self._tell(side, every=self.worse == newer) for side, newer in zip(sides, (False, True), strict=True)
        )
        return CountedRuns(sum(old), len(old), sum(new), len(new)) if old and new else None

    def _tell(self, side: Sequence[Ran], *, every: bool) -> list[bool]:
        """What runs show of it: every run, or those that are not blind to it."""
        sees = every or self.fact.kind == "blind"
        return [shows for run in side if (sees or not run.blind) and (shows := run.shows(self.fact)) is not None]

    def test(self, strata: Iterable[CountedRuns]) -> Significance:
        return difference.counts(one if self.worse else one.swapped for one in strata)

    def holds(self, one: CountedRuns) -> bool:
        """Whether a cell shows it by its shares, however likely that is."""
        return (_share(one) > 0) if self.worse else (_share(one) < 0)


_Strata = dict[_Question, dict[Cell, CountedRuns]]


def _counted(pairs: _Pairs, level: float) -> Iterator[Change]:
    strata = _strata_of(pairs, _facts_of)
    alone = difference.significant(
        (((which, cell), which.test([one])) for which, cells in strata.items() for cell, one in cells.items()), level
    )
    yield from _changes_of_counts(pairs, strata, alone, level)


def _facts_of(runs: Iterable[Ran]) -> Iterator[Fact]:
    for run in runs:
        yield from (fact for fact, shown in run.shown.items() if shown)
        if run.blind:
            yield Fact("blind", "unknown or error")


def _logged(pairs: _Pairs, level: float) -> Iterator[Change]:
    strata = _strata_of(pairs, lambda runs: chain.from_iterable(run.lines or () for run in runs))
    # A line that was there before, and is there more often, tells how runs went; one that was not is new.
    new = {which: cells for which, cells in strata.items() if not any(_before(which, one) for one in cells.values())}
    yield from _changes_of_counts(pairs, new, {}, level)


def _before(which: _Question, one: CountedRuns) -> int:
    return one.old if which.worse else one.new


def _strata_of(pairs: _Pairs, facts: Callable[[Iterable[Ran]], Iterable[Fact]]) -> _Strata:
    strata: _Strata = {}
    for cell, sides in pairs.items():
        for fact in sorted(set(facts(chain(*sides)))):
            for worse in (True, False):
                which = _Question(fact, worse)
                if (one := which.count(sides)) is not None:
                    strata.setdefault(which, {})[cell] = one
    return strata


def _changes_of_counts(
    pairs: _Pairs, strata: _Strata, alone: Mapping[tuple[_Question, Cell], float], level: float
) -> Iterator[Change]:
    together = difference.significant(((which, which.test(cells.values())) for which, cells in strata.items()), level)
    for which, cells in strata.items():
        told = {cell: alone[which, cell] for cell in cells if (which, cell) in alone}
        if not told and which not in together:
            continue
        shown = {cell: one for cell, one in cells.items() if cell in told or (which in together and which.holds(one))}
        yield Change(
            fact=which.fact,
            worse=which.worse,
            p=min([*told.values(), *([together[which]] if which in together else [])]),
            cells=tuple(
                _counted_cell(pairs, which, cell, one, alone=cell in told)
                for cell, one in sorted(shown.items(), key=lambda item: (-abs(_share(item[1])), item[0]))
            ),
            summary=_sum(pairs, which, shown),
        )


def _share(one: CountedRuns) -> float:
    return one.new / one.new_runs - one.old / one.old_runs


def _counted_cell(pairs: _Pairs, which: _Question, cell: Cell, one: CountedRuns, *, alone: bool) -> CellChange:
    old, new = pairs[cell]
    return CellChange(
        cell=cell,
        counted=one,
        alone=alone,
        old=tuple(run for run in old if run.shows(which.fact) is (not which.worse)),
        new=tuple(run for run in new if run.shows(which.fact) is which.worse),
    )


def _sum(pairs: _Pairs, which: _Question, cells: Mapping[Cell, CountedRuns]) -> CellChange:
    every = [_counted_cell(pairs, which, cell, one, alone=False) for cell, one in cells.items()]
    old, old_runs, new, new_runs = (
        sum(numbers) for numbers in zip(*((o.old, o.old_runs, o.new, o.new_runs) for o in cells.values()), strict=True)
    )
    return CellChange(
        cell=every[0].cell,
        counted=CountedRuns(old, old_runs, new, new_runs),
        alone=False,
        old=tuple(chain.from_iterable(one.old for one in every)),
        new=tuple(chain.from_iterable(one.new for one in every)),
    )


# Times


def _timed(pairs: _Pairs, level: float) -> Iterator[Change]:
    strata: dict[str, dict[Cell, list[Timed]]] = {}
    for cell, sides in pairs.items():
        for measure in sorted({name for run in chain(*sides) for name in run.times_ms}):
            if found := list(_strata(sides, measure)):
                strata.setdefault(measure, {})[cell] = found
    alone = difference.significant(
        (((name, cell), difference.ranks(one)) for name, cells in strata.items() for cell, one in cells.items()), level
    )
    together = difference.significant(
        ((name, difference.ranks([*chain.from_iterable(cells.values())])) for name, cells in strata.items()), level
    )
    for name, cells in strata.items():
        effects = {cell: difference.effect(one) for cell, one in cells.items()}
        for worse in (True, False):
            moved = {
                cell: one
                for cell, one in effects.items()
                if one.matters(LEAST_SHARE, SPREADS) and (one.share > 0) == worse
            }
            told = {cell: alone[name, cell] for cell in moved if (name, cell) in alone}
            whole = difference.effect([*chain.from_iterable(cells.values())])
            as_a_whole = name in together and bool(moved) and (whole.longer > 0.5) == worse
            if not told and not as_a_whole:
                continue
            shown = moved if as_a_whole else {cell: moved[cell] for cell in told}
            yield Change(
                fact=Fact("time", name),
                worse=worse,
                p=min([*told.values(), *([together[name]] if as_a_whole else [])]),
                cells=tuple(
                    _timed_cell(pairs, name, cell, one, alone=cell in told)
                    for cell, one in sorted(shown.items(), key=lambda item: (-abs(item[1].share), item[0]))
                ),
                summary=_timed_cell(
                    pairs,
                    name,
                    next(iter(shown)),
                    difference.effect([*chain.from_iterable(cells[cell] for cell in shown)]),
                    alone=False,
                ),
            )


def _strata(sides: tuple[Sequence[Ran], Sequence[Ran]], measure: str) -> Iterator[Timed]:
    """Durations of both sides, of each machine and how busy it was, where both have enough."""
    for setting in sorted({run.setting for run in chain(*sides)}):
        old, new = (
            [run.times_ms[measure] for run in side]
            for side in as_busy(
                *([run for run in side if run.setting == setting and measure in run.times_ms] for side in sides)
            )
        )
        if min(len(old), len(new)) >= LEAST_RUNS:
            yield Timed(old, new)


def as_busy(old: Sequence[Ran], new: Sequence[Ran]) -> tuple[list[Ran], list[Ran]]:
    """The runs of both sides whose machine was as busy as that of some run of the other side, up to `AS_BUSY`: what
    takes longer while more processes wait for a CPU is not longer by Kafka.

    A run of a kernel that does not tell (`waited` is None) is kept. If a side has only such runs, all are kept.
    """
    shares = [[run.waited for run in side if run.waited is not None] for side in (old, new)]
    if not all(shares):
        return list(old), list(new)
    low, high = max(map(min, shares)) - AS_BUSY, min(map(max, shares)) + AS_BUSY
    kept = ([run for run in side if run.waited is None or low <= run.waited <= high] for side in (old, new))
    return next(kept), next(kept)


def _timed_cell(pairs: _Pairs, name: str, cell: Cell, effect: Effect, *, alone: bool) -> CellChange:
    old, new = pairs[cell]
    return CellChange(
        cell=cell, effect=effect, alone=alone, old=_middle(old, name, effect.old), new=_middle(new, name, effect.new)
    )


def _middle(runs: Sequence[Ran], name: str, ms: float) -> tuple[Ran, ...]:
    """Runs by how near they are to the median."""
    timed = [run for run in runs if name in run.times_ms]
    middle = median(run.times_ms[name] for run in timed) if timed else ms
    return tuple(sorted(timed, key=lambda run: abs(run.times_ms[name] - middle)))
