"""Stretches of time, from and to, both included: CLOCK_MONOTONIC nanoseconds, as a timeline has them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Final

Span = tuple[int, int]

NEVER_NS: Final = 2**63 - 1
"""The end of what does not end."""


def overlap(one: Span, other: Span) -> bool:
    """Whether two have a moment in common.

    >>> overlap((1, 3), (3, 5)), overlap((1, 3), (4, 5))
    (True, False)
    """
    return one[0] <= other[1] and other[0] <= one[1]


def overlap_ns(one: Span, others: Iterable[Span]) -> int:
    """For how long one of them lasts while others do, of which no two last at the same time.

    >>> overlap_ns((10, 20), [(0, 12), (15, 16), (30, 40)])
    3
    """
    return sum(max(0, min(end_ns, one[1]) - max(begin_ns, one[0])) for begin_ns, end_ns in others)


def common(ones: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """What each of some has in common with each of others, where that is more than a moment.

    >>> common([(0, 10), (20, 30)], [(5, 25), (30, 40)])
    [(5, 10), (20, 25)]
    """
    shared = ((max(one[0], other[0]), min(one[1], other[1])) for one, other in product(ones, others))
    return [(begin_ns, end_ns) for begin_ns, end_ns in shared if begin_ns < end_ns]


def within(at_ns: int, spans: Iterable[Span]) -> bool:
    """Whether a moment lies in one of them."""
    return any(begin_ns <= at_ns <= end_ns for begin_ns, end_ns in spans)


def widened(spans: Iterable[Span], before_ns: int, after_ns: int) -> list[Span]:
    """Each of them, begun so much earlier and ended so much later; what does not end does not.

    >>> widened([(10, 20), (30, NEVER_NS)], 5, 1)
    [(5, 21), (25, 9223372036854775807)]
    """
    return [(begin_ns - before_ns, min(end_ns, NEVER_NS - after_ns) + after_ns) for begin_ns, end_ns in spans]
