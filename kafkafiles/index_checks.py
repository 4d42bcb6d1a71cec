"""Whether the indexes beside a segment fit the segment (kafkafiles/indexes.py reads them).

An index is sparse and each broker's own, so two replicas' may differ. It is wrong if an entry of it is not what the
`.log` beside it holds. A file that is still open cannot be compared (`kafkafiles.indexes.is_open`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafkafiles.columns import HeaderArray
from kafkafiles.indexes import IndexEntry, TimeIndexEntry


def check_index(entries: Sequence[IndexEntry], headers: HeaderArray) -> list[str]:
    """What is wrong with the offset index of a closed segment (not `is_open`); empty if it is right.

    `headers` are those of the segment's .log. An entry says where to begin looking for an offset, so its position must
    be where a batch begins, with nothing before it that is at or above the offset. Which offset of an append is entered
    differs by version (its first up to 0.10.2, then its last), and an append on a follower has several batches: no more
    can be asked of an entry.
    """
    positions = np.ascontiguousarray(headers["position"])
    last = headers["last_offset"]
    end = int(last[-1]) if len(headers) else -1
    wrong = []
    for entry in entries:
        at = int(np.searchsorted(positions, entry.position))
        if at == len(positions) or positions[at] != entry.position:
            wrong.append(f"offset {entry.offset}: no batch begins at byte {entry.position}")
        elif at and last[at - 1] >= entry.offset:
            wrong.append(f"offset {entry.offset} is before byte {entry.position}, where a later batch begins")
        elif entry.offset > end:
            wrong.append(f"offset {entry.offset}: the log ends at offset {end}")
    return wrong


def check_time_index(entries: Sequence[TimeIndexEntry], headers: HeaderArray) -> list[str]:
    """What is wrong with the time index of a closed segment (not `is_open`) whose .log has these headers: a timestamp
    that an earlier record passes, or that no batch has. Empty if it is right.
    """
    latest = np.maximum.accumulate(np.concatenate(([-1], headers["max_timestamp_ms"])))
    known = np.unique(headers["max_timestamp_ms"])
    reached = np.maximum.accumulate(headers["last_offset"])
    wrong = []
    for entry in entries:
        before = int(latest[np.searchsorted(reached, entry.offset, side="right")])
        at = int(np.searchsorted(known, entry.timestamp_ms))
        if entry.timestamp_ms < before:
            wrong.append(f"offset {entry.offset}: {entry.timestamp_ms} ms, but a record up to there has {before} ms")
        elif at == len(known) or known[at] != entry.timestamp_ms:
            wrong.append(f"offset {entry.offset}: no batch has the timestamp {entry.timestamp_ms} ms")
    return wrong
