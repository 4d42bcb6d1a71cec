"""What a node's kernel tells of the node's own network namespace: its packet filter, its queues, its connections.

Faults and observers read the same listings here, and the name of the chains that the faults alone write to.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from evidence.errors import HarnessError

if TYPE_CHECKING:
    from harness.cluster.docker import Node

CHAIN: Final = "CHAOS"
"""Begins the names of the chains that the faults make in a node's packet filter."""
LISTING_LIMIT_S: Final = 15.0
WHOLE: Final = "# whole"
"""Ends a listing: the engine may hand over less than a command has printed."""


def listing(node: Node, *commands: str) -> list[str]:
    """The lines that these commands print in a node; HarnessError if no whole listing can be had in time."""
    deadline = time.monotonic() + LISTING_LIMIT_S
    while True:
        lines = node.run_inside("sh", "-c", " && ".join((*commands, f"echo '{WHOLE}'"))).splitlines()
        if lines[-1:] == [WHOLE]:
            return lines[:-1]
        if time.monotonic() > deadline:
            raise HarnessError(
                f"{node.name}: no whole listing of {commands[0]} in {LISTING_LIMIT_S:.0f} s; the last: {lines}"
            )
