"""The PySpark job that makes of the ledger's lines a row for each cell: what every table and page is made of.

    python -m analysis.ledger results/ledger --out results/cells.jsonl [--master local[2]]

Spark reads the lines with the columns LEDGER, which are the same for all kinds of lines. It gives each line of a run
the scenario, case and version that the run's first line names, and brings the lines of a cell together. `row`, a pure
function, makes a row of them. `kafka-chaos ledger merge` calls that function itself, and a test holds the one to the
other.

What counts: a run that has a verdict, of a commit whose tree had no changes, with nothing of the user's own, and that
no line excludes. The first verdict that was given on it counts. All other runs stand in the row as well, with the
reason why they do not count. Of restored runs (evidence/ledger.py) as much is told as was published: see `_Restored`.
"""

from __future__ import annotations

import argparse
import sys
import types
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from analysis.spark import short_session
from checks.catalogue import LOST_WRITE
from evidence import ledger
from evidence.cells import NOT_TOLD, Aside, CellRow, Pacing, Spread, Timing, pooled, spread
from evidence.errors import KafkaChaosError, UsageError
from evidence.ledger import (
    AnyLine,
    Excluded,
    RestoredCell,
    RestoredRun,
    RunEnded,
    RunJudged,
    RunStarted,
    by_modified_tree,
)
from evidence.quiet import BUSY, QUIET, UNTOLD, load_of
from evidence.rundir import write_atomically

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession
    from pyspark.sql.types import DataType, StructType

AS_DOCUMENTED: Final = "as-documented"
CONTRADICTED: Final = "contradicted"
Key = tuple[str, str, str]
"""Scenario, case and version."""


# One cell: pure


@dataclass(slots=True)
class _Run:
    """The lines of a run."""

    started: RunStarted | None = None
    ended: RunEnded | None = None
    judged: list[RunJudged] = field(default_factory=list)
    excluded: Excluded | None = None
    restored: RestoredRun | None = None

    @property
    def verdict(self) -> RunJudged | None:
        """The first that was given."""
        return min(self.judged, key=lambda one: one.at, default=None)

    @property
    def aside(self) -> str:
        """Why the run does not count; "" if it does."""
        if self.excluded is not None:
            return f"excluded: {self.excluded.why}"
        if self.restored is not None:
            return self.restored.aside
        if self.started is None:
            return ""
        if self.started.aside or self.verdict is not None:
            return self.started.aside
        if self.ended is None:
            return "started, and no end is on record"
        return f"{self.ended.state}, and no verdict was given" + (
            f": {self.ended.failure}" if self.ended.failure else ""
        )


def rows(lines: Iterable[AnyLine]) -> list[CellRow]:
    """The row of every cell, by scenario, case and version. Raises ValueError for a line of a run that none starts."""
    every = list(lines)
    key_of = {line.run: key for line in every if line.run and (key := key_of_line(line)) is not None}
    found: dict[Key, list[AnyLine]] = {}
    for line in every:
        key = key_of_line(line) or key_of.get(line.run)
        if key is None:
            raise ValueError(f"no line says that {line.run} was started")
        found.setdefault(key, []).append(line)
    return [row(key, found[key]) for key in sorted(found)]


def key_of_line(line: AnyLine) -> Key | None:
    """The cell that a line names; None if it names its run alone."""
    if isinstance(line, RunStarted | RestoredRun | RestoredCell):
        return line.scenario, line.case, line.version
    return None


def row(key: Key, lines: Iterable[AnyLine]) -> CellRow:
    """The row of a cell, of its lines in any order."""
    runs: dict[str, _Run] = {}
    cells: list[RestoredCell] = []
    for line in lines:
        if isinstance(line, RestoredCell):
            cells.append(line)
            continue
        one = runs.setdefault(line.run, _Run())
        match line:
            case RunStarted():
                one.started = line
            case RunEnded():
                one.ended = line
            case RunJudged():
                one.judged.append(line)
            case Excluded():
                one.excluded = line
            case RestoredRun():
                one.restored = line
            case _:
                pass
    return _row(key, runs, cells)


def _row(key: Key, runs: Mapping[str, _Run], cells: Sequence[RestoredCell]) -> CellRow:
    scenario, case, version = key
    counted = {name: one for name, one in sorted(runs.items()) if not one.aside}
    old = _Restored({name: one.restored for name, one in counted.items() if one.restored is not None}, cells)
    told = [
        _CountedRun(one.started, one.verdict, load_of(one.started, one.ended, one.verdict))
        for one in counted.values()
        if one.started is not None and one.verdict is not None
    ]
    verdicts = Counter(one.verdict.verdict for one in told) + old.verdicts
    seen = Counter(chain.from_iterable(one.verdict.anomalies for one in told)) + old.seen
    stamps = [one.started.at for one in told] + [one.at for one in old.runs.values()] + [c.at for c in old.nameless]
    seconds = [one.verdict.seconds for one in told if one.verdict.seconds]
    return CellRow(
        scenario=scenario,
        case=case,
        version=version,
        runs=sum(verdicts.values()),
        good=verdicts[AS_DOCUMENTED] + verdicts["observed"],
        verdicts=dict(sorted(verdicts.items())),
        lost=seen[LOST_WRITE],
        lost_records=_lost_records(told, old),
        acknowledged=_acknowledged(told, old),
        seen=dict(sorted(seen.items())),
        permitted=dict(sorted(Counter(chain.from_iterable(one.verdict.permitted for one in told)).items())),
        claims=_claims(told, old),
        timings=_timings(told, old),
        clients=_clients(told, old),
        seconds=round(median(seconds), 1) if seconds else old.seconds,
        ack_ms=_least(
            [*(one.verdict.ack_ms for one in told if one.load == QUIET), *(c.counts.ack_ms for c in old.cells)]
        ),
        paces=_paces(told),
        not_good=_not_good(told, old),
        aside=(*(Aside(run=name, why=one.aside) for name, one in sorted(runs.items()) if one.aside), *old.aside),
        restored=len(old.runs) + old.unnamed,
        unnamed=old.unnamed,
        days=_days(stamps),
        commits=tuple(sorted({*(one.started.commit or "" for one in told), *old.commits})),
        machines=tuple(sorted({*(_machine(one.started) for one in told), *old.machines})),
        ids=tuple(counted),
    )


class _Restored:
    """What is known of the restored runs of a cell that count.

    A run's own line comes first. What it leaves open the counts of its cell may close: of so many runs that were not as
    documented, or had an anomaly, those that are known are taken off. Counts of claims and times cannot be taken apart,
    so those of cells that have no run in common are put together, the newest first; of the other cells only the
    greatest number of contradictions is taken, so that none is lost.
    """

    def __init__(self, runs: Mapping[str, RestoredRun], cells: Sequence[RestoredCell]) -> None:
        self.runs = runs
        newest_first = sorted(cells, key=lambda cell: cell.at, reverse=True)
        self.cells = [cell for cell in newest_first if cell.runs or not by_modified_tree(cell.commits)]
        self.named = [cell for cell in self.cells if cell.runs]
        self.nameless = [cell for cell in self.cells if cell.unnamed]
        self.unnamed = sum(cell.unnamed for cell in self.nameless)
        self.aside = [
            Aside(
                runs=cell.unnamed,
                why=f"{by_modified_tree(cell.commits)}; {cell.counts.good} of {cell.counts.runs} were as documented",
            )
            for cell in newest_first
            if cell.unnamed and by_modified_tree(cell.commits)
        ]

    @cached_property
    def apart(self) -> list[RestoredCell]:
        """Cells of which none has a run of another, the newest first, and those without names."""
        found: list[RestoredCell] = []
        for cell in self.named:
            if not any(set(cell.runs) & set(other.runs) for other in found):
                found.append(cell)
        return found + [cell for cell in self.nameless if cell.unnamed == cell.counts.runs]

    @cached_property
    def verdicts(self) -> Counter[str]:
        tally = Counter(one.verdict for one in self.runs.values() if one.verdict is not None)
        open_ = {name for name, one in self.runs.items() if one.verdict is None}
        for cell in self.named:
            mine = open_ & set(cell.runs)
            known = Counter(self.runs[name].verdict for name in cell.runs if name in self.runs and name not in mine)
            rest = Counter(dict(cell.counts.verdicts))
            rest.subtract({verdict: number for verdict, number in known.items() if verdict is not None})
            if mine and sum((+rest).values()) == len(mine):
                tally += +rest
                open_ -= mine
        for cell in self.nameless:
            tally[AS_DOCUMENTED] += cell.unnamed_good
            tally[NOT_TOLD] += cell.unnamed - cell.unnamed_good
        tally[NOT_TOLD] += len(open_)
        return +tally

    @cached_property
    def seen(self) -> Counter[str]:
        tally = Counter(chain.from_iterable(one.seen or () for one in self.runs.values()))
        open_ = {(run, name) for run, one in self.runs.items() for name in one.unsure}
        for cell in self.named:
            for name, number in cell.counts.seen.items():
                mine = {(run, name) for run in cell.runs} & open_
                known = sum(name in (self.runs[run].seen or ()) for run in cell.runs if run in self.runs)
                tally[name] += min(max(0, number - known), len(mine))
                open_ -= mine
        for cell in self.nameless:
            for name, number in cell.counts.seen.items():
                in_all = number == cell.counts.runs
                tally[name] += cell.unnamed if in_all else number if cell.unnamed == cell.counts.runs else 0
        return +tally

    @property
    def seconds(self) -> float | None:
        return next((cell.counts.seconds for cell in self.cells if cell.counts.seconds is not None), None)

    @property
    def commits(self) -> set[str]:
        return {commit for one in self.runs.values() for commit in one.commits} | {
            commit for cell in self.nameless for commit in cell.commits
        }

    @property
    def machines(self) -> set[str]:
        return {machine for cell in self.cells for machine in cell.machines}


@dataclass(frozen=True, slots=True)
class _CountedRun:
    """A run that counts and is not restored."""

    started: RunStarted
    verdict: RunJudged
    load: str
    """QUIET, BUSY or UNTOLD."""


def _lost_records(told: Sequence[_CountedRun], old: _Restored) -> tuple[int, int] | None:
    """How many records runs lost: the fewest and the most, of those that can be believed or lost some."""
    return _range(
        [
            *((one.verdict.lost, one.verdict.lost) for one in told if one.verdict.sound or one.verdict.lost),
            *((one.lost, one.lost) for one in old.runs.values() if one.lost),
            *(cell.counts.lost_records for cell in old.cells),
        ]
    )


def _acknowledged(told: Sequence[_CountedRun], old: _Restored) -> tuple[int, int] | None:
    """How many records were acknowledged in a run: the fewest and the most."""
    counts = [one.verdict.acknowledged for one in told]
    return _range(
        [
            *((count, count) for count in counts if count is not None),
            *(cell.counts.acknowledged for cell in old.cells),
        ]
    )


def _not_good(told: Sequence[_CountedRun], old: _Restored) -> tuple[str, ...]:
    """The runs that were not as documented, each with its reasons."""
    verdicts = [one.verdict for one in told]
    found = [f"{one.run}: {_in_words(one)}" for one in verdicts if one.verdict not in (AS_DOCUMENTED, "observed")]
    return tuple(sorted([*found, *(f"{name}: {one.told}" for name, one in old.runs.items() if one.told)]))


def _claims(told: Sequence[_CountedRun], old: _Restored) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for claim in chain.from_iterable(one.verdict.claims for one in told):
        found.setdefault(claim.name, Counter())[claim.outcome] += 1
    for cell in old.apart:
        for name, outcomes in cell.counts.claims.items():
            found.setdefault(name, Counter()).update(outcomes)
    for cell in old.named:
        for name, outcomes in cell.counts.claims.items():
            most = max(found.setdefault(name, Counter())[CONTRADICTED], outcomes.get(CONTRADICTED, 0))
            found[name][CONTRADICTED] = most
    return {name: dict(sorted((+outcomes).items())) for name, outcomes in sorted(found.items()) if +outcomes}


def _timings(told: Sequence[_CountedRun], old: _Restored) -> dict[str, tuple[Timing, ...]]:
    measured: dict[tuple[str, str], list[tuple[float, float | None]]] = {}
    for one in told:
        for claim in one.verdict.claims:
            if claim.measured_ms is not None:
                measured.setdefault((claim.name, one.load), []).append((claim.measured_ms, claim.bound_ms))
    found: dict[str, list[Timing]] = {}
    for (name, load), values in sorted(
        measured.items(), key=lambda item: (item[0][0], item[0][1] != QUIET, item[0][1])
    ):
        bounds = [bound for _, bound in values if bound is not None]
        ends = (min(bounds), max(bounds)) if bounds else ()
        found.setdefault(name, []).append(Timing(ms=spread(ms for ms, _ in values), bound_ms=ends, load=load))
    for name in sorted({name for cell in old.apart for name in cell.counts.timings}):
        of = [cell.counts.timings[name] for cell in old.apart if name in cell.counts.timings]
        bounds = [bound for each in of for bound in each.get("bound_ms", ())]
        ends = (min(bounds), max(bounds)) if bounds else ()
        found.setdefault(name, []).append(Timing(ms=pooled(each["ms"] for each in of), bound_ms=ends, load=UNTOLD))
    return {name: tuple(of) for name, of in sorted(found.items())}


def _clients(told: Sequence[_CountedRun], old: _Restored) -> dict[str, Spread]:
    found: dict[str, Spread] = {}
    for key in ("write_pause_ms", "read_pause_ms", "first_success_ms", "errors"):
        known = ((one.load, getattr(one.verdict, key)) for one in told)
        # A pause on a machine that had other work is that machine's too; an error is an error.
        own = [float(value) for load, value in known if value is not None and (key == "errors" or load != BUSY)]
        both = pooled([spread(own), *(cell.counts.clients.get(key, ()) for cell in old.apart)])
        if both:
            found[key] = both
    return found


def _paces(told: Sequence[_CountedRun]) -> tuple[Pacing, ...]:
    """How long applications took, apart by how busy the machine was; nothing of runs that did not measure it."""
    measured = [one for one in told if one.verdict.inputs_per_s is not None]
    of_load = {load: [one.verdict for one in measured if one.load == load] for load in (QUIET, UNTOLD, BUSY)}
    return tuple(
        Pacing(
            latency_p50_ms=spread(one.latency_p50_ms for one in verdicts if one.latency_p50_ms is not None),
            latency_p99_ms=spread(one.latency_p99_ms for one in verdicts if one.latency_p99_ms is not None),
            inputs_per_s=spread(one.inputs_per_s for one in verdicts if one.inputs_per_s is not None),
            load=load,
        )
        for load, verdicts in of_load.items()
        if verdicts
    )


def _in_words(verdict: RunJudged) -> str:
    return ": ".join(filter(None, (verdict.text, verdict.verdict, "; ".join(verdict.reasons))))


def _range(pairs: Iterable[tuple[int, int] | None]) -> tuple[int, int] | None:
    known = [pair for pair in pairs if pair is not None]
    return (min(least for least, _ in known), max(most for _, most in known)) if known else None


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _days(stamps: Iterable[str]) -> tuple[str, ...]:
    days = sorted(stamp[:10] for stamp in stamps)
    return tuple(dict.fromkeys([*days[:1], *days[-1:]]))


def _machine(started: RunStarted) -> str:
    host = started.host
    return f"{host.cores} cores, Linux {host.kernel}, Docker {host.docker}"


# Files


def text_of(made: Sequence[CellRow]) -> str:
    """The rows as results/cells.jsonl has them, a line each."""
    encoder = msgspec.json.Encoder(order="deterministic")
    return "".join(encoder.encode(one).decode() + "\n" for one in made)


# Spark


def spark_type(kind: Any) -> DataType:
    """The column of Spark for a field of the ledger's lines. Raises TypeError for what no field is."""
    from pyspark.sql import types as sql

    plain = {str: sql.StringType(), int: sql.LongType(), float: sql.DoubleType(), bool: sql.BooleanType()}
    if kind in plain:
        made: DataType = plain[kind]
        return made
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (known,) = (one for one in arguments if one is not type(None))
        return spark_type(known)
    if origin is tuple:
        return sql.ArrayType(spark_type(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return sql.MapType(spark_type(arguments[0]), spark_type(arguments[1]))
    if isinstance(kind, type) and issubclass(kind, Struct):
        return columns(kind)
    raise TypeError(f"no column for {kind}")


def columns(*kinds: type[Struct]) -> StructType:
    """The columns of some structs together: fields of one name are of one type, but for those of different kinds."""
    from pyspark.sql import types as sql

    found = {
        name: spark_type(kind)
        for struct in kinds
        for name, kind in get_type_hints(struct).items()
        if name in struct.__struct_fields__
    }
    return sql.StructType([sql.StructField(name, kind) for name, kind in found.items()])


def schema() -> StructType:
    """The columns of the ledger: those of all kinds of lines, and `kind`; null where a line has no such field.

    `runs` is that of a restored cell, the names of its runs.
    """
    from pyspark.sql import types as sql

    return sql.StructType([sql.StructField("kind", sql.StringType()), *columns(*get_args(AnyLine)).fields])


def derive(session: SparkSession, folder: Path) -> list[CellRow]:
    """The rows of a ledger, by Spark."""
    from pyspark.sql import functions as f

    texts = session.read.text(list(map(str, ledger.files_of(folder)))).where("value != ''")
    lines = texts.select("value", f.from_json("value", schema()).alias("line"))
    entered = lines.where("line.scenario is not null and line.run is not null").select(
        f.col("line.run").alias("run"),
        f.col("line.scenario").alias("scenario"),
        f.coalesce("line.case", f.lit("default")).alias("case"),
        f.col("line.version").alias("version"),
    )
    of_runs = lines.select("value", f.col("line.run").alias("run")).where("run is not null").join(entered, "run")
    of_cells = lines.where("line.run is null").select(
        "value",
        f.col("line.scenario").alias("scenario"),
        f.coalesce("line.case", f.lit("default")).alias("case"),
        f.col("line.version").alias("version"),
    )
    whole = of_runs.select("value", "scenario", "case", "version").unionByName(of_cells)
    cells = whole.groupBy("scenario", "case", "version").agg(f.collect_list("value").alias("values"))
    made = cells.rdd.map(_made).collect()
    decoder = msgspec.json.Decoder(CellRow)
    return sorted((decoder.decode(one) for one in made), key=lambda one: (one.scenario, one.case, one.version))


def _made(cell: Row) -> bytes:
    """The work of a task: the row of a cell, as JSON."""
    return msgspec.json.encode(
        row((cell["scenario"], cell["case"], cell["version"]), map(ledger.decode, cell["values"]))
    )


def main(words: Sequence[str] | None = None) -> int:
    """What the command line says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="analysis.ledger", description="A row for each cell, of the ledger's lines.")
    parser.add_argument("folder", type=Path, help="results/ledger")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="results/cells.jsonl")
    parser.add_argument("--master", default="local[2]", help="Spark master (default local[2])")
    arguments = parser.parse_args(words)
    try:
        if not ledger.files_of(arguments.folder):  # before Spark starts, which says more than one line
            raise UsageError(f"{arguments.folder}: no ledger here (looked for *.jsonl)")
        with short_session(arguments.master) as session:
            made = derive(session, arguments.folder)
        write_atomically(arguments.out, text_of(made))
    except KafkaChaosError as error:
        print(f"analysis.ledger: {error}", file=sys.stderr)
        return error.exit_status
    print(f"{len(made)} cells")
    return 0


if __name__ == "__main__":
    # Tasks are sent by the name of their module, which this one has only when it is imported.
    from analysis.ledger import main as main_of_module

    sys.exit(main_of_module())
