"""resurrected: records that were deleted by request (KIP-107), and are read again.

The answer to a request to delete has the partition's low watermark: the offset at which, or beyond, every replica in
sync begins. From then on nobody may be given a record before it, whoever leads. A reader may have fetched records
before they were deleted and hand them out later. So a read counts only of a reader that asked for the log's bounds
after the answer, as the final reader does before it reads, and as a background reader does when its position is gone:
what it had fetched before, it throws away.

A topic that is deleted and made again begins anew: what was answered before the last deletion of the topic is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from checks.catalogue import registered
from checks.view import EVIDENCE_LIMIT, NEVER_NS, PartitionView, Rows, reader
from evidence.course import Course
from evidence.events import DeleteTopic, RecordsDeleted, of


def confirmed(course: Course, topic: str, partition: int) -> list[RecordsDeleted]:
    """The answers that still hold of a partition, in order."""
    made_again_ns = max((one.at_ns for one in of(course.events, DeleteTopic) if one.topic == topic), default=-1)
    answers = [one for one in of(course.events, RecordsDeleted) if (one.topic, one.partition) == (topic, partition)]
    return [one for one in answers if one.at_ns > made_again_ns]


def resurrected(view: Callable[[], PartitionView], course: Course, topic: str, partition: int) -> Rows:
    """Reads of records before the low watermark that had been answered when the reader began. The view, of all rows,
    is asked for only if records were deleted.
    """
    answers = confirmed(course, topic, partition)
    if not answers:
        return Rows()
    seen = view()
    polls = seen.polls
    began_ns = np.full(len(seen.processes) + 1, NEVER_NS, np.int64)  # of a process that never asked
    low = np.full(len(seen.processes) + 1, -1, np.int64)
    for number, process in enumerate(seen.processes):
        asked = [one.asked_ns for one in seen.ends if one.process == process and one.asked_ns > answers[0].at_ns]
        if asked:
            began_ns[number] = min(asked)
            low[number] = max(one.low_watermark for one in answers if one.at_ns < min(asked))
    rows = np.flatnonzero(
        (polls.offset >= 0) & (polls.offset < low[polls.process]) & (polls.completed_ns >= began_ns[polls.process])
    )
    shown = rows[:EVIDENCE_LIMIT].tolist()
    return Rows((reader(seen, row) | {"low_watermark": int(low[polls.process[row]])} for row in shown), total=len(rows))


DELETION_CHECKS: Final = registered({"resurrected": resurrected})
