"""Faults of a node's share of the machine: its control group gives it less CPU or less memory than it asks for."""

from __future__ import annotations

from typing import ClassVar

from evidence.faults.base import FaultProof, Mark

CPU_LEAST = 0.5
CPU_MOST = 1.5
"""Of the CPU time that a quota allows, a node that asks for more must have used so much: it gets the quota anew with
each period, and what it takes too much of in one is taken off the next.
"""
OVER_LIMIT = 0.5
"""Of the memory that a limit leaves for the page cache, so much may be used over it: with cgroup v2 (memory.high) what
is too much is given back afterwards.
"""


class PressureProof(FaultProof, frozen=True, kw_only=True):
    """A node gets less of the machine than it asks for."""


class CpuPressureProof(PressureProof, frozen=True, kw_only=True, tag="cpu-pressure"):
    """A process in the node's control group asks for a whole CPU. The group uses no more CPU time than its quota, by
    the machine's clock, and the kernel counts the periods in which it had to wait.
    """

    mark: ClassVar = Mark(verb="cpu-pressure")

    quota_us: int
    """The CPU time that it may use in each period, as the kernel says it."""
    period_us: int
    wall_us: int
    """It was watched for so long."""
    used_us: int
    """The CPU time that it used meanwhile."""
    throttled: int
    """In so many periods it had to wait for the next one."""
    throttled_us: int
    """For so long, summed over the machine's CPUs."""

    def missing(self) -> str | None:
        allowed_us = self.wall_us * self.quota_us / self.period_us if self.period_us > 0 else 0
        if not 0 < self.quota_us <= self.period_us or allowed_us <= 0:
            return "its proof does not show a quota of less than one CPU"
        if not CPU_LEAST * allowed_us <= self.used_us <= CPU_MOST * allowed_us:
            return "its proof does not show that it used the CPU time of its quota, and no more"
        return None if self.throttled > 0 and self.throttled_us > 0 else "its proof does not show that it had to wait"

    def text(self) -> str:
        return (
            f"it used {self.used_us / 1000:.0f} ms of CPU in {self.wall_us / 1000:.0f} ms and had to wait in "
            f"{self.throttled} periods (quota {100 * self.quota_us / self.period_us:.3g} % of one CPU)"
        )


class MemoryPressureProof(PressureProof, frozen=True, kw_only=True, tag="memory-pressure"):
    """A process in the node's control group reads a file that is larger than the limit leaves for the page cache. The
    group uses no more than its limit. The kernel counts how often the limit was met, and has killed no process because
    of it.
    """

    mark: ClassVar = Mark(verb="memory-pressure")

    limit_bytes: int
    """As the kernel says it."""
    held_bytes: int
    """What its processes held when it was set: all but the page cache of files."""
    read_bytes: int
    """So much of a file was read."""
    used_bytes: int
    """What the group used then, with what it had of that file."""
    reclaims: int
    """So often the limit was met, and memory had to be given back first."""
    killed: int
    """So many of its processes the kernel killed meanwhile for want of memory."""
    refaults: int = 0
    """So many pages of files were read anew that had been given back before."""
    stalled_us: int = 0
    """So long some process waited for memory, where the kernel tells it (PSI)."""

    def missing(self) -> str | None:
        spare = self.limit_bytes - self.held_bytes
        if self.held_bytes <= 0 or spare <= 0:
            return "its proof does not show a limit above what its processes hold"
        if self.read_bytes <= spare:
            return "its proof does not show a read of more than fits"
        if not 0 < self.used_bytes <= self.limit_bytes + OVER_LIMIT * spare or self.reclaims <= 0:
            return "its proof does not show memory that had to be given back"
        return None if self.killed == 0 else "its proof shows processes that were killed for want of memory"

    def text(self) -> str:
        told = (
            f"a read of {self.read_bytes >> 20} MiB met its limit {self.reclaims} times; it uses "
            f"{self.used_bytes >> 20} of {self.limit_bytes >> 20} MiB, and its processes held {self.held_bytes >> 20}"
        )
        return told + (f", and waited {self.stalled_us / 1000:.0f} ms for memory" if self.stalled_us else "")
