"""Large histories of others on Spark: the findings of analysis.jsonl, while no process has the whole history in memory.

    python -m analysis.jsonl FILE --master local[2]

The file is shuffled twice, and each task has a part of it that it can hold:

    ranges of bytes      parse lines, and bring those of a process together, in the order of the file
    some processes       understand their lines one after the other (jsonl_reader.LineReader): what they did in each key
    some keys            put the rows of each key in order, and check it (jsonl_keys.check_keys)

The first two hold little at a time: Spark sorts on disk, and a reader keeps what a process has begun. The third holds
its keys as the one process does all keys (analysis.jsonl). What crosses keys goes through the driver: what is known of
processes, and what keys tell of operations of unknown outcome. What keys tell of transactions is shuffled by
transaction (analysis.across).

Limits: the rows of one key are in the memory of one task. Problems, findings and operations of unknown outcome are in
the memory of the driver.

Lines go from task to task as marshalled bytes, many together: for Python's shuffle the number of records is what costs.
All machines of a cluster must see the file by the same path.
"""

from __future__ import annotations

import marshal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

from analysis.across import GatheredRow, on_spark
from analysis.jsonl_keys import UnknownSends, check_keys, of_lines, settled_by, unknown_sends
from analysis.jsonl_reader import NONE, KeyRow, LineReader, Others, parsed, unreadable
from analysis.result import Result, merge
from analysis.spark import close_context, open_context
from checks.settled_operations import Operation, Settled
from evidence.findings import Findings

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

RANGE_BYTES: Final = 16 << 20
"""What a task parses."""
KEYS_BYTES: Final = 32 << 20
"""Lines of so many bytes are those of a task's keys, if keys are alike."""
READERS_A_CORE: Final = 4
LINES_TOGETHER: Final = 20_000
ROWS_TOGETHER: Final = 50_000


class FileRange(NamedTuple):
    """Bytes of a file: the lines that begin there."""

    begin: int
    end: int
    before: int = 0
    """How many lines begin before."""


@dataclass(frozen=True, slots=True)
class PartCounts:
    """Into how many parts the history is cut."""

    processes: int
    keys: int


def check_on(master: str, path: Path) -> Findings:
    """The findings of a history, by a Spark application of its own.

    Raises UsageError if there is no such file, nothing in it can be read, or there is no such master.
    """
    try:
        path.open("rb").close()
    except OSError as error:
        raise unreadable(path, error) from None
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-spark-") as scratch:
        context = open_context(master, scratch)
        try:
            return check_large(context, path.resolve())
        finally:
            close_context(context)


def check_large(
    context: SparkContext, path: Path, *, range_bytes: int = RANGE_BYTES, keys_bytes: int = KEYS_BYTES
) -> Findings:
    """The findings of a history. Raises UsageError if nothing in it can be read."""
    begun = time.monotonic()
    size, cores = path.stat().st_size, context.defaultParallelism
    parts = PartCounts(READERS_A_CORE * cores, max(cores, -(-size // keys_bytes)))
    rows = _rows(context, path, size, parts, range_bytes)
    facts = Others()
    for one in context.runJob(rows, _values, [parts.keys]):
        facts.join(one)
    facts.refuse_other_files(path)
    known = context.broadcast(facts)
    told: list[Any] = []
    if facts.unknown:
        told = context.runJob(rows, lambda records: told_of_unknown(records, known.value), range(parts.keys))
    settled = context.broadcast(settled_by(told))
    checked = rows.mapPartitions(lambda records: checked_keys(records, known.value, settled.value)).cache()
    results = sorted(checked.map(lambda one: (one[0], one[1], bool(one[2]))).collect(), key=lambda one: one[0])
    rank = {name: number for number, (name, _, tells) in enumerate(results) if tells}
    across = on_spark(checked.flatMap(lambda one: _gathered(rank.get(one[0], NONE), one[2])), [""])[""]
    return merge([of_lines(facts), *(one for _, one, _ in results)], time.monotonic() - begun, across)


# Lines


def _rows(context: SparkContext, path: Path, size: int, parts: PartCounts, range_bytes: int) -> RDD[tuple[int, Any]]:
    """Rows of keys, together in the part of their key; in a last part what is known of processes."""
    ranges = [FileRange(begin, min(begin + range_bytes, size)) for begin in range(0, size, range_bytes)]
    counts = _over(context, ranges, lambda one: [line_count(path, one)]).collect()
    before = 0
    for place, count in enumerate(counts):
        ranges[place] = ranges[place]._replace(before=before)
        before += count
    by_process: RDD[tuple[tuple[int, int], bytes]] = _over(context, ranges, lambda one: parsed_lines(path, one, parts))
    in_order = by_process.repartitionAndSortWithinPartitions(parts.processes, lambda key: key[0])
    return in_order.mapPartitions(lambda blobs: understood(blobs, parts)).partitionBy(parts.keys + 1, lambda key: key)


def _over(context: SparkContext, ranges: list[FileRange], work: Callable[[FileRange], Iterable[Any]]) -> RDD[Any]:
    """The work on each range, a task each."""
    return context.parallelize(ranges, max(1, len(ranges))).flatMap(work)


def _lines(path: Path, of: FileRange) -> Iterator[bytes]:
    """The lines that begin in a range."""
    with path.open("rb") as file:
        place = max(0, of.begin - 1)
        file.seek(place)
        if of.begin:
            place += len(file.readline())  # ends where the first line of the range begins, or later
        while place < of.end and (line := file.readline()):
            place += len(line)
            yield line


def line_count(path: Path, of: FileRange) -> int:
    """How many lines begin in a range."""
    return sum(1 for _ in _lines(path, of))


def _part_of(name: str, parts: int) -> int:
    """The part that has this process or key: the same in every Python process, unlike `hash`."""
    return crc32(name.encode(errors="surrogatepass")) % parts


def parsed_lines(path: Path, of: FileRange, parts: PartCounts) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Parsed lines with their numbers, those of a part's processes together, by the part and the first number."""
    lines = enumerate(_lines(path, of), start=of.before + 1)
    while some := list(islice(lines, LINES_TOGETHER)):
        of_part: dict[int, list[tuple[int, dict[str, Any] | str]]] = {}
        for number, text in some:
            if text.strip():
                line = parsed(text)
                process = line.get("process") if isinstance(line, dict) else None
                of_part.setdefault(_part_of(str(process), parts.processes), []).append((number, line))
        for part, own in of_part.items():
            yield (part, own[0][0]), marshal.dumps(own)


# Processes


def understood(blobs: Iterable[tuple[tuple[int, int], bytes]], parts: PartCounts) -> Iterator[tuple[int, Any]]:
    """Rows of keys, by the part of the key, and last what is known of these processes."""
    waiting: list[KeyRow] = []
    reader = LineReader(waiting.append)
    for _, blob in blobs:
        for number, line in marshal.loads(blob):
            reader.take(number, line)
        if len(waiting) >= ROWS_TOGETHER:
            yield from _sorted_by_part(waiting, parts)
            waiting.clear()
    reader.close()
    yield from _sorted_by_part(waiting, parts)
    yield parts.keys, reader.others


def _sorted_by_part(rows: Iterable[KeyRow], parts: PartCounts) -> Iterator[tuple[int, bytes]]:
    of_part: dict[int, list[tuple[Any, ...]]] = {}
    for row in rows:
        of_part.setdefault(_part_of(row.key, parts.keys), []).append(tuple(row))
    for part, own in of_part.items():
        yield part, marshal.dumps(own)


def _values(records: Iterable[tuple[int, Any]]) -> list[Any]:
    return [value for _, value in records]


# Keys


def _keys(records: Iterable[tuple[int, Any]], known: Others) -> Others:
    """The keys of a part, with what is known of all processes."""
    rows = [KeyRow(*row) for _, blob in records if isinstance(blob, bytes) for row in marshal.loads(blob)]
    rows.sort(key=lambda row: row.order)
    others = Others(times={})
    others.join(known)
    for row in rows:
        others.add(row)
        others.times[row.invoked] = row.invoked_ns
        others.times[row.completed] = row.completed_ns
    return others


def told_of_unknown(records: Iterable[tuple[int, Any]], known: Others) -> Iterator[tuple[Operation, UnknownSends]]:
    """What the keys of a part tell of operations of unknown outcome."""
    others = _keys(records, known)
    for key in others.keys.values():
        yield from unknown_sends(key, others).items()


def checked_keys(
    records: Iterable[tuple[int, Any]], known: Others, settled: Settled
) -> Iterator[tuple[str, Result, dict[str, Any]]]:
    """What is found of each key, by its name, and what it tells of transactions."""
    others = _keys(records, known)
    for name, result in check_keys(others, settled):
        gathered, result.gathered = result.gathered, {}
        yield name, result, gathered


def _gathered(number: int, gathered: dict[str, Any]) -> Iterator[GatheredRow]:
    for kind, rows in gathered.items():
        for place, row in enumerate(rows):
            yield GatheredRow("", kind, (number, place), row)
