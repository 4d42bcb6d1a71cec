"""`python -m tests.mutants`: runs of brokers with one method changed, and the page of which of them were noticed.

    list                              the mutants, and what each breaks
    check                             can every change be made to the released jars?
    run MUTANT SCENARIO               one run, judged; its row on stdout, as JSON; "none" is Kafka itself
    measure                           all of them, in the runs where each should be noticed; then `table`
    measure --mutants a b --scenarios baseline leader-crash/acks-all suite --versions 4.3.1 2.8.2
    measure --until-noticed           of each mutant and version no further run once one has noticed it
    table                             the rows of a round into results/mutants.csv, and docs/mutants.md

Started again after it was interrupted, `measure` goes on: each finished run has its row in the runs directory. Its
status is 0 whatever was noticed; a change that cannot be made ends it with 255.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from app.cli import EXIT_INTERRUPTED, die_with_the_matrix
from app.matrix import PARENT_VARIABLE, suite_cells
from app.output import say, tell_failure
from evidence.errors import HarnessError, UsageError
from evidence.rundir import write_atomically
from harness.cluster import versions
from harness.scenario import all_scenarios, get_scenario
from harness.suite import NEW
from tests.mutants import carry_out, image, page, registry, rows
from tests.mutants.registry import Mutant, Where
from tests.mutants.rows import Row

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = ROOT / "results" / "mutants.csv"
PAGE: Final = ROOT / "docs" / "mutants.md"
SUITE: Final = "suite"
KAFKA: Final = "none"
"""In place of a mutant's name: the released brokers."""
LIMIT_S: Final = 240
"""Of a run: the longest of Kafka itself in the default suite takes 80 s."""
GRACE_S: Final = 120
"""For what a run that was ended has to remove, and for judging it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One run that is wanted."""

    mutant: str
    where: Where
    version: str

    @property
    def file(self) -> str:
        return f"{self.mutant}--{self.where.scenario}--{self.where.case}--{self.version}.json"

    def __str__(self) -> str:
        return f"{self.mutant} in {self.where} on {self.version}"


def suite() -> tuple[Where, ...]:
    """The runs of the default suite on the newest release, the quick ones first as they are listed."""
    found = suite_cells(all_scenarios(), seed=1, repeat=1)
    return tuple(Where(scenario=cell.scenario, case=cell.case) for cell in found if cell.version == NEW)


def named(names: Sequence[str]) -> list[Where]:
    """What `--scenarios` names: "scenario/case", a scenario with all its cases, or "suite"."""
    found: list[Where] = []
    for name in names:
        scenario, _, case = name.partition("/")
        if name == SUITE:
            found += suite()
        elif case:
            get_scenario(scenario).case(case)
            found.append(Where(scenario=scenario, case=case))
        else:
            found += [Where(scenario=scenario, case=one) for one in get_scenario(scenario).cases]
    return found


def cells(mutants: Iterable[Mutant], scenarios: Sequence[str], wanted: Sequence[str]) -> list[Cell]:
    """The runs of these mutants on these versions: those that should notice each, or the scenarios that are named. The
    most telling run of each mutant comes before the second one of any, so that a round that is cut short has most.
    """
    chosen = named(scenarios)
    ranked = [
        (rank, Cell(mutant.name, where, version))
        for version in wanted
        for mutant in mutants
        if mutant.changes_on(versions.get(version).kafka)
        for rank, where in enumerate(chosen or mutant.where)
        if _applies(where, version)
    ]
    return [cell for _, cell in sorted(ranked, key=lambda one: one[0])]


def _applies(where: Where, version: str) -> bool:
    made = get_scenario(where.scenario)
    return made.applies_to(versions.get(version), made.case(where.case))


@dataclass(slots=True)
class Round:
    """Runs of mutants, several at a time."""

    root: Path
    jobs: int
    timeout_s: int
    seed: int
    until_noticed: bool
    echo: Callable[[str], None]
    children: set[subprocess.Popen[str]] = field(default_factory=set)
    """The runs under way."""

    @property
    def kept(self) -> Path:
        return self.root / "rows"

    def rows(self) -> Iterator[Row]:
        """What came of the runs so far."""
        for path in sorted(self.kept.glob("*.json")):
            yield row_from(path.read_text())

    def carry_out(self, wanted: Sequence[Cell]) -> None:
        """Run what has no row yet. Raises HarnessError, after the others, if a run left no row."""
        self.kept.mkdir(parents=True, exist_ok=True)
        missing = [cell for cell in wanted if not (self.kept / cell.file).exists()]
        self.echo(f"{len(missing)} runs of {len(wanted)} are to be made")
        lost = []
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = {pool.submit(self._one, cell): cell for cell in missing}
            try:
                for number, future in enumerate(as_completed(futures), 1):
                    cell = futures[future]
                    try:
                        row = future.result()
                    except HarnessError as error:
                        lost.append(str(error))
                        self.echo(f"[{number}] {error}")
                        continue
                    if row is not None:
                        self.echo(f"[{number}] {cell}: {in_words(row)}")
            except BaseException:
                for child in list(self.children):
                    child.send_signal(signal.SIGINT)
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        if lost:
            raise HarnessError(f"{len(lost)} runs left no row; the first: {lost[0]}")

    def _one(self, cell: Cell) -> Row | None:
        """A run in a process of its own; None if its mutant was noticed meanwhile and that is enough."""
        if self.until_noticed and any(
            (row.mutant, row.version, row.outcome) == (cell.mutant, cell.version, rows.NOTICED) for row in self.rows()
        ):
            return None
        own = self.root / Path(cell.file).stem
        command = [sys.executable, "-m", "tests.mutants", "run", cell.mutant, cell.where.scenario]
        command += ["--case", cell.where.case, "--version", cell.version, "--seed", str(self.seed)]
        command += ["--runs-dir", str(own), "--limit", str(self.timeout_s)]
        log = (self.root / cell.file).with_suffix(".log")
        environment = os.environ | {PARENT_VARIABLE: str(os.getpid())}
        with log.open("w") as said:
            child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=said, text=True, env=environment, start_new_session=True
            )
            self.children.add(child)
            try:
                answer, _ = child.communicate(timeout=self.timeout_s + GRACE_S)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGINT)
                answer, _ = child.communicate()
            finally:
                self.children.discard(child)
        if child.returncode:
            last = " | ".join(log.read_text().splitlines()[-3:])
            raise HarnessError(f"{cell}: no row (status {child.returncode}): {last}")
        write_atomically(self.kept / cell.file, answer)
        return row_from(answer)


def in_words(row: Row) -> str:
    """What came of a run, in a line."""
    reason = f": {row.reasons[0]}" if row.reasons else ""
    if not row.mutant:
        return f"{row.verdict}, {row.seconds} s{reason[:200]}"
    return f"{row.outcome} ({row.verdict}, {row.hits} hits, {row.seconds} s){reason[:200]}"


def row_from(text: str) -> Row:
    """A row from its JSON."""
    return msgspec.json.decode(text, type=Row)


def merge_into(path: Path, new: Iterable[Row]) -> list[Row]:
    """Add rows to a table that is committed, and return all that it has then. A run of a modified tree is left out:
    nobody could make it again.
    """
    before = rows.read(path.read_text(), str(path)) if path.exists() else []
    listed = list(new)
    clean = [row for row in listed if not row.commit.endswith("+")]
    every = rows.merged(before, clean)
    write_atomically(path, rows.as_csv(every))
    left_out = f"; {len(listed) - len(clean)} of a modified tree left out" if len(clean) < len(listed) else ""
    say(f"{len(every) - len(before)} rows added, {len(every)} in all: {path}{left_out}")
    return every


def write_table(new: Iterable[Row]) -> None:
    """Add rows to the table, and make the page anew from all of it."""
    write_atomically(PAGE, page.page(merge_into(RESULTS, new), suite()))


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.splitlines()[0])
    commands = whole.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the mutants, and what each breaks")
    commands.add_parser("check", help="whether every change can be made to the released jars")
    run = commands.add_parser("run", help="one run")
    run.add_argument("mutant")
    run.add_argument("scenario")
    run.add_argument("--case", default="default")
    run.add_argument("--version", default=registry.NEW)
    measure = commands.add_parser("measure", help="all of them")
    measure.add_argument("--mutants", nargs="+", default=(), metavar="NAME")
    measure.add_argument("--scenarios", nargs="+", default=(), metavar="NAME")
    measure.add_argument("--versions", nargs="+", default=registry.RELEASES, metavar="V")
    measure.add_argument("--jobs", type=int, default=2)
    measure.add_argument("--until-noticed", action="store_true")
    table = commands.add_parser("table", help="results/mutants.csv and docs/mutants.md")
    for one in (run, measure):
        one.add_argument("--seed", type=int, default=1)
        one.add_argument("--limit", type=int, default=LIMIT_S, metavar="S", help="seconds until a run is ended")
    for one in (run, measure, table):
        one.add_argument("--runs-dir", type=Path, default=Path("runs/mutants"), metavar="DIR")
    return whole


def carry_out_command(options: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    if options.command == "list":
        for mutant in registry.MUTANTS:
            print(f"{mutant.name} ({', '.join(mutant.changes) or 'no release yet'}): {mutant.broken}")
        return 0
    if options.command == "check":
        lines = [f"{release}: {line}" for release in registry.RELEASES for line in image.unmade(release, say)]
        print("\n".join(lines) or "every change can be made")
        return 1 if lines else 0
    root = options.runs_dir.resolve()
    root.mkdir(parents=True, exist_ok=True)
    if options.command == "run":
        where = Where(scenario=options.scenario, case=options.case)
        row = carry_out.carry_out(
            None if options.mutant == KAFKA else registry.get(options.mutant),
            where,
            options.version,
            seed=options.seed,
            root=root,
            timeout_s=options.limit,
            echo=say,
        )
        print(json.dumps(asdict(row)))
        return 0
    kept = Round(root, 1, LIMIT_S, 1, False, say)
    if options.command == "measure":
        mutants = [registry.get(name) for name in options.mutants] or registry.MUTANTS
        kept = Round(root, options.jobs, options.limit, options.seed, options.until_noticed, say)
        kept.carry_out(cells(mutants, options.scenarios, options.versions))
    write_table(kept.rows())
    return 0


def main() -> int:
    """Run a command; bad input is one line and status 254, a failure 255."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell that begins it in the background has it ignore the first
        signal.signal(number, signal.default_int_handler)
    options = parser().parse_args()
    if options.command == "run":
        die_with_the_matrix()
    try:
        return carry_out_command(options)
    except KeyboardInterrupt:
        say("interrupted; what was started is removed, and finished runs have their rows")
        return EXIT_INTERRUPTED
    except (UsageError, HarnessError) as error:
        return tell_failure(error)


if __name__ == "__main__":
    sys.exit(main())
