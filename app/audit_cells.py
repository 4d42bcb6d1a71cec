"""What a run of the audit's scenarios measures: a cell for each of its subjects, from its run directory alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from audit import cells as matrix
from audit.cells import Cell, Key, RunCounts, Stated
from evidence.errors import UsageError
from evidence.events import Configuration, of
from evidence.run import RunRecord, SubjectRecord
from evidence.rundir import RunDir
from evidence.subjects import counted
from evidence.timeline import read
from harness.cluster import versions
from harness.scenario import Scenario, all_scenarios
from judgement.verdict import read_findings, read_verdict
from results import MEASURED_ON

PREFIX: Final = "audit-"
"""Of the scenarios that measure cells; what follows is the fault."""
VERSIONS: Final = tuple(MEASURED_ON.values())
CLIENT_VERSION: Final = "client.software.version"
"""What librdkafka says that it is."""


def scenarios() -> dict[str, Scenario]:
    """The scenarios that measure cells, by fault."""
    return {name.removeprefix(PREFIX): made for name, made in all_scenarios().items() if name.startswith(PREFIX)}


def line_of(version: versions.Version) -> str:
    """The version line of a version."""
    protocol = version.settings.get("inter.broker.protocol.version", "")
    return matrix.line_of(version.kafka, kraft=version.mode == "kraft", protocol=protocol)


def cells_of(run_dir: RunDir) -> Iterator[Cell]:
    """A cell for each subject of a run, in order, whatever they are. Raises UsageError for a run that proves less than
    it shows.
    """
    run = run_dir.read_run()
    verdict = read_verdict(run_dir)
    if not verdict.sound or run.observed:
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


def _cell(run: RunRecord, subject: SubjectRecord, findings: Mapping[str, Any], releases: Mapping[str, str]) -> Cell:
    counts = counted(subject, findings)
    if counts is None:  # the verdict of such a run is in doubt
        raise UsageError(f"{run.run} measures nothing: the records of {subject.process} were not counted")
    version = versions.get(run.version)
    stated = subject.stated
    began = datetime.fromtimestamp((run.started_wall_ns or 0) / 1e9, UTC)
    return Cell(
        key=Key(
            client=subject.client,
            line=line_of(version),
            version=version.id,
            replication_factor=subject.replication_factor,
            min_insync_replicas=subject.min_insync_replicas,
            unclean=subject.unclean,
            flush_each=subject.flush_each,
            acks=subject.acks,
            idempotence=subject.idempotence,
            in_flight=subject.in_flight,
            retries=subject.retries,
            fault=run.scenario.removeprefix(PREFIX),
        ),
        stated=Stated(must=frozenset(stated.must), may=frozenset(stated.may), why=stated.why, source=stated.source),
        runs=(
            RunCounts(
                run=run.run,
                date=began.date().isoformat(),
                commit=run.commit or "",
                client_release=subject.client_release or releases.get(subject.process, ""),
                broker_version=version.kafka,
                acknowledged=counts.acknowledged,
                lost=counts.lost,
                duplicated=counts.duplicated,
                reordered=counts.reordered,
                refused=counts.refused,
                unknown_present=counts.unknown_present,
                unknown_absent=counts.unknown_absent,
                latency_p50_ms=counts.latency_p50_ms,
                latency_p99_ms=counts.latency_p99_ms,
                records_per_s=counts.records_per_s,
            ),
        ),
        overrides=dict(subject.overrides),
    )
