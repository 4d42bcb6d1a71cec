"""The measured matrix for people: docs/audit-matrix.md, and the measurements of each fault on its scenario's page.

The page begins with the Atlas of each measured line: a row for each event, a column for each of seven choices of
settings, of Java's producer. The page of a fault has all of its settings: those that came to the same on every line
share a row, and what was seen in some runs only has its count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from audit.cells import EQUIVALENCES, FAULTS, LINES, OUTCOMES, Cell, CellKey, indexed
from evidence.basis import Basis
from evidence.cells import NOT_TOLD
from evidence.text import plural
from judgement.rates import telling
from pages.atlas import columns, events, lines
from pages.atlas.model import FEW, HOLE, SYMBOLS, WORDS, GridCell, grid
from pages.render import render
from results import MEASURED_ON

PAGE: Final = "audit-matrix.md"
AUDIT: Final = "audit-"
NO_DATA: Final[Mapping[str, Any]] = MappingProxyType({})
CLIENTS: Final = ("librdkafka", "java", "scala")
Setting = tuple[str, bool, str, int]
Topic = tuple[int, int, bool, bool]


def pages(cells: Sequence[Cell], data: Mapping[str, Any] = NO_DATA) -> dict[str, str]:
    """The page by its name in docs/; `data` is what the ledger has (`results.by_scenario`)."""
    return {PAGE: page([cell for cell in cells if cell.runs], data)}


def setting_of(key: CellKey) -> Setting:
    """What the producer was given, in the order of rows."""
    return (key.acks, key.idempotence, key.retries, key.in_flight)


def topic_of(key: CellKey) -> Topic:
    """Replication factor, min.insync.replicas, unclean elections, a flush of each record."""
    return (key.replication_factor, key.min_insync_replicas, key.unclean, key.flush_each)


def settings_text(setting: Setting) -> str:
    """A producer's settings in words.

    >>> settings_text(("all", True, "many", 5)), settings_text(("0", False, "many", 5))
    ('acks=all, idempotent, 5 in flight', 'acks=0')
    """
    acks, idempotent, retries, in_flight = setting
    parts = [f"acks={acks}", *(["idempotent"] if idempotent else [])]
    if acks != "0":
        parts.append("no retries" if retries == "0" else f"{in_flight} in flight")
    return ", ".join(parts)


def topic_text(topic: Topic) -> str:
    """A topic in a few letters: "3/2u" has three replicas, min.insync.replicas=2 and unclean elections, "3/2f" a flush
    of each record.
    """
    factor, least, unclean, flush = topic
    return f"{factor}/{least}{'u' if unclean else ''}{'f' if flush else ''}"


# The Atlas of each line


def _atlas(cells: Sequence[Cell]) -> Iterator[tuple[lines.ReleaseLine, str, dict[str, tuple[GridCell, ...]]]]:
    """Each line of which a release was measured, that release, and its grid of Java's producer."""
    measured = indexed(cells)
    on = {cell.key.version for cell in cells}
    for line in lines.every():
        version = line.version(line.newest).id
        if version in on and version == MEASURED_ON.get(line.audit):
            yield line, version, grid(line, "java", columns.columns(line.audit), measured)


def _grids(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """The Atlas of each measured line: how its columns are called, and a row for each event."""
    for line, version, found in _atlas(cells):
        chosen = columns.columns(line.audit)
        yield {
            "label": line.label,
            "version": version,
            "headings": ["event", *(_column(column) for column in chosen)],
            "rows": [
                [f"[{events.EVENTS[fault]}](scenarios/{AUDIT}{fault}.md)", *map(_grid_cell, found[fault])]
                for _, faults in events.grouped()
                for fault in faults
            ],
        }


def _choices(cells: Sequence[Cell], fault: str) -> tuple[list[str], list[list[str]]]:
    """The Atlas of one event: the measured versions, and a row for each of its columns. A column is called as it is on
    the newest of these versions.
    """
    found = [(version, of[fault]) for _, version, of in _atlas(cells) if fault in of]
    if not found:
        return [], []
    rows = zip(*(row for _, row in found), strict=True)
    return [version for version, _ in found], [[_column(row[0].column), *map(_grid_cell, row)] for row in rows]


def _column(column: columns.Column) -> str:
    note = f" (**{column.note}**)" if column.id == columns.RECOMMENDED else ""
    return "<br>".join(filter(None, (column.title + note, column.topic.replace(", ", "<br>"))))


def _grid_cell(cell: GridCell) -> str:
    """What the Atlas has of a cell: the worst outcome, in how many runs of how many."""
    if cell.worst == HOLE:
        return SYMBOLS[HOLE]
    times = f"{cell.times}/{len(cell.runs)}" if cell.outcomes else str(len(cell.runs))
    return f"{SYMBOLS[cell.worst]} {times}{'?' if cell.few else ''}"


# The page


def page(cells: Sequence[Cell], data: Mapping[str, Any] = NO_DATA) -> str:
    """docs/audit-matrix.md, with what the ledger has of the runs (`results.by_scenario`)."""
    measured = _lines(cells)
    runs = {run.run: run for cell in cells for run in cell.runs}
    dates = sorted({run.date for run in runs.values()})
    return render(
        PAGE,
        cells=len(cells),
        measurements=sum(len(cell.runs) for cell in cells),
        runs=len(runs),
        record=on_record(data),
        dates=f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates),
        grids=list(_grids(cells)),
        symbols=[f"{SYMBOLS[one]} {WORDS[one]}" for one in SYMBOLS],
        few=FEW,
        lines=measured,
        not_as_stated=[_not_as_stated(cell) for cell in cells if not cell.as_stated],
        widened=sum(cell.stated.basis == Basis.MEASURED for cell in cells),
        possible=sum(bool(cell.stated.may) for cell in cells),
        differing=sum(map(_differs, cells)),
        often=list(_often(cells, measured)),
        equivalences=[one.label[0].upper() + one.label[1:] for one in EQUIVALENCES],
        given=[(client, _given(cells, client)) for client in CLIENTS if any(c.key.client == client for c in cells)],
    )


def _lines(cells: Iterable[Cell]) -> list[str]:
    there = {cell.key.line for cell in cells}
    return [line for line in LINES if line in there]


def of_fault(cells: Sequence[Cell], fault: str) -> str:
    """What came of which settings under a fault, for the page of its scenario; "" if nothing was measured."""
    own = [cell for cell in cells if cell.runs and cell.key.fault == fault]
    if not own:
        return ""
    found, versions = _lines(own), {cell.key.line: cell.key.version for cell in own}
    chosen, choices = _choices(own, fault)
    return render(
        "audit-fault.md",
        headings=[versions[line] for line in found],
        choices=choices,
        choice_headings=["settings", *chosen],
        symbols=[f"{SYMBOLS[one]} {WORDS[one]}" for one in SYMBOLS],
        few=FEW,
        held_apart=" and ".join(versions[line] for line in columns.WITHOUT_IDEMPOTENCE if line in versions),
        rows=_rows(own, found),
        costs=_costs(own, found) if fault == "none" else [],
        differs=sum(map(_differs, own)),
        cells=len(own),
        differing=[
            [name, *(str(of_line[line] or "") for line in found), why]
            for (name, why), of_line in _differing(own).items()
        ],
    ).rstrip("\n")


def on_record(data: Mapping[str, Any]) -> str:
    """What the ledger has of the matrix's runs, and what it has not; "" if it has none."""
    own = [
        cell
        for scenario, told in data.items()
        if scenario.startswith(AUDIT)
        for versions in told["cases"].values()
        for cell in versions.values()
    ]
    if not own:
        return ""
    judged, untold = sum(map(telling, own)), sum(cell["verdicts"].get(NOT_TOLD, 0) for cell in own)
    known = f"The ledger has the verdict of {plural(judged, 'run')} of these faults." if judged else ""
    return " ".join(
        (
            known,
            f"It has the name and no verdict of {plural(untold, 'run')} "
            "([why](ledger.md#what-was-restored)): their files were not kept, so nobody can judge them again.",
            "Runs of a tree with changes stay in the files of the matrix and count in no cell.",
        )
    ).strip()


def _given(cells: Iterable[Cell], client: str) -> str:
    """What the producers of a client were given beside the cells' settings."""
    given = sorted({item for cell in cells if cell.key.client == client for item in cell.overrides.items()})
    return ", ".join(f"`{name}={value}`" for name, value in given) or "nothing"


def _not_as_stated(cell: Cell) -> list[str]:
    """A row of the cells that came to something else."""
    stated = ", ".join([*sorted(cell.stated.must), *(f"may: {name}" for name in sorted(cell.stated.may))]) or "kept"
    seen = ", ".join(f"{name} {cell.times(name)}/{len(cell.runs)}" for name in sorted(cell.seen)) or "kept"
    return [str(cell.key), stated, seen]


def _differs(cell: Cell) -> bool:
    """Whether some of its runs show an outcome that others do not."""
    return any(0 < cell.times(one) < len(cell.runs) for one in OUTCOMES)


def _differing(cells: Iterable[Cell]) -> dict[tuple[str, str], Counter[str]]:
    """Which outcomes some runs of a cell show and others do not: by outcome and why, in how many cells of each line."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for cell in cells:
        for outcome in OUTCOMES:
            if 0 < cell.times(outcome) < len(cell.runs):
                counts.setdefault((outcome, cell.stated.why), Counter())[cell.key.line] += 1
    return counts


def _often(cells: Sequence[Cell], lines: Sequence[str]) -> Iterator[list[str]]:
    """How many runs measured each cell of a fault on a line, a row for each fault."""
    for fault in FAULTS:
        of_line = [
            {len(cell.runs) for cell in cells if (cell.key.fault, cell.key.line) == (fault, line)} for line in lines
        ]
        if any(of_line):
            yield [fault, *("·" if not of else "–".join(map(str, sorted({min(of), max(of)}))) for of in of_line)]


def _rows(cells: Sequence[Cell], lines: Sequence[str]) -> list[list[str]]:
    """The table of a fault: settings that came to the same on every line share a row."""
    by_row: dict[tuple[str, Setting, Topic], dict[str, Cell]] = {}
    for cell in cells:
        by_row.setdefault((cell.key.client, setting_of(cell.key), topic_of(cell.key)), {})[cell.key.line] = cell
    groups: dict[tuple[Setting, tuple[str, ...]], list[tuple[str, Topic, dict[str, Cell]]]] = {}
    for (client, setting, topic), of_line in sorted(by_row.items()):
        kinds = tuple(_kind(of_line.get(line)) for line in lines)
        groups.setdefault((setting, kinds), []).append((client, topic, of_line))
    rows = []
    for (setting, _), members in groups.items():
        clients = ", ".join(name for name in CLIENTS if any(name == client for client, _, _ in members))
        topics = ", ".join(dict.fromkeys(topic_text(topic) for _, topic, _ in members))
        entries = [_entry([of_line[line] for _, _, of_line in members if line in of_line]) for line in lines]
        rows.append([settings_text(setting), clients, topics, *entries])
    return rows


def _kind(cell: Cell | None) -> str:
    """What a cell came to, but for how often: cells of one kind share a row."""
    if cell is None:
        return "·"
    return " ".join(sorted(cell.seen))


def _entry(cells: Iterable[Cell]) -> str:
    of = list(cells)
    if not of:
        return "·"
    runs = sum(len(cell.runs) for cell in of)
    parts = []
    for outcome in OUTCOMES:
        seen = sum(cell.times(outcome) for cell in of)
        name = f"**{outcome}**" if outcome != "refuses" else outcome
        if seen:
            parts.append(name if seen == runs else f"{name} {seen}/{runs}")
    return ", ".join(parts) or "kept"


def _costs(cells: Sequence[Cell], lines: Sequence[str]) -> list[list[str]]:
    """What the settings cost without a fault: latency of records one by one, records a second at full speed."""
    rows: dict[tuple[Setting, str, Topic], dict[str, Cell]] = {}
    for cell in cells:
        rows.setdefault((setting_of(cell.key), cell.key.client, topic_of(cell.key)), {})[cell.key.line] = cell
    return [
        [settings_text(setting), client, topic_text(topic), *(_figures(of_line.get(line)) for line in lines)]
        for (setting, client, topic), of_line in sorted(rows.items())
    ]


def _figures(cell: Cell | None) -> str:
    if cell is None:
        return "·"
    half, most, rate = (
        _median([value for run in cell.runs if (value := getattr(run, name)) is not None])
        for name in ("latency_p50_ms", "latency_p99_ms", "records_per_s")
    )
    if half is None or most is None:
        return "·"
    return f"{half:.1f} / {most:.1f}" + (f"; {rate:,.0f}/s".replace(",", " ") if rate is not None else "")


def _median(values: Sequence[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
