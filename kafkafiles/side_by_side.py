"""Replicas' directories of any cluster, compared and described: the command line of `kafkafiles`.

    python -m kafkafiles.side_by_side DIRECTORY DIRECTORY… [--json] [--compacted] [--limit N]

A directory is a partition's (`orders-0`) or a log directory with partitions in it, as copied from brokers. Partitions
of the same name are compared with each other; the replica's name is that of the directory given (the part of the path
that tells them apart). Shown are the first differences, record by record, and everything that cannot be trusted. Exit
status 0: alike and sound; 1: they differ, or something is corrupt; 254: there is nothing to compare, or a file cannot
be read. Partitions that only one of the directories holds are named, and no difference: replicas may be fewer than
brokers. Memory does not grow with the files (`kafkafiles.walk`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafkafiles import codecs
from kafkafiles.batches import Record
from kafkafiles.crc import crc32c
from kafkafiles.errors import FilesError, ParseError, RequestError
from kafkafiles.options import DEFAULT_LIMIT, add_arguments
from kafkafiles.replica import Difference, Replica, SegmentProblem, examine, topic_partition_of

ALIKE: Final = 0
DIFFERENT: Final = 1
UNREADABLE: Final = 254
"""Exit statuses: all replicas agree; they differ or are damaged; there is no such directory, or it cannot be read."""
_TEXT_MAX: Final = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaComparison:
    """One partition: its replicas by name, the first differences, whether there are more, and what is corrupt."""

    topic: str
    partition: int
    replicas: Mapping[str, Replica]
    differences: tuple[Difference[str], ...]
    more: bool
    corrupt: tuple[str, ...]

    @property
    def sound(self) -> bool:
        return not self.differences and not self.corrupt


def compare_directories(
    directories: Sequence[Path], *, compacted: bool = False, limit: int = DEFAULT_LIMIT
) -> list[ReplicaComparison]:
    """Compare every partition that is in at least two of the directories.

    Raises RequestError if there is no such partition, ParseError if a directory is no partition's or a file cannot be
    read.
    """
    found = _found(directories)
    shared = {at: paths for at, paths in found.items() if len(paths) > 1}
    if not shared:
        held = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(found)) or "no partition"
        raise RequestError(f"no partition is in two of the directories given; they hold {held}")
    return [_compare(at, paths, compacted, limit) for at, paths in sorted(shared.items())]


def alone(directories: Sequence[Path]) -> Iterator[str]:
    """A line for each partition that has nothing to be compared with."""
    for (topic, partition), paths in sorted(_found(directories).items()):
        if len(paths) == 1:
            yield f"{topic}-{partition}: only in {next(iter(paths))}, not compared"


def _found(directories: Sequence[Path]) -> dict[tuple[str, int], dict[str, Path]]:
    """The partitions in the directories, by the replicas' names."""
    found: dict[tuple[str, int], dict[str, Path]] = {}
    for name, directory in zip(_names(directories), directories, strict=True):
        for path in _partitions(directory):
            found.setdefault(topic_partition_of(path), {})[name] = path
    return found


def _compare(at: tuple[str, int], paths: Mapping[str, Path], compacted: bool, limit: int) -> ReplicaComparison:
    examined = examine(paths, compacted=compacted, limit=limit)
    corrupt = [fault(name, each) for name, replica in examined.replicas.items() for each in replica.corruption]
    corrupt += [f"{name}: {note}" for name, replica in examined.replicas.items() for note in replica.notes]
    return ReplicaComparison(
        topic=at[0],
        partition=at[1],
        replicas=examined.replicas,
        differences=examined.differences,
        more=examined.more,
        corrupt=tuple(corrupt),
    )


def fault(name: str, problem: SegmentProblem) -> str:
    """A problem of a replica, as `ReplicaComparison.corrupt` has it."""
    corrupt = problem.corrupt
    return f"{name}: segment {problem.segment}, byte {corrupt.position}: {corrupt.kind}: {corrupt.reason}"


def _partitions(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise ParseError(f"{directory}: not a directory; give a partition's or a log directory")
    if _is_partition(directory.resolve()):
        return [directory.resolve()]
    try:
        return sorted(path for path in directory.resolve().iterdir() if path.is_dir() and _is_partition(path))
    except OSError as error:
        raise ParseError(f"{directory}: cannot be read: {error.strerror or error}") from None


def _is_partition(path: Path) -> bool:
    try:
        topic_partition_of(path)
    except ParseError:
        return False
    return any(path.glob("*.log"))


def _names(directories: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths, without what all have in common, that tell the directories apart."""
    parts = [list(path.resolve().parts) for path in directories]
    while len({tuple(each) for each in parts}) == len(parts) and all(len(each) > 1 for each in parts):
        if len({each[-1] for each in parts}) > 1:
            break
        parts = [each[:-1] for each in parts]
    while all(len(each) > 1 for each in parts) and len({each[0] for each in parts}) == 1:
        parts = [each[1:] for each in parts]
    names = ["/".join(each) for each in parts]
    return names if len(set(names)) == len(names) else [str(path) for path in directories]


# Describing


def lines(comparisons: Sequence[ReplicaComparison]) -> Iterator[str]:
    """The comparison for people: a line a partition, then its differences as small tables."""
    for one in comparisons:
        ends = ", ".join(f"{name} {replica.start_offset}…{replica.leo}" for name, replica in one.replicas.items())
        if one.sound:
            verdict = "alike"
        elif one.differences:
            count = f"{len(one.differences)}{' or more' if one.more else ''}"
            verdict = f"{count} offset{'s differ' if one.more or len(one.differences) > 1 else ' differs'}"
        else:
            verdict = "alike, but not sound"
        yield f"{one.topic}-{one.partition}: {verdict} ({ends})"
        yield from (f"  {problem}" for problem in one.corrupt)
        for difference in one.differences:
            yield f"  offset {difference.offset}: {', '.join(difference.fields)}"
            width = max(len(name) for name in difference.records)
            for name, record in difference.records.items():
                yield f"    {name:<{width}}  {_line(record)}"


def _line(record: Record | None) -> str:
    if record is None:
        return "no record"
    kind = f"control {record.control}" if record.control is not None else f"value {_text(record.value)}"
    return (
        f"epoch {record.leader_epoch}  time {record.timestamp_ms}  producer {record.producer_id}/{record.sequence}  "
        f"key {_text(record.key)}  {kind}  at byte {record.position}{'' if record.valid else '  NOT VALID'}"
    )


def _text(data: bytes | None) -> str:
    if data is None:
        return "null"
    short = data[:_TEXT_MAX]
    shown = short.decode("ascii", errors="backslashreplace")
    readable = shown if shown.isprintable() else f"0x{short.hex()}"
    return f"{readable}{'…' if len(data) > _TEXT_MAX else ''} ({len(data)} bytes, crc {crc32c(data):08x})"


def as_json(comparisons: Sequence[ReplicaComparison]) -> list[dict[str, Any]]:
    """The comparison for programs."""
    return [
        {
            "topic": one.topic,
            "partition": one.partition,
            "alike": not one.differences,
            "corrupt": list(one.corrupt),
            "replicas": {
                name: {"path": str(replica.path), "start_offset": replica.start_offset, "leo": replica.leo}
                for name, replica in one.replicas.items()
            },
            "more_differences": one.more,
            "differences": [
                {
                    "offset": each.offset,
                    "fields": list(each.fields),
                    "records": {name: _json(record) for name, record in each.records.items()},
                }
                for each in one.differences
            ],
        }
        for one in comparisons
    ]


def _json(record: Record | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "leader_epoch": record.leader_epoch,
        "timestamp_ms": record.timestamp_ms,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "sequence": record.sequence,
        "control": record.control,
        "codec": codecs.name(record.codec),
        "format": record.magic,
        "position": record.position,
        "valid": record.valid,
        "key": None if record.key is None else record.key.hex(),
        "value": None if record.value is None else record.value.hex(),
        "headers": [[key.hex(), None if value is None else value.hex()] for key, value in record.headers],
    }


def run(options: argparse.Namespace) -> int:
    """Compare and print; the exit status. Raises FilesError."""
    if options.limit < 1:
        raise RequestError(f"--limit {options.limit}: it must be at least 1")
    comparisons = compare_directories(options.directories, compacted=options.compacted, limit=options.limit)
    if options.json:
        sys.stdout.write(json.dumps(as_json(comparisons)) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in (*lines(comparisons), *alone(options.directories)))
    return ALIKE if all(one.sound for one in comparisons) else DIFFERENT


def main(arguments: Sequence[str] | None = None) -> int:
    """The module as a program; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m kafkafiles.side_by_side", description=__doc__)
    add_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except FilesError as error:
        sys.stderr.write(f"{parser.prog}: {error}\n")
        return UNREADABLE


if __name__ == "__main__":
    sys.exit(main())
