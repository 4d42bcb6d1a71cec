"""aborted-read (G1a): an ok poll returned a value whose writer failed or aborted.

A definite failure says that the record is in no log, so no reader may get it, at any isolation level. The values of an
aborted transaction are in the log, and only a read_committed reader must not get them.
"""

from __future__ import annotations

import numpy as np

from checks.anomaly import (
    ADYA,
    HISTORY,
    KEPT_ROWS,
    anomaly,
)
from checks.view import EVIDENCE_LIMIT, PartitionView, Rows, reader, sender
from evidence.basis import Basis


@anomaly("aborted-read", source=f"{ADYA}; KIP-98", basis=Basis.DOCUMENTATION, reads=(HISTORY,), screened=KEPT_ROWS)
def aborted_read(view: PartitionView) -> Rows:
    """A read_committed reader got a record whose send failed or whose transaction aborted (G1a)."""
    sends, polls = view.sends, view.polls
    # A value that also has a send of another outcome (the same record sent again) is not aborted.
    failed = sends.fail & ~np.isin(sends.value, sends.value[~sends.fail])
    rows = np.flatnonzero(polls.good & np.isin(polls.value, sends.value[failed]))
    writers = {int(sends.value[row]): int(row) for row in np.flatnonzero(failed & np.isin(sends.value, polls.value))}
    evidence = Rows()
    for row in rows.tolist():
        writer = writers[int(polls.value[row])]
        if sends.transaction[writer] >= 0 and int(polls.process[row]) in view.uncommitted_readers:
            continue
        evidence.total += 1
        if len(evidence) < EVIDENCE_LIMIT:
            evidence.append({**reader(view, row), "writer": sender(view, writer)})
    return evidence
