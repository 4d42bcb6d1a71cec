"""A client's process is killed: kill -9, proved by the status with which the kernel lets it be waited for."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from evidence.errors import FaultUnproved
from evidence.faults.clients import KillClientProof

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
            raise FaultUnproved(f"{self.process.name}: its process ended with {self.process.status}, not by SIGKILL")
        return KillClientProof(pid=self.process.pid, status=self.process.status)

    def heal(self) -> None:
        """A crash is not undone."""
