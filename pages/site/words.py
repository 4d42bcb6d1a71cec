"""The Atlas in sentences, for its pages and for the terminal: each is made of the data, none states a result itself."""

from __future__ import annotations

from typing import Any

from audit.cells import covering_in
from audit.defaults import RULES
from audit.grade import cost
from audit.known import known
from evidence.text import plural
from pages.atlas import columns as columns_of
from pages.atlas.columns import ACKS_1, FLUSHED, RECOMMENDED, Column
from pages.atlas.events import BRIEF, EVENTS
from pages.atlas.model import KEPT, LOST, WORDS, Atlas, Data, Figure, GridCell, RowCell, RowOnPage

NAMED = 3
"""So many events are named in a sentence."""


def lead(atlas: Atlas) -> str:
    """What the page rests on."""
    line = atlas.line
    here = f"Measured on {atlas.measured_on}" if atlas.measured_on else "Not measured"
    if atlas.measured_on and not atlas.measured_here:
        here += ", the nearest measured release of the same line of versions"
    return f"{here}. Defaults and bugs are those of {line.newest}."


def basis(atlas: Atlas) -> str:
    """How much was measured."""
    runs = {run.run for client in atlas.grids for cell in atlas.cells(client) for run in cell.runs}
    days = sorted({run.date for client in atlas.grids for cell in atlas.cells(client) for run in cell.runs})
    if not days:
        return ""
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"The grid rests on {plural(len(runs), 'run')}, {when}."


def figures(atlas: Atlas) -> list[dict[str, str]]:
    """The four figures at the top."""

    def one(figure: Figure, text: str, tone: str) -> dict[str, str]:
        holes = f"; {figure.holes} more not measured" if figure.holes else ""
        told = {"count": str(figure.count), "of": f"of {figure.of} measured events", "text": f"{text}{holes}"}
        return told | {"tone": tone if figure.count else "good"}

    names = {column.id: column for column in atlas.columns}
    best = names[RECOMMENDED]
    lose = plural(atlas.bugs_that_lose, "bug").split(" ")[1]
    return [
        one(atlas.figures[ACKS_1], "lose acknowledged records with acks=1", "bad"),
        one(atlas.figures[RECOMMENDED], f"with {best.title}, {best.topic}", "some"),
        one(atlas.figures[FLUSHED], "if each record is flushed as well", "some"),
        {
            "count": str(len(atlas.bugs)),
            "of": f"known {'bug' if len(atlas.bugs) == 1 else 'bugs'}",
            "text": f"in {atlas.line.newest}; {atlas.bugs_that_lose or 'no'} {lose} lose records"
            if atlas.bugs_that_lose != 1
            else f"in {atlas.line.newest}; 1 bug loses records",
            "tone": "bad" if atlas.bugs_that_lose else "some" if atlas.bugs else "good",
            "link": "#bugs",
        },
    ]


def detail(cell: GridCell) -> tuple[str, str, str]:
    """The small lines of a cell: "5 of 318" records of the worst run, "3/5 runs · 15–93 %" of all, "also reordered"."""
    run = cell.worst_run
    if cell.worst == KEPT:
        return "", f"{plural(len(cell.runs), 'run')} · {_unbroken(f'≤ {cell.possible}')}", ""
    if run is None:
        return "", "", ""
    of = run.acknowledged if cell.worst != "refuses" else run.acknowledged + run.refused
    between = _unbroken(cell.interval.replace(" to ", "–").replace("at least", "≥"))
    other = [WORDS[outcome] for outcome in cell.outcomes[1:]]
    seen = f"{cell.times}/{len(cell.runs)} runs · {between}"
    return f"{cell.count} of {of}", seen, f"also {', '.join(other)}" if other else ""


def _unbroken(text: str) -> str:
    """Text that stays on one line.

    >>> _unbroken("≤ 46 %") == "≤\N{NO-BREAK SPACE}46\N{NO-BREAK SPACE}%"
    True
    """
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def whatever_is_set(atlas: Atlas) -> str:
    """How many further events lose records, whatever producers set; "" if none is known to."""
    beside = sum(one.cell.worst == LOST and not one.row.decided_by for one in atlas.rows)
    lose = "event loses" if beside == 1 else "events lose"
    return f"{beside} further {lose} records, whatever producers set." if beside else ""


def answer(atlas: Atlas, client: str, column: Column) -> dict[str, Any]:
    """What a column's settings can do, in a sentence, and the events that lose records."""
    figure = atlas.losing(client, column.id)
    cells = atlas.column(client, column.id)
    lost = [EVENTS[one.fault] for one in cells if one.worst == LOST]
    other = {
        outcome: sum(outcome in one.outcomes and one.worst != LOST for one in cells)
        for outcome in ("duplicates", "reorders")
    }
    refused = [one for one in cells if one.worst == "refuses"]
    who = f"With {column.title}" + (f" and {column.topic}" if column.topic else "")
    if not figure.of:
        return {"sentence": f"{who}: not measured.", "lost": []}
    if len(refused) == figure.of:
        return {
            "sentence": f"{who}: brokers of this line refused every record, in all {figure.of} events. A producer "
            "cannot have these settings here.",
            "lost": [],
        }
    count = f"{figure.count} of {figure.of} events lose" if figure.count else f"none of {figure.of} events lost"
    more = [
        f"{number} more {'writes' if number == 1 else 'write'} records twice"
        if outcome == "duplicates"
        else f"{number} {'reorders' if number == 1 else 'reorder'} records without a loss"
        for outcome, number in other.items()
        if number
    ]
    was = "was" if figure.holes == 1 else "were"
    holes = f" {plural(figure.holes, 'event')} {was} not measured." if figure.holes else ""
    extra = f"; {', '.join(more)}" if more else ""
    return {"sentence": f"{who}, {count} acknowledged records{extra}.{holes}", "lost": lost}


def advice(atlas: Atlas, column: Column) -> str:
    """What another column does better for acknowledged records; made of the counts of both."""
    mine = atlas.losing("java", column.id)
    best = next(one for one in atlas.columns if one.id == RECOMMENDED)
    flushed = next(one for one in atlas.columns if one.id == FLUSHED)
    then, power = atlas.losing("java", best.id), atlas.losing("java", flushed.id)
    if column.id == FLUSHED:
        rest = [EVENTS[one.fault] for one in atlas.column("java", FLUSHED) if one.worst == LOST]
        return (
            f"These events still lose records: {'; '.join(rest)}."
            if rest
            else "Nothing more. The price: each write waits for a flush (see the last line of the grid)."
        )
    if mine.count > then.count or column.id not in (RECOMMENDED, FLUSHED):
        verb = "loses" if then.count == 1 else "lose"
        told = f"Set {to_set(best)}: then {then.count} of {then.of} events {verb} records"
        rest = [one.fault for one in atlas.column("java", best.id) if one.worst == LOST]
        if not rest or len(rest) > NAMED:
            return f"{told}."
        flush = f" With flush.messages=1 too, {power.count} of {power.of} do." if power.count < then.count else ""
        return f"{told} ({'; '.join(BRIEF[fault] for fault in rest)}).{flush}"
    return (
        f"Set flush.messages=1 if all replicas can lose power together: then {power.count} of {power.of} events lose "
        "records. Producers stay as they are."
    )


def to_set(column: Column) -> str:
    """A column's settings by their names, as they are written into files."""
    return f"{column.title.replace('idempotent', 'enable.idempotence=true')} and {column.topic}"


def costs(data: Data, atlas: Atlas, client: str) -> dict[str, str]:
    """What each column's settings cost without a fault."""
    found = {}
    for column in atlas.columns:
        settings = column.settings(client, atlas.line.audit, atlas.line.newest)
        priced = cost(covering_in(data.measured, settings, ["none"]), {})
        found[column.id] = "" if priced is None else _cost(priced.latency_p50_ms, priced.latency_p99_ms)
    return found


def linger(client: str, atlas: Atlas) -> str:
    """That a client waits before it sends, where it does by default: latencies have that time in them."""
    if client == "librdkafka":
        waits: int | None = int(float(known("librdkafka").history["linger.ms"][-1].default or 0))
    else:
        waits = RULES["java"](atlas.measured_on.partition("-")[0]).linger_ms if atlas.measured_on else None
    return f"Up to {waits} ms of it is linger.ms, at its default." if waits else ""


def _cost(median: float | None, slow: float | None) -> str:
    return f"{median:.1f} ms, {slow:.0f} ms" if median is not None and slow is not None else ""


def row_detail(cell: RowCell, newest: str) -> str:
    """How many records in how many runs, and where that was."""
    if not cell.runs:
        return cell.why
    where = "" if cell.version.partition("-")[0] == newest else f", on {cell.version}"
    if cell.worst == KEPT:
        return f"{plural(cell.runs, 'run')} · ≤ {cell.possible}{where}"
    spread = f"{cell.least}" if cell.least == cell.most else f"{cell.least}–{cell.most}"
    of = f" of {cell.acknowledged}" if cell.acknowledged else ""
    return f"{spread}{of} · {cell.lost} of {plural(cell.runs, 'run')}{where}"


def backing(one: RowOnPage) -> str:
    """The runs that an advice rests on."""
    if one.cell.worst == KEPT or one.row.prevented_by is None:
        return ""
    if one.prevention is not None:
        return f"With that, {plural(one.prevention.runs, 'run')} lost nothing."
    return f"Runs on {one.elsewhere} show that it helps." if one.elsewhere else ""


def release(atlas: Atlas) -> str:
    """Which release to be on, and why."""
    newest, free = atlas.line.newest, atlas.free_of_mended
    mode = "KRaft" if atlas.line.mode == "kraft" else "ZooKeeper"
    groups: dict[tuple[int, int], list[str]] = {}
    for one in atlas.counts:
        groups.setdefault((one.bugs, one.lose), []).append(one.release)
    has = "; ".join(
        f"{' and '.join(of)} {'has' if len(of) == 1 else 'have'} {_known(*count)}" for count, of in groups.items()
    )
    if not free or atlas.remaining is None:
        return f"No release with {mode} is free of all bugs that any release fixes. {has}."
    lose = {0: "none loses", 1: "1 loses"}.get(atlas.remaining.lose, f"{atlas.remaining.lose} lose")
    left = f"{plural(atlas.remaining.bugs, 'known bug')} that no release fixes; {lose} records"
    if free == newest:
        older = "" if len(groups) == 1 else f" {has}."
        return f"Stay on {newest}: it has {left}.{older}"
    target = atlas.newest_free or free
    first = f" {free} is the first release with the same fixes." if target != free else ""
    return f"Move to {target} (with {mode}): it has {left}.{first} On this line, {has}."


def _known(bugs: int, lose: int) -> str:
    which = {0: "none loses records", 1: "1 loses records"}.get(lose, f"{lose} lose records")
    return f"{plural(bugs, 'known bug')}, {which}" if bugs else "no known bug"


def clients(atlas: Atlas) -> str:
    """What bugs Java clients of this release have, whatever the brokers are."""
    bugs = atlas.client_bugs
    if not bugs:
        return ""
    told = "; ".join(f"{bug.id} {bug.harm}, {f'fixed in {bug.fixed}' if bug.fixed else 'not fixed'}" for bug in bugs)
    newer = " A newer client works with these brokers." if any(bug.fixed for bug in bugs) else ""
    return f"Java clients of {atlas.line.newest} have {plural(len(bugs), 'known bug')} of their own: {told}.{newer}"


def bug_lead(atlas: Atlas) -> str:
    """How many bugs there are, and the release that is free of those that are mended."""
    if not atlas.bugs:
        return f"None of the bugs recorded here is in {atlas.line.newest}."
    count = plural(len(atlas.bugs), "bug")
    told = f"{atlas.line.newest} has {count} of those recorded here. Each was reproduced on a release that has it."
    return f"{told} {release(atlas)}"


def sessions(atlas: Atlas) -> str:
    """That runs have shorter sessions than clusters have by default."""
    name, default = atlas.session_ms
    short = sorted({one.session_s for one in atlas.pauses})
    if not short or not default.isdigit():
        return ""
    ran = f"{short[0]:g} s" if len(short) == 1 else f"{short[0]:g} to {short[-1]:g} s"
    later = f"In {atlas.line.newest} {name} is {int(default) / 1000:g} s by default"
    return f"The runs had sessions of {ran}. {later}: a crash is noticed that much later."


def chosen(atlas: Atlas) -> str:
    """The column that is shown first: the default of a Java producer of this release."""
    return columns_of.default_of_java(atlas.line.newest) or "all-min-1"
