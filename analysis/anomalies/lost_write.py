"""lost-write and unseen: records committed for sure that nobody can read.

A value is lost if it lies at or below the furthest position that an ok poll has reached and no poll returned it; or,
given a final read that came to the brokers' end offset, if no poll returned it at all. Without that final read a
value beyond the furthest position is only unseen: it may still be there. So is one that was acknowledged after the
final read had asked for the end, or one that a reader may have been given whose history is missing.

A send is committed for sure if it is ok, or if the outcome of its operation is unknown and an ok poll returned one of
the operation's values. What any poll returned, even a failed one, is not lost: a consumer was handed it.
"""

from __future__ import annotations

import numpy as np

from analysis.view import EVIDENCE_LIMIT, Bools, PartitionView, Rows, sender


def _never_read(view: PartitionView) -> Bools:
    return view.committed & ~view.read


def _is_lost(view: PartitionView) -> Bools:
    sends = view.sends
    nowhere = np.zeros(len(sends), dtype=np.bool_)
    if view.final is not None:
        nowhere = sends.completed_ns <= view.final.asked_ns
        nowhere |= (sends.offset >= 0) & (sends.offset < view.final.offset)
    passed = (sends.offset >= 0) & (sends.offset <= view.furthest_offset)
    if view.readers_missing:
        # Only the final read, which begins at the beginning, says that nobody was given the value.
        passed &= view.final is not None
    return _never_read(view) & (nowhere | passed)


def _rows(view: PartitionView, which: Bools) -> Rows:
    furthest = None
    if view.furthest is not None:
        furthest = {"offset": view.furthest_offset, "process": view.processes[view.polls.process[view.furthest]]}
    context = {"furthest_read": furthest, "final_offset": None if view.final is None else view.final.offset}
    rows = np.flatnonzero(which)
    return Rows((sender(view, int(row)) | context for row in rows[:EVIDENCE_LIMIT]), total=len(rows))


def lost_write(view: PartitionView) -> Rows:
    """Committed values that readers have passed without seeing them, or that a complete final read did not find."""
    return _rows(view, _is_lost(view))


def unseen(view: PartitionView) -> Rows:
    """Committed values beyond everything that was read, where no final read says whether they are there."""
    return _rows(view, _never_read(view) & ~_is_lost(view))
