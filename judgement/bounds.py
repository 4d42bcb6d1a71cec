"""Where a documented anomaly may be seen: what is documented of a run is documented of its own topics, and of offsets
that a fault can have touched.

A name alone is no bound. A divergence in a topic that the scenario does not have is another divergence. One at an
offset that lay below the high watermark of every replica before anything happened has another cause: no election and no
truncation reaches so far. Losses have closer bounds of their own (judgement/losses.py).

Faults that damage files, take what no disk has, or move a clock may do harm at any offset. A run with one of them has
the first bound alone.
"""

from __future__ import annotations

from typing import Final

from checks.catalogue import INCONSISTENT_OFFSETS, REPLICA_DIVERGENCE
from evidence.faults.base import FaultProof
from evidence.faults.process import PowerLossProof
from evidence.findings import Finding
from evidence.own_ends import MAY_END_IT
from evidence.run import RunRecord
from evidence.run_state import RunState
from judgement.losses import floors

OF_OFFSETS: Final = frozenset({INCONSISTENT_OFFSETS, REPLICA_DIVERGENCE})
"""Anomalies whose rows name the offset at which replicas, or readers, disagree."""
REACHES_EVERYTHING: Final[tuple[type[FaultProof], ...]] = (*MAY_END_IT, PowerLossProof)
INTERNAL: Final = "__"
"""How the names of Kafka's own topics begin. A fault strikes them too."""


def out_of_bounds(run: RunRecord, run_state: RunState, finding: Finding) -> str | None:
    """Why what is documented of the run does not cover a finding of that name; None if it does."""
    topics = {topic.name for topic in run.topics}
    if finding.topic is not None and topics and finding.topic not in topics and not finding.topic.startswith(INTERNAL):
        return f"{finding.place} is no partition of the scenario's"
    if finding.anomaly not in OF_OFFSETS or any(
        issubclass(fault.proof_type, REACHES_EVERYTHING) for fault in run_state.faults
    ):
        return None
    untouched = max((one.offset for one in floors(run_state, finding.where) if one.begin_ns == 0), default=0)
    early = [row.offset for row in finding.evidence if row.offset is not None and row.offset < untouched]
    if not early:
        return None
    return f"offset {min(early)} lay below every replica's high watermark before anything happened"
