"""What a run of the audit's scenarios measures: a cell for each of its subjects, from its run directory alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from inspect import signature
from typing import Any, Final, TypeVar

from audit import cells as matrix
from audit.cells import Cell, CellKey, RunCounts, Settings, Stated
from evidence.basis import Basis
from evidence.errors import UsageError
from evidence.events import Configuration, of
from evidence.findings import Findings, read_findings
from evidence.run import RunRecord, SubjectRecord
from evidence.rundir import RunDir
from evidence.subjects import Counted, counted
from evidence.timeline import read
from harness.cluster import versions
from harness.scenario import Scenario, all_scenarios
from judgement.verdict import read_verdict
from results import MEASURED_ON

T = TypeVar("T")

PREFIX: Final = "audit-"
"""Of the scenarios that measure cells; what follows is the fault."""
VERSIONS: Final = tuple(MEASURED_ON.values())
CLIENT_VERSION: Final = "client.software.version"
"""What librdkafka says that it is."""


def same_fields(kind: Callable[..., T], source: object, **others: Any) -> T:
    """A `kind` of what `source` has under the names of its fields, and `others` for the rest.

    A producer's settings go through several types with the same names (SubjectRecord, Key, Settings, Producer, Topic).
    """
    names = signature(kind).parameters.keys() - others.keys()
    return kind(**{name: getattr(source, name) for name in names}, **others)


def scenarios() -> dict[str, Scenario]:
    """The scenarios that measure cells, by fault."""
    return {name.removeprefix(PREFIX): made for name, made in all_scenarios().items() if name.startswith(PREFIX)}


def line_of(version: versions.Version) -> str:
    """The version line of a version."""
    protocol = version.settings.get("inter.broker.protocol.version", "")
    return matrix.line_of(version.kafka, kraft=version.mode == "kraft", protocol=protocol)


def subjects_of(run_dir: RunDir) -> list[tuple[str, Counted]]:
    """What came of each subject of a run, by its settings in words; none of a run without, or that proves less than it
    shows. Raises UsageError for files that cannot be read.
    """
    run = run_dir.read_run()
    findings, _ = read_findings(run_dir)
    if not run.subjects or findings is None or not read_verdict(run_dir).sound:
        return []
    return [
        (same_fields(Settings, subject, line="", version=run.version).in_words, counts)
        for subject in run.subjects
        if (counts := counted(subject, findings)) is not None
    ]


def cells_of(run_dir: RunDir) -> Iterator[Cell]:
    """A cell for each subject of a run, in order, whatever they are. Raises UsageError for a run that proves less than
    it shows.
    """
    run = run_dir.read_run()
    verdict = read_verdict(run_dir)
    if not verdict.sound or run.observed or run.mutant:
        raise UsageError(f"{run_dir.path.name} measures nothing: {verdict.in_words[:300]}")
    findings, damage = read_findings(run_dir)
    if findings is None:
        raise UsageError(f"{run_dir.path.name} measures nothing: {damage}")
    releases = {
        event.process: event.settings[CLIENT_VERSION]
        for event in of(read(run_dir.timeline).trusted, Configuration)
        if CLIENT_VERSION in event.settings
    }
    for subject in run.subjects:
        yield _cell(run, subject, findings, releases)


def _cell(run: RunRecord, subject: SubjectRecord, findings: Findings, releases: Mapping[str, str]) -> Cell:
    counts = counted(subject, findings)
    if counts is None:  # the verdict of such a run is in doubt
        raise UsageError(f"{run.run} measures nothing: the records of {subject.process} were not counted")
    version = versions.get(run.version)
    stated = subject.stated
    began = datetime.fromtimestamp(run.started_wall_ns / 1e9, UTC)
    fault = run.scenario.removeprefix(PREFIX)
    return Cell(
        key=same_fields(CellKey, subject, line=line_of(version), version=version.id, fault=fault),
        stated=Stated(
            must=frozenset(stated.must),
            may=frozenset(stated.may),
            why=stated.why,
            source=stated.source,
            basis=Basis(stated.basis),
        ),
        runs=(
            same_fields(
                RunCounts,
                counts,
                run=run.run,
                date=began.date().isoformat(),
                commit=run.commit or "",
                client_release=subject.client_release or releases.get(subject.process, ""),
                broker_version=version.kafka,
            ),
        ),
        overrides=dict(subject.overrides),
    )
