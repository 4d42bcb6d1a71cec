"""index-mismatch: an .index or .timeindex entry that points to something else than the .log holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from checks.anomaly import (
    COPIES,
    KEPT_ROWS,
    anomaly,
)
from checks.copies import Copies
from checks.view import (
    EVIDENCE_LIMIT,
    Evidence,
    Rows,
)
from evidence.basis import Basis
from kafkafiles import index_checks, indexes
from kafkafiles.columns import read_headers
from kafkafiles.errors import ParseError


@anomaly(
    "index-mismatch",
    source="Kafka documentation, Implementation: log",
    basis=Basis.DOCUMENTATION,
    reads=(COPIES,),
    screened=KEPT_ROWS,
)
def index_mismatch(copies: Copies) -> Rows:
    """An entry of an offset or time index points to something else than the log holds there.

    Entries of .index and .timeindex files of closed segments that point to something else than the log holds.

    A segment that is still written to has an index of preallocated room, whose end may hold what was there before.
    """
    rows: list[Evidence] = []
    for copy in copies.copies:
        for segment in copy.replica.segments[:-1]:
            rows += [copy.place() | wrong for wrong in _wrong_entries(segment.path)]
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


def _wrong_entries(log: Path) -> Iterator[dict[str, str]]:
    offsets, times = log.with_suffix(".index"), log.with_suffix(".timeindex")
    closed = [path for path in (offsets, times) if path.exists() and not indexes.is_open(path.read_bytes())]
    if not closed:
        return
    headers, _ = read_headers(log)
    for path in closed:
        try:
            if path == offsets:
                lines = index_checks.check_index(indexes.read_index(path), headers)
            else:
                lines = index_checks.check_time_index(indexes.read_time_index(path), headers)
        except ParseError as error:  # its entries do not even ascend
            lines = [str(error)]
        for wrong in lines:
            yield {"file": path.name, "what": wrong}
