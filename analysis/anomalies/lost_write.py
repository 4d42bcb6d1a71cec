"""lost-write and unseen: records committed for sure that nobody can read.

A value is lost if it lies at or below the furthest position that an ok poll has reached and no poll returned it; or,
given a final read that came to the brokers' end offset, if no poll returned it at all. Without that final read a
value beyond the furthest position is only unseen: it may still be there. So is one that was acknowledged after the
final read had asked for the end, or one that a reader may have been given whose history is missing.

A send is committed for sure if it is ok, or if the outcome of its operation is unknown and an ok poll returned one of
the operation's values. What any poll returned, even a failed one, was handed to a consumer: it is lost all the same if
it was acknowledged before the final read asked for the end, and that end is at or below every offset at which it was
seen. Then the log was cut off after it was read, and `read_before` says who had been given it. A value that a poll
returned after the end was asked for is not lost.
"""

from __future__ import annotations

import numpy as np

from analysis.view import EVIDENCE_LIMIT, NEVER_NS, NO_OFFSET, Bools, PartitionView, Rows, reader, sender


def _cut_off(view: PartitionView) -> Bools:
    """Acknowledged values that were read once, and that lie at or beyond the end of the log."""
    sends, polls, final = view.sends, view.polls, view.final
    if final is None or not (np.any(sends.offset >= final.offset) or np.any(polls.offset >= final.offset)):
        return np.zeros(len(sends), dtype=np.bool_)
    inside = (polls.offset < final.offset) & (polls.offset != NO_OFFSET)
    later = (polls.completed_ns > final.asked_ns) | (polls.completed_ns < 0) & (final.asked_ns != NEVER_NS)
    below = np.isin(sends.value, sends.value[sends.ok & (sends.offset >= 0) & (sends.offset < final.offset)])
    acknowledged = sends.ok & (sends.completed_ns <= final.asked_ns)
    return acknowledged & view.read & ~below & ~np.isin(sends.value, polls.value[inside | later])


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


def lost_write(view: PartitionView) -> Rows:
    """Committed values that readers have passed without seeing them, or that a complete final read did not find, or
    that were read and lie beyond its end.
    """
    return _rows(view, _is_lost(view))


def unseen(view: PartitionView) -> Rows:
    """Committed values beyond everything that was read, where no final read says whether they are there."""
    return _rows(view, _never_read(view) & ~_is_lost(view))
