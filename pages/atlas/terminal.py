"""The Atlas in a terminal: the same grid, with the column marked that somebody's settings fall in."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pages.atlas import events
from pages.atlas.model import HOLE, LOST, SYMBOLS, WORDS, Atlas, GridCell, RowCell

CELL: Final = 9
"""Columns of the terminal that a cell takes."""
EVENT: Final = 42
MARK: Final = "▼ yours"


def text(
    atlas: Atlas,
    client: str,
    *,
    width: int = 110,
    mine: Sequence[str] = (),
    named: Mapping[str, str],
    first: Sequence[str] = (),
) -> str:
    """A page as text. `mine` are the columns that somebody's settings fall in, `named` who they are, by column; `first`
    is what stands above the grid.
    """
    return "\n".join(_lines(atlas, client, width, frozenset(mine), named, first)) + "\n"


def _lines(
    atlas: Atlas, client: str, width: int, mine: frozenset[str], named: Mapping[str, str], first: Sequence[str]
) -> Iterator[str]:
    line = atlas.line
    yield f"Kafka {line.label}: what can happen to acknowledged records"
    for paragraph in first:
        yield from textwrap.wrap(paragraph, width, initial_indent="  ", subsequent_indent="    ")
    near = "" if atlas.measured_here else f", the nearest release that was measured, not {line.newest} itself"
    yield f"measured on {atlas.measured_on or 'no release'}{near}; {client} producer, three replicas"
    yield ""
    letters = [chr(ord("A") + index) for index in range(len(atlas.columns))]
    for letter, column in zip(letters, atlas.columns, strict=True):
        figure = atlas.losing(client, column.id)
        settings = ", ".join(filter(None, (column.title, column.topic)))
        note = f" ({column.note})" if column.note else ""
        yours = f"  <- {named.get(column.id, 'yours')}" if column.id in mine else ""
        yield f"  {letter}  {figure.count:>2} of {figure.of} events lose records: {settings}{note}{yours}"
    yield ""
    if mine:
        marks = [MARK if column.id in mine else "" for column in atlas.columns]
        yield (" " * (EVENT + 2) + "".join(f"{one:<{CELL}}" for one in marks)).rstrip()
    yield " " * (EVENT + 2) + "".join(f"{letter:<{CELL}}" for letter in letters).rstrip()
    for group, faults in events.grouped():
        yield group
        for fault in faults:
            cells = "".join(f"{_cell(one):<{CELL}}" for one in atlas.grids[client][fault])
            title, *more = textwrap.wrap(events.EVENTS[fault], EVENT - 2)
            yield f"  {title:<{EVENT}}{cells}".rstrip()
            yield from (f"    {one}" for one in more)
    yield ""
    yield "  " + "   ".join(f"{SYMBOLS[one]} {WORDS[one]}" for one in SYMBOLS)
    yield "  “✕ 3/5”: in 3 of 5 runs. “✓ 5”: kept in all 5 runs, so it may still happen in up to 46 % of attempts."
    yield ""
    yield "No producer setting decides these:"
    for found in atlas.rows:
        if found.cell.worst == LOST:
            yield from textwrap.wrap(
                f"{SYMBOLS[LOST]} {found.row.event} ({found.row.settings}): {_row(found.cell)}",
                width,
                initial_indent="  ",
                subsequent_indent="    ",
            )
            yield from textwrap.wrap(found.row.do, width, initial_indent="      do: ", subsequent_indent="          ")
    yield ""
    yield f"To set on {line.newest} (default of this release):"
    for one in atlas.settings:
        yield f"  {one.name}={one.value}  ({one.default})"
    yield ""
    yield f"{len(atlas.bugs)} known bugs in {line.newest}:"
    for bug in atlas.bugs:
        fixed = f"fixed in {bug.fixed}" if bug.fixed else bug.status or "fixed in no later release"
        yield from textwrap.wrap(
            f"{bug.id} {bug.harm}: {bug.title}; {fixed}", width, initial_indent="  ", subsequent_indent="    "
        )
    for bug in atlas.client_bugs:
        fixed = f"fixed in {bug.fixed}" if bug.fixed else bug.status or "fixed in no later release"
        yield from textwrap.wrap(
            f"Java clients: {bug.id} {bug.harm}: {bug.title}; {fixed}",
            width,
            initial_indent="  ",
            subsequent_indent="    ",
        )


def _cell(cell: GridCell) -> str:
    if cell.worst == HOLE:
        return SYMBOLS[HOLE]
    runs = len(cell.runs)
    return f"{SYMBOLS[cell.worst]} {cell.times}/{runs}" if cell.outcomes else f"{SYMBOLS['']} {runs}"


def _row(cell: RowCell) -> str:
    spread = f"{cell.least}" if cell.least == cell.most else f"{cell.least} to {cell.most}"
    return f"{spread} records lost, in {cell.lost} of {cell.runs} runs on {cell.version}"
