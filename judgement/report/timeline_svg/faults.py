"""The lane of the faults, and the stems from their marks into the lanes of the brokers they struck."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evidence.events import Duty, Precondition
from evidence.run_state import FaultFact
from evidence.text import html
from judgement.report.facts import JudgedRun
from judgement.report.steps import proof_text
from judgement.report.timeline_svg.drawing import (
    RIGHT,
    ROW,
    Drawing,
    LabelRows,
    Scale,
    tag,
    text,
    text_width,
    title,
    vertical,
)


def _colour(fault: FaultFact) -> str:
    return f"var(--{fault.proof_type.mark.colour})"


def short(fault: FaultFact) -> str:
    """A fault in two or three words."""
    verb = fault.proof_type.mark.verb
    return f"{verb} {fault.node}" if verb else fault.description.removeprefix("network ")


def _role(fault: FaultFact) -> str:
    hidden = not fault.role or fault.role.startswith("replica of") or fault.proof_type.mark.colour != "fault"
    return "" if hidden else fault.role


def _fault_title(facts: JudgedRun, fault: FaultFact) -> str:
    role = f" ({fault.role})" if fault.role else ""
    healed = f", healed at {facts.at(fault.healed_ns):.2f} s" if fault.healed_ns else ""
    return f"{facts.at(fault.inject_ns):.2f} s: {fault.description}{role}; {proof_text(fault)}{healed}"


def _fault_icon(fault: FaultFact, x: float, y: float) -> str:
    colour, icon, proved = _colour(fault), fault.proof_type.mark.icon, fault.status == "proved"
    fill, dashes = (colour, None) if proved else ("var(--surface)", "2 2")
    disc = tag("circle", cx=x, cy=y, r=7, fill=fill, stroke=colour, class_="mark", stroke_dasharray=dashes)
    ink = "var(--surface)" if proved else colour
    shape = f"M{x + icon.dx:.1f} {y + icon.dy:.1f}{icon.path}"
    if icon.filled:
        return disc + tag("path", d=shape, fill=ink, stroke=ink, stroke_width=0.8)
    return disc + tag("path", d=shape, stroke=ink, class_="drawn")


def faults_lane(drawing: Drawing, facts: JudgedRun, y: float, icons: dict[str, float]) -> float:
    """Draws the faults' marks and words; `icons` gets the height of each fault's mark."""
    rows, scale = LabelRows(), drawing.scale
    items: list[str] = []
    for fault in facts.faults:
        at_s = facts.at(fault.inject_ns)
        if not scale.holds(at_s):
            continue
        x = scale.x(at_s)
        name, role = short(fault), _role(fault)
        unproved = "" if fault.status == "proved" else f" — {fault.status}"
        width = text_width(name + unproved) + (text_width(role, 10) + 6 if role else 0)
        leftward = x + 12 + width > RIGHT + 8
        begin = x - 12 - width if leftward else x - 8
        row = rows.place(begin, begin + width + 20)
        cy = icons[fault.id] = y + 8 + row * ROW
        colour = "start-text" if fault.proof_type.mark.colour == "start" else "fault-text"
        anchor_x = x - 11 - width if leftward else x + 11
        words = tag(
            "text",
            html(name + unproved)
            + (tag("tspan", html(role), dx=6, class_="muted tiny", style="font-weight:400") if role else ""),
            x=anchor_x,
            y=cy + 4,
            class_=f"{colour} halo",
        )
        items.append(tag("g", title(_fault_title(facts, fault)) + _fault_icon(fault, x, cy) + words))
    items += _healings(facts, rows, y, scale)
    everything: list[Precondition | Duty] = [*facts.preconditions, *facts.duties]
    for checked in everything:
        at_s = facts.at(checked.monotonic_ns)
        if checked.held or not scale.holds(at_s):
            continue
        words, x = f"✗ {checked.name}", scale.x(at_s)
        words = words if len(words) <= 60 else words[:59] + "…"
        begin = min(x, RIGHT - text_width(words))
        cy = y + 8 + rows.place(begin, begin + text_width(words)) * ROW
        what = "duty of Kafka that was not done" if isinstance(checked, Duty) else "precondition that did not hold"
        about = title(f"{what}: {checked.name}")
        items.append(tag("g", about + text(begin, cy + 4, words, class_="fault-text halo")))
    drawing.front += items
    if items:
        drawing.front.append(text(16, y + 12, "faults", class_="lane-name"))
    return y + max(1, rows.count) * ROW + 4 if items else y


MOST_HEALED: Final = 6
"""If more faults than these were healed, their rings have no words."""


def _healings(facts: JudgedRun, rows: LabelRows, y: float, scale: Scale) -> Iterator[str]:
    """A ring where a fault was healed, and what: a node that was thawed, a network that is whole again."""
    healed = [one for one in facts.faults if one.healed_ns is not None and scale.holds(facts.at(one.healed_ns))]
    for fault in healed:
        at_s = facts.at(fault.healed_ns or 0)
        x, words = scale.x(at_s), healing(fault) if len(healed) <= MOST_HEALED else ""
        width = text_width(words)
        leftward = x + 11 + width > RIGHT + 8
        begin = x - 12 - width if leftward else x - 8
        cy = y + 8 + rows.place(begin, begin + width + 20) * ROW
        ring = tag("circle", cx=x, cy=cy, r=6, fill="var(--surface)", stroke="var(--start)", class_="mark healed")
        tick = tag("path", d=f"M{x - 3:.1f} {cy + 0.5:.1f}l2.2 2.3l3.8 -5", stroke="var(--start)", class_="drawn")
        about = title(f"{at_s:.2f} s: healed: {fault.description}")
        label = text(x - 11 - width if leftward else x + 11, cy + 4, words, class_="start-text halo") if words else ""
        yield tag("g", about + ring + tick + label)


def healing(fault: FaultFact) -> str:
    """The end of a fault in two or three words."""
    if fault.kind.startswith("freeze"):
        return f"thaw {fault.node}"
    return f"heal {fault.description.removeprefix('network ')}" if fault.links else f"heal {fault.node}"


def stems(drawing: Drawing, facts: JudgedRun, tops: dict[str, tuple[float, float]], icons: dict[str, float]) -> None:
    """Draw a dotted line from each fault's mark to the brokers it struck."""
    for fault in facts.faults:
        struck = [node for node in fault.nodes if node in tops]
        if fault.id not in icons or not struck:
            continue
        x = drawing.scale.x(facts.at(fault.inject_ns))
        colour = _colour(fault)
        lowest = max(tops[node][0] for node in struck) + 13
        drawing.middle.append(vertical(x, icons[fault.id] + 8, lowest, stroke=colour, class_="stem"))
        for node in struck:
            dot = {"cx": x, "cy": tops[node][0] + 13, "r": 3.4, "fill": colour, "stroke": "var(--surface)"}
            drawing.front.append(tag("circle", title(_fault_title(facts, fault)), **dot))
