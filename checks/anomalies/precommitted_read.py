"""precommitted-read: one operation both sent a value and polled it, so it was readable before it was committed."""

from __future__ import annotations

import numpy as np

from checks.anomaly import (
    HISTORY,
    JEPSEN,
    KEPT_ROWS,
    anomaly,
)
from checks.view import EVIDENCE_LIMIT, PartitionView, Rows, reader, sender
from evidence.basis import Basis


@anomaly("precommitted-read", source=JEPSEN, basis=Basis.DOCUMENTATION, reads=(HISTORY,), screened=KEPT_ROWS)
def precommitted_read(view: PartitionView) -> Rows:
    """One transaction both sent a record and read it."""
    sends, polls = view.sends, view.polls
    writers = {
        (int(sends.value[row]), int(sends.process[row])): row
        for row in np.flatnonzero((sends.value >= 0) & np.isin(sends.process, np.unique(polls.process))).tolist()
    }
    found = []
    for row in np.flatnonzero(np.isin(polls.process, np.unique(sends.process))).tolist() if writers else ():
        writer = writers.get((int(polls.value[row]), int(polls.process[row])))
        if writer is None:
            continue
        one_transaction = sends.transaction[writer] >= 0 and sends.transaction[writer] == polls.transaction[row]
        if one_transaction or sends.op[writer] == polls.op[row]:
            found.append({**reader(view, row), "writer": sender(view, writer)})
    return Rows(found[:EVIDENCE_LIMIT], total=len(found))
