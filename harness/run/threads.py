"""How busy a thread of a broker is, as the kernel counts it.

/proc/PID/task/TID/schedstat has the time for which a thread ran and the time for which it waited for a processor, both
in nanoseconds (Linux: Documentation/scheduler/sched-stats.rst). They are read inside the node, before and after a time.
The time of waiting tells a thread that wants a processor all the time from one that a busy machine lets run late.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evidence.errors import HarnessError
from evidence.events import ThreadTime

if TYPE_CHECKING:
    from evidence.timeline import Timeline
    from harness.run.sequence_log import SequenceLog
    from harness.run.who import Target

EVERY_THREAD: Final = (
    "for task in /proc/[0-9]*/task/[0-9]*; do"
    " read -r name <$task/comm && read -r times <$task/schedstat && read -r up _ </proc/uptime"
    ' && echo "$name $times $up"; done 2>/dev/null; true'
)
"""One line each: its name, which may have spaces, its three numbers, and the seconds since the machine was started. A
thread that ends meanwhile has none. The shell starts no process for it, which would take long on a busy machine."""


@dataclass(frozen=True, slots=True)
class ThreadClock:
    """What a thread has had of the processors since it began, and when it was read, by the node's clock."""

    thread: str
    at_ns: int
    running_ns: int
    waiting_ns: int


def read_thread(lines: str, part: str) -> ThreadClock:
    r"""The only thread with `part` in its name, from the lines of EVERY_THREAD. Raises HarnessError for none or more.

    >>> read_thread("main 5 6 7 12.34\nkafka-1-raft-io 900 40 3 12.35\n", "raft-io")
    ThreadClock(thread='kafka-1-raft-io', at_ns=12350000000, running_ns=900, waiting_ns=40)
    """
    fields = [line.rsplit(maxsplit=4) for line in lines.splitlines()]
    found = [one for one in fields if len(one) == 5 and part in one[0]]
    if len(found) != 1:
        raise HarnessError(f"{len(found)} threads have {part!r} in their names, in place of one")
    name, running, waiting, _, uptime_s = found[0]
    return ThreadClock(name, round(float(uptime_s) * 1000) * 1_000_000, int(running), int(waiting))


class Threads:
    """Reads what the kernel counts of brokers' threads."""

    def __init__(self, timeline: Timeline, sequence_log: SequenceLog) -> None:
        self._timeline, self._sequence_log = timeline, sequence_log

    def watch_thread(self, targets: Sequence[Target], part: str, seconds: float) -> None:
        """Write down how long the thread with this part in its name ran on each of the nodes in so many seconds.

        Raises HarnessError for a node on which not exactly one thread is called so.
        """
        with self._sequence_log.step(
            f"watch the threads called {part} of {', '.join(map(str, targets))}", seconds=seconds
        ):
            begun_ns = time.monotonic_ns()
            before = [_read(target, part) for target in targets]
            time.sleep(seconds)  # what is measured is how long a thread runs in a given time
            for target, begun in zip(targets, before, strict=True):
                ended = _read(target, part)
                self._timeline.append(
                    ThreadTime(
                        node=target.node.name,
                        thread=ended.thread,
                        begin_ns=begun_ns,
                        elapsed_ns=ended.at_ns - begun.at_ns,
                        running_ns=ended.running_ns - begun.running_ns,
                        waiting_ns=ended.waiting_ns - begun.waiting_ns,
                    )
                )


def _read(target: Target, part: str) -> ThreadClock:
    return read_thread(target.node.run_inside("sh", "-c", EVERY_THREAD), part)
