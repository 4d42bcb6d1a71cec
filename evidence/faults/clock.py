"""Faults of clocks: the wall clock of one broker is set wrong."""

from __future__ import annotations

from typing import ClassVar

from evidence.faults.base import FaultProof, Mark, Witnesses
from evidence.stamps import own_ns

NS = 1_000_000_000
TOLERANCE_S = 5
"""By which a broker's clock and Docker's may differ for no fault: a busy engine stamps a line late."""


def is_ahead_by(ahead_ns: int, seconds: int) -> bool:
    """Whether a clock that is so many nanoseconds ahead is so many seconds ahead, within the tolerance."""
    return abs(ahead_ns - seconds * NS) <= TOLERANCE_S * NS


class ClockStepProof(FaultProof, frozen=True, kw_only=True, tag="clock-step"):
    """A request that cannot be read makes the broker log a line with the time by its own clock, and Docker puts its own
    before it: before the step they agree, after it they differ by the seconds of the step.
    """

    mark: ClassVar = Mark(verb="clock-step")

    seconds: int
    """How far ahead it is set; behind, if negative."""
    before_ms: int
    """By how much it was ahead before."""
    line_before: str
    ahead_ms: int
    line: str

    def missing(self) -> str | None:
        if not self.seconds or not is_ahead_by(self.before_ms * 1_000_000, 0):
            return "its proof does not show a clock that was right before"
        shown = is_ahead_by(self.ahead_ms * 1_000_000, self.seconds)
        return None if shown else "its proof does not show a clock that is wrong by so much"

    def contradicted(self, witnesses: Witnesses) -> str | None:
        if not _says(witnesses, self.line_before, 0):
            return "the broker's log does not show a clock that was right before"
        if not _says(witnesses, self.line, self.seconds):
            return "the broker's log does not show a clock that is wrong by so much"
        return None


def _says(witnesses: Witnesses, line: str, seconds: int) -> bool:
    """Whether the broker has logged a line with a time that is so many seconds ahead of when it did."""
    logged_ns, own = witnesses.logged.get((witnesses.node, line)), own_ns(line)
    return logged_ns is not None and own is not None and is_ahead_by(own - logged_ns, seconds)
