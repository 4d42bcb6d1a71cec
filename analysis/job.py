"""The PySpark job: run directories in, `findings/findings.json` out, one Spark application for any number of runs.

    python -m analysis.job RUN_DIR… [--master local[2]] [--json]
    python -m analysis.job --serve

Runs are cut into pieces, a topic-partition each, that need nothing of one another; a piece is one row of a DataFrame
and one call in `mapInArrow`, so there is no shuffle and a partition's columns never leave its task. With --serve the
application stays up and takes one run directory a line: Spark takes seconds to start and a fraction of one to check a
run, so a suite starts it once, and while the first cluster is still busy.

Java 17 or later is taken from JAVA_HOME, the PATH or /usr/lib/jvm; the caller usually sets JAVA_HOME.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from analysis.check import Piece, Result, check_piece, merge, pieces
from harness.errors import EXIT_ERROR, KafkaChaosError, UsageError
from harness.rundir import RunDir, write_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIECE: Final = "run_dir string, topic string, partition int"
ANSWER: Final = pa.schema([pa.field("run_dir", pa.string()), pa.field("result", pa.string())])
JVM: Final = (
    # One core for the JIT is half of this kind of machine: compile quickly, collect simply, start from shared
    # classes.
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
)


def find_java_home() -> str:
    """JAVA_HOME for Spark; UsageError if there is no Java to be found."""
    stated = os.environ.get("JAVA_HOME")
    if stated and (Path(stated) / "bin" / "java").exists():
        return stated
    on_path = shutil.which("java")
    if on_path:
        return str(Path(on_path).resolve().parent.parent)
    for home in sorted(Path("/usr/lib/jvm").glob("*")):
        if (home / "bin" / "java").exists():
            return str(home)
    raise UsageError(
        "Spark needs Java 17 or later and there is none: install it and set JAVA_HOME, or run `make setup`"
    )


def open_session(master: str, scratch: str) -> SparkSession:
    """A quiet session without a web page, its files under `scratch`."""
    os.environ["JAVA_HOME"] = find_java_home()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging = Path(scratch) / "log4j2.properties"
    logging.write_text(
        "rootLogger.level = error\nrootLogger.appenderRef.err.ref = err\n"
        "appender.err.type = Console\nappender.err.name = err\nappender.err.target = SYSTEM_ERR\n"
        "appender.err.layout.type = PatternLayout\nappender.err.layout.pattern = %p %c: %m%n\n"
    )
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(master)
        .appName("kafka-chaos")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", f"{JVM} -Dlog4j2.configurationFile={logging}")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", f"{scratch}/warehouse")
        .config("spark.local.dir", scratch)
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "64")
        .getOrCreate()
    )


def check_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of one task: check every piece of every batch."""
    for batch in batches:
        for row in batch.to_pylist():
            result = check_piece(Piece(row["run_dir"], row["topic"], row["partition"]))
            text = json.dumps(result.as_json())
            yield pa.RecordBatch.from_pylist([{"run_dir": row["run_dir"], "result": text}], schema=ANSWER)


def check_runs(spark: SparkSession, run_dirs: Sequence[RunDir]) -> dict[str, dict[str, Any]]:
    """The findings of every run, by its path; all their pieces in one Spark job.

    Raises UsageError if one of them is not a run directory.
    """
    begun = time.monotonic()
    work = [piece for run_dir in run_dirs for piece in pieces(run_dir)]
    rows = [(piece.run_dir, piece.topic, piece.partition) for piece in work]
    slices = min(len(rows), spark.sparkContext.defaultParallelism * 4)
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, slices), PIECE)
    answers = frame.mapInArrow(check_batches, "run_dir string, result string").collect()
    results: dict[str, list[Result]] = {str(run_dir.path): [] for run_dir in run_dirs}
    for answer in answers:
        results[answer["run_dir"]].append(Result.from_json(json.loads(answer["result"])))
    seconds = time.monotonic() - begun
    return {path: merge(found, seconds) for path, found in results.items()}


def _serve(spark: SparkSession, lines: Iterable[str]) -> None:
    check_runs_warm(spark)
    print(json.dumps({"ready": True}), flush=True)
    for line in lines:
        path = line.strip()
        if not path:
            continue
        answer: dict[str, Any] = {"run_dir": path}
        try:
            run_dir = RunDir(Path(path))
            (findings,) = check_runs(spark, [run_dir]).values()
            write_json(run_dir.findings, findings)
            answer |= {"findings": len(findings["findings"]), "seconds": findings["seconds"]}
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {str(error).strip().splitlines()[-1:]}"
            print(error, file=sys.stderr)
        print(json.dumps(answer), flush=True)


def check_runs_warm(spark: SparkSession) -> None:
    """Start the Python workers and let them load everything, before anybody waits for them."""
    cores = spark.sparkContext.defaultParallelism
    rows = [("", "", -1)] * cores
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, cores), PIECE)
    frame.mapInArrow(check_batches, "run_dir string, result string").collect()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of the job; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m analysis.job", description=__doc__)
    parser.add_argument("run_dirs", nargs="*", type=Path, metavar="RUN_DIR")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--serve", action="store_true", help="take run directories on stdin, one a line")
    parser.add_argument("--json", action="store_true", help="print the findings as well")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-spark-") as scratch:
        try:
            run_dirs = [RunDir(path) for path in options.run_dirs]
            for run_dir in run_dirs:
                run_dir.read_run()
            spark = open_session(options.master, scratch)
            try:
                if options.serve:
                    _serve(spark, sys.stdin)
                    return 0
                found = check_runs(spark, run_dirs)
            finally:
                spark.stop()
            for path, findings in found.items():
                write_json(RunDir(Path(path)).findings, findings)
                count = sum(finding["count"] for finding in findings["findings"])
                print(json.dumps(findings) if options.json else f"{path}: {count} anomalies", flush=True)
        except KafkaChaosError as error:
            print(f"analysis: {error}", file=sys.stderr)
            return error.exit_status
        except Exception as error:
            print(f"analysis: {type(error).__name__}: {error}", file=sys.stderr)
            return EXIT_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
