"""`kafka-chaos watch`: what a run does, from its timeline as it is written by whoever carries it out; then its verdict.

A run that lives adds to its timeline several times a second, since the machine it runs on is a witness
(harness/observers/machine.py). So one that adds nothing for SILENT_S has died.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Final

from app.output import Progress, result
from evidence.errors import EXIT_AS_DOCUMENTED, HarnessError
from evidence.events import End, Event
from evidence.rundir import RunDir
from evidence.timeline import TimelineTail
from judgement.report import console
from judgement.report.facts import load
from judgement.verdict import Verdict, read_verdict

LOOK_S: Final = 0.25
SILENT_S: Final = 60.0
JUDGED_S: Final = 300.0
"""So long a verdict is waited for when a run has ended: it may be one of many that one Spark application judges."""


def run(options: argparse.Namespace) -> int:
    """Tell what happens until the run ends, and its verdict; the exit status is that of the verdict."""
    run_dir = RunDir(options.run_dir)
    record = run_dir.read_run()
    progress = Progress(json_lines=options.json_lines)
    progress.line(f"{record.full_name} on {record.version}, seed {record.seed}")
    for event in events(run_dir):
        progress.event(event)
    verdict = verdict_of(run_dir)
    if verdict is None:
        progress.line(f"no verdict; `kafka-chaos check {run_dir.path}` gives one")
        return EXIT_AS_DOCUMENTED
    if options.json_lines:
        result(json.dumps({"kind": "run", "run_dir": str(run_dir.path)} | verdict.as_json()))
    else:
        result(console.run_summary(load(run_dir)))
    return verdict.exit_status


def events(run_dir: RunDir) -> Iterator[Event]:
    """The events of a run, as they come, to the last. Raises HarnessError if it dies."""
    tail = TimelineTail(run_dir.timeline)
    heard = time.monotonic()
    while True:
        more = tail.more()
        yield from more
        if any(isinstance(event, End) for event in more):
            return
        if more:
            heard = time.monotonic()
        elif time.monotonic() - heard > SILENT_S or run_dir.read_run().state != "running":
            raise HarnessError(
                f"{run_dir.path}: the timeline has no end, and nothing was added for "
                f"{time.monotonic() - heard:.0f} s: the run was killed; its state is {run_dir.read_run().state!r}"
            )
        time.sleep(LOOK_S)


def verdict_of(run_dir: RunDir) -> Verdict | None:
    """The verdict on a run that has ended; None if none is given in time, or the run was interrupted."""
    record = run_dir.read_run()
    since_s = max(0.0, time.time() - (record.ended_wall_ns or 0) / 1e9)
    until = time.monotonic() + JUDGED_S - since_s
    while not run_dir.verdict.exists():
        if time.monotonic() > until or record.state == "interrupted":
            return None
        time.sleep(LOOK_S)
    return read_verdict(run_dir)
