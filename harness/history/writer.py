"""Recording: an Arrow IPC stream, whole batches at a time, readable whatever kills the writer.

Rows are gathered and written as one batch when there are enough of them, when they are old enough, or when `flush` is
called; each batch is handed to the kernel at once, so kill -9 costs at most the rows since. A scripted producer
flushes after every operation. `reserve` is flushed before it returns: nothing may be sent whose sending is not on
record.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa

from harness.history import schema

BATCH_ROWS: Final = 16_384
FLUSH_AFTER_S: Final = 0.5


class HistoryWriter:
    """Appends the rows of one process to its stream. Not for use by several threads at once."""

    def __init__(self, path: Path, process: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._process = process
        self._file = path.open("wb", buffering=0)
        self._stream = pa.ipc.new_stream(self._file, schema.SCHEMA)
        self._rows: list[dict[str, Any]] = []
        self._ops = 0
        self._flushed = time.monotonic()

    def next_op(self) -> int:
        """The number of the next operation."""
        number = self._ops
        self._ops += 1
        return number

    def append(self, *, kind: str, outcome: str, flush: bool = False, **columns: Any) -> None:
        """Add one row; columns that are not given are null."""
        self._rows.append({"process": self._process, "op": self.next_op(), "kind": kind, "outcome": outcome, **columns})
        if flush or len(self._rows) >= BATCH_ROWS:
            self.flush()

    def append_columns(self, count: int, **columns: Any) -> None:
        """Add `count` rows at once: each column an array, or one value for all of them; written as one batch."""
        self.flush()
        first = self._ops
        self._ops += count
        columns = {"process": self._process, "op": pa.array(range(first, first + count), pa.int64()), **columns}
        arrays = [_column(field, columns.get(field.name), count) for field in schema.SCHEMA]
        self._stream.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema.SCHEMA))

    def reserve(self, topic: str, partition: int, producer: int, sequence: int, count: int) -> None:
        """Put on record that these sequences may be sent to this partition from now on."""
        self.append(
            kind=schema.RESERVE,
            outcome=schema.INFO,
            flush=True,
            topic=topic,
            partition=partition,
            producer=producer,
            sequence=sequence,
            count=count,
            invoked_ns=time.monotonic_ns(),
        )

    def flush_if_old(self) -> None:
        """Flush if the last time was half a second ago."""
        if self._rows and time.monotonic() - self._flushed >= FLUSH_AFTER_S:
            self.flush()

    def flush(self) -> None:
        """Hand everything that was appended to the kernel."""
        self._flushed = time.monotonic()
        if self._rows:
            self._stream.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=schema.SCHEMA))
            self._rows.clear()

    def close(self) -> None:
        """Write the row that says the process ended properly, and close the file."""
        if not self._file.closed:
            self.append(kind=schema.CLOSE, outcome=schema.OK, flush=True, completed_ns=time.monotonic_ns())
            self._stream.close()
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _column(field: pa.Field, value: Any, count: int) -> pa.Array:
    """One column: an array as it is, or one value (or null) repeated; words become a dictionary of one."""
    if pa.types.is_dictionary(field.type):
        if value is None:
            return pa.nulls(count, field.type)
        if isinstance(value, str):
            indices = pa.repeat(pa.scalar(0, field.type.index_type), count)
            return pa.DictionaryArray.from_arrays(indices, pa.array([value], pa.string()))
        return pa.array(value, field.type) if not isinstance(value, pa.Array) else value.cast(field.type)
    if value is None:
        return pa.nulls(count, field.type)
    if isinstance(value, bool | int):
        return pa.repeat(pa.scalar(value, field.type), count)
    return pa.array(value, field.type)
