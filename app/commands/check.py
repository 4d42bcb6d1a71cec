"""`kafka-chaos check`: analysis and verdict anew, from the files of runs or a history of JSON Lines."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.arguments import judged_json
from app.output import result, tell_failure
from evidence import kept
from evidence.errors import EXIT_USAGE, UsageError
from evidence.rundir import RunDir, find_runs
from harness.setup.java import java_home
from judgement import judge as judging
from judgement.report import console
from judgement.verdict import worst

LOCAL_SPARK: Final = "local[2]"


def _check_history(path: Path, master: str | None, *, as_json: bool) -> int:
    """Judge a history of JSON Lines in a process of the analysis; its status is ours."""
    options = [*(["--json"] if as_json else []), *(["--master", master] if master else [])]
    command = [sys.executable, "-m", "analysis.jsonl", str(path), *options]
    environment = dict(os.environ)
    with suppress(UsageError):  # a small history needs no Java, and Spark says that it has none
        environment["JAVA_HOME"] = java_home()
    return subprocess.run(command, env=environment, check=False).returncode


def run(options: argparse.Namespace) -> int:
    """Judge runs, or a history of JSON Lines, anew; the exit status is that of the worst verdict."""
    if options.history is not None:
        if options.run_dirs:
            raise UsageError("check takes run directories or --history FILE, not both")
        return _check_history(options.history, options.master, as_json=options.json)
    if not options.run_dirs:
        raise UsageError("check what? Name run directories, or a history of JSON Lines with --history FILE")

    runs, refusals = _readable(options.run_dirs)
    failures = [tell_failure(error) for error in refusals]
    if not runs:
        return EXIT_USAGE
    results, verdicts = [], []
    with judging.AnalysisServer(java_home=java_home(), master=options.master or LOCAL_SPARK) as analyst:
        for run_dir in runs:
            try:
                judged = judging.judge(run_dir, analyst)
            except Exception as error:
                failures.append(tell_failure(error))
                continue
            verdicts.append(judged.verdict)
            results.append(judged_json(run_dir, judged.verdict))
            if not options.json:
                result(console.run_summary(judged))
    if options.json:
        result(json.dumps(results[0] if len(results) == 1 and not failures else results))
    return max(failures) if failures else worst(verdicts).exit_status


def _readable(paths: Sequence[Path]) -> tuple[list[RunDir], list[UsageError]]:
    """The runs at these places that can be judged, and why others cannot: one that cannot keeps no other from it."""
    runs: list[RunDir] = []
    refusals: list[UsageError] = []
    for path in paths:
        try:
            found = list(find_runs(path))
        except UsageError as error:
            refusals.append(error)
            continue
        for run_dir in found:
            try:
                run_dir.refuse_special_files()
                run_dir.read_run()
                kept.refuse_removed(run_dir)
            except UsageError as error:
                refusals.append(error)
            else:
                runs.append(run_dir)
    return runs, refusals
