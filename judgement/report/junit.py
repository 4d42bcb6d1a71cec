"""JUnit XML, for CI systems that show test results.

A run is a test case (class: the scenario; name: its case, version and seed). JUnit has no word for "unknown": such a
run is `skipped` with its reasons and the property `verdict`, so that it is never shown as passed; the exit status is
the gate. The anomaly a scenario documents is what the test expects, so seeing it passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from evidence import junit
from evidence.junit import JUnitCase, JUnitSuite, NotPassed
from evidence.run import DEFAULT_CASE
from evidence.rundir import write_atomically
from judgement.report import cells, console, story
from judgement.report.facts import JudgedRun, Loaded
from judgement.report.headline import headline, outcome
from judgement.verdict import ERROR, UNKNOWN


def _case(facts: JudgedRun) -> JUnitCase:
    verdict, run = facts.verdict, facts.run
    overridden = "".join(f" {key}={value}" for key, value in sorted(run.overridden.items()))
    prefix = f"{run.case} " if run.case != DEFAULT_CASE else ""
    return JUnitCase(
        f"kafka-chaos.{run.scenario}",
        f"{prefix}{run.version} seed {run.seed}{overridden}",
        verdict.seconds,
        result=_result(facts),
        properties=(
            ("outcome", outcome(facts).text),
            ("verdict", verdict.verdict),
            ("case", run.case),
            *((f"claim {one.name}", one.text) for one in verdict.claims),
            ("documented", " ".join(verdict.required)),
            ("allowed", " ".join(verdict.allowed)),
            ("seen", " ".join(verdict.seen)),
            ("seed", run.seed),
            ("version", run.version),
            ("commit", run.commit or ""),
            ("run", run.run),
            ("command", run.command),
        ),
        output="\n".join(_told(facts, headline(facts))),
    )


def _result(facts: JudgedRun) -> NotPassed | None:
    verdict, message, details = facts.verdict, headline(facts), "\n".join(facts.verdict.reasons)
    if verdict.verdict == UNKNOWN:
        return NotPassed("skipped", f"unknown: {message}")
    if verdict.verdict == ERROR:
        return NotPassed("error", message, ERROR, details)
    return None if verdict.good else NotPassed("failure", message, verdict.verdict, details)


def _told(facts: JudgedRun, message: str) -> Iterable[str]:
    yield f"{outcome(facts).text} ({facts.verdict.verdict})"
    yield message
    yield from facts.verdict.reasons
    told = story.run_stories(facts)
    for one in told.stories:
        yield ""
        yield from console.story_lines(facts, one, width=console.WIDTH)
    if told.more:
        yield f"\n{told.more} more are not told here"
    yield f"\nTo run it again: {facts.run.command}"


def render(facts: Sequence[JudgedRun], unreadable: Iterable[str] = ()) -> str:
    """The XML for these runs, a suite a scenario; a directory that could not be read is an error of its own."""
    by_scenario: dict[str, list[JudgedRun]] = {}
    for cell in cells.group(facts):
        by_scenario.setdefault(cell.runs[0].run.scenario, []).extend(cell.runs)
    suites = [JUnitSuite(name, [_case(run) for run in runs]) for name, runs in by_scenario.items()]
    broken = [
        JUnitCase("kafka-chaos", line.partition(":")[0], result=NotPassed("error", line, ERROR)) for line in unreadable
    ]
    if broken:
        suites.append(JUnitSuite("run directories that cannot be read", broken))
    return junit.render("kafka-chaos", suites)


def write_run(facts: JudgedRun) -> Path:
    """Write junit.xml of a run and return its path."""
    write_atomically(facts.run_dir.junit, render([facts]))
    return facts.run_dir.junit


def write_suite(runs: Loaded, path: Path) -> Path:
    """Write the JUnit file of many runs to `path` and return it."""
    write_atomically(path, render(runs.facts, runs.unreadable))
    return path
