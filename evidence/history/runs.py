"""Runs: records that follow one another, on record as one row.

In what a load sends, and a consumer reads of it, offsets and sequences go up by one and all else stays the same for
hundreds of records. Writing a row for each would cost more than everything else about recording, so a send or a poll
row with a `count` stands for that many. The writer finds where runs begin, the reader expands them, and no other module
knows of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evidence.history import schema

EXPANDED_ROWS: Final = 131_072
"""Rows given back at once, at most."""

Numbers = npt.NDArray[Any]


def starts(counting: Sequence[Numbers], alike: Sequence[Numbers]) -> npt.NDArray[np.intp]:
    """The places at which runs begin: where a column of `counting` does not go up by one, or one of `alike` changes."""
    breaks = np.zeros(len(counting[0]), np.bool_)
    breaks[:1] = True
    for column in counting:
        breaks[1:] |= column[1:] - column[:-1] != 1
    for column in alike:
        breaks[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(breaks)


def lengths(begins: npt.NDArray[np.intp], rows: int) -> npt.NDArray[np.int64]:
    """How many of `rows` rows belong to the run that begins at each place."""
    return np.diff(begins, append=rows).astype(np.int64)


def counts_of(batch: pa.RecordBatch) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """How many rows each row of a recorded batch stands for, and which of them are runs.

    Raises ValueError if a row claims to stand for none, or for more than any writer puts in one.
    """
    is_run = pc.and_(
        pc.is_in(batch.column("kind").cast(pa.string()), pa.array(schema.COUNTED)), pc.is_valid(batch.column("count"))
    )
    of_run = np.asarray(is_run.fill_null(False)).astype(np.bool_)
    counts = np.where(of_run, np.asarray(batch.column("count").fill_null(1)), 1).astype(np.int64)
    if len(counts) and (counts.min() < 1 or counts.max() > schema.RUN_LIMIT):
        raise ValueError(f"a row stands for {counts.min() if counts.min() < 1 else counts.max()} records")
    return counts, of_run


def expand(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows that a recorded batch stands for, no more than EXPANDED_ROWS at once. Raises as `counts_of` does."""
    counts, of_run = counts_of(batch)
    if not of_run.any():
        yield batch
        return
    through = np.cumsum(counts)
    at = 0
    while at < len(counts):
        before = int(through[at - 1]) if at else 0
        end = int(np.searchsorted(through, before + EXPANDED_ROWS, side="right"))
        yield _expanded(batch.slice(at, end - at), counts[at:end], of_run[at:end])
        at = end


def _expanded(batch: pa.RecordBatch, counts: npt.NDArray[np.int64], of_run: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    rows = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    expanded = batch.take(pa.array(rows))
    is_send = np.asarray(pc.equal(expanded.column("kind").cast(pa.string()), schema.SEND).fill_null(False))
    added = {"op": np.where(is_send, place, 0), "offset": place, "sequence": place}
    columns = {name: pc.add(expanded.column(name), pa.array(steps)) for name, steps in added.items()}
    columns["count"] = pc.if_else(pa.array(of_run[rows]), pa.scalar(None, pa.int64()), expanded.column("count"))
    return pa.RecordBatch.from_arrays(
        [columns.get(name, expanded.column(name)) for name in batch.schema.names], schema=batch.schema
    )
