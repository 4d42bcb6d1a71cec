"""The timeline: one line of JSON for each thing that happened, from every source, in the order it was noted.

Several threads and sources write it (the runner's steps and faults, scripted clients, ZooKeeper or the
metadata log, Docker, brokers' logs), so an append is one `write` of a whole line, flushed at once: a run
killed at any moment leaves whole lines and at most one torn last one. Every event carries the machine's
monotonic clock (for order and distance) and the wall clock (to find it in a broker's log), both in
nanoseconds.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Event = dict[str, Any]


class Timeline:
    """Appends events to `path`; safe to use from several threads; listeners see each event after it is
    written.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()
        self._listeners: list[Callable[[Event], None]] = []

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event appended from now on, in the appending thread."""
        self._listeners.append(listener)

    def append(
        self,
        source: str,
        kind: str,
        *,
        monotonic_ns: int | None = None,
        wall_ns: int | None = None,
        **fields: Any,
    ) -> Event:
        """Write one event and return it; times default to now."""
        event: Event = {
            "monotonic_ns": time.monotonic_ns() if monotonic_ns is None else monotonic_ns,
            "wall_ns": time.time_ns() if wall_ns is None else wall_ns,
            "source": source,
            "kind": kind,
            **fields,
        }
        line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            if not self._file.closed:
                self._file.write(line)
        for listener in self._listeners:
            listener(event)
        return event

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a timeline file holds: its events by monotonic time, and the lines that could not be read."""

    events: tuple[Event, ...]
    damaged: tuple[str, ...]
    """One description for each line that is no event, a torn last line included."""

    def of(self, kind: str, *, source: str | None = None) -> list[Event]:
        """The events of one kind, from one source or from all."""
        return [e for e in self.events if e["kind"] == kind and (source is None or e["source"] == source)]


def read(path: Path) -> Reading:
    """Read a timeline; a damaged line is reported, never fatal; a missing file is an empty timeline with one
    complaint.
    """
    if not path.exists():
        return Reading(events=(), damaged=(f"{path.name}: missing",))
    events: list[Event] = []
    damaged: list[str] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line:
            continue
        try:
            event = json.loads(line)
            if not isinstance(event["monotonic_ns"], int) or not isinstance(event["kind"], str):
                raise TypeError("no monotonic_ns or kind")
            event["source"], event["wall_ns"]
        except (ValueError, KeyError, TypeError) as error:
            damaged.append(f"{path.name} line {number}: {error}")
        else:
            events.append(event)
    events.sort(key=lambda event: event["monotonic_ns"])
    return Reading(events=tuple(events), damaged=tuple(damaged))
