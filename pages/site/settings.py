"""Which settings keep records in an event of the audit's matrix: a sentence made of all measured cells of the Atlas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evidence.text import plural
from judgement.report.cells import version_key
from pages.atlas import columns as columns_of
from pages.atlas import events, lines, model
from pages.atlas.columns import FLUSHED, RECOMMENDED
from pages.site import words


@dataclass(frozen=True, slots=True)
class Measured:
    """A cell with the version that it was measured on."""

    version: str
    cell: model.GridCell
    own: bool
    """Whether it was measured on the newest release of its line, not on a release near that."""


def measured(fault: str, data: model.Data) -> Iterator[Measured]:
    """The cells of a fault that the Atlas shows, by line, client and column, the newest line first. Lines without runs
    of their own share cells, as do columns whose settings make no difference.
    """
    if fault not in events.EVENTS:
        return
    for line in lines.every():
        for client in columns_of.CLIENTS:
            grid = model.grid(line, client, columns_of.columns(line.audit), data.measured, (fault,))
            for cell in grid[fault]:
                if cell.cell is not None:
                    version = cell.cell.key.version
                    yield Measured(version, cell, version == line.version(line.newest).id)


def advice(fault: str, data: model.Data) -> str:
    """What to set against an event, and with which settings records were lost; "" if nothing was measured."""
    every = [one for one in measured(fault, data) if one.own]
    if not every:
        return ""
    losing = list(dict.fromkeys(_name(one.cell.column) for one in every if one.cell.worst == model.LOST))
    best = next(one for one in columns_of.columns(lines.every()[0].audit) if one.id == RECOMMENDED)
    names, bad = words.as_written(best), _losing(every, RECOMMENDED)
    flushed = [one for one in every if one.cell.column.id == FLUSHED]
    if not losing:
        told = [f"No measured setting lost a record: {_kept(every)}"]
    elif not bad:
        told = [f"Set {names}: {_kept(every, RECOMMENDED)}"]
    elif not _losing(flushed, FLUSHED) and set(bad) <= {one.version for one in flushed}:
        told = [f"Set {names}, and flush.messages=1 for the topic: {_kept(every, FLUSHED)}"]
        told.append(f"Without the flush records were lost on {', '.join(bad)}.")
    else:
        told = [f"No measured setting prevents the loss on {', '.join(bad)}."]
        told.append(f"With {names}, {_kept([one for one in every if one.version not in bad], RECOMMENDED)}")
    if losing and not bad:
        told.append(f"Records were lost with {'; with '.join(losing)}.")
    if any(set(one.cell.outcomes) & {"duplicates", "reorders"} for one in every):
        told.append("Some settings wrote records twice, or in another order: the lines above say which.")
    return " ".join(told)


def _name(column: columns_of.Column) -> str:
    return ", ".join(filter(None, (column.title, column.topic)))


def _losing(every: Iterable[Measured], column: str) -> list[str]:
    """The versions on which a column's settings lost records."""
    found = {one.version for one in every if one.cell.column.id == column and one.cell.worst == model.LOST}
    return sorted(found, key=version_key)


def _kept(every: Iterable[Measured], column: str = "") -> str:
    """How many runs of a column's settings, or of all, lost nothing, and on which versions."""
    own = [one for one in every if column in ("", one.cell.column.id)]
    runs, versions = {run.run for one in own for run in one.cell.runs}, {one.version for one in own}
    plain = sorted({one.version for one in own if column and not one.cell.column.idempotence}, key=version_key)
    instead = f" ({', '.join(plain)} with one request in flight in place of idempotence)" if plain else ""
    return f"{plural(len(runs), 'run')} on {', '.join(sorted(versions, key=version_key))} lost nothing{instead}."
