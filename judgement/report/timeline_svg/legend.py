"""The legend: a swatch and a word for each kind of mark that this picture has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evidence.course import FROZEN, TopicPartition
from judgement.report.facts import RunFacts
from judgement.report.timeline_svg.drawing import CELL, ROW, WIDTH, Drawing, tag, text, text_width, vertical
from judgement.report.timeline_svg.scope import known_partitions


def legend(drawing: Drawing, facts: RunFacts, y: float, partitions: Sequence[TopicPartition]) -> float:
    """Draw what the marks mean, and how many partitions are not drawn; returns where it ends."""
    swatch: dict[str, Any] = {"width": 22, "height": 11, "rx": 2}
    entries: list[tuple[str, str]] = [
        ("process up", tag("rect", fill="var(--up)", x=0, y=0, **swatch)),
        ("down", tag("rect", fill=drawing.fill("down"), stroke="var(--down)", x=0, y=0, **swatch)),
    ]
    if any(i.value == FROZEN for intervals in facts.processes.values() for i in intervals):
        entries.append(("frozen", tag("rect", fill=drawing.fill("frozen"), stroke="var(--frozen)", x=0, y=0, **swatch)))
    if facts.cuts:
        entries.append(
            ("fault of the network", tag("rect", fill=drawing.fill("cut"), stroke="var(--cut)", x=0, y=0, **swatch))
        )
    entries += [
        ("stated leader", tag("rect", fill="var(--leader)", x=0, y=0, **swatch)),
        ("stated in ISR", tag("rect", fill="var(--isr)", x=0, y=0, **swatch)),
        ("not in ISR", tag("rect", fill="none", stroke="var(--out)", stroke_dasharray="3 3", x=0, y=0, **swatch)),
        (
            "death noticed",
            tag("path", d="M11 1l4.5 4.5l-4.5 4.5l-4.5 -4.5z", fill="var(--controller)"),
        ),
        (
            "election",
            vertical(11, -1, 8, stroke="var(--controller)", stroke_width=1.3)
            + tag("path", d="M8 6l3 5l3 -5z", fill="var(--controller)"),
        ),
    ]
    if facts.moments:
        cells = "".join(
            tag(
                "rect",
                x=i * (CELL + 1) + 0.6,
                y=0,
                width=CELL - 1.2,
                height=11,
                rx=1.5,
                fill=f,
                stroke=s,
                stroke_width=1.3,
            )
            for i, (f, s) in enumerate((("var(--cell)", "var(--cell)"), ("var(--surface)", "var(--cell)")))
        )
        entries.append(
            (
                "records on disk below | above HW",
                cells + vertical(CELL + 0.5, -2, 13, stroke="var(--ink)", stroke_width=1.6),
            )
        )
    if facts.found("lost-write"):
        entries.append(
            (
                "lost record",
                tag("rect", x=6, y=0, width=CELL - 1.2, height=11, rx=1.5, fill="var(--lost)", stroke="var(--lost)"),
            )
        )
    if facts.found("replica-divergence"):
        entries.append(
            (
                "≠ differs between replicas",
                tag("rect", x=6, y=0, width=CELL - 1.2, height=11, rx=1.5, fill="var(--lost)", stroke="var(--lost)")
                + tag(
                    "path",
                    d="M8 3.6h4.6m-4.6 3.8h4.6m-.8 -5.6l-3 7.4",
                    stroke="var(--surface)",
                    stroke_width=1,
                    fill="none",
                ),
            )
        )
    if facts.sends:
        entries.append(("acknowledged @offset", tag("circle", cx=11, cy=5.5, r=4, fill="var(--ack)")))
    x, row = 16.0, 0
    for words, icon in entries:
        width = 28 + text_width(words, 10) + 14
        if x + width > WIDTH - 8:
            x, row = 16.0, row + 1
        drawing.front.append(
            tag(
                "g",
                icon + text(28, 9.5, words, class_="tiny muted"),
                transform=f"translate({x:.1f} {y + row * ROW:.1f})",
            )
        )
        x += width
    left_out = len(known_partitions(facts)) - len(partitions)
    if left_out > 0:
        row += 1
        drawing.front.append(
            text(16, y + row * ROW + 9.5, f"{left_out} more partitions are not drawn", class_="tiny muted")
        )
    return y + (row + 1) * ROW
