"""Checksums of recorded streams: each batch carries one of its rows and of all that came before them.

Arrow's streams have none. A flipped bit often decodes, to another offset or another outcome, and that would be taken
for what a client saw. So the writer puts a CRC-32C into the metadata of every batch, which continues that of the batch
before it (for the first batch, the name of the run). A batch that was changed, left out, put in or moved is noticed
where it stands, and what precedes it still counts. A writer that is killed leaves whole batches with their checksums.

It is computed from what the rows mean (numbers, words and nulls), not from how Arrow lays them out: compression,
padding and what lies beneath a null may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import google_crc32c
import numpy as np
import pyarrow as pa

KEY: Final = b"crc32c"
"""Metadata of a batch: its checksum, eight hexadecimal digits."""
_WORD_ENDS: Final = "\0"


def beginning(run: str) -> int:
    """What the checksum of a stream's first batch goes on from."""
    return int(google_crc32c.value(run.encode()))


def after(batch: pa.RecordBatch, before: int) -> int:
    """The checksum of a batch that comes after one with the checksum `before`."""
    checksum = google_crc32c.extend(before, batch.num_rows.to_bytes(8, "little"))
    for number, column in enumerate(batch.columns):
        if column.null_count < len(column):
            checksum = google_crc32c.extend(checksum, bytes([number]) + _meaning(column))
    return int(checksum)


def metadata(checksum: int) -> dict[bytes, bytes]:
    """The metadata of a batch with this checksum."""
    return {KEY: b"%08x" % checksum}


def matches(found: Mapping[bytes, bytes] | None, checksum: int) -> bool:
    """Whether the metadata of a batch says that it has this checksum."""
    return found is not None and found.get(KEY) == b"%08x" % checksum


def _meaning(column: pa.Array) -> bytes:
    """The values of a column, and which of them are null."""
    nulls = np.asarray(column.is_null()).tobytes() if column.null_count else b""
    if pa.types.is_dictionary(column.type):
        words = _WORD_ENDS.join(column.dictionary.to_pylist())
        return nulls + _numbers(column.indices) + words.encode(errors="surrogatepass")
    return nulls + _numbers(column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column)


def _numbers(column: pa.Array) -> bytes:
    """The bytes of numbers, those of nulls zero: whatever lies beneath a null means nothing."""
    return np.asarray(column.fill_null(0) if column.null_count else column).tobytes()
