"""Limits of time that count no waiting for a CPU, and no time in which the machine stood still.

Kafka is accused if a state that it owes does not come within its limit. On a machine on which processes wait for their
turn everything takes longer, Kafka as well as whoever looks at it, and nothing tells later how long the state would
have taken. So a wait lasts its limit, and as much longer as some process waited for a CPU meanwhile
(/proc/pressure/cpu, "some"), or all waited for memory or a disk ("full"), up to `LATE_TIMES` its limit. The judge
excuses what came late by the same measure (judgement/duties.py). What a hypervisor gave to others is counted by none of
these: if it was much, the judge knows that the limit was not waited.

Source: Linux, Documentation/accounting/psi.rst.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from evidence.run_state import LATE_TIMES
from harness.load import held_up_us


def lasted_s(limit_s: float, since_ns: int) -> float:
    """What a limit that began at a time (monotonic) came to, once it is over: what it was, or the whole seconds that
    have passed since if these are more.
    """
    return max(limit_s, round((time.monotonic_ns() - since_ns) / 1e9))


class Patience:
    """A limit that begins now."""

    def __init__(
        self,
        limit_s: float,
        waited_us: Callable[[], int] = held_up_us,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limit_s = limit_s
        self._waited_us, self._clock = waited_us, clock
        self._since_s, self._since_us = clock(), waited_us()

    @property
    def passed_s(self) -> float:
        """Seconds since it began."""
        return self._clock() - self._since_s

    @property
    def left_s(self) -> float:
        """Seconds until it is over; below zero when it is."""
        waited_s = (self._waited_us() - self._since_us) / 1e6
        return self.limit_s + min(waited_s, (LATE_TIMES - 1) * self.limit_s) - self.passed_s

    @property
    def lasted_s(self) -> float:
        """What the limit came to, once it is over: what it was, or the seconds that have passed if these are more."""
        return max(self.limit_s, round(self.passed_s))
