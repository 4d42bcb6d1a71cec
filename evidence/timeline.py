"""The timeline: one line of JSON for each thing that happened, from every source, in the order it was noted.

Several threads and sources write it (the runner's steps and faults, scripted clients, ZooKeeper or the metadata log,
Docker, brokers' logs), so an append is one `write` of a whole line, flushed at once. A run killed at any moment leaves
whole lines and at most one torn last one. The first line says of which schema the others are, and is no event. Every
event carries the machine's monotonic clock (for order and distance) and the wall clock (to find it in a broker's log),
both in nanoseconds. The two run side by side. If they do not, one of them was set during the run. Then times taken from
brokers' logs are off, and nothing may be concluded from the order of events (`Reading.jump`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from evidence.events import UNSTAMPED, AnyEvent, E, End, Event, of
from evidence.run import SCHEMA

JUMP_NS: Final = 1_000_000_000
"""How far wall and monotonic clock may come apart at once."""
DRIFT: Final = 0.001
"""And for each second of the run: a clock that is being corrected gradually drifts by half as much."""


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line of a timeline."""

    schema: int


HEADER: Final = msgspec.json.encode(Header(schema=SCHEMA)) + b"\n"


class Timeline:
    """Appends events to `path`; safe to use from several threads; listeners see each event after it is written.

    Raises OSError if the file cannot be opened, or takes no first line.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()
        self._listeners: list[Callable[[Event], None]] = []
        self.lines = 0
        """Events written so far."""
        self._ended = False
        self._lost: OSError | None = None
        """Why nothing more could be written."""
        if self._file.tell() == 0:
            self._file.write(HEADER)

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event appended from now on, in the appending thread."""
        self._listeners.append(listener)

    def append(self, event: E) -> E:
        """Write one event and return it, with the times it was given or, for those it lacks, now. After an End nothing
        is written any more.

        Raises OSError in the main thread if the disk took this event, or an earlier one, only in part or not at all.
        """
        event = msgspec.structs.replace(
            event,
            monotonic_ns=time.monotonic_ns() if event.monotonic_ns == UNSTAMPED else event.monotonic_ns,
            wall_ns=time.time_ns() if event.wall_ns == UNSTAMPED else event.wall_ns,
        )
        with self._lock:
            if isinstance(event, End):  # a thread that was slow to end may still have written
                event = msgspec.structs.replace(event, lines=self.lines)
            line = msgspec.json.encode(event) + b"\n"
            if not self._file.closed and not self._ended and self._lost is None:
                self._ended = isinstance(event, End)
                try:
                    # A disk that is nearly full takes a part, and refuses the rest.
                    self._file.write(line[self._file.write(line) :])
                    self.lines += 1
                except OSError as error:
                    self._lost = error
        # An observer's thread would only die of it, unheard: the run is told at its next step, or at the end.
        if self._lost is not None and threading.current_thread() is threading.main_thread():
            raise self._lost
        for listener in self._listeners:
            listener(event)
        return event

    def close(self) -> None:
        """Close the file. Raises OSError if the disk took less than was written."""
        with self._lock:
            self._file.close()
        if self._lost is not None:
            raise self._lost

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRead:
    """What a timeline file holds: its events by monotonic time, and the lines that could not be read."""

    events: tuple[Event, ...]
    damaged: tuple[str, ...]
    """One description for each line that is no event, a torn last line included, of a first line that does not say the
    schema, and of a jump of the clocks.
    """
    jump: str | None = None
    """Where the clocks came apart; None if they did not."""

    @property
    def trusted(self) -> tuple[Event, ...]:
        """The events, if their times can be relied upon; otherwise none."""
        return self.events if self.jump is None else ()

    def of(self, kind: type[E]) -> list[E]:
        """The events of one type."""
        return of(self.events, kind)


_DECODER: Final[msgspec.json.Decoder[Event]] = msgspec.json.Decoder(AnyEvent)
_HEADERS: Final = msgspec.json.Decoder(Header)


class TimelineTail:
    """Reads what is added to a timeline, while it is written. Lines that are no events are passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def more(self) -> list[Event]:
        """The events of whole lines that were not read yet; none if the file is not there."""
        if not self._path.is_file():
            return []
        with self._path.open("rb") as file:
            file.seek(self._read)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._read += len(whole) + len(newline)
        found = []
        for line in whole.split(b"\n"):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                found.append(_DECODER.decode(line))
        return found


def read(path: Path) -> TimelineRead:
    """Read a timeline. Damaged lines are reported, never raised; a missing file is an empty timeline, and reported."""
    if not path.exists():
        return TimelineRead(events=(), damaged=(f"{path.name}: missing",))
    events: list[Event] = []
    first, *lines = path.read_bytes().split(b"\n")
    damaged = [] if _is_header(first) else [f"{path.name} line 1: it does not say that this is schema {SCHEMA}"]
    for number, line in enumerate(lines if not damaged else [first, *lines], start=2 - len(damaged)):
        if not line:
            continue
        try:
            event = _DECODER.decode(line)
            if UNSTAMPED in (event.monotonic_ns, event.wall_ns):
                raise msgspec.ValidationError("no monotonic_ns or wall_ns")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            damaged.append(f"{path.name} line {number}: {error}")
        else:
            events.append(event)
    jump = _jump(events)
    if jump is not None:
        damaged.append(f"{path.name}: {jump}")
    events.sort(key=lambda event: event.monotonic_ns)
    return TimelineRead(events=tuple(events), damaged=tuple(damaged), jump=jump)


def _is_header(line: bytes) -> bool:
    try:
        return _HEADERS.decode(line).schema == SCHEMA
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _jump(events: Sequence[Event]) -> str | None:
    """Whether the clocks come apart between the first event in the file and another."""
    for event in events:
        passed_ns = event.monotonic_ns - events[0].monotonic_ns
        apart_ns = event.wall_ns - events[0].wall_ns - passed_ns
        if abs(apart_ns) > JUMP_NS + DRIFT * abs(passed_ns):
            return f"the clocks jump: at “{event.kind}” wall and monotonic clock are {apart_ns / 1e9:+.1f} s apart"
    return None
