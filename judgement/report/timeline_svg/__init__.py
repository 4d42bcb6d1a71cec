"""The picture of a run: lanes over a common, linear time axis, as hand-written SVG without script or network.

From top to bottom: the faults, each with a stem into the lane of the broker it struck; the controller; one lane a
broker; the clients. A broker's lane shows two things apart, because the stories turn on their difference:

- what its process was (thin band: up, down, frozen, cut), as Docker and the kernel say;
- what the cluster *stated* of it (thick band: leader with its epoch, in the ISR, out of it), as ZooKeeper or the
  metadata log say. A leader's band over a dead process is an election of the dead, and is hatched.

Below the bands stand what was on its disk at the moments when files were copied (one cell a record: filled
below the high watermark, hollow above it, red for a record that was acknowledged and is lost) and the
truncations its own log reports.

Nothing is drawn that was not recorded. Colours come with a pattern, a shape or a word, so the picture can be read in
grey; each mark says in its <title> what it is and what proves it. Light and dark follow the reader's setting.

A lane is a module: it puts elements into the layers of a `Drawing` from height `y` on and returns where it ends.
"""

from __future__ import annotations

from evidence.text import html
from judgement.report.facts import JudgedRun
from judgement.report.headline import headline, outcome
from judgement.report.timeline_svg.across import axis, blind, controller_lane, elections, moments
from judgement.report.timeline_svg.brokers import broker_lane
from judgement.report.timeline_svg.clients import client_lane
from judgement.report.timeline_svg.drawing import STYLE, Drawing, Scale, assembled, tag, text
from judgement.report.timeline_svg.faults import faults_lane, stems
from judgement.report.timeline_svg.legend import legend
from judgement.report.timeline_svg.scope import chosen_partitions, window_of
from judgement.report.timeline_svg.words import below, heading

__all__ = ["STYLE", "chosen_partitions", "render", "window_of"]


def render(
    facts: JudgedRun, *, standalone: bool = False, window_s: tuple[float, float] | None = None, prefix: str = "kc"
) -> str:
    """The picture as an <svg> element. `standalone` adds a headline and a background, for a file of its own."""
    drawing = Drawing(Scale(*(window_s or window_of(facts))), prefix)
    y = 12.0
    if standalone:
        y = _headline(drawing, facts, y)
    icons: dict[str, float] = {}
    y = faults_lane(drawing, facts, y, icons)
    lanes_top = y
    y = controller_lane(drawing, facts, y + 6)
    tops: dict[str, tuple[float, float]] = {}
    partitions = chosen_partitions(facts)
    for node in facts.brokers:
        top = y + 6
        y = broker_lane(drawing, facts, node, partitions, top)
        tops[node] = (top, y)
    y = client_lane(drawing, facts, y + 6)
    bottom = y
    stems(drawing, facts, tops, icons)
    elections(drawing, facts, partitions, tops, lanes_top)
    blind(drawing, facts, lanes_top, bottom)
    y = axis(drawing, lanes_top, moments(drawing, facts, lanes_top, bottom))
    y = legend(drawing, facts, y + 8, partitions)
    return _assemble(drawing, facts, y + 6, standalone)


def _assemble(drawing: Drawing, facts: JudgedRun, height: float, standalone: bool) -> str:
    name = heading(outcome(facts).text, facts.name)
    description = (
        f"{headline(facts)} Lanes over time for the faults, the controller, {', '.join(facts.brokers)} and the clients."
    )
    return assembled(drawing, name, description, height, background=standalone)


def _headline(drawing: Drawing, facts: JudgedRun, y: float) -> float:
    drawing.front.append(text(16, y + 12, heading(outcome(facts).text, facts.name), class_="headline"))
    lines = below(headline(facts))
    for number, line in enumerate(lines):
        drawing.front.append(
            tag("text", html(line), x=16, y=y + 31 + 16 * number, class_="muted", style="font-size:12px")
        )
    return y + 44 + 16 * (len(lines) - 1)
