"""Sealing: the streams of a run laid out by topic and partition, as Parquet, so that per-partition
checks need no shuffle.

It makes one pass over each stream, a batch at a time. Rows wait in memory until a row group of their partition is full
or too many wait in all, so memory does not grow with the history. Within a partition rows keep the order in which they
were recorded.

A file for each partition costs a millisecond to open, whatever is in it. So of a process that has rows of more than FEW
partitions, those with fewer than OWN_ROWS share one file, sorted by topic-partition. If they did not all fit into
memory, each part that did is sorted by itself, and a partition has several stretches of rows. The operations file says
which rows are whose. Files are written under another name and renamed when whole. The file of a process's own
operations comes last and says how many rows each of the others has. Its presence says that the process is sealed. A
stream that is torn or has gaps is not sealed: it stays as it is, and reading it reports that. Streams are kept: they
are what was recorded.

The stream of a client that was killed has no closing row, and may lack what the client had in hand. It is sealed too,
where the caller names it. A recorder that writes each event at once leaves thousands of batches, and every task would
decode them anew.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evidence.history import schema
from evidence.history.read import (
    MANIFEST,
    PLAIN_SCHEMA,
    SHARED,
    WORDS,
    Key,
    apart,
    by_partition,
    plain,
    run_of,
    slices,
    stream_batches,
)
from evidence.history.whole import Whole
from evidence.rundir import RunDir

GROUP_ROWS: Final = 131_072
"""Rows of a row group, as far as memory allows."""
WAITING_ROWS: Final = 1_048_576
"""Rows of all partitions that may wait for their row groups to fill (about 150 bytes each)."""
FEW: Final = 64
"""With more partitions than these a process's small ones share a file."""
OWN_ROWS: Final = 1_024
"""Rows that wait for a partition's own file; with fewer it shares one."""
SHARED_GROUP_ROWS: Final = 16_384
"""Rows of a row group of the shared file: what is read for one partition at least."""
SORTED_ROWS: Final = 524_288
"""Rows of more than FEW partitions that may wait to be sorted."""
COMPRESSION: Final = "zstd"
NUMBERS: Final = [field.name for field in PLAIN_SCHEMA if pa.types.is_integer(field.type)]


class _Files:
    """One process's Parquet files, which appear under their names when all are whole."""

    def __init__(self, run_dir: RunDir, process: str) -> None:
        self._run_dir, self._process = run_dir, process
        self.run = run_of(run_dir.stream(process))
        self._names = PLAIN_SCHEMA.with_metadata({schema.RUN_KEY: self.run.encode()})
        self._open: dict[Path, pq.ParquetWriter] = {}
        self._waiting: dict[Key, list[pa.Table]] = {}
        self._rows: dict[Key, int] = {}
        self._written: dict[Key, int] = {}
        self._mixed: list[pa.Table] | None = None
        """Rows of many partitions as they came; None as long as there are few."""
        self.stretches: list[tuple[str, int, int]] = []
        """Topic, partition and rows of each stretch of the shared file, in order."""

    def add(self, rows: pa.Table) -> None:
        """Add rows of topic-partitions."""
        if self._mixed is None:
            parts = slices(*by_partition(rows))
            if len(parts.keys() | self._rows.keys() | self._written.keys()) <= FEW:
                for key, table in parts.items():
                    self._add(key, table)
                return
            self._mixed = [table for tables in self._waiting.values() for table in tables]
            self._waiting.clear()
            self._rows.clear()
        self._mixed.append(rows)
        if sum(map(len, self._mixed)) >= SORTED_ROWS:
            self._sort()

    def _add(self, key: Key, table: pa.Table) -> None:
        """Add rows to one partition's own file."""
        self._waiting.setdefault(key, []).append(table)
        self._rows[key] = self._rows.get(key, 0) + len(table)
        if self._rows[key] >= GROUP_ROWS:
            self._write(key)
        while sum(self._rows.values()) > WAITING_ROWS:
            self._write(max(self._rows, key=self._rows.__getitem__))

    def _sort(self) -> None:
        """Write what waits of many partitions: to their own files, or the shared one."""
        table, keys, bounds = by_partition(pa.concat_tables(self._mixed or []).combine_chunks())
        self._mixed = []
        sharing = {stretch[:2] for stretch in self.stretches}
        shared = np.zeros(len(table), np.bool_)
        for key, first, last in zip(keys, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = last - first
            if key in sharing or (rows < OWN_ROWS and key not in self._written):
                shared[first:last] = True
                self.stretches.append((*key, rows))
                self._written[key] = self._written.get(key, 0) + rows
            else:
                self._waiting[key], self._rows[key] = [table.slice(first, rows)], rows
                self._write(key)
        if shared.any():
            sharing_rows = table if shared.all() else table.filter(pa.array(shared))
            self._writer_of(self._run_dir.sealed_shared(self._process)).write_table(sharing_rows, SHARED_GROUP_ROWS)

    def _writer_of(self, path: Path) -> pq.ParquetWriter:
        if path not in self._open:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[path] = _writer(_hidden(path), self._names)
        return self._open[path]

    def _write(self, key: Key) -> None:
        writer = self._writer_of(self._run_dir.sealed_partition(*key, self._process))
        writer.write_table(pa.concat_tables(self._waiting.pop(key)), row_group_size=GROUP_ROWS)
        self._written[key] = self._written.get(key, 0) + self._rows.pop(key)

    def finish(self) -> list[tuple[str, int, int]]:
        """Put the files in place; returns topic, partition and rows of each topic-partition."""
        if self._mixed:
            self._sort()
        for key in list(self._waiting):
            self._write(key)
        for writer in self._open.values():
            writer.close()
        for path in self._open:
            _hidden(path).replace(path)
        return [(topic, partition, rows) for (topic, partition), rows in self._written.items()]

    def discard(self) -> None:
        """Remove what was written."""
        for path, writer in self._open.items():
            writer.close()
            _hidden(path).unlink(missing_ok=True)


def _writer(path: Path, names: pa.Schema) -> pq.ParquetWriter:
    # Numbers go up by about the same from row to row: differences take few bits, and a fifth of the time to read.
    encodings = dict.fromkeys(NUMBERS, "DELTA_BINARY_PACKED")
    # Without checksums four of five flipped bits of a large file decode to other values, and no error.
    return pq.ParquetWriter(
        path,
        names,
        compression=COMPRESSION,
        use_dictionary=WORDS,
        column_encoding=encodings,
        write_page_checksum=True,
    )


def _by_topic(stretches: Sequence[tuple[str, int, int]]) -> list[tuple[str, list[int], list[int]]]:
    """The partitions of neighbouring stretches of one topic, and the rows of each."""
    found = [(topic, list(of_topic)) for topic, of_topic in groupby(stretches, lambda one: one[0])]
    return [(topic, [one[1] for one in own], [one[2] for one in own]) for topic, own in found]


def _hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def seal_process(run_dir: RunDir, process: str, *, killed: bool = False) -> bool:
    """Seal one process's stream. False if it is torn, has gaps, or has no closing row and was not `killed`: it is left
    as it is.
    """
    complaints: list[str] = []
    whole = Whole()
    files = _Files(run_dir, process)
    operations = [PLAIN_SCHEMA.empty_table()]
    try:
        for batch in stream_batches(run_dir.stream(process), complaints):
            if files.run:  # older streams are not held to it
                whole.add(batch)
            rows, own = apart(plain(pa.Table.from_batches([batch])))
            files.add(rows)
            operations.append(own)
        closing = pa.concat_tables(operations)
        closed = schema.CLOSE in closing["kind"].to_pylist()
        if complaints or (whole.complaints if closed else not killed):
            files.discard()
            return False
        manifest = files.finish()
    except BaseException:
        files.discard()
        raise
    path = run_dir.sealed_operations(process)
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {MANIFEST: json.dumps(manifest).encode(), schema.RUN_KEY: files.run.encode()}
    if files.stretches:
        metadata[SHARED] = json.dumps(_by_topic(files.stretches)).encode()
    described = closing.replace_schema_metadata(metadata)
    with _writer(_hidden(path), described.schema) as writer:
        writer.write_table(described)
    _hidden(path).replace(path)
    return True


def seal_run(run_dir: RunDir, killed: Collection[str] = ()) -> None:
    """Seal every process that ended properly, or was `killed`, and is not sealed yet."""
    for path in sorted(run_dir.history.glob("*.arrows")):
        if not run_dir.sealed_operations(path.stem).exists():
            seal_process(run_dir, path.stem, killed=path.stem in killed)
