"""Sealing: the streams of a run laid out by topic and partition, as Parquet, so that per-partition checks need no
shuffle.

One pass over each stream, a batch at a time, so memory does not grow with the history. Files are written under
another name and renamed when whole; the file of a process's own operations comes last and says that the process is
sealed. A torn stream is not sealed: it stays as it is, and reading it reports the tear.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness.history import schema
from harness.history.read import PLAIN_SCHEMA, plain, split, stream_batches
from harness.rundir import RunDir


class _Files:
    """Parquet files that appear under their names only when all of them are whole."""

    def __init__(self) -> None:
        self._open: dict[Path, pq.ParquetWriter] = {}

    def write(self, path: Path, table: pa.Table) -> None:
        if path not in self._open:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[path] = pq.ParquetWriter(_hidden(path), PLAIN_SCHEMA, compression="zstd")
        self._open[path].write_table(table)

    def finish(self) -> None:
        for path, writer in self._open.items():
            writer.close()
            _hidden(path).replace(path)

    def discard(self) -> None:
        for path, writer in self._open.items():
            writer.close()
            _hidden(path).unlink(missing_ok=True)


def _hidden(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def seal_process(run_dir: RunDir, process: str) -> bool:
    """Seal one process's stream. False if it is torn or empty and was left as it is."""
    complaints: list[str] = []
    files = _Files()
    operations = []
    closed = False
    for batch in stream_batches(run_dir.stream(process), complaints):
        parts, own = split(plain(pa.Table.from_batches([batch])))
        for (topic, partition), table in parts.items():
            files.write(run_dir.sealed_partition(topic, partition, process), table)
        operations.append(own)
        closed = closed or schema.CLOSE in own["kind"].to_pylist()
    if complaints or not closed:
        files.discard()
        return False
    files.finish()
    last = _Files()
    last.write(run_dir.sealed_operations(process), pa.concat_tables(operations))
    last.finish()
    return True


def seal_run(run_dir: RunDir) -> None:
    """Seal every process that ended properly and is not sealed yet."""
    for path in sorted(run_dir.history.glob("*.arrows")):
        if not run_dir.sealed_operations(path.stem).exists():
            seal_process(run_dir, path.stem)
