"""resurrected: records that were deleted by request (KIP-107), and are read again.

The answer to a request to delete has the partition's low watermark: the offset at which, or beyond, every replica in
sync begins. From then on no reader may get a record before it, whichever replica leads. A reader may have fetched
records before they were deleted and return them later. So a read counts only if its reader asked for the log's bounds
after the answer. The final reader does so before it reads. A background reader does so when its position is no longer
valid, and drops the records that it had fetched.

A topic that is deleted and created again starts again: answers from before the topic's last deletion are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checks.anomaly import (
    DELETIONS,
    HISTORY,
    absent_if,
    anomaly,
)
from checks.view import EVIDENCE_LIMIT, PartitionView, Rows, reader
from evidence.basis import Basis
from evidence.events import DeleteRecords, DeleteTopic, RecordsDeleted, of
from evidence.run_state import RunState
from evidence.spans import NEVER_NS


def confirmed(run_state: RunState, topic: str, partition: int) -> list[RecordsDeleted]:
    """The answers that still hold of a partition, in order."""
    made_again_ns = max((one.at_ns for one in of(run_state.events, DeleteTopic) if one.topic == topic), default=-1)
    answers = [one for one in of(run_state.events, RecordsDeleted) if (one.topic, one.partition) == (topic, partition)]
    return [one for one in answers if one.at_ns > made_again_ns]


def asked_before(run_state: RunState, topic: str, partition: int, at_ns: int) -> int:
    """The offset before which records of a partition were asked to be deleted by then: they may be gone."""
    asked = [one for one in of(run_state.events, DeleteRecords) if (one.topic, one.partition) == (topic, partition)]
    return max((one.before for one in asked if one.at_ns <= at_ns), default=0)


def nothing_deleted(view: PartitionView, answers: Sequence[RecordsDeleted]) -> bool:
    """Whether no records of the partition were deleted by request."""
    return not answers


@anomaly(
    "resurrected", source="KIP-107", basis=Basis.KIP, reads=(HISTORY, DELETIONS), screened=absent_if(nothing_deleted)
)
def resurrected(view: PartitionView, answers: Sequence[RecordsDeleted]) -> Rows:
    """A record that had been deleted by request, as the answer confirmed, was read by a reader that began afterwards.

    Reads of records before the low watermark that had been answered when the reader began.
    """
    if not answers:
        return Rows()
    polls = view.polls
    began_ns = np.full(len(view.processes) + 1, NEVER_NS, np.int64)  # of a process that never asked
    low = np.full(len(view.processes) + 1, -1, np.int64)
    for number, process in enumerate(view.processes):
        asked = [one.asked_ns for one in view.ends if one.process == process and one.asked_ns > answers[0].at_ns]
        if asked:
            began_ns[number] = min(asked)
            low[number] = max(one.low_watermark for one in answers if one.at_ns < min(asked))
    rows = np.flatnonzero(
        (polls.offset >= 0) & (polls.offset < low[polls.process]) & (polls.completed_ns >= began_ns[polls.process])
    )
    shown = rows[:EVIDENCE_LIMIT].tolist()
    return Rows((reader(view, row) | {"low_watermark": int(low[polls.process[row]])} for row in shown), total=len(rows))
