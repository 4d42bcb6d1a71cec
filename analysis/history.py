"""The PySpark job that puts what runs showed into one Parquet table, which each night appends to.

    python -m analysis.history runs/nightly results/ledger --out history.parquet [--master local[2]]

It reads the ledgers of the folders, and of folders in them, and writes a row for each thing that a run showed: its
verdict, each anomaly, each claim, each time (COLUMNS). Runs that the table has are not read again, so the same call can
be repeated, and folders may overlap. The first verdict on a run counts; excluded runs and those without a verdict have
no rows, nor have restored ones, of which too little is known. docs/nights.md has queries.

A table of other columns is refused. Rows are written in one step of Spark's committer: a job that is killed leaves the
table as it was, or files that Spark does not read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analysis.ledger import schema
from analysis.spark import short_session
from evidence import ledger
from evidence.errors import KafkaChaosError, UsageError
from evidence.quiet import BUSY, BUSY_CPU, QUIET, UNTOLD

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

COLUMNS: Final = {
    "run": "string",
    "at": "timestamp",
    "scenario": "string",
    "case": "string",
    "version": "string",
    "seed": "bigint",
    "client": "string",
    "commit": "string",
    "modified": "boolean",
    "observed": "boolean",
    "mutant": "string",
    "code": "string",
    "cores": "bigint",
    "load": "string",
    "what": "string",
    "name": "string",
    "outcome": "string",
    "number": "double",
}
"""Of the table, in order: what docs/nights.md explains."""
TIMES: Final = ("write_pause_ms", "read_pause_ms", "first_success_ms", "ack_ms")


def files(folders: Sequence[Path]) -> list[str]:
    """The ledgers of folders, and of folders in them. Raises UsageError for a folder without one."""
    found: list[str] = []
    for folder in folders:
        own = [folder / ledger.FILE] if (folder / ledger.FILE).is_file() else sorted(folder.glob(f"*/{ledger.FILE}"))
        own = own or ledger.files_of(folder)
        if not own:
            raise UsageError(f"{folder}: no ledger here, nor in folders in it (looked for {ledger.FILE} and *.jsonl)")
        found += map(str, own)
    return found


def rows(session: SparkSession, paths: Sequence[str]) -> DataFrame:
    """What the runs of some ledgers showed, a row each."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    lines = session.read.schema(schema()).json(list(paths))
    excluded = lines.where("kind = 'excluded'").select("run")
    first = Window.partitionBy("run").orderBy("at", "verdict")
    judged = (
        lines.where("kind = 'judged'")
        .withColumn("number", f.row_number().over(first))
        .where("number = 1")
        .select("run", "verdict", "seconds", "anomalies", "permitted", "claims", *TIMES, "throughout")
    )
    ended = lines.where("kind = 'ended'").select("run", f.col("load").alias("load_at_end")).dropDuplicates(["run"])
    started = lines.where("kind = 'started'").select(
        "run",
        f.to_timestamp("at").alias("at"),
        "scenario",
        _default("case", "default"),
        "version",
        "seed",
        _default("client", ""),
        "commit",
        _default("modified", value=False),
        _default("observed", value=False),
        _default("mutant", ""),
        _default("code", ""),
        f.col("host.cores").alias("cores"),
        f.col("load").alias("load_at_start"),
    )
    told = started.dropDuplicates(["run"]).join(judged, "run").join(ended, "run", "left")
    runs = told.join(excluded, "run", "left_anti").withColumn("load", _load())
    shown = f.array_distinct(f.flatten(f.array(*_facts())))
    exploded = runs.withColumn("fact", f.explode(shown)).select("*", "fact.*")
    return exploded.select(*(f.col(name).cast(kind) for name, kind in COLUMNS.items()))


def _default(name: str, value: str | bool) -> Column:
    """A column; a field that has its default value is left out of a line."""
    from pyspark.sql import functions as f

    return f.coalesce(f.col(name), f.lit(value)).alias(name)


def _load() -> Column:
    """How busy the machine was through the run, as `evidence.quiet.load_of` says."""
    from pyspark.sql import functions as f

    def busy(moment: str) -> Column:
        by_load = f.col(f"{moment}.load_1") > f.col("cores") / 2
        return f.coalesce(f.col(f"{moment}.cpu") >= BUSY_CPU, by_load, f.lit(False))

    whole = f.coalesce(f.col("throughout.cpu") >= BUSY_CPU, f.lit(False))
    known = f.col("throughout").isNotNull() & f.col("load_at_start.cpu").isNotNull()
    return f.when(busy("load_at_start") | busy("load_at_end") | whole, BUSY).when(known, QUIET).otherwise(f.lit(UNTOLD))


def _facts() -> list[Column]:
    """What a run showed, as arrays of (what, name, outcome, number)."""
    from pyspark.sql import functions as f

    def fact(what: str, name: Column, outcome: Column, number: Column) -> Column:
        columns = {"what": f.lit(what), "name": name, "outcome": outcome, "number": number.cast("double")}
        return f.struct(*(column.alias(called) for called, column in columns.items()))

    nothing = f.array().cast("array<struct<what:string,name:string,outcome:string,number:double>>")
    permitted = f.coalesce("permitted", f.array().cast("array<string>"))
    anomalies = f.transform(
        f.map_entries("anomalies"),
        lambda one: fact(
            "anomaly",
            one["key"],
            f.when(f.array_contains(permitted, one["key"]), "permitted").otherwise("seen"),
            one["value"],
        ),
    )
    claims = f.transform("claims", lambda one: fact("claim", one["name"], one["outcome"], one["measured_ms"]))
    times = [
        f.when(f.col(name).isNotNull(), f.array(fact("time", f.lit(name), f.lit(""), f.col(name)))) for name in TIMES
    ]
    verdict = f.array(fact("verdict", f.lit(""), f.col("verdict"), f.col("seconds")))
    return [verdict, *(f.coalesce(one, nothing) for one in (anomalies, claims, *times))]


def _has_rows(table: Path) -> bool:
    """Whether there is a table to add to: not in an empty folder, nor in one that a killed first job left.

    Raises UsageError for a place with other files, before Spark fails at it in many lines.
    """
    from pyarrow import ArrowInvalid, dataset

    if not table.exists():
        return False
    try:
        if table.is_dir():
            return bool(dataset.dataset(table, format="parquet").files)
    except (ArrowInvalid, OSError):
        pass
    raise UsageError(f"{table}: is there, and is no table of Parquet; choose another place")


def append(session: SparkSession, paths: Sequence[str], table: Path) -> int:
    """Add what these ledgers have and the table has not; how many runs. Raises UsageError for another table."""
    new = rows(session, paths)
    if _has_rows(table):
        there = session.read.parquet(str(table))
        if dict(there.dtypes) != COLUMNS:
            raise UsageError(f"{table}: a table of other columns ({', '.join(there.columns)}); choose another place")
        new = new.join(there.select("run").distinct(), "run", "left_anti").select(*COLUMNS)
    new = new.cache()
    runs = new.select("run").distinct().count()
    if runs:
        new.coalesce(1).write.mode("append").parquet(str(table))
    return runs


def main(words: Sequence[str] | None = None) -> int:
    """What the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="analysis.history", description="What runs showed, in one Parquet table.")
    parser.add_argument("folders", nargs="+", type=Path, help="folders of runs or of nights, or results/ledger")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the table, which is added to")
    parser.add_argument("--master", default="local[2]", help="Spark master (default local[2])")
    arguments = parser.parse_args(words)
    try:
        paths = files(arguments.folders)
        with short_session(arguments.master) as session:
            added = append(session, paths, arguments.out)
    except KafkaChaosError as error:
        print(f"analysis.history: {error}", file=sys.stderr)
        return error.exit_status
    print(f"{added} runs added to {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
