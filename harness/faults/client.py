"""A client's process is killed or frozen.

kill -9 is proved by the status with which the kernel lets the process be waited for. A frozen one is stopped (SIGSTOP),
with all that it has started, and continues when it is thawed (SIGCONT): what the kernel says of each thread is the
proof.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from evidence.errors import FaultUnproved
from evidence.faults.clients import STOPPED, FreezeClientProof, KillClientProof
from harness.processes import all_stopped, group_states, stop_group

if TYPE_CHECKING:
    from harness.faults.base import Peer


class ClientProcess(Protocol):
    """A handle on a client's process (harness/workloads/handles)."""

    name: str

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients that live in it, by their names in run.json."""

    @property
    def pid(self) -> int:
        """Its number."""

    @property
    def status(self) -> int | None:
        """How it ended, as the kernel says: a negative number is a signal's. None while it runs."""

    @property
    def last_words(self) -> str:
        """The end of what it printed."""

    def kill(self) -> None:
        """Kill it, -9, and wait until it has ended."""


@dataclass(frozen=True, slots=True)
class Named:
    """A client, as the timeline names whom a fault struck; it has no address of its own."""

    name: str
    address: str = ""


@dataclass(slots=True)
class KillClient:
    """kill -9 of a client: what it holds in memory is gone; what its kernel holds of it is still delivered."""

    process: ClientProcess
    proof_type: ClassVar = KillClientProof

    @property
    def nodes(self) -> tuple[Peer, ...]:
        return tuple(map(Named, self.process.clients))

    @property
    def description(self) -> str:
        return f"kill -9 of {self.process.name}"

    def inject(self) -> None:
        self.process.kill()

    def verify(self) -> KillClientProof:
        if self.process.status != -signal.SIGKILL:
            raise FaultUnproved(
                f"{self.process.name}: its process ended with {self.process.status}, not by SIGKILL; "
                f"it said: {self.process.last_words}"
            )
        return KillClientProof(pid=self.process.pid, status=self.process.status)

    def heal(self) -> None:
        """A crash is not undone."""


@dataclass(slots=True)
class FreezeClient:
    """SIGSTOP of a client's process group, which it leads: its sockets stay open, and it asks and answers nothing."""

    process: ClientProcess
    proof_type: ClassVar = FreezeClientProof

    @property
    def nodes(self) -> tuple[Peer, ...]:
        return tuple(map(Named, self.process.clients))

    @property
    def description(self) -> str:
        return f"freeze (SIGSTOP) of {self.process.name}"

    def inject(self) -> None:
        stop_group(self.process.pid)

    def verify(self) -> FreezeClientProof:
        states = group_states(self.process.pid)
        if not all_stopped(states):
            running = len(states) - states.count(STOPPED)
            raise FaultUnproved(f"{self.process.name}: {running} of its {len(states)} threads are not stopped")
        return FreezeClientProof(pid=self.process.pid, threads=len(states), states=tuple(set(states)))

    def heal(self) -> None:
        """Thaw; a process that has ended is left as it is."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGCONT)
