"""What the kernel says of a process on this machine (proc(5))."""

from __future__ import annotations

from pathlib import Path


def group_states(group: int) -> list[str]:
    """The state of every thread of every process of a process group, as `thread_states` has them."""
    return [state for pid in _members(group) for state in thread_states(pid)]


def _members(group: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _state, _parent, of = stat.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):  # the process has ended
            continue
        if int(of) == group:
            found.append(int(stat.parent.name))
    return found


def thread_states(pid: int) -> list[str]:
    """The state of every thread of a process, such as "T" for one that is stopped; none for a process that is gone."""
    states = []
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            states.append(stat.read_text().rpartition(")")[2].split()[0])
        except (OSError, IndexError):  # the thread has ended
            continue
    return states
