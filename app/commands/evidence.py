"""`kafka-chaos evidence`: the small evidence of runs, packed, with its digest."""

from __future__ import annotations

import argparse
from pathlib import Path

from app import evidence
from app.output import result
from evidence.errors import EXIT_AS_DOCUMENTED, UsageError
from evidence.rundir import RunDir


def run(options: argparse.Namespace) -> int:
    """Pack a run, or one run of each cell in folders of runs; enter the digests beside the runs."""
    paths: list[Path] = options.paths
    if missing := next((path for path in paths if not path.is_dir()), None):
        raise UsageError(f"{missing}: no such directory; name a run directory, or folders of them")
    single = len(paths) == 1 and (paths[0] / "run.json").exists()
    runs = [RunDir(paths[0])] if single else evidence.telling(paths)
    place: Path = options.out or (Path() if single else Path("dist/evidence"))
    if not single:
        place.mkdir(parents=True, exist_ok=True)
    for run_dir in runs:
        bundle = evidence.pack(run_dir)
        evidence.enter(run_dir, bundle)
        result(evidence.in_words(bundle, evidence.write(bundle, place)))
    return EXIT_AS_DOCUMENTED
