"""A file of lines that Kafka Connect's sink writes (harness/workloads/stores): outputs alone, and no offsets.

Its first line is ours and says whose file it is. Each other line is a record as FileStreamSinkTask prints it: a struct
whose last fields are the topic, the partition and the offset of its input (the transformations HoistField and
InsertField, KIP-66):

    Struct{value=[B@1f2e,topic=t,partition=0,offset=7}

What is before the last end of a line is written; a line without an end is still being written, or its worker was killed
then, and is no output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError
from harness.workloads.stores.types import Row

FILE: Final = "outputs.lines"
"""The file that a sink writes, within the directory of its worker."""
SUFFIX: Final = ".lines"
_WHOSE: Final = re.compile(r"run (?P<run>\S+) worker (?P<producer>[0-9]+)")
_LINE: Final = re.compile(
    r"Struct\{value=[^,]*,topic=(?P<topic>[A-Za-z0-9._-]+),partition=(?P<partition>[0-9]+),offset=(?P<offset>[0-9]+)\}"
)


def begin(path: Path, run: str, producer: int) -> None:
    """Make the file of a worker."""
    path.write_text(f"run {run} worker {producer}\n")


def read_rows(path: Path) -> Sequence[Row]:
    """The rows of outputs. Raises HarnessError if the file cannot be read, or has a line that is none of these."""
    try:
        first, *lines = path.read_bytes().decode("ascii", errors="replace").split("\n")[:-1] or [""]
    except OSError as error:
        raise HarnessError(f"the store {path.name} cannot be read: {error.strerror}") from None
    whose = _WHOSE.fullmatch(first)
    if whose is None:
        raise HarnessError(f"the store {path.name} does not say whose it is: {first[:100]!r}")
    run, producer = whose["run"], int(whose["producer"])
    return [(run, producer, number, *_source(path, line)) for number, line in enumerate(lines)]


def _source(path: Path, line: str) -> tuple[str, int, int]:
    """The topic, partition and offset of a line's input."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise HarnessError(f"the store {path.name} has a line that names no input: {line[:200]!r}")
    return found["topic"], int(found["partition"]), int(found["offset"])
