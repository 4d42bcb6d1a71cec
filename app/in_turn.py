"""Two builds of Kafka run in turn, on the same seeds and the same machine, for `compare --kafka-under-test`.

A night differs from the night before by what the machine did meanwhile too. Here one run of the one build follows the
same run of the other, so that whatever the machine does it does to both; which of the two is first changes with each
seed. Runs are in one folder, and those that are finished are not run again.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from app import ledger as store
from app import nights, plan
from app.arguments import names_of
from app.matrix import Matrix, MatrixCell, cells, suite_cells, write_reports
from app.nights import ComparedSide
from app.output import Progress, say
from app.progress import watching
from evidence.errors import HarnessError, UsageError
from harness.cluster import versions as known_versions
from harness.cluster.versions import Version
from harness.scenario import all_scenarios, get_scenario
from harness.setup import central, images, own
from harness.setup.waiting import Echo

RELEASE: Final = re.compile(r"\d+(\.\d+){2,3}(-[\w.-]+)?(@[0-9a-f]+)?")
"""What a version looks like; anything else is a place of a build."""


def version_of(named: str, way: str, echo: Echo) -> Version:
    """A release, or a build of the user's own in a way to run it. Raises UsageError."""
    if RELEASE.fullmatch(named) and not Path(named).exists():
        return central.find(named if not way or "@" in named or named.endswith(way) else f"{named}-{way}", echo)
    return known_versions.of_build(own.take(named, [], "", echo), way)


def wanted(options: argparse.Namespace, old: Version, new: Version) -> list[MatrixCell]:
    """The cells that apply to both, in turn. Raises UsageError if none does."""
    chosen = [get_scenario(name) for name in names_of(options.scenarios) if name != "all"]
    chosen = chosen or list(all_scenarios().values())

    def of(version: Version) -> list[MatrixCell]:
        if not options.scenarios:
            every = suite_cells(all_scenarios(), seed=options.seed, repeat=options.repeat, versions=[version])
        else:
            every = cells(chosen, [version], seed=options.seed, repeat=options.repeat, cases=names_of(options.case))
        return [cell for cell in every if not options.case or cell.case in names_of(options.case)]

    both = {replace(cell, version=old.id) for cell in of(new)}
    shared = [cell for cell in of(old) if cell in both]
    if not shared:
        raise UsageError(
            f"no scenario of these applies to both {old.id} and {new.id}; `kafka-chaos list` shows which do"
        )
    return in_turn(shared, old.id, new.id)


def in_turn(shared: Sequence[MatrixCell], old: str, new: str) -> list[MatrixCell]:
    """Each cell on both versions, one after the other; which is first changes with each seed.

    >>> shared = [MatrixCell(scenario="s", version="1", seed=seed) for seed in (1, 2)]
    >>> [f"{cell.version} {cell.seed}" for cell in in_turn(shared, "1", "2")]
    ['1 1', '2 1', '2 2', '1 2']
    """
    both = ((old, new), (new, old))
    return [replace(cell, version=version) for cell in shared for version in both[1 - cell.seed % 2]]


def asked_for(options: argparse.Namespace, echo: Echo) -> tuple[Version, Version, list[MatrixCell]]:
    """Both builds, the old one first, and the runs that the options ask for, in their order.

    Raises UsageError if both are the same, or no scenario applies to both.
    """
    old, new = (version_of(named, options.way, echo) for named in (options.against, options.kafka_under_test))
    if old.id == new.id:
        raise UsageError(f"--kafka-under-test and --against are the same: {old.id}")
    return old, new, wanted(options, old, new)


def sides(options: argparse.Namespace) -> tuple[ComparedSide, ComparedSide]:
    """Run what is not finished, and give the runs of both builds, the old one first.

    Raises UsageError as `asked_for` does, and HarnessError if a run left nothing behind.
    """
    progress = Progress(quiet=options.quiet)
    old, new, asked = asked_for(options, progress.line)
    images.ensure_images([old.build, new.build], progress.line)
    root: Path = options.runs_dir
    root.mkdir(parents=True, exist_ok=True)
    until = math.inf if options.minutes is None else time.monotonic() + 60.0 * options.minutes
    matrix = Matrix(root, {}, options.jobs, progress.line, until=until, retain="interesting")
    with watching(
        progress,
        jobs=options.jobs,
        expected=lambda: plan.durations(store.load().lines, asked),
        quiet=options.quiet,
    ) as matrix.watch:
        done = matrix.run(asked)
    write_reports(root, list(done.values()))
    if matrix.left:
        say(
            f"{matrix.left} of {len(asked)} runs were not begun in {options.minutes} minutes; "
            "the same command continues"
        )
    if matrix.lost:
        raise HarnessError(f"{len(matrix.lost)} of {len(asked)} runs left nothing; the first: {matrix.lost[0]}")
    every = nights.side(root)
    of = {(cell.scenario, cell.case, cell.version) for cell in asked}
    wanted = [run for run in every.runs if run.cell in of]
    before, after = (
        ComparedSide(str(root), [run for run in wanted if run.cell[2] == version.id], every.notes)
        for version in (old, new)
    )
    for side, version in ((before, old), (after, new)):
        if not side.runs:
            raise UsageError(f"{root}: no run on {version.id} has a verdict yet; give more --minutes")
    return before, ComparedSide(after.name, after.runs)
