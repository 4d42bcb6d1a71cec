"""docs/statements.md, from the registry (documents.py) and the ledger's cells: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from evidence.text import plural
from pages.render import render
from pages.statements.documents import STATEMENTS
from pages.statements.judged import JudgedStatement, StatementVerdict, all_judged
from pages.statements.statement import Area, Statement
from pages.statements.witness import RunTally, Witness

PAGE: Final = "statements.md"
IN_WORDS: Final[Mapping[StatementVerdict, str]] = {
    StatementVerdict.SHOWN: "every run on every release that has runs shows it",
    StatementVerdict.IN_PART: "the same, but a part of it has no scenario",
    StatementVerdict.NOT_ALWAYS: "on some release a few runs contradict it",
    StatementVerdict.DEPENDS: "shown on some releases, contradicted on others",
    StatementVerdict.CONTRADICTED: "most runs contradict it on every release that has runs",
    StatementVerdict.NOT_RUN: "a scenario shows it and has no run that counts",
    StatementVerdict.NOT_SHOWN: "no scenario shows it",
}
"""What each verdict means."""


def page(data: Mapping[str, Any], statements: Sequence[Statement] = STATEMENTS) -> str:
    """The page, of `results.by_scenario`."""
    every = all_judged(statements, data)
    return render(
        PAGE,
        summary=summary(every),
        meanings=IN_WORDS,
        areas=[(area, [one for one in every if one.statement.area == area]) for area in Area],
        entry=entry,
        corrected=[one.statement for one in every if one.statement.corrected],
        sentence=_one_line,
    )


def summary(every: Iterable[JudgedStatement]) -> list[tuple[str, ...]]:
    """How many statements of each area have each verdict, and of all."""
    counts = {area: Counter[StatementVerdict]() for area in Area}
    for one in every:
        counts[one.statement.area][one.verdict] += 1
    total = sum(counts.values(), Counter[StatementVerdict]())
    return [
        (name, *(str(of_area[verdict] or "–") for verdict in StatementVerdict), str(of_area.total()))
        for name, of_area in [*((str(area), found) for area, found in counts.items()), ("**all**", total)]
    ]


def entry(one: JudgedStatement) -> list[str]:
    """What is told of a statement below its sentence, an item each."""
    told = [_witnessed(witness, tallies) for witness, tallies in one.witnessed]
    for verdict, heading in (
        (StatementVerdict.SHOWN, "Shown on"),
        (StatementVerdict.NOT_ALWAYS, "Not in every run on"),
        (StatementVerdict.CONTRADICTED, "Contradicted on"),
    ):
        if named := [version for version in one.releases if one.on(version) == verdict]:
            told.append(f"{heading} {', '.join(f'{version} ({_share(one.tally(version))})' for version in named)}.")
    if one.statement.corrected:
        told.append(f"**Correction:** {_one_line(one.statement.corrected)}")
    if one.statement.not_showable:
        told.append(f"No run can show: {_one_line(one.statement.not_showable)}")
    if one.statement.not_yet:
        told.append(f"Open: {_one_line(one.statement.not_yet)}.")
    return told


def _witnessed(witness: Witness, tallies: Mapping[str, RunTally]) -> str:
    """A witness in words, with its runs on all releases: "double-failover: 104 of 104 runs ended as documented"."""
    where = f"[{witness.scenario}](scenarios/{witness.scenario}.md)" if witness.scenario else "Every scenario"
    cases = f" ({', '.join(witness.cases)})" if witness.cases else ""
    total = sum(tallies.values(), RunTally())
    if not total.runs:
        return f"{where}{cases}: no run yet."
    if witness.contrary:
        return f"{where}{cases}: {_runs(total.turned())} {witness.asks.words()}, which contradicts the statement."
    return f"{where}{cases}: {_runs(total)} {witness.asks.words()}."


def _share(tally: RunTally) -> str:
    """How many runs of those that say something show a statement.

    >>> _share(RunTally(5, 0)), _share(RunTally(4, 1))
    ('5', '4 of 5')
    """
    return f"{tally.shows} of {tally.runs}" if tally.contradicts else str(tally.shows)


def _runs(tally: RunTally) -> str:
    """The same with its noun.

    >>> _runs(RunTally(5, 0)), _runs(RunTally(1, 0)), _runs(RunTally(4, 1))
    ('5 runs', '1 run', '4 of 5 runs')
    """
    return f"{tally.shows} of {plural(tally.runs, 'run')}" if tally.contradicts else plural(tally.runs, "run")


def _one_line(text: str) -> str:
    return " ".join(text.split())
