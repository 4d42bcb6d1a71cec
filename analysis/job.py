"""The PySpark job: run directories in, `findings/findings.json` out, one Spark application for any number of runs.

    python -m analysis.job RUN_DIR… [--master local[2]] [--json]
    python -m analysis.job --serve
    python -m analysis.job --prepare

Runs are cut into pieces, a topic-partition each, that need nothing of one another; a piece is one task that reads its
own files into Arrow columns, so there is no shuffle, nothing to plan, and a partition's columns never leave their
task. What comes back is findings. With --serve the application stays up and takes one run directory a line: Spark
takes seconds to start and a fraction of one to check a run, so a suite starts it once, and while the first cluster is
still busy. --prepare makes Spark start faster from then on (analysis.spark says how).

Java 17 or later is taken from JAVA_HOME, the PATH or /usr/lib/jvm; the caller usually sets JAVA_HOME.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.check import Piece, Result, check_piece, merge, pieces
from analysis.spark import close_context, find_java_home, open_context, open_session, prepare_archive
from harness.errors import EXIT_ERROR, KafkaChaosError
from harness.rundir import RunDir, write_json

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["check_runs", "find_java_home", "main", "open_context", "open_session"]

NOWHERE = Piece("", "", -1)
"""A piece of no run: what a task does with it is to load everything that checking needs."""


def check_pieces(work: Iterable[Piece]) -> Iterator[tuple[str, str]]:
    """The work of one task: check each of its pieces. Yields run directory and result, as JSON."""
    for piece in work:
        yield piece.run_dir, json.dumps(check_piece(piece).as_json())


def check_runs(context: SparkContext, run_dirs: Sequence[RunDir]) -> dict[str, dict[str, Any]]:
    """The findings of every run, by its path; all their pieces in one Spark job, a task each.

    Raises UsageError if one of them is not a run directory.
    """
    begun = time.monotonic()
    work = [piece for run_dir in run_dirs for piece in pieces(run_dir)]
    answers = context.parallelize(work, max(1, len(work))).mapPartitions(check_pieces).collect()
    results: dict[str, list[Result]] = {str(run_dir.path): [] for run_dir in run_dirs}
    for path, answer in answers:
        results[path].append(Result.from_json(json.loads(answer)))
    seconds = time.monotonic() - begun
    return {path: merge(found, seconds) for path, found in results.items()}


def warm(context: SparkContext) -> None:
    """Start the Python workers and let them load everything, before anybody waits for them."""
    cores = context.defaultParallelism
    context.parallelize([NOWHERE] * cores, cores).mapPartitions(check_pieces).collect()


def answer_for(context: SparkContext, path: str) -> dict[str, Any]:
    """Check one run and write its findings: the answer to a line of --serve, an error being an answer too."""
    try:
        run_dir = RunDir(Path(path))
        (findings,) = check_runs(context, [run_dir]).values()
        write_json(run_dir.findings, findings)
    except KafkaChaosError as error:
        return {"run_dir": path, "error": str(error)}
    except Exception as error:
        return {"run_dir": path, "error": f"{type(error).__name__}: {error}"[:2000]}
    return {"run_dir": path, "findings": len(findings["findings"]), "seconds": findings["seconds"]}


def serve(context: SparkContext, lines: Iterable[str]) -> None:
    """Answer each line, a run directory, until there are no more."""
    warm(context)
    print(json.dumps({"ready": True}), flush=True)
    for line in lines:
        if line.strip():
            print(json.dumps(answer_for(context, line.strip())), flush=True)


def check_all(context: SparkContext, run_dirs: Sequence[RunDir], *, as_json: bool) -> None:
    """Check runs, write their findings and print a line for each."""
    for path, findings in check_runs(context, run_dirs).items():
        write_json(RunDir(Path(path)).findings, findings)
        count = sum(finding["count"] for finding in findings["findings"])
        line = json.dumps({"run_dir": path} | findings) if as_json else f"{path}: {count} anomalies"
        print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis.job", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("run_dirs", nargs="*", type=Path, metavar="RUN_DIR")
    parser.add_argument("--master", default="local[2]", help="Spark's master, such as spark://host:7077")
    parser.add_argument("--serve", action="store_true", help="take run directories on stdin, one a line")
    parser.add_argument("--json", action="store_true", help="print the findings as well, one line a run")
    parser.add_argument("--prepare", action="store_true", help="make an archive of Spark's classes, once")
    parser.add_argument("--record-classes", metavar="FILE", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of the job; returns its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not (options.run_dirs or options.serve or options.prepare or options.record_classes):
        parser.error("name a run directory, or --serve, or --prepare")
    try:
        run_dirs = list(dict.fromkeys(RunDir(path) for path in options.run_dirs))
        for run_dir in run_dirs:
            run_dir.read_run()
        if options.prepare:
            print(prepare_archive())
            return 0
        with tempfile.TemporaryDirectory(prefix="kafka-chaos-spark-") as scratch:
            recording = f"-XX:ArchiveClassesAtExit={options.record_classes}" if options.record_classes else ""
            context = open_context(options.master, scratch, recording)
            try:
                if options.record_classes:
                    warm(context)
                elif options.serve:
                    serve(context, sys.stdin)
                else:
                    check_all(context, run_dirs, as_json=options.json)
            finally:
                close_context(context)
    except KafkaChaosError as error:
        print(f"analysis: {error}", file=sys.stderr)
        return error.exit_status
    except Exception as error:
        print(f"analysis: {type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
