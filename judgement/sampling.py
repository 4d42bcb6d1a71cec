"""What so many runs tell of all that could be run: intervals, and how many runs decide a cell.

An interval is exact (Clopper and Pearson, Biometrika 26, 1934), one-sided, at 95 %: if more than that share of runs
went otherwise, so few would have been seen in fewer than one of twenty attempts.

A cell whose outcome must follow from the sequence needs few runs (DETERMINISTIC): each shows the same. Where nothing
must be seen, or something may, so many say little: what happens in one of ten runs is missed by five of them in 59 % of
all attempts. Such a cell is decided by a sequential probability ratio test (Wald, Annals of Mathematical Statistics 16,
1945). It tests "one run of a hundred goes otherwise" against "one of ten", each decided wrongly in 5 % at most. After
31 runs without a contradiction it decides for the first, and after two early contradictions for the second.
"""

from __future__ import annotations

import math
from typing import Final

CONFIDENCE: Final = 0.95
RARE: Final = 0.01
OFTEN: Final = 0.10
ERROR: Final = 0.05
"""Of both kinds."""
DETERMINISTIC: Final = 5
STEPS: Final = 60
"""Halvings: more than a float can tell apart."""


def at_most(otherwise: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """The greatest share that so many of so many runs leave possible. 1.0 without runs.

    >>> round(at_most(0, 20), 4), round(at_most(0, 59), 4), round(at_most(2, 13), 4)
    (0.1391, 0.0495, 0.4101)
    """
    if otherwise >= runs:
        return 1.0
    low, high = otherwise / runs, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most_so_many(otherwise, runs, middle) > 1 - confidence else (low, middle)
    return high


def interval(otherwise: int, runs: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The least and the greatest share that so many of so many runs leave possible, with half the error on each side.

    >>> [round(share, 3) for share in interval(5, 5)], interval(0, 0)
    ([0.478, 1.0], (0.0, 1.0))
    """
    side = (1 + confidence) / 2
    return 1.0 - at_most(runs - otherwise, runs, side), at_most(otherwise, runs, side)


def between(times: int, runs: int) -> str:
    """The shares that so many of so many runs leave possible, in whole per cent.

    >>> between(2, 13), between(0, 20), between(5, 5)
    ('1 to 46 %', 'at most 14 %', 'at least 54 %')
    """
    if times == 0:
        return f"at most {percent(at_most(0, runs))}"
    least, most = interval(times, runs) if times < runs else (1.0 - at_most(0, runs), 1.0)
    floor = math.floor(round(least * 100, 6))
    return f"{floor} to {percent(most)}" if times < runs else f"at least {floor} %"


def _at_most_so_many(k: int, n: int, p: float) -> float:
    """The chance of k successes or fewer in n attempts of chance p."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def percent(share: float) -> str:
    """A share in whole per cent, never less than it is.

    >>> percent(0.1391), percent(0.05), percent(1.0)
    ('14 %', '5 %', '100 %')
    """
    return f"{math.ceil(round(share * 100, 6))} %"


def evidence(good: int, contradicted: int) -> float:
    """The logarithm of how much likelier such runs are if one of ten goes otherwise than if one of a hundred does."""
    return contradicted * math.log(OFTEN / RARE) + good * math.log((1 - OFTEN) / (1 - RARE))


def decided(good: int, contradicted: int) -> str:
    """What the sequential test decides: "rare", "often", or "" if it needs more runs.

    >>> decided(31, 0), decided(30, 0), decided(3, 2), decided(60, 1)
    ('rare', '', 'often', 'rare')
    """
    found = evidence(good, contradicted)
    if found <= math.log(ERROR / (1 - ERROR)):
        return "rare"
    return "often" if found >= math.log((1 - ERROR) / ERROR) else ""


def missing(good: int, contradicted: int, *, racy: bool) -> int:
    """How many runs as documented would decide a cell; 0 if it is decided.

    >>> missing(5, 0, racy=False), missing(3, 0, racy=False), missing(5, 0, racy=True), missing(29, 1, racy=True)
    (0, 2, 26, 27)
    """
    if not racy and not contradicted:
        return max(0, DETERMINISTIC - good)
    if decided(good, contradicted):
        return 0
    return math.ceil(
        (evidence(good, contradicted) - math.log(ERROR / (1 - ERROR))) / math.log((1 - RARE) / (1 - OFTEN))
    )
