"""Where the time from the command to the verdict goes, over the runs of a folder.

    python -m benchmarks.time_to_verdict RUNS_DIR…

For each scenario and version: how many runs, the median of each phase (`run.json`), and of the whole up to the
verdict file. The floor of a sequence is in its sessions and parked fetches; what is above it is start-up,
final read and analysis.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from evidence.errors import KafkaChaosError
from evidence.rundir import RunDir, find_runs

PHASES = ("create", "start", "steps", "settle", "final read", "seal")


def seconds(run_dir: RunDir) -> dict[str, float] | None:
    """Seconds of each phase and of the whole; None for a run that is not complete or has no verdict."""
    run = run_dir.read_run()
    if run.state != "complete" or not run_dir.verdict.exists():
        return None
    phases = {name: run.phases.get(name, 0.0) for name in PHASES}
    whole = run_dir.verdict.stat().st_mtime - run.started_wall_ns / 1e9
    return phases | {"judging": whole - sum(phases.values()), "whole": whole}


def table(runs: Iterable[RunDir]) -> list[str]:
    """The table, a line for each scenario and version."""
    found: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for run_dir in runs:
        measured = seconds(run_dir)
        if measured is not None:
            run = run_dir.read_run()
            found[(run.scenario, run.version)].append(measured)
    columns = (*PHASES, "judging", "whole")
    lines = [f"{'scenario':22} {'version':13} {'runs':>4} " + " ".join(f"{name:>10}" for name in columns)]
    for (scenario, version), rows in sorted(found.items()):
        medians = " ".join(f"{statistics.median(row[name] for row in rows):10.1f}" for name in columns)
        lines.append(f"{scenario:22} {version:13} {len(rows):4} {medians}")
    return lines


def main(arguments: list[str]) -> int:
    """Print the table of these folders; returns the exit status."""
    try:
        runs = [run_dir for path in arguments for run_dir in find_runs(Path(path))]
    except KafkaChaosError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    print("\n".join(table(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
