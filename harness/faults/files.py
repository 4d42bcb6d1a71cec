"""A broker's file is gone when it starts again: removed while the broker is down.

The proof: the file was there and is not any more, and the broker's container was down before and after, so that nobody
can have written it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from evidence.errors import FaultUnproved

if TYPE_CHECKING:
    from harness.cluster.docker import Node
    from harness.faults.base import Proof


@dataclass(slots=True)
class Remove:
    """A file of a node that is down is removed, for good: the broker has to do without it."""

    node: Node
    path: Path
    name: str = "remove"
    _bytes: int | None = field(default=None, init=False)
    _ran: bool = field(default=False, init=False)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    @property
    def description(self) -> str:
        return f"removal of {self.path.name} of {self.node.name}"

    def inject(self) -> None:
        self._ran = bool(self.node.state()["Running"])
        self._bytes = self.path.stat().st_size if self.path.exists() else None
        self.path.unlink(missing_ok=True)

    def verify(self) -> Proof:
        if self._bytes is None:
            raise FaultUnproved(f"{self.node.name}: there was no {self.path.name} to be removed")
        if self._ran or self.node.state()["Running"]:
            raise FaultUnproved(f"{self.node.name}: its process runs, and may write {self.path.name} again")
        if self.path.exists():
            raise FaultUnproved(f"{self.node.name}: {self.path.name} is still there")
        return {"file": self.path.name, "bytes": self._bytes, "there": False}

    def heal(self) -> None:
        """The broker writes the file again by itself."""
