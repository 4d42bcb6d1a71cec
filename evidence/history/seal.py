"""Sealing: the streams of a run laid out by topic and partition, as Parquet, so that per-partition
checks need no shuffle.

One pass over each stream, a batch at a time; rows wait in memory until a row group of their partition is full or too
many wait in all, so memory does not grow with the history. Within a partition rows keep the order in which they were
recorded. Files are written under another name and renamed when whole; the file of a process's own operations comes
last, says how many rows each of the others has, and by being there says that the process is sealed. A stream that is
torn or has gaps is not sealed: it stays as it is, and reading it reports that. Streams are kept: they are what was
recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from evidence.history import schema
from evidence.history.read import MANIFEST, PLAIN_SCHEMA, WORDS, plain, run_of, split, stream_batches
from evidence.history.whole import Whole
from evidence.rundir import RunDir

GROUP_ROWS: Final = 131_072
"""Rows of a row group, as far as memory allows."""
WAITING_ROWS: Final = 1_048_576
"""Rows of all partitions that may wait for their row groups to fill (about 150 bytes each)."""
COMPRESSION: Final = "zstd"
NUMBERS: Final = [field.name for field in PLAIN_SCHEMA if pa.types.is_integer(field.type)]

Key = tuple[str, int]


class _Files:
    """One process's Parquet files, one per topic-partition, which appear under their names when all are whole."""

    def __init__(self, run_dir: RunDir, process: str) -> None:
        self._run_dir, self._process = run_dir, process
        self.run = run_of(run_dir.stream(process))
        self._names = PLAIN_SCHEMA.with_metadata({schema.RUN_KEY: self.run.encode()})
        self._open: dict[Key, pq.ParquetWriter] = {}
        self._waiting: dict[Key, list[pa.Table]] = {}
        self._rows: dict[Key, int] = {}
        self._written: dict[Key, int] = {}

    def add(self, key: Key, table: pa.Table) -> None:
        """Add rows to one partition's file."""
        self._waiting.setdefault(key, []).append(table)
        self._rows[key] = self._rows.get(key, 0) + len(table)
        if self._rows[key] >= GROUP_ROWS:
            self._write(key)
        while sum(self._rows.values()) > WAITING_ROWS:
            self._write(max(self._rows, key=self._rows.__getitem__))

    def _path(self, key: Key) -> Path:
        return self._run_dir.sealed_partition(*key, self._process)

    def _write(self, key: Key) -> None:
        if key not in self._open:
            self._path(key).parent.mkdir(parents=True, exist_ok=True)
            self._open[key] = _writer(_hidden(self._path(key)), self._names)
        self._open[key].write_table(pa.concat_tables(self._waiting.pop(key)), row_group_size=GROUP_ROWS)
        self._written[key] = self._written.get(key, 0) + self._rows.pop(key)

    def finish(self) -> list[tuple[str, int, int]]:
        """Put the files in place; returns topic, partition and rows of each."""
        for key in list(self._waiting):
            self._write(key)
        for writer in self._open.values():
            writer.close()
        for key in self._open:
            _hidden(self._path(key)).replace(self._path(key))
        return [(topic, partition, rows) for (topic, partition), rows in self._written.items()]

    def discard(self) -> None:
        """Remove what was written."""
        for key, writer in self._open.items():
            writer.close()
            _hidden(self._path(key)).unlink(missing_ok=True)


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


def _hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def seal_process(run_dir: RunDir, process: str) -> bool:
    """Seal one process's stream. False if it is torn, has gaps, or its process is not done: it is left as it is."""
    complaints: list[str] = []
    whole = Whole()
    files = _Files(run_dir, process)
    operations = [PLAIN_SCHEMA.empty_table()]
    try:
        for batch in stream_batches(run_dir.stream(process), complaints):
            whole.add(batch)
            parts, own = split(plain(pa.Table.from_batches([batch])))
            for key, table in parts.items():
                files.add(key, table)
            if len(own):
                operations.append(own)
        closing = pa.concat_tables(operations)
        if complaints or (files.run and whole.complaints) or schema.CLOSE not in closing["kind"].to_pylist():
            files.discard()
            return False
        manifest = files.finish()
    except BaseException:
        files.discard()
        raise
    path = run_dir.sealed_operations(process)
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {MANIFEST: json.dumps(manifest).encode(), schema.RUN_KEY: files.run.encode()}
    described = closing.replace_schema_metadata(metadata)
    with _writer(_hidden(path), described.schema) as writer:
        writer.write_table(described)
    _hidden(path).replace(path)
    return True


def seal_run(run_dir: RunDir) -> None:
    """Seal every process that ended properly and is not sealed yet."""
    for path in sorted(run_dir.history.glob("*.arrows")):
        if not run_dir.sealed_operations(path.stem).exists():
            seal_process(run_dir, path.stem)
