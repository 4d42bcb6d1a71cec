"""The Atlas as rows: one for each cell of its grids and for each event that no producer setting decides.

A row tells what was asked (line, client, event, settings), what was measured (version, runs, records), what that leaves
possible, and where measured settings differ from those that were asked for. CSV and Parquet have the same columns.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from audit.cells import RELEASES_DIFFER
from judgement.sampling import at_most
from pages.atlas.model import HOLE, WORDS, Atlas, GridCell, RowOnPage

COLUMNS: Final = (
    "line", "mode", "release", "kind", "client", "event", "scenario", "case", "settings", "acks", "idempotence",
    "in_flight", "replication_factor", "min_insync_replicas", "unclean_elections", "flush_each", "outcome", "also",
    "measured_on", "runs", "runs_with_outcome", "records", "of_records", "share_at_most", "arguments", "differs",
    "run_of_records",
)  # fmt: skip
"""In their order. `records` are of the run `run_of_records`, the worst of its cell. `share_at_most` is of attempts, at
95 %.
"""
NUMBERS: Final = frozenset(
    {"in_flight", "replication_factor", "min_insync_replicas", "runs", "runs_with_outcome", "records", "of_records"}
)
TRUTHS: Final = frozenset({"idempotence", "unclean_elections", "flush_each"})


def rows(atlases: Iterable[Atlas]) -> Iterator[dict[str, Any]]:
    """All rows, each with every column; None where a column says nothing."""
    for atlas in atlases:
        about = {"line": atlas.line.name, "mode": atlas.line.mode, "release": atlas.line.newest}
        for client in atlas.grids:
            for cell in atlas.cells(client):
                yield _empty() | about | {"client": client} | _of_grid(cell)
        for one in atlas.rows:
            yield _empty() | about | _of_row(one)


def _empty() -> dict[str, Any]:
    return dict.fromkeys(COLUMNS)


def _of_grid(cell: GridCell) -> dict[str, Any]:
    column, run = cell.column, cell.worst_run
    told: dict[str, Any] = {
        "kind": "grid",
        "event": cell.fault,
        "scenario": f"audit-{cell.fault}",
        "settings": column.id,
        "acks": column.acks,
        "idempotence": column.idempotence,
        "in_flight": column.in_flight,
        "replication_factor": column.replication_factor,
        "min_insync_replicas": column.min_insync_replicas,
        "unclean_elections": column.unclean,
        "flush_each": column.flush_each,
        "outcome": WORDS[cell.worst],
        "also": "; ".join(WORDS[one] for one in cell.outcomes[1:]),
    }
    if cell.covering is None or run is None:
        return told
    return told | {
        "measured_on": cell.covering.cell.key.version,
        "runs": len(cell.runs),
        "runs_with_outcome": cell.times if cell.outcomes else len(cell.runs),
        "records": cell.count,
        "of_records": run.acknowledged,
        "share_at_most": round(at_most(cell.times, len(cell.runs)), 4),
        "arguments": "; ".join(cell.covering.arguments),
        # Where releases differ, the columns `release` and `measured_on` say so.
        "differs": "; ".join(one for one in cell.covering.differs if not one.startswith(RELEASES_DIFFER)),
        "run_of_records": run.run,
    }


def _of_row(one: RowOnPage) -> dict[str, Any]:
    cell = one.cell
    told: dict[str, Any] = {
        "kind": "scenario",
        "event": one.row.event,
        "scenario": one.row.scenario,
        "case": one.row.case,
        "settings": one.row.settings,
        "outcome": WORDS[cell.worst],
    }
    if cell.worst == HOLE:
        return told | {"differs": cell.why}
    return told | {
        "measured_on": cell.version,
        "runs": cell.runs,
        "runs_with_outcome": cell.lost or cell.runs,
        "records": cell.most,
        "of_records": cell.acknowledged,
        "share_at_most": round(at_most(cell.lost, cell.runs), 4),
    }


def as_csv(found: Iterable[dict[str, Any]]) -> str:
    """Rows as CSV; what says nothing is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()


def write_csv(found: Iterable[dict[str, Any]], path: Path) -> None:
    """Rows as a CSV file, compressed by gzip; the same bytes for the same rows."""
    path.write_bytes(gzip.compress(as_csv(found).encode(), mtime=0))


def write_parquet(found: Iterable[dict[str, Any]], path: Path) -> None:
    """Rows as a Parquet file."""
    import pyarrow
    from pyarrow import parquet

    def type_of(name: str) -> pyarrow.DataType:
        if name in NUMBERS:
            return pyarrow.int64()
        if name in TRUTHS:
            return pyarrow.bool_()
        return pyarrow.float64() if name == "share_at_most" else pyarrow.string()

    schema = pyarrow.schema([(name, type_of(name)) for name in COLUMNS])
    parquet.write_table(pyarrow.Table.from_pylist(list(found), schema=schema), path, compression="zstd")
