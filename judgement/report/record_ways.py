"""The steps by which each record came under the high watermarks, as tables for the reports (evidence.replication)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from evidence.replication import STEPS, Way, topics_of, traced_partitions, ways
from evidence.text import markdown as escaped
from judgement.report.facts import JudgedRun
from judgement.report.steps import named

CLAIM: Final = "high-watermark-follows-in-steps"
"""Runs that are held against this have the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """A number of the table, and whether the step changed it."""

    text: str
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One step."""

    at: str
    """Milliseconds since the record was sent."""
    node: str
    step: str
    ends: tuple[TableCell, ...]
    """The leader's log end and high watermark, the follower's."""
    line: str
    """The broker's own."""

    @property
    def cells(self) -> tuple[str, ...]:
        """As text, what the step changed marked by a star."""
        return (self.at, self.node, self.step, *(f"{one.text}*" if one.changed else one.text for one in self.ends))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTable:
    """How one record came to one follower, and under both high watermarks."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[TableRow, ...]


def tables(facts: JudgedRun) -> tuple[RecordTable, ...]:
    """A table for each record and follower, of runs that are held against that claim."""
    if CLAIM not in {one.name for one in facts.verdict.claims}:
        return ()
    return tuple(
        _table(facts, way)
        for where in traced_partitions(facts, topics_of(facts.run))
        for way in ways(facts, where)
        if way.steps
    )


def _table(facts: JudgedRun, way: Way) -> RecordTable:
    record = facts.record_name(way.record.producer, way.record.sequence)
    where = named((way.record.topic, way.record.partition))
    missing = f" Not told of: {'; '.join(STEPS[name] for name in way.missing)}." if way.missing else ""
    return RecordTable(
        title=f"{record} at offset {way.record.offset} of {where}, by {way.leader} to {way.follower}.{missing}",
        headings=("ms", "broker", "step", "leader LEO", "leader HW", "follower LEO", "follower HW"),
        rows=tuple(_rows(way)),
    )


def _rows(way: Way) -> Iterator[TableRow]:
    before: tuple[str, ...] | None = None
    for name, line in way.steps.items():
        numbers = chain.from_iterable((ends.log_end, ends.high_watermark) for ends in way.ends[name])
        now = tuple("–" if number is None else str(number) for number in numbers)
        yield TableRow(
            at=f"{(line.at_ns - way.record.sent_ns) / 1e6:.0f}",
            node=line.node,
            step=STEPS[name],
            ends=tuple(
                TableCell(text=text, changed=before is not None and text != was)
                for text, was in zip(now, before or now, strict=True)
            ),
            line=line.line,
        )
        before = now


def markdown_lines(facts: JudgedRun) -> Iterator[str]:
    """The tables in Markdown."""
    for table in tables(facts):
        yield from ("", f"**{escaped(table.title)}**", "")
        yield f"| {' | '.join(table.headings)} |"
        yield "|--:|---|---|--:|--:|--:|--:|"
        yield from (f"| {' | '.join(escaped(cell) for cell in row.cells)} |" for row in table.rows)


def text_lines(facts: JudgedRun) -> Iterator[str]:
    """The tables as plain text, in columns."""
    for table in tables(facts):
        yield from ("", table.title, "  LEO and HW of the leader, then of the follower; * is what the step changed")
        lines = [("ms", "broker", "step", "LEO", "HW", "LEO", "HW"), *(row.cells for row in table.rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(table.headings))]
        for line in lines:
            aligned = (
                cell.ljust(width) if column in (1, 2) else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            yield f"  {'  '.join(aligned)}".rstrip()
