"""Faults of clients: their connections are reset, an answer to one is withheld, or one is killed or frozen."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import ClassVar, Final

from evidence.faults.base import FaultProof, Lasts, Mark
from evidence.faults.process import FLAKE

STOPPED: Final = "T"
"""The state of a stopped thread, as the kernel calls it."""
APIS: Final[Mapping[str, int]] = {"OffsetCommit": 8, "EndTxn": 26, "TxnOffsetCommit": 28}
"""Requests whose answers are withheld, by Kafka's names and numbers."""


class ResetProof(FaultProof, frozen=True, kw_only=True, tag="reset"):
    """The broker's kernel listed clients' connections before, and lists none of them afterwards."""

    lasts: ClassVar = Lasts.AT_ONCE

    connections: tuple[str, ...]
    """The clients' ends."""
    left: tuple[str, ...]

    def missing(self) -> str | None:
        shown = self.connections and not self.left
        return None if shown else "its proof does not show connections that were there and are gone"

    def text(self) -> str:
        return f"{len(self.connections)} connections are gone"


class KillClientProof(FaultProof, frozen=True, kw_only=True, tag="kill-client"):
    """The status with which the client's process ended: SIGKILL's."""

    lasts: ClassVar = Lasts.AT_ONCE

    pid: int
    status: int
    """As the kernel lets it be waited for: a negative number is a signal's."""

    def missing(self) -> str | None:
        if self.status != -signal.SIGKILL:
            return f"its proof has the status {self.status}"
        return None if self.pid > 0 else "its proof does not show whose process it was"

    def text(self) -> str:
        return f"its process ended with {self.status}"


class FreezeClientProof(FaultProof, frozen=True, kw_only=True, tag="freeze-client"):
    """The kernel says of each thread of the client's process, and of those that it has started, that it is stopped."""

    mark: ClassVar = Mark(verb="freeze", icon=FLAKE)

    pid: int
    threads: int
    """So many it has."""
    states: tuple[str, ...]
    """Each of their states (proc(5)): "T" is stopped."""

    def missing(self) -> str | None:
        if self.threads <= 0 or self.states != (STOPPED,):
            return "its proof does not show threads that are all stopped"
        return None if self.pid > 0 else "its proof does not show whose process it was"

    def text(self) -> str:
        return f"its {self.threads} threads are stopped"


class WithheldProof(FaultProof, frozen=True, kw_only=True, tag="withhold"):
    """For one answer of a broker to a client: a relay between the two has read the request and passed it on, has read
    the broker's answer with the same correlation id, and keeps it.
    """

    strikes: ClassVar = False
    mark: ClassVar = Mark(verb="answer withheld")

    api: str
    """Kafka's name of the request."""
    api_key: int
    """Its number, as the request itself had it."""
    asked_id: int
    """The correlation id of the request."""
    answered_id: int
    """The same of the answer."""
    answer_bytes: int
    """The size of the answer."""
    api_version: int = 0
    client_id: str = ""
    """Who asked, by the name in its request."""
    broker: int = -1
    """Who answered, by its id."""

    def missing(self) -> str | None:
        if APIS.get(self.api) != self.api_key:
            return f"its proof shows a request with the number {self.api_key}"
        shown = self.asked_id == self.answered_id and self.answer_bytes > 0
        return None if shown else "its proof does not show the answer to the request"

    def text(self) -> str:
        return f"broker {self.broker} answered {self.api} of {self.client_id} with {self.answer_bytes} bytes, withheld"
