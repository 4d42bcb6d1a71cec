"""The measured matrix for people: docs/audit-matrix.md, and a heat map for each version line.

A heat map has a row for each producer (client and settings) and, for each fault, a column for each topic. Its colour is
the worst that any run of the cell showed. A cell that was not measured and cannot differ from one that was has that
one's colour, as a dot.

The page has a table for each fault: what came of which settings, on each line. Settings that came to the same on every
line share a row; what was seen in some runs only has its count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from xml.sax.saxutils import escape

from audit.cells import EQUIVALENCES, FAULTS, LINES, OUTCOMES, Cell, CellKey, canonical
from evidence.basis import Basis
from evidence.cells import NOT_TOLD
from evidence.text import plural
from judgement.rates import telling
from pages.render import render

PAGE: Final = "audit-matrix.md"
AUDIT: Final = "audit-"
NO_DATA: Final[Mapping[str, Any]] = MappingProxyType({})
COLOURS: Final[Mapping[str, str]] = {
    "loses": "#c62828",
    "duplicates": "#ef6c00",
    "reorders": "#f9a825",
    "refuses": "#90a4ae",
    "": "#7cb342",
}
"""From the worst to the best: lost, twice, out of order, refused, and all well."""
WORDS: Final[Mapping[str, str]] = {
    "loses": "acknowledged records lost",
    "duplicates": "records twice in the log",
    "reorders": "records out of order",
    "refuses": "records refused, which the producer is told",
    "": "every acknowledged record there, once, in order",
}
SIZE: Final = 11
LABELS: Final = 250
HEADER: Final = 118
LEGEND: Final = 800
CLIENTS: Final = ("librdkafka", "java", "scala")
Setting = tuple[str, bool, str, int]
Topic = tuple[int, int, bool, bool]


def pages(cells: Sequence[Cell], data: Mapping[str, Any] = NO_DATA) -> dict[str, str]:
    """Every page by its name in docs/; `data` is what the ledger has (`results.by_scenario`)."""
    measured = [cell for cell in cells if cell.runs]
    lines = [line for line in LINES if any(cell.key.line == line for cell in measured)]
    maps = {_map_name(line): heat_map(measured, line) for line in lines}
    return {PAGE: page(measured, data), **maps}


def _map_name(line: str) -> str:
    return f"audit-matrix-{line}.svg"


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


def worst(cell: Cell) -> str:
    """The worst outcome that any run showed; "" if all is well."""
    return next((outcome for outcome in OUTCOMES if outcome in cell.seen), "")


# The heat map


def heat_map(cells: Sequence[Cell], line: str) -> str:
    """The heat map of one version line, as SVG."""
    own = [cell for cell in cells if cell.key.line == line]
    version = max((cell.key.version for cell in own), default="")
    found = {cell.key: cell for cell in own if cell.key.version == version}
    covered: dict[CellKey, Cell] = {}
    for cell in found.values():
        covered.setdefault(canonical(cell.key)[0], cell)
    rows = sorted({(CLIENTS.index(key.client), *setting_of(key)) for key in found})
    columns = [
        (fault, topic) for fault in FAULTS for topic in sorted({topic_of(key) for key in found if key.fault == fault})
    ]
    width, height = max(LABELS + SIZE * len(columns) + 60, LEGEND), HEADER + SIZE * (len(rows) + 2) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="9">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="4" y="14" font-size="12" font-weight="bold">{escape(version)}</text>',
        f'<text x="4" y="28" fill="#555">{escape(LINES[line])}</text>',
        *_columns(columns, len(rows)),
    ]
    for number, (client, acks, idempotent, retries, in_flight) in enumerate(rows):
        y = HEADER + SIZE * number
        name = f"{CLIENTS[client]} {settings_text((acks, idempotent, retries, in_flight))}"
        parts.append(f'<text x="{LABELS - 6}" y="{y + SIZE - 2}" text-anchor="end">{escape(name)}</text>')
        for place, (fault, (factor, least, unclean, flush)) in enumerate(columns):
            key = CellKey(
                client=CLIENTS[client],
                line=line,
                version=version,
                fault=fault,
                acks=acks,
                idempotence=idempotent,
                retries=retries,
                in_flight=in_flight,
                replication_factor=factor,
                min_insync_replicas=least,
                unclean=unclean,
                flush_each=flush,
            )
            parts += _square(key, found, covered, LABELS + SIZE * place, y)
    parts += _legend(HEADER + SIZE * (len(rows) + 1) + 8)
    return "\n".join([*parts, "</svg>", ""])


def _columns(columns: Sequence[tuple[str, Topic]], rows: int) -> Iterator[str]:
    bottom = HEADER + SIZE * rows
    for place, (fault, topic) in enumerate(columns):
        x = LABELS + SIZE * place
        if place == 0 or columns[place - 1][0] != fault:
            yield f'<line x1="{x}" y1="{HEADER - 30}" x2="{x}" y2="{bottom}" stroke="#bbb"/>'
            yield f'<text transform="translate({x + 10},{HEADER - 32}) rotate(-35)">{escape(fault)}</text>'
        label = topic_text(topic)
        yield f'<text transform="translate({x + 8},{HEADER - 4}) rotate(-90)" font-size="8">{label}</text>'


def _square(
    key: CellKey, found: Mapping[CellKey, Cell], covered: Mapping[CellKey, Cell], x: int, y: int
) -> Iterator[str]:
    cell = found.get(key)
    if cell is not None:
        seen = "; ".join(f"{WORDS[name]}: {cell.times(name)} of {len(cell.runs)} runs" for name in sorted(cell.seen))
        title = escape(f"{key}: {seen or WORDS['']}")
        yield (
            f'<rect x="{x}" y="{y}" width="{SIZE - 1}" height="{SIZE - 1}" fill="{COLOURS[worst(cell)]}">'
            f"<title>{title}</title></rect>"
        )
    elif (like := covered.get(canonical(key)[0])) is not None:
        title = escape(f"{key}: as {like.key}, from which it cannot differ")
        yield (
            f'<circle cx="{x + SIZE / 2 - 0.5}" cy="{y + SIZE / 2 - 0.5}" r="2.5" fill="{COLOURS[worst(like)]}">'
            f"<title>{title}</title></circle>"
        )


def _legend(y: int) -> Iterator[str]:
    x = 8
    for outcome, colour in COLOURS.items():
        text = WORDS[outcome]
        yield f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="{y + 9}">{escape(text)}</text>'
        x += 24 + 5 * len(text)


# The page


def page(cells: Sequence[Cell], data: Mapping[str, Any] = NO_DATA) -> str:
    """docs/audit-matrix.md, with what the ledger has of the runs (`results.by_scenario`)."""
    lines = [line for line in LINES if any(cell.key.line == line for cell in cells)]
    versions = {cell.key.line: cell.key.version for cell in cells}
    runs = {run.run: run for cell in cells for run in cell.runs}
    dates = sorted({run.date for run in runs.values()})
    differing = _differing(cells)
    return render(
        PAGE,
        cells=len(cells),
        measurements=sum(len(cell.runs) for cell in cells),
        runs=len(runs),
        record=on_record(data),
        dates=f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates),
        lines=lines,
        maps=[(line, _map_name(line)) for line in lines],
        named=", ".join(f"*{line}* is {versions[line]} ({LINES[line]})" for line in lines),
        not_as_stated=[_not_as_stated(cell) for cell in cells if not cell.as_stated],
        widened=sum(cell.stated.basis == Basis.MEASURED for cell in cells),
        possible=sum(bool(cell.stated.may) for cell in cells),
        not_the_same=sum(any(0 < cell.times(one) < len(cell.runs) for one in OUTCOMES) for cell in cells),
        differing=[
            [fault, name, *(str(of_line[line] or "") for line in lines), why]
            for (fault, name, why), of_line in differing.items()
        ],
        often=list(_often(cells, lines)),
        faults=[
            {
                "name": fault,
                "words": words[0].upper() + words[1:],
                "rows": _rows(own, lines),
                "costs": _costs(own, lines) if fault == "none" else [],
            }
            for fault, words in FAULTS.items()
            if (own := [cell for cell in cells if cell.key.fault == fault])
        ],
        equivalences=[one.label[0].upper() + one.label[1:] for one in EQUIVALENCES],
        given=[(client, _given(cells, client)) for client in CLIENTS if any(c.key.client == client for c in cells)],
    )


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
    known = f"Of {plural(judged, 'run')} of these faults the ledger has the verdict." if judged else ""
    return " ".join(
        (
            known,
            f"Of {plural(untold, 'run')} [the ledger](ledger.md#what-was-restored) has the name and no verdict: it was "
            "not published, and the files were not kept. What stands here of them cannot be judged again.",
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


def _differing(cells: Iterable[Cell]) -> dict[tuple[str, str, str], Counter[str]]:
    """Which outcomes some runs of a cell show and others do not: by fault, outcome and why, in how many cells of each
    line.
    """
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for cell in cells:
        for outcome in OUTCOMES:
            if 0 < cell.times(outcome) < len(cell.runs):
                counts.setdefault((cell.key.fault, outcome, cell.stated.why), Counter())[cell.key.line] += 1
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
