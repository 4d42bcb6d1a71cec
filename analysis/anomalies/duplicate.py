"""duplicate: one value at two or more offsets.

Offsets are those of ok sends and of all polls. Reading one offset twice is no duplicate.
"""

from __future__ import annotations

import numpy as np

from analysis.view import NOBODY, Evidence, PartitionView, identity_of


def duplicate(view: PartitionView) -> list[Evidence]:
    """Values seen at several offsets, with all of them."""
    known = view.sends.ok & (view.sends.offset >= 0)
    values = np.concatenate([view.sends.value[known], view.polls.value])
    offsets = np.concatenate([view.sends.offset[known], view.polls.offset])
    ours = (values != NOBODY) & (offsets >= 0)
    pairs = np.unique(np.stack([values[ours], offsets[ours]], axis=1), axis=0)
    several, counts = np.unique(pairs[:, 0], return_counts=True)
    return [
        {**identity_of(int(value)), "offsets": [int(offset) for offset in pairs[pairs[:, 0] == value, 1]]}
        for value in several[counts > 1]
    ]
