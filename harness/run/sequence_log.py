"""What the timeline says of the sequence itself: its steps, notes for the reader, and preconditions of the claim.

A sequence has preconditions, such as "the second leader died before anyone could fetch from it". `require` records
whether one held. Where it did not, the run says nothing about Kafka and its verdict is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evidence.errors import HarnessError
from evidence.events import Note, Precondition, Step

if TYPE_CHECKING:
    from evidence.timeline import Timeline


class PreconditionNotHeld(HarnessError):
    """The sequence did not take the course that the claim is about."""


class SequenceLog:
    """Writes the sequence down."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.preconditions = 0
        """How many were checked."""

    @contextmanager
    def step(self, name: str, **detail: Any) -> Iterator[None]:
        """Record the begin and the end of a step."""
        self._timeline.append(Step(name=name, phase="begin", detail=detail))
        yield
        self._timeline.append(Step(name=name, phase="end", detail=detail))

    def note(self, text: str) -> None:
        """Record an observation for the reader of the report."""
        self._timeline.append(Note(text=text))

    def require(self, name: str, held: bool, **detail: Any) -> None:
        """Record whether a precondition of the claim held.

        Raises PreconditionNotHeld if it did not: the sequence ends there and the run is unknown.
        """
        self.preconditions += 1
        self._timeline.append(Precondition(name=name, held=held, detail=detail))
        if not held:
            raise PreconditionNotHeld(f"{name}: did not hold ({', '.join(f'{k}={v}' for k, v in detail.items())})")
