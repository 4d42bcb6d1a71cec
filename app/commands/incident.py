"""`kafka-chaos incident`: what saved logs, partitions and configuration tell of lost records."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import results
from app import incident, incident_causes, incident_logs, incident_signs, museum
from app.output import result
from audit import matrix
from audit.grade import Grader
from audit.model import Inputs
from audit.readers import Options, read_paths
from audit.topics import StatedByUser
from harness.cluster import apache
from harness.scenario import all_scenarios
from pages.counted import shown


def run(options: argparse.Namespace) -> int:
    """Read what was saved, and print the answer."""
    places: Sequence[Path] = options.places
    found = incident.look(places)
    inputs = read_paths([str(place) for place in places], Options(profiles=(), env={}, client=None, release=None))
    if not (found.logs or found.partitions or inputs.producers):
        raise incident.nothing_read(places)
    logs = incident_logs.read_all(found.logs)
    releases = incident_causes.releases(logs)
    version = options.version or (releases[-1] if releases else "")
    bugs = _bugs(version) if version else []
    compared = incident.replicas(found.parents)
    case = incident_causes.IncidentEvidence(logs, compared[0], found.partitions, version)
    settings = _settings(inputs, version)
    causes = incident_causes.causes(case)
    signs = list(incident_signs.seen(logs, {one.kind.id for one in causes}))
    told = incident.text(
        found,
        causes,
        releases,
        compared,
        bugs,
        settings,
        version,
        signs=signs,
        lines_read=sum(log.lines_read for log in logs),
    )
    result(told, end="")
    return 0


def _bugs(version: str) -> list[dict[str, Any]]:
    """The bugs of a release, in any mode that it has."""
    scenarios, data = all_scenarios(), results.by_scenario()
    made = [one for one in scenarios.values() if one.exhibit is not None]
    told: dict[str, dict[str, Any]] = {}
    for asked in museum.ways(version, apache.releases()):
        for bug in museum.bugs_of(asked, made, lambda name, on, case: shown(name, on, data, case))["has"]:
            told.setdefault(bug["bug"], bug)
    return list(told.values())


def _settings(inputs: Inputs, version: str) -> list[str]:
    """What each producer that is configured there risks, in a line."""
    if not inputs.producers:
        return []
    answer = Grader(matrix.load()).answer(inputs, StatedByUser(version=version))
    lines = []
    for row in answer.rows:
        worst = row.worst
        risk = f": {worst.findings[0].sentence} by {worst.findings[0].fault}" if worst.findings else ""
        lines.append(f"{row.producer.name} ({row.producer.origin}): grade {row.grade}{risk}")
    return lines
