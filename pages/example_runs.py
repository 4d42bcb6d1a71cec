"""The one run of each scenario that is told in full: how its sequence went, and its picture; beside it a control.

It is one that ended as documented, of the first case; with what is required there, on the newest version that has it.
For an exhibit of the museum it is a run on a release that has the bug: other releases may require the same, and claims
do not decide it. Counts come from the ledger, and not from here. The control is a run with the opposite statement: on a
release with the fix, or of the case that prevents the harm. It has only its picture. Among runs that are all controls,
one becomes the control of the run that was told before. A run whose brokers logged each step of their log ends and high
watermarks has a picture of these steps too, and the steps of its first record.

Of most runs only run.json and verdict.json are read, so that thousands take seconds. A directory that cannot be read,
has no verdict, or whose files changed since it was judged is left out and named. So are runs with settings or an
expectation of the user's own, for which nothing is documented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from evidence.errors import UsageError
from evidence.run import DEFAULT_CASE, RunRecord
from evidence.rundir import RunDir, find_runs
from evidence.text import without_place
from judgement.report import availability, offsets_svg, record_ways, timeline_svg
from judgement.report.cells import version_key
from judgement.report.facts import JudgedRun, load
from judgement.report.headline import outcome
from judgement.report.story import partition_story, run_stories
from judgement.verdict import Verdict, read_verdict
from pages.counted import shows_harm
from results import Value


@dataclass(frozen=True, slots=True)
class RunWithVerdict:
    """A run and its verdict, without its evidence."""

    run_dir: RunDir
    run: RunRecord
    verdict: Verdict

    @property
    def case(self) -> str:
        return self.run.case

    @property
    def version(self) -> str:
        return self.run.version


class ReadRuns(NamedTuple):
    """Judged runs, and a line for each directory that was left out."""

    runs: list[RunWithVerdict]
    left_out: list[str]


def find(roots: Iterable[Path]) -> list[RunDir]:
    """The run directories at these places, or one or two levels below."""
    found: list[RunDir] = []
    for root in roots:
        below = [root, *(entry for entry in sorted(root.iterdir()) if entry.is_dir())] if root.is_dir() else []
        for place in below:
            try:
                found += find_runs(place)
            except (UsageError, OSError):
                continue
            if place == root:
                break
    return list({run_dir.path.resolve(): run_dir for run_dir in found}.values())


def gather(run_dirs: Iterable[RunDir]) -> ReadRuns:
    """Read these runs."""

    def read(run_dir: RunDir) -> RunWithVerdict | str:
        try:
            one = RunWithVerdict(run_dir, run_dir.read_run(), read_verdict(run_dir))
        except UsageError as error:
            return str(error)
        except Exception as error:  # whatever is wrong with one old directory, the others are read
            return f"{run_dir.path}: not readable ({type(error).__name__}: {error})"
        if one.run.mutant:
            return f"{run_dir.path}: of brokers that were changed on purpose ({one.run.mutant}), not of Kafka"
        own = one.run.observed or one.run.overridden or one.run.expect is not None
        return f"{run_dir.path}: with settings or an expectation of the user's own" if own else one

    answers = [read(run_dir) for run_dir in run_dirs]
    return ReadRuns([a for a in answers if isinstance(a, RunWithVerdict)], [a for a in answers if isinstance(a, str)])


# The run that is shown


def chosen(runs: Sequence[RunWithVerdict], scenario: Value) -> RunWithVerdict | None:
    """The run of a described scenario to show: of the first of its cases that has good runs; None if none has. For an
    exhibit it is one on a release with the bug.
    """
    among = (scenario.get("exhibit") or {}).get("affected", ())
    good = [one for one in runs if one.verdict.good and (not among or one.version in among)]
    cases = [case["name"] for case in scenario["cases"]]
    for case in cases:
        of_case = [one for one in good if one.case == case]
        telling = [one for one in of_case if shows_harm(scenario, case, one.version)] or of_case
        if telling:
            newest = max((one.version for one in telling), key=version_key)
            return min(
                (one for one in telling if one.version == newest),
                key=lambda one: (one.run.seed, one.run.run),
            )
    return None


def control_of(case: str, version: str, runs: Sequence[RunWithVerdict], scenario: Value) -> RunWithVerdict | None:
    """The control of a run on a version that is shown: a good run that shows no harm if the other shows some, and the
    other way; of the same case if there is one, on the newest version. None if there is none.
    """
    harmful = shows_harm(scenario, case, version)
    opposite = [run for run in runs if run.verdict.good and shows_harm(scenario, run.case, run.version) != harmful]
    return max(
        opposite,
        key=lambda run: (run.case == case, run.version == version, version_key(run.version), -run.run.seed),
        default=None,
    )


def control(one: RunWithVerdict) -> tuple[dict[str, Any], str]:
    """What is told of a control, and its picture."""
    about, picture = shown(load(one.run_dir))
    return {name: about[name] for name in ("run", "case", "version", "outcome")}, picture


def drawn_control(
    case: str, version: str, runs: Sequence[RunWithVerdict], scenario: Value, tell: Callable[[str], None]
) -> tuple[dict[str, Any], str] | None:
    """What is told of the control of a run that was told before, and its picture; None if there is no control among
    these runs, or it cannot be drawn: `tell` hears why.
    """
    one = control_of(case, version, runs, scenario)
    if one is None:
        return None
    try:
        return control(one)
    except Exception as error:  # an old directory that lacks some evidence
        tell(f"no picture of {one.run_dir.path}: {type(error).__name__}: {error}")
        return None


def shown(facts: JudgedRun) -> tuple[dict[str, Any], str]:
    """How the sequence of a run went, and its picture: the data of a page, and an SVG file."""
    where = timeline_svg.chosen_partitions(facts)
    told = [*run_stories(facts).stories[:1], *(partition_story(facts, one) for one in where[:1])]
    steps = told[0].steps if told else ()
    about = {
        "run": facts.run.run,
        "case": facts.run.case,
        "version": facts.run.version,
        "seed": facts.run.seed,
        "outcome": outcome(facts).text,
        "title": told[0].title if told else "",
        "sequence": [
            [None if step.at_ns is None else round(facts.at(step.at_ns), 2), step.witness, step.text] for step in steps
        ],
    }
    return about, without_place(timeline_svg.render(facts, standalone=True), str(about["run"]))


def described_run(
    runs: Sequence[RunWithVerdict], described: Value, tell: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The run of a described scenario that is shown, and its pictures by file name; nothing if none can be: `tell`
    hears why.
    """
    one = chosen(runs, described)
    if one is None:
        return {}, {}
    try:
        facts = load(one.run_dir)
        about, picture = shown(facts)
        steps = offsets_svg.render(facts, standalone=True, traced=True)
        clients = _clients_of(one, runs, [case["name"] for case in described["cases"]])
        other = control_of(one.case, one.version, runs, described)
        beside = control(other) if other else None
    except Exception as error:  # an old directory that lacks some evidence is counted, and not shown
        tell(f"no picture of {one.run_dir.path}: {type(error).__name__}: {error}")
        return {}, {}
    scenario = one.run.scenario
    pictures = {f"{scenario}.svg": picture}
    words = {f"{scenario}.svg": f"A run on {about['version']}, as its report draws it: {about['outcome']}."}
    if tables := record_ways.tables(facts):
        first = tables[0]
        about["way"] = {"title": first.title, "headings": first.headings, "rows": [row.cells for row in first.rows]}
    if steps:
        pictures[f"{scenario}.offsets.svg"] = without_place(steps, str(about["run"]))
        words[f"{scenario}.offsets.svg"] = STEPS
    if beside:
        about["control"], pictures[f"{scenario}.control.svg"] = beside
        words[f"{scenario}.control.svg"] = control_words(about["control"])
    if clients:
        pictures[f"{scenario}.clients.svg"] = clients
        words[f"{scenario}.clients.svg"] = f"What clients saw on {one.version}; the first fault is at 0 s."
    return about | {"pictures": words}, pictures


STEPS: Final = (
    "Log ends and high watermarks in the same run, step by step, as the brokers logged them. The space between a solid "
    "line and a broken one is written and not yet committed: no consumer is given it."
)


def control_words(about: Mapping[str, Any]) -> str:
    """The caption of a control."""
    case = "" if about["case"] == DEFAULT_CASE else f"case {about['case']}, "
    return f"The control, {case}on {about['version']}: {about['outcome']}."


def _clients_of(one: RunWithVerdict, runs: Sequence[RunWithVerdict], cases: Sequence[str]) -> str:
    """What clients saw in a run of each case on the version of the one that is shown, one below the other; "" if none
    wrote through it.
    """
    of_cases = []
    for case in cases:
        alike = [other for other in runs if (other.case, other.version) == (case, one.version) and other.verdict.good]
        if alike and any(other.verdict.availability for other in alike):
            first = min(alike, key=lambda other: (other.run.seed, other.run.run))
            of_cases.append(("" if case == DEFAULT_CASE else case, load(first.run_dir)))
    return availability.side_by_side(of_cases, f"What clients of {one.run.scenario} saw on {one.version}")
