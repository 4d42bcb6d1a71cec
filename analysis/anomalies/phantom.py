"""phantom: a value that was read and that nobody sent.

Sent is what has a send of any outcome, or was reserved by a producer that may have died before it could record the
outcome. Records whose bytes are damaged are corrupt, not phantoms. Where a writer's history is missing or torn, only
values of producers whose histories are whole are called phantoms: any other may be its.
"""

from __future__ import annotations

import numpy as np

from analysis.view import EVIDENCE_LIMIT, NO_IDENTITY, SEQUENCE_BITS, PartitionView, Rows, pack, reader


def phantom(view: PartitionView) -> Rows:
    """Reads of values without a writer."""
    polls = view.polls
    unknown = (polls.value != NO_IDENTITY) & polls.valid & ~np.isin(polls.value, view.sends.value)
    rows = np.flatnonzero(unknown)
    values = polls.value[rows]
    reserved = np.zeros(len(rows), dtype=np.bool_)
    for one in view.reservations:
        first = pack(one.producer, one.first)
        reserved |= (values >= first) & (values < first + one.count)
    if view.writers_missing:
        torn = [number for number, name in enumerate(view.processes) if name in view.torn]
        of_whole = view.sends.value[~np.isin(view.sends.process, torn)]
        heard_of = np.unique(of_whole >> SEQUENCE_BITS).tolist()
        heard_of += [one.producer for one in view.reservations if one.process not in view.torn]
        reserved |= ~np.isin(values >> SEQUENCE_BITS, heard_of)
    rows = rows[~reserved]
    return Rows((reader(view, int(row)) for row in rows[:EVIDENCE_LIMIT]), total=len(rows))
