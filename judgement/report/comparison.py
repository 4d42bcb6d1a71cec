"""A comparison in words: one sentence, then what to look at. For a console, a page, CI systems and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from checks.catalogue import LOST_WRITE
from evidence.junit import JUnitCase, JUnitSuite, NotPassed, render
from evidence.rundir import write_atomically, write_json
from evidence.subjects import DUPLICATES, LOSES, REFUSES, REORDERS
from evidence.text import markdown as escaped
from evidence.text import plural, visible
from judgement.comparison import Cell, CellChange, Change, Comparison, Fact, Ran, name_of
from judgement.report.html import environment, style
from judgement.sampling import interval

SCHEMA: Final = 1
LISTED: Final = 12
"""Cells of a change, and cells of a list, that people are told by name."""
LOOK_AT: Final = 3
"""Runs of a side that are named."""
CHAT_LIMIT: Final = 2000
"""Characters that Discord takes (Discord documentation, Create Message: content)."""
AUDITED: Final[Mapping[str, str]] = {
    LOSES: "lost acknowledged records",
    DUPLICATES: "wrote acknowledged records twice",
    REORDERS: "wrote acknowledged records in another order",
    REFUSES: "refused records",
}
"""What came of a subject's records."""
FILES: Final = (
    "comparison.html",
    "comparison.json",
    "comparison.md",
    "comparison-junit.xml",
    "comparison-webhook.json",
)


def sentence(one: Comparison) -> str:
    """The one sentence: whether there is a regression, in how many cells, and the worst."""
    of = plural(len(one.pairs), "cell")
    if one.regressions:
        first, *others = one.together
        same = f"; {plural(len(first) - 1, 'further change')} in the same runs" if len(first) > 1 else ""
        also = f"; and {plural(len(others), 'further regression')}" if others else ""
        count = plural(len(one.together), "regression")
        return f"{one.new}: {count} in {of}: {in_words(first[0])}{same}{also}"
    if one.too_little:
        few = f"{len(one.too_few)} of {of} {'has' if len(one.pairs) == 1 else 'have'} too few runs"
        return f"{one.new}: too little to say: {few}, and what there are show no regression"
    few = f" ({len(one.too_few)} of them with too few runs)" if one.too_few else ""
    better = sum(not change.worse for change in one.changes)
    accepted = sum(change.accepted for change in one.changes)
    beside = [plural(better, "change") + " for the better"] * bool(better) + [f"{accepted} accepted"] * bool(accepted)
    return f"{one.new}: no regression in {of}{few}" + "".join(f", {text}" for text in beside)


def in_words(change: Change) -> str:
    """What is different, where it shows most, in half a sentence."""
    cells = [cell for cell in change.cells if not cell.accepted] or change.cells
    first = cells[0]
    if len(cells) == 1:
        return f"{first.name} {figures(change.fact, first)}"
    return f"in {plural(len(cells), 'cell')} {figures(change.fact, change.summary)}, most of all {first.name}"


def figures(fact: Fact, one: CellChange) -> str:
    """What runs show now and what they showed; a predicate of a cell."""
    if one.effect is not None:
        by = "longer" if one.effect.share > 0 else "shorter"
        change = f"{abs(one.effect.share):.0%} {by}" if one.effect.old else by
        return f"{fact.name}: {_seconds(one.effect.new)}, was {_seconds(one.effect.old)} ({change})"
    assert one.counted is not None
    c = one.counted
    return f"{_shows(fact)} in {c.new} of {c.new_runs} runs, was {c.old} of {c.old_runs}"


def _shows(fact: Fact) -> str:
    match fact.kind:
        case "anomaly" if fact.name == LOST_WRITE:
            return "lost acknowledged records"
        case "anomaly":
            return f"showed {fact.name}"
        case "audit":
            return AUDITED[fact.name]
        case "claim":
            return f"contradicted {fact.name}"
        case "blind":
            return "ended as unknown or an error"
        case kind:
            level = "a warning" if kind == "warning" else "an error"
            return f"logged {level}, {fact.name!r}"


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.1f} ms"


def _left_possible(one: CellChange) -> str:
    """What share of runs so many leave possible, on both sides."""
    if one.counted is None:
        return ""
    c = one.counted
    (old_low, old_high), (low, high) = interval(c.old, c.old_runs), interval(c.new, c.new_runs)
    return f"{low:.0%} to {high:.0%} of runs, was {old_low:.0%} to {old_high:.0%}"


def _where(runs: Sequence[Ran]) -> list[str]:
    return [visible(run.place or run.run) for run in runs[:LOOK_AT]]


# For people


def lines(one: Comparison) -> Iterator[str]:
    """The comparison on a console, the sentence first."""
    yield visible(sentence(one))
    beside = {id(change) for group in one.together for change in group[1:]}
    for title, changes in _parts(one):
        yield ""
        yield f"{title}:"
        for change in changes:
            same = "in the same runs: " if id(change) in beside else ""
            yield f"  {same}{visible(in_words(change))}  (p {change.p:.2g})"
            for cell in change.cells[:LISTED] if len(change.cells) > 1 else ():
                why = f"  [accepted: {visible(cell.accepted)}]" if cell.accepted else ""
                yield f"      {cell.name}: {visible(figures(change.fact, cell))}{why}"
            if len(change.cells) > LISTED:
                yield f"      … and in {plural(len(change.cells) - LISTED, 'further cell')}"
            first = change.cells[0]
            if possible := _left_possible(first):
                yield f"      {first.name}: {possible} (95 %)"
            for name, runs in (("look at", first.new), ("beside", first.old)):
                for place in _where(runs)[: 1 if name == "beside" else LOOK_AT]:
                    yield f"      {name:8}{place}"
    yield from _rest(one)


def _parts(one: Comparison) -> list[tuple[str, list[Change]]]:
    rest = [change for change in one.changes if not change.regression]
    parts = [
        ("Regressions", list(chain.from_iterable(one.together))),
        ("Accepted", [change for change in rest if change.accepted]),
        ("Also new", [change for change in rest if change.worse and not change.accepted]),
        ("Better, or gone", [change for change in rest if not change.worse]),
    ]
    return [part for part in parts if part[1]]


def _rest(one: Comparison) -> Iterator[str]:
    said = [
        *(f"not compared, the scenario is another: {text}" for text in one.other_code),
        *_listed("too few runs", one.too_few),
        *_listed(f"only in {one.old}", one.only_old),
        *_listed(f"only in {one.new}", one.only_new),
        *one.notes,
    ]
    if said:
        yield ""
    yield from map(visible, said)


def _listed(what: str, cells: Sequence[Cell]) -> list[str]:
    if not cells:
        return []
    more = f" and {len(cells) - LISTED} more" if len(cells) > LISTED else ""
    return [f"{what}: {plural(len(cells), 'cell')}: {', '.join(map(name_of, cells[:LISTED]))}{more}"]


def markdown(one: Comparison) -> str:
    """The comparison for a CI job's summary page."""
    mark = "❌" if one.regressions else "❔" if one.too_little else "✅"
    text = [f"## {mark} {escaped(sentence(one))}\n"]
    for title, changes in _parts(one):
        text.append(f"\n### {title}\n\n| what | cell | now | before | look at | beside |\n|---|---|---|---|---|---|\n")
        for change in changes:
            for cell in change.cells[:LISTED]:
                columns = (*_columns(change, cell), ", ".join(_where(cell.new)), ", ".join(_where(cell.old)[:1]))
                text.append(f"| {' | '.join(map(escaped, columns))} |\n")
            if len(change.cells) > LISTED:
                text.append(f"| {escaped(str(change.fact))} | and {len(change.cells) - LISTED} more cells | | | | |\n")
    rest = [line for line in _rest(one) if line]
    return "".join(text) + ("\n" + "".join(f"- {escaped(line)}\n" for line in rest) if rest else "")


def _columns(change: Change, cell: CellChange) -> tuple[str, str, str, str]:
    if cell.effect is not None:
        now, before = _seconds(cell.effect.new), _seconds(cell.effect.old)
    else:
        assert cell.counted is not None
        c = cell.counted
        now, before = f"{c.new} of {c.new_runs}", f"{c.old} of {c.old_runs}"
    accepted = f" (accepted: {cell.accepted})" if cell.accepted else ""
    return str(change.fact) + accepted, cell.name, now, before


def render_html(one: Comparison) -> str:
    """The page."""
    parts = [
        (
            title,
            [
                {"columns": _columns(change, cell), "p": f"{change.p:.2g}", "new": cell.new, "old": cell.old}
                for change in changes
                for cell in change.cells
            ],
        )
        for title, changes in _parts(one)
    ]
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            style=style(),
            sentence=visible(sentence(one)),
            tone="unexpected" if one.regressions else "unknown" if one.too_little else "as-documented",
            parts=parts,
            rest=[line for line in _rest(one) if line],
            error=f"{one.error:.0%}",
            look_at=LOOK_AT,
        )
    )


# For programs


def as_json(one: Comparison) -> dict[str, Any]:
    """The comparison as plain values."""
    return {
        "schema": SCHEMA,
        "sentence": sentence(one),
        "status": "regression" if one.regressions else "too-little" if one.too_little else "no-regression",
        "old": one.old,
        "new": one.new,
        "cells": len(one.pairs),
        "runs": {
            "old": sum(len(old) for old, _ in one.pairs.values()),
            "new": sum(len(new) for _, new in one.pairs.values()),
        },
        "error": one.error,
        "changes": [_change_json(one, change) for change in one.changes],
        "too_few": [list(cell) for cell in one.too_few],
        "only_old": [list(cell) for cell in one.only_old],
        "only_new": [list(cell) for cell in one.only_new],
        "other_code": list(one.other_code),
        "notes": list(one.notes),
    }


def _change_json(of: Comparison, change: Change) -> dict[str, Any]:
    numbers = [number for number, group in enumerate(of.together, 1) if any(change is one for one in group)]
    return {
        "kind": change.fact.kind,
        "name": change.fact.name,
        "worse": change.worse,
        "regression": change.regression,
        "together": numbers[0] if numbers else None,
        "p": change.p,
        "text": in_words(change),
        "cells": [_cell_json(cell) for cell in change.cells],
    }


def _cell_json(one: CellChange) -> dict[str, Any]:
    scenario, case, version = one.cell
    found: dict[str, Any] = {"scenario": scenario, "case": case, "version": version, "alone": one.alone}
    if one.counted is not None:
        c = one.counted
        found |= {"old": c.old, "old_runs": c.old_runs, "new": c.new, "new_runs": c.new_runs}
        found |= {"old_share": interval(c.old, c.old_runs), "new_share": interval(c.new, c.new_runs)}
    if one.effect is not None:
        e = one.effect
        found |= {"old_ms": e.old, "new_ms": e.new, "spread_ms": e.spread, "longer": e.longer}
    places = {"look_at": [run.place or run.run for run in one.new], "beside": [run.place or run.run for run in one.old]}
    return found | places | {"accepted": one.accepted}


def junit(one: Comparison) -> str:
    """A test case for each cell: failed if a regression shows in it, skipped if it has too few runs."""
    worse: dict[Cell, list[str]] = {}
    for change in one.regressions:
        for cell in change.cells:
            if not cell.accepted:
                worse.setdefault(cell.cell, []).append(f"{cell.name} {figures(change.fact, cell)}")
    few = set(one.too_few)

    def result(cell: Cell) -> NotPassed | None:
        if cell in worse:
            return NotPassed("failure", worse[cell][0], "regression", "\n".join(worse[cell]))
        return NotPassed("skipped", "too few runs") if cell in few else None

    cases = [JUnitCase(f"kafka-chaos.{each[0]}", name_of(each), result=result(each)) for each in one.pairs]
    return render("kafka-chaos compare", [JUnitSuite(f"{one.new} beside {one.old}", cases)])


def webhook(one: Comparison) -> dict[str, str]:
    """The body for a chat's incoming webhook: the sentence, each regression, and which runs to look at. Slack,
    Mattermost, Rocket.Chat and Google Chat read `text`, Discord reads `content`.
    """
    lines = [sentence(one)]
    for change in one.regressions[:LISTED]:
        places = [place for cell in change.cells if not cell.accepted for place in _where(cell.new)]
        lines.append(f"- {in_words(change)}" + (f" (look at {', '.join(places[:LOOK_AT])})" if places else ""))
    if len(one.regressions) > LISTED:
        lines.append(f"- and {len(one.regressions) - LISTED} more")
    text = "\n".join(map(visible, lines))
    return {"text": text, "content": text[:CHAT_LIMIT]}


def write(one: Comparison, folder: Path) -> list[Path]:
    """Write the comparison in all its forms; returns the files. Raises OSError."""
    page, data, summary, tests, chat = (folder / name for name in FILES)
    write_atomically(page, render_html(one))
    write_json(data, as_json(one))
    write_atomically(summary, markdown(one))
    write_atomically(tests, junit(one))
    write_json(chat, webhook(one))
    return [page, data, summary, tests, chat]
