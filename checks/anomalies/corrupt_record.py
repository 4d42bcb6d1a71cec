"""corrupt-record: a record that was read whose own checksum does not fit its content, or that no client of the run
made.

The same name is given to what cannot be trusted on a replica's disk (`corrupt_on_disk`).
"""

from __future__ import annotations

import numpy as np

from checks.anomaly import (
    COPIES,
    HISTORY,
    KEPT_ROWS,
    also_found,
    anomaly,
)
from checks.copies import Copies, damage
from checks.view import EVIDENCE_LIMIT, PartitionView, Rows, reader
from evidence.basis import Basis


@anomaly(
    "corrupt-record",
    source="Kafka documentation, Implementation: message format",
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=KEPT_ROWS,
)
def corrupt_record(view: PartitionView) -> Rows:
    """A record or batch whose bytes do not match their checksum."""
    rows = np.flatnonzero(~view.polls.valid)
    return Rows((reader(view, int(row)) for row in rows[:EVIDENCE_LIMIT]), total=len(rows))


@also_found("corrupt-record", reads=(COPIES,), screened=KEPT_ROWS)
def corrupt_on_disk(copies: Copies) -> Rows:
    """Places in segments whose checksum does not match, or whose bytes are no record."""
    return Rows(
        copy.place()
        | {
            "segment": problem.segment,
            "position": problem.corrupt.position,
            "size": problem.corrupt.size,
            "kind": problem.corrupt.kind,
            "reason": problem.corrupt.reason,
        }
        for copy in copies.copies
        for problem in damage(copy)
    )
