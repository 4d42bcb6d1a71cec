"""The Atlas in a terminal: the grid on one screen, with the column marked that somebody's settings fall in.

First what can be lost, what to set, which release to be on and what no producer setting prevents; then the grid. All
else of a page stands behind `--all`: what to do against events that no producer setting prevents, what to set, a move
to the newest line, and the bugs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pages.atlas import events
from pages.atlas.model import FEW, HOLE, KEPT, LOST, SYMBOLS, WORDS, Atlas, BugOnPage, GridCell, RowCell

CELL: Final = 7
"""Columns of the terminal that a cell takes."""
EVENT: Final = events.WIDEST
MARK: Final = "yours"
WIDTH: Final = EVENT + 4 + 7 * CELL
"""Of the grid."""


def text(
    atlas: Atlas,
    client: str,
    *,
    width: int = 110,
    mine: Sequence[str] = (),
    named: Mapping[str, str],
    first: Sequence[str] = (),
    move: Sequence[str] = (),
    whole: bool = False,
) -> str:
    """A page as text. `mine` are the columns that somebody's settings fall in, `named` who they are, by column; `first`
    is what stands above the grid, `move` what a move to the newest line changes. Without `whole` it is one screen.
    """
    lines = [*_screen(atlas, client, width, frozenset(mine), named, first)]
    lines += _rest(atlas, width, move) if whole else [f"  --all: {_more(atlas)}"]
    return "\n".join(lines) + "\n"


def _screen(
    atlas: Atlas, client: str, width: int, mine: frozenset[str], named: Mapping[str, str], first: Sequence[str]
) -> Iterator[str]:
    line = atlas.line
    near = "" if atlas.measured_here else f", the nearest measured release, and not on {line.newest}"
    yield f"Kafka {line.label}: what can happen to acknowledged records"
    yield f"  Measured on {atlas.measured_on or 'no release'}{near}. {client} producer, three replicas."
    for paragraph in first:
        yield from textwrap.wrap(paragraph, width, initial_indent="  ", subsequent_indent="    ")
    letters = [chr(ord("A") + index) for index in range(len(atlas.columns))]
    yield "  Events that lose acknowledged records, by settings:"
    for letter, column in zip(letters, atlas.columns, strict=True):
        figure = atlas.losing(client, column.id)
        settings = ", ".join(filter(None, (column.title, column.topic)))
        note = f" ({column.note})" if column.note else ""
        yours = f"  <- {named.get(column.id, 'yours')}" if column.id in mine else ""
        share = f"{figure.count:>2} of {figure.of}" if figure.of else "not measured"
        yield f"  {letter} {share}: {settings}{note}{yours}"
    if mine:
        marks = [MARK if column.id in mine else "" for column in atlas.columns]
        yield (" " * (EVENT + 4) + "".join(f"{one:<{CELL}}" for one in marks)).rstrip()
    yield " " * (EVENT + 4) + "".join(f"{letter:<{CELL}}" for letter in letters).rstrip()
    for group, faults in events.grouped():
        yield group
        for fault in faults:
            cells = "".join(f"{_cell(one):<{CELL}}" for one in atlas.grids[client][fault])
            yield f"  {events.EVENTS[fault]:<{EVENT + 2}}{cells}".rstrip()
    yield "  " + "  ".join(f"{SYMBOLS[one]} {WORDS[one]}" for one in SYMBOLS)
    yield f"  “✕ 3/5”: in 3 of 5 runs. “✓ 5”: kept in 5 runs; up to 46 % may still lose. “?”: fewer than {FEW} runs."
    if any(one.worst == KEPT for one in atlas.grids[client][WAITS] if one.column.acks in ("0", "1")):
        yield f"  “✓” where the ISR shrinks: {events.NOTES[WAITS]}."


WAITS: Final = "shrunk-isr-crash"
"""The event after which a partition without unclean elections waits: what is kept cannot be read meanwhile."""


def _more(atlas: Atlas) -> str:
    return f"what to do against each event, what to set, {len(atlas.bugs)} known bugs, and what a newer line changes"


def _rest(atlas: Atlas, width: int, move: Sequence[str]) -> Iterator[str]:
    line = atlas.line
    yield ""
    yield "What the names of events leave out:"
    for fault, note in events.NOTES.items():
        yield f"  {events.EVENTS[fault]:<{EVENT}}  {note}"
    for decides in dict.fromkeys(one.row.decided_by for one in atlas.rows):
        yield ""
        yield f"{decides} decides these:" if decides else "No producer setting prevents these:"
        for found in atlas.rows:
            if found.cell.worst == LOST and found.row.decided_by == decides:
                told = f"{SYMBOLS[LOST]} {found.row.event} ({found.row.settings}): {_row(found.cell)}"
                yield from textwrap.wrap(told, width, initial_indent="  ", subsequent_indent="    ")
                yield from textwrap.wrap(
                    found.row.do, width, initial_indent="      do: ", subsequent_indent="          "
                )
    yield ""
    yield f"To set on {line.newest} (default of this release):"
    for one in atlas.settings:
        yield f"  {one.name}={one.value}  ({one.default})"
    if move:
        yield ""
        yield "If you move to the newest line:"
        for sentence in move:
            yield from textwrap.wrap(sentence, width, initial_indent="  ", subsequent_indent="    ")
    yield ""
    yield f"{len(atlas.bugs)} known bugs in {line.newest}:"
    for bug in atlas.bugs:
        yield from textwrap.wrap(_bug(bug), width, initial_indent="  ", subsequent_indent="    ")
    for bug in atlas.client_bugs:
        told = f"Java clients: {_bug(bug)}"
        yield from textwrap.wrap(told, width, initial_indent="  ", subsequent_indent="    ")


def _bug(bug: BugOnPage) -> str:
    fixed = f"fixed in {bug.fixed}" if bug.fixed else bug.status or "fixed in no later release"
    return f"{bug.id} {bug.harm}: {bug.title}; {fixed}"


def _cell(cell: GridCell) -> str:
    if cell.worst == HOLE:
        return SYMBOLS[HOLE]
    runs, unsure = len(cell.runs), "?" if cell.few else ""
    return f"{SYMBOLS[cell.worst]} {cell.times}/{runs}{unsure}" if cell.outcomes else f"{SYMBOLS['']} {runs}{unsure}"


def _row(cell: RowCell) -> str:
    spread = f"{cell.least}" if cell.least == cell.most else f"{cell.least} to {cell.most}"
    return f"{spread} records lost, in {cell.lost} of {cell.runs} runs on {cell.version}"
