"""The picture of a run: lanes over a common, linear time axis, as hand-written SVG without script or network.

From top to bottom: the faults, each with a stem into the lane of the broker it struck; the controller; one lane a
broker; the clients. A broker's lane shows two things apart, because the stories turn on their difference:

- what its process was (thin band: up, down, frozen, cut), as Docker and the kernel say;
- what the cluster *stated* of it (thick band: leader with its epoch, in the ISR, out of it), as ZooKeeper or the
metadata log
  say. A leader's band over a dead process is an election of the dead, and is hatched.

Below the bands stand what was on its disk at the moments when files were copied (one cell a record: filled below the
high watermark, hollow above it, red for a record that was acknowledged and is lost) and the truncations its own log
reports.

Nothing is drawn that was not recorded. Colours come with a pattern, a shape or a word, so the picture can be read in
grey; each mark says in its <title> what it is and what proves it. Light and dark follow the reader's setting.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Final

from harness.report.facts import (
    DOWN,
    FROZEN,
    UP,
    FaultFact,
    Interval,
    LogLine,
    Moment,
    RunFacts,
    Send,
    Step,
    TopicPartition,
    broker_id,
)
from harness.report.story import headline, merged_truncations, proof_text

WIDTH: Final = 1200
LEFT: Final = 118
RIGHT: Final = 1184
MAX_PARTITIONS: Final = 3
MAX_CELLS: Final = 8
SPANS: Final = ("final read", "load")
"""Steps of the clients' that are drawn for as long as they last, by how their names begin."""
CELL: Final = 9
ROW: Final = 17
CHAR: Final = 0.615
"""Width of a character as a share of its font size: generous, so that text never runs out of its box."""

STYLE: Final = (Path(__file__).parent / "templates" / "timeline.css").read_text()


@dataclass(frozen=True, slots=True)
class Scale:
    """Seconds to pixels, linear."""

    begin_s: float
    end_s: float

    def x(self, at_s: float) -> float:
        """Horizontal position, held inside the plot."""
        share = (at_s - self.begin_s) / (self.end_s - self.begin_s)
        return LEFT + (RIGHT - LEFT) * min(1.0, max(0.0, share))

    def holds(self, at_s: float) -> bool:
        return self.begin_s <= at_s <= self.end_s

    def ticks(self) -> list[float]:
        """Round times, 70 to 180 pixels apart.

        >>> Scale(5.0, 20.0).ticks()[:3]
        [5.0, 6.0, 7.0]
        """
        span = self.end_s - self.begin_s
        raw = span / ((RIGHT - LEFT) / 70)
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(f * power for f in (1, 2, 5, 10) if f * power >= raw)
        first = math.ceil(self.begin_s / step - 1e-9)
        last = math.floor(self.end_s / step + 1e-9)
        return [round(i * step, 6) for i in range(first, last + 1)]


class Rows:
    """Puts labels into the first row in which they do not overlap another."""

    def __init__(self) -> None:
        self._ends: list[list[tuple[float, float]]] = []

    def place(self, begin: float, end: float) -> int:
        """The row for a label from `begin` to `end` (pixels)."""
        for number, taken in enumerate(self._ends):
            if all(end + 4 <= b or begin >= e + 4 for b, e in taken):
                taken.append((begin, end))
                return number
        self._ends.append([(begin, end)])
        return len(self._ends) - 1

    @property
    def count(self) -> int:
        return len(self._ends)


def text_width(text: str, size: float = 11) -> float:
    """About how many pixels a text takes."""
    return len(text) * size * CHAR


def tag(name: str, content: str = "", **attributes: object) -> str:
    """One SVG element; attribute names use _ for -, a trailing _ is dropped; numbers are rounded; text is not
    escaped.

    >>> tag("rect", x=1.25, fill="red")
    '<rect x="1.2" fill="red"/>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        shown = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
        parts.append(f'{key.rstrip("_").replace("_", "-")}="{escape(shown, quote=True)}"')
    opening = " ".join(parts)
    return f"<{opening}>{content}</{name}>" if content else f"<{opening}/>"


def text(x: float, y: float, content: str, *, class_: str = "", anchor: str | None = None) -> str:
    """A text element, escaped."""
    return tag("text", escape(content), x=x, y=y, class_=class_ or None, text_anchor=anchor)


def title(content: str) -> str:
    """What a mark says when pointed at."""
    return f"<title>{escape(content)}</title>"


@dataclass(slots=True)
class Drawing:
    """The elements of the picture by layer, so that what is behind is written first."""

    scale: Scale
    prefix: str
    back: list[str] = field(default_factory=list)
    middle: list[str] = field(default_factory=list)
    front: list[str] = field(default_factory=list)

    def fill(self, pattern: str) -> str:
        return f"url(#{self.prefix}-{pattern})"


def known_partitions(facts: RunFacts) -> set[TopicPartition]:
    """The partitions of the run's own topics; internal topics, such as that of committed offsets, are not its
    subject.
    """
    return set(facts.assignment) or set(facts.partitions)


def chosen_partitions(facts: RunFacts) -> list[TopicPartition]:
    """The partitions to draw: those with findings first, at most three."""
    known = known_partitions(facts)
    with_findings = [
        (str(f.get("topic")), int(f.get("partition") or 0))
        for f in (facts.findings or {}).get("findings") or ()
        if f.get("topic") is not None
    ]
    every = dict.fromkeys([*(p for p in with_findings if p in known), *sorted(known)])
    return sorted(list(every)[:MAX_PARTITIONS])


def window_of(facts: RunFacts) -> tuple[float, float]:
    """The time to draw, in seconds: from just before the topic's first leader to the last event."""
    known = known_partitions(facts)
    topic = [states[0].begin_ns for where, states in facts.partitions.items() if where in known and states]
    first = [*topic, *(send.sent_ns for send in facts.sends), *(fault.inject_ns for fault in facts.faults)]
    begin_s = facts.at(min(first)) if first else 0.0
    end_s = facts.at(facts.end_ns)
    begin_s = max(0.0, math.floor((begin_s - 0.2) * 2) / 2)
    return begin_s, max(end_s + 0.03 * (end_s - begin_s), begin_s + 1.0)


def render(
    facts: RunFacts, *, standalone: bool = False, window_s: tuple[float, float] | None = None, prefix: str = "kc"
) -> str:
    """The picture as an <svg> element. `standalone` adds a headline and a background, for a file of its own."""
    drawing = Drawing(Scale(*(window_s or window_of(facts))), prefix)
    y = 12.0
    if standalone:
        y = _headline(drawing, facts, y)
    icons: dict[str, float] = {}
    y = _faults_lane(drawing, facts, y, icons)
    lanes_top = y
    y = _controller_lane(drawing, facts, y + 6)
    tops: dict[str, tuple[float, float]] = {}
    partitions = chosen_partitions(facts)
    for node in facts.brokers:
        top = y + 6
        y = _broker_lane(drawing, facts, node, partitions, top)
        tops[node] = (top, y)
    y = _client_lane(drawing, facts, y + 6)
    bottom = y
    _stems(drawing, facts, tops, icons)
    _elections(drawing, facts, partitions, tops, lanes_top)
    _blind(drawing, facts, lanes_top, bottom)
    y = _axis(drawing, lanes_top, _moments(drawing, facts, lanes_top, bottom))
    y = _legend(drawing, facts, y + 8, partitions)
    return _assemble(drawing, facts, y + 6, standalone)


def _assemble(drawing: Drawing, facts: RunFacts, height: float, standalone: bool) -> str:
    prefix = drawing.prefix
    name = f"{facts.name}: {facts.verdict.verdict}"
    description = (
        f"{headline(facts)} Lanes over time for the faults, the controller, {', '.join(facts.brokers)} and the clients."
    )
    parts = [
        f'<svg class="kc" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" aria-labelledby="{prefix}-title {prefix}-desc">',
        f'<title id="{prefix}-title">{escape(name)}</title><desc id="{prefix}-desc">{escape(description)}</desc>',
        f"<style>{STYLE}</style>",
        _patterns(prefix),
    ]
    if standalone:
        parts.append(tag("rect", x=0, y=0, width=WIDTH, height=height, fill="var(--surface)", rx=8))
    parts += [*drawing.back, *drawing.middle, *drawing.front, "</svg>"]
    return "\n".join(parts) + "\n"


def _patterns(prefix: str) -> str:
    def pattern(name: str, size: int, content: str, rotate: int = 0) -> str:
        turn = f"rotate({rotate})" if rotate else None
        return tag(
            "pattern",
            content,
            id=f"{prefix}-{name}",
            width=size,
            height=size,
            patternUnits="userSpaceOnUse",
            patternTransform=turn,
        )

    line = '<line x1="0" y1="0" x2="0" y2="{0}" stroke="var(--{1})" stroke-width="{2}"/>'
    return tag(
        "defs",
        pattern("down", 6, line.format(6, "down", 2.2), 45)
        + pattern("dead", 7, line.format(7, "surface", 3.4), 45)
        + pattern(
            "frozen",
            8,
            '<rect width="8" height="8" fill="var(--frozen)"/>'
            '<path d="M4 1V7M1 4H7" stroke="var(--surface)" stroke-width="1.2"/>',
        )
        + pattern("cut", 8, '<path d="M0 6L2 2L4 6L6 2L8 6" fill="none" stroke="var(--cut)" stroke-width="1.6"/>')
        + pattern("blind", 10, line.format(10, "muted", 1), 20),
    )


def _headline(drawing: Drawing, facts: RunFacts, y: float) -> float:
    words = f"{facts.name}: {facts.verdict.verdict}"
    drawing.front.append(text(16, y + 12, words, class_="headline"))
    lines = _wrapped(headline(facts), int((WIDTH - 40) / (12 * CHAR)))[:2]
    for number, line in enumerate(lines):
        drawing.front.append(
            tag("text", escape(line), x=16, y=y + 31 + 16 * number, class_="muted", style="font-size:12px")
        )
    return y + 44 + 16 * (len(lines) - 1)


def _wrapped(sentence: str, limit: int) -> list[str]:
    lines, current = [], ""
    for word in sentence.split():
        if current and len(current) + 1 + len(word) > limit:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}".strip()
    return [*lines, current]


# Faults


FAULT_VERB: Final = {"kill": "kill -9", "stop": "stop", "start": "start", "freeze": "freeze", "cut": "cut"}


def _short(fault: FaultFact) -> str:
    if fault.kind == "cut":
        return fault.description.removeprefix("network ")
    verb = FAULT_VERB.get(fault.kind, fault.kind)
    return f"{verb} {fault.node}"


def _role(fault: FaultFact) -> str:
    return "" if not fault.role or fault.role.startswith("replica of") or fault.kind in ("start", "cut") else fault.role


def _fault_title(facts: RunFacts, fault: FaultFact) -> str:
    role = f" ({fault.role})" if fault.role else ""
    healed = f", healed at {facts.at(fault.healed_ns):.2f} s" if fault.healed_ns else ""
    return f"{facts.at(fault.inject_ns):.2f} s: {fault.description}{role}; {proof_text(fault)}{healed}"


def _fault_icon(kind: str, x: float, y: float, proved: bool) -> str:
    colour = "var(--start)" if kind == "start" else "var(--cut)" if kind == "cut" else "var(--fault)"
    disc = tag(
        "circle",
        cx=x,
        cy=y,
        r=7,
        fill="var(--surface)" if not proved else colour,
        stroke=colour,
        stroke_width=1.6,
        stroke_dasharray=None if proved else "2 2",
    )
    ink = "var(--surface)" if proved else colour
    shape = {
        "kill": f"M{x - 2.6:.1f} {y - 2.6:.1f}l5.2 5.2m0 -5.2l-5.2 5.2",
        "stop": f"M{x - 2.4:.1f} {y - 2.4:.1f}h4.8v4.8h-4.8z",
        "start": f"M{x - 2:.1f} {y - 3:.1f}l5 3l-5 3z",
        "freeze": f"M{x:.1f} {y - 4:.1f}v8m-3.5 -6l7 4m0 -4l-7 4",
        "cut": f"M{x - 4:.1f} {y:.1f}h2.4m3.2 0h2.4m-4.6 -3l1.2 6",
    }.get(kind, f"M{x:.1f} {y - 3:.1f}v4m0 1.6v.4")
    filled = kind in ("stop", "start")
    return disc + tag(
        "path",
        d=shape,
        fill=ink if filled else "none",
        stroke=ink,
        stroke_width=0.8 if filled else 1.6,
        stroke_linecap="round",
    )


def _faults_lane(drawing: Drawing, facts: RunFacts, y: float, icons: dict[str, float]) -> float:
    """Draws the faults' marks and words; `icons` gets the height of each fault's mark."""
    rows, scale = Rows(), drawing.scale
    items: list[tuple[float, str]] = []
    for fault in facts.faults:
        at_s = facts.at(fault.inject_ns)
        if not scale.holds(at_s):
            continue
        x = scale.x(at_s)
        name, role = _short(fault), _role(fault)
        unproved = "" if fault.status == "proved" else f" — {fault.status}"
        width = text_width(name + unproved) + (text_width(role, 10) + 6 if role else 0)
        leftward = x + 12 + width > RIGHT + 8
        begin = x - 12 - width if leftward else x - 8
        row = rows.place(begin, begin + width + 20)
        cy = icons[fault.id] = y + 8 + row * ROW
        colour = "start-text" if fault.kind == "start" else "fault-text"
        anchor_x = x - 11 - width if leftward else x + 11
        words = tag(
            "text",
            escape(name + unproved)
            + (tag("tspan", escape(role), dx=6, class_="muted tiny", style="font-weight:400") if role else ""),
            x=anchor_x,
            y=cy + 4,
            class_=f"{colour} halo",
        )
        proved = fault.status == "proved"
        items.append((cy, tag("g", title(_fault_title(facts, fault)) + _fault_icon(fault.kind, x, cy, proved) + words)))
    for precondition in facts.preconditions:
        at_s = facts.at(precondition["monotonic_ns"])
        if precondition.get("held") is not False or not scale.holds(at_s):
            continue
        words, x = f"✗ {precondition.get('name')}", scale.x(at_s)
        words = words if len(words) <= 60 else words[:59] + "…"
        begin = min(x, RIGHT - text_width(words))
        cy = y + 8 + rows.place(begin, begin + text_width(words)) * ROW
        items.append(
            (
                cy,
                tag(
                    "g",
                    title(f"precondition that did not hold: {precondition.get('name')}")
                    + text(begin, cy + 4, words, class_="fault-text halo"),
                ),
            )
        )
    drawing.front += [item for _, item in items]
    if items:
        drawing.front.append(text(16, y + 12, "faults", class_="lane-name"))
    return y + max(1, rows.count) * ROW + 4 if items else y


def _stems(drawing: Drawing, facts: RunFacts, tops: dict[str, tuple[float, float]], icons: dict[str, float]) -> None:
    for fault in facts.faults:
        struck = [node.strip() for node in fault.node.split(",") if node.strip() in tops]
        if fault.id not in icons or not struck:
            continue
        x = drawing.scale.x(facts.at(fault.inject_ns))
        colour = "var(--start)" if fault.kind == "start" else "var(--cut)" if fault.kind == "cut" else "var(--fault)"
        lowest = max(tops[node][0] for node in struck) + 13
        drawing.middle.append(
            tag(
                "line",
                x1=x,
                x2=x,
                y1=icons[fault.id] + 8,
                y2=lowest,
                stroke=colour,
                stroke_width=1.1,
                stroke_dasharray="1 3",
                stroke_linecap="round",
            )
        )
        for node in struck:
            drawing.front.append(
                tag(
                    "circle",
                    title(_fault_title(facts, fault)),
                    cx=x,
                    cy=tops[node][0] + 13,
                    r=3.4,
                    fill=colour,
                    stroke="var(--surface)",
                    stroke_width=1,
                )
            )


# Controller


def _lane(drawing: Drawing, y: float, height: float, name: str, detail: str = "") -> None:
    drawing.back.append(tag("rect", x=8, y=y, width=RIGHT - 4, height=height, fill="var(--lane)", rx=5))
    drawing.front.append(text(16, y + 17, name, class_="lane-name"))
    if detail:
        drawing.front.append(text(16, y + 31, detail, class_="muted tiny"))


def _fitting(room: float, *candidates: str, size: float = 11) -> str:
    """The first text that fits."""
    return next((c for c in candidates if text_width(c, size) + 8 <= room), "")


def _controller_lane(drawing: Drawing, facts: RunFacts, y: float) -> float:
    _lane(drawing, y, 26, "controller")
    scale = drawing.scale
    for interval in facts.controllers:
        begin, end = scale.x(facts.at(interval.begin_ns)), scale.x(facts.at(interval.end_ns))
        if end - begin < 0.5:
            continue
        at = f"{facts.at(interval.begin_ns):.2f} s"
        if not interval.value:
            drawing.middle.append(
                tag(
                    "rect",
                    title(f"{at}: no controller"),
                    x=begin,
                    y=y + 5,
                    width=end - begin,
                    height=16,
                    fill=drawing.fill("down"),
                    rx=3,
                )
            )
            continue
        words = f"{interval.value}, {interval.detail}" if interval.detail else interval.value
        drawing.middle.append(
            tag(
                "rect",
                title(f"{at}: {words}"),
                x=begin,
                y=y + 5,
                width=end - begin - 1,
                height=16,
                fill="none",
                stroke="var(--controller)",
                stroke_width=1.4,
                rx=3,
            )
        )
        shown = _fitting(end - begin, words, interval.value)
        if shown:
            drawing.front.append(text(begin + 6, y + 17, shown))
    return y + 26


# Brokers


def _broker_lane(drawing: Drawing, facts: RunFacts, node: str, partitions: Sequence[TopicPartition], y: float) -> float:
    number = broker_id(node)
    mine = [p for p in partitions if number in facts.assignment.get(p, ())]
    bottom = y + 6
    _process_band(drawing, facts, node, bottom)
    bottom += 16
    for partition in mine:
        _role_band(drawing, facts, node, partition, bottom, named=len(partitions) > 1)
        bottom += 22
        bottom += _disk_strip(drawing, facts, node, partition, bottom)
    bottom = max(bottom + 5, y + (26 if mine else 38))
    detail = "" if mine else "no replica"
    _lane(drawing, y, bottom - y, node, detail)
    return bottom


PROCESS_FILL: Final = {UP: "var(--up)", FROZEN: "frozen", DOWN: "down"}


def _process_band(drawing: Drawing, facts: RunFacts, node: str, y: float) -> None:
    scale = drawing.scale
    for interval in facts.processes.get(node, ()):
        begin, end = scale.x(facts.at(interval.begin_ns)), scale.x(facts.at(interval.end_ns))
        if end - begin < 0.5:
            continue
        from_to = f"from {facts.at(interval.begin_ns):.2f} s to {facts.at(interval.end_ns):.2f} s"
        from_to = f"{node} {interval.value} {from_to} ({interval.detail})"
        if interval.value == UP:
            drawing.middle.append(
                tag("rect", title(from_to), x=begin, y=y, width=end - begin, height=14, fill="var(--up)", rx=2)
            )
        else:
            fill = drawing.fill(PROCESS_FILL[interval.value])
            outline = "var(--frozen)" if interval.value == FROZEN else "var(--down)"
            drawing.middle.append(
                tag(
                    "rect",
                    title(from_to),
                    x=begin,
                    y=y,
                    width=end - begin,
                    height=14,
                    fill=fill,
                    stroke=outline,
                    stroke_width=1,
                    rx=2,
                )
            )
        words = interval.value if interval.value == UP else f"{interval.value}: {interval.detail}"
        shown = _fitting(end - begin, words, interval.value, size=10)
        if shown and interval.value == UP:
            drawing.front.append(text(begin + 5, y + 10.5, shown, class_="on-up tiny"))
        elif shown:
            # A plate under the words, or the hatching would run through them.
            drawing.front.append(
                tag(
                    "rect",
                    x=begin + 3,
                    y=y + 1.5,
                    width=text_width(shown, 10) + 5,
                    height=11,
                    fill="var(--surface)",
                    rx=2,
                )
            )
            drawing.front.append(text(begin + 6, y + 10.5, shown, class_="tiny"))
    for registration in facts.registrations.get(node, ()):
        at_s = facts.at(registration.begin_ns)
        if registration.value != "registered" and scale.holds(at_s):
            drawing.front.append(_gone_mark(facts, node, registration, scale.x(at_s), y))
    for cut_node, interval in facts.cuts:
        begin, end = scale.x(facts.at(interval.begin_ns)), scale.x(facts.at(interval.end_ns))
        if cut_node == node and end - begin >= 0.5:
            about = title(f"{interval.detail}, until {facts.at(interval.end_ns):.2f} s")
            band: dict[str, Any] = {"x": begin, "y": y - 3, "width": end - begin, "height": 20, "rx": 2}
            pattern = tag("rect", fill=drawing.fill("cut"), stroke="var(--cut)", stroke_width=1, **band)
            drawing.middle.append(tag("g", about + pattern))
            drawing.front.append(tag("rect", x=begin + 3, y=y + 1.5, width=22, height=11, fill="var(--surface)", rx=2))
            drawing.front.append(text(begin + 5, y + 10.5, "cut", class_="tiny"))


def _gone_mark(facts: RunFacts, node: str, registration: Interval, x: float, y: float) -> str:
    """A diamond where the cluster noticed that a broker is gone."""
    words = "fenced" if registration.value == "fenced" else "session over"
    width = text_width(words, 10) + 14
    leftward = x + width - 6 > RIGHT
    about = title(f"{facts.at(registration.begin_ns):.2f} s: the cluster takes {node} for dead ({registration.value})")
    plate = tag(
        "rect", x=x + 6 - width if leftward else x - 6, y=y + 1.5, width=width, height=11, fill="var(--surface)", rx=2
    )
    diamond = tag("path", d=f"M{x:.1f} {y + 2.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z", fill="var(--controller)")
    label = text(x - 7 if leftward else x + 7, y + 10.5, words, class_="tiny", anchor="end" if leftward else None)
    return tag("g", about + plate + diamond + label)


def _roles(facts: RunFacts, node: str, partition: TopicPartition) -> Iterable[tuple[int, int, str, int]]:
    """(begin, end, role, leader epoch) of a broker as the cluster stated it for a partition; neighbours alike are
    joined.
    """
    number = broker_id(node)

    def role(state: object) -> tuple[str, int]:
        leader, isr, epoch = state.leader, state.isr, state.leader_epoch  # type: ignore[attr-defined]
        if leader == number:
            return "leader", epoch
        return ("in sync" if number in isr else "out of sync"), -1

    states = facts.partitions.get(partition, ())
    for (name, epoch), together in itertools.groupby(states, key=role):
        run = list(together)
        yield run[0].begin_ns, run[-1].end_ns, name, epoch


def _role_band(
    drawing: Drawing, facts: RunFacts, node: str, partition: TopicPartition, y: float, *, named: bool
) -> None:
    scale, where = drawing.scale, f"{partition[0]}-{partition[1]}"
    if named:
        drawing.front.append(text(LEFT - 6, y + 14, where, class_="muted tiny", anchor="end"))
    for begin_ns, end_ns, role, epoch in _roles(facts, node, partition):
        begin, end = scale.x(facts.at(begin_ns)), scale.x(facts.at(end_ns))
        if end - begin < 0.5:
            continue
        from_to = f"{facts.at(begin_ns):.2f} s to {facts.at(end_ns):.2f} s"
        about = f"{from_to}: the cluster states that {node} is {role} {'of' if role == 'leader' else 'for'} {where}"
        box: dict[str, Any] = {"x": begin, "y": y, "width": max(1.0, end - begin - 1), "height": 19, "rx": 3}
        dead = [
            i for i in facts.processes.get(node, ()) if i.value == DOWN and i.begin_ns < end_ns and i.end_ns > begin_ns
        ]
        if role == "leader":
            about += f", leader epoch {epoch}"
            drawing.middle.append(tag("rect", title(about), fill="var(--leader)", **box))
            _hatch(drawing, facts, dead, begin, end, y, about)
            elected_dead = any(i.begin_ns <= begin_ns for i in dead)
            words = [f"leader, epoch {epoch}", f"leader {epoch}", f"L{epoch}"]
            if elected_dead:
                words = [f"leader, epoch {epoch}: elected while dead", f"leader {epoch}, elected dead", *words]
            shown = _fitting(end - begin, *words)
            if shown:
                if dead:
                    plate = text_width(shown) * 0.94 + 4
                    drawing.front.append(
                        tag("rect", x=begin + 2, y=y + 3, width=plate, height=13, fill="var(--leader)", rx=2)
                    )
                drawing.front.append(text(begin + 5, y + 13.5, shown, class_="on-leader"))
        elif role == "in sync":
            drawing.middle.append(tag("rect", title(about), fill="var(--isr)", **box))
            _hatch(drawing, facts, dead, begin, end, y, about)
            shown = _fitting(end - begin, "in ISR", "ISR")
            if shown:
                drawing.front.append(text(begin + 5, y + 13.5, shown, class_="on-isr"))
        else:
            drawing.middle.append(
                tag(
                    "rect",
                    title(about),
                    fill="none",
                    stroke="var(--out)",
                    stroke_width=1,
                    stroke_dasharray="3 3",
                    **box,
                )
            )
            shown = _fitting(end - begin, "not in ISR", "out")
            if shown:
                drawing.front.append(text(begin + 5, y + 13.5, shown, class_="muted"))


def _hatch(
    drawing: Drawing, facts: RunFacts, dead: Iterable[Interval], begin: float, end: float, y: float, about: str
) -> None:
    """Hatching where a stated role belongs to a process that is down."""
    for interval in dead:
        left = max(begin, drawing.scale.x(facts.at(interval.begin_ns)))
        right = min(end, drawing.scale.x(facts.at(interval.end_ns)))
        drawing.middle.append(
            tag(
                "rect",
                title(f"{about}; its process is down"),
                x=left,
                y=y,
                width=max(1.0, right - left - 1),
                height=19,
                fill=drawing.fill("dead"),
                opacity=0.55,
            )
        )


def _lost_offsets(facts: RunFacts, partition: TopicPartition, moment: Moment, node: str) -> set[int]:
    """Offsets of records that were acknowledged, are lost in the end, and are on this disk at this moment."""
    return {
        int(row["replicas"][moment.name][node])
        for finding in facts.found("lost-write")
        if (finding.get("topic"), finding.get("partition")) == partition
        for row in finding.get("evidence") or ()
        if ((row.get("replicas") or {}).get(moment.name) or {}).get(node) is not None
    }


def _diverged_offsets(facts: RunFacts, partition: TopicPartition, moment: Moment) -> set[int]:
    return {
        int(row["offset"])
        for finding in facts.found("replica-divergence")
        if (finding.get("topic"), finding.get("partition")) == partition
        for row in finding.get("evidence") or ()
        if row.get("moment") == moment.name and row.get("offset") is not None
    }


def _cells(
    facts: RunFacts, partition: TopicPartition, moment: Moment, node: str, x: float, y: float, leo: int, hw: int | None
) -> str:
    lost, diverged = _lost_offsets(facts, partition, moment, node), _diverged_offsets(facts, partition, moment)
    parts = []
    for offset in range(leo):
        left = x + offset * (CELL + 1)
        committed = hw is not None and offset < hw
        bad = offset in lost or offset in diverged
        colour = "var(--lost)" if bad else "var(--cell)"
        parts.append(
            tag(
                "rect",
                x=left + 0.6,
                y=y,
                width=CELL - 1.2,
                height=11,
                rx=1.5,
                fill=colour if committed else "var(--surface)",
                stroke=colour,
                stroke_width=1.3,
            )
        )
        if offset in diverged:
            parts.append(
                tag(
                    "path",
                    d=f"M{left + 2.2:.1f} {y + 3.6:.1f}h4.6m-4.6 3.8h4.6m-.8 -5.6l-3 7.4",
                    stroke="var(--surface)" if committed else colour,
                    stroke_width=1,
                    fill="none",
                )
            )
    if hw is not None:
        mark = x + hw * (CELL + 1) - 0.5
        parts.append(tag("line", x1=mark, x2=mark, y1=y - 2, y2=y + 13, stroke="var(--ink)", stroke_width=1.6))
    return "".join(parts)


def cut_something(facts: RunFacts, node: str, where: str, line: LogLine) -> bool:
    """Whether a truncation is known to have removed records: the last copy before it goes further than it.

    A log only grows between truncations, so a copy that goes further, not yet truncated, proves it.
    """
    before = [m for m in facts.moments if m.at_ns <= line.at_ns and where in (m.nodes.get(node) or {})]
    if not before or line.offset is None:
        return False
    topic, _, partition = where.rpartition("-")
    between = [
        other
        for other, _ in merged_truncations(facts, topic, int(partition), before[-1].at_ns)
        if other.node == node and other.at_ns < line.at_ns and (other.offset or 0) <= line.offset
    ]
    return not between and int(before[-1].nodes[node][where].get("leo", 0)) > line.offset


def _disk_strip(drawing: Drawing, facts: RunFacts, node: str, partition: TopicPartition, y: float) -> float:
    """What was on disk at each moment, and truncations; returns the height used."""
    rows, scale, where = Rows(), drawing.scale, f"{partition[0]}-{partition[1]}"
    for line, quotes in merged_truncations(facts, partition[0], partition[1], 0):
        at_s = facts.at(line.at_ns)
        if line.node != node or not scale.holds(at_s):
            continue
        x, cut = scale.x(at_s), cut_something(facts, node, where, line)
        if not cut and not any(send.done_ns and send.done_ns < line.at_ns for send in facts.sends):
            continue  # becoming a follower with an empty log is logged as a truncation to 0
        words = f"truncated to {line.offset}" if cut else f"truncate to {line.offset}"
        width = text_width(words) + 16
        leftward = x + width > RIGHT
        begin = x - width if leftward else x - 4
        row_y = y + 1 + rows.place(begin, begin + width + 4) * ROW
        colour, class_ = ("var(--lost)", "lost-text") if cut else ("var(--muted)", "muted")
        mark = tag(
            "path",
            d=f"M{x:.1f} {row_y:.1f}v14" + ("" if not cut else f"M{x - 4:.1f} {row_y + 3:.1f}l8 8m0 -8l-8 8"),
            stroke=colour,
            stroke_width=1.6,
            fill="none",
            stroke_linecap="round",
        )
        said = f"{at_s:.2f} s: {node} truncated {where} to offset {line.offset}. Its log says:\n" + "\n".join(quotes)
        label = text(begin if leftward else x + 8, row_y + 11, words, class_=f"{class_} halo")
        drawing.front.append(tag("g", title(said) + mark + label))
    for moment in facts.moments:
        at_s, ends = facts.at(moment.at_ns), (moment.nodes.get(node) or {}).get(where)
        if not ends or "leo" not in ends or not scale.holds(at_s):
            continue
        leo, hw = int(ends["leo"]), ends.get("hw")
        words = f"LEO {leo}" + (f" HW {hw}" if hw is not None else "")
        drawn = leo if leo <= MAX_CELLS else 0
        width = drawn * (CELL + 1) + 4 + text_width(words, 10)
        x = scale.x(at_s)
        begin = x + 3 if x + 3 + width <= RIGHT else x - 5 - width
        row_y = y + 2 + rows.place(begin, begin + width) * ROW
        says = f"{at_s:.2f} s, “{moment.label}”: on {node}'s disk {where} ends at {leo}" + (
            f", its checkpointed high watermark is {hw}" if hw is not None else ""
        )
        lost = _lost_offsets(facts, partition, moment, node)
        says += f"; it holds the record at {', '.join(map(str, sorted(lost)))} that is lost in the end" if lost else ""
        drawing.front.append(
            tag(
                "g",
                title(says)
                + _cells(facts, partition, moment, node, begin, row_y + 1, drawn, hw if drawn else None)
                + text(begin + drawn * (CELL + 1) + 4, row_y + 10, words, class_="tiny muted halo"),
            )
        )
    return rows.count * ROW + (2 if rows.count else 0)


# Clients


def _bursts(facts: RunFacts, scale: Scale, sends: Sequence[Send], lost: set[tuple[object, object]]) -> list[list[Send]]:
    """Sends that stand so close, with the same end, that one label must do for them."""
    bursts: list[list[Send]] = []
    for send in sends:
        last = bursts[-1][-1] if bursts else None
        alike = (
            last is not None
            and (last.process, last.producer, last.outcome, last.error, last.topic, last.partition)
            == (send.process, send.producer, send.outcome, send.error, send.topic, send.partition)
            and send.sequence == last.sequence + 1
            and ((send.producer, send.sequence) in lost) == ((last.producer, last.sequence) in lost)
            and scale.x(facts.at(send.sent_ns)) - scale.x(facts.at(last.sent_ns)) < 26
        )
        if alike:
            bursts[-1].append(send)
        else:
            bursts.append([send])
    return bursts


def _burst_label(facts: RunFacts, burst: Sequence[Send], is_lost: bool, several: bool) -> str:
    first, last = burst[0], burst[-1]
    name = f"m{first.sequence}" if len(burst) == 1 else f"m{first.sequence}–{last.sequence}"
    if several:
        name = f"{first.process}:{name}"
    if first.outcome == "failed":
        return f"{name} {first.error or 'failed'}"
    if first.outcome == "open":
        return f"{name} no answer"
    if first.outcome == "unknown":
        return f"{name} unknown: {first.error or 'no answer'}"
    at = "" if first.offset is None else f" @{first.offset}" if len(burst) == 1 else f" @{first.offset}–{last.offset}"
    return (
        f"{name}{at}"
        + (" acked, then lost" if is_lost else "")
        + (f" acks={first.acks}" if first.acks not in ("all", "?") else "")
    )


def _send_title(facts: RunFacts, send: Send, is_lost: bool) -> str:
    record = facts.record_name(send.producer, send.sequence)
    said = f"{facts.at(send.sent_ns):.3f} s: {send.process} sends {record} to {send.topic}-{send.partition}"
    ends = {"acked": f"acknowledged at offset {send.offset}", "failed": f"failed: {send.error}"}
    ends["unknown"] = f"unknown whether it happened: {send.error}"
    said += f" with acks={send.acks}; {ends.get(send.outcome, 'no answer')}"
    said += f" {(send.done_ns - send.sent_ns) / 1e6:.0f} ms later" if send.done_ns else ""
    return said + ("; lost" if is_lost else "")


def _send_mark(drawing: Drawing, facts: RunFacts, send: Send, y: float, is_lost: bool) -> str:
    """A line from sending to the answer where that is long enough to see, and the answer: a disc, a cross, a ring."""
    x = drawing.scale.x(facts.at(send.sent_ns))
    end = drawing.scale.x(facts.at(send.done_ns)) if send.done_ns else x
    colour = {"acked": "var(--ack)", "failed": "var(--lost)"}.get(send.outcome, "var(--muted)")
    colour = "var(--lost)" if is_lost else colour
    parts = [title(_send_title(facts, send, is_lost))]
    if end - x > 3:
        parts.append(tag("line", x1=x, x2=end, y1=y, y2=y, stroke=colour, stroke_width=2))
    if send.outcome in ("failed", "unknown"):
        cross = f"M{end - 3.5:.1f} {y - 3.5:.1f}l7 7m0 -7l-7 7"
        parts.append(tag("path", d=cross, stroke=colour, stroke_width=2, fill="none"))
    elif is_lost:
        parts.append(tag("circle", cx=end, cy=y, r=5, fill="var(--lost-soft)", stroke=colour, stroke_width=2))
        parts.append(tag("path", d=f"M{end - 3.5:.1f} {y + 3.5:.1f}l7 -7", stroke=colour, stroke_width=2))
    else:
        fill = colour if send.outcome == "acked" else "var(--surface)"
        parts.append(tag("circle", cx=end, cy=y, r=4, fill=fill, stroke=colour, stroke_width=1.4))
    return tag("g", "".join(parts))


def _burst(
    drawing: Drawing, facts: RunFacts, burst: Sequence[Send], rows: Rows, top: float, is_lost: bool, several: bool
) -> str:
    scale = drawing.scale
    label = _burst_label(facts, burst, is_lost, several)
    first, last = scale.x(facts.at(burst[0].sent_ns)), scale.x(facts.at(burst[-1].sent_ns))
    done_ns = burst[-1].done_ns
    tail = max(last, scale.x(facts.at(done_ns)) if done_ns else last)
    width = text_width(label) + 8
    leftward = tail + 8 + width > RIGHT
    begin, end = (first - 8 - width, tail + 8) if leftward else (first - 6, tail + 8 + width)
    y = top + 7 + rows.place(begin, end) * ROW
    class_ = "lost-text halo" if is_lost or burst[0].outcome == "failed" else "halo"
    marks = "".join(_send_mark(drawing, facts, send, y, is_lost) for send in burst)
    return marks + text(begin if leftward else tail + 8, y + 4, label, class_=class_)


def _span(drawing: Drawing, facts: RunFacts, step: Step, rows: Rows, top: float) -> str:
    """A step of the clients' that lasts, such as the final read."""
    begin_s, end_s = facts.at(step.begin_ns), facts.at(step.end_ns or facts.end_ns)
    left = drawing.scale.x(begin_s)
    right = max(drawing.scale.x(end_s), left + 3)
    width = text_width(step.name) + 6
    leftward = right + width > RIGHT
    begin, end = (left - width, right) if leftward else (left, right + width)
    y = top + 7 + rows.place(begin, end) * ROW
    about = title(f"{step.name}: {begin_s:.2f} s to {end_s:.2f} s")
    box = tag(
        "rect",
        x=left,
        y=y - 5,
        width=right - left,
        height=10,
        rx=5,
        fill="none",
        stroke="var(--ack)",
        stroke_width=1.6,
    )
    return tag("g", about + box + text(begin if leftward else right + 5, y + 4, step.name, class_="halo"))


def _client_lane(drawing: Drawing, facts: RunFacts, y: float) -> float:
    scale, rows = drawing.scale, Rows()
    lost = {
        (row.get("producer"), row.get("sequence"))
        for finding in facts.found("lost-write")
        for row in finding.get("evidence") or ()
    }
    sends = [s for s in facts.sends if scale.holds(facts.at(s.sent_ns))]
    several = len({s.producer for s in facts.sends}) > 1
    items = [
        _burst(drawing, facts, burst, rows, y + 6, (burst[0].producer, burst[0].sequence) in lost, several)
        for burst in _bursts(facts, scale, sends, lost)
    ]
    items += [
        _span(drawing, facts, step, rows, y + 6)
        for step in facts.steps
        if step.name.startswith(SPANS)
        and (scale.holds(facts.at(step.begin_ns)) or scale.holds(facts.at(step.end_ns or facts.end_ns)))
    ]
    height = max(26.0, rows.count * ROW + 10)
    _lane(drawing, y, height, "clients")
    drawing.front += items
    return y + height


# Across lanes


def _elections(
    drawing: Drawing,
    facts: RunFacts,
    partitions: Sequence[TopicPartition],
    tops: dict[str, tuple[float, float]],
    controller_y: float,
) -> None:
    for partition in partitions:
        states = facts.partitions.get(partition, ())
        for before, after in itertools.pairwise(states):
            node, at_s = f"broker-{after.leader}", facts.at(after.begin_ns)
            if after.leader == before.leader or node not in tops or not drawing.scale.holds(at_s):
                continue
            x = drawing.scale.x(at_s)
            drawing.middle.append(
                tag(
                    "line",
                    x1=x,
                    x2=x,
                    y1=controller_y + 27,
                    y2=tops[node][0] + 22,
                    stroke="var(--controller)",
                    stroke_width=1.3,
                )
            )
            drawing.middle.append(
                tag("path", d=f"M{x - 4:.1f} {tops[node][0] + 15:.1f}l4 7l4 -7z", fill="var(--controller)")
            )


def _moments(drawing: Drawing, facts: RunFacts, top: float, bottom: float) -> float:
    """Lines at the moments when files were copied, and their names below; returns where these end."""
    rows = Rows()
    for moment in facts.moments:
        at_s = facts.at(moment.at_ns)
        if not drawing.scale.holds(at_s):
            continue
        x = drawing.scale.x(at_s)
        drawing.back.append(
            tag(
                "line",
                x1=x,
                x2=x,
                y1=top + 4,
                y2=bottom + 4,
                stroke="var(--moment)",
                stroke_width=1,
                stroke_dasharray="5 3",
            )
        )
        words = f"files copied: {moment.label}"
        width = text_width(words, 10) + 12
        leftward = x + width > RIGHT
        begin = x - width if leftward else x - 4
        y = bottom + 3 + 13 * rows.place(begin, begin + width)
        mark = tag("path", d=f"M{x:.1f} {bottom + 3:.1f}l-4 6h8z", fill="var(--moment)")
        words_at = (x - 8, "end") if leftward else (x + 7, None)
        label = text(words_at[0], y + 9, words, class_="moment-text tiny halo", anchor=words_at[1])
        about = title(f"{at_s:.2f} s: every replica's files were copied, moment “{moment.name}”")
        drawing.front.append(tag("g", about + mark + label))
    return bottom + 5 + 13 * rows.count


def _blind(drawing: Drawing, facts: RunFacts, top: float, bottom: float) -> None:
    for begin_ns, end_ns, why in facts.blind:
        begin, end = drawing.scale.x(facts.at(begin_ns)), drawing.scale.x(facts.at(end_ns))
        if end - begin >= 0.5:
            drawing.middle.append(
                tag(
                    "rect",
                    title(f"an observer saw nothing: {why}"),
                    x=begin,
                    y=top,
                    width=end - begin,
                    height=bottom - top,
                    fill=drawing.fill("blind"),
                    opacity=0.4,
                )
            )
            drawing.front.append(
                text(
                    begin + 3,
                    bottom - 4,
                    _fitting(max(end - begin, 60), "observer blind", "blind", size=10),
                    class_="muted tiny halo",
                )
            )


def _axis(drawing: Drawing, top: float, bottom: float) -> float:
    y = bottom + 18
    for tick in drawing.scale.ticks():
        x = drawing.scale.x(tick)
        drawing.back.append(tag("line", x1=x, x2=x, y1=top, y2=bottom + 4, stroke="var(--grid)", stroke_width=1))
        label = f"{tick:g} s"
        drawing.front.append(text(x, y - 4, label, class_="muted tiny", anchor="middle"))
    drawing.front.append(text(16, y - 4, "since the start", class_="muted tiny"))
    return y


def _legend(drawing: Drawing, facts: RunFacts, y: float, partitions: Sequence[TopicPartition]) -> float:
    swatch: dict[str, Any] = {"width": 22, "height": 11, "rx": 2}
    entries: list[tuple[str, str]] = [
        ("process up", tag("rect", fill="var(--up)", x=0, y=0, **swatch)),
        ("down", tag("rect", fill=drawing.fill("down"), stroke="var(--down)", x=0, y=0, **swatch)),
    ]
    if any(i.value == FROZEN for intervals in facts.processes.values() for i in intervals):
        entries.append(("frozen", tag("rect", fill=drawing.fill("frozen"), stroke="var(--frozen)", x=0, y=0, **swatch)))
    if facts.cuts:
        entries.append(("network cut", tag("rect", fill=drawing.fill("cut"), stroke="var(--cut)", x=0, y=0, **swatch)))
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
            tag("line", x1=11, x2=11, y1=-1, y2=8, stroke="var(--controller)", stroke_width=1.3)
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
                cells + tag("line", x1=CELL + 0.5, x2=CELL + 0.5, y1=-2, y2=13, stroke="var(--ink)", stroke_width=1.6),
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
