"""What the kernel says of a process on this machine (proc(5))."""

from __future__ import annotations

from pathlib import Path


def thread_states(pid: int) -> list[str]:
    """The state of every thread of a process, such as "T" for one that is stopped; none for a process that is gone."""
    states = []
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            states.append(stat.read_text().rpartition(")")[2].split()[0])
        except (OSError, IndexError):  # the thread has ended
            continue
    return states
