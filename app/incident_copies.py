"""What copied replicas tell beside their records: whether two hold other records, or one has skipped some, and why.

A leader finds an offset by the index beside a segment. An index has no checksum. If an entry of it points behind the
segment's end, the leader answers from the next segment, without an error, and a follower takes this for a gap that
compaction has left. So the follower lacks records in the middle of its log, and the damaged index lies beside another
replica's segment that has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafkafiles import errors, index_checks, indexes
from kafkafiles.columns import read_headers
from kafkafiles.replica import Difference, Replica
from kafkafiles.side_by_side import ReplicaComparison

MISSING = "record"
"""What is said to differ where a replica has no record at an offset."""


def holds_others(difference: Difference[str]) -> bool:
    """Whether two replicas hold different records at an offset; not if all that have one have the same."""
    return any(field != MISSING for field in difference.fields)


def hiding_indexes(comparison: ReplicaComparison) -> Iterator[str]:
    """What is wrong with indexes beside segments that hold records which another replica has skipped, a sentence for
    each index.
    """
    read: set[Path] = set()
    for difference in comparison.differences:
        if MISSING not in difference.fields:
            continue
        for name in (name for name, record in difference.records.items() if record is not None):
            log = closed_segment(comparison.replicas[name], difference.offset)
            if log is not None and log not in read:
                read.add(log)
                if wrong := wrong_entry(log):
                    where = f"{comparison.topic}-{comparison.partition}, {name}"
                    yield f"{where}: {log.with_suffix('.index').name}: {wrong}; a replica skipped {difference.offset}"


def closed_segment(replica: Replica, offset: int) -> Path | None:
    """The segment that has an offset, if another one follows: the index of one that is written to is not comparable."""
    before = [one for one in replica.segments if one.base_offset <= offset]
    return before[-1].path if before and before[-1] is not replica.segments[-1] else None


def wrong_entry(log: Path) -> str:
    """What is wrong with the offset index beside a closed segment; "" if nothing is, or it cannot be told."""
    index = log.with_suffix(".index")
    try:
        data = index.read_bytes()
        if indexes.is_open(data):
            return ""
        headers, _ = read_headers(log)
        base = indexes.base_offset_of(index)
        return next(iter(index_checks.check_index(indexes.parse_index(data, base, index.name), headers)), "")
    except errors.ParseError as error:  # its entries do not even ascend
        return str(error)
    except OSError:
        return ""
