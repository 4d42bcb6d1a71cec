"""`kafka-chaos museum --report RUN_DIR`: what a maintainer needs of a run of an exhibit, as Markdown.

It says how to see the bug again, what was done to the cluster, what proved it, and what was found. It has the brokers'
own lines on it, and the place in the code. All of it comes from the run directory, which goes with it as it is, but for
the place in the code, which the exhibit's bug states (harness/bugs.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checks.catalogue import CATALOGUE
from checks.claim import HELD
from evidence import timeline
from evidence.errors import UsageError
from evidence.events import Duty, Fault, Note, Precondition
from evidence.findings import Finding, read_findings
from harness.cluster import versions
from harness.observers.broker_logs import parse_stamp
from harness.scenario import get_scenario
from judgement.verdict import read_verdict

if TYPE_CHECKING:
    from evidence.rundir import RunDir
    from harness.bugs import Bug
    from harness.cluster.versions import Version
    from harness.scenario import Scenario

MOST_LINES: Final = 40
"""Of what each broker logged."""
FILES: Final = (
    ("report.html", "the run as a story, record by record"),
    ("timeline.jsonl", "what was done, with proofs, and what the cluster said of itself"),
    ("logs/", "everything the nodes logged"),
    ("replicas/", "every replica's segments, indexes and checkpoints, at each moment"),
    ("compose.yml, config/", "the cluster: `docker compose -f compose.yml up -d` brings it up by hand"),
    ("history/", "what each client sent and read"),
    ("findings/findings.json, verdict.json", "what the analysis found, and what is documented"),
)


def logged(bug: Bug, run_dir: RunDir) -> Iterator[tuple[str, str]]:
    """The lines of the nodes' logs that tell of the bug, with the node, in each node's order."""
    patterns = [re.compile(pattern) for pattern in bug.log_patterns]
    for path in sorted(run_dir.logs.glob("*.log")):
        stamped = map(parse_stamp, path.read_text(errors="replace").splitlines())
        found = [line for _, line in filter(None, stamped) if any(pattern.search(line) for pattern in patterns)]
        yield from ((path.stem, line) for line in found[:MOST_LINES])


def done(events: Iterable[Any], begun_ns: int) -> Iterator[str]:
    """What was done to the cluster, what was noted, which preconditions held and what Kafka did of what it owes, with
    times since the beginning.
    """
    for event in events:
        match event:
            case Fault(phase="verified" | "unproved" | "healed"):
                proof = f"; proof: {msgspec.json.encode(event.proof).decode()}" if event.proof else ""
                what = event.phase
                told = f"{event.description} ({what}{proof})"
            case Note():
                told = event.text
            case Precondition():
                told = f"{event.name}: {'held' if event.held else 'did not hold'}"
            case Duty():
                told = f"{event.name}: Kafka owes this and {'did it' if event.held else 'did not do it'}"
            case _:
                continue
        yield f"{(event.at_ns - begun_ns) / 1e9:8.2f} s  {told}"


def report(run_dir: RunDir) -> str:
    """The report. Raises UsageError for a run of a scenario that is no exhibit, or was not judged."""
    run = run_dir.read_run()
    name = run.scenario
    made = get_scenario(name)
    exhibit = made.exhibit
    if exhibit is None:
        raise UsageError(f"{run_dir.path}: {name} is no exhibit of the museum; `kafka-chaos museum` names them")
    findings, damage = read_findings(run_dir)
    if findings is None:
        why = damage or "it was not judged"
        raise UsageError(f"{run_dir.path}: {why}; run `kafka-chaos check {run_dir.path}` first")
    bug = exhibit.bug
    events = timeline.read(run_dir.timeline).trusted
    return "\n".join(
        [
            f"# {bug.id}: {bug.title}",
            "",
            f"Kafka {run.kafka} ({run.mode}), unmodified; client {run.client}. "
            f"It bites {bug.whom}. Releases: {bug.releases}.",
            "",
            *(_stands(bug)),
            "## To see it again",
            "",
            f"    {run.command}",
            "",
            f"## What was done ({run.run})",
            "",
            *_block(done(events, events[0].at_ns if events else 0)),
            "## What was found",
            "",
            *_not_shown(made, versions.get(run.version), run.case),
            *([*_found(findings.findings), *_held(run_dir)] or ["Nothing."]),
            "",
            "## What the brokers logged",
            "",
            *_block(f"{node}: {line}" for node, line in logged(bug, run_dir)),
            "## In the code",
            "",
            bug.code or "Not known.",
            "",
            bug.came,
            "",
            "## What is in the run directory",
            "",
            *(f"- `{path}`: {what}" for path, what in FILES),
        ]
    )


def _stands(bug: Bug) -> Iterator[str]:
    """Where a bug stands that no release of brokers mends, and who found it."""
    if bug.status is not None:
        yield f"Status on {bug.status.on}: {bug.status.told} Sources: {'; '.join(bug.status.sources)}."
        yield ""
    if bug.credit:
        yield f"{bug.credit}."
        yield ""


def _block(lines: Iterable[str]) -> list[str]:
    return [*(f"    {line}" for line in lines), ""]


def _not_shown(made: Scenario, version: Version, case: str) -> list[str]:
    """That a run does not show the bug, where it is of a case, or of a version, that does not."""
    if made.shows(version, made.case(case)):
        return []
    return [
        f"This run is there to compare: it does not show the bug. {made.documented_for(version, case).sentence}",
        "",
    ]


def _held(run_dir: RunDir) -> list[str]:
    """The documented behaviour that the run held, with what was seen of it."""
    claims = read_verdict(run_dir).claims if run_dir.verdict.exists() else ()
    return [f"- **{one.name}**: {one.observed}. {one.definition}" for one in claims if one.outcome == HELD]


def _found(findings: Iterable[Finding]) -> list[str]:
    """Each finding with what its name means, and its first row of evidence."""
    told = []
    for one in findings:
        entry = CATALOGUE.get(one.anomaly)
        told.append(f"- **{one.summary}**. {entry.definition if entry else ''}".rstrip())
        told += [f"  `{json.dumps(row.for_people(), sort_keys=True)}`" for row in one.evidence[:1]]
    return told
