"""The copies of one large partition, all moments of them, read by threads of its task.

Where the parts (kafkafiles.parts) tell what the whole would, they are done; of any other moment the copies are read
again, whole, by who asked (analysis.read_copies).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analysis.prefetch import in_order
from evidence.nodes import number_of
from kafkafiles.errors import ParseError
from kafkafiles.parts import Part, join, parts_of
from kafkafiles.replica import Examination, examine

if TYPE_CHECKING:
    from analysis.copied_records import CopiedRecords

LARGE_BYTES: Final = 1 << 30
"""From so many bytes on, all copies together, the copies of one partition are read in parts."""

_Part = tuple[range, Examination[int] | None]


def read_split(
    of_moment: Mapping[str, Sequence[Path]], *, compacted: bool, copied: Callable[[str], CopiedRecords] | None
) -> dict[str, Examination[int]]:
    """By moment, the examinations of copies that could be read in parts, given their directories. Raises nothing that
    reading them whole does not raise.
    """
    try:
        large = _size(of_moment) >= LARGE_BYTES
        work = [one for moment, paths in of_moment.items() if large for one in _work(moment, paths, compacted, copied)]
    except (ParseError, OSError, ValueError):
        return {}  # reading the whole tells what is the matter
    read: dict[str, list[_Part]] = {}
    for (moment, within, _), part in zip(work, in_order((one for _, _, one in work), ahead=True), strict=True):
        read.setdefault(moment, []).append((within, part))
    joined = {moment: _join(parts) for moment, parts in read.items()}
    return {moment: one for moment, one in joined.items() if one is not None}


def _size(of_moment: Mapping[str, Sequence[Path]]) -> int:
    directories = [directory for paths in of_moment.values() for directory in paths]
    return sum(path.stat().st_size for directory in directories for path in directory.glob("*.log"))


def _work(
    moment: str, paths: Sequence[Path], compacted: bool, copied: Callable[[str], CopiedRecords] | None
) -> list[tuple[str, range, Callable[[], Examination[int] | None]]]:
    copies = {number_of(directory.parent.name): directory for directory in paths}
    told = None if copied is None else copied(moment)
    if told is not None:
        for broker in copies:
            told.bit(broker)  # given out before threads ask for them
    return [(moment, part.offsets, partial(_part, copies, compacted, told, part)) for part in parts_of(copies)]


def _part(
    copies: Mapping[int, Path], compacted: bool, copied: CopiedRecords | None, part: Part[int]
) -> Examination[int] | None:
    """One part of the copies of a moment; None if it cannot be read: it must not raise while others are read."""
    try:
        return examine(copies, compacted=compacted, passed=copied, within=part.slices)
    except (ParseError, OSError, ValueError):
        return None


def _join(parts: Sequence[_Part]) -> Examination[int] | None:
    sound = [(within, part) for within, part in parts if part is not None]
    return join(sound) if len(sound) == len(parts) else None
