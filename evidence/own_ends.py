"""Brokers that exited: their process ended, and no action on them explains it.

A process has exited if its exit code is not a signal's (a JVM that aborts ends with SIGABRT, which is its own doing).
That includes 0: a broker that nobody asked to stop has to stay. It is ours to explain if a fault of the run struck this
node in a way that may end it. Such a node was killed or stopped, lost its disk, its memory, its files or its clock, or
has another's id. Such a fault explains an end while it lasts and `AFTER_NS` longer. What a scenario expects is an
`Exit`: that is told apart.

Faults of others are no excuse: a broker has to live through the death of a leader and a cut in the network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from evidence.engine import SIGNALLED
from evidence.events import Container, Event, Fault
from evidence.faults import KINDS
from evidence.faults.base import FaultProof
from evidence.faults.clock import ClockStepProof
from evidence.faults.disks import DiskProof
from evidence.faults.files import FileProof
from evidence.faults.pressure import PressureProof
from evidence.faults.process import DoubleProof, ExitProof, MigrationProof, RunningProof
from evidence.spans import NEVER_NS

ABORTED: Final = 134
"""SIGABRT: by a JVM itself, at an error of its own."""
OF_KAFKA: Final = ("broker-", "controller-")
MAY_END_IT: Final[tuple[type[FaultProof], ...]] = (
    ClockStepProof,
    DiskProof,
    DoubleProof,
    FileProof,
    MigrationProof,
    PressureProof,
)
"""After such a fault of its own, a node's end is not held against Kafka here; claims and `Exit` say what it owes."""
AFTER_NS: Final = 60_000_000_000
"""A broker may meet what a fault left when it next flushes or cleans its logs. Ours: nothing is documented of it."""


@dataclass(slots=True)
class OwnEnds:
    """Follows a timeline, event by event."""

    ended: dict[str, Container] = field(default_factory=dict)
    """The ends of nodes that ended themselves and were neither expected to nor started again."""
    all: list[Container] = field(default_factory=list)
    """Likewise, also of those that were started again."""
    _down: set[str] = field(default_factory=set)
    """Nodes that a fault has taken, or is taking, down."""
    _disturbed: dict[str, int] = field(default_factory=dict)
    """Nodes that a fault may end, and until when."""

    def note(self, event: Event) -> None:
        """Take an event into account."""
        if isinstance(event, Fault) and event.phase == "inject":
            for node in event.target.nodes:
                self._struck(node, KINDS[event.fault_kind])
        elif isinstance(event, Fault) and event.phase == "healed":
            for node in event.target.nodes:
                if node in self._disturbed:
                    self._disturbed[node] = event.at_ns + AFTER_NS
        elif isinstance(event, Container) and event.action == "die" and self._by_itself(event):
            self.ended[event.node] = event
            self.all.append(event)

    def _struck(self, node: str, kind: type[FaultProof]) -> None:
        if issubclass(kind, MAY_END_IT):
            self._disturbed[node] = NEVER_NS
        if issubclass(kind, ExitProof):
            expected = self.ended.pop(node, None)
            self.all = [one for one in self.all if one is not expected]
            self._down.add(node)
        elif "die" in kind.explains:
            self._down.add(node)
        elif issubclass(kind, RunningProof):
            self._down.discard(node)
            self.ended.pop(node, None)

    def _by_itself(self, died: Container) -> bool:
        code = died.exit_code
        own = code is not None and (0 <= code <= SIGNALLED or code == ABORTED)
        explained = died.node in self._down or died.at_ns <= self._disturbed.get(died.node, 0)
        return own and died.node.startswith(OF_KAFKA) and not explained


def own_ends(events: Iterable[Event]) -> list[Container]:
    """Every such end in a whole timeline, in order."""
    seen = OwnEnds()
    for event in events:
        seen.note(event)
    return seen.all
