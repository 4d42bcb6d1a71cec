"""`kafka-chaos trend`: each cell and each duration over nights, releases or commits, from the table of all nights."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from app.output import result, say
from evidence.errors import EXIT_AS_DOCUMENTED, UsageError
from judgement.report import trend as report
from judgement.trend import HistoryRow, trend

WANTED = ("observed", "mutant", *HistoryRow.__dataclass_fields__)


def run(options: argparse.Namespace) -> int:
    """Add what the folders have to the table, if any are named, and tell what it shows. Raises UsageError."""
    if options.folders:
        _add(options.folders, options.table)
    found = trend(_chosen(rows(options.table), options.scenarios, options.versions), options.by)
    if not found.runs:
        raise UsageError(
            f"{options.table}: no runs of these scenarios and versions; leave out --scenarios and --versions"
        )
    result("\n".join(report.lines(found)))
    if options.out:
        report.write(found, options.out)
        say(f"written: {options.out}")
    return EXIT_AS_DOCUMENTED


def _add(folders: list[Path], table: Path) -> None:
    from analysis.history import append, files
    from analysis.spark import short_session

    paths = files(folders)
    with short_session("local[2]") as session:
        added = append(session, paths, table)
    say(f"{added} runs added to {table}")


def rows(table: Path) -> Iterator[HistoryRow]:
    """The rows of a table. Raises UsageError for a file that is no table, or has other columns."""
    from pyarrow import ArrowInvalid, dataset

    advice = "name folders of runs too, which are then put into it: kafka-chaos trend runs/nightly --table TABLE"
    if not table.exists():
        raise UsageError(f"{table}: there is no table; {advice}")
    try:
        read = dataset.dataset(table, format="parquet")
        missing = sorted(set(WANTED) - set(read.schema.names))
        if missing:
            raise UsageError(f"{table}: a table without {', '.join(missing)}; {advice}")
        batches = list(read.to_batches(columns=list(WANTED)))
    except (ArrowInvalid, OSError) as error:
        raise UsageError(f"{table}: no table of Parquet ({' '.join(str(error).split())[:200]}); {advice}") from None
    for batch in batches:
        for values in batch.to_pylist():
            if not values.pop("observed") and not values.pop("mutant"):
                yield HistoryRow(**values)


def _chosen(every: Iterator[HistoryRow], scenarios: list[str], versions: list[str]) -> Iterator[HistoryRow]:
    return (
        row
        for row in every
        if (not scenarios or row.scenario in scenarios) and (not versions or row.version in versions)
    )
