"""`kafka-chaos guide`: the generated pages of docs/."""

from __future__ import annotations

import argparse

import results
from app.output import say
from evidence.errors import UsageError
from pages import build, guide, reproduced
from pages.scenarios import described


def run(options: argparse.Namespace) -> int:
    """Write the pages, and count runs anew if any are named."""
    told = described()
    root = options.results or results.ROOT
    if options.run_dirs:
        gathered = reproduced.gather(reproduced.find(options.run_dirs))
        for line in gathered.left_out:
            say(f"left out: {line}")
        if not gathered.runs:
            raise UsageError("none of these runs can be counted; `kafka-chaos check` judges runs without a verdict")
        guide.write_data(root, told, gathered.runs, say)
        print(f"{len(gathered.runs)} runs counted, {len(gathered.left_out)} left out")
    for page in build.write(options.docs, build.pages(root, told)):
        print(options.docs / page)
    return 0
