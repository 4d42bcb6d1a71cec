"""The lane of the faults, and the stems from their marks into the lanes of the brokers they struck."""

from __future__ import annotations

from typing import Final

from evidence.course import FaultFact
from evidence.events import NETWORK_FAULTS
from evidence.text import html
from judgement.report.facts import RunFacts
from judgement.report.steps import proof_text
from judgement.report.timeline_svg.drawing import RIGHT, ROW, Drawing, Rows, tag, text, text_width, title, vertical

OF_CLIENTS: Final = ("reset", "kill-client")
"""Faults of clients, of whom one process may have many: the description names them as one."""
FAULT_VERB: Final = {"kill": "kill -9", "double": "start", "power-loss": "power loss"}


def _colour(kind: str) -> str:
    return "var(--start)" if kind == "start" else "var(--cut)" if kind in NETWORK_FAULTS else "var(--fault)"


def short(fault: FaultFact) -> str:
    """A fault in two or three words."""
    if fault.kind in (*NETWORK_FAULTS, *OF_CLIENTS):
        return fault.description.removeprefix("network ")
    verb = FAULT_VERB.get(fault.kind, fault.kind)
    return f"{verb} {fault.node}"


def _role(fault: FaultFact) -> str:
    hidden = not fault.role or fault.role.startswith("replica of") or fault.kind in ("start", *NETWORK_FAULTS)
    return "" if hidden else fault.role


def _fault_title(facts: RunFacts, fault: FaultFact) -> str:
    role = f" ({fault.role})" if fault.role else ""
    healed = f", healed at {facts.at(fault.healed_ns):.2f} s" if fault.healed_ns else ""
    return f"{facts.at(fault.inject_ns):.2f} s: {fault.description}{role}; {proof_text(fault)}{healed}"


def _fault_icon(kind: str, x: float, y: float, proved: bool) -> str:
    colour = _colour(kind)
    fill, dashes = (colour, None) if proved else ("var(--surface)", "2 2")
    disc = tag("circle", cx=x, cy=y, r=7, fill=fill, stroke=colour, class_="mark", stroke_dasharray=dashes)
    ink = "var(--surface)" if proved else colour
    shape = {
        "kill": f"M{x - 2.6:.1f} {y - 2.6:.1f}l5.2 5.2m0 -5.2l-5.2 5.2",
        "power-loss": f"M{x + 1.2:.1f} {y - 4.2:.1f}l-3.4 4.8h4.4l-3.4 4.4",
        "stop": f"M{x - 2.4:.1f} {y - 2.4:.1f}h4.8v4.8h-4.8z",
        "start": f"M{x - 2:.1f} {y - 3:.1f}l5 3l-5 3z",
        "freeze": f"M{x:.1f} {y - 4:.1f}v8m-3.5 -6l7 4m0 -4l-7 4",
        "cut": f"M{x - 4:.1f} {y:.1f}h2.4m3.2 0h2.4m-4.6 -3l1.2 6",
        "loss": f"M{x - 4:.1f} {y:.1f}h1.2m2.2 0h1.2m2.2 0h1.2",
        "slow": f"M{x - 3.5:.1f} {y - 3:.1f}h7l-3.5 3l3.5 3h-7l3.5 -3z",
    }.get(kind, f"M{x:.1f} {y - 3:.1f}v4m0 1.6v.4")
    if kind in ("stop", "start"):
        return disc + tag("path", d=shape, fill=ink, stroke=ink, stroke_width=0.8)
    return disc + tag("path", d=shape, stroke=ink, class_="drawn")


def faults_lane(drawing: Drawing, facts: RunFacts, y: float, icons: dict[str, float]) -> float:
    """Draws the faults' marks and words; `icons` gets the height of each fault's mark."""
    rows, scale = Rows(), drawing.scale
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
        colour = "start-text" if fault.kind == "start" else "fault-text"
        anchor_x = x - 11 - width if leftward else x + 11
        words = tag(
            "text",
            html(name + unproved)
            + (tag("tspan", html(role), dx=6, class_="muted tiny", style="font-weight:400") if role else ""),
            x=anchor_x,
            y=cy + 4,
            class_=f"{colour} halo",
        )
        proved = fault.status == "proved"
        items.append(tag("g", title(_fault_title(facts, fault)) + _fault_icon(fault.kind, x, cy, proved) + words))
    for precondition in facts.preconditions:
        at_s = facts.at(precondition.monotonic_ns)
        if precondition.held or not scale.holds(at_s):
            continue
        words, x = f"✗ {precondition.name}", scale.x(at_s)
        words = words if len(words) <= 60 else words[:59] + "…"
        begin = min(x, RIGHT - text_width(words))
        cy = y + 8 + rows.place(begin, begin + text_width(words)) * ROW
        about = title(f"precondition that did not hold: {precondition.name}")
        items.append(tag("g", about + text(begin, cy + 4, words, class_="fault-text halo")))
    drawing.front += items
    if items:
        drawing.front.append(text(16, y + 12, "faults", class_="lane-name"))
    return y + max(1, rows.count) * ROW + 4 if items else y


def stems(drawing: Drawing, facts: RunFacts, tops: dict[str, tuple[float, float]], icons: dict[str, float]) -> None:
    """Draw a dotted line from each fault's mark to the brokers it struck."""
    for fault in facts.faults:
        struck = [node.strip() for node in fault.node.split(",") if node.strip() in tops]
        if fault.id not in icons or not struck:
            continue
        x = drawing.scale.x(facts.at(fault.inject_ns))
        colour = _colour(fault.kind)
        lowest = max(tops[node][0] for node in struck) + 13
        drawing.middle.append(vertical(x, icons[fault.id] + 8, lowest, stroke=colour, class_="stem"))
        for node in struck:
            dot = {"cx": x, "cy": tops[node][0] + 13, "r": 3.4, "fill": colour, "stroke": "var(--surface)"}
            drawing.front.append(tag("circle", title(_fault_title(facts, fault)), **dot))
