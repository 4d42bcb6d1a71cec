"""What the terminal shows: live lines while a run goes on, and a table of what came of the runs.

On a terminal the table has columns and colours; elsewhere (a file, CI) each row is one plain line that can be
searched. Colour is never the only carrier of a meaning. NO_COLOR is honoured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from harness.report import cells, story
from harness.report.facts import RunFacts, faults_of, load, load_all
from harness.rundir import RunDir

COLOURS: Final = {"as-documented": "32", "unexpected": "31", "not-reproduced": "31", "unknown": "33", "error": "33"}
HEADINGS: Final = ("scenario", "version", "documented", "seen", "verdict", "runs", "time")


def paint(text: str, verdict: str, colour: bool) -> str:
    """`text` in the colour of a verdict."""
    return f"\x1b[{COLOURS.get(verdict, '0')}m{text}\x1b[0m" if colour else text


def _row(cell: cells.Cell) -> tuple[str, ...]:
    time = "" if cell.seconds is None else f"{cell.seconds:.1f} s"
    return (
        cell.scenario,
        cell.label,
        cell.documented,
        cell.seen,
        cell.verdict,
        f"{cell.good} of {len(cell.runs)}",
        time,
    )


def render(facts: Sequence[RunFacts], *, plain: bool, colour: bool, unreadable: Sequence[str] = ()) -> str:
    """The table of these runs, then for each cell that did not end well what happened and where to look; pure."""
    grouped = cells.group(facts)
    rows = [_row(cell) for cell in grouped]
    lines: list[str] = []
    if plain:
        for cell, row in zip(grouped, rows, strict=True):
            _, _, documented, seen, verdict, runs, time = row
            took = f", {time}" if time else ""
            outcome = f"{runs} as documented (documented {documented}; seen {seen}){took}"
            lines.append(f"{verdict}: {cell.scenario} on {cell.label}: {outcome}")
    elif rows:
        widths = [max(len(row[i]) for row in [HEADINGS, *rows]) for i in range(len(HEADINGS))]

        def line(row: Sequence[str], verdict: str = "") -> str:
            padded = [
                value.rjust(w) if i >= 5 else value.ljust(w)
                for i, (value, w) in enumerate(zip(row, widths, strict=True))
            ]
            if verdict:
                padded[4] = paint(padded[4], verdict, colour)
            return "  ".join(padded).rstrip()

        lines += [line(HEADINGS), "  ".join("─" * width for width in widths)]
        lines += [line(row, cell.verdict) for cell, row in zip(grouped, rows, strict=True)]
    for cell in cells.failures_first(grouped):
        if cell.verdict == "as-documented":
            continue
        bad = cell.worst_run
        lines += [
            "",
            f"{paint(cell.verdict, cell.verdict, colour)}: {cell.scenario} on {cell.label}: {story.headline(bad)}",
        ]
        lines += [f"  - {reason}" for reason in bad.verdict.reasons[:6]]
        lines += [f"  {bad.run_dir.report}", f"  again: {bad.run.get('command')}"]
    lines += [f"not readable: {line}" for line in unreadable]
    return "\n".join(lines)


def table(runs: Iterable[RunDir], *, plain: bool | None = None, colour: bool | None = None) -> str:
    """The table of many runs; by default plain where standard output is no terminal, coloured where it is."""
    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    facts, unreadable = load_all(runs)
    return render(
        facts,
        plain=not terminal or "CI" in os.environ if plain is None else plain,
        colour=terminal and "NO_COLOR" not in os.environ if colour is None else colour,
        unreadable=unreadable,
    )


def told(facts: RunFacts) -> str:
    """The headline of a run and the stories of its records, as plain text."""
    lines = [f"{facts.name}: {facts.verdict.verdict}", story.headline(facts)]
    lines += [f"  - {reason}" for reason in facts.verdict.reasons]
    stories, more = story.stories(facts)
    for one in stories:
        lines += ["", one.title]
        for step in one.steps:
            at = " " * 11 if step.at_ns is None else f"{facts.at(step.at_ns):9.3f} s"
            lines.append(f"{at}  {step.text}")
            lines += [f"{'':13}│ {quote}" for quote in step.quotes]
    if more:
        lines += ["", f"{more} more stories are not told; their evidence is in findings/findings.json"]
    return "\n".join(lines)


def run_summary(run_dir: RunDir) -> str:
    """What came of one run: verdict, story, where the report is, and how to run it again."""
    facts = load(run_dir)
    lines = [told(facts), "", f"report: {run_dir.report}"]
    return "\n".join([*lines, f"again:  {facts.run['command']}"] if facts.run.get("command") else lines)


def progress_line(event: Mapping[str, Any]) -> str | None:
    """One line about an event of the timeline as it happens, or None for those that are not worth a line."""
    match event.get("kind"), event.get("phase"):
        case "step", "begin":
            return f"· {event.get('name')}"
        case "fault", "verified" | "unproved":
            fault = faults_of([event])
            role = (event.get("target") or {}).get("role")
            about = f" ({role})" if role and event.get("fault") != "start" else ""
            mark = "✓" if event.get("phase") == "verified" else "✗"
            return f"{mark} {event.get('description')}{about}: {story.proof_text(fault[0]) if fault else 'no proof'}"
        case "fault", "healed":
            return f"✓ healed: {event.get('description')}"
        case "precondition", _:
            return f"{'✓' if event.get('held') else '✗ did not hold:'} {event.get('name')}"
        case "partition", _:
            leader = event.get("leader")
            who = "no leader" if leader in (None, -1) else f"leader broker-{leader}"
            isr = story.ids(event.get("isr") or ())
            return (
                f"  {event.get('topic')}-{event.get('partition')}: {who}, epoch {event.get('leader_epoch')}, ISR {isr}"
            )
        case "moment", _:
            return f"· replicas' files copied: {event.get('name')}"
        case "acked", _:
            return f"  m{event.get('sequence')} acknowledged at offset {event.get('offset')}"
        case "failed", _:
            return f"  m{event.get('sequence')} failed: {event.get('error_name') or event.get('error')}"
        case "note", _:
            return f"  {event.get('text')}"
        case "blind", "begin":
            return f"✗ the {event.get('source')} observer is blind: {event.get('reason')}"
    return None
