"""Markdown for a CI job's summary page ($GITHUB_STEP_SUMMARY).

A step may write 1024 KiB, and beyond that the whole summary is refused. So the text is built in order of importance
(verdict, table, stories of what failed, stories of the rest) and stops at a budget well below, saying what it left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evidence.text import fenced
from evidence.text import markdown as escaped
from judgement.outcome import BAD, GOOD, UNCERTAIN
from judgement.report import availability, cells, record_ways, story, timings
from judgement.report.facts import JudgedRun, Loaded
from judgement.report.headline import headline, outcome
from judgement.report.html import suite_headline

BUDGET_BYTES: Final = 900 * 1024
MARKS: Final = {
    "as-documented": "✅",
    "observed": "👁",
    "unexpected": "❌",
    "not-reproduced": "❌",
    "unknown": "❔",
    "error": "⚠️",
}
TONES: Final = {GOOD: "🟢", UNCERTAIN: "🟡", BAD: "🔴"}
"""Of outcomes: what became of the records, whether or not that is documented."""


def _row(cell: cells.SuiteCell) -> tuple[str, ...]:
    scenario, version, records, verdict, *rest = cell.row
    return (TONES[cell.outcome[1]], scenario, version, records, f"{MARKS[cell.verdict]} {verdict}", *rest)


def _table(heading: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A small table, a part a line; nothing without rows."""
    if not rows:
        return []
    lines = [headings, ["---"] * len(headings), *([escaped(column) for column in row] for row in rows)]
    return [f"\n### {heading}\n\n", *(f"| {' | '.join(line)} |\n" for line in lines), "\n"]


def _clients(grouped: Sequence[cells.SuiteCell]) -> list[tuple[str, ...]]:
    """What clients saw in the worst run of each cell."""
    return [
        (cell.scenario, cell.label, *row)
        for cell in grouped
        for row in availability.table(cell.worst_run.verdict.availability)
    ]


def _details(facts: JudgedRun) -> str:
    records = outcome(facts)
    about = f"{TONES[records.tone]} {escaped(facts.name)}, seed {facts.run.seed}: {escaped(records.text)}"
    lines = [f"<details><summary>{about}</summary>", "", escaped(headline(facts)), ""]
    lines += [f"- {escaped(reason)}" for reason in facts.verdict.reasons]
    lines += record_ways.markdown_lines(facts)
    for one in story.run_stories(facts).stories[:5]:
        lines += ["", f"**{escaped(one.title)}**", ""]
        for step in one.steps:
            at = "" if step.at_ns is None else f"{facts.at(step.at_ns):.3f} s: "
            lines.append(f"1. {at}{escaped(step.text)}")
            lines += [fenced(quote, indent="   ") for quote in step.quotes]
    lines += ["", fenced(facts.run.command), "</details>", ""]
    return "\n".join(lines)


def render(facts: Sequence[JudgedRun], *, unreadable: Sequence[str] = (), budget_bytes: int = BUDGET_BYTES) -> str:
    """The summary of these runs in at most `budget_bytes` bytes; pure."""
    grouped = cells.failures_first(cells.group(facts))
    overall = cells.worst_of(facts, unreadable)
    parts = [f"## {MARKS[overall]} {escaped(suite_headline(facts))}\n"]
    parts += [f"- not readable: {escaped(line)}\n" for line in unreadable]
    parts.append(
        "\n| | scenario | version | outcome | verdict | documented | seen | runs | time |"
        "\n|---|---|---|---|---|---|---|---|---|\n"
    )
    for cell in grouped:
        parts.append(f"| {' | '.join(escaped(column) for column in _row(cell))} |\n")
    parts.append("\n")
    parts += _table("How long things took", ("claim", "scenario", *timings.HEADINGS[2:]), cells.spreads(grouped))
    parts += _table("What clients saw", ("scenario", "version", *availability.HEADINGS), _clients(grouped))
    bad = [run for cell in grouped for run in cell.runs if not run.verdict.good]
    shown = [
        run
        for run in (cell.runs[0] for cell in grouped)
        if run.verdict.good and (run.everything_found or record_ways.tables(run))
    ]
    parts += [_details(run) for run in [*bad, *shown]]

    written, size = [], 0
    for number, part in enumerate(parts):
        size += len(part.encode())
        if size > budget_bytes - 200:
            written.append(f"\n\n{len(parts) - number} more parts did not fit here; the reports have them all.\n")
            break
        written.append(part)
    return "".join(written)


def markdown(runs: Loaded, *, budget_bytes: int = BUDGET_BYTES) -> str:
    """The summary of many runs."""
    return render(runs.facts, unreadable=runs.unreadable, budget_bytes=budget_bytes)
