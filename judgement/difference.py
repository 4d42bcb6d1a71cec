"""Whether two samples of runs differ: exact tests, and how many of them may be told before one of them is chance.

    counts      in a of n runs before, in b of m now: the hypergeometric distribution of b if nothing changed (Fisher)
    durations   the rank sum of the newer ones among all (Wilcoxon; ties get their mean rank)

Each takes strata: the runs of one cell, or durations of one cell, machine and load. Runs are only compared inside a
stratum, and what all strata say is their sum, whose distribution is that of a sum of independent parts (for ranks with
fixed sizes: van Elteren 1960, with all strata weighing alike). So one test can ask of all cells together whether
elections take longer. Counts are tested in one
direction, more often; ranks in both, by twice the smaller tail.

Distributions are exact, by convolution, as long as that takes less than EXACT steps; larger rank sums are approximated
by the normal distribution, whose tails are the heavier ones, so it tells less.

Of many tests those are told that Holm's method leaves (Scandinavian Journal of Statistics 6, 1979): the chance that
anything is told of two samples of the same distribution is at most `level`, whatever depends on what. It is chosen
before Benjamini and Hochberg's, which lets a share of what is told be false, because one sentence about a night is read
and acted upon. Tests that could not be told even at their most extreme are not counted (Tarone, Biometrics 46, 1990):
in most cells nothing happens on either side, and they do not make it harder for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

EXACT: Final = 2_000_000
"""Additions that an exact distribution of ranks may take."""
LEAST_RUNS: Final = 5
"""Durations of fewer runs on a side are not compared."""
NORMAL: Final = NormalDist()
SPREAD_OF_MEDIAN: Final = 1.4826
"""A standard deviation in median absolute deviations, of a normal distribution."""

Chances = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CountedRuns:
    """Of how many runs how many showed something, on both sides of a stratum."""

    old: int
    old_runs: int
    new: int
    new_runs: int

    @property
    def swapped(self) -> CountedRuns:
        """The same with the sides changed round."""
        return CountedRuns(self.new, self.new_runs, self.old, self.old_runs)


@dataclass(frozen=True, slots=True)
class Timed:
    """Durations of both sides of a stratum, in any unit."""

    old: Sequence[float]
    new: Sequence[float]


@dataclass(frozen=True, slots=True)
class Significance:
    """What a test says of samples that differ by chance alone."""

    p: float
    """How likely such a difference, or a greater one, would be."""
    least: float
    """The smallest p that such samples can come to."""


def counts(strata: Iterable[CountedRuns]) -> Significance:
    """Whether something is seen more often in the newer runs.

    >>> f"{counts([CountedRuns(0, 20, 5, 5)]).p:.3g}"
    '1.88e-05'
    """
    chances, first, seen = np.ones(1), 0, 0
    for one in strata:
        part, begin = _hypergeometric(one)
        chances, first, seen = np.convolve(chances, part), first + begin, seen + one.new
    (there,) = np.nonzero(chances)
    return Significance(min(1.0, float(chances[seen - first :].sum())), min(1.0, float(chances[there[-1]])))


def _hypergeometric(one: CountedRuns) -> tuple[Chances, int]:
    """The chance of each number among the newer runs, and the first of these numbers."""
    shown, runs = one.old + one.new, one.old_runs + one.new_runs
    first, last = max(0, shown - one.old_runs), min(shown, one.new_runs)
    whole = math.comb(runs, one.new_runs)
    ways = (math.comb(shown, k) * math.comb(runs - shown, one.new_runs - k) for k in range(first, last + 1))
    return np.array([way / whole for way in ways]), first


def _two_sided(chances: Chances, at: int) -> Significance:
    """Of a distribution over 0, 1, 2, … and what was seen."""
    low, high = float(chances[: at + 1].sum()), float(chances[at:].sum())
    (there,) = np.nonzero(chances)
    least = min(float(chances[there[0]]), float(chances[there[-1]]))
    return Significance(min(1.0, 2 * min(low, high)), min(1.0, 2 * least))


def ranks(strata: Sequence[Timed]) -> Significance:
    """Whether durations of the newer side are longer, or shorter.

    >>> f"{ranks([Timed([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])]).p:.3g}"
    '0.00794'
    """
    doubled = [_doubled_ranks(one) for one in strata]
    if sum(_steps(len(all_), len(one.new)) for all_, one in zip(doubled, strata, strict=True)) > EXACT:
        return _approximated(strata, doubled)
    chances, at = np.ones(1), 0
    for one, all_ in zip(strata, doubled, strict=True):
        if chances.size * all_.sum() > EXACT:
            return _approximated(strata, doubled)
        chances = np.convolve(chances, _rank_sums(all_, len(one.new)))
        at += int(all_[len(one.old) :].sum())
    return _two_sided(chances, at)


def _doubled_ranks(one: Timed) -> NDArray[np.int64]:
    """Twice the rank of each duration, the older ones first, so that those of ties are whole numbers too."""
    values = np.array([*one.old, *one.new], dtype=float)
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return (2 * last - times + 1)[which].astype(np.int64)


def _steps(runs: int, new: int) -> int:
    return runs * new * runs * (runs + 1)


def _rank_sums(doubled: NDArray[np.int64], new: int) -> Chances:
    """The chance of each sum of so many of these ranks, each choice being as likely as any other."""
    ways = np.zeros((new + 1, int(doubled.sum()) + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    found: Chances = ways[new] / math.comb(len(doubled), new)
    return found


def _approximated(strata: Sequence[Timed], doubled: Sequence[NDArray[np.int64]]) -> Significance:
    mean = variance = at = farthest = 0.0
    for one, all_ in zip(strata, doubled, strict=True):
        old, new, runs = len(one.old), len(one.new), len(all_)
        own = all_ / 2
        mean += new * float(own.mean())
        variance += old * new / (runs * (runs - 1)) * float(((own - own.mean()) ** 2).sum())
        at += float(own[old:].sum())
        farthest += float(np.sort(own)[old:].sum()) - new * float(own.mean())
    if variance == 0:
        return Significance(1.0, 1.0)

    def p(distance: float) -> float:
        return min(1.0, 2 * NORMAL.cdf(-max(0.0, distance - 0.5) / math.sqrt(variance)))

    return Significance(p(abs(at - mean)), p(farthest))


T = TypeVar("T")


def significant(tests: Iterable[tuple[T, Significance]], level: float) -> dict[T, float]:
    """What may be told of many tests, with p as corrected; at most a share `level` of all such calls tells anything
    where nothing is.

    >>> tests = [("a", Significance(0.004, 0.004)), ("b", Significance(1.0, 1.0)), ("c", Significance(0.6, 0.004))]
    >>> significant(tests, 0.05)
    {'a': 0.008}
    """
    every = sorted(tests, key=lambda pair: pair[1].p)
    k = 1
    while sum(test.least <= level / k for _, test in every) > k:
        k += 1
    able = [(name, test.p) for name, test in every if test.least <= level / k]
    found: dict[T, float] = {}
    corrected = 0.0
    for number, (name, p) in enumerate(able):
        corrected = max(corrected, min(1.0, p * (len(able) - number)))
        if corrected > level:
            break
        found[name] = corrected
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How far apart durations are."""

    old: float
    """The median, of the medians of all strata."""
    new: float
    spread: float
    """Of runs of one side: a standard deviation, by the median distance from the median, the greater of both sides."""
    longer: float
    """The chance that a duration of the newer side is the longer of two (Vargha and Delaney's A): 0.5 if alike."""

    @property
    def share(self) -> float:
        """By how much the newer ones are longer, as a share of the older ones; negative if shorter."""
        return (self.new - self.old) / self.old if self.old else math.inf if self.new else 0.0

    def matters(self, least_share: float, spreads: float) -> bool:
        """Whether it is as great a share at least, and as many spreads."""
        return abs(self.share) >= least_share and abs(self.new - self.old) >= spreads * self.spread


def effect(strata: Sequence[Timed]) -> Effect:
    """How far apart durations are: each stratum by its medians, and the median stratum."""
    longer = pairs = 0.0
    for one in strata:
        for new in one.new:
            longer += sum((new > old) + (new == old) / 2 for old in one.old)
        pairs += len(one.new) * len(one.old)
    changes = [median(one.new) - median(one.old) for one in strata]
    old = median(median(one.old) for one in strata)
    return Effect(
        old=old,
        new=old + median(changes),
        spread=median(max(_spread(one.old), _spread(one.new)) for one in strata),
        longer=longer / pairs,
    )


def _spread(values: Sequence[float]) -> float:
    middle = median(values)
    return SPREAD_OF_MEDIAN * median(abs(value - middle) for value in values)
