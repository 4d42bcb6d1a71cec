"""What faults cost clients, as a picture and as a table: records acknowledged and read a second, by partition.

A panel is a partition of a run. It has a filled line for what was acknowledged, red for what of it was lost later, and
a plain line for what was read. Faults are shaded for as long as they lasted, and brackets lie over the longest pauses.
Panels of several runs stand one below the other with their first faults at one place, so that two cases of a scenario
can be compared: a clean stop and kill -9.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from checks.catalogue import LOST_WRITE
from evidence.findings import Availability, AvailabilityFigures
from judgement.report.facts import JudgedRun
from judgement.report.timeline_svg.drawing import (
    LEFT,
    RIGHT,
    Drawing,
    LabelRows,
    Scale,
    assembled,
    tag,
    text,
    text_width,
    title,
)
from judgement.report.timeline_svg.faults import short
from judgement.report.timeline_svg.scope import MAX_PARTITIONS

HEIGHT: Final = 74
"""Pixels of a panel's curve."""
HEADINGS: Final = (
    "partition",
    "acknowledged",
    "errors",
    "longest pause of writes",
    "longest pause of reads",
    "first success after a fault",
    "usual rate",
    "lowest",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One partition of one run; times are seconds from where the picture has its zero."""

    name: str
    begin_s: float
    bucket_s: float
    acknowledged: Sequence[float]
    """Records a second, bucket by bucket."""
    read: Sequence[float]
    lost: Sequence[float] = ()
    """Of what was acknowledged: what was lost later, as far as the findings name it."""
    faults: Sequence[tuple[float, float, str]] = ()
    """From when to when, and what."""
    pauses: Sequence[tuple[float, float, str]] = ()

    @property
    def end_s(self) -> float:
        return self.begin_s + self.bucket_s * len(self.acknowledged)


def rows_of(facts: JudgedRun) -> list[Availability]:
    """What the analysis found of each partition that clients wrote to."""
    return [] if facts.findings is None else [one for one in facts.findings.availability if one.acknowledged_in]


def first_fault_ns(facts: JudgedRun) -> int:
    """When the first fault struck; when the run began if none did."""
    return min((f.inject_ns for f in facts.faults if f.proof_type.strikes), default=facts.begin_ns)


def panels(facts: JudgedRun, *, zero_ns: int, name: str = "") -> list[Panel]:
    """The panels of a run, with zero at this time."""

    def at(at_ns: int) -> float:
        return (at_ns - zero_ns) / 1e9

    found = []
    for row in rows_of(facts)[:MAX_PARTITIONS]:
        bucket_s = row.bucket_ms / 1000
        found.append(
            Panel(
                name=name or f"{row.topic}-{row.partition}",
                begin_s=at(row.begin_ns),
                bucket_s=bucket_s,
                acknowledged=[count / bucket_s for count in row.acknowledged_in],
                read=[count / bucket_s for count in row.read_in],
                lost=[count / bucket_s for count in lost_in(facts, row)],
                faults=[
                    (at(max(f.inject_ns, row.begin_ns)), at(min(f.until_ns, row.end_ns)), short(f))
                    for f in facts.faults
                    if f.proof_type.strikes and f.inject_ns < row.end_ns and f.until_ns > row.begin_ns
                ],
                pauses=[
                    (at(pause.at_ns), at(pause.at_ns) + pause.ms / 1000, what)
                    for what, pause in (("no writes", row.write_pause), ("no reads", row.read_pause))
                    if pause is not None
                ],
            )
        )
    return found


def lost_in(facts: JudgedRun, row: Availability) -> list[int]:
    """How many of the records that were acknowledged in each bucket were lost, by the findings; [] if none was."""
    found = [0] * len(row.acknowledged_in)
    for finding in facts.found(LOST_WRITE):
        if (finding.topic, finding.partition) != (row.topic, row.partition):
            continue
        for record in finding.evidence:
            at_ns = record.completed_ns
            bucket = -1 if at_ns is None else (at_ns - row.begin_ns) // (row.bucket_ms * 1_000_000)
            if record.outcome == "ok" and 0 <= bucket < len(found):
                found[bucket] += 1
    return found if any(found) else []


def picture(facts: JudgedRun) -> str:
    """The picture of a run; "" if nobody wrote through it."""
    return draw(panels(facts, zero_ns=facts.begin_ns), f"What clients of {facts.name} saw", "since the start", "kca")


def side_by_side(runs: Sequence[tuple[str, JudgedRun]], heading: str) -> str:
    """Runs one below the other, the busiest partition of each, with their first faults at zero; "" without panels."""
    every = [
        one for name, facts in runs for one in panels(facts, zero_ns=first_fault_ns(facts), name=name)[:1] if one.faults
    ]
    return draw(every, heading, "since the fault", "kcs", standalone=True) if every else ""


def draw(every: Sequence[Panel], heading: str, axis: str, prefix: str, *, standalone: bool = False) -> str:
    """The picture of these panels as an <svg> element; `standalone` adds a headline and a background."""
    if not every:
        return ""
    begin_s, end_s = min(one.begin_s for one in every), max(one.end_s for one in every)
    drawing = Drawing(Scale(begin_s, max(end_s, begin_s + 1.0)), prefix)
    usual = [median(rates) for one in every if (rates := [rate for rate in one.acknowledged if rate])]
    highest = 10.0 * math.ceil(max([*usual, 5.0]) / 5)  # twice the usual rate: what has waited comes in bursts
    y = 12.0
    if standalone:
        drawing.front.append(text(16, y + 12, heading, class_="headline"))
        y += 30
    top = y
    for one in every:
        y = _panel(drawing, one, y, highest) + 10
    for tick in drawing.scale.ticks():
        x = drawing.scale.x(tick)
        drawing.back.append(tag("line", "", x1=x, x2=x, y1=top, y2=y, stroke="var(--grid)", stroke_width=1))
        drawing.front.append(text(x, y + 12, f"{tick:g} s", class_="muted tiny", anchor="middle"))
    drawing.front.append(text(16, y + 12, axis, class_="muted tiny"))
    height = _legend(drawing, y + 26, lost=any(any(one.lost) for one in every)) + 6
    about = f"{heading}: acknowledged and read records a second over time, faults shaded."
    return assembled(drawing, heading, about, height, background=standalone)


def _panel(drawing: Drawing, one: Panel, y: float, highest: float) -> float:
    """Draw a panel from height `y` on; returns where it ends."""
    scale, rows = drawing.scale, LabelRows()
    placed = []
    for begin_s, end_s, what in (*one.faults, *one.pauses):
        x = scale.x(begin_s)
        words = what if what not in ("no writes", "no reads") else f"{what} for {end_s - begin_s:.1f} s"
        placed.append((x, scale.x(end_s), words, rows.place(x, max(scale.x(end_s), x + text_width(words) + 8))))
    top = y + 15 * rows.count + 4
    bottom = top + HEIGHT
    drawing.back.append(tag("rect", x=8, y=y, width=RIGHT - 4, height=bottom - y, fill="var(--lane)", rx=5))
    for number, (left, right, words, row) in enumerate(placed):
        line_y, width = y + 15 * row + 11, max(right - left, 1.5)
        if number < len(one.faults):
            shade = tag("rect", title(words), x=left, y=top, width=width, height=HEIGHT, fill="var(--fault)")
            drawing.back.append(tag("g", shade, opacity=0.14))
            drawing.front.append(text(left + 2, line_y, words, class_="fault-text halo"))
        else:
            colour = "var(--ack)" if words.startswith("no writes") else "var(--leader)"
            bracket = f"M{left:.1f} {line_y + 5:.1f}v-3h{width:.1f}v3"
            drawing.front.append(tag("path", d=bracket, fill="none", stroke=colour, stroke_width=1.4))
            begin = min(left + 2, RIGHT - text_width(words, 10))
            drawing.front.append(text(begin, line_y - 1, words, class_="halo tiny"))
    acknowledged = _steps(scale, one, one.acknowledged, bottom, highest)
    area = f"{acknowledged}V{bottom:.1f}H{scale.x(one.begin_s):.1f}Z"
    drawing.middle.append(tag("path", d=area, fill="var(--ack)", opacity=0.3))
    drawing.middle.append(tag("path", d=acknowledged, fill="none", stroke="var(--ack)", stroke_width=1.4))
    if any(one.lost):
        lost = f"{_steps(scale, one, one.lost, bottom, highest)}V{bottom:.1f}H{scale.x(one.begin_s):.1f}Z"
        words = title("acknowledged, and lost later")
        drawn = tag("path", words, d=lost, fill="var(--lost)", stroke="var(--lost)", stroke_width=1)
        drawing.middle.append(tag("g", drawn, class_="acknowledged-then-lost"))
    if any(one.read):
        read = _steps(scale, one, one.read, bottom, highest)
        drawing.middle.append(tag("path", d=read, fill="none", stroke="var(--leader)", stroke_width=1.1))
    for number, line in enumerate(in_lines(one.name)):
        drawing.front.append(text(16, top + 22 + 14 * number, line, class_="lane-name"))
    drawing.front.append(text(LEFT - 6, top + 8, f"{highest:.0f}/s", class_="muted tiny", anchor="end"))
    drawing.front.append(text(LEFT - 6, bottom, "0", class_="muted tiny", anchor="end"))
    return bottom


def in_lines(name: str) -> list[str]:
    """A panel's name in lines that fit beside its plot, which the dash at their end joins.

    >>> in_lines("leader-and-follower"), in_lines("acks=all")
    (['leader-and-', 'follower'], ['acks=all'])
    """
    lines = [""]
    for part in re.findall(r"[^-]+-?", name):
        if lines[-1] and text_width(lines[-1] + part, 12.5) > LEFT - 16:
            lines.append("")
        lines[-1] += part
    return lines


def _steps(scale: Scale, one: Panel, rates: Sequence[float], bottom: float, highest: float) -> str:
    """A path that goes from bucket to bucket in steps; what is above the highest rate drawn is drawn there."""
    parts = [f"M{scale.x(one.begin_s):.1f} {bottom:.1f}"]
    for number, rate in enumerate(rates):
        height = bottom - HEIGHT * min(rate / highest, 1.0)
        parts.append(f"V{height:.1f}H{scale.x(one.begin_s + (number + 1) * one.bucket_s):.1f}")
    return "".join(parts)


def _legend(drawing: Drawing, y: float, *, lost: bool) -> float:
    x = float(LEFT)
    red = tag("rect", x=0, y=0, width=22, height=11, fill="var(--lost)")
    marks = (
        ("records acknowledged a second", tag("rect", x=0, y=0, width=22, height=11, fill="var(--ack)", opacity=0.5)),
        *([("of these, lost later", red)] if lost else []),
        ("records read a second", tag("path", d="M0 6h22", stroke="var(--leader)", stroke_width=1.6)),
        ("a fault lasts", tag("rect", x=0, y=0, width=22, height=11, fill="var(--fault)", opacity=0.14)),
    )
    for words, icon in marks:
        at = f"translate({x:.1f} {y:.1f})"
        drawing.front.append(tag("g", icon + text(28, 9.5, words, class_="tiny muted"), transform=at))
        x += 28 + text_width(words, 10) + 18
    return y + 16


# The table


def table(rows: Iterable[AvailabilityFigures]) -> Iterator[tuple[str, ...]]:
    """The columns of HEADINGS for each partition, of what a verdict has of it."""
    for row in rows:
        yield (
            f"{row.topic}-{row.partition}",
            str(row.acknowledged),
            f"{row.errors}" + (f" in {_seconds(row.error_ms)}" if row.errors else ""),
            _seconds(row.write_pause_ms),
            _seconds(row.read_pause_ms),
            _seconds(row.first_success_ms),
            _rate(row.usual_per_s or None),
            _rate(row.lowest_per_s),
        )


def _seconds(ms: float | None) -> str:
    return "–" if ms is None else f"{ms / 1000:.2f} s"


def _rate(per_s: float | None) -> str:
    return "–" if per_s is None else f"{per_s:.0f}/s"
