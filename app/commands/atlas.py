"""`kafka-chaos atlas`: for a version and settings, what can happen to acknowledged records.

With --settings the producers of configuration files are resolved as an audit does (audit/readers), and the column is
marked that each falls in; one that falls in none has a column of its own. It needs neither Docker nor Java.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from typing import Final

from app.output import result
from audit.cells import Settings
from audit.grade import Grader, ProducerRow
from audit.model import Client, Inputs
from audit.readers import Options, read_paths
from audit.topics import StatedByUser
from evidence.errors import UsageError
from pages.atlas import columns, lines, model, moving, tables, terminal
from pages.site import words

NARROWEST: Final = 80
WIDEST: Final = 120
HEADINGS: Final = ("Lost", "Set", "Release", "Not prevented")
"""Of the four answers (pages.site.words.answers)."""


def run(options: argparse.Namespace) -> int:
    """Print pages, or write them as data."""
    data = model.load()
    found = lines.asked(options.version) if options.version else lines.every()
    settings = _settings(options.settings, found, data, options.client) if options.settings else {}
    if options.format in ("csv", "parquet", "json"):
        rows = list(tables.rows(model.atlas(line, data) for line in found))
        if options.format == "parquet":
            if options.output is None:
                raise UsageError("a Parquet file is not for a terminal: name it with --output FILE")
            tables.write_parquet(rows, options.output)
        else:
            _write(
                tables.as_csv(rows) if options.format == "csv" else json.dumps(rows, indent=1) + "\n", options.output
            )
        return 0
    if not options.version:
        _write(_listed(found, data, settings), options.output)
        return 0
    width = max(NARROWEST, min(WIDEST, get_terminal_size((110, 24)).columns))
    pages = [page for line in found for page in _pages(line, data, settings, options, width)]
    both = f"{options.version}: a page for each of {' and '.join(one.name for one in found)}; --version takes one.\n"
    _write("\n".join([*([both] if len(found) > 1 else []), *pages]), options.output)
    return 0


def _write(text: str, path: Path | None) -> None:
    if path is None:
        result(text, end="")
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another file") from None


def _listed(found: Sequence[lines.ReleaseLine], data: model.Data, settings: Mapping[str, Sequence[Own]]) -> str:
    """Every line with its figures, and those of somebody's producers."""
    names = list(dict.fromkeys(one.name for of in settings.values() for one in of))
    yours = [f"yours {number}" if len(names) > 1 else "yours" for number in range(1, len(names) + 1)]
    rows = [
        "line        measured on    acks=1   recommended   flushed   known bugs" + "".join(f"   {n}" for n in yours)
    ]
    for line in found:
        atlas = model.atlas(line, data)
        figures = [f"{one.count} of {one.of}" for one in atlas.figures.values()]
        own = {one.name: one.settings for one in settings.get(line.name, ())}
        mine = [_losing(own[who], line, data) if who in own else "–" for who in names]
        rows.append(
            f"{line.name:<11} {atlas.measured_on or '–':<14} {figures[0]:<8} {figures[1]:<13} {figures[2]:<9} "
            f"{len(atlas.bugs):<10}" + "".join(f"   {one:<{len(yours[0])}}" for one in mine)
        )
    rows = [one.rstrip() for one in rows]
    rows += ["", "events that lose acknowledged records, of those that were measured"]
    titles = {one.name: one.title for of in settings.values() for one in of}
    rows += [f"{short}: {titles[who]}" for short, who in zip(yours, names, strict=True)]
    add = "add --version 2.8.2 (your release)" if names else "`kafka-chaos atlas --version 2.8`"
    rows.append(f"{add} for the events, what to set and which release to be on")
    return "\n".join(rows) + "\n"


def _asked(own: Settings, line: lines.ReleaseLine) -> Settings:
    """Somebody's settings, asked of a line."""
    return replace(own, line=line.audit, version=line.newest)


def _figure(own: Settings, line: lines.ReleaseLine, data: model.Data) -> model.Figure:
    """In how many events somebody's settings lose records on a line."""
    asked = _asked(own, line)
    column = columns.falls_in(data.measured, asked, line) or columns.of(own, "")
    client = own.client if own.client in columns.CLIENTS else "java"
    cells = [cell for of_event in model.grid(line, client, [column], data.measured).values() for cell in of_event]
    return model.figure(cells)


def _losing(own: Settings, line: lines.ReleaseLine, data: model.Data) -> str:
    """The same in words."""
    found = _figure(own, line, data)
    return f"{found.count} of {found.of}" if found.of else "none run"


@dataclass(frozen=True, slots=True)
class Own:
    """Somebody's producer on a line: what is in force with the client that does worst, and with others."""

    name: str
    """Of the producer, and where it is configured."""
    when: str
    """What was not told and is taken to be so: "the client is kafka-clients 2.1 or later"; "" if all was told."""
    settings: Settings
    others: tuple[tuple[str, Settings], ...] = ()
    """The same for other clients: when, and what is in force then."""

    @property
    def title(self) -> str:
        """Its name, and what it takes."""
        return f"{self.name}, if {self.when}" if self.when else self.name


def _settings(
    paths: Sequence[str], found: Sequence[lines.ReleaseLine], data: model.Data, client: Client | None
) -> dict[str, list[Own]]:
    """The settings of every producer in files, by line; a producer of which something is not told is several. `client`:
    whose they are, if that is said; else it is told by the file.

    Raises UsageError for a file without a producer, and for settings with which a client refuses to start.
    """
    inputs: Inputs = read_paths(paths, Options(profiles=(), env={}, client=client, release=None))
    told: dict[str, list[Own]] = {}
    grader = Grader(())
    for line in found:
        stated = StatedByUser(version=line.version(line.newest).id)
        answer = grader.answer(inputs, stated)
        told[line.name] = [_own(row, line, data) for row in answer.rows]
    if not any(told.values()):
        nothing = f"{', '.join(paths)}: no producer is configured there"
        problems = "; ".join(map(str, inputs.problems)) or nothing
        raise UsageError(f"{problems}; `kafka-chaos audit` says what it reads")
    return told


def _own(row: ProducerRow, line: lines.ReleaseLine, data: model.Data) -> Own:
    """A producer with the client under which most events lose records, of those that start; of equals the newest.

    Raises UsageError, with the client's reason, if none starts.
    """
    starts = [case for case in row.cases if not case.resolved.refused]
    name = f"{row.producer.name} ({row.producer.origin})"
    if not starts:
        raise UsageError(f"{name}: {row.worst.reason}; mend them first")
    worst = max(reversed(starts), key=lambda case: _figure(case.settings, line, data).count)
    others = tuple((case.when, case.settings) for case in starts if case is not worst)
    return Own(name, worst.when, worst.settings, others)


def _pages(
    line: lines.ReleaseLine,
    data: model.Data,
    settings: Mapping[str, Sequence[Own]],
    options: argparse.Namespace,
    width: int,
) -> list[str]:
    """The page of a line, once for each of somebody's producers; once without."""
    mine, client = settings.get(line.name) or [], options.client or "java"
    move = _move(line, data)
    moves = moving.sentences(move) if move else []
    if not mine:
        atlas = model.atlas(line, data)
        first = _first(atlas, client, words.chosen(atlas))
        return [terminal.text(atlas, client, width=width, named={}, first=first, move=moves, whole=options.all)]
    pages = []
    for one in mine:
        asked = _asked(one.settings, line)
        shown = asked.client if asked.client in columns.CLIENTS else client
        fits = columns.falls_in(data.measured, asked, line)
        column = fits or columns.of(asked, "")
        atlas = model.atlas(line, data, None if fits else column)
        others = [f"If {when}: {_losing(own, line, data)} lose records." for when, own in one.others]
        pages.append(
            terminal.text(
                atlas,
                shown,
                width=width,
                mine=[column.id],
                named={column.id: one.title},
                first=[*_first(atlas, shown, column.id), *others],
                move=moves,
                whole=options.all,
            )
        )
    return pages


def _move(line: lines.ReleaseLine, data: model.Data) -> moving.Move | None:
    """What a move to the newest line changes; None for the newest one itself."""
    target = moving.target(line, data)
    return moving.compare(model.atlas(line, data), target) if target else None


def _first(atlas: model.Atlas, client: str, chosen: str) -> list[str]:
    """The four answers for a column's settings: what stands above the grid."""
    column = next(one for one in atlas.columns if one.id == chosen)
    told = zip(HEADINGS, words.answers(atlas, client, column), strict=True)
    return [f"{heading}: {str(one).removeprefix('Set ')}" for heading, one in told]
