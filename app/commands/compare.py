"""`kafka-chaos compare`: what changed between two samples of runs."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime

from app import accepted, nights
from app.nights import ComparedSide
from app.output import result, say
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, EXIT_UNKNOWN, UsageError
from evidence.text import plural
from judgement.comparison import Comparison, by_cell, compare
from judgement.comparison import name_of as name_of_cell
from judgement.difference import LEAST_RUNS
from judgement.report import comparison as report


def run(options: argparse.Namespace) -> int:
    """Compare, tell it, and end with 1 for a regression, 2 if there is too little to say."""
    if options.dry_run:
        result("\n".join(_planned(options)))
        return EXIT_AS_DOCUMENTED
    today = datetime.now(UTC).date()
    exceptions = accepted.read(options.accept, today) if options.accept else accepted.Accepted((), today)
    old, new = nights.alike(*_sides(options), options.version)
    found = compare(
        old.runs,
        new.runs,
        names=(name_of(old), name_of(new)),
        accepted=exceptions.why,
        notes=[*old.notes, *new.notes],
        error=options.error,
    )
    if not found.pairs:
        raise UsageError(
            f"{old.name} and {new.name} cannot be compared, the scenarios are not the same: "
            f"{'; '.join(found.other_code)}"
        )
    found = replace(found, notes=(*found.notes, *exceptions.notes(found)))
    if options.json:
        result(json.dumps(report.as_json(found)))
    else:
        result("\n".join(report.lines(found)))
    if options.out:
        for path in report.write(found, options.out):
            say(f"written: {path}")
    return status(found)


def _sides(options: argparse.Namespace) -> tuple[ComparedSide, ComparedSide]:
    """What is compared: two places, or two builds that are run now."""
    if _two_builds(options):
        from app import in_turn

        return in_turn.sides(options)
    builds = (options.kafka_under_test, options.against)
    if options.old is None or options.new is None or builds != (None, None):
        raise UsageError("compare what? Name OLD and NEW, or --kafka-under-test BUILD and --against BUILD")
    return nights.side(options.old), nights.side(options.new)


def _planned(options: argparse.Namespace) -> list[str]:
    """What would be run or compared: each run of two builds in its order, or each cell with its runs on both sides."""
    if _two_builds(options):
        from app import in_turn

        *_, asked = in_turn.asked_for(options, say)
        return [*map(str, asked), plural(len(asked), "run")]
    before, after = (by_cell(side.runs) for side in nights.alike(*_sides(options), options.version))
    both = sorted(before.keys() & after.keys())
    lines = [
        f"{name_of_cell(cell)}: {plural(len(after[cell]), 'run')}, beside {len(before[cell])}"
        + (f" ({LEAST_RUNS} a side are needed for times)" if len(after[cell]) < LEAST_RUNS else "")
        for cell in both
    ]
    return [*lines, plural(len(both), "cell")]


def _two_builds(options: argparse.Namespace) -> bool:
    """Whether two builds are to be run, in place of two places that are read."""
    return None not in (options.kafka_under_test, options.against) and options.old is None


def name_of(side: ComparedSide) -> str:
    """What a side is called in a sentence: its place, and the version if it has one only."""
    versions = {run.cell[2] for run in side.runs}
    return f"{versions.pop()} in {side.name}" if len(versions) == 1 else side.name


def status(found: Comparison) -> int:
    """The exit status."""
    if found.regressions:
        return EXIT_CONTRADICTED
    return EXIT_UNKNOWN if found.too_little else EXIT_AS_DOCUMENTED
