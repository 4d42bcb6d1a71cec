"""phantom: a value that was read and that nobody sent.

Sent is what has a send of any outcome, or was reserved by a producer that may have died before it could record the
outcome. Records whose bytes are damaged are corrupt, not phantoms.
"""

from __future__ import annotations

import numpy as np

from analysis.view import NOBODY, SEQUENCE_BITS, Evidence, PartitionView, reader


def phantom(view: PartitionView) -> list[Evidence]:
    """Reads of values without a writer."""
    unknown = (view.polls.value != NOBODY) & ~np.isin(view.polls.value, view.sends.value)
    rows = np.flatnonzero(unknown)
    values = view.polls.value[rows]
    reserved = np.zeros(len(rows), dtype=np.bool_)
    for one in view.reservations:
        first = (one.producer << SEQUENCE_BITS) + one.first
        reserved |= (values >= first) & (values < first + one.count)
    return [reader(view, int(row)) for row in rows[~reserved]]
