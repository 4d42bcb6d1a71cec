"""Replicas of a large partition read in parts, so that several threads can read at once, with the same result.

A log may be cut before an entry that begins at the same offset in each of its replicas that do not end below it.
Brokers roll their segments where they like (a follower appends many batches at once, its leader one), so the cuts are
inside of segments. Entries have no mark, so where one begins is a guess. It is the next bytes that look like a header
of message format 2, and like another where that entry ends.

A wrong guess costs time only, for `join` is told what each part came to. What one reading
(`kafkafiles.replica.examine`) carries over a border is little where all is in order there. It is the highest offset,
which must lie below the border, the leader epoch, and no record that is still to be compared. So parts are put together
if at each border all continuing replicas end at one offset, at which the longest of that part ends, and their entries
follow on each other up to it. Else the result is None, and the caller reads the whole. Differences and wrong checksums
within a part are found there as they are in the whole.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final, Generic

import numpy as np

from kafkafiles.batches import V2_HEADER_BYTES, BatchHeader, header_at
from kafkafiles.replica import Broker, Examination, Replica, Segment, slices_of
from kafkafiles.walk import ANY_OFFSET, EpochRun, Slice

MOST_PARTS: Final = 16
_MAGIC: Final = 2
_MAGIC_AT: Final = 16
_SEARCHED_BYTES: Final = (1 << 16, 1 << 18, 1 << 20, 1 << 22)
"""How many bytes are searched for the beginning of an entry: as few as have one, and not more than the last."""
_GUESSES: Final = 1000
"""Headers that are looked at in one search."""
_Place = tuple[int, int]
"""In a log: which segment, and the byte in it. The end is the segment after the last, byte 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[Broker]):
    """One part: the offsets from its border up to the next, and what of each replica's files is in it."""

    offsets: range
    slices: Mapping[Broker, Sequence[Slice]]


def parts_of(directories: Mapping[Broker, Path], most: int = MOST_PARTS) -> list[Part[Broker]]:
    """So many parts at most, of like size; one at least. Raises ParseError as `examine` does, OSError if a file cannot
    be read.
    """
    logs = {broker: slices_of(directory) for broker, directory in directories.items()}
    longest: Sequence[Slice] = max(logs.values(), key=_size) if logs else ()
    offsets: list[int] = [0]
    cuts: list[dict[Broker, _Place]] = [dict.fromkeys(logs, (0, 0))]
    for offset, place in _candidates(longest, most):
        found = {broker: _place_of(log, offset, place[1]) for broker, log in logs.items()}
        cut = {broker: at for broker, at in found.items() if at is not None}
        if len(cut) == len(logs) and offset > offsets[-1]:
            offsets.append(offset)
            cuts.append(cut)
    ends = cuts[1:]
    ends.append({broker: (len(log), 0) for broker, log in logs.items()})
    return [
        Part(
            offsets=range(first, stop),
            slices={broker: _between(log, begin[broker], end[broker], first) for broker, log in logs.items()},
        )
        for (first, stop), begin, end in zip(pairwise([*offsets, ANY_OFFSET]), cuts, ends, strict=True)
    ]


def _size(log: Sequence[Slice]) -> int:
    return sum(one.stop for one in log)


def _candidates(log: Sequence[Slice], most: int) -> Iterator[tuple[int, _Place]]:
    """Offsets at which entries begin that divide a log into so many stretches of like size, and where they are."""
    step = max(1, -(-_size(log) // most))
    passed = 0
    for number, one in enumerate(log):
        with _opened(one.path) as file:
            for at in range(-passed % step, one.stop, step):
                found = _entry_from(file, at, one)
                if found is not None and found.base_offset is not None:
                    yield found.base_offset, (number, found.position)
                elif number + 1 < len(log):
                    yield log[number + 1].base_offset, (number + 1, 0)
        passed += one.stop


def _between(log: Sequence[Slice], begin: _Place, end: _Place, offset: int) -> list[Slice]:
    """The slices of a log between two places, the first of which is where `offset` begins."""
    found = []
    for number, one in enumerate(log):
        if not begin[0] <= number <= end[0] or (number == end[0] and end[1] == 0):
            continue
        first = begin[1] if number == begin[0] else 0
        stop = end[1] if number == end[0] else one.stop
        found.append(replace(one, offset=offset if first else one.base_offset, begin=first, stop=stop))
    return found


def _place_of(log: Sequence[Slice], offset: int, guess: int) -> _Place | None:
    """Where a log has the entry that begins at an offset; its beginning, or its end, if all of it comes after, or
    before; None if there is no such entry. `guess`: the byte of a segment at which it is to be expected.
    """
    number = bisect_right([one.base_offset for one in log], offset) - 1
    if number < 0:
        return 0, 0
    one = log[number]
    if one.base_offset == offset:
        return number, 0
    with _opened(one.path) as file:
        low, high = 0, one.stop
        at = guess if guess < high else high // 2
        while high - low > _SEARCHED_BYTES[0]:
            found = _entry_from(file, at, one)
            if found is None or found.base_offset is None or found.base_offset > offset:
                high = at
            elif found.base_offset == offset:
                return number, found.position
            else:
                low = found.position
            at = (low + high) // 2
        while low < one.stop:
            header = _header(file, low, one.stop)
            if header is None or header.base_offset is None:
                return None
            if header.base_offset == offset:
                return number, low
            if header.last_offset >= offset:
                return None
            low += header.size
    return (len(log), 0) if number == len(log) - 1 else None


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _header(file: int, position: int, stop: int) -> BatchHeader | None:
    """The header of message format 2 at a byte of a file, if it looks like one."""
    data = os.pread(file, V2_HEADER_BYTES, position)
    if len(data) < V2_HEADER_BYTES:
        return None
    found = header_at(memoryview(data), 0, stop - position)
    return replace(found, position=position) if isinstance(found, BatchHeader) and found.magic == _MAGIC else None


def _entry_from(file: int, position: int, segment: Slice) -> BatchHeader | None:
    """The first entry of message format 2 that seems to begin at or after a byte of a segment; None if none is near."""
    for size in _SEARCHED_BYTES:
        data = np.frombuffer(os.pread(file, min(size, segment.stop - position), position), np.uint8)
        last = len(data) - V2_HEADER_BYTES + 1
        if last <= 0:
            return None
        # An offset below 2^56, a size below 2^24, the format.
        alike = (data[:last] == 0) & (data[8 : last + 8] == 0) & (data[_MAGIC_AT : last + _MAGIC_AT] == _MAGIC)
        for at in np.flatnonzero(alike)[:_GUESSES].tolist():
            found = _header(file, position + at, segment.stop)
            if found is not None and _followed(file, found, segment):
                return found
        if len(data) < size:
            return None
    return None


def _followed(file: int, one: BatchHeader, segment: Slice) -> bool:
    """Whether what may be an entry is followed by another, or by the segment's end."""
    if one.base_offset is None or one.base_offset < segment.base_offset:
        return False
    after = _header(file, one.end, segment.stop)
    return one.end == segment.stop or (after is not None and (after.base_offset or 0) > one.last_offset)


def join(parts: Sequence[tuple[range, Examination[Broker]]]) -> Examination[Broker] | None:
    """What one reading of all parts would have found; None if it takes that to tell."""
    whole: dict[Broker, Replica] = {}
    for within, part in reversed(parts):
        here = {broker: replica for broker, replica in part.replicas.items() if replica.segments}
        end = max((replica.leo for replica in here.values()), default=0)
        if end > within.stop or any(replica.notes for replica in part.replicas.values()):
            return None
        if any(broker not in here or here[broker].leo != end or not _chained(here[broker]) for broker in whole):
            return None
        for broker, replica in here.items():
            joined = _joined(replica, whole[broker], within.stop) if broker in whole else replica
            if joined is None:
                return None
            whole[broker] = joined
    if any(broker not in whole for broker in parts[0][1].replicas):
        return None
    return Examination(
        replicas={broker: whole[broker] for broker in parts[0][1].replicas},
        differences=tuple(difference for _, part in parts for difference in part.differences),
        more=False,
    )


def _chained(replica: Replica) -> bool:
    """Whether all entries of a part follow on each other."""
    return all(problem.corrupt.kind == "checksum" for problem in replica.problems)


def _joined(one: Replica, rest: Replica, border: int) -> Replica | None:
    """A replica's part and what comes after it; None if its epochs are not told anew from the border on."""
    if not any(segment.size for segment in rest.segments):
        runs: tuple[EpochRun, ...] = one.epoch_runs
    elif not one.epoch_runs and not rest.epoch_runs:
        runs = ()
    elif not one.epoch_runs or not rest.epoch_runs or rest.epoch_runs[0].first_offset != border:
        return None
    else:
        before, after = one.epoch_runs[-1], rest.epoch_runs[0]
        runs = (*one.epoch_runs, *rest.epoch_runs)
        if before.epoch == after.epoch:
            last = max(before.last_offset, after.last_offset)
            same = EpochRun(epoch=before.epoch, first_offset=before.first_offset, last_offset=last)
            runs = (*one.epoch_runs[:-1], same, *rest.epoch_runs[1:])
    return replace(
        one,
        leo=rest.leo,
        segments=_segments(one.segments, rest.segments),
        epoch_runs=runs,
        problems=one.problems + rest.problems,
    )


def _segments(one: tuple[Segment, ...], rest: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Segments of a part and of what comes after it, of which one may be in both."""
    if one[-1].base_offset != rest[0].base_offset:
        return one + rest
    records = one[-1].records + rest[0].records
    return (*one[:-1], replace(rest[0], records=records), *rest[1:])
