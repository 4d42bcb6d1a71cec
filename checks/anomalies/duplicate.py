"""duplicate: one value at two or more offsets.

Offsets are those of the log as clients know it: of sends that are committed for sure, and of all polls. Reading one
offset twice is no duplicate.
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
from checks.disturbances import REACHED
from checks.view import EVIDENCE_LIMIT, NO_IDENTITY, PartitionView, Rows, identity_of, reader, sender
from evidence.basis import Basis


@anomaly(
    "duplicate",
    source=f"{JEPSEN}; KIP-98",
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=KEPT_ROWS,
    permitted=f"if the producer retries without idempotence, {REACHED}",
    permits=excuses.retried,
)
def duplicate(view: PartitionView) -> Rows:
    """One record at two or more offsets of a partition."""
    ours = view.log.value != NO_IDENTITY
    value, offset = view.log.value[ours], view.log.offset[ours]
    order = np.argsort(value, kind="stable")  # and by offset within a value, as the log is
    value, offset = value[order], offset[order]
    differs = (value[1:] == value[:-1]) & (offset[1:] != offset[:-1])
    several = np.unique(value[1:][differs])
    rows = Rows(total=len(several))
    for one in several[:EVIDENCE_LIMIT]:
        low, high = np.searchsorted(value, [one, one + 1])
        sends = np.flatnonzero(view.sends.value == one)
        rows.append(
            {
                **identity_of(int(one)),
                "offsets": np.unique(offset[low:high]).tolist(),
                "process": view.processes[view.sends.process[sends[0]]] if len(sends) else None,
                "writers": [sender(view, int(row)) for row in sends],
                "readers": [reader(view, int(row)) for row in np.flatnonzero(view.polls.value == one)[:20]],
            }
        )
    return rows
