"""Findings that accuse nobody: those that depend on a file which other evidence contradicts.

A file is contradicted if it is not what the manifest lists, or if another witness says otherwise. For instance the
timeline says that a copy was longer, or a history lacks operations between those that it has. What was found in such a
file may be what was done to it, and not what Kafka did. So it is reported, and the verdict is unknown; a finding of
another file stands.

The analysis says of each finding what its check reads (`reads`); one that does not say it may depend on anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final

from checks.catalogue import HISTORIES, METADATA, REPLICAS
from evidence.findings import Finding

TIMELINE: Final = "timeline.jsonl"
EVERYTHING: Final = (HISTORIES, REPLICAS, METADATA)


def depends_on(finding: Finding, contradicted: Iterable[str], *more: str) -> str | None:
    """The first of the contradicted paths (within the run directory) that the finding depends on, or what is asked of
    it, which reads `more` kinds of evidence; None if there is none.
    """
    reads = {*(finding.reads or EVERYTHING), *more}
    where = (finding.topic, finding.partition)
    return next((path for path in contradicted if _reads(reads, where, PurePosixPath(path).parts)), None)


def _reads(reads: set[str], where: tuple[object, object], parts: Sequence[str]) -> bool:
    """Whether a check of a topic-partition (None: of all of them) that reads such evidence reads a file."""
    topic, partition = where
    match parts:
        case ("run.json",):
            return True
        case (name,) if name == TIMELINE:
            return METADATA in reads
        case ("history", "sealed", of_topic, of_partition, _):
            own = (of_topic, of_partition) == (f"topic={topic}", f"partition={partition}")
            return HISTORIES in reads and (topic is None or own)
        case ("history", *_):
            return HISTORIES in reads
        case ("replicas", _, _, directory, _):
            return REPLICAS in reads and (topic is None or directory == f"{topic}-{partition}")
        case ("replicas", *_):
            return REPLICAS in reads
    return False
