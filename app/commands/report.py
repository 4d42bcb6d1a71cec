"""`kafka-chaos report`: the reports of judged runs anew."""

from __future__ import annotations

import argparse

from app.output import result, say
from evidence.errors import UsageError
from evidence.rundir import find_runs
from judgement.report import console, html, junit
from judgement.report.facts import load_all
from judgement.verdict import worst


def run(options: argparse.Namespace) -> int:
    """Write the reports anew; the exit status is that of the worst verdict."""
    runs = [run_dir for path in options.run_dirs for run_dir in find_runs(path)]
    judged = [run_dir for run_dir in runs if run_dir.verdict.exists()]
    if len(judged) < len(runs):
        left_out = f"{len(runs) - len(judged)} of {len(runs)} runs"
        say(f"{left_out} have no verdict and are left out; `kafka-chaos check` judges them")
    if not judged:
        raise UsageError("none of these runs has a verdict; `kafka-chaos check` judges them")
    loaded = load_all(judged)
    for run in loaded.facts:
        html.write_run(run)
        junit.write_run(run)
    if options.out:
        html.write_suite(loaded, options.out)
        result(f"report: {options.out}")
    if options.picture:
        if len(loaded.facts) != 1:
            raise UsageError(f"--picture draws one run, and these are {len(loaded.facts)}: name one run directory")
        result(f"picture: {html.write_picture(loaded.facts[0], options.picture)}")
    result(console.table(loaded))
    if loaded.unreadable:
        raise UsageError(loaded.unreadable[0])
    return worst(run.verdict for run in loaded.facts).exit_status
