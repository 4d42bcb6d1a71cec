"""Which rows screening must keep for the checks of copies and states.

Those checks (checks.anomalies.high_watermarks and replicas) look for an acknowledgement, or a read, that ought to be on
a replica and is not. They need an offset and two times: when the record was sent and when it was known. So for each
copy, truncation or answer, a `RowsOwed` describes the rows that could convict it. They are at or beyond the log's end,
or missing from the copy, and known by the time that the states then in force allow. Such rows are kept, and the checks
decide about them; a row that is kept needlessly costs time only. Most row groups need not be read: their footer says
that they end below the log's end, or begin after the copies were taken.

States hold from one time to the next, so what they allow depends on the *era* in which a record was sent: how many of
`times` are not after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from checks.anomalies.high_watermarks import answering, log_ends
from checks.copies import QUIET_NS, Copies, Copy
from checks.view import EndAnswer, Ints
from evidence.events import Container, Partition, of
from evidence.history import schema
from evidence.nodes import number_of
from evidence.run_state import RunState
from evidence.spans import NEVER_NS

NOT_AT_ALL: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOwed:
    """Rows of a kind at or beyond the offset `first` that were known (completed) no later than the era
    of their sending allows.
    """

    kind: str
    first: int
    latest_ns: Ints
    """By era."""
    seen: npt.NDArray[np.uint8] | None = None
    bit: int = 0
    """Only of offsets at which this bit of `seen` (by the table of screening) is not set: those missing from a copy."""


@dataclass(frozen=True, slots=True)
class EndAnswers:
    """What brokers answered about the log's end: polls at or beyond an answer's offset that were known when it was
    asked for. Every row is held against many answers, so they are one list: offsets ascending, and for each the latest
    time of the answers up to there.
    """

    offset: Ints
    latest_ns: Ints

    @classmethod
    def of(cls, copies: Copies, answers: Sequence[EndAnswer]) -> EndAnswers:
        """Those of the answers that count."""
        told = [(one.offset, one.asked_ns) for one in answers if answering(copies, one) is not None]
        found = np.array(sorted(told), np.int64).reshape(-1, 2)
        return cls(found[:, 0].copy(), np.maximum.accumulate(found[:, 1]))

    def may_be_due(self, earliest_ns: int, furthest: int) -> bool:
        """Whether a poll may be meant, of some no earlier than this and none beyond this offset."""
        place = int(np.searchsorted(self.offset, furthest, side="right")) - 1
        return place >= 0 and earliest_ns <= self.latest_ns[place]


def times(states: Sequence[Partition], run_state: RunState) -> list[int]:
    """The times at which a partition's states may change, ascending."""
    containers = {event.monotonic_ns for event in of(run_state.events, Container)}
    return sorted({state.monotonic_ns for state in states} | containers)


class _Stays:
    """Until when each broker stays in the ISR, for records sent in each era."""

    def __init__(self, states: Sequence[Partition], at: Sequence[int]) -> None:
        self._states, self._at = states, at
        self._known: dict[int, Ints] = {}

    def until(self, broker: int) -> Ints:
        """By era: when the broker left the ISR that it was in at the era's beginning, NOT_AT_ALL if it was in none;
        NEVER_NS if it stayed.
        """
        if broker not in self._known:
            self._known[broker] = np.array([NOT_AT_ALL, *self._each(broker)], np.int64)
        return self._known[broker]

    def _each(self, broker: int) -> list[int]:
        found: list[int] = []
        left, rest = NEVER_NS, list(self._states)
        for at_ns in reversed(self._at):
            while rest and rest[-1].monotonic_ns > at_ns:
                state = rest.pop()
                left = left if broker in state.isr else state.monotonic_ns
            found.append(left if rest and broker in rest[-1].isr else NOT_AT_ALL)
        return found[::-1]


def _known_before(until_ns: Ints, at_ns: int) -> Ints:
    """By era, the latest time at which a record may be known if its broker must stay in the ISR `QUIET_NS` longer."""
    return np.where(until_ns == NOT_AT_ALL, NOT_AT_ALL, np.minimum(at_ns, until_ns - QUIET_NS - 1))


def due(
    where: tuple[str, int],
    copies: Copies,
    seen: Callable[[Copy], tuple[npt.NDArray[np.uint8], int]],
) -> Iterator[RowsOwed]:
    """The rows that the checks of copies and states need of one topic-partition; `seen` says which bit of what tells
    which plain sends are in a copy.
    """
    at = times(copies.states, copies.run_state)
    if not copies.states:
        return
    stays = _Stays(copies.states, at)
    began = np.array([NOT_AT_ALL, *at], np.int64)
    for end in log_ends(*where, copies):
        latest_ns = _known_before(stays.until(number_of(end.node)), end.at_ns)
        for kind in (schema.SEND, schema.POLL):
            yield RowsOwed(kind=kind, first=end.end, latest_ns=latest_ns)
    for copy in copies.copies:
        if not copy.replica.segments:
            continue
        until_ns = stays.until(copy.broker)
        # Sent after it was known, as clocks may have it: that one is told by its acknowledgement alone.
        allowed = _while((until_ns > copy.at_ns) | (began > copy.at_ns), copy.at_ns)
        table, bit = seen(copy)
        yield RowsOwed(kind=schema.SEND, first=copy.replica.start_offset, latest_ns=allowed, seen=table, bit=bit)
        quiet_ns = copy.at_ns + QUIET_NS
        since_ns = copies.run_state.undisturbed_since(copy.node, quiet_ns)
        stayed = (until_ns > quiet_ns) & (began >= since_ns)
        yield RowsOwed(kind=schema.POLL, first=copy.replica.leo, latest_ns=_while(stayed, copy.begun_ns))


def _while(holds: npt.NDArray[np.bool_], latest_ns: int) -> Ints:
    return np.where(holds, latest_ns, NOT_AT_ALL).astype(np.int64)
