"""The audit's matrix: measured again, gathered from run directories, and compared with the old one.

    python -m app.audit_matrix measure    run what is missing (resumable), then gather
    python -m app.audit_matrix gather     make results/audit/ and its pages of judged run directories
    python -m app.audit_matrix restate    write what is stated now into results/audit/, without a run, and the pages
    python -m app.audit_matrix nightly    measure a part of it once; ends with 1 if a cell is not what it was,
                                              with 2 if a run measured nothing

A cell comes of a run directory alone: its subjects, as run.json lists them, and what the analysis counted and found of
each. A run that proves less than it shows (its verdict is in doubt) measures nothing, and is told with its reason. One
that contradicts what is stated is measured like any other: the run wins.

The part of a night is one fault on every line, in turn, so that all of it is measured once in so many nights as there
are faults. The page is docs/audit-matrix.md; `make docs` makes those of the faults.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from app import audit_page
from app.audit_cells import PREFIX, VERSIONS, cells_of, scenarios
from app.matrix import Matrix
from app.matrix import cells as runs_of
from app.registry import planned
from audit import matrix
from audit.cells import Cell, Stated, added, changed
from evidence.basis import Basis
from evidence.errors import EXIT_AS_DOCUMENTED, EXIT_CONTRADICTED, EXIT_UNKNOWN, KafkaChaosError, UsageError
from evidence.rundir import RunDir, find_runs
from harness.cluster import versions
from pages import audit_matrix as matrix_page

RUNS: Final = Path("runs/audit-matrix")
DOCS: Final = Path("docs")
REPEAT: Final = 5
DAY_S: Final = 86_400


@dataclass(slots=True)
class Measured:
    """What some run directories measure."""

    cells: tuple[Cell, ...] = ()
    runs: int = 0
    left_out: list[str] = field(default_factory=list)
    """A line for each run that measures nothing, with the reason."""


def gather(root: Path) -> Measured:
    """The cells that the judged run directories in a folder measure. Raises UsageError if there is none."""
    gathered = Measured()
    measured: list[Cell] = []
    for run_dir in find_runs(root):
        try:
            found = measured_by(run_dir)
        except UsageError as error:
            gathered.left_out.append(str(error))
            continue
        gathered.runs += bool(found)
        measured += found
    gathered.cells = added((), measured)
    return gathered


def measured_by(run_dir: RunDir) -> list[Cell]:
    """The cells of one run; none if it has no subjects. Raises UsageError for one that measures nothing."""
    run = run_dir.read_run()
    if not run.subjects or not run.scenario.startswith(PREFIX):
        return []
    if run.given:
        raise UsageError(f"{run_dir.path.name} measures no cell: its subjects are somebody's own")
    return list(cells_of(run_dir))


def restated(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells with what the scenarios state of them now, as after a run of each."""
    now = planned()

    def of(cell: Cell) -> Stated:
        one = now.get(str(cell.key), cell.stated)
        why = " ".join(one.why.split())
        return Stated(must=one.must, may=one.may, why=why, source=one.source, basis=Basis(one.basis))

    return tuple(replace(cell, stated=of(cell)) for cell in cells)


def write(cells: Iterable[Cell], docs: Path = DOCS, folder: Path = matrix.FOLDER) -> None:
    """Write the matrix and its pages, which count no run of a tree with changes."""
    matrix.save(added((), cells), folder)
    for name, text in matrix_page.pages(matrix.load(folder)).items():
        (docs / name).write_text(text, encoding="utf-8")
    if folder == matrix.FOLDER and (page := docs / audit_page.PAGE.name).exists():
        audit_page.write(page)


def measure(arguments: argparse.Namespace, faults: Sequence[str], echo: Callable[[str], None]) -> Measured:
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


def _tell(gathered: Measured, echo: Callable[[str], None]) -> None:
    for line in gathered.left_out:
        echo(line)
    others = [cell for cell in gathered.cells if not cell.as_stated]
    for cell in others:
        seen = ", ".join(f"{name} {cell.times(name)}/{len(cell.runs)}" for name in sorted(cell.seen)) or "nothing"
        echo(f"not as stated: {cell.key}: {seen}; stated: {sorted(cell.stated.must)}, may {sorted(cell.stated.may)}")
    echo(f"{len(gathered.cells)} cells of {gathered.runs} runs, {len(others)} not as stated")


def main(words: Sequence[str] | None = None) -> int:
    """What the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="app.audit_matrix", description="The audit's measured matrix.")
    parser.add_argument("command", choices=("measure", "gather", "nightly", "restate"))
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
        faults = arguments.faults or [tonight(list(scenarios()), day)]
        arguments.repeat, arguments.seed = 1, day
        echo(f"tonight: {', '.join(faults)}")
        before, now = matrix.load(), measure(arguments, faults, echo)
        _tell(now, echo)
        lines = changed(before, now.cells)
        for line in lines:
            echo(f"changed: {line}")
        if lines:
            return EXIT_CONTRADICTED
        return EXIT_UNKNOWN if now.left_out or not now.cells else EXIT_AS_DOCUMENTED
    if arguments.command == "restate":
        write(restated(matrix.load(modified=True)), arguments.docs)
        return EXIT_AS_DOCUMENTED
    gathered = (
        measure(arguments, arguments.faults, echo) if arguments.command == "measure" else gather(arguments.runs_dir)
    )
    _tell(gathered, echo)
    write(added(matrix.load(modified=True), gathered.cells), arguments.docs)
    return EXIT_AS_DOCUMENTED


if __name__ == "__main__":
    sys.exit(main())
