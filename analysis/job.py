"""The PySpark job: run directories in, `findings/findings.json` out, one Spark application for any number of runs.

A run directory is a path, or a URL (s3a://bucket/runs/<run>: analysis.places); docs/spark-cluster.md is about clusters.

    python -m analysis.job RUN_DIR… [--master local[2]] [--json]
    python -m analysis.job --serve
    python -m analysis.job --prepare

Runs are cut into independent pieces, one for each topic-partition. A task reads a piece's own files into Arrow columns
and returns findings, so nothing is shuffled and a partition's columns never leave their task. The few pieces for which
other pieces prove something are checked again. What pieces tell of transactions is shuffled by transaction, and checked
there (analysis.across). With --serve the application stays up and takes one run directory a line: Spark takes seconds
to start and a fraction of a second to check a run. So a suite starts it once, while the first cluster is still busy.
--prepare makes later starts of Spark faster (analysis.spark says how).

Java 17 or later is taken from JAVA_HOME or the PATH; the harness, which looks further, sets JAVA_HOME.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec

from analysis import across, check
from analysis.check import to_check_again
from analysis.pieces import Piece
from analysis.places import StoredPiece, fetched, stored_pieces, write_file
from analysis.result import PieceResult, Result, merge
from analysis.spark import (
    close_context,
    default_master,
    find_java_home,
    open_context,
    prepare_archive,
    quoted,
)
from evidence.errors import EXIT_ERROR, KafkaChaosError
from evidence.findings import Findings
from evidence.rundir import RunDir

if TYPE_CHECKING:
    from pyspark import RDD, Accumulator, SparkContext

__all__ = ["check_runs", "find_java_home", "main", "open_context"]

FINDINGS = "findings/findings.json"
PYTHON_ERROR = re.compile(r"[A-Za-z_.]*(Error|Exception)\b(?!.*\.java)(?!.*Job aborted).*:")
TASKS_A_CORE = 16
"""Tasks for each core at most. With more pieces a task takes several: starting one takes 7 ms of processor time."""
FROZEN_FROM: Final = 20_000
"""So many objects that a task leaves behind are taken from the garbage collector's sight."""
NOTHING = b"{}"
AtOnce = dict[int, tuple[bytes, bool]]
"""By the number of a piece: its result as JSON, and whether it gathered something."""
WARM_UP = Piece("", "", -1)
"""A piece of no run. A task that checks it loads every module that checking needs."""


def check_pieces(work: Iterable[tuple[int, StoredPiece]]) -> Iterator[PieceResult]:
    """The work of one task: check each of its pieces. Yields an answer for each, in order."""
    for _, alike in groupby(work, lambda one: (one[1].piece.run_dir, one[1].files, one[1].streams)):
        numbers, stored = zip(*alike, strict=True)
        with fetched(list(stored)) as pieces:
            for number, result in zip(numbers, check.check_pieces(pieces), strict=True):
                gathered = msgspec.json.encode(result.gathered) if result.gathered else b""
                yield PieceResult(number, replace(result, gathered={}).as_json(), gathered)
    _settle_worker()


def _settle_worker() -> None:
    """Take what a task leaves behind (modules, compiled loops, what is kept of the run) from the garbage collector's
    sight. PySpark has a worker collect garbage after every task, which looks at all of it: 90 ms of processor time.
    """
    if len(gc.get_objects()) > FROZEN_FROM:
        gc.collect()
        gc.freeze()


def check_places(context: SparkContext, places: Sequence[str]) -> dict[str, Findings]:
    """The findings of every run, by its path or URL. One Spark job checks all pieces; a second one checks those again
    in which other pieces settle operations of unknown outcome; a third one, if there are transactions, brings together
    what pieces tell of these.

    Raises UsageError if one of them is not a run directory.
    """
    begun = time.monotonic()
    found = {place: stored_pieces(place) for place in places}
    work = [(place, task) for place, tasks in found.items() for task in tasks]
    first = _Round(context, dict(enumerate(task for _, task in work)))
    again = _Round(context, dict(_unsettled(found, first.results)))
    results = first.results | again.results
    told = first.gathered_of(first.telling - again.results.keys()) + again.gathered_of(again.telling)
    runs = [place for place, _ in work]
    across = _across(told, runs, places)
    first.close()
    again.close()
    seconds = time.monotonic() - begun
    of_place: dict[str, list[Result]] = {place: [] for place in places}
    for number, place in enumerate(runs):
        of_place[place].append(results[number])
    return {place: merge(of_place[place], seconds, across[place]) for place in places}


class _Answers:
    """How Spark adds up what tasks answer at once: the result of each piece, and whether it gathered something."""

    def zero(self, value: AtOnce) -> AtOnce:
        del value
        return {}

    def addInPlace(self, value1: AtOnce, value2: AtOnce) -> AtOnce:
        value1.update(value2)
        return value1


def _answering(
    answers: Accumulator[AtOnce], check: Callable[[Iterable[tuple[int, StoredPiece]]], Iterator[PieceResult]]
) -> Callable[[Iterable[tuple[int, StoredPiece]]], Iterator[tuple[int, bytes]]]:
    """A task that answers at once, and yields what pieces gathered, by their numbers."""

    def work(pieces: Iterable[tuple[int, StoredPiece]]) -> Iterator[tuple[int, bytes]]:
        for one in check(pieces):
            answers.add({one.number: (one.result, bool(one.gathered))})
            if one.gathered:
                yield one.number, one.gathered

    return work


class _Round:
    """Pieces that are checked by one Spark job. What they gather stays with the workers until it is asked for.

    The results come by an accumulator: to collect them from what is persisted, Spark would begin a second Python stage.
    """

    def __init__(self, context: SparkContext, work: Mapping[int, StoredPiece]) -> None:
        from pyspark import StorageLevel

        self.results: dict[int, Result] = {}
        self.telling: set[int] = set()
        """The numbers of pieces that gathered something."""
        self._gathered: RDD[tuple[int, bytes]] | None = None
        if work:
            tasks = max(1, min(len(work), TASKS_A_CORE * context.defaultParallelism))
            answers = context.accumulator({}, _Answers())
            gathered = context.parallelize(sorted(work.items()), tasks).mapPartitions(_answering(answers, check_pieces))
            self._gathered = gathered.persist(StorageLevel.MEMORY_AND_DISK)
            self._gathered._jrdd.count()  # what RDD.count does, without a Python stage that counts
            for number, (result, tells) in answers.value.items():
                self.results[number] = _result(result)
                if tells:
                    self.telling.add(number)

    def gathered_of(self, numbers: Set[int]) -> list[RDD[tuple[int, bytes]]]:
        """What pieces gathered, by their numbers."""
        if self._gathered is None or not numbers:
            return []
        return [self._gathered.filter(lambda one: one[0] in numbers)]

    def close(self) -> None:
        """Let the workers forget what was gathered."""
        if self._gathered is not None:
            self._gathered.unpersist()


def _unsettled(
    found: Mapping[str, Sequence[StoredPiece]], results: Mapping[int, Result]
) -> Iterator[tuple[int, StoredPiece]]:
    """The pieces to check again, by number."""
    begin = 0
    for tasks in found.values():
        own = [results[begin + place] for place in range(len(tasks))]
        for place, piece in to_check_again([task.piece for task in tasks], own).items():
            yield begin + place, replace(tasks[place], piece=piece)
        begin += len(tasks)


def _across(told: Sequence[RDD[tuple[int, bytes]]], runs: Sequence[str], places: Sequence[str]) -> dict[str, Result]:
    """What the checks that cross partitions find in each run."""
    if not told:
        return {place: across.in_one_process(()) for place in places}
    rows = told[0].context.union(list(told)).flatMap(lambda one: _told(runs[one[0]], *one))
    return across.on_spark(rows, places)


def _told(run: str, number: int, gathered: bytes) -> Iterator[across.GatheredRow]:
    for kind, rows in msgspec.json.decode(gathered).items():
        for place, row in enumerate(rows):
            yield across.GatheredRow(run, kind, (number, place), row)


def _result(answer: bytes) -> Result:
    """The result in an answer of `check_pieces`; most of those of small pieces are empty."""
    return Result() if answer == NOTHING else Result.from_json(answer)


def check_runs(context: SparkContext, run_dirs: Sequence[RunDir]) -> dict[str, Findings]:
    """The findings of every run that is on a disk, by its path. Raises as `check_places` does."""
    return check_places(context, [str(run_dir.path) for run_dir in run_dirs])


def write_findings(place: str, findings: Findings) -> None:
    """Write the findings of a run where the run lives."""
    write_file(place, FINDINGS, json.dumps(findings.as_json(), indent=1) + "\n")


def warm_up(context: SparkContext) -> None:
    """Start the Python workers and let them load everything, before anybody waits for them."""
    cores = context.defaultParallelism
    context.parallelize([(0, StoredPiece(WARM_UP))] * cores, cores).mapPartitions(check_pieces).collect()


def answer_for(context: SparkContext, path: str) -> dict[str, Any]:
    """Check one run and write its findings: the answer to a line of --serve, an error being an answer too."""
    try:
        (findings,) = check_places(context, [path]).values()
        write_findings(path, findings)
    except KafkaChaosError as error:
        return {"run_dir": path, "error": str(error)}
    except Exception as error:
        return {"run_dir": path, "error": f"{type(error).__name__}: {error}"[:2000]}
    return {"run_dir": path, "findings": len(findings.findings), "seconds": findings.seconds}


def serve(context: SparkContext, lines: Iterable[str]) -> None:
    """Answer each line, a run directory, until there are no more."""
    warm_up(context)
    print(json.dumps({"ready": True}), flush=True)
    for line in lines:
        if line.strip():
            print(json.dumps(answer_for(context, line.strip())), flush=True)


def check_all(context: SparkContext, places: Sequence[str], *, as_json: bool) -> None:
    """Check runs, write their findings and print a line for each."""
    for path, findings in check_places(context, places).items():
        write_findings(path, findings)
        count = sum(finding.count for finding in findings.findings)
        line = json.dumps({"run_dir": path} | findings.as_json()) if as_json else f"{path}: {count} anomalies"
        print(line, flush=True)


def error_text(error: Exception) -> str:
    """An error's message in one line; for an error in a task, the message of the task."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or ["it said nothing"]
    own = [line for line in lines if PYTHON_ERROR.match(line)]
    return (own or lines)[0][:500]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m analysis.job", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("run_dirs", nargs="*", metavar="RUN_DIR", help="a path, or a URL such as s3a://bucket/run")
    parser.add_argument("--master", help="such as spark://host:7077 (default: spark-submit's, else local[2])")
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
        places = list(dict.fromkeys(options.run_dirs))
        for place in places:
            stored_pieces(place)  # says what is wrong before Spark takes seconds to start
        if options.prepare:
            print(prepare_archive())
            return 0
        with tempfile.TemporaryDirectory(prefix="kafka-chaos-spark-") as scratch:
            recording = quoted(f"-XX:ArchiveClassesAtExit={options.record_classes}") if options.record_classes else ""
            context = open_context(options.master or default_master(), scratch, recording)
            try:
                if options.record_classes:
                    warm_up(context)
                elif options.serve:
                    serve(context, sys.stdin)
                else:
                    check_all(context, places, as_json=options.json)
            finally:
                close_context(context)
    except KafkaChaosError as error:
        print(f"analysis: {error}", file=sys.stderr)
        return error.exit_status
    except Exception as error:
        print(f"analysis: {type(error).__name__}: {error_text(error)}", file=sys.stderr)
        return EXIT_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
