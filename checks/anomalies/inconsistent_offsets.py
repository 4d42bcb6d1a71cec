"""inconsistent-offsets: one offset of one partition seen with two values.

Seen by sends that are committed for sure and know their offset, and by all polls. A lost record whose offset was
given to another one shows here as well: its writer was told that offset. Records that are damaged or not ours do not
count: whose they are is not known (they are corrupt-record).
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
from checks.view import EVIDENCE_LIMIT, NO_IDENTITY, PartitionView, Rows, reader, record_in, sender
from evidence.basis import Basis


@anomaly(
    "inconsistent-offsets",
    source=JEPSEN,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=KEPT_ROWS,
    follows_from="lost-write",
    follows=excuses.offset_given_again,
)
def inconsistent_offsets(view: PartitionView) -> Rows:
    """One offset of one partition with two values, as acknowledged or as read."""
    ours = view.log.value != NO_IDENTITY
    seen, value = view.log.offset[ours], view.log.value[ours]
    # Rows of one offset are neighbours, in no order of value: a group of two values has two unlike neighbours.
    differs = (seen[1:] == seen[:-1]) & (value[1:] != value[:-1])
    several = np.unique(seen[1:][differs])
    rows = Rows(total=len(several))
    for offset in several[:EVIDENCE_LIMIT]:
        low, high = np.searchsorted(seen, [offset, offset + 1])
        sends = np.flatnonzero(view.committed & (view.sends.offset == offset))
        values = np.unique(value[low:high])
        read = values[np.isin(values, view.polls.value[view.polls.offset == offset])]
        rows.append(
            {
                "records": [record_in(view, int(one)) for one in values],
                "read": [record_in(view, int(one)) for one in read],
                "offset": int(offset),
                "writers": [sender(view, int(row)) for row in sends],
                "readers": [reader(view, int(row)) for row in np.flatnonzero(view.polls.offset == offset)[:20]],
            }
        )
    return rows
