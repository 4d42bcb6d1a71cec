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
from typing import Final
from xml.sax.saxutils import escape

from audit.cells import EQUIVALENCES, FAULTS, LINES, OUTCOMES, Cell, Key, canonical

PAGE: Final = "audit-matrix.md"
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


def pages(cells: Sequence[Cell]) -> dict[str, str]:
    """Every page by its name in docs/."""
    measured = [cell for cell in cells if cell.runs]
    lines = [line for line in LINES if any(cell.key.line == line for cell in measured)]
    maps = {_map_name(line): heat_map(measured, line) for line in lines}
    return {PAGE: page(measured), **maps}


def _map_name(line: str) -> str:
    return f"audit-matrix-{line}.svg"


def setting_of(key: Key) -> Setting:
    """What the producer was given, in the order of rows."""
    return (key.acks, key.idempotence, key.retries, key.in_flight)


def topic_of(key: Key) -> Topic:
    """Replication factor, min.insync.replicas, unclean elections, a flush of each record."""
    return (key.replication_factor, key.min_insync_replicas, key.unclean, key.flush_each)


def told(setting: Setting) -> str:
    """A producer's settings in words.

    >>> told(("all", True, "many", 5)), told(("0", False, "many", 5))
    ('acks=all, idempotent, 5 in flight', 'acks=0')
    """
    acks, idempotent, retries, in_flight = setting
    parts = [f"acks={acks}", *(["idempotent"] if idempotent else [])]
    if acks != "0":
        parts.append("no retries" if retries == "0" else f"{in_flight} in flight")
    return ", ".join(parts)


def told_topic(topic: Topic) -> str:
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
    covered: dict[Key, Cell] = {}
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
        name = f"{CLIENTS[client]} {told((acks, idempotent, retries, in_flight))}"
        parts.append(f'<text x="{LABELS - 6}" y="{y + SIZE - 2}" text-anchor="end">{escape(name)}</text>')
        for place, (fault, (factor, least, unclean, flush)) in enumerate(columns):
            key = Key(
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
        label = told_topic(topic)
        yield f'<text transform="translate({x + 8},{HEADER - 4}) rotate(-90)" font-size="8">{label}</text>'


def _square(key: Key, found: Mapping[Key, Cell], covered: Mapping[Key, Cell], x: int, y: int) -> Iterator[str]:
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


def page(cells: Sequence[Cell]) -> str:
    """docs/audit-matrix.md."""
    lines = [line for line in LINES if any(cell.key.line == line for cell in cells)]
    runs = {run.run: run for cell in cells for run in cell.runs}
    dates = sorted({run.date for run in runs.values()})
    when = f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates)
    times = sum(len(cell.runs) for cell in cells)
    text = [
        "# The audit's matrix",
        "",
        "Made by `make audit-matrix` from run directories; do not edit. The data is in `results/audit/`.",
        "",
        f"What a producer's settings risk, measured: **{len(cells)} cells**, {times} measurements in {len(runs)} runs "
        f"on real brokers ({when}). A cell is a client with its settings, a topic with its settings, a version and a "
        "fault. What must come of it is stated beforehand, from Kafka's documents; where a run contradicts that, the "
        "run counts, and is listed below. Every producer has a partition of its own. Clients are Kafka's own Java "
        "client of the brokers' release, librdkafka, and on 0.10.2.2 the old Scala producer; they are given the cell's "
        "settings and short time-outs, and nothing else.",
        "",
        "`kafka-chaos audit` looks your configuration up in this. A fault that is not here was not measured. Power "
        "that all replicas lose at one moment (*power-loss*), or the last one in sync (*last-replica*), takes what was "
        "not flushed, whatever a producer asks for: both are measured beside the grades, and scenarios of their own "
        "show how much goes, and when ([page-cache-only](scenarios/page-cache-only.md), "
        "[last-replica-standing](scenarios/last-replica-standing.md)).",
        "",
        "## Heat maps",
        "",
        "A row is a producer, a column a topic under a fault: `3/2u` has three replicas, min.insync.replicas=2, and "
        "unclean elections on; `3/2f` has flush.messages=1. Open a picture by itself to read each cell. A dot is a "
        "cell that cannot differ from one that was measured (the arguments are at the end).",
        "",
    ]
    for line in lines:
        text += [f"![What came of each producer on {line}]({_map_name(line)})", ""]
    text += _not_as_stated(cells)
    text += _differing(cells, lines)
    text += _runs(cells, lines)
    text += ["## What came of which settings", "", _reading(lines, cells), ""]
    for fault, words in FAULTS.items():
        own = [cell for cell in cells if cell.key.fault == fault]
        if own:
            text += [f"### {fault}", "", f"{words[0].upper()}{words[1:]}.", "", *_table(own, lines)]
            text += _cost(own, lines) if fault == "none" else []
    text += ["## Cells that cannot differ", "", "Not measured, because:", ""]
    text += [f"- {one.label[0].upper()}{one.label[1:]}." for one in EQUIVALENCES]
    text += ["", "## What the producers were given beside the cells' settings", ""]
    for client in CLIENTS:
        given = sorted({(name, value) for c in cells if c.key.client == client for name, value in c.overrides.items()})
        if any(cell.key.client == client for cell in cells):
            names = ", ".join(f"`{name}={value}`" for name, value in given) or "nothing"
            text += [f"- {client}: {names}"]
    return "\n".join([*text, ""])


def _reading(lines: Sequence[str], cells: Sequence[Cell]) -> str:
    versions = {cell.key.line: cell.key.version for cell in cells}
    named = ", ".join(f"*{line}* is {versions[line]} ({LINES[line]})" for line in lines)
    return (
        f"{named}. An outcome without a number was seen in every run, one with a number in so many of so many runs; "
        "**kept** means that every acknowledged record is there, once and in order; · was not measured."
    )


def _not_as_stated(cells: Sequence[Cell]) -> list[str]:
    others = [cell for cell in cells if not cell.as_stated]
    if not others:
        return ["Every cell came to what was stated of it, in every run.", ""]
    text = [f"## Not as stated: {len(others)} cells", "", "| cell | stated | seen |", "|---|---|---|"]
    for cell in others:
        must, may = sorted(cell.stated.must), sorted(cell.stated.may)
        stated = ", ".join([*must, *(f"may: {name}" for name in may)]) or "kept"
        seen = ", ".join(f"{name} {cell.times(name)}/{len(cell.runs)}" for name in sorted(cell.seen)) or "kept"
        text.append(f"| {cell.key} | {stated} | {seen} |")
    return [*text, ""]


def _differing(cells: Sequence[Cell], lines: Sequence[str]) -> list[str]:
    """Which outcomes some runs of a cell show and others do not: in how many cells of each line, and why."""
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for cell in cells:
        for outcome in OUTCOMES:
            if 0 < cell.times(outcome) < len(cell.runs):
                counts.setdefault((cell.key.fault, outcome, cell.stated.why), Counter())[cell.key.line] += 1
    if not counts:
        return ["Every cell came to the same in each of its runs.", ""]
    number = sum(any(0 < cell.times(outcome) < len(cell.runs) for outcome in OUTCOMES) for cell in cells)
    text = [
        f"## Not the same in every run: {number} cells",
        "",
        "So many cells of each line, and what is stated of them.",
    ]
    text += ["", f"| fault | in some runs | {' | '.join(lines)} | why |", "|---" * (3 + len(lines)) + "|"]
    for (fault, name, why), of_line in counts.items():
        numbers = " | ".join(str(of_line[line] or "") for line in lines)
        text.append(f"| {fault} | {name} | {numbers} | {why} |")
    return [*text, ""]


def _runs(cells: Sequence[Cell], lines: Sequence[str]) -> list[str]:
    """How many runs measured each cell of a fault on a line."""
    text = ["## How often each was measured", "", "Runs of each cell.", "", f"| fault | {' | '.join(lines)} |"]
    text.append("|---" * (1 + len(lines)) + "|")
    for fault in FAULTS:
        of_line = [
            {len(cell.runs) for cell in cells if (cell.key.fault, cell.key.line) == (fault, line)} for line in lines
        ]
        if any(of_line):
            numbers = ["·" if not of else "–".join(map(str, sorted({min(of), max(of)}))) for of in of_line]
            text.append(f"| {fault} | {' | '.join(numbers)} |")
    return [*text, ""]


def _table(cells: Sequence[Cell], lines: Sequence[str]) -> list[str]:
    """One table of a fault: rows of settings that came to the same on every line share one."""
    by_row: dict[tuple[str, Setting, Topic], dict[str, Cell]] = {}
    for cell in cells:
        by_row.setdefault((cell.key.client, setting_of(cell.key), topic_of(cell.key)), {})[cell.key.line] = cell
    groups: dict[tuple[Setting, tuple[str, ...]], list[tuple[str, Topic, dict[str, Cell]]]] = {}
    for (client, setting, topic), of_line in sorted(by_row.items()):
        kinds = tuple(_kind(of_line.get(line)) for line in lines)
        groups.setdefault((setting, kinds), []).append((client, topic, of_line))
    text = [f"| producer | client | topic | {' | '.join(lines)} |", "|---" * (3 + len(lines)) + "|"]
    for (setting, _), members in groups.items():
        clients = ", ".join(name for name in CLIENTS if any(name == client for client, _, _ in members))
        topics = ", ".join(dict.fromkeys(told_topic(topic) for _, topic, _ in members))
        entries = [_entry([of_line[line] for _, _, of_line in members if line in of_line]) for line in lines]
        text.append(f"| {told(setting)} | {clients} | {topics} | {' | '.join(entries)} |")
    return [*text, ""]


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


def _cost(cells: Sequence[Cell], lines: Sequence[str]) -> list[str]:
    """What the settings cost without a fault: latency of records one by one, records a second at full speed."""
    text = [
        "Latency in ms (half, and 99 of 100 records, sent one by one) and records a second at full speed, medians of "
        "the runs on a machine that other runs shared: compare within a column, not between.",
        "",
        f"| producer | client | topic | {' | '.join(lines)} |",
        "|---" * (3 + len(lines)) + "|",
    ]
    rows: dict[tuple[Setting, str, Topic], dict[str, Cell]] = {}
    for cell in cells:
        rows.setdefault((setting_of(cell.key), cell.key.client, topic_of(cell.key)), {})[cell.key.line] = cell
    for (setting, client, topic), of_line in sorted(rows.items()):
        entries = " | ".join(_figures(of_line.get(line)) for line in lines)
        text.append(f"| {told(setting)} | {client} | {told_topic(topic)} | {entries} |")
    return [*text, ""]


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
