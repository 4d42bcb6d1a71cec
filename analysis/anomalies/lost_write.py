"""lost-write and unseen: records committed for sure that nobody can read.

A value is lost if it lies at or below the furthest position that an ok poll has reached and no poll returned it; or,
given a final read that came to the brokers' end offset, if no poll returned it at all. Without that final read a
value beyond the furthest position is only unseen: it may still be there.

A send is committed for sure if it is ok, or if its outcome is unknown and an ok poll returned its value; the latter
is thereby read and never lost. What any poll returned, even a failed one, is not lost: a consumer was handed it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.view import Bools, Evidence, PartitionView, sender


def _never_read(view: PartitionView) -> Bools:
    return view.sends.ok & ~np.isin(view.sends.value, view.polls.value)


def _rows(view: PartitionView, which: Bools) -> list[dict[str, Any]]:
    furthest = view.furthest_read()
    context = {"furthest_read": None if furthest < 0 else furthest, "final_offset": view.final_offset}
    return [sender(view, int(row)) | context for row in np.flatnonzero(which)]


def _is_lost(view: PartitionView) -> Bools:
    if view.final_offset is not None:
        return _never_read(view)
    passed = (view.sends.offset >= 0) & (view.sends.offset <= view.furthest_read())
    return _never_read(view) & passed


def lost_write(view: PartitionView) -> list[Evidence]:
    """Committed values that readers have passed without seeing them, or that a complete final read did not find."""
    return list(_rows(view, _is_lost(view)))


def unseen(view: PartitionView) -> list[Evidence]:
    """Committed values beyond everything that was read, where no final read says whether they are there."""
    return list(_rows(view, _never_read(view) & ~_is_lost(view)))
