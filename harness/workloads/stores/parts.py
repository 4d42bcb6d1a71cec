"""The files of a file sink of Spark Structured Streaming (harness/workloads/stores): outputs alone, and no offsets.

Each batch is a few files, and one file of the log `_spark_metadata` that names them. A reader of Spark's gets what the
log names, and nothing else: a file that a killed batch has left is not there for it (ManifestFileCommitProtocol). Each
line is an output: the run, the program that made it, and the topic, the partition and the offset of its input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from evidence.errors import HarnessError
from harness.workloads.stores.types import Row

SUFFIX: Final = ".parts"
LOG: Final = "_spark_metadata"
_LINE: Final = re.compile(
    r"(?P<run>\S+) (?P<producer>[0-9]+) (?P<topic>[A-Za-z0-9._-]+) (?P<partition>[0-9]+) (?P<offset>[0-9]+)"
)
_LOGGED: Final = re.compile(r"[0-9]+(\.compact)?")


def read_rows(directory: Path) -> Sequence[Row]:
    """The rows of outputs that the log names, batch by batch. Raises HarnessError if log or files cannot be read."""
    rows: list[Row] = []
    try:
        for path in _files(directory):
            for line in path.read_text("ascii", errors="replace").splitlines():
                rows.append(_row(directory, line, len(rows)))
    except (OSError, ValueError, KeyError) as error:
        raise HarnessError(f"the store {directory.name} cannot be read: {error}") from None
    return rows


def _files(directory: Path) -> Iterator[Path]:
    """The files that the log has added, in its order; from the last entry that has all before it."""
    log = directory / LOG
    entries = [one for one in log.glob("*") if _LOGGED.fullmatch(one.name)] if log.exists() else []
    entries.sort(key=lambda one: int(one.name.partition(".")[0]))
    whole = [number for number, one in enumerate(entries) if one.suffix == ".compact"]
    for entry in entries[whole[-1] if whole else 0 :]:
        for line in entry.read_text().splitlines()[1:]:
            yield Path(unquote(urlsplit(json.loads(line)["path"]).path))


def _row(directory: Path, line: str, number: int) -> Row:
    found = _LINE.fullmatch(line)
    if found is None:
        raise HarnessError(f"the store {directory.name} has a line that names no input: {line[:200]!r}")
    return found["run"], int(found["producer"]), number, found["topic"], int(found["partition"]), int(found["offset"])
