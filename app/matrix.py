"""Many runs: scenarios × cases × versions × seeds, resumable, several at a time.

A cell is finished when a run directory under the matrix's folder holds its verdict. The verdict "error" does not count:
the harness or the machine failed, and nothing is known about Kafka. A matrix that was killed continues where it
stopped, and a run that was cut short is run again. Every run is a process of its own (`kafka-chaos run --no-check`), so
that one that dies takes nothing with it. One Spark application judges all of them, here.

A scenario spends most of its time waiting for sessions to end, so a machine can carry more runs than it has cores; how
many is `jobs`. Runs share nothing but the machine: each has its own network, containers and directory.

With a limit of time no run is begun after it. The command names what is left, and the next call runs it. So a night
that is cut short has every case on some releases of every line, not some cases on every release (`night_order`). Each
seed begins with other releases, and three nights that get through a third have all. Where all scenarios are asked for,
a third of the museum is run (`of_the_night`).

At the end of a night, cells whose run was not good are run again, with the same seed and one at a time
(`Matrix.again`). What a busy machine did goes away then, and what Kafka does stays. The limit of time is for what was
not run yet. At most AGAIN_CELLS cells are run again, since more than that is no noise.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from app.output import RUN
from evidence import forks, kept
from evidence.errors import HarnessError, UsageError
from evidence.retention import Retain
from evidence.run import DEFAULT_CASE, RunRecord, full_name
from evidence.rundir import RunDir, write_atomically
from harness.cluster import versions as known_versions
from harness.setup.java import java_home
from harness.subjects import read_user_subjects
from harness.suite import SUITE
from harness.workloads.handles.client import COMMON
from harness.workloads.own_client import introduced
from judgement.judge import AnalysisServer, judge
from judgement.report import html, junit, summary
from judgement.report.facts import load_all
from judgement.verdict import ERROR, Verdict, read_verdict

if TYPE_CHECKING:
    from harness.cluster.versions import Version
    from harness.scenario import Scenario
    from judgement.report.facts import Loaded

OF_A_RUN: Final = ("app.cli", "app.commands.run", "harness.run.subjects", "harness.scenario:all_scenarios")
"""What the process of a run loads."""
PARENT_VARIABLE: Final = "KAFKA_CHAOS_PARENT"
"""Set for the runs of a matrix: a run whose matrix is killed ends too, and removes its containers."""


THIRDS: Final = 3
"""In so many nights every exhibit of the museum is run once, and every cell if each gets through a third of them."""


AGAIN: Final = 3
"""How often a cell whose run was not good is run again, at night."""
AGAIN_CELLS: Final = 10


class RunLost(HarnessError):
    """A run ended without a run directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """One run of the matrix."""

    scenario: str
    version: str
    seed: int
    case: str = DEFAULT_CASE

    def __str__(self) -> str:
        return f"{full_name(self.scenario, self.case)} on {self.version}, seed {self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Something that happened to a cell, for whoever watches (app/progress.py)."""

    what: Literal["waits", "begins", "step", "told", "ends", "judged", "lost", "left"]
    """`told` is a line of its run that is no step; `ends`: it is to be judged; `left`: it was too late to begin."""
    cell: MatrixCell
    text: str = ""
    run_dir: RunDir | None = None
    """When it is judged; so is what follows."""
    verdict: Verdict | None = None


def cells(
    scenarios: Iterable[Scenario],
    versions: Sequence[Version] | None,
    *,
    seed: int,
    repeat: int,
    cases: Collection[str] = (),
) -> list[MatrixCell]:
    """Every case of every scenario on the versions that it applies to: all of one seed before the next, so that a
    cut-short matrix is even. Without versions they are each scenario's own, which are those of the matrix, or what an
    exhibit is shown on. `cases` narrows it to the cases of these names.

    Raises UsageError if nothing applies to any of the versions.
    """
    found = [
        (s.name, c.name, v.id)
        for s in scenarios
        for v in (s.versions if versions is None else dict.fromkeys(map(s.as_run, versions)))
        for c in s.cases.values()
        if s.applies_to(v, c) and (not cases or c.name in cases)
    ]
    if not found:
        raise UsageError("none of these scenarios applies to any of these versions; `kafka-chaos list` shows which do")
    return [MatrixCell(scenario=s, case=c, version=v, seed=seed + i) for i in range(repeat) for s, c, v in found]


def suite_cells(
    scenarios: Mapping[str, Scenario], *, seed: int, repeat: int, versions: Sequence[Version] | None = None
) -> list[MatrixCell]:
    """The cells of the default suite (harness/suite.py), all of one seed before the next: on its own versions, or
    on these as far as they apply.
    """
    parts = []
    for name, part in SUITE.items():
        chosen = list(map(known_versions.get, part.versions)) if versions is None else versions
        with suppress(UsageError) if versions is not None else nullcontext():
            parts.append(cells([scenarios[name]], chosen, seed=seed, repeat=repeat, cases=part.cases))
    return sorted((cell for part in parts for cell in part), key=lambda cell: cell.seed)


def of_the_night(scenarios: Sequence[Scenario], seed: int) -> list[Scenario]:
    """All of these scenarios but the museum's exhibits, and a third of those: another one with each seed."""
    exhibits = [one for one in scenarios if one.exhibit is not None]
    tonight = exhibits[seed % THIRDS :: THIRDS]
    return [one for one in scenarios if one.exhibit is None or one in tonight]


def night_order(wanted: Sequence[MatrixCell], seed: int) -> list[MatrixCell]:
    """The same cells in rounds: in each, every case of every scenario on one version, the next time on one of another
    line. Another seed begins a third of the versions further on. All cells of one seed come before those of the next.

    >>> cells = [MatrixCell(scenario=s, version=v, seed=1) for s in ("a", "b") for v in ("1", "2", "3")]
    >>> [cell.scenario + cell.version for cell in night_order(cells, 1)]
    ['a1', 'b2', 'a2', 'b3', 'a3', 'b1']
    """
    rows: dict[tuple[str, str, int], list[MatrixCell]] = {}
    for cell in wanted:
        rows.setdefault((cell.scenario, cell.case, cell.seed), []).append(cell)
    rounds = zip_longest(*(_strided(row, number, seed) for number, row in enumerate(rows.values())))
    return sorted((cell for one in rounds for cell in one if cell is not None), key=lambda cell: cell.seed)


def _strided(row: Sequence[MatrixCell], number: int, seed: int) -> list[MatrixCell]:
    """A row of cells, versions in order, in steps of about a quarter of it (there are five lines), none twice."""
    step = next(step for step in count(max(1, len(row) // 4)) if math.gcd(step, len(row)) == 1)
    begin = number + (seed - 1) * math.ceil(len(row) / THIRDS)
    return [row[(begin + at) * step % len(row)] for at in range(len(row))]


def cell_of(run: RunRecord) -> MatrixCell:
    """The cell that a run belongs to."""
    return MatrixCell(scenario=run.scenario, case=run.case, version=run.version, seed=run.seed)


def client_of(run: RunRecord) -> str | None:
    """The client that the command of a run named; None if it named none."""
    words = shlex.split(run.command)
    return words[words.index("--client") + 1] if "--client" in words else None


def _same_client(run: RunRecord) -> bool:
    """Whether a client of the user's own says the same of itself as it did in a run."""
    own = run.own_client
    return own is None or introduced(own.command).label == f"{own.name} {own.version}"


def finished_cells(
    root: Path,
    settings: Mapping[str, str],
    expect: Sequence[str] | None = None,
    subjects: Path | None = None,
    client: str | None = None,
) -> dict[MatrixCell, RunDir]:
    """The cells under `root` that are finished with these overridden settings, this expectation, these subjects and
    this client of the user's own, and the newest run of each.
    """
    return {cell: runs[-1] for cell, runs in finished_runs(root, settings, expect, subjects, client).items()}


def finished_runs(
    root: Path,
    settings: Mapping[str, str],
    expect: Sequence[str] | None = None,
    subjects: Path | None = None,
    client: str | None = None,
) -> dict[MatrixCell, list[RunDir]]:
    """Likewise, with all runs of each, the oldest first."""
    given = tuple(one.as_json for one in read_user_subjects(subjects)) if subjects else ()
    asked = (settings, None if expect is None else tuple(expect), given, client)
    found: dict[MatrixCell, list[RunDir]] = {}
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        run_dir = RunDir(path)
        if not run_dir.verdict.exists():
            continue
        try:
            run = run_dir.read_run()
            judged = read_verdict(run_dir)
        except UsageError:
            continue
        if run.mutant:  # it tells nothing of the release
            continue
        # A proof is one run, so one that proves nothing is not the end of it.
        was = (run.overridden, run.expect, run.given, client_of(run))
        if judged.verdict != ERROR and (judged.sound or not given) and asked == was and _same_client(run):
            found.setdefault(cell_of(run), []).append(run_dir)
    return found


@dataclass(slots=True)
class Matrix:
    """Runs cells and judges them. `echo` gets a line for each run, and `watch` all that happens meanwhile."""

    root: Path
    settings: Mapping[str, str]
    jobs: int
    echo: Callable[[str], None]
    expect: Sequence[str] | None = None
    """What the user expects of every run, in place of what is documented."""
    until: float = math.inf
    """When the last run may begin (time.monotonic)."""
    subjects: Path | None = None
    """A file of the user's own subjects, in place of the scenarios'."""
    client: str | None = None
    """The clients to drive, in place of the cases'."""
    watch: Callable[[Happened], None] = lambda happened: None
    retain: Retain = "all"
    """What is kept of a run when it has been judged."""
    lost: list[str] = field(default_factory=list)
    """Runs that left nothing behind, each with what it said."""
    left: int = 0
    """Runs that were not begun, because it was too late."""
    _children: set[forks.Forked | subprocess.Popen[str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopping: bool = False

    def run(self, wanted: Sequence[MatrixCell]) -> dict[MatrixCell, RunDir]:
        """Run every cell that is not finished and return the run directories of all, in order.

        A run that left no run directory at all is told, added to `lost`, and keeps no other from running. One that
        would begin too late is counted in `left`, and is not among those returned.
        KeyboardInterrupt ends the runs under way, each of which removes its containers, and is passed on.
        """
        done = {
            cell: run_dir
            for cell, run_dir in finished_cells(
                self.root, self.settings, self.expect, self.subjects, self.client
            ).items()
            if cell in set(wanted)
        }
        if done:
            self.echo(f"{len(done)} of {len(wanted)} runs are finished already and not run again")
        done |= self._carried_out([cell for cell in wanted if cell not in done], self._in_time, self.jobs)
        return {cell: done[cell] for cell in wanted if cell in done}

    def again(self, runs: Mapping[MatrixCell, RunDir], times: int) -> dict[MatrixCell, list[RunDir]]:
        """Run cells that are not good so many times more, one run at a time; all runs of each cell that was run again.

        What is there of an earlier call counts. Cells beyond AGAIN_CELLS are told and left.
        """
        there = finished_runs(self.root, self.settings, self.expect, self.subjects, self.client)
        # By their names: a run of this call has the whole path, and one that is found in the folder may have not.
        named = {
            cell: {one.path.name: one for one in (*there.get(cell, ()), run_dir)} for cell, run_dir in runs.items()
        }
        every = {cell: [those[name] for name in sorted(those)] for cell, those in named.items()}
        doubtful = [cell for cell, those in every.items() if not all(read_verdict(one).good for one in those)]
        if len(doubtful) > AGAIN_CELLS:
            self.echo(f"{len(doubtful)} cells are not good: the first {AGAIN_CELLS} of them are run again")
        for _ in range(times):
            short = [cell for cell in doubtful[:AGAIN_CELLS] if len(every[cell]) <= times]
            for cell, run_dir in self._carried_out(short, self._one, 1).items():
                every[cell].append(run_dir)
        return {cell: every[cell] for cell in doubtful if len(every[cell]) > 1}

    def _carried_out(
        self, cells: Sequence[MatrixCell], one: Callable[[MatrixCell], RunDir | None], jobs: int
    ) -> dict[MatrixCell, RunDir]:
        """Run each of these cells by `one`, so many at a time, and judge it; those that left a run directory."""
        done: dict[MatrixCell, RunDir] = {}
        if not cells:
            return done
        for cell in cells:
            self.watch(Happened(what="waits", cell=cell))
        with (
            forks.serving((*OF_A_RUN, *COMMON)),
            AnalysisServer(java_home=java_home()) as analyst,
            ThreadPoolExecutor(max_workers=jobs) as pool,
        ):
            futures: dict[Future[RunDir | None], MatrixCell] = {pool.submit(one, cell): cell for cell in cells}
            try:
                for future in as_completed(futures):
                    cell = futures[future]
                    try:
                        run_dir = future.result()
                    except RunLost as error:
                        self.lost.append(str(error))
                        self.watch(Happened(what="lost", cell=cell, text=str(error)))
                        self.echo(str(error))
                        continue
                    if run_dir is None:
                        self.left += 1
                        self.watch(Happened(what="left", cell=cell))
                        continue
                    verdict = judge(run_dir, analyst).verdict
                    done[cell] = run_dir
                    told = verdict.in_words
                    kept.remove(run_dir, kept.superfluous(self.retain, good=verdict.good))
                    self.watch(Happened(what="judged", cell=cell, text=told, run_dir=run_dir, verdict=verdict))
                    self.echo(f"[{len(done)}/{len(cells)}] {cell} ({verdict.seconds:.0f} s): {told}")
            except BaseException:
                self._stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return done

    def _stop(self) -> None:
        with self._lock:
            self._stopping = True
            children = list(self._children)
        for child in children:
            child.send_signal(signal.SIGINT)

    def _in_time(self, cell: MatrixCell) -> RunDir | None:
        """Run a cell; None if it is too late to begin."""
        return self._one(cell) if time.monotonic() < self.until else None

    def _one(self, cell: MatrixCell) -> RunDir:
        with self._lock:
            if self._stopping:
                raise HarnessError(f"{cell}: not started, the matrix is being stopped")
            server = forks.current()
            parents = [os.getpid(), *([] if server is None else [server.pid])]
            environment = os.environ | {PARENT_VARIABLE: " ".join(map(str, parents))}
            child = forks.start("app", self._arguments(cell), environment, devnull=True, merged=True)
            self._children.add(child)
        self.watch(Happened(what="begins", cell=cell))
        try:
            with child:
                run_dir, said = self._listen(cell, child.stdout or ())
        finally:
            with self._lock:
                self._children.discard(child)
        if run_dir is None:
            last = " | ".join(said[-5:])
            raise RunLost(f"{cell}: ended with {child.returncode} and left no run directory; it said: {last}")
        self.watch(Happened(what="ends", cell=cell))
        return run_dir

    def _arguments(self, cell: MatrixCell) -> list[str]:
        command = ["run", cell.scenario, "--version", cell.version]
        command += ["--seed", str(cell.seed), "--runs-dir", str(self.root.resolve()), "--no-check", "--json-lines"]
        command += ["--case", cell.case]
        command += [part for key, value in sorted(self.settings.items()) for part in ("--setting", f"{key}={value}")]
        command += [] if self.subjects is None else ["--subjects", str(self.subjects.resolve())]
        command += [] if self.client is None else ["--client", self.client]
        command += [] if self.expect is None else ["--expect", ",".join(self.expect) or "none"]
        return command

    def _listen(self, cell: MatrixCell, lines: Iterable[str]) -> tuple[RunDir | None, list[str]]:
        """What a run says, until it ends: where it lies, and its lines. Its failures are lines that are no JSON."""
        run_dir, said = None, []
        for line in lines:
            try:
                told = json.loads(line)
                kind, text = told["kind"], told.get("text", "")
            except (json.JSONDecodeError, KeyError, TypeError):
                kind, text = "failure", line.rstrip()
            if kind == RUN:
                run_dir = RunDir(Path(told["run_dir"]))
            else:
                said.append(text)
                self.watch(Happened(what="step" if kind == "step" else "told", cell=cell, text=text))
        return run_dir, said


def write_reports(root: Path, runs: Sequence[RunDir]) -> Loaded:
    """Write report.html, junit.xml and summary.md of judged runs into `root`, and the last into a CI job's summary if
    this is one (GITHUB_STEP_SUMMARY). Returns the runs as they were read.
    """
    loaded = load_all(runs)
    html.write_suite(loaded, root / "report.html")
    junit.write_suite(loaded, root / "junit.xml")
    told = summary.markdown(loaded)
    if step_summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(step_summary).open("a", encoding="utf-8") as file:
            file.write(told)
    write_atomically(root / "summary.md", told)
    return loaded
