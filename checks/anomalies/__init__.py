"""Every anomaly, one pure function each, named for it, and the registry of them.

A function of a partition takes a `PartitionView` and returns rows of evidence, complete enough to explain the finding
without the code. Definitions are those of the field (Jepsen's checker for Kafka) where it has one. Nothing here knows
what a scenario documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from checks.anomalies.aborted_read import aborted_read
from checks.anomalies.corrupt_record import corrupt_record
from checks.anomalies.duplicate import duplicate
from checks.anomalies.inconsistent_offsets import inconsistent_offsets
from checks.anomalies.lost_write import lost_write, unseen
from checks.anomalies.order import (
    internal_nonmonotonic_poll,
    internal_nonmonotonic_send,
    internal_poll_skip,
    nonmonotonic_poll,
    nonmonotonic_send,
    poll_skip,
)
from checks.anomalies.phantom import misdelivered, phantom
from checks.anomalies.precommitted_read import precommitted_read
from checks.anomalies.processing import committed_too_far, repeated_processing, skipped_processing
from checks.catalogue import registered
from checks.view import Evidence, PartitionView

Check = Callable[[PartitionView], Sequence[Evidence]]

PARTITION_CHECKS: Final[dict[str, Check]] = registered(
    {
        "lost-write": lost_write,
        "unseen": unseen,
        "duplicate": duplicate,
        "inconsistent-offsets": inconsistent_offsets,
        "phantom": phantom,
        "misdelivered": misdelivered,
        "corrupt-record": corrupt_record,
        "aborted-read": aborted_read,
        "precommitted-read": precommitted_read,
        "poll-skip": poll_skip,
        "internal-poll-skip": internal_poll_skip,
        "nonmonotonic-poll": nonmonotonic_poll,
        "internal-nonmonotonic-poll": internal_nonmonotonic_poll,
        "nonmonotonic-send": nonmonotonic_send,
        "internal-nonmonotonic-send": internal_nonmonotonic_send,
        "committed-too-far": committed_too_far,
        "skipped-processing": skipped_processing,
        "repeated-processing": repeated_processing,
    }
)
