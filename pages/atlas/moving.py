"""What changes for acknowledged records if a cluster moves to another line of versions: two pages compared.

A change of a cell is told only if chance does not explain it: the shares that its runs leave possible on both sides do
not overlap (judgement.sampling). Bugs and defaults are facts of the releases, and are told as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from evidence.text import plural
from harness.harms import HARM_ORDER
from pages.atlas import columns, lines
from pages.atlas.columns import FLUSHED, RECOMMENDED
from pages.atlas.events import EVENTS, inside
from pages.atlas.model import (
    DOES_NOT_APPLY,
    HOLE,
    LOST,
    Atlas,
    BugOnPage,
    Data,
    Figure,
    atlas,
    bugs_between,
    differ,
    figure,
)

COMPARED = (columns.ACKS_1, RECOMMENDED, FLUSHED)
"""The columns whose losses are compared: those of the figures at the top of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossChange:
    """An event that loses acknowledged records on one side and not on the other."""

    settings: str
    event: str
    before: str
    """"5 of 5 runs"."""
    after: str
    loses: bool
    """Whether it is the later side that loses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """From one page to another."""

    old: Atlas
    new: Atlas
    losses: tuple[LossChange, ...]
    gone: tuple[BugOnPage, ...]
    """Bugs that the release moved to does not have."""
    added: tuple[BugOnPage, ...]
    """Bugs that the release moved from does not have."""
    stay: tuple[BugOnPage, ...]
    defaults: tuple[tuple[str, str, str], ...]
    """Settings whose default changes: name, before, after."""


def target(line: lines.ReleaseLine, data: Data) -> Atlas | None:
    """The page of the newest line, which a move is told to; None on that page itself."""
    newest = lines.every()[0]
    return None if line.newest == newest.newest else atlas(newest, data)


def compare(old: Atlas, new: Atlas) -> Move:
    """What a move changes."""
    gone, stay, added = bugs_between(old.bugs, new.bugs)
    then = {one.name: one.default for one in new.settings}
    return Move(
        old=old,
        new=new,
        losses=(*_of_grid(old, new), *_of_rows(old, new)),
        gone=gone,
        added=added,
        stay=stay,
        defaults=tuple(
            (one.name, one.default, then[one.name])
            for one in old.settings
            if one.name in then and one.default != then[one.name]
        ),
    )


def _of_grid(old: Atlas, new: Atlas) -> Iterator[LossChange]:
    for fault, title in EVENTS.items():
        after = {one.column.id: one for one in new.grids["java"][fault]}
        for cell in old.grids["java"][fault]:
            other = after.get(cell.column.id)
            if cell.column.id not in COMPARED or other is None or HOLE in (cell.worst, other.worst):
                continue
            counts = [(one.cell.times(LOST) if one.cell else 0, len(one.runs)) for one in (cell, other)]
            if differ(counts[0], counts[1]):
                settings = ", ".join(filter(None, (cell.column.title, cell.column.topic)))
                yield _change(settings, title, counts[0], counts[1])


def _of_rows(old: Atlas, new: Atlas) -> Iterator[LossChange]:
    for one, other in zip(old.rows, new.rows, strict=True):
        counts = [(row.cell.lost, row.cell.runs) for row in (one, other)]
        if one.cell.runs and other.cell.runs and differ(counts[0], counts[1]):
            yield _change(one.row.settings, one.row.event, counts[0], counts[1])
        elif one.cell.why.startswith(DOES_NOT_APPLY) and other.cell.worst == LOST:
            yield replace(_change(one.row.settings, one.row.event, counts[0], counts[1]), before="cannot happen here")


def _change(settings: str, event: str, before: tuple[int, int], after: tuple[int, int]) -> LossChange:
    said = [f"{times} of {plural(runs, 'run')}" for times, runs in (before, after)]
    return LossChange(
        settings=settings,
        event=event,
        before=said[0],
        after=said[1],
        loses=after[0] * max(1, before[1]) > before[0] * max(1, after[1]),
    )


def sentences(move: Move) -> list[str]:
    """A move in sentences: losses, bugs, defaults."""
    release = move.new.line.newest
    said = []
    for name, settings in ((columns.ACKS_1, "acks=1"), (RECOMMENDED, "the recommended settings")):
        before, after = _of_both(move, name)
        said.append(
            f"With {settings}, {after.count} of the {after.of} events that were measured on both "
            f"{'loses' if after.count == 1 else 'lose'} records on {_where(move.new)}. "
            f"On {_where(move.old)} it is {before.count}."
        )
    if move.old.measured_on == move.new.measured_on:
        said.append(f"Both grids rest on the same runs, of {move.new.measured_on}.")
    for kept, words in ((False, "Events that no longer lose records"), (True, "Events that lose records now")):
        told = list(dict.fromkeys(f"{inside(one.event)} ({one.settings})" for one in move.losses if one.loses is kept))
        said += [f"{words}: {'; '.join(told)}."] if told else []
    if not move.losses:
        said.append("No measured event changes by more than chance explains.")
    for bugs, words in (
        (move.gone, f"Bugs that {release} does not have"),
        (move.added, f"Bugs that {release} has in addition"),
        (move.stay, "Bugs that both have"),
    ):
        said += [f"{words}: {_named(bugs)}."] if bugs else []
    for name, before_default, after_default in move.defaults:
        said.append(f"The default of {name} is {after_default}, no longer {before_default}.")
    return said


def _of_both(move: Move, name: str) -> tuple[Figure, Figure]:
    """In how many of the events that were measured on both sides a column's settings lose records."""
    sides = [
        {one.fault: one for one in page.column("java", name) if one.worst != HOLE} for page in (move.old, move.new)
    ]
    both = [fault for fault in sides[0] if fault in sides[1]]
    before, after = (figure([side[fault] for fault in both]) for side in sides)
    return before, after


def _where(page: Atlas) -> str:
    """The release of a page, and the one that was measured in its place."""
    release = page.line.newest
    return release if page.measured_here else f"{release} (runs of {page.measured_on}, the nearest)"


def _named(bugs: tuple[BugOnPage, ...]) -> str:
    return ", ".join(f"{one.id} ({one.harm})" if one.harm == HARM_ORDER[0] else one.id for one in bugs)
