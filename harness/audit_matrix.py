"""The audit's matrix: measured anew, gathered from run directories, and held against what it was.

    python -m harness.audit_matrix measure    run what is missing (resumable), then gather
    python -m harness.audit_matrix gather     make audit/matrix.json and its pages of judged run directories
    python -m harness.audit_matrix nightly    measure a part of it once; ends with 1 if a cell is not what it was,
                                              with 2 if a run measured nothing

A cell comes of a run directory alone: its subjects, as run.json lists them, and what the analysis counted and found of
each. A run that proves less than it shows (its verdict is in doubt) measures nothing, and is told with its reason. One
that contradicts what is stated is measured like any other: the run wins.

The part of a night is one fault on every line, in turn, so that all of it is measured once in so many nights as there
are faults. The pages are docs/audit-matrix.md and a heat map for each line beside it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from audit import cells as matrix
from audit import matrix_page
from audit.cells import Cell, Key, RunCounts, Stated
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, EXIT_UNKNOWN, KafkaChaosError, UsageError
from evidence.events import Configuration, of
from evidence.rundir import RunDir, find_runs
from evidence.subjects import counted, subjects_of
from evidence.timeline import read
from harness import audit_page
from harness.cluster import versions
from harness.matrix import Matrix
from harness.matrix import cells as runs_of
from harness.scenario import Scenario, all_scenarios
from judgement.verdict import read_findings, read_verdict

PREFIX: Final = "audit-"
"""Of the scenarios that measure cells; what follows is the fault."""
VERSIONS: Final = ("0.10.2.2", "2.8.2", "3.9.2-zk", "3.9.2-pinned", "4.3.1")
RUNS: Final = Path("runs/audit-matrix")
DOCS: Final = Path("docs")
REPEAT: Final = 5
DAY_S: Final = 86_400
CLIENT_VERSION: Final = "client.software.version"
"""What librdkafka says that it is."""


def scenarios() -> dict[str, Scenario]:
    """The scenarios that measure cells, by fault."""
    return {name.removeprefix(PREFIX): made for name, made in all_scenarios().items() if name.startswith(PREFIX)}


def line_of(version: versions.Version) -> str:
    """The version line of a version."""
    protocol = version.settings.get("inter.broker.protocol.version", "")
    return matrix.line_of(version.kafka, kraft=version.mode == "kraft", protocol=protocol)


@dataclass(slots=True)
class Gathered:
    """What some run directories measure."""

    cells: tuple[Cell, ...] = ()
    runs: int = 0
    left_out: list[str] = field(default_factory=list)
    """A line for each run that measures nothing, with the reason."""


def gather(root: Path) -> Gathered:
    """The cells that the judged run directories in a folder measure. Raises UsageError if there is none."""
    gathered = Gathered()
    measured: list[Cell] = []
    for run_dir in find_runs(root):
        try:
            found = measured_by(run_dir)
        except UsageError as error:
            gathered.left_out.append(str(error))
            continue
        gathered.runs += bool(found)
        measured += found
    gathered.cells = matrix.added((), measured)
    return gathered


def measured_by(run_dir: RunDir) -> list[Cell]:
    """The cells of one run; none if it has no subjects. Raises UsageError for one that measures nothing."""
    facts = run_dir.read_run()
    subjects = subjects_of(facts)
    if not subjects or not str(facts["scenario"]).startswith(PREFIX):
        return []
    verdict = read_verdict(run_dir)
    if not verdict.sound or facts.get("observed"):
        raise UsageError(f"{run_dir.path.name} measures nothing: {verdict.in_words[:300]}")
    findings, damage = read_findings(run_dir)
    if findings is None:
        raise UsageError(f"{run_dir.path.name} measures nothing: {damage}")
    releases = {
        event.process: event.settings[CLIENT_VERSION]
        for event in of(read(run_dir.timeline).trusted, Configuration)
        if CLIENT_VERSION in event.settings
    }
    return [_cell(facts, subject, findings, releases) for subject in subjects]


def _cell(
    facts: Mapping[str, Any], subject: Mapping[str, Any], findings: Mapping[str, Any], releases: Mapping[str, str]
) -> Cell:
    counts = counted(subject, findings)
    if counts is None:  # the verdict of such a run is in doubt
        raise UsageError(f"{facts['run']} measures nothing: the records of {subject.get('process')} were not counted")
    version = versions.get(str(facts["version"]))
    stated = subject["stated"]
    began = datetime.fromtimestamp(int(facts["started_wall_ns"]) / 1e9, UTC)
    return Cell(
        key=Key(
            client=subject["client"],
            line=line_of(version),
            version=version.id,
            replication_factor=subject["replication_factor"],
            min_insync_replicas=subject["min_insync_replicas"],
            unclean=subject["unclean"],
            acks=subject["acks"],
            idempotence=subject["idempotence"],
            in_flight=subject["in_flight"],
            retries=subject["retries"],
            fault=str(facts["scenario"]).removeprefix(PREFIX),
        ),
        stated=Stated(
            must=frozenset(stated["must"]), may=frozenset(stated["may"]), why=stated["why"], source=stated["source"]
        ),
        runs=(
            RunCounts(
                run=str(facts["run"]),
                date=began.date().isoformat(),
                commit=str(facts.get("commit") or ""),
                client_release=str(subject.get("client_release") or releases.get(str(subject["process"]), "")),
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
        overrides=dict(subject.get("overrides") or {}),
    )


def write(cells: Iterable[Cell], docs: Path = DOCS, path: Path = matrix.MATRIX) -> None:
    """Write the matrix and its pages."""
    ordered = matrix.added((), cells)
    matrix.save(ordered, path)
    for name, text in matrix_page.pages(ordered).items():
        (docs / name).write_text(text, encoding="utf-8")
    if path == matrix.MATRIX and (page := docs / audit_page.PAGE.name).exists():
        audit_page.write(page)


def measure(arguments: argparse.Namespace, faults: Sequence[str], echo: Callable[[str], None]) -> Gathered:
    """Run what is missing of some faults, each on the versions that it is measured on, and gather all of it."""
    known = scenarios()
    if unknown := sorted(set(faults) - known.keys()):
        raise UsageError(f"there is no fault {unknown[0]!r} to measure: {', '.join(sorted(known))}")
    chosen = [known[fault] for fault in faults or known]
    wanted = runs_of(
        chosen,
        [versions.get(name) for name in arguments.versions],
        seed=arguments.seed,
        repeat=arguments.repeat,
    )
    arguments.runs_dir.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")
    runs = Matrix(root=arguments.runs_dir, settings={}, jobs=arguments.jobs, echo=echo, until=until)
    runs.run(wanted)
    if runs.left:
        echo(f"{runs.left} runs were not begun: too late")
    return gather(arguments.runs_dir)


def tonight(faults: Sequence[str], day: int) -> str:
    """The fault whose turn it is on a day, counted from whenever."""
    return sorted(faults)[day % len(faults)]


def _tell(gathered: Gathered, echo: Callable[[str], None]) -> None:
    for line in gathered.left_out:
        echo(line)
    others = [cell for cell in gathered.cells if not cell.as_stated]
    for cell in others:
        seen = ", ".join(f"{name} {cell.times(name)}/{len(cell.runs)}" for name in sorted(cell.seen)) or "nothing"
        echo(f"not as stated: {cell.key}: {seen}; stated: {sorted(cell.stated.must)}, may {sorted(cell.stated.may)}")
    echo(f"{len(gathered.cells)} cells of {gathered.runs} runs, {len(others)} not as stated")


def main(words: Sequence[str] | None = None) -> int:
    """What the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="harness.audit_matrix", description="The audit's measured matrix.")
    parser.add_argument("command", choices=("measure", "gather", "nightly"))
    parser.add_argument("--runs-dir", type=Path, default=RUNS, help=f"where run directories are (default {RUNS})")
    parser.add_argument("--faults", nargs="+", default=[], metavar="F", help="only these (default: all)")
    parser.add_argument("--versions", nargs="+", default=list(VERSIONS), metavar="V")
    parser.add_argument("--repeat", type=int, default=REPEAT, metavar="N", help=f"runs of each (default {REPEAT})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at the same time (default 1)")
    parser.add_argument("--minutes", type=int, default=0, metavar="N", help="begin no run after so long")
    parser.add_argument("--docs", type=Path, default=DOCS, metavar="DIR")
    arguments = parser.parse_args(words)

    def echo(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        return _run(arguments, echo)
    except KafkaChaosError as error:
        echo(f"audit-matrix: {error}")
        return error.exit_status


def _run(arguments: argparse.Namespace, echo: Callable[[str], None]) -> int:
    if arguments.command == "nightly":
        day = int(time.time() // DAY_S)
        fault = tonight(list(scenarios()), day)
        arguments.repeat, arguments.seed = 1, day
        echo(f"tonight: {fault}")
        before, now = matrix.load(), measure(arguments, arguments.faults or [fault], echo)
        _tell(now, echo)
        lines = matrix.changed(before, now.cells)
        for line in lines:
            echo(f"changed: {line}")
        if lines:
            return EXIT_CONTRADICTED
        return EXIT_UNKNOWN if now.left_out or not now.cells else EXIT_AS_DOCUMENTED
    gathered = (
        measure(arguments, arguments.faults, echo) if arguments.command == "measure" else gather(arguments.runs_dir)
    )
    _tell(gathered, echo)
    write(matrix.added(matrix.load(), gathered.cells), arguments.docs)
    return EXIT_AS_DOCUMENTED


if __name__ == "__main__":
    sys.exit(main())
