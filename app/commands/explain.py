"""`kafka-chaos explain`: the life of a record."""

from __future__ import annotations

import argparse

from evidence.rundir import RunDir
from judgement.report import explain


def run(options: argparse.Namespace) -> int:
    """Tell the lives of records of a run."""
    explain.run(RunDir(options.run_dir), record=options.record, anomaly=options.anomaly, as_json=options.json)
    return 0
