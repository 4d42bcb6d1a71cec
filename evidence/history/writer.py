"""Recording: an Arrow IPC stream, whole batches at a time, readable whatever kills the writer.

Rows are gathered in columns that are allocated once. They are written as one batch when they are full, when the oldest
of them is a quarter of a second old, or when `flush` is called. A batch is handed to the kernel at once, so kill -9
costs at most the rows since. A scripted producer flushes after every operation. `reserve` is flushed before it returns:
nothing may be sent whose sending is not on record.

Records that count up are written as runs, one row for many (evidence.history.runs): of a load, a row
for about a thousand.

Words (process, kind, outcome, topic, error) are dictionary codes; the stream carries each word once, when it is
first used. Batches are compressed with LZ4: a row of a load takes 16 bytes instead of 90, for 0.04 µs of
processor time (zstd: 4 bytes for 0.11 µs). Each batch is compressed by itself, so a torn tail costs the last one
and nothing before it. Each has a checksum (evidence.history.checksums).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evidence.history import checksums, schema

BATCH_ROWS: Final = 32_768
FLUSH_AFTER_S: Final = 0.25
NULL: Final = int(np.iinfo(np.int64).min)
NULL_32: Final = int(np.iinfo(np.int32).min)
"""Stand for null in arrays given for columns of 64-bit and of 32-bit numbers."""


class _Column:
    """The rows of one column since the last flush. Words are codes into `words`; null is the smallest number."""

    def __init__(self, field: pa.Field, rows: int) -> None:
        self._type = field.type
        self._is_word = pa.types.is_dictionary(field.type)
        self._is_bool = pa.types.is_boolean(field.type)
        stored = pa.int8() if self._is_bool else field.type.index_type if self._is_word else field.type
        dtype = np.dtype(stored.to_pandas_dtype())
        self._null = np.iinfo(dtype).min
        self._values: npt.NDArray[Any] = np.full(rows, self._null, dtype)
        self._used = False
        self._nulls = pa.nulls(rows, field.type)
        self._codes: dict[str, int] = {}
        self._words = pa.array([], pa.string())

    def put(self, first: int, last: int, value: Any) -> None:
        """Set rows [first, last) to a value, or to an array of as many."""
        if value is None:
            return
        self._used = True
        self._values[first:last] = self._code(value) if self._is_word else value

    def _code(self, word: str) -> int:
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self._codes)
            self._words = pa.array(list(self._codes), pa.string())
        return code

    def take(self, rows: int) -> pa.Array:
        """The first `rows` rows as an array, good until the next `put`; all rows are null again after it is written
        and `clear` is called.
        """
        if not self._used:
            if self._is_word:
                return pa.DictionaryArray.from_arrays(pa.nulls(rows, self._type.index_type), self._words)
            return self._nulls.slice(0, rows)
        values = self._values[:rows]
        absent = values == self._null
        mask = absent if absent.any() else None
        if self._is_word:
            codes = pa.array(values, self._type.index_type, mask=mask)
            return pa.DictionaryArray.from_arrays(codes, self._words, safe=False)
        if self._is_bool:
            return pa.array(values == 1, self._type, mask=mask)
        return pa.array(values, self._type, mask=mask)

    def clear(self, rows: int) -> None:
        """Forget the first `rows` rows."""
        if self._used:
            self._values[:rows] = self._null
            self._used = False


class HistoryWriter:
    """Appends the rows of one process to its stream. Not for use by several threads at once."""

    def __init__(self, path: Path, process: str, *, run: str = "", batch_rows: int = BATCH_ROWS) -> None:
        """Create the stream of a process in a run. Raises FileExistsError if there is one already: a history is never
        overwritten.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(exist_ok=False)
        self._process, self._capacity = process, batch_rows
        # A file of Arrow's own: batches are written without the interpreter's lock, and unbuffered.
        self._file = pa.OSFile(str(path), "wb")
        options = pa.ipc.IpcWriteOptions(compression="lz4", emit_dictionary_deltas=True)
        named = schema.SCHEMA.with_metadata({**schema.SCHEMA.metadata, schema.RUN_KEY: run.encode()})
        self._stream = pa.ipc.new_stream(self._file, named if run else schema.SCHEMA, options=options)
        self._checksum = checksums.beginning(run)
        # The schema is written with the first batch: let it be there from the start, whatever comes.
        self._write(pa.RecordBatch.from_pylist([], schema=schema.SCHEMA))
        self._columns = {field.name: _Column(field, batch_rows) for field in schema.SCHEMA}
        self._rows = self._ops = 0
        self._oldest = 0.0
        self.written = 0
        """Rows handed to the kernel."""

    def append(self, *, kind: str, outcome: str, flush: bool = False, **columns: Any) -> None:
        """Add one row, an operation of its own; columns that are not given, or None, are null."""
        self.extend(1, kind=kind, outcome=outcome, **columns)
        if flush:
            self.flush()

    def next_operation(self) -> int:
        """The number of an operation of several rows, for `extend`."""
        self._ops += 1
        return self._ops - 1

    def extend(
        self,
        rows: int,
        /,
        *,
        operation: int | npt.NDArray[np.int64] | None = None,
        counts: npt.NDArray[np.int64] | None = None,
        **columns: Any,
    ) -> None:
        """Add `rows` rows: each column an array of as many, or one value for all of them; words are one for all.

        Each row is an operation of its own, or with `counts` as many as it stands for (evidence.history.runs), unless
        it is said to which they belong (`operation`: one for all, or one for each).
        """
        if counts is not None:
            assert counts.max() <= schema.RUN_LIMIT
            columns["count"] = counts
        ops: Any = operation
        if operation is None:
            steps = np.ones(rows, np.int64) if counts is None else counts
            ops = self._ops + np.cumsum(steps) - steps
            self._ops += int(steps.sum())
        columns |= {"process": self._process, "op": ops}
        done = 0
        while done < rows:
            if self._rows == self._capacity:
                self.flush()
            if self._rows == 0:
                self._oldest = time.monotonic()
            step = min(rows - done, self._capacity - self._rows)
            for name, value in columns.items():
                part = value[done : done + step] if isinstance(value, np.ndarray) else value
                self._columns[name].put(self._rows, self._rows + step, part)
            self._rows += step
            done += step

    def reserve(self, topic: str, partitions: Iterable[int], producer: int, sequence: int, count: int) -> None:
        """Put on record that these sequences may be sent to any of these partitions from now on."""
        for partition in partitions:
            self.append(
                kind=schema.RESERVE,
                outcome=schema.INFO,
                topic=topic,
                partition=partition,
                producer=producer,
                sequence=sequence,
                count=count,
                invoked_ns=time.monotonic_ns(),
            )
        self.flush()

    def flush_if_old(self) -> None:
        """Flush if the oldest row that was not is a quarter of a second old."""
        if self._rows and time.monotonic() - self._oldest >= FLUSH_AFTER_S:
            self.flush()

    def flush(self) -> None:
        """Hand everything that was appended to the kernel. OSError if it does not take it (the disk is full)."""
        if not self._rows:
            return
        arrays = [column.take(self._rows) for column in self._columns.values()]
        self._write(pa.RecordBatch.from_arrays(arrays, schema=schema.SCHEMA))
        for column in self._columns.values():
            column.clear(self._rows)
        self.written += self._rows
        self._rows = 0

    def _write(self, batch: pa.RecordBatch) -> None:
        self._checksum = checksums.after(batch, self._checksum)
        self._stream.write_batch(batch, custom_metadata=checksums.metadata(self._checksum))

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
        """Close; but after an error without the closing row, since the process did not end properly."""
        if error is None:
            self.close()
            return
        try:
            self.flush()
        finally:
            self._file.close()
