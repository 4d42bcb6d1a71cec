"""`kafka-chaos cluster`: a cluster for somebody's own tests, which command it line by line (docs/pytest.md)."""

from __future__ import annotations

import argparse
import sys

from app.arguments import settings_of, version_of
from app.output import RUN, Progress
from evidence.errors import EXIT_AS_DOCUMENTED, HarnessError
from harness import commanded, runner
from harness.removal import Removals
from harness.setup import settings as known_settings


def run(options: argparse.Namespace) -> int:
    """Keep a cluster up until there are no more commands on standard input.

    Raises UsageError before anything is started, and HarnessError if the cluster could not be brought up or removed.
    """
    progress = Progress(json_lines=True)
    overrides = settings_of(options.setting)
    version = version_of(options, progress.line)
    known_settings.validate(version, overrides, "--setting", progress.line)
    steps = commanded.steps_from(sys.stdin, lambda kind, values: progress.json(kind, **values))
    asked = commanded.request(version, steps, brokers=options.brokers, settings=overrides, root=options.runs_dir)
    removals = Removals()
    try:
        finished = runner.execute(asked, removals=removals, echo=progress.line, listen=progress.event)
    finally:
        removals.wait()
    progress.json(RUN, run_dir=str(finished.run_dir.path))
    if failure := finished.run_dir.read_run().failure:
        raise HarnessError(failure)
    return EXIT_AS_DOCUMENTED
