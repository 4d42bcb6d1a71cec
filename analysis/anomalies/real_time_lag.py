"""Real-time lag: how long after a value was surely in the log a consumer at its position had still not been given it.

A value is surely in the log once its send (or its transaction) has come back as ok, or a poll has returned it. A
consumer that has been given the value before it is at its position; that it was not given the next one either is known
up to the invocation of the poll that then brought it, however long that one took to return. So the lag counts from
the former to the latter, for values that come first in a poll; what begins a consumer's stay with the partition has no
position before it.

This is a statistic, the worst case of which is reported; Kafka promises nothing about it, and nobody is accused. A
consumer that is slow, or that stops polling, lags as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.anomalies.order import neighbours
from analysis.view import NEVER_NS, Ints, PartitionView, reader


def _known_since(view: PartitionView, values: Ints) -> Ints:
    """For each of these values, ascending, when it was surely in the log."""
    sends, polls = view.sends, view.polls
    known = np.full(len(values), NEVER_NS, np.int64)
    for value, at_ns, counts in (
        (sends.value, sends.completed_ns, sends.ok),
        (polls.value, polls.completed_ns, polls.good),
    ):
        rows = np.flatnonzero(counts & (at_ns >= 0) & np.isin(value, values))
        np.minimum.at(known, np.searchsorted(values, value[rows]), at_ns[rows])
    return known


def real_time_lag(view: PartitionView) -> dict[str, Any] | None:
    """The longest lag, as evidence; None if no consumer ever waited."""
    _, after, distance = neighbours(view, internal=False)
    after = after[(distance == 1) & (view.polls.value[after] >= 0) & (view.polls.invoked_ns[after] >= 0)]
    if not len(after):
        return None
    values = np.unique(view.polls.value[after])
    since_ns = _known_since(view, values)[np.searchsorted(values, view.polls.value[after])]
    lag_ns = view.polls.invoked_ns[after] - since_ns
    longest = int(np.argmax(lag_ns))
    if lag_ns[longest] <= 0:
        return None
    return {
        "lag_ns": int(lag_ns[longest]),
        "topic": view.topic,
        "partition": view.partition,
        "in_log_ns": int(since_ns[longest]),
        "polled_ns": int(view.polls.invoked_ns[after[longest]]),
        **reader(view, int(after[longest])),
    }
