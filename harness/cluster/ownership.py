"""Which process owns what was created, and whether it still runs, as far as that can be seen from here.

An owner is named by machine, boot, process id, start time and PID namespace. A killed harness leaves containers and
live data behind, which may be removed; what another harness uses at this moment may not. Between the two is what cannot
be judged: a process on another machine that uses the same engine, or in another PID namespace (a container), whose ids
mean nothing here. That is never taken for dead, nor is a process that /proc hides (mounted with hidepid).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from evidence.errors import HarnessError

PROC: Final = Path("/proc")
MACHINE: Final = Path("/etc/machine-id")
UNKNOWN: Final = "?"
ENDED: Final = "ended"


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an owner."""

    state: Literal["alive", "dead", "unknown"]
    why: str = ""
    """For "unknown": why it cannot be judged from here."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, named so that no later process and none elsewhere has the same name."""

    machine: str
    boot: str
    pid: int
    start: str
    """Its start in clock ticks since the boot."""
    namespace: str
    """Of process ids: the kernel's number for it."""

    def __str__(self) -> str:
        return f"{self.machine}:{self.boot}:{self.pid}:{self.start}:{self.namespace}"

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """The owner that a label names; None if it names none."""
        parts = text.split(":")
        if len(parts) != 5 or not parts[2].isdigit():
            return None
        return cls(parts[0], parts[1], int(parts[2]), parts[3], parts[4])


def _start(process: str) -> str | None:
    """When a process started, in the kernel's ticks since boot; `ENDED` if it has ended and was not waited for."""
    try:
        state, *others = (PROC / process / "stat").read_text().rpartition(")")[2].split()
        return ENDED if state in {"Z", "X"} else others[18]
    except (OSError, IndexError, ValueError):
        return None


def _machine() -> str:
    # The id itself is not for publication (machine-id(5)).
    try:
        text = MACHINE.read_text().strip()
    except OSError:
        text = ""
    return hashlib.sha256(text.encode()).hexdigest()[:8] if text else UNKNOWN


def process_identity(pid: int) -> str | None:
    """The name of a live process of this PID namespace; None if there is none, or /proc does not show it."""
    process = "self" if pid == os.getpid() else str(pid)
    start = _start(process)
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()[:8]
        namespace = str((PROC / "self/ns/pid").stat().st_ino)
    except OSError:
        return None
    return None if start in (None, ENDED) else str(Owner(_machine(), boot, pid, start, namespace))


def owner() -> str:
    """The identity of this process, for labels. Raises HarnessError if /proc is not readable."""
    identity = process_identity(os.getpid())
    if identity is None:
        raise HarnessError("/proc is not readable, so ownership of containers cannot be recorded")
    return identity


def fate(identity: str) -> Fate:
    """What became of the process that wrote this identity."""
    there, here = Owner.parse(identity), Owner.parse(owner())
    assert here is not None
    if there is None:
        return Fate("unknown", "its owner's label is of another version of kafka-chaos")
    if there.boot != here.boot:
        if there.machine == here.machine != UNKNOWN:
            return Fate("dead")
        return Fate("unknown", "its owner is a process on another machine")
    if there.namespace != here.namespace:
        return Fate("unknown", "its owner is a process in another PID namespace (a container)")
    try:
        os.kill(there.pid, 0)
    except ProcessLookupError:
        return Fate("dead")
    except PermissionError:
        pass  # it exists, another user's
    # Where /proc hides it, or shows another namespace, it may be a later process with the same id: that is not known.
    own = (PROC / "self").readlink().name == str(here.pid)
    start = _start(str(there.pid)) if own else None
    return Fate("alive" if start in (None, there.start) else "dead")
