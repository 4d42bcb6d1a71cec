"""Every anomaly, one pure function each, named for it, and the registry of them.

A function of a partition takes a `PartitionView` and returns rows of evidence, complete enough to explain the finding
without the code. Definitions are those of the field (Jepsen's checker for Kafka) where it has one. Nothing here knows
what a scenario documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from analysis.anomalies.corrupt_record import corrupt_record
from analysis.anomalies.duplicate import duplicate
from analysis.anomalies.inconsistent_offsets import inconsistent_offsets
from analysis.anomalies.lost_write import lost_write, unseen
from analysis.anomalies.phantom import phantom
from analysis.view import Evidence, PartitionView

Check = Callable[[PartitionView], Sequence[Evidence]]

PARTITION_CHECKS: Final[dict[str, Check]] = {
    "lost-write": lost_write,
    "unseen": unseen,
    "duplicate": duplicate,
    "inconsistent-offsets": inconsistent_offsets,
    "phantom": phantom,
    "corrupt-record": corrupt_record,
}
