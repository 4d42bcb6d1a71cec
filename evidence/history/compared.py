"""Sealed histories, compared with the streams that they were made from.

Sealed files are what is read, and streams are kept beside them: rows that somebody left out of the one, or changed in
it, the other still has. The number of rows of each topic-partition is compared at any size, for footers and runs have
it. The rows themselves, and whether the numbers in them have gaps, are compared for processes of up to COMPARED_ROWS
rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa

from evidence.findings import Problem
from evidence.history.read import (
    UNREADABLE,
    from_batches,
    open_sealed,
    open_stream,
    processes_of,
    sealed_rows,
)
from evidence.history.runs import counts_of
from evidence.run import RunRecord
from evidence.rundir import RunDir

COMPARED_ROWS: Final = 200_000
"""Reading so many rows twice takes a fifth of a second."""
Key = tuple[str, int]


def differing(run_dir: RunDir, run: RunRecord) -> Iterator[Problem]:
    """What sealed histories have otherwise than their streams, a problem for each process at most."""
    for name in processes_of(run_dir, run):
        try:
            sealed = sealed_rows(run_dir, name)
        except (*UNREADABLE, pa.ArrowException):
            continue  # not sealed, or damaged: its stream is what is read
        if run_dir.stream(name).exists():
            yield from _against_stream(run_dir, name, sealed)
        else:
            yield Problem("missing history", name, "its stream is gone, which its sealed files were made from")


def _against_stream(run_dir: RunDir, name: str, sealed: Mapping[Key, int]) -> Iterator[Problem]:
    path = run_dir.stream(name)
    complaints: list[str] = []
    recorded = _counted(from_batches(path, complaints, _counts))
    if complaints:
        yield Problem("damaged history", name, f"its stream, which its sealed files were made from: {complaints[0]}")
        return
    file = f"history/{path.name}"
    for topic, partition in sorted(sealed.keys() | recorded.keys()):
        of_sealed, of_stream = sealed.get((topic, partition), 0), recorded.get((topic, partition), 0)
        if of_sealed != of_stream:
            rows = f"{of_sealed} rows of {topic}-{partition} are sealed, its stream has {of_stream}"
            yield Problem("differing history", name, rows, file)
            return
    if sum(sealed.values()) <= COMPARED_ROWS:
        yield from _row_by_row(run_dir, name, file)


def _row_by_row(run_dir: RunDir, name: str, file: str) -> Iterator[Problem]:
    stream, sealed = open_stream(run_dir, name), open_sealed(run_dir, name)
    if sealed is None:
        return  # damaged: its stream is what is read
    yield from stream.problems
    for topic, partition in stream.partitions:
        if not stream.tables[topic, partition].equals(sealed.tables[topic, partition]):
            yield Problem("differing history", name, f"what is sealed of {topic}-{partition} is not its stream's", file)
            return
    if not stream.operations.equals(sealed.operations):
        yield Problem("differing history", name, "what is sealed of no partition is not its stream's", file)


def _counts(batch: pa.RecordBatch) -> Iterator[Counter[Key]]:
    """The rows that a recorded batch stands for, by topic-partition."""
    counts, _ = counts_of(batch)
    columns = {name: batch.column(name) for name in ("topic", "partition")} | {"rows": pa.array(counts)}
    table = pa.table(columns | {"topic": columns["topic"].cast(pa.string())})
    summed = table.group_by(["topic", "partition"]).aggregate([("rows", "sum")]).to_pylist()
    yield Counter(
        {
            (row["topic"], row["partition"]): row["rows_sum"]
            for row in summed
            if row["topic"] is not None and row["partition"] is not None
        }
    )


def _counted(batches: Iterable[Counter[Key]]) -> Counter[Key]:
    total: Counter[Key] = Counter()
    for counted in batches:
        total.update(counted)
    return total
