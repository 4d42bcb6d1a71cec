"""`kafka-chaos atlas`: for a version and settings, what can happen to acknowledged records.

With --settings the producers of configuration files are resolved as an audit does (audit/readers), and the column is
marked that each falls in; one that falls in none has a column of its own. It needs neither Docker nor Java.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from typing import Final

from app.output import result
from audit.cells import Settings
from audit.grade import Grader
from audit.model import Client, Inputs
from audit.readers import Options, read_paths
from audit.topics import StatedByUser
from evidence.errors import UsageError
from pages.atlas import columns, lines, model, moving, tables, terminal
from pages.site import words

NARROWEST: Final = 80
WIDEST: Final = 120


def run(options: argparse.Namespace) -> int:
    """Print pages, or write them as data."""
    data = model.load()
    found = lines.asked(options.version) if options.version else lines.every()
    settings = _settings(options.settings, found, options.client) if options.settings else {}
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
    if not options.version and not settings:
        _write(_listed(found, data), options.output)
        return 0
    width = max(NARROWEST, min(WIDEST, get_terminal_size((110, 24)).columns))
    pages = [page for line in found for page in _pages(line, data, settings, options, width)]
    _write("\n".join(pages), options.output)
    return 0


def _write(text: str, path: Path | None) -> None:
    if path is None:
        result(text, end="")
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another file") from None


def _listed(found: Sequence[lines.ReleaseLine], data: model.Data) -> str:
    """Every line with its figures."""
    rows = ["line        measured on    acks=1   recommended   flushed   known bugs"]
    for line in found:
        atlas = model.atlas(line, data)
        figures = [f"{one.count} of {one.of}" for one in atlas.figures.values()]
        rows.append(
            f"{line.name:<11} {atlas.measured_on or '–':<14} {figures[0]:<8} {figures[1]:<13} {figures[2]:<9} "
            f"{len(atlas.bugs)}"
        )
    rows += ["", "events that lose acknowledged records; `kafka-chaos atlas --version 2.8` has the page of a line"]
    return "\n".join(rows) + "\n"


def _settings(
    paths: Sequence[str], found: Sequence[lines.ReleaseLine], client: Client | None
) -> dict[str, list[tuple[str, Settings]]]:
    """The settings of every producer in files, by line: its name, and what is in force. `client`: whose they are, if
    that is said; else it is told by the file.
    """
    inputs: Inputs = read_paths(paths, Options(profiles=(), env={}, client=client, release=None))
    told: dict[str, list[tuple[str, Settings]]] = {}
    grader = Grader(())
    for line in found:
        stated = StatedByUser(version=line.version(line.newest).id)
        answer = grader.answer(inputs, stated)
        told[line.name] = [
            (f"{row.producer.name} ({row.producer.origin})", case.settings) for row in answer.rows for case in row.cases
        ]
    if not any(told.values()):
        nothing = f"{', '.join(paths)}: no producer is configured there"
        problems = "; ".join(map(str, inputs.problems)) or nothing
        raise UsageError(f"{problems}; `kafka-chaos audit` says what it reads")
    return told


def _pages(
    line: lines.ReleaseLine,
    data: model.Data,
    settings: dict[str, list[tuple[str, Settings]]],
    options: argparse.Namespace,
    width: int,
) -> list[str]:
    """The page of a line, once for each of somebody's producers; once without."""
    mine, client = settings.get(line.name) or [], options.client or "java"
    move = _move(line, data)
    moves = moving.sentences(move) if move else []
    if not mine:
        atlas = model.atlas(line, data)
        first = _first(atlas, client, words.chosen(atlas), move)
        return [terminal.text(atlas, client, width=width, named={}, first=first, move=moves, whole=options.all)]
    pages = []
    for who, own in dict(mine).items():
        asked = replace(own, line=line.audit, version=line.newest)
        shown = own.client if own.client in columns.CLIENTS else client
        fits = columns.falls_in(data.measured, asked, line)
        column = fits or columns.of(own, who)
        atlas = model.atlas(line, data, None if fits else column)
        first = _first(atlas, shown, column.id, move)
        pages.append(
            terminal.text(
                atlas,
                shown,
                width=width,
                mine=[column.id],
                named={column.id: who},
                first=first,
                move=moves,
                whole=options.all,
            )
        )
    return pages


def _move(line: lines.ReleaseLine, data: model.Data) -> moving.Move | None:
    """What a move to the newest line changes; None for the newest one itself."""
    target = moving.target(line, data)
    return moving.compare(model.atlas(line, data), target) if target else None


def _first(atlas: model.Atlas, client: str, chosen: str, move: moving.Move | None) -> list[str]:
    """What can be lost with a column's settings, what to set, which release to be on: what stands above the grid."""
    column = next(one for one in atlas.columns if one.id == chosen)
    return [
        f"Lost: {words.answer(atlas, client, column)['sentence']}",
        f"Set: {words.advice(atlas, column).removeprefix('Set ')}",
        f"Release: {words.release(atlas)}",
        *([f"Newest: {moving.short(move).removeprefix(moving.NEWEST)}"] if move else []),
    ]
