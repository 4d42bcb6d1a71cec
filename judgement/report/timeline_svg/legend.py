"""The legend: a swatch and a word for each kind of mark that this picture has."""

from __future__ import annotations

from collections.abc import Sequence

from evidence.records import TopicPartition
from evidence.run_state import FROZEN
from judgement.report.facts import JudgedRun
from judgement.report.timeline_svg.drawing import (
    CELL,
    ROW,
    WIDTH,
    Drawing,
    box,
    cell,
    differs,
    tag,
    text,
    text_width,
    vertical,
)
from judgement.report.timeline_svg.scope import known_partitions


def legend(drawing: Drawing, facts: JudgedRun, y: float, partitions: Sequence[TopicPartition]) -> float:
    """Draw what the marks mean, and how many partitions are not drawn; returns where it ends."""

    def swatch(look: str, pattern: str = "") -> str:
        return box(0, 0, 22, 11, look, fill=drawing.fill(pattern) if pattern else None)

    entries: list[tuple[str, str]] = [("process up", swatch("up")), ("down", swatch("down", "down"))]
    if any(i.value == FROZEN for intervals in facts.processes.values() for i in intervals):
        entries.append(("frozen", swatch("frozen", "frozen")))
    if facts.cuts:
        entries.append(("fault of the network", swatch("struck", "cut")))
    entries += [
        ("stated leader", swatch("leader")),
        ("stated in ISR", swatch("isr")),
        ("not in ISR", swatch("out")),
        (
            "death noticed",
            tag("path", d="M11 1l4.5 4.5l-4.5 4.5l-4.5 -4.5z", fill="var(--controller)"),
        ),
        (
            "election",
            vertical(11, -1, 8, class_="election") + tag("path", d="M8 6l3 5l3 -5z", fill="var(--controller)"),
        ),
    ]
    if facts.moments:
        cells = cell(0, 0, "var(--cell)") + cell(CELL + 1, 0, "var(--cell)", filled=False)
        mark = vertical(CELL + 0.5, -2, 13, class_="high-watermark")
        entries.append(("records on disk below | above HW", cells + mark))
    if facts.found("lost-write"):
        entries.append(("lost record", cell(5.4, 0, "var(--lost)")))
    if facts.found("replica-divergence"):
        entries.append(("≠ differs between replicas", cell(5.4, 0, "var(--lost)") + differs(5.8, 0, "var(--surface)")))
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
