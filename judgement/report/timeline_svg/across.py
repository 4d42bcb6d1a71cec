"""What concerns all lanes: the controller, elections, moments of copying, blind observers, the time axis."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from evidence.records import TopicPartition
from judgement.report.facts import JudgedRun
from judgement.report.timeline_svg.drawing import (
    RIGHT,
    Drawing,
    LabelRows,
    box,
    fitting,
    lane,
    tag,
    text,
    text_width,
    title,
    vertical,
)


def controller_lane(drawing: Drawing, facts: JudgedRun, y: float) -> float:
    """Draw who was the controller, and when nobody was; returns where the lane ends."""
    lane(drawing, y, 26, "controller")
    scale = drawing.scale
    for interval in facts.controllers:
        begin, end = scale.x(facts.at(interval.begin_ns)), scale.x(facts.at(interval.end_ns))
        if end - begin < 0.5:
            continue
        at = f"{facts.at(interval.begin_ns):.2f} s"
        if not interval.value:
            nobody = drawing.fill("down")
            drawing.middle.append(box(begin, y + 5, end - begin, 16, "", f"{at}: no controller", fill=nobody, rx=3))
            continue
        words = f"{interval.value}, {interval.detail}" if interval.detail else interval.value
        drawing.middle.append(box(begin, y + 5, end - begin - 1, 16, "term", f"{at}: {words}", rx=3))
        shown = fitting(end - begin, words, interval.value)
        if shown:
            drawing.front.append(text(begin + 6, y + 17, shown))
    return y + 26


def elections(
    drawing: Drawing,
    facts: JudgedRun,
    partitions: Sequence[TopicPartition],
    tops: dict[str, tuple[float, float]],
    controller_y: float,
) -> None:
    """Draw each change of leader as an arrow from the controller to the broker that was elected."""
    for partition in partitions:
        states = facts.partitions.get(partition, ())
        for before, after in itertools.pairwise(states):
            node, at_s = f"broker-{after.leader}", facts.at(after.begin_ns)
            if after.leader == before.leader or node not in tops or not drawing.scale.holds(at_s):
                continue
            x = drawing.scale.x(at_s)
            drawing.middle.append(vertical(x, controller_y + 27, tops[node][0] + 22, class_="election"))
            drawing.middle.append(
                tag("path", d=f"M{x - 4:.1f} {tops[node][0] + 15:.1f}l4 7l4 -7z", fill="var(--controller)")
            )


def moments(drawing: Drawing, facts: JudgedRun, top: float, bottom: float) -> float:
    """Lines at the moments when files were copied, and their names below; returns where these end."""
    rows, times = LabelRows(), [facts.at(moment.at_ns) for moment in facts.moments]
    for at_s in filter(drawing.scale.holds, times):  # no name lies on a mark
        rows.place((x := drawing.scale.x(at_s)) - 4, x + 4)
    for moment, at_s in zip(facts.moments, times, strict=True):
        if not drawing.scale.holds(at_s):
            continue
        x = drawing.scale.x(at_s)
        drawing.back.append(vertical(x, top + 4, bottom + 4, class_="moment"))
        words = f"files copied: {moment.label}"
        width = text_width(words, 10)
        leftward = x + 12 + width > RIGHT
        begin = x - 8 - width if leftward else x + 8
        y = bottom + 3 + 13 * rows.place(begin, begin + width)
        mark = tag("path", d=f"M{x:.1f} {bottom + 3:.1f}l-4 6h8z", fill="var(--moment)")
        words_at = (x - 8, "end") if leftward else (x + 8, None)
        label = text(words_at[0], y + 9, words, class_="moment-text tiny halo", anchor=words_at[1])
        about = title(f"{at_s:.2f} s: every replica's files were copied, moment “{moment.name}”")
        drawing.front.append(tag("g", about + mark + label))
    return bottom + 5 + 13 * rows.count


def blind(drawing: Drawing, facts: JudgedRun, top: float, bottom: float) -> None:
    """Hatch the times in which an observer saw nothing."""
    for begin_ns, end_ns, why in facts.blind:
        begin, end = drawing.scale.x(facts.at(begin_ns)), drawing.scale.x(facts.at(min(end_ns, facts.end_ns)))
        if end - begin >= 0.5:
            look = {"fill": drawing.fill("blind"), "opacity": 0.4, "rx": None}
            about = f"an observer saw nothing: {why}"
            drawing.middle.append(box(begin, top, end - begin, bottom - top, "", about, **look))
            words = fitting(max(end - begin, 60), "observer blind", "blind", size=10)
            drawing.front.append(text(begin + 3, bottom - 4, words, class_="muted tiny halo"))


def axis(drawing: Drawing, top: float, bottom: float) -> float:
    """Draw the seconds below everything; returns where they end."""
    y = bottom + 18
    for tick in drawing.scale.ticks():
        x = drawing.scale.x(tick)
        drawing.back.append(vertical(x, top, bottom + 4, class_="grid"))
        label = f"{tick:g} s"
        drawing.front.append(text(x, y - 4, label, class_="muted tiny", anchor="middle"))
    drawing.front.append(text(16, y - 4, "since the start", class_="muted tiny"))
    return y
