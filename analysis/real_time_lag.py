"""Real-time lag: how long after a value was surely in the log a consumer at its position had still not been given it.

A value is surely in the log once its send (or its transaction) has come back as ok, or a poll has returned it. A
consumer that has been given the value before it is at its position. It surely did not have the next value until it
invoked the poll that brought it, however long that poll took to return. So the lag counts from the former to the
latter, for values that come first in a poll. The first value of a consumer's stay with the partition has no position
before it.

This is a statistic, the worst case of which is reported; Kafka promises nothing about it, and nobody is accused. A
consumer that is slow, or that stops polling, lags as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from checks.anomalies.order import neighbours
from checks.view import Ints, PartitionView, identity_of, known
from evidence.spans import NEVER_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Firsts:
    """Values that came first in a poll, by the name of the consumer and then in the order of its polls."""

    process: list[str]
    value: Ints
    offset: Ints
    before: Ints
    """The offset that the consumer had been given before."""
    invoked_ns: Ints
    completed_ns: Ints
    since_ns: Ints
    """When each was surely in the log, as far as rows tell that are not in the view; NEVER_NS if none does."""


def firsts_of(view: PartitionView) -> Firsts:
    """The values that came first in the polls of a view."""
    polls = view.polls
    before, after, _ = neighbours(view, internal=False)
    which = (polls.value[after] >= 0) & (polls.invoked_ns[after] >= 0)
    before, after = before[which], after[which]
    return Firsts(
        process=[view.processes[code] for code in polls.process[after].tolist()],
        value=polls.value[after],
        offset=polls.offset[after],
        before=polls.offset[before],
        invoked_ns=polls.invoked_ns[after],
        completed_ns=polls.completed_ns[after],
        since_ns=np.full(len(after), NEVER_NS, np.int64),
    )


def _known_since(view: PartitionView, values: Ints) -> Ints:
    """For each of these values, ascending, when it was surely in the log."""
    sends, polls = view.sends, view.polls
    found = np.full(len(values), NEVER_NS, np.int64)
    for value, at_ns, counts in (
        (sends.value, sends.completed_ns, sends.ok),
        (polls.value, polls.completed_ns, polls.good),
    ):
        rows = np.flatnonzero(counts & (at_ns >= 0) & np.isin(value, values))
        np.minimum.at(found, np.searchsorted(values, value[rows]), at_ns[rows])
    return found


def real_time_lag(view: PartitionView, firsts: Firsts | None = None) -> dict[str, Any] | None:
    """The longest lag, as evidence; None if no consumer ever waited. `firsts` are those of the whole, if the view is
    a part of it that has every other row of their values.
    """
    firsts = firsts_of(view) if firsts is None else firsts
    next_to = firsts.offset == firsts.before + 1
    apart = np.flatnonzero(~next_to)  # in a part, both ends and all between them
    next_to[apart] = view.log.index_of(firsts.offset[apart]) - view.log.index_of(firsts.before[apart]) == 1
    if not next_to.any():
        return None
    values = np.unique(firsts.value)
    since_ns = np.minimum(firsts.since_ns, _known_since(view, values)[np.searchsorted(values, firsts.value)])
    lag_ns = np.where(next_to, firsts.invoked_ns - since_ns, 0)
    longest = int(np.argmax(lag_ns))
    if lag_ns[longest] <= 0:
        return None
    return {
        "lag_ns": int(lag_ns[longest]),
        "topic": view.topic,
        "partition": view.partition,
        "in_log_ns": int(since_ns[longest]),
        "polled_ns": int(firsts.invoked_ns[longest]),
        **identity_of(int(firsts.value[longest])),
        "offset": known(firsts.offset[longest]),
        "process": firsts.process[longest],
        "completed_ns": known(firsts.completed_ns[longest]),
    }
