"""The output on the terminal: live lines during a run, and a table of the runs' outcomes.

On a terminal the table has columns and colours; elsewhere (a file, CI) each row is one plain line that can be
searched. Colour is never the only carrier of a meaning. NO_COLOR is honoured.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from evidence import events
from evidence.events import Event
from evidence.run_state import faults_of
from evidence.text import visible
from judgement.outcome import BAD, GOOD, UNCERTAIN
from judgement.report import availability, cells, record_ways, steps, story
from judgement.report.facts import JudgedRun, Loaded
from judgement.report.headline import headline, outcome

COLOURS: Final = {
    "as-documented": "32",
    "observed": "32",
    "unexpected": "31",
    "not-reproduced": "31",
    "unknown": "33",
    "error": "33",
    GOOD: "32",
    BAD: "31",
    UNCERTAIN: "33",
}
"""Colours of verdicts and of the tones of outcomes."""
WIDTH: Final = 100
"""Width in columns of text that does not go to a terminal."""
HEADINGS: Final = ("scenario", "version", "outcome", "verdict", "documented", "seen", "runs", "time")
NUMBERS: Final = ("runs", "time")
SPARED: Final = ("seen", "documented")
"""The columns that a table that is too wide leaves out, in this order."""


def paint(text: str, verdict: str, colour: bool) -> str:
    """`text` in the colour of a verdict or of an outcome's tone, without control characters of its own."""
    return _coloured(visible(text), COLOURS.get(verdict, "0"), colour)


def render(
    facts: Sequence[JudgedRun], *, plain: bool, colour: bool, unreadable: Sequence[str] = (), room: int | None = None
) -> str:
    """The table of these runs, then for each cell that did not end well what happened and where to look; pure.

    A table wider than `room` columns leaves out what was seen, then what is documented: reports have both.
    """
    grouped = cells.group(facts)
    rows = [tuple(visible(column) for column in cell.row) for cell in grouped]
    lines: list[str] = []
    if plain:
        for row in rows:
            scenario, version, records, verdict, documented, seen, runs, time = row
            took = f", {time}" if time else ""
            held = f"{runs} as documented (documented {documented}; seen {seen}){took}"
            lines.append(f"{scenario} on {version}: {records}: {verdict}, {held}")
    elif rows:
        widths = {name: max(map(len, column)) for name, *column in zip(HEADINGS, *rows, strict=True)}
        widths |= {name: max(width, len(name)) for name, width in widths.items()}
        for name in SPARED:
            if room is not None and sum(widths.values()) + 2 * (len(widths) - 1) > room:
                del widths[name]

        def line(row: Sequence[str], tone: str = "", verdict: str = "") -> str:
            values = dict(zip(HEADINGS, row, strict=True))
            padded = {n: values[n].rjust(w) if n in NUMBERS else values[n].ljust(w) for n, w in widths.items()}
            if verdict:
                padded["outcome"] = paint(padded["outcome"], tone, colour)
                padded["verdict"] = paint(padded["verdict"], verdict, colour)
            return "  ".join(padded.values()).rstrip()

        lines += [line(HEADINGS), "  ".join("─" * width for width in widths.values())]
        lines += [line(row, cell.outcome[1], cell.verdict) for cell, row in zip(grouped, rows, strict=True)]
    for cell in cells.failures_first(grouped):
        if cell.worst_run.verdict.good:
            continue
        bad = cell.worst_run
        lines += [
            "",
            paint(cell.verdict, cell.verdict, colour) + visible(f": {cell.scenario} on {cell.label}: {headline(bad)}"),
        ]
        lines += [f"  - {visible(reason)}" for reason in bad.verdict.reasons[:6]]
        lines += [f"  {bad.run_dir.report}", f"  again: {visible(bad.run.command)}"]
    lines += [f"not readable: {visible(line)}" for line in unreadable]
    return "\n".join(lines)


def in_colour() -> bool:
    """Whether standard output is a terminal with colours and NO_COLOR is not set."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")


def columns() -> int:
    """How wide text on standard output may be: the terminal, from 80 to 120 columns; 100 in a file."""
    return min(120, max(80, shutil.get_terminal_size((WIDTH, 24)).columns))


def table(runs: Loaded, *, plain: bool | None = None, colour: bool | None = None) -> str:
    """The table of many runs; by default plain where standard output is no terminal, coloured where it is."""
    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return render(
        runs.facts,
        plain=not terminal or "CI" in os.environ if plain is None else plain,
        colour=in_colour() if colour is None else colour,
        unreadable=runs.unreadable,
        room=shutil.get_terminal_size().columns if terminal else None,
    )


FIRST_PRODUCER: Final = 1
WITNESS: Final = 10
"""Columns for the name of a witness."""
PAINT: Final = {
    "ack": "32",
    "read": "32",
    "fault": "31",
    "failed": "31",
    "truncate": "31",
    "passed": "31",
    "replaced": "33",
    "election": "35",
    "controller": "35",
    "gone": "35",
    "disk": "36",
}
"""Colours of steps, by their kind; the others have none."""


STAMP: Final = re.compile(r"\[\d{4}-[^]]*\] ")
WHOLE: Final = re.compile(r"(?:ISR )?\[\d+(?:, \d+)*\]|LEO \d+, HW \d+|\d s\b|\(epoch \d+\)")
"""Phrases that are not broken at the end of a line: brokers, ends of logs, times."""


def _coloured(text: str, code: str | None, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code else text


def story_lines(facts: JudgedRun, one: story.Story, *, width: int, colour: bool = False) -> Iterator[str]:
    """A story for people: its title, what was found, and a step a line, wrapped at `width` columns."""
    yield from (_coloured(line, "1", colour) for line in wrapped(one.title, width))
    about = [one.about, *(f"{anomaly}: {sentence}" for anomaly, sentence in one.findings), one.setting.rstrip(".")]
    for line in filter(None, about):
        first, *rest = wrapped(line, width - 4)
        yield from (f"  {first}", *(f"    {part}" for part in rest))
    indent = " " * (13 + WITNESS + 2)
    for step in one.steps:
        at = " " * 11 if step.at_ns is None else f"{facts.at(step.at_ns):9.3f} s"
        first, *rest = wrapped(step.text, width - len(indent))
        yield f"{at}  {step.witness:<{WITNESS}}  {_coloured(first, PAINT.get(step.kind), colour)}"
        yield from (f"{indent}{_coloured(line, PAINT.get(step.kind), colour)}" for line in rest)
        for quote in step.quotes:
            # Its time stands in front of the step already; what the step says in full needs no more than a hint.
            lines = wrapped(STAMP.sub("", quote), width - len(indent) - 4)
            if step.kind == "log" and len(lines) > 1:
                lines = [f"{lines[0]} …"]
            yield from (_coloured(f"{indent}│ {line}", "2", colour) for line in lines)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, without control characters; a newline is a space."""
    whole = WHOLE.sub(lambda found: found[0].replace(" ", "\xa0"), visible(text.replace("\n", " ")))
    return [line.replace("\xa0", " ") for line in textwrap.wrap(whole, width, break_on_hyphens=False)] or [""]


def first_line(facts: JudgedRun, *, colour: bool) -> str:
    """What became of the records of a run, and beside it how that stands to what is documented."""
    records, verdict = outcome(facts), facts.verdict.verdict
    return f"{visible(facts.name)}: {paint(records.text, records.tone, colour)} ({paint(verdict, verdict, colour)})"


def run_text(facts: JudgedRun, *, width: int = WIDTH, colour: bool = False) -> str:
    """The headline of a run and the stories of its records, as plain text."""
    lines = [first_line(facts, colour=colour), *wrapped(headline(facts), width)]
    lines += [f"  - {visible(reason)}" for reason in facts.verdict.reasons]
    for told in (facts.verdict.build, facts.verdict.unconfirmed):
        lines += [f"  {visible(line)}" for line in wrapped(told, width - 2) if line]
    for judged in facts.verdict.claims:
        first, *rest = wrapped(f"claim {judged.name}: {visible(judged.text)}", width - 4)
        lines += [f"  {first}", *(f"    {line}" for line in rest)]
    for row in availability.table(facts.verdict.availability):
        told = ", ".join(f"{name} {value}" for name, value in zip(availability.HEADINGS[1:], row[1:], strict=True))
        first, *rest = wrapped(f"clients of {row[0]}: {told}", width - 4)
        lines += [f"  {first}", *(f"    {line}" for line in rest)]
    lines += (visible(line) for line in record_ways.text_lines(facts))
    found = story.run_stories(facts)
    for one in found.stories:
        lines += ["", *story_lines(facts, one, width=width, colour=colour)]
    if found.more:
        lines += ["", f"{found.more} more stories are not told; their evidence is in findings/findings.json"]
    return "\n".join(lines)


def run_summary(facts: JudgedRun) -> str:
    """What came of one run: verdict, story, where the report is, and how to run it again."""
    lines = [run_text(facts, width=columns(), colour=in_colour()), "", f"report: {facts.run_dir.report}"]
    return "\n".join([*lines, f"again:  {visible(facts.run.command)}"] if facts.run.command else lines)


def _live_name(event: events.Acked | events.Failed) -> str:
    """A record as the report will name it, and its producer unless that is the first, which every run has."""
    return f"m{event.sequence}" + (f" of producer {event.producer}" if event.producer != FIRST_PRODUCER else "")


def progress_line(event: Event) -> str | None:
    """One line about an event of the timeline as it happens, or None for those that are not worth a line."""
    match event:
        case events.Step(phase="begin"):
            return f"· {event.name}"
        case events.Fault(phase="verified" | "unproved"):
            (fault,) = faults_of([event])
            about = f" ({event.target.role})" if event.target.role and not fault.starts else ""
            mark = "✓" if event.phase == "verified" else "✗"
            return f"{mark} {event.description}{about}: {steps.proof_text(fault)}"
        case events.Fault(phase="healed"):
            return f"✓ healed: {event.description}"
        case events.Precondition():
            return f"{'✓' if event.held else '✗ did not hold:'} {event.name}"
        case events.Duty():
            return f"{'✓ Kafka does what it owes:' if event.held else '✗ Kafka owes this:'} {event.name}"
        case events.Partition():
            who = "no leader" if event.leader == events.NO_LEADER else f"leader broker-{event.leader}"
            where = steps.named((event.topic, event.partition))
            return f"  {where}: {who}, epoch {event.leader_epoch}, ISR {steps.ids(event.isr)}"
        case events.Moment():
            return f"· replicas' files copied: {event.name}"
        case events.Acked():
            return f"  {_live_name(event)} acknowledged at offset {event.offset}"
        case events.Failed():
            how = "failed" if event.outcome == "fail" else "has no known outcome"
            return f"  {_live_name(event)} {how}: {event.error}"
        case events.Note():
            return f"  {event.text}"
        case events.Blind(phase="begin"):
            return f"✗ the {event.source} observer is blind: {event.reason}"
    return None
