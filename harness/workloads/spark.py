"""Where a query of Spark Structured Streaming keeps how far it has come, and what holds it before it says so.

The checkpoint of a query is a directory. `offsets/N` says up to where batch N reads, and is written before it begins.
`commits/N` says that batch N is done, and is written when its outputs are. A query that begins runs the first batch
again that has no commit, up to the same offsets.

Spark cannot be told to stand still between the two. But Hadoop's local file system runs the program chmod for each file
that it makes (RawLocalFileSystem.setPermission, where Hadoop's own library is not loaded, as in PySpark). The process
has a chmod of ours on its PATH. It waits if the file is a commit's and the gate is shut, and runs the system's chmod
otherwise. The file has another name then, so the commit is not there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evidence.errors import HarnessError

FORMAT: Final = "v1"
"""The first line of a log of Spark's."""
CHMOD: Final = """#!/bin/sh
# Hadoop runs this for each file that Spark makes; it waits at a commit's while the gate is shut and Spark is there.
case "$*" in
*/commits/.*)
    while [ -e "@SHUT@" ] && kill -0 "$PPID" 2>/dev/null; do
        echo "$*" >"@REACHED@"
        sleep 0.05
    done
    ;;
esac
PATH=${PATH#*:}
exec chmod "$@"
"""


@dataclass(frozen=True, slots=True)
class CommitGate:
    """What holds a query before the commit of a batch; its files lie in a directory of their own."""

    directory: Path

    @property
    def programs(self) -> Path:
        """The directory with our chmod, which stands first on the PATH of Spark's process."""
        return self.directory / "bin"

    @property
    def _shut(self) -> Path:
        return self.directory / "shut"

    @property
    def _reached(self) -> Path:
        return self.directory / "reached"

    def make(self) -> None:
        """Make it, open."""
        self.programs.mkdir(parents=True, exist_ok=True)
        program = self.programs / "chmod"
        program.write_text(CHMOD.replace("@SHUT@", str(self._shut)).replace("@REACHED@", str(self._reached)))
        program.chmod(0o755)

    def shut(self) -> None:
        """Hold the next commit, until Spark is gone."""
        self._shut.touch()

    def is_reached(self) -> bool:
        """Whether a commit is held."""
        return self._reached.exists()

    def open(self) -> None:
        """Hold no commit any more."""
        self._shut.unlink(missing_ok=True)
        self._reached.unlink(missing_ok=True)


def committed_in(checkpoint: Path, topic: str, partition: int) -> int | None:
    """Up to which offset of a partition the batches have read that a checkpoint says are done; None for no batch.

    Raises HarnessError if its files are no checkpoint's of a query with one source of Kafka.
    """
    done = [int(one.name) for one in (checkpoint / "commits").glob("[0-9]*")]
    if not done:
        return None
    log = checkpoint / "offsets" / str(max(done))
    try:
        first, _, *sources = log.read_text().splitlines()
        if first != FORMAT or len(sources) != 1:
            raise ValueError(f"it has {len(sources)} sources and begins with {first[:20]!r}")
        return int(json.loads(sources[0])[topic][str(partition)])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HarnessError(
            f"offsets/{log.name} of Spark's checkpoint does not say where {topic} is read to: {error}"
        ) from None
