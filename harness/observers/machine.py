"""Whether the machine under a run kept running: its pressure, its stolen time, and how late this thread is woken.

A time that Kafka takes is measured on a machine, and a machine that stands still for two seconds (a host that is
suspended, memory that is swapped, a disk that does not answer, processors that others use) makes each of them longer.
That is evidence, so it is written down. A thread asks to be woken each 250 ms and notes how late it was. It also notes
the share of the time since then in which the kernel says all tasks stood (/proc/pressure: memory and io, "full"; cpu,
"some"), and the share of its processors' time that others had (/proc/stat: steal).

A period in which one of these is over its threshold is written as one event when it is over, and what the run had as a
whole as one event at its end. The time for which some process waited for a CPU is written slice by slice, forty slices
a line. A promised state that came late is compared with the time that was waited between its begin and its end. Whether
something is excused by that is for the judge (judgement/duties.py).

Source: Linux, Documentation/accounting/psi.rst; proc(5), /proc/stat.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from evidence.events import Machine, Stillness, Waits
from harness.load import total_us

if TYPE_CHECKING:
    from evidence.timeline import Timeline

EVERY_S: Final = 0.25
LATE_NS: Final = 1_000_000_000
"""A thread that is woken so much later than it asked to be was not run, and neither was anybody who waited like it."""
STALLED: Final = 0.8
"""The share of a second in which no task could go on for want of memory, or of a disk."""
STOLEN: Final = 0.5
SECOND_NS: Final = 1_000_000_000
SLICES: Final = 40
"""In a line, which is some ten seconds."""
PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the kernel has counted since it was started, at a time."""

    at_ns: int
    cpu_us: int = 0
    """At least one task waited for a processor."""
    memory_us: int = 0
    """All tasks waited for memory."""
    io_us: int = 0
    """All tasks waited for a disk."""
    steal_ticks: int = 0
    ticks: int = 0
    """Of all processors."""


def sample(proc: Path = PROC) -> Sample:
    """What the kernel says now. What it does not count is 0: kernels before 4.20 have no pressure."""
    ticks, steal = _ticks(proc)
    pressure = proc / "pressure"
    return Sample(
        at_ns=time.monotonic_ns(),
        cpu_us=total_us("cpu", "some", pressure),
        memory_us=total_us("memory", "full", pressure),
        io_us=total_us("io", "full", pressure),
        steal_ticks=steal,
        ticks=ticks,
    )


def _ticks(proc: Path) -> tuple[int, int]:
    """All ticks of all processors, and those that were stolen: the eighth number of the first line, if it has one."""
    try:
        numbers = [int(word) for word in (proc / "stat").read_text().partition("\n")[0].split()[1:9]]
    except (OSError, ValueError):
        return 0, 0
    return sum(numbers), sum(numbers[7:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the machine was between two samples; shares from 0 to 1."""

    cpu: float
    memory: float
    io: float
    steal: float

    @classmethod
    def between(cls, one: Sample, other: Sample) -> Shares:
        elapsed_us = max((other.at_ns - one.at_ns) / 1000, 1)

        def share(before: int, after: int) -> float:
            return round(min((after - before) / elapsed_us, 1.0), 3)

        ticks = other.ticks - one.ticks
        return cls(
            cpu=share(one.cpu_us, other.cpu_us),
            memory=share(one.memory_us, other.memory_us),
            io=share(one.io_us, other.io_us),
            steal=round((other.steal_ticks - one.steal_ticks) / ticks, 3) if ticks > 0 else 0.0,
        )

    @property
    def still(self) -> bool:
        """Whether nobody, or hardly anybody, could go on."""
        return self.memory >= STALLED or self.io >= STALLED or self.steal >= STOLEN


class StillnessWatch:
    """Tells periods of stillness from samples, one after the other; pure but for what it is told."""

    def __init__(self, first: Sample) -> None:
        self._first = self._second = self._last = first
        """The first, the one of a second ago, and the last."""
        self._open: Stillness | None = None
        self._longest_ns = 0

    def take(self, now: Sample, late_ns: int) -> Stillness | None:
        """Take a sample that came so late, and return the period of stillness that is over by it, if one is."""
        self._longest_ns = max(self._longest_ns, late_ns)
        begin_ns, still = self._last.at_ns, late_ns >= LATE_NS
        shares = Shares.between(self._last, now)
        if now.at_ns - self._second.at_ns >= SECOND_NS:
            shares = Shares.between(self._second, now)
            if not still and shares.still:
                begin_ns, still = self._second.at_ns, True
            self._second = now
        self._last = now
        if still:
            self._open = self._grown(begin_ns, now, late_ns, shares)
            return None
        over = self._open if self._open is not None and now.at_ns - self._open.monotonic_ns >= SECOND_NS else None
        self._open = None if over is not None else self._open
        return over

    def _grown(self, begin_ns: int, now: Sample, late_ns: int, shares: Shares) -> Stillness:
        """The period that lasts still, up to now."""
        seen = Stillness(
            begin_ns=begin_ns,
            monotonic_ns=now.at_ns,
            late_ms=late_ns // 1_000_000,
            cpu=shares.cpu,
            memory=shares.memory,
            io=shares.io,
            steal=shares.steal,
        )
        before = self._open
        if before is None:
            return seen
        return structs.replace(
            seen,
            begin_ns=before.begin_ns,
            late_ms=max(before.late_ms, seen.late_ms),
            cpu=max(before.cpu, seen.cpu),
            memory=max(before.memory, seen.memory),
            io=max(before.io, seen.io),
            steal=max(before.steal, seen.steal),
        )

    def end(self) -> tuple[Stillness | None, Machine]:
        """The period that lasts still, if one does, and what there was of all."""
        shares = Shares.between(self._first, self._last)
        whole = Machine(
            seconds=round((self._last.at_ns - self._first.at_ns) / 1e9, 1),
            late_ms=self._longest_ns // 1_000_000,
            cpu=shares.cpu,
            memory=shares.memory,
            io=shares.io,
            steal=shares.steal,
        )
        return self._open, whole


class WaitsWatch:
    """Puts together for how long some process waited for a CPU, from samples; pure but for what it is told."""

    def __init__(self, first: Sample) -> None:
        self._begin = self._last = first
        self._slices: list[tuple[int, int]] = []

    def take(self, now: Sample) -> Waits | None:
        """Take a sample, and return the slices up to it if they fill a line."""
        lasted_us = (now.at_ns - self._last.at_ns) // 1000
        # The kernel adds up later than it is asked, so a slice may have a little more than it lasted.
        self._slices.append((lasted_us, min(now.cpu_us - self._last.cpu_us, lasted_us)))
        self._last = now
        return self.end() if len(self._slices) >= SLICES else None

    def end(self) -> Waits | None:
        """The slices that are in no line yet; None if there are none."""
        if not self._slices:
            return None
        told = Waits(begin_ns=self._begin.at_ns, monotonic_ns=self._last.at_ns, slices=tuple(self._slices))
        self._begin, self._slices = self._last, []
        return told


class MachineObserver:
    """Watches from `start` to `close`, in a thread of its own."""

    def __init__(self, timeline: Timeline, take: Callable[[], Sample] = sample) -> None:
        self._timeline, self._take = timeline, take
        self._stop = threading.Event()
        first = take()
        self._watch, self._waits = StillnessWatch(first), WaitsWatch(first)
        self._thread = threading.Thread(target=self._run, name="machine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        due_ns = time.monotonic_ns()
        while True:
            due_ns = max(due_ns, time.monotonic_ns()) + int(EVERY_S * 1e9)
            if self._stop.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
                return
            now = self._take()
            self._write(self._watch.take(now, max(0, now.at_ns - due_ns)))
            self._write(self._waits.take(now))

    def _write(self, over: Stillness | Waits | None) -> None:
        if over is not None:
            # Its time is that of its end, which is past: both clocks run side by side.
            wall_ns = time.time_ns() - (time.monotonic_ns() - over.monotonic_ns)
            self._timeline.append(structs.replace(over, wall_ns=wall_ns))

    def close(self) -> None:
        """End, and write what there was of all; again and again does no harm."""
        if self._stop.is_set():
            return
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        last, whole = self._watch.end()
        self._write(last)
        self._write(self._waits.end())
        self._timeline.append(whole)
