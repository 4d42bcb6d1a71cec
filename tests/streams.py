"""Recorded streams that are forged as well as anybody can: written again, with the checksums of what is in them now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from evidence.history import checksums, schema


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table], *, version: bytes = schema.VERSION) -> None:
    """Write a stream again, its rows changed, as a recorder of some version does."""
    reader = pa.ipc.open_stream(path.read_bytes())
    table = change(reader.read_all())
    metadata = {**(reader.schema.metadata or {}), schema.VERSION_KEY: version}
    checksum = checksums.beginning(metadata.get(schema.RUN_KEY, b"").decode())
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    path.unlink()
    with pa.ipc.new_stream(str(path), reader.schema.with_metadata(metadata), options=options) as stream:
        for batch in table.to_batches():
            checksum = checksums.after(batch, checksum)
            told = checksums.metadata(checksum)
            stream.write_batch(batch.replace_schema_metadata(metadata), custom_metadata=told)


def without_row(table: pa.Table, place: int) -> pa.Table:
    """All rows but one."""
    return pa.concat_tables([table.slice(0, place), table.slice(place + 1)])


Batch = tuple[pa.RecordBatch, Mapping[bytes, bytes]]


def stored(path: Path) -> tuple[pa.Schema, list[Batch]]:
    """The batches of a stream, each with its metadata."""
    reader = pa.ipc.open_stream(path.read_bytes())
    found: list[Batch] = []
    while True:
        try:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return reader.schema, found
        found.append((batch, dict(metadata or {})))


def store(path: Path, names: pa.Schema, batches: Sequence[Batch]) -> None:
    """Write batches as they are, whatever their checksums say."""
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_stream(str(path), names, options=options) as stream:
        for batch, metadata in batches:
            stream.write_batch(batch, custom_metadata=metadata or None)
