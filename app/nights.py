"""Runs as comparisons and plans have them, read from where runs are: a ledger, folders of run directories, nights.

    results/ledger/      every run that was entered there
    ledger.jsonl         the ledger of one folder
    runs/nightly/        a folder with a ledger and run directories, or with folders that have
    runs/x/              judged run directories without a ledger, as they were copied from elsewhere

Of a run directory that is there, the brokers' logs are read too, and the place is told. If it has subjects, each of
them is a run of its own cell beside the whole (`audited`). Runs that have no verdict are counted; so are those that a
line excludes. Restored runs are left out: nobody can look at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

from app import parts
from app.audit_cells import PREFIX, subjects_of
from app.git_blobs import ROOT, blobs
from app.ledger import LedgerFolder, of_runs_first
from checks.claim import CONTRADICTED, NOT_OBSERVED
from evidence import ledger
from evidence.errors import UsageError
from evidence.ledger import AnyLine, Excluded, RunEnded, RunJudged, RunStarted
from evidence.quiet import load_of
from evidence.run import HostRecord
from evidence.rundir import RunDir
from evidence.text import plural
from harness.scenario import all_scenarios
from judgement.comparison import Cell, Fact, Ran
from judgement.fingerprints import of_logs
from judgement.ledger import judged as line_of
from judgement.report.facts import load as load_run

READERS: Final = 4
TIMES: Final[Mapping[str, str]] = {
    "write_pause_ms": "the longest pause of writes",
    "read_pause_ms": "the longest pause of reads",
    "first_success_ms": "the first write after a fault",
    "ack_ms": "an acknowledgement",
    "latency_p50_ms": "from input to output, the median",
    "latency_p99_ms": "from input to output, the 99th percentile",
}
"""What is measured of runs beside claims, in words."""
EACH_INPUT: Final = "an input of many that came at once"
"""What is told of throughput: how long one takes, so that more is worse, as of all times."""
EACH_RECORD: Final = "a record of many that were sent at once"


@dataclass(slots=True)
class ComparedSide:
    """The runs of one place."""

    name: str
    runs: list[Ran] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def side(path: Path) -> ComparedSide:
    """Every run of a place. Raises UsageError, in one line, if there is none, or a ledger is of another schema."""
    store, places, notes = LedgerFolder(path), dict[str, Path](), list[str]()
    sources = list(_ledgers(path))
    for source in sources:
        for text, line in of_runs_first(ledger.read(source, notes.append)):
            store.add(text, line, str(source))
        places |= {run: source.parent / run for run in store.scenario_of if (source.parent / run).is_dir()}
    lines = list(store.lines)
    if not sources:
        judged = [RunDir(one) for one in sorted({path, *_children(path)}) if RunDir(one).verdict.exists()]
        lines = [line for one in judged for line in _lines_of(one)]
        places = {line.run: one.path for line, one in zip(lines[::2], judged, strict=True)}
    if not lines:
        raise UsageError(
            f"{path}: no runs here (looked for a ledger, {ledger.FILE}, and judged run directories); name a "
            "folder that `kafka-chaos run`, `matrix` or `make nightly` wrote, or a ledger"
        )
    found = _side(path, lines, places)
    if not found.runs:
        raise UsageError(
            f"{path}: {plural(len({line.run for line in lines}), 'run')} here, and none with a verdict that counts; "
            "`kafka-chaos check RUN_DIR` gives one to runs that have ended"
        )
    found.notes += [*notes, *parts.missing_parts(path, [source.parent for source in sources])]
    return found


def _ledgers(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif (path / ledger.FILE).is_file():
        yield path / ledger.FILE
    else:
        nights = sorted(one / ledger.FILE for one in _children(path) if (one / ledger.FILE).is_file())
        yield from nights or ledger.files_of(path)


def _children(path: Path) -> list[Path]:
    return [one for one in path.iterdir() if one.is_dir()] if path.is_dir() else []


def _lines_of(run_dir: RunDir) -> tuple[RunStarted, RunJudged]:
    one = load_run(run_dir)
    return ledger.started(one.run, None), line_of(one)


def ran_of(run_dir: RunDir) -> Ran:
    """A judged run that is there, as comparisons have it. Raises UsageError, OSError."""
    started, judged = _lines_of(run_dir)
    place = run_dir.path
    return _ran(
        started, judged, load=load_of(started, None, judged), place=place, code=started.code, lines=_logged(place)
    )


def _side(path: Path, lines: Sequence[AnyLine], places: Mapping[str, Path]) -> ComparedSide:
    found = ComparedSide(str(path))
    verdicts: dict[str, RunJudged] = {}
    for line in lines:
        if isinstance(line, RunJudged) and (line.run not in verdicts or line.at < verdicts[line.run].at):
            verdicts[line.run] = line
    excluded = {line.run for line in lines if isinstance(line, Excluded)}
    started = [line for line in lines if isinstance(line, RunStarted)]
    ends = {line.run: line for line in lines if isinstance(line, RunEnded)}
    kept = [line for line in started if line.run in verdicts and line.run not in excluded]
    codes = codes_of(kept)
    with ThreadPoolExecutor(READERS) as pool:
        logs = pool.map(_logged, [places.get(line.run) for line in kept])
        found.runs = [
            _ran(
                line,
                verdicts[line.run],
                load=load_of(line, ends.get(line.run), verdicts[line.run]),
                place=places.get(line.run),
                code=codes.get(line.run, ""),
                lines=seen,
            )
            for line, seen in zip(kept, logs, strict=True)
        ]
        found.runs += chain.from_iterable(pool.map(audited, tuple(found.runs)))
    without = sum(line.run not in verdicts and line.run not in excluded for line in started)
    for number, what in ((without, "were started and have no verdict"), (len(excluded), "are excluded")):
        if number:
            found.notes.append(f"{path}: {number} runs {what}, and are not compared")
    return found


def _logged(place: Path | None) -> frozenset[Fact] | None:
    """What brokers warned of; None if there is nothing to read."""
    logs = sorted(RunDir(place).logs.glob("broker-*.log")) if place is not None else []
    return of_logs(logs) if logs else None


def _ran(
    started: RunStarted, judged: RunJudged, *, load: str, place: Path | None, code: str, lines: frozenset[Fact] | None
) -> Ran:
    claims = [claim for claim in judged.claims if claim.outcome != NOT_OBSERVED]
    measured = {name: getattr(judged, field_) for field_, name in TIMES.items()}
    measured[EACH_INPUT] = _each_ms(judged.inputs_per_s)
    return Ran(
        run=started.run,
        cell=(started.scenario, started.case, started.version),
        at=started.at,
        place=str(place) if place is not None else "",
        code=code,
        setting=(_machine(started.host), load),
        waited=judged.throughout.cpu if judged.throughout is not None else None,
        verdict=judged.verdict,
        text=judged.text,
        shown={Fact("anomaly", name): True for name in judged.anomalies if name not in judged.permitted}
        | {Fact("claim", claim.name): claim.outcome == CONTRADICTED for claim in claims},
        times_ms={name: value for name, value in measured.items() if value is not None}
        | {claim.name: claim.measured_ms for claim in claims if claim.measured_ms is not None},
        lines=lines,
    )


def audited(whole: Ran) -> list[Ran]:
    """The subjects of a run of the audit whose directory is there, each with the run as its own cell shows it.

    A cell's case is its settings. All have the name of the run, so that what one run shows is told together.
    """
    scenario, _, version = whole.cell
    if not whole.place or not scenario.startswith(PREFIX):
        return []
    return [
        replace(
            whole,
            cell=(scenario, settings, version),
            shown={Fact("audit", outcome): True for outcome in counts.seen},
            times_ms={
                name: ms
                for name, ms in {
                    TIMES["latency_p50_ms"]: counts.latency_p50_ms,
                    TIMES["latency_p99_ms"]: counts.latency_p99_ms,
                    EACH_RECORD: _each_ms(counts.records_per_s),
                }.items()
                if ms is not None
            },
            lines=None,
        )
        for settings, counts in subjects_of(RunDir(Path(whole.place)))
    ]


def _each_ms(per_s: float | None) -> float | None:
    return 1000 / per_s if per_s else None


def _machine(host: HostRecord) -> str:
    return f"{host.system}, {host.cores} cores"


def codes_of(started: Iterable[RunStarted]) -> dict[str, str]:
    """Which text of its scenario each run had: the blob of git, as the run's line or the history of git tells it.

    Runs of a modified tree, of a commit that is not here, or of a scenario that nobody knows any more have none.
    """
    every = list(started)
    paths = scenario_files()
    asked = {
        (line.commit, paths[line.scenario])
        for line in every
        if not line.code and line.commit and not line.modified and line.scenario in paths
    }
    known = blobs(asked)
    return {line.run: line.code or known.get((line.commit or "", paths.get(line.scenario, "")), "") for line in every}


@lru_cache(maxsize=1)
def scenario_files() -> Mapping[str, str]:
    """Where each scenario is written, from the root of the checkout."""
    return {name: str(Path(one.path).resolve().relative_to(ROOT)) for name, one in all_scenarios().items()}


def alike(old: ComparedSide, new: ComparedSide, pairs: Sequence[str]) -> tuple[ComparedSide, ComparedSide]:
    """Both sides with the cells that are to be held side by side named alike: those of NEW have the names.

    `pairs` are versions as OLD=NEW; without them, two sides of one version each are held side by side, whatever their
    versions. Raises UsageError for a version that a side does not have, and if no cell is on both.
    """
    versions = tuple({run.cell[2] for run in one.runs} for one in (old, new))
    named = dict(_pair(text) for text in pairs)
    for of_old, of_new in named.items():
        for name, one, known in ((of_old, old, versions[0]), (of_new, new, versions[1])):
            if name not in known:
                raise UsageError(f"--version: {one.name} has no runs on {name}; it has {', '.join(sorted(known))}")
    if not named and not versions[0] & versions[1] and len(versions[0]) == len(versions[1]) == 1:
        named = {versions[0].pop(): versions[1].pop()}
    kept = [run for run in old.runs if not pairs or run.cell[2] in named]
    before = ComparedSide(old.name, [_named(run, named.get(run.cell[2], run.cell[2])) for run in kept], old.notes)
    after = ComparedSide(new.name, [run for run in new.runs if not pairs or run.cell[2] in named.values()], new.notes)
    if not {run.cell for run in before.runs} & {run.cell for run in after.runs}:
        raise UsageError(
            f"{old.name} and {new.name} have no cell (scenario, case, version) in common; versions that differ are "
            "held side by side by --version OLD=NEW"
        )
    return before, after


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old or not new:
        raise UsageError(f"--version {text!r}: write it as OLD=NEW, such as --version 4.4.0=4.5.0-SNAPSHOT")
    return old, new


def _named(run: Ran, version: str) -> Ran:
    cell: Cell = (run.cell[0], run.cell[1], version)
    return run if cell == run.cell else replace(run, cell=cell)
