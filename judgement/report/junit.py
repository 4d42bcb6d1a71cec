"""JUnit XML, for CI systems that show test results.

A run is a test case (class: the scenario; name: its case, version and seed). JUnit has no word for "unknown": such a
run is `skipped` with its reasons and the property `verdict`, so that it is never shown as passed; the exit status is
the gate. The anomaly a scenario documents is what the test expects, so seeing it passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from evidence.run import DEFAULT_CASE
from evidence.rundir import write_atomically
from evidence.text import visible
from judgement.report import cells, console, story
from judgement.report.facts import JudgedRun, Loaded
from judgement.report.headline import headline, outcome
from judgement.verdict import ERROR, UNKNOWN


def _safe(value: object) -> str:
    # XML 1.0 has no way to write a control character, and a broker's log line may hold any.
    return visible(str(value), keep="\n\t")


def _case(facts: JudgedRun) -> ET.Element:
    verdict, run = facts.verdict, facts.run
    overridden = "".join(f" {key}={value}" for key, value in sorted(run.overridden.items()))
    prefix = f"{run.case} " if run.case != DEFAULT_CASE else ""
    case = ET.Element(
        "testcase",
        classname=_safe(f"kafka-chaos.{run.scenario}"),
        name=_safe(f"{prefix}{run.version} seed {run.seed}{overridden}"),
        time=f"{verdict.seconds:.3f}",
    )
    properties = ET.SubElement(case, "properties")
    for name, value in (
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
    ):
        ET.SubElement(properties, "property", name=name, value=_safe(value))
    message, details = headline(facts), "\n".join(verdict.reasons)
    if verdict.verdict == UNKNOWN:
        ET.SubElement(case, "skipped", message=_safe(f"unknown: {message}"))
    elif verdict.verdict == ERROR:
        ET.SubElement(case, "error", message=_safe(message), type=ERROR).text = _safe(details)
    elif not verdict.good:
        ET.SubElement(case, "failure", message=_safe(message), type=verdict.verdict).text = _safe(details)
    ET.SubElement(case, "system-out").text = _safe("\n".join(_told(facts, message)))
    return case


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


def _suite(name: str, facts: Sequence[JudgedRun]) -> ET.Element:
    suite = ET.Element("testsuite", name=_safe(name))
    cases = [_case(run) for run in facts]
    _count(suite, cases)
    suite.extend(cases)
    return suite


def _count(element: ET.Element, cases: Sequence[ET.Element]) -> None:
    element.set("tests", str(len(cases)))
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        element.set(attribute, str(sum(1 for case in cases if case.find(tag) is not None)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")


def render(facts: Sequence[JudgedRun], unreadable: Iterable[str] = ()) -> str:
    """The XML for these runs, a suite a scenario; a directory that could not be read is an error of its own."""
    root = ET.Element("testsuites", name="kafka-chaos")
    by_scenario: dict[str, list[JudgedRun]] = {}
    for cell in cells.group(facts):
        by_scenario.setdefault(cell.runs[0].run.scenario, []).extend(cell.runs)
    suites = [_suite(name, runs) for name, runs in by_scenario.items()]
    broken = []
    for line in unreadable:
        case = ET.Element("testcase", classname="kafka-chaos", name=_safe(line.partition(":")[0]), time="0")
        ET.SubElement(case, "error", message=_safe(line), type=ERROR)
        broken.append(case)
    if broken:
        suite = ET.Element("testsuite", name="run directories that cannot be read")
        _count(suite, broken)
        suite.extend(broken)
        suites.append(suite)
    _count(root, [case for suite in suites for case in suite.findall("testcase")])
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def write_run(facts: JudgedRun) -> Path:
    """Write junit.xml of a run and return its path."""
    write_atomically(facts.run_dir.junit, render([facts]))
    return facts.run_dir.junit


def write_suite(runs: Loaded, path: Path) -> Path:
    """Write the JUnit file of many runs to `path` and return it."""
    write_atomically(path, render(runs.facts, runs.unreadable))
    return path
