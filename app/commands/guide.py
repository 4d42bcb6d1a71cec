"""`kafka-chaos guide`: the generated pages of docs/."""

from __future__ import annotations

import argparse

import results
from app import ledger
from app.output import say
from evidence.errors import UsageError
from pages import build, example_runs, guide
from pages.scenarios import described


def run(options: argparse.Namespace) -> int:
    """Write the pages; of the runs that are named, tell one of each scenario in full."""
    scenarios = described()
    root = options.results or results.ROOT
    if options.run_dirs:
        gathered = example_runs.gather(example_runs.find(options.run_dirs))
        for line in gathered.left_out:
            say(f"left out: {line}")
        if not gathered.runs:
            raise UsageError("none of these runs can be told; `kafka-chaos check` judges runs without a verdict")
        written = guide.write_told(root, scenarios, gathered.runs, say)
        print(f"runs of {written} scenarios told; `kafka-chaos ledger merge` counts runs")
    for page in build.write(options.docs, build.pages(root, scenarios, ledger.history())):
        print(options.docs / page)
    return 0
