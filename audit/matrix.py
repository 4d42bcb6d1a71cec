"""The measured matrix as files: counts by run, and what is stated of each cell (results/audit/).

    runs.csv            a line for each run: its number, name, fault, version, day, commit, releases of clients
    counts/FAULT.csv    a line for each measurement: the run's number, producer and topic, and counts of records
    cells/FAULT.csv     a line for each cell: the numbers of what is stated of it and of what its producer was given
    stated.csv          what must and may come of a cell, why, where that is documented, and on what basis
    given.csv           time-outs and the like that producers were given beside the cell's own settings

A run more is a line in runs.csv and, at the end of its fault's counts, a line for each of its cells: no other line
changes. A number that was given once stays. Counts of zero, and `no`, are empty. What is stated comes of the scenarios
(scenarios/audit) with the runs that are gathered; a test holds it to them, so that an audit need not import any.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Final

import results
from audit.cells import FAULTS, Cell, CellKey, RunCounts, Stated, order
from evidence.basis import Basis
from evidence.errors import UsageError

FOLDER: Final = results.ROOT / results.AUDIT
CLIENTS: Final = ("librdkafka", "java", "scala")
RUNS: Final = ("run", "id", "fault", "version", "date", "commit", "broker_version", *CLIENTS)
STATED: Final = ("stated", "must", "may", "why", "source", "basis")
GIVEN: Final = ("given", "settings")
SETTINGS: Final = (
    "client", "acks", "idempotence", "in_flight", "retries",
    "replication_factor", "min_insync_replicas", "unclean", "flush_each",
)  # fmt: skip
"""Of a producer and its topic, as columns."""
CELLS: Final = ("line", "version", *SETTINGS, "stated", "given")
COUNTS: Final = ("acknowledged", "lost", "duplicated", "reordered", "refused", "unknown_present", "unknown_absent")
FIGURES: Final = ("latency_p50_ms", "latency_p99_ms", "records_per_s")
"""Only where there was no fault: elsewhere the file has no such columns."""
YES: Final = "yes"
MODIFIED: Final = "+"
"""How the commit of a run ends whose tree had changes. Its counts stay in the files, and no cell has them."""

Line = Sequence[str]


# Reading


def load(folder: Path = FOLDER, *, modified: bool = False) -> tuple[Cell, ...]:
    """The cells of a folder; none if there is none. Runs of a tree with changes are in no cell, unless `modified`: that
    is for those who write the cells again. Raises UsageError, in one line, if it cannot be read.
    """
    if not folder.exists():
        return ()
    try:
        return tuple(_cells(folder, modified))
    except (OSError, ValueError, KeyError, TypeError, csv.Error, UsageError) as error:
        raise UsageError(f"{folder}: not a measured matrix ({error}); `make audit-matrix` makes one") from None


@cache
def measured() -> tuple[Cell, ...]:
    """The cells of FOLDER, as this process found them first: for pages and tests, which ask for them repeatedly."""
    return load()


def _cells(folder: Path, with_modified: bool) -> Iterator[Cell]:
    runs = {line[0]: line for line in _lines(folder / "runs.csv", RUNS)}
    in_order = sorted(runs, key=int) == sorted(runs, key=lambda number: runs[number][1])
    stated = {number: _stated(rest) for number, *rest in _lines(folder / "stated.csv", STATED)}
    given = {number: _settings(text) for number, text in _lines(folder / "given.csv", GIVEN)}
    heads = {number: _heads(line) for number, line in runs.items()}
    modified = {number for number, line in runs.items() if line[5].endswith(MODIFIED)}
    tails: dict[tuple[str, ...], tuple[float | None, ...]] = {}
    for fault in _faults(folder):
        cells = list(_lines(folder / "cells" / f"{fault}.csv", CELLS))
        measured: dict[str, dict[tuple[str, ...], list[RunCounts]]] = {line[1]: {} for line in cells}
        for line in cells:
            measured[line[1]][tuple(line[2:11])] = []
        for line in _lines(folder / "counts" / f"{fault}.csv", ("run", *SETTINGS, *COUNTS), FIGURES):
            if line[0] in modified and not with_modified:
                continue
            version, of_client = heads[line[0]]
            counts = tuple(line[10:])
            if (tail := tails.get(counts)) is None:  # the same few counts are those of most measurements
                tail = tails[counts] = _tail(counts)
            measured[version][tuple(line[1:10])].append(RunCounts._make(of_client[line[1]] + tail))
        for line in cells:
            found = measured[line[1]][tuple(line[2:11])]
            if not in_order:
                found.sort(key=itemgetter(0))
            yield Cell(
                key=_key(fault, line), stated=stated[line[11]], runs=tuple(found), overrides=dict(given[line[12]])
            )


def _heads(line: Line) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The version of a run, and what stands before the counts of each client's measurements."""
    _, name, _, version, date, commit, broker_version, *releases = line
    return version, {
        client: (name, date, commit, release, broker_version) for client, release in zip(CLIENTS, releases, strict=True)
    }


def _tail(line: Line) -> tuple[float | None, ...]:
    figures = [float(value) if value else None for value in line[len(COUNTS) :]] or [None] * len(FIGURES)
    return (*(int(value or 0) for value in line[: len(COUNTS)]), *figures)


def _faults(folder: Path) -> list[str]:
    there = {path.stem for path in (folder / "cells").iterdir()}
    return [*(fault for fault in FAULTS if fault in there), *sorted(there - FAULTS.keys())]


def _lines(path: Path, columns: Sequence[str], more: Sequence[str] = ()) -> Iterator[list[str]]:
    """The lines of a file, without the heading, which must be of these columns, or of these and `more`."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file, strict=True)
        heading = next(lines, [])
        if heading not in ([*columns], [*columns, *more]):
            raise ValueError(f"{path.name} has the columns {', '.join(heading) or 'of no table'}")
        for line in lines:
            if len(line) != len(heading):
                raise ValueError(f"line {lines.line_num} of {path.name} has {len(line)} columns of {len(heading)}")
            yield line


def _stated(line: Line) -> Stated:
    must, may, why, source, basis = line
    return Stated(must=frozenset(must.split()), may=frozenset(may.split()), why=why, source=source, basis=Basis(basis))


def _settings(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split())


def _key(fault: str, line: Line) -> CellKey:
    return CellKey(
        fault=fault,
        line=line[0],
        version=line[1],
        client=line[2],
        acks=line[3],
        idempotence=line[4] == YES,
        in_flight=int(line[5]),
        retries=line[6],
        replication_factor=int(line[7]),
        min_insync_replicas=int(line[8]),
        unclean=line[9] == YES,
        flush_each=line[10] == YES,
    )


# Writing


def save(cells: Iterable[Cell], folder: Path = FOLDER) -> None:
    """Write these cells, and nothing else, so that the same cells in any order give the same files. Numbers that the
    folder has are kept. Raises ValueError for a run of several faults, versions, or releases of one client.
    """
    ordered = sorted(cells, key=lambda cell: order(cell.key))
    runs = _numbered(folder / "runs.csv", RUNS, _run_lines(ordered), itemgetter(0))
    stated = _numbered(folder / "stated.csv", STATED, map(_stated_line, ordered))
    given = _numbered(folder / "given.csv", GIVEN, map(_given_line, ordered))
    files = {
        "runs.csv": _text(RUNS, ([str(number), *line] for line, number in runs.items())),
        "stated.csv": _text(STATED, ([str(number), *line] for line, number in stated.items())),
        "given.csv": _text(GIVEN, ([str(number), *line] for line, number in given.items())),
    }
    numbers = {line[0]: number for line, number in runs.items()}
    for fault in dict.fromkeys(cell.key.fault for cell in ordered):
        of_fault = [cell for cell in ordered if cell.key.fault == fault]
        lines = (
            [*_cell_line(cell.key), str(stated[_stated_line(cell)]), str(given[_given_line(cell)])] for cell in of_fault
        )
        files[f"cells/{fault}.csv"] = _text(CELLS, lines)
        files[f"counts/{fault}.csv"] = _counts_text(of_fault, numbers)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(text, encoding="utf-8", newline="")
        beside.replace(path)
    for path in (*folder.glob("cells/*.csv"), *folder.glob("counts/*.csv")):
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()


def _numbered(
    path: Path, columns: Sequence[str], lines: Iterable[Line], name: Callable[[Line], object] = tuple
) -> dict[Line, int]:
    """These lines, each with its number, in the order of numbers. One that the file has, by its name, keeps its own."""
    known = {name(tuple(line[1:])): int(line[0]) for line in _lines(path, columns)} if path.exists() else {}
    new = count(max(known.values(), default=0) + 1)
    numbers = {line: known[name(line)] if name(line) in known else next(new) for line in dict.fromkeys(lines)}
    return dict(sorted(numbers.items(), key=itemgetter(1)))


def _run_lines(cells: Iterable[Cell]) -> list[Line]:
    """What is the same for every cell of a run, in the order of the runs' names."""
    about: dict[str, tuple[str, ...]] = {}
    releases: dict[str, dict[str, str]] = {}
    for cell in cells:
        for run in cell.runs:
            line = (run.run, cell.key.fault, cell.key.version, run.date, run.commit, run.broker_version)
            release = releases.setdefault(run.run, {}).setdefault(cell.key.client, run.client_release)
            if about.setdefault(run.run, line) != line or release != run.client_release:
                raise ValueError(f"{run.run} is not one run: {cell.key} has it otherwise than another cell")
    return [(*about[name], *(releases[name].get(client, "") for client in CLIENTS)) for name in sorted(about)]


def _stated_line(cell: Cell) -> Line:
    stated = cell.stated
    return (" ".join(sorted(stated.must)), " ".join(sorted(stated.may)), stated.why, stated.source, str(stated.basis))


def _given_line(cell: Cell) -> Line:
    return (" ".join(f"{name}={value}" for name, value in sorted(cell.overrides.items())),)


def _cell_line(key: CellKey) -> tuple[str, ...]:
    return (
        key.line,
        key.version,
        key.client,
        key.acks,
        YES if key.idempotence else "",
        str(key.in_flight),
        key.retries,
        str(key.replication_factor),
        str(key.min_insync_replicas),
        YES if key.unclean else "",
        YES if key.flush_each else "",
    )


def _counts_text(cells: Sequence[Cell], numbers: Mapping[str, int]) -> str:
    """The measurements of a fault, run by run, and in each in the order of cells."""
    found = [(numbers[run.run], cell.key, run) for cell in cells for run in cell.runs]
    figures = FIGURES if any(getattr(run, name) is not None for _, _, run in found for name in FIGURES) else ()
    lines = (
        [
            str(number),
            *_cell_line(key)[2:],
            *(str(getattr(run, name) or "") for name in COUNTS),
            *("" if (value := getattr(run, name)) is None else repr(value) for name in figures),
        ]
        for number, key, run in sorted(found, key=itemgetter(0))
    )
    return _text(("run", *SETTINGS, *COUNTS, *figures), lines)


def _text(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return text.getvalue()
