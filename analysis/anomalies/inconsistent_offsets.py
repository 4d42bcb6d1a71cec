"""inconsistent-offsets: one offset of one partition seen with two values.

Seen by sends that are committed for sure and know their offset, and by all polls. A lost record whose offset was
given to another one shows here as well: its writer was told that offset. A record that is not ours counts as a value
of its own where one of ours was seen; two of them cannot be told apart.
"""

from __future__ import annotations

import numpy as np

from analysis.view import EVIDENCE_LIMIT, PartitionView, Rows, identity_of, reader, sender


def inconsistent_offsets(view: PartitionView) -> Rows:
    """Offsets with several values, and who saw which."""
    log = view.log
    # Rows of one offset are neighbours, in no order of value: a group of two values has two unlike neighbours.
    differs = (log.offset[1:] == log.offset[:-1]) & (log.value[1:] != log.value[:-1])
    several = np.unique(log.offset[1:][differs])
    rows = Rows(total=len(several))
    for offset in several[:EVIDENCE_LIMIT]:
        low, high = np.searchsorted(log.offset, [offset, offset + 1])
        sends = np.flatnonzero(view.committed & (view.sends.offset == offset))
        rows.append(
            {
                "offset": int(offset),
                "values": [identity_of(int(value)) for value in np.unique(log.value[low:high])],
                "writers": [sender(view, int(row)) for row in sends],
                "readers": [reader(view, int(row)) for row in np.flatnonzero(view.polls.offset == offset)[:20]],
            }
        )
    return rows
