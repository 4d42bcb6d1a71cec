"""`kafka-chaos prune`: removes old runs, or what is large of them; their lines stay in the ledger."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from app.output import result, say
from evidence import kept
from evidence.errors import UsageError
from evidence.retention import Retain
from evidence.rundir import RunDir, find_runs
from judgement.verdict import read_verdict


def run(options: argparse.Namespace) -> int:
    """Remove what is old enough, and say how much room that made."""
    before = time.time() - options.older_than
    freed = runs = 0
    for run_dir in old(options.runs_dirs, before):
        size = bytes_of(run_dir.path)
        try:
            thin(run_dir, options.retain)
        except UsageError as error:
            say(f"left alone: {error}")
            continue
        now = bytes_of(run_dir.path)
        runs += now < size
        freed += size - now
    result(f"{runs} runs pruned, {freed / 1024**2:,.0f} MiB free again; their lines in the ledger stay")
    return 0


def old(roots: list[Path], before: float) -> Iterator[RunDir]:
    """The runs in these folders that had ended before then (seconds of the epoch). One that has no end is left alone:
    it may be under way, and `kafka-chaos clean` knows.
    """
    for root in roots:
        for run_dir in list(find_runs(root)):
            try:
                ended = run_dir.read_run().ended_wall_ns
            except UsageError as error:
                say(f"left alone: {error}")
                continue
            if ended is None or run_dir.data.exists():
                say(f"left alone: {run_dir.path} has no end, or its nodes' files are still there")
            elif ended / 1e9 < before:
                yield run_dir


def thin(run_dir: RunDir, retain: Retain | None) -> None:
    """Remove a run, or what need not be retained of it. Raises UsageError for one without a verdict to be kept."""
    if retain is None:
        shutil.rmtree(run_dir.path)
    else:
        kept.remove(run_dir, kept.superfluous(retain, good=read_verdict(run_dir).good))


def bytes_of(path: Path) -> int:
    """What the files below a directory take; 0 if it is gone."""
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else 0
