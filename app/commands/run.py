"""`kafka-chaos run`: one scenario on one version, each case and seed in turn, judged as soon as it has ended."""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Final

import results as results_of
from app.arguments import expected, judged_json, names_of, pair_of, settings_of
from app.clients import require_client
from app.confirmed import unconfirmed
from app.output import RUN, Progress, result, say, tell_failure
from evidence import forks
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, KafkaChaosError, UsageError
from evidence.run import full_name
from evidence.rundir import RunDir
from harness import runner
from harness.removal import Removals
from harness.scenario import get_scenario
from harness.setup import jars
from harness.setup import settings as known_settings
from harness.setup.java import java_home
from harness.workloads.handles.client import COMMON
from harness.workloads.libraries import library
from judgement import judge as judging
from judgement.report import console
from judgement.verdict import read_verdict, worst

BISECT_SKIP: Final = 125
"""What tells `git bisect run` that a commit cannot be tested."""


def run(options: argparse.Namespace) -> int:
    """Run each case and seed in turn; the exit status is that of the worst verdict, or what `git bisect run` wants."""
    if not options.for_bisect and (options.longer or options.line):
        raise UsageError("--longer and --line say what a bisection looks for: add --for-bisect")
    with forks.serving(COMMON):
        return _for_bisect(options) if options.for_bisect else _run(options, [])


def _for_bisect(options: argparse.Namespace) -> int:
    made: list[RunDir] = []
    # What is wrong in the command itself ends a bisection; what is wrong with a build skips its commit.
    chosen = get_scenario(options.scenario)
    for name in names_of(options.case):
        chosen.case(name)
    settings_of(options.setting)
    expected(options.expect)
    if options.no_check or options.version is None is options.kafka:
        raise UsageError("--for-bisect needs a verdict on a build: give --kafka, and no --no-check")
    from app import symptoms  # an ordinary run needs nothing of comparisons

    wanted = symptoms.named(options.longer, options.line)
    try:
        status = _run(options, made)
        if wanted:
            return _has([symptoms.shown(wanted, run_dir) for run_dir in made if read_verdict(run_dir).sound])
    except KafkaChaosError as error:
        tell_failure(error)
        return BISECT_SKIP
    return status if status in (EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED) else BISECT_SKIP


def _has(shown: Sequence[Mapping[str, bool | None]]) -> int:
    """What `git bisect run` wants of sound runs whose verdict is not asked: 1 if one has a symptom, 0 if none has."""
    for name in (name for one in shown for name, shows in one.items() if shows):
        say(f"the symptom: {name}")
        return EXIT_CONTRADICTED
    blind = not shown or any(shows is None for one in shown for shows in one.values())
    return BISECT_SKIP if blind else EXIT_AS_DOCUMENTED


def _run(options: argparse.Namespace, made: list[RunDir]) -> int:
    """Run each case and seed in turn, and add each judged run to `made`; the exit status of the worst verdict."""
    progress = Progress(quiet=options.quiet, json_lines=options.json_lines)
    chosen = get_scenario(options.scenario)
    overrides = settings_of(options.setting)
    version = chosen.as_run(pair_of(options, progress.line))
    cases, expect = chosen.cases_for(version, names_of(options.case)), expected(options.expect)
    if options.locked:
        clients = (library(options.client or case.client, version).release for case in cases)
        jars.refuse_unlocked([*(build.kafka for build in version.builds), *filter(None, clients)])
    known_settings.validate(version, overrides, "--setting", progress.line)
    for case in cases:
        client = library(options.client or case.client, version)
        require_client(client, chosen, case, version)
        known_settings.validate(version, chosen.cluster_of(case).settings, chosen.file, progress.line)
    recorded = results_of.of_scenario(chosen.name)
    runner.tell_of_changes(progress.line)
    verdicts, results, removals = [], [], Removals()
    analyst = None if options.no_check else judging.AnalysisServer(java_home=java_home(), lazy=True)
    try:
        for seed, case in itertools.product(range(options.seed, options.seed + options.repeat), cases):
            progress.line(f"{full_name(chosen.name, case.name)} on {version.id}, seed {seed}")
            request = runner.Request(
                scenario=chosen,
                version=version,
                case=case.name,
                seed=seed,
                settings=overrides,
                expect=expect,
                client=options.client,
                subjects=options.subjects,
                unconfirmed=unconfirmed(chosen, case.name, version, recorded),
                root=options.runs_dir,
                keep=options.keep,
            )
            finished = runner.execute(
                request,
                removals=removals,
                echo=progress.line,
                listen=progress.event,
                on_up=analyst.start if analyst else None,
            )
            if analyst is None:
                results.append({"run_dir": str(finished.run_dir.path)})
            else:
                judged = judging.judge(finished.run_dir, analyst)
                verdicts.append(judged.verdict)
                made.append(finished.run_dir)
                results.append(judged_json(finished.run_dir, judged.verdict))
                progress.line(f"verdict: {judged.verdict.in_words}")
                if not (options.json or options.json_lines):
                    result(console.run_summary(judged))
            if options.json_lines:
                progress.json(RUN, **results[-1])
            removals.wait()
    finally:
        # Whatever ended the run: nothing more is said before its cluster is gone.
        try:
            removals.wait()
        finally:
            if analyst is not None:
                analyst.close()
            # Runs are whole, and count, also if the engine would not remove something of one.
            if options.json and results:
                result(json.dumps(results[0] if options.repeat == len(cases) == 1 else results))
    return worst(verdicts).exit_status if verdicts else 0
