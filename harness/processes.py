"""Processes on this machine: stopped, and what the kernel says of them (proc(5))."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

from evidence.faults.clients import STOPPED
from harness.polling import poll

STOP_LIMIT_S: Final = 5.0
ENDED: Final = ("Z", "X")
"""States of a process that has ended (proc(5)): one that nobody has asked for, and one that is about to vanish."""


def stop_group(group: int) -> list[str]:
    """Stop every process of a group (SIGSTOP), and wait until all their threads are stopped, or for 5 s; returns what
    the kernel says of each thread then.
    """
    os.killpg(group, signal.SIGSTOP)
    return poll(lambda: group_states(group), STOP_LIMIT_S, until=all_stopped) or []


def all_stopped(states: list[str]) -> bool:
    """Whether these are the states of threads that are all stopped, one at least."""
    return set(states) == {STOPPED}


def group_states(group: int) -> list[str]:
    """The state of every thread of every process of a process group, as `thread_states` has them. One that has ended is
    there until its parent asks for it, which a parent that is stopped does not: it runs no more, and is left out.
    """
    return [state for pid in _members(group) for state in thread_states(pid) if state not in ENDED]


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
