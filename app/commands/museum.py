"""`kafka-chaos museum`: historical bugs of Kafka."""

from __future__ import annotations

import argparse

import results
from app import museum
from pages.counted import shown


def run(options: argparse.Namespace) -> int:
    """Tell of bugs, or write the report of a run of one."""
    if options.report is not None:
        from app.bug_report import report  # what judges a run is loaded for one alone
        from evidence.rundir import RunDir

        print(report(RunDir(options.report)))
        return 0
    data = results.by_scenario()
    return museum.run(options, lambda name, version, case: shown(name, version, data, case))
