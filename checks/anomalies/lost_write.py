"""lost-write and unseen: records that are certainly committed and that no reader can get.

A value is lost if it lies at or below the furthest position that an ok poll has reached and no poll returned it. Given
a final read that came to the brokers' end offset, it is lost if no poll returned it at all. Without that final read a
value beyond the furthest position is only unseen: it may still be there. So is one that was acknowledged after the
final read had asked for the end, or one that a reader may have been given whose history is missing.

A send is committed for sure if it is ok, or if the outcome of its operation is unknown and an ok poll returned one of
the operation's values. Any value that a poll returned, even a failed poll, was delivered to a consumer. It is still
lost if two things hold. It was acknowledged before the final read asked for the end, and each offset at which it was
seen is at or beyond that end, or was read later with another value. Then the log was truncated after the read, and
`read_before` names the reader. A value that a poll returned after the end was asked for is not lost.
"""

from __future__ import annotations

import numpy as np

from checks import excuses
from checks.anomaly import (
    HISTORY,
    JEPSEN,
    KEPT_ROWS,
    anomaly,
)
from checks.view import EVIDENCE_LIMIT, NO_TIME, Bools, Ints, PartitionView, Rows, reader, sender
from evidence.basis import Basis
from evidence.spans import NEVER_NS


def _cut_off(view: PartitionView) -> Bools:
    """Acknowledged values that were read once, and are in the log no more: each place where they were seen lies at or
    beyond its end, or was read later with another value.
    """
    sends, polls, final = view.sends, view.polls, view.final
    nothing = np.zeros(len(sends), dtype=np.bool_)
    if final is None:
        return nothing
    seen, value = view.log.offset, view.log.value
    gone = value[(seen >= final.offset) | np.isin(seen, view.contested)]
    acknowledged = sends.ok & view.read & (sends.completed_ns <= final.asked_ns) & np.isin(sends.value, gone)
    values = np.unique(sends.value[acknowledged])
    if not len(values):
        return nothing
    own = np.flatnonzero(np.isin(polls.value, values))
    given_ns = np.where(polls.completed_ns < 0, NEVER_NS, polls.completed_ns)
    last_ns = np.full(len(values), NO_TIME, np.int64)
    np.maximum.at(last_ns, np.searchsorted(values, polls.value[own]), given_ns[own])
    told = np.flatnonzero(sends.ok & np.isin(sends.value, values))
    value = np.concatenate([polls.value[own], sends.value[told]])
    offset = np.concatenate([polls.offset[own], sends.offset[told]])
    inside = (offset >= 0) & (offset < final.offset)
    of, offset = np.searchsorted(values, value[inside]), offset[inside]
    kept = final.asked_ns != NEVER_NS and last_ns > final.asked_ns
    there = np.zeros(len(values), dtype=np.bool_) | kept
    there[of[_read_last(view, offset) <= last_ns[of]]] = True
    return acknowledged & np.isin(sends.value, values[~there])


def _read_last(view: PartitionView, offsets: Ints) -> Ints:
    """When each of some offsets was read last, with whatever value; NO_TIME if it never was."""
    polls = view.polls
    rows = np.flatnonzero(np.isin(polls.offset, offsets))
    places = np.unique(offsets)
    last_ns = np.full(len(places), NO_TIME, np.int64)
    np.maximum.at(last_ns, np.searchsorted(places, polls.offset[rows]), polls.completed_ns[rows])
    return last_ns[np.searchsorted(places, offsets)]


def _never_read(view: PartitionView) -> Bools:
    return view.committed & ~view.read


def passed_by(view: PartitionView) -> Bools:
    """Sends whose values readers would have been given, had they been in the log: the final read has come to its end,
    or a poll has gone beyond them.
    """
    sends = view.sends
    nowhere = np.zeros(len(sends), dtype=np.bool_)
    if view.final is not None:
        nowhere = sends.completed_ns <= view.final.asked_ns
        nowhere |= (sends.offset >= 0) & (sends.offset < view.final.offset)
    passed = (sends.offset >= 0) & (sends.offset <= view.furthest_offset)
    if view.readers_missing:
        # Only the final read, which begins at the beginning, says that nobody was given the value.
        passed &= view.final is not None
    return nowhere | passed


def _is_lost(view: PartitionView) -> Bools:
    return (_never_read(view) & passed_by(view)) | _cut_off(view)


def _rows(view: PartitionView, which: Bools) -> Rows:
    furthest = None
    if view.furthest is not None:
        furthest = {"offset": view.furthest_offset, "process": view.processes[view.polls.process[view.furthest]]}
    context = {"furthest_read": furthest, "final_offset": None if view.final is None else view.final.offset}
    rows = np.flatnonzero(which)
    shown = rows[:EVIDENCE_LIMIT]
    given = {}
    if view.read[shown].any():
        polls = np.flatnonzero(np.isin(view.polls.value, view.sends.value[shown]))
        given = {int(view.polls.value[row]): {"read_before": reader(view, int(row))} for row in polls[::-1]}
    return Rows(
        (sender(view, row) | context | given.get(int(view.sends.value[row]), {}) for row in shown.tolist()),
        total=len(rows),
    )


@anomaly(
    "lost-write",
    source=JEPSEN,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=KEPT_ROWS,
    permitted="if sent with acks other than all, and the leader has it at the end, above the high watermark",
    permits=excuses.above_high_watermark,
)
def lost_write(view: PartitionView) -> Rows:
    """An acknowledged record that no poll returned although a poll returned a later one, or that the final read, which
    went to the end of the log, did not find. If it was read once before, it is lost if it lies at or beyond that end,
    or another record was read in its place.

    Committed values that readers have passed without seeing them, or that a complete final read did not find, or that
    were read and lie beyond its end.
    """
    return _rows(view, _is_lost(view))


@anomaly(
    "unseen",
    source=JEPSEN,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=KEPT_ROWS,
    permitted="always: it may still be in the log",
    permits=excuses.may_still_be_there,
)
def unseen(view: PartitionView) -> Rows:
    """An acknowledged record that was not read, where no final read reached the end of the log."""
    return _rows(view, _never_read(view) & ~_is_lost(view))
