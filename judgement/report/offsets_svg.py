"""The picture of log ends and high watermarks: a panel a replica over one time axis, as inline SVG.

In each panel the log end is a line, and what lies below the high watermark is filled up to a broken one: what stands
between them is written and not yet committed. All panels of a partition have one scale. Behind them is shaded when the
broker was down, frozen or struck by a fault of the network; below them a band says when it led (full) and when it was
in the ISR (pale). Where brokers told of every step, lines hold until the next one. Where something was only seen at
moments, these are dots. A dotted line joins two moments that saw the same offset. Between two that saw different ones
there is no line: nobody saw when it changed, and it changed in a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from evidence.records import TopicPartition
from evidence.run_state import FROZEN, UP
from judgement.report.facts import JudgedRun, broker_id
from judgement.report.offsets import Point, ReplicaHistory, replicas_over_time, worth_drawing
from judgement.report.steps import named
from judgement.report.timeline_svg.across import axis
from judgement.report.timeline_svg.drawing import (
    LEFT,
    RIGHT,
    Drawing,
    Scale,
    assembled,
    lane,
    tag,
    text,
    text_width,
    title,
)
from judgement.report.timeline_svg.scope import chosen_partitions, window_of

HEIGHT: Final = 78
MARGIN: Final = 8
BAND: Final = 4
MAX_DOTS: Final = 200
"""A line of more points has no dots to point at."""
WITNESS_CHARS: Final = 220


def render(facts: JudgedRun, *, prefix: str = "kc3", standalone: bool = False, traced: bool = False) -> str:
    """The picture as an <svg> element; "" if nothing is known of more than one moment. `standalone` adds a background,
    for a file of its own; with `traced` only partitions are drawn whose brokers told of every step.
    """
    drawn = [(where, replicas_over_time(facts, where)) for where in chosen_partitions(facts)]
    drawn = [(where, replicas) for where, replicas in drawn if worth_drawing(replicas)]
    drawn = [(where, replicas) for where, replicas in drawn if not traced or all(one.traced for one in replicas)]
    if not drawn:
        return ""
    drawing = Drawing(Scale(*window_of(facts)), prefix)
    y = 6.0
    for where, replicas in drawn:
        top = max((p.offset for one in replicas for p in (*one.log_ends, *one.high_watermarks)), default=0) or 1
        for one in replicas:
            _panel(drawing, facts, where, one, y, top, alone=len(drawn) == 1)
            y += HEIGHT + 6
    bottom = axis(drawing, 6.0, y - 8)
    _legend(drawing, facts, [one for _, replicas in drawn for one in replicas], bottom + 8)
    names = ", ".join(named(where) for where, _ in drawn)
    description = (
        f"For each replica of {names}, where its log ended and how far its high watermark had come, over time."
    )
    name = f"{facts.name}: log ends and high watermarks"
    return assembled(drawing, name, description, bottom + 26, background=standalone)


def _panel(
    drawing: Drawing, facts: JudgedRun, where: TopicPartition, one: ReplicaHistory, y: float, top: int, *, alone: bool
) -> None:
    lane(drawing, y, HEIGHT, one.node, "" if alone else named(where))
    last = [
        (name, points[-1].offset) for name, points in (("LEO", one.log_ends), ("HW", one.high_watermarks)) if points
    ]
    for number, (name, offset) in enumerate(last):
        drawing.front.append(text(16, y + 45 + 13 * number, f"{name} {offset}", class_="muted tiny"))
    _shade(drawing, facts, one.node, y)
    floor = y + HEIGHT - MARGIN - BAND
    for offset in (0, top):
        height = _height(offset, y, top)
        drawing.back.append(tag("line", x1=LEFT, x2=RIGHT, y1=height, y2=height, stroke="var(--grid)", stroke_width=1))
        drawing.front.append(text(LEFT - 5, height + 3.5, str(offset), class_="muted tiny", anchor="end"))
    _band(drawing, facts, where, one.node, floor + 3)
    marks, ends = thinned(drawing, facts, one.high_watermarks), thinned(drawing, facts, one.log_ends)
    if marks and one.traced:
        outline = _steps(drawing, facts, marks, y, top, until=True)
        area = f"{outline}V{floor:.1f}H{drawing.scale.x(facts.at(marks[0].at_ns)):.1f}Z"
        drawing.middle.append(tag("path", d=area, fill="var(--isr)", opacity=0.55))
    look: dict[str, Any] = {"fill": "none", "stroke_linejoin": "round"}
    for points, colour, dashes in ((marks, "var(--leader)", "5 2.5"), (ends, "var(--ink)", None)):
        if points:
            path = _steps(drawing, facts, points, y, top, until=one.traced)
            dashes = dashes if one.traced else "1 4"
            drawing.middle.append(tag("path", d=path, stroke=colour, stroke_width=1.7, stroke_dasharray=dashes, **look))
    for dots, name, shape in ((one.high_watermarks, "high watermark", "hw"), (one.log_ends, "log end", "leo")):
        if len(dots) <= MAX_DOTS:
            drawing.front += [_dot(drawing, facts, one, point, name, shape, y, top) for point in dots]


def _height(offset: int, y: float, top: int) -> float:
    floor, ceiling = y + HEIGHT - MARGIN - BAND, y + MARGIN
    return floor - (floor - ceiling) * offset / top


def _steps(drawing: Drawing, facts: JudgedRun, points: Sequence[Point], y: float, top: int, *, until: bool) -> str:
    """The path of a line of steps, which holds the last to the end; without `until` of points that were seen at
    moments: only those of one offset are joined.
    """
    scale = drawing.scale
    parts = [f"M{scale.x(facts.at(points[0].at_ns)):.1f} {_height(points[0].offset, y, top):.1f}"]
    for before, point in pairwise(points):
        x, height = scale.x(facts.at(point.at_ns)), _height(point.offset, y, top)
        if until or point.offset == before.offset:
            parts.append(f"H{x:.1f}" + (f"V{height:.1f}" if until else ""))
        else:
            parts.append(f"M{x:.1f} {height:.1f}")
    if until:
        parts.append(f"H{scale.x(facts.at(facts.end_ns)):.1f}")
    return "".join(parts)


def thinned(drawing: Drawing, facts: JudgedRun, points: Sequence[Point]) -> list[Point]:
    """Of the points of half a pixel only the first, the lowest, the highest and the last: more would not show."""
    found, column = list[Point](), list[Point]()
    place = None
    for point in points:
        at = round(2 * drawing.scale.x(facts.at(point.at_ns)))
        if at != place and column:
            found += _extremes(column)
            column = []
        place = at
        column.append(point)
    return [*found, *(_extremes(column) if column else ())]


def _extremes(column: Sequence[Point]) -> list[Point]:
    lowest, highest = min(column, key=lambda p: p.offset), max(column, key=lambda p: p.offset)
    chosen = (column[0], lowest, highest, column[-1])
    return [point for point in column if any(point is one for one in chosen)]


def _dot(
    drawing: Drawing, facts: JudgedRun, one: ReplicaHistory, point: Point, name: str, shape: str, y: float, top: int
) -> str:
    x, height = drawing.scale.x(facts.at(point.at_ns)), _height(point.offset, y, top)
    witness = point.witness if len(point.witness) <= WITNESS_CHARS else point.witness[: WITNESS_CHARS - 1] + "…"
    about = title(f"{facts.at(point.at_ns):.3f} s: {name} of {one.node} {point.offset}, {witness}")
    return tag("g", about + _mark(shape, x, height, 1.7 if one.traced else 3.2))


def _mark(shape: str, x: float, y: float, size: float) -> str:
    """A disc for a log end, a square for a high watermark."""
    if shape == "leo":
        return tag("circle", cx=x, cy=y, r=size, fill="var(--ink)")
    return tag("rect", x=x - size, y=y - size, width=2 * size, height=2 * size, fill="var(--leader)")


def _spells(facts: JudgedRun, node: str) -> Iterator[tuple[str, int, int, str]]:
    """Pattern, begin, end and name of each time in which something was the matter with a broker."""
    for interval in facts.processes.get(node, ()):
        if interval.value != UP:
            pattern = "frozen" if interval.value == FROZEN else "down"
            yield pattern, interval.begin_ns, interval.end_ns, f"{node} {interval.value} ({interval.detail})"
    for struck, interval in facts.cuts:
        if struck == node:
            yield "cut", interval.begin_ns, interval.end_ns, interval.detail


def _shade(drawing: Drawing, facts: JudgedRun, node: str, y: float) -> None:
    for pattern, begin_ns, end_ns, name in _spells(facts, node):
        begin, end = drawing.scale.x(facts.at(begin_ns)), drawing.scale.x(facts.at(end_ns))
        if end - begin >= 0.5:
            box: dict[str, Any] = {"x": begin, "y": y, "width": end - begin, "height": HEIGHT}
            drawing.middle.append(tag("rect", title(name), fill=drawing.fill(pattern), opacity=0.3, **box))


def _band(drawing: Drawing, facts: JudgedRun, where: TopicPartition, node: str, y: float) -> None:
    """When the broker led, and when it was in the ISR, as the cluster stated."""
    number = broker_id(node)
    for state in facts.partitions.get(where, ()):
        if number not in (state.leader, *state.isr):
            continue
        begin, end = drawing.scale.x(facts.at(state.begin_ns)), drawing.scale.x(facts.at(state.end_ns))
        leads = state.leader == number
        about = title(f"{node} {f'leads in epoch {state.leader_epoch}' if leads else 'is in the ISR'}")
        fill = "var(--leader)" if leads else "var(--isr)"
        drawing.middle.append(tag("rect", about, x=begin, y=y, width=max(end - begin, 0.5), height=BAND, fill=fill))


def _legend(drawing: Drawing, facts: JudgedRun, replicas: Sequence[ReplicaHistory], y: float) -> None:
    swatch: dict[str, Any] = {"x": 0, "y": 0, "width": 22, "height": 10, "rx": 2}
    line: dict[str, Any] = {"x1": 0, "x2": 22, "stroke_width": 1.7}
    entries: list[tuple[str, str]] = []
    if any(one.traced for one in replicas):
        below = tag("rect", fill="var(--isr)", opacity=0.55, **(swatch | {"y": 5, "height": 6, "rx": 0}))
        entries += [
            ("log end", tag("line", y1=5, y2=5, stroke="var(--ink)", **line)),
            (
                "high watermark",
                below + tag("line", y1=5, y2=5, stroke="var(--leader)", stroke_dasharray="5 2.5", **line),
            ),
        ]
    if not all(one.traced for one in replicas):
        entries.append(("log end, seen at a moment", _mark("leo", 11, 5, 3.2)))
        entries.append(("high watermark, seen at a moment", _mark("hw", 11, 5, 3.2)))
    entries += [
        ("leads", tag("rect", fill="var(--leader)", **(swatch | {"y": 3, "height": BAND}))),
        ("in the ISR", tag("rect", fill="var(--isr)", **(swatch | {"y": 3, "height": BAND}))),
    ]
    seen = {pattern for one in replicas for pattern, *_ in _spells(facts, one.node)}
    for pattern, name in (("down", "down"), ("frozen", "frozen"), ("cut", "fault of the network")):
        if pattern in seen:
            entries.append((name, tag("rect", fill=drawing.fill(pattern), opacity=0.5, **swatch)))
    x = 16.0
    for words, icon in entries:
        drawing.front.append(
            tag("g", icon + text(28, 9, words, class_="tiny muted"), transform=f"translate({x:.1f} {y:.1f})")
        )
        x += 28 + text_width(words, 10) + 14
