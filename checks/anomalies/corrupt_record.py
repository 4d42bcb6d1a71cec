"""corrupt-record: a record that was read whose own checksum does not fit its content, or that is none of ours.

The same name is given to what cannot be trusted on a replica's disk (analysis.replicas).
"""

from __future__ import annotations

import numpy as np

from checks.view import EVIDENCE_LIMIT, PartitionView, Rows, reader


def corrupt_record(view: PartitionView) -> Rows:
    """Reads of damaged records."""
    rows = np.flatnonzero(~view.polls.valid)
    return Rows((reader(view, int(row)) for row in rows[:EVIDENCE_LIMIT]), total=len(rows))
