"""The legend: a swatch and a word for each kind of mark that this picture has, and what is not drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from evidence.records import TopicPartition
from judgement.report.facts import JudgedRun
from judgement.report.timeline_svg.acts import acts
from judgement.report.timeline_svg.clients import act_mark
from judgement.report.timeline_svg.drawing import (
    CELL,
    ROW,
    WIDTH,
    Drawing,
    box,
    cell,
    differs,
    empty,
    tag,
    text,
    text_width,
    vertical,
)
from judgement.report.timeline_svg.scope import known_partitions

LOST: Final = r'class="cell" fill="[^"]*" stroke="var\(--lost\)"|fill="var\(--lost-soft\)"'
"""In the marks of records that are lost, on a disk and among the clients."""


def entries(drawn: str, fill: Callable[[str], str]) -> list[tuple[str, str]]:
    """The words and the swatch of each kind of mark that stands among the elements drawn. `fill` gives the fill of a
    pattern.
    """

    def swatch(look: str, pattern: str = "") -> str:
        return box(0, 0, 22, 11, look, fill=fill(pattern) if pattern else None)

    noticed = tag("path", d="M11 1l4.5 4.5l-4.5 4.5l-4.5 -4.5z", fill="var(--controller)")
    elected = vertical(11, -1, 8, class_="election") + tag("path", d="M8 6l3 5l3 -5z", fill="var(--controller)")
    cells = cell(0, 0, "var(--cell)") + cell(CELL + 1, 0, "var(--cell)", filled=False)
    copied = cells + vertical(CELL + 0.5, -2, 13, class_="high-watermark")
    different = cell(5.4, 0, "var(--lost)") + differs(5.8, 0, "var(--surface)")
    healed = tag("circle", cx=11, cy=5.5, r=5, fill="var(--surface)", stroke="var(--start)", class_="mark")
    healed += tag("path", d="M8.4 5.8l2 2l3.2 -4.2", stroke="var(--start)", class_="drawn")
    acknowledged = tag("circle", cx=11, cy=5.5, r=4, fill="var(--ack)")
    transaction = tag("line", x1=2, x2=20, y1=5.5, y2=5.5, stroke="var(--ack)", stroke_width=2)
    known = (
        ("process up", 'class="up"', swatch("up")),
        ("down", 'class="down"', swatch("down", "down")),
        ("frozen", 'class="frozen"', swatch("frozen", "frozen")),
        ("fault of the network", 'class="struck"', swatch("struck", "cut")),
        ("healed", 'class="mark healed"', healed),
        ("leader and its epoch, as stated", 'class="leader"', swatch("leader")),
        ("in ISR, as stated", 'class="isr"', swatch("isr")),
        ("not in ISR", 'class="out"', swatch("out")),
        ("death noticed", r" for dead \(", noticed),
        ("election", 'class="election"', elected),
        ("records on disk below | above HW", 'class="cell"', copied),
        ("deleted record", 'class="gone"', empty(5.4, 0, "var(--out)")),
        ("lost record", LOST, cell(5.4, 0, "var(--lost)")),
        ("≠ differs between replicas", 'class="differs"', different),
        ("m3 @2: record m3 acknowledged at offset 2", r'r="4" fill="var\(--ack\)"', acknowledged),
        ("offset committed", r'rx="1" fill="var\(--ack\)"', act_mark("commit", 11, 5.5, "var(--ack)")),
        ("asked or measured", r'rx="1" fill="var\(--surface\)"', act_mark("answer", 11, 5.5, "var(--ack)")),
        ("transaction", ": transaction ", transaction + act_mark("transaction", 20, 5.5, "var(--ack)", 2)),
        ("request of an operator", "l7 4.5l-7 4.5z", act_mark("request", 11, 5.5, "var(--ink)")),
    )
    return [(words, icon) for words, sign, icon in known if re.search(sign, drawn)]


def laid_out(found: Sequence[tuple[str, str]], y: float) -> tuple[list[str], int]:
    """The entries in rows as wide as the picture, and the number of the last row."""
    x, row, groups = 16.0, 0, list[str]()
    for words, icon in found:
        width = 28 + text_width(words, 10) + 14
        if x + width > WIDTH - 8:
            x, row = 16.0, row + 1
        place = f"translate({x:.1f} {y + row * ROW:.1f})"
        groups.append(tag("g", icon + text(28, 9.5, words, class_="tiny muted"), transform=place))
        x += width
    return groups, row


def legend(drawing: Drawing, facts: JudgedRun, y: float, partitions: Sequence[TopicPartition]) -> float:
    """Draw what the marks mean that stand in the picture, and what is not drawn; returns where it ends."""
    found = entries("".join([*drawing.back, *drawing.middle, *drawing.front]), drawing.fill)
    groups, row = laid_out(found, y)
    drawing.front += groups
    hidden = len(known_partitions(facts)) - len(partitions)
    left_out = [*([f"{hidden} more partitions"] if hidden > 0 else []), *facts.once(acts).left_out]
    if left_out:
        row += 1
        words = f"not drawn: {', '.join(left_out)}"
        drawing.front.append(text(16, y + row * ROW + 9.5, words, class_="tiny muted"))
    return y + (row + 1) * ROW
