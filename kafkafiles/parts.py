"""Replicas of a large partition read in parts, so that several threads can read at once, with the same result.

A log may be cut where each of its replicas begins a segment. What one reading (`kafkafiles.replica.examine`) carries
over such a border is little where all is in order: the highest offset, which must lie below the border, and the leader
epoch. `join` puts the parts together if all is in order in all of them:
nothing wrong or odd in a file, no difference, and at each border all replicas that go on end at one offset, at which
the longest of that part ends. Else it gives None, and the caller reads the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from kafkafiles.replica import Broker, Examination, Replica, segment_paths
from kafkafiles.walk import ANY_OFFSET, EpochRun

MOST_PARTS: Final = 16


def parts_of(directories: Mapping[Broker, Path]) -> list[range]:
    """The base offsets of the segments of each part, one at least."""
    bases = [{int(path.name[:20]) for path in segment_paths(directory)} for directory in directories.values()]
    common: list[int] = sorted(set.intersection(*bases))[1:] if bases else []
    starts: list[int] = [0, *common[:: len(common) // MOST_PARTS + 1]]
    return [range(low, high) for low, high in pairwise([*starts, ANY_OFFSET])]


def join(parts: Sequence[tuple[range, Examination[Broker]]]) -> Examination[Broker] | None:
    """What one reading of all parts would have found; None if it takes that to tell."""
    whole: dict[Broker, Replica] = {}
    for within, part in reversed(parts):
        if part.differences or any(one.problems or one.notes for one in part.replicas.values()):
            return None
        here = {broker: replica for broker, replica in part.replicas.items() if replica.segments}
        end = max((replica.leo for replica in here.values()), default=0)
        if end > within.stop or any(broker not in here or here[broker].leo != end for broker in whole):
            return None
        for broker, replica in here.items():
            joined = _joined(replica, whole[broker], within.stop) if broker in whole else replica
            if joined is None:
                return None
            whole[broker] = joined
    if any(broker not in whole for broker in parts[0][1].replicas):
        return None
    return Examination(replicas={b: whole[b] for b in parts[0][1].replicas}, differences=(), more=False)


def _joined(one: Replica, rest: Replica, border: int) -> Replica | None:
    """A replica's part and what comes after it; None if its epochs are not told anew from the border on."""
    if not one.epoch_runs and not rest.epoch_runs:
        runs: tuple[EpochRun, ...] = ()
    elif not one.epoch_runs or not rest.epoch_runs or rest.epoch_runs[0].first_offset != border:
        return None
    else:
        before, after = one.epoch_runs[-1], rest.epoch_runs[0]
        runs = (*one.epoch_runs, *rest.epoch_runs)
        if before.epoch == after.epoch:
            last = max(before.last_offset, after.last_offset)
            same = EpochRun(epoch=before.epoch, first_offset=before.first_offset, last_offset=last)
            runs = (*one.epoch_runs[:-1], same, *rest.epoch_runs[1:])
    return replace(one, leo=rest.leo, segments=one.segments + rest.segments, epoch_runs=runs)
