"""Events for tests that write a timeline by hand."""

from __future__ import annotations

import msgspec

from evidence.events import E


def at(ns: int, event: E) -> E:
    """The event at this time, on both clocks."""
    return msgspec.structs.replace(event, monotonic_ns=ns, wall_ns=ns)
