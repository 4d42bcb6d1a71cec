"""`kafka-chaos bisect`: the release that a symptom came with, or with --fix the one that it went with."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from app import between, symptoms
from app.arguments import names_of, settings_of
from app.bisect import Bisection, SymptomBorder, known_bugs, others, path
from app.matrix import Matrix, MatrixCell
from app.output import Progress, result
from checks.names import validate_anomalies
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_UNKNOWN, KafkaChaosError, UsageError
from evidence.run import DEFAULT_CASE
from evidence.rundir import RunDir
from evidence.text import plural
from harness.cluster.versions import Version
from harness.scenario import all_scenarios, get_scenario
from harness.setup import central
from harness.setup import settings as known_settings

MOST: Final = 12
"""Changes of one kind that are told one by one; bisect.json has all."""


def run(options: argparse.Namespace) -> int:
    """Bisect; EXIT_UNKNOWN if releases at the border could not be told."""
    progress = Progress(quiet=options.quiet)
    scenario = get_scenario(options.scenario)
    case = scenario.case(options.case or next(iter(scenario.cases))).name
    good, bad = (central.find(name, progress.line) for name in (options.good, options.bad))
    older, newer = in_order(good, bad, fix=options.fix)
    named = tuple(names_of(options.seen))
    validate_anomalies(named)
    looked_for = symptoms.named(options.longer, options.line)
    overrides = settings_of(options.setting)
    for version in (older, newer):
        known_settings.validate(version, overrides, "--setting", progress.line)
    root: Path = options.runs_dir / name_of(scenario.name, case, good, bad)
    root.mkdir(parents=True, exist_ok=True)
    # A claim is timed only in runs that are held against what is documented. Their verdicts are not asked all the same.
    expect = None if any(one.of_claim for one in looked_for) else ()
    matrix = Matrix(root, overrides, 1, progress.line, expect, math.inf)

    def one(cell: MatrixCell) -> RunDir | None:
        return matrix.run([cell]).get(cell)

    work = Bisection(
        scenario=scenario,
        case=case,
        older=older,
        newer=newer,
        fix=options.fix,
        rate=options.rate,
        root=root,
        seed=options.seed,
        run=one,
        echo=progress.line,
        named=(*named, *(one.name for one in looked_for)),
        beside=looked_for,
    )
    between_them = path(older, newer, work.known)
    progress.line(f"from {older.id} to {newer.id}: {', '.join(version.id for version in between_them)}")
    try:
        work.ends()
        border = work.border()
        beside = others(older, newer, work.known, between_them) if options.each else ()
        for version in (*between_them, *beside) if options.each else ():
            work.decide(version)
    finally:
        work.tidy()
    found = as_json(work, border, beside, progress)
    work.save(result=found)
    result(json.dumps(found) if options.json else "\n".join(as_text(found)))
    return EXIT_UNKNOWN if border.unsure else EXIT_AS_DOCUMENTED


def in_order(good: Version, bad: Version, *, fix: bool) -> tuple[Version, Version]:
    """The older and the newer end. Raises UsageError if they are one release, or stand the other way round."""
    if good.release == bad.release:
        raise UsageError(f"--good {good.id} and --bad {bad.id} are one release: there is nothing between them")
    older, newer = (bad, good) if fix else (good, bad)
    if older.release > newer.release:
        raise UsageError(
            f"--good {good.id} is {'older' if fix else 'newer'} than --bad {bad.id}: "
            + ("without --fix" if fix else "with --fix")
            + f" it is asked which release {'brought the symptom' if fix else 'mended it'}"
        )
    return older, newer


def name_of(scenario: str, case: str, good: Version, bad: Version) -> str:
    """The folder of a bisection."""
    return "-".join(filter(None, (scenario, "" if case == DEFAULT_CASE else case, good.id, bad.id)))


def as_json(work: Bisection, border: SymptomBorder, beside: tuple[Version, ...], progress: Progress) -> dict[str, Any]:
    """What was found, as JSON."""
    found: dict[str, Any] = {
        "scenario": work.scenario.name,
        "case": work.case,
        "good": work.good.id,
        "bad": work.bad.id,
        "fix": work.fix,
        "symptom": list(work.symptom),
        "rate": work.rate,
        "last": border.last.id,
        "first": border.first.id,
        "unsure": [version.id for version in border.unsure],
        "base": border.base and {"version": border.base[0].id, "decided": border.base[1] or None},
        "only_the_branch": border.only_the_branch,
        "tested": [
            one.as_json(work.symptom, work.rate)
            for one in sorted(work.tested.values(), key=lambda one: central.find(one.version, progress.line).release)
        ],
        "beside": [version.id for version in beside],
        "museum": known_bugs(border, all_scenarios()),
    }
    try:
        found["changes"] = between.differences(border.last.kafka, border.first.kafka, progress.line)
    except KafkaChaosError as error:
        found["changes"] = {"cannot": [f"what changed: {error}"]}
    return found


def as_text(found: dict[str, Any]) -> Iterator[str]:
    """The same for people, line by line."""
    symptom, runs = ", ".join(found["symptom"]), sum(len(one["runs"]) for one in found["tested"])
    word = "first release without" if found["fix"] else "first bad release:"
    yield f"{found['scenario']}: {word} {symptom if found['fix'] else found['first']}" + (
        f": {found['first']}" if found["fix"] else f", with {symptom}"
    )
    ends = (found["bad"], found["good"]) if found["fix"] else (found["good"], found["bad"])
    yield f"the release before it on the way from {ends[0]} to {ends[1]}: {found['last']}"
    if found["unsure"]:
        yield f"between them, and not to be told: {', '.join(found['unsure'])}: it may be one of these"
    if found["only_the_branch"]:
        yield (
            f"{found['base']['version']}, where the line of {found['last']} began, is as {found['first']} is: what "
            f"differs was changed in that line, up to {found['last']}"
        )
    yield ""
    for one in found["tested"]:
        aside = " (beside the way)" if one["version"] in found["beside"] else ""
        what = one["decided"] or f"cannot be told: {one['cannot'] or 'too few runs'}"
        yield f"  {one['version']:14} {what:8} {one['with_symptom']} of {plural(one['sound'], 'run')} had it{aside}"
        yield from (f"                 {run}" for run in one["runs"])
    yield f"{plural(runs, 'run')} in all; each release is told wrongly in 1 % at most, if one that has it shows it in "
    yield f"{found['rate']:.0%} of runs or more"
    yield ""
    changes = found["changes"]
    if commits := changes.get("commits"):
        yield f"commits that the jars name: {commits[0] or '?'} → {commits[1] or '?'}"
    for what in ("settings", "libraries"):
        yield from _listed(what, changes.get(what, []))
    classes = changes.get("classes", {})
    yield from _listed("changed classes, by module", [f"{module}: {len(names)}" for module, names in classes.items()])
    yield from _listed("what the museum knows of this step", found["museum"])
    yield from _listed("what cannot be told from the packages", changes["cannot"])


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"{title}:"
        yield from (f"  {line}" for line in lines[:MOST])
        if len(lines) > MOST:
            yield f"  and {len(lines) - MOST} more (bisect.json)"
