"""inconsistent-offsets: one offset of one partition seen with two values.

Seen by sends that are committed for sure and know their offset, and by all polls. A lost record whose offset was
given to another one shows here as well: its writer was told that offset.
"""

from __future__ import annotations

import numpy as np

from analysis.view import NOBODY, Evidence, PartitionView, identity_of, reader, sender


def inconsistent_offsets(view: PartitionView) -> list[Evidence]:
    """Offsets with several values, and who saw which."""
    known = view.committed() & (view.sends.offset >= 0)
    values = np.concatenate([view.sends.value[known], view.polls.value])
    offsets = np.concatenate([view.sends.offset[known], view.polls.offset])
    ours = (values != NOBODY) & (offsets >= 0)
    pairs = np.unique(np.stack([offsets[ours], values[ours]], axis=1), axis=0)
    several, counts = np.unique(pairs[:, 0], return_counts=True)
    return [
        {
            "offset": int(offset),
            "values": [identity_of(int(value)) for value in pairs[pairs[:, 0] == offset, 1]],
            "writers": [sender(view, int(row)) for row in np.flatnonzero(known & (view.sends.offset == offset))],
            "readers": [reader(view, int(row)) for row in np.flatnonzero(view.polls.offset == offset)],
        }
        for offset in several[counts > 1]
    ]
