"""The Atlas's pages: one for each line of versions, and an index that asks which version one has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup, escape

from harness.harms import HARM_ORDER
from pages.atlas import columns, events, model, moving
from pages.atlas.lines import ReleaseLine
from pages.site import words
from pages.site.render import ENVIRONMENT, page

FOLDER = "atlas"
STYLE = f"{FOLDER}/atlas.css"
SCRIPT = f"{FOLDER}/atlas.js"


@dataclass(frozen=True, slots=True)
class Switch:
    """A version in the switch."""

    name: str
    short: str


def switch(lines: Sequence[ReleaseLine]) -> list[tuple[str, list[Switch]]]:
    """The versions by mode."""
    groups: dict[str, list[Switch]] = {"KRaft": [], "ZooKeeper": []}
    for line in lines:
        short = "3.9, protocol before 0.11" if line.pinned else line.name.partition("-")[0]
        groups["KRaft" if line.mode == "kraft" else "ZooKeeper"].append(Switch(line.name, short))
    return list(groups.items())


def pages(data: model.Data, atlases: Sequence[model.Atlas]) -> Iterator[tuple[str, str]]:
    """Path and text of each page, in the order of the switch."""
    found = [one.line for one in atlases]
    versions = switch(found)
    for index, one in enumerate(atlases):
        # The switch begins with the newest: what is before a page is the older line.
        before = (found[index + 1].label, _path(found[index + 1])) if index + 1 < len(found) else None
        after = (found[index - 1].label, _path(found[index - 1])) if index else None
        yield _path(one.line), of_line(one, data, versions, before, after, atlases[0])
    yield f"{FOLDER}/index.html", index_page(atlases)


def _path(line: ReleaseLine) -> str:
    return f"{FOLDER}/{line.name}.html"


def of_line(
    atlas: model.Atlas,
    data: model.Data,
    versions: Sequence[tuple[str, list[Switch]]],
    before: tuple[str, str] | None,
    after: tuple[str, str] | None,
    newest: model.Atlas,
) -> str:
    """The page of a line; `newest` is the line that a move is told to."""
    line = atlas.line
    move = moving.compare(atlas, newest) if newest.line.newest != line.newest else None
    return page(
        "atlas.html.j2",
        _path(line),
        title=f"Kafka {line.label}: what can happen to acknowledged records",
        section="Atlas",
        description=f"Which events lose, duplicate or reorder acknowledged records on Kafka {line.label}, by settings",
        before=before,
        after=after,
        atlas=atlas,
        lead=words.lead(atlas),
        basis=words.basis(atlas),
        chance=words.chance(),
        not_run=words.not_run(atlas),
        switch=versions,
        clients=columns.CLIENTS,
        chosen=words.chosen(atlas),
        defaults={client: words.default_of(atlas, client, data) for client in columns.CLIENTS},
        answers={
            client: {column.id: words.of_column(atlas, client, column) for column in atlas.columns}
            for client in columns.CLIENTS
        },
        of_line={client: words.of_line(atlas, client) for client in columns.CLIENTS},
        flushed={client: words.not_prevented(atlas, client, flushed=True) for client in columns.CLIENTS},
        with_bugs=partial(_with_bugs, atlas=atlas),
        linger={client: words.linger(client, atlas) for client in columns.CLIENTS},
        costs={client: words.costs(data, atlas, client) for client in columns.CLIENTS},
        groups=events.grouped(),
        events=events.EVENTS,
        inside=events.inside,
        notes={fault: words.note(atlas, fault) for fault in events.EVENTS},
        symbols=model.SYMBOLS,
        words=model.WORDS,
        classes=model.CLASSES,
        meanings=model.MEANINGS,
        detail_of=words.detail,
        few=model.FEW,
        not_prevented=not_prevented(atlas),
        decided_elsewhere=[
            one for one in atlas.rows if one.cell.worst == model.LOST and (one.row.decided_by or one.row.needs)
        ],
        kept=[one for one in atlas.rows if one.cell.worst == model.KEPT],
        unknown=[one for one in atlas.rows if one.cell.worst == model.HOLE],
        command=words.command(line),
        producer_properties=words.producer_properties(atlas),
        row_detail=partial(words.row_detail, newest=line.newest),
        backing=partial(words.backing, atlas),
        here=lambda version: version.partition("-")[0] == line.newest,
        sessions=words.sessions(atlas),
        bug_lead=words.bug_lead(atlas),
        move=move,
        move_sentences=[_with_bugs(text, atlas, move.added) for text in moving.sentences(move)] if move else [],
        fixed_here=model.fixed_in_line(line, data),
        harms=HARM_ORDER,
    )


def not_prevented(atlas: model.Atlas) -> list[tuple[str, list[model.RowOnPage]]]:
    """The events that lose records whatever producers set, in the order of the answer, each with the cases of it that
    were run.
    """
    names = words.not_prevented(atlas, "java").events
    found: dict[str, list[model.RowOnPage]] = {name: [] for name in names}
    for one in atlas.rows:
        if one.cell.worst == model.LOST and not one.row.decided_by and not one.row.needs:
            same = events.EVENTS.get(one.row.same_as, "")
            found.setdefault(same if same in names else one.row.event, []).append(one)
    return list(found.items())


def style(atlases: Sequence[model.Atlas]) -> str:
    """The style sheet that all pages of lines share: what a choice of settings and of a client shows."""
    ids = dict.fromkeys(column.id for atlas in atlases for column in atlas.columns)
    return (
        ENVIRONMENT.get_template("atlas.css.j2").render(
            columns=list(ids), clients=columns.CLIENTS, flushed=columns.FLUSHED
        )
        + "\n"
    )


def _with_bugs(text: str, atlas: model.Atlas, added: Sequence[model.BugOnPage] = ()) -> Markup:
    """A sentence in which each bug leads to the page that shows it."""
    told = (*atlas.bugs, *atlas.client_bugs, *(atlas.step.added if atlas.step else ()), *added)
    pages_of = {bug.id: bug.scenario for bug in told}
    if not pages_of:
        return escape(text)
    names = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, pages_of))})(?![\w-])")
    return Markup(
        names.sub(lambda found: f'<a href="../scenarios/{pages_of[found[1]]}.html">{found[1]}</a>', escape(text))
    )


def index_page(atlases: Sequence[model.Atlas]) -> str:
    """Which version? With the figures of each."""
    return page(
        "atlas-index.html.j2",
        f"{FOLDER}/index.html",
        title="The Atlas: which version do you run?",
        section="Atlas",
        rows=[(one, list(one.figures.values())) for one in atlases],
    )
