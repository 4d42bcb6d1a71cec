"""`kafka-chaos matrix` and `suite`: many runs, several at a time, and one report of all."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from app import ledger as store
from app import parts, plan
from app.arguments import expected, judged_json, names_of, own_versions, settings_of, versions_of
from app.clients import require_client
from app.matrix import AGAIN, Matrix, MatrixCell, cells, night_order, of_the_night, suite_cells, write_reports
from app.options import FAIL_ON, RUNS
from app.output import Progress, result, say
from app.progress import watching
from evidence.errors import EXIT_AS_DOCUMENTED, HarnessError, UsageError
from evidence.rundir import RunDir
from harness import runner
from harness.cluster.versions import Version
from harness.scenario import Scenario, all_scenarios, get_scenario
from harness.setup import central, images
from harness.setup import settings as known_settings
from harness.suite import DEFAULT_VERSIONS, SUITE
from harness.workloads.libraries import library
from judgement import repeated
from judgement.report import console, github
from judgement.verdict import SEVERITY, Verdict, read_verdict, worst


def run(options: argparse.Namespace) -> int:
    """Run the cells that the options name; the exit status is that of the worst verdict."""
    if options.shard and not options.plan:
        raise UsageError("--shard is a part of a plan: add --plan")
    if options.command == "matrix" and not options.versions and options.kafka is None:
        raise UsageError("name versions with --versions, or a build of your own with --kafka")
    progress = Progress(quiet=options.quiet, json_lines=options.json_lines)
    overrides, expect = settings_of(options.setting), expected(options.expect)
    own = own_versions(options, progress.line)
    wanted = wanted_cells(options, own, overrides, progress.line)
    if options.dry_run:
        result(json.dumps([asdict(cell) for cell in wanted]) if options.json else "\n".join(map(str, wanted)))
        return EXIT_AS_DOCUMENTED
    runner.tell_of_changes(say)
    chosen = versions_in(wanted, own, progress.line)
    images.ensure_images([build for version in chosen for build in version.builds], progress.line)
    root: Path = options.runs_dir or RUNS / time.strftime("suite-%Y%m%dt%H%M%S", time.gmtime())
    root.mkdir(parents=True, exist_ok=True)
    if options.shard:
        parts.add(root, *options.shard)
    until = math.inf if options.minutes is None else time.monotonic() + 60.0 * options.minutes
    matrix = Matrix(
        root, overrides, options.jobs, progress.line, expect, until, client=options.client, retain=options.retain
    )
    with watching(
        progress,
        jobs=options.jobs,
        expected=lambda: plan.durations(store.load().lines, wanted),
        verbose=options.verbose,
        json_lines=options.json_lines,
        quiet=options.quiet,
    ) as matrix.watch:
        first = matrix.run(wanted)
        night = AGAIN if options.minutes is not None else 0
        again = matrix.again(first, night if options.again is None else options.again)
    by_cell = {cell: again.get(cell, [run_dir]) for cell, run_dir in first.items()}
    verdicts = {cell: [read_verdict(run_dir) for run_dir in runs] for cell, runs in by_cell.items()}
    tell(root, options, by_cell, verdicts, {cell: repeated.in_words(verdicts[cell]) for cell in again})
    if matrix.left:
        say(
            f"{matrix.left} of {len(wanted)} runs were not begun in {options.minutes} minutes; "
            "the same command continues"
        )
    if matrix.lost:
        raise HarnessError(
            f"{len(matrix.lost)} of {len(wanted)} runs left no run directory; the first: {matrix.lost[0]}"
        )
    overall = worst(repeated.overall(those) for those in verdicts.values())
    return overall.exit_status if SEVERITY[overall.verdict] >= SEVERITY[FAIL_ON[options.fail_on]] else 0


def wanted_cells(
    options: argparse.Namespace,
    own: Sequence[Version] | None,
    overrides: Mapping[str, str],
    echo: Callable[[str], None],
) -> list[MatrixCell]:
    """The cells to run, in their order. Settings of the user's own (`overrides`) are held against what each of their
    versions knows.
    """
    wanted = named_cells(options, own, echo)
    versions = versions_in(wanted, own, echo)
    for version in versions:
        known_settings.validate(version, overrides, "--setting", echo)
    if options.minutes is not None:
        wanted = night_order(wanted, options.seed)
    if options.client is not None:
        wanted = by_client(wanted, options.client, {version.id: version for version in versions}, echo)
    return by_plan(wanted, options.shard, echo) if options.plan else wanted


def tell(
    root: Path,
    options: argparse.Namespace,
    by_cell: Mapping[MatrixCell, Sequence[RunDir]],
    verdicts: Mapping[MatrixCell, Sequence[Verdict]],
    repeats: Mapping[MatrixCell, str],
) -> None:
    """Write the reports to the folder of the runs, and print what came of them in the form that the options ask for."""
    loaded = write_reports(root, [run_dir for runs in by_cell.values() for run_dir in runs])
    if options.json:
        result(as_json(by_cell, verdicts, repeats))
    elif not options.json_lines:
        result(console.table(loaded))
        for cell, text in repeats.items():
            result(f"run again: {cell}: {text}")
        result(f"report: {root / 'report.html'}   JUnit: {root / 'junit.xml'}")
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in github.commands(loaded):
                result(line)


def named_scenarios(options: argparse.Namespace) -> list[Scenario]:
    """The scenarios that the options name; those of the suite if they name none."""
    names = names_of(options.scenarios or ())
    chosen = [get_scenario(name) for name in names if name != "all"]
    if not chosen:
        chosen = [each for each in all_scenarios().values() if names or each.name in SUITE]
    if options.minutes is not None and names == ["all"] and not options.plan:
        return of_the_night(chosen, options.seed)
    return chosen


def named_cells(
    options: argparse.Namespace, own: Sequence[Version] | None, echo: Callable[[str], None]
) -> list[MatrixCell]:
    """The cells that the options name, on the user's `own` builds if there are any; those of the suite if they name
    neither scenarios, cases nor versions.
    """
    chosen, cases = named_scenarios(options), names_of(options.case)
    narrowed = bool(names_of(options.scenarios or ())) or bool(cases)
    if not narrowed and (own is not None or not options.versions):
        return suite_cells(all_scenarios(), seed=options.seed, repeat=options.repeat, versions=own)
    named = own or versions_of(options.versions or DEFAULT_VERSIONS, echo, locked=options.locked)
    return cells(chosen, named, seed=options.seed, repeat=options.repeat, cases=cases)


def versions_in(
    wanted: Sequence[MatrixCell], own: Sequence[Version] | None, echo: Callable[[str], None]
) -> list[Version]:
    """The versions of cells, oldest first."""
    by_id = {version.id: version for version in own or ()}
    names = {cell.version for cell in wanted}
    return sorted((by_id.get(name) or central.find(name, echo) for name in names), key=lambda one: one.release)


def as_json(
    by_cell: Mapping[MatrixCell, Sequence[RunDir]],
    verdicts: Mapping[MatrixCell, Sequence[Verdict]],
    told: Mapping[MatrixCell, str],
) -> str:
    """Every run and its verdict, and what is told of the cells that were run again."""
    return json.dumps(
        [
            judged_json(run_dir, verdict) | ({"repeated": told[cell]} if cell in told else {})
            for cell, runs in by_cell.items()
            for run_dir, verdict in zip(runs, verdicts[cell], strict=True)
        ]
    )


def by_client(
    wanted: Sequence[MatrixCell], client: str, versions: Mapping[str, Version], echo: Callable[[str], None]
) -> list[MatrixCell]:
    """The cells that a client can be driven in; of the others it is told what they need.

    Raises UsageError for a client that does not exist, and if no cell is left.
    """
    fit, refused = [], {}
    for cell in wanted:
        scenario, chosen = get_scenario(cell.scenario), library(client, versions[cell.version])
        try:
            require_client(chosen, scenario, scenario.case(cell.case), versions[cell.version])
        except UsageError as error:
            refused[cell.scenario, cell.case] = str(error)
        else:
            fit.append(cell)
    for why in refused.values():
        echo(f"not run: {why}")
    if not fit:
        raise UsageError(f"--client {client}: it can be driven in none of these scenarios")
    return fit


def by_plan(
    wanted: Sequence[MatrixCell], shard: tuple[int, int] | None, echo: Callable[[str], None]
) -> list[MatrixCell]:
    """Cells in the order of a plan from the committed ledger; of several machines, the part of one."""
    runs = plan.planned(wanted, plan.known(store.load().lines, plan.code_changed))
    echo(f"plan: {plan.in_words(runs)}")
    if shard is not None:
        runs = plan.part(runs, *shard)
        echo(f"part {shard[0]} of {shard[1]}: {plan.in_words(runs)}")
    return [one.cell for one in runs]
