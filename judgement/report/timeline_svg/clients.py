"""The clients' lane: every scripted record with its answer, records of other producers that are lost, what clients and
operators did beside sending (acts.py), and the steps of clients that last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evidence.findings import Finding
from evidence.records import RecordId
from evidence.run_state import Sent, acks_text
from judgement.report.facts import JudgedRun, ScenarioStep
from judgement.report.timeline_svg.acts import Act, acts
from judgement.report.timeline_svg.drawing import (
    RIGHT,
    ROW,
    Drawing,
    LabelRows,
    Scale,
    beside,
    box,
    lane,
    tag,
    text,
    text_width,
    title,
)

SPANS: Final = ("final read", "load")
"""Steps of clients that are drawn with their duration, by the beginning of their names."""


MOST: Final = 24
"""If there are more labels than these, sends to several partitions share one."""


def others_lost(lost: Sequence[Finding], scripted: Sequence[Sent]) -> list[Sent]:
    """The acknowledged records that are lost and that no scripted send is of: those of loads and of transactions, as
    far as the evidence lists them.
    """
    known = {send.key for send in scripted}
    found = [
        Sent(
            process=row.process or f"producer-{record.producer}",
            topic=record.topic,
            partition=record.partition,
            producer=record.producer,
            sequence=record.sequence,
            acks="?" if row.acks is None else acks_text(row.acks),
            sent_ns=row.invoked_ns,
            done_ns=row.completed_ns,
            outcome="acked",
            offset=row.offset,
        )
        for finding in lost
        for row in finding.evidence
        for record in row.records[:1]
        if record not in known and row.invoked_ns is not None
    ]
    return sorted(found, key=lambda one: one.sent_ns)


def bursts(facts: JudgedRun, scale: Scale, sends: Sequence[Sent], lost: set[RecordId]) -> list[list[Sent]]:
    """Sends with the same outcome that stand so close together that they share one label: those to one partition or,
    where these would be too many, those to any, also if sends of other producers stand between them.
    """
    found = _bursts(facts, scale, sends, lost, across=False)
    return found if len(found) <= MOST else _bursts(facts, scale, sends, lost, across=True)


def _bursts(
    facts: JudgedRun, scale: Scale, sends: Sequence[Sent], lost: set[RecordId], *, across: bool
) -> list[list[Sent]]:
    found: list[list[Sent]] = []
    latest: dict[tuple[str, int], list[Sent]] = {}
    for send in sends:
        own = latest.get((send.process, send.producer)) if across else found[-1] if found else None
        last = own[-1] if own else None
        alike = (
            last is not None
            and (last.process, last.producer, last.outcome, last.error)
            == (send.process, send.producer, send.outcome, send.error)
            and (across or (last.topic, last.partition) == (send.topic, send.partition))
            and send.sequence == last.sequence + 1
            and (send.key in lost) == (last.key in lost)
            and scale.x(facts.at(send.sent_ns)) - scale.x(facts.at(last.sent_ns)) < 26
        )
        if alike and own is not None:
            own.append(send)
        else:
            found.append([send])
            latest[send.process, send.producer] = found[-1]
    return found


def _burst_label(burst: Sequence[Sent], is_lost: bool, several: bool) -> str:
    first, last = burst[0], burst[-1]
    name = f"m{first.sequence}" if len(burst) == 1 else f"m{first.sequence}–{last.sequence}"
    if several:
        name = f"{first.process}:{name}"
    if (places := len({(send.topic, send.partition) for send in burst})) > 1:
        name += f" to {places} partitions"
    if first.outcome == "failed":
        return f"{name} {first.error or 'failed'}"
    if first.outcome == "open":
        return f"{name} no answer"
    if first.outcome == "unknown":
        return f"{name} unknown: {first.error or 'no answer'}"
    at = (
        ""
        if first.offset is None or places > 1
        else f" @{first.offset}"
        if len(burst) == 1
        else f" @{first.offset}–{last.offset}"
    )
    return (
        f"{name}{at}"
        + (" acked, then lost" if is_lost else "")
        + (f" acks={first.acks}" if first.acks not in ("all", "?") else "")
    )


def _send_title(facts: JudgedRun, send: Sent, is_lost: bool) -> str:
    record = facts.record_name(send.producer, send.sequence)
    said = f"{facts.at(send.sent_ns):.3f} s: {send.process} sends {record} to {send.topic}-{send.partition}"
    ends = {"acked": f"acknowledged at offset {send.offset}", "failed": f"failed: {send.error}"}
    ends["unknown"] = f"unknown whether it happened: {send.error}"
    said += f" with acks={send.acks}; {ends.get(send.outcome, 'no answer')}"
    said += f" {(send.done_ns - send.sent_ns) / 1e6:.0f} ms later" if send.done_ns else ""
    return said + ("; lost" if is_lost else "")


def _send_mark(drawing: Drawing, facts: JudgedRun, send: Sent, y: float, is_lost: bool) -> str:
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
    drawing: Drawing, facts: JudgedRun, burst: Sequence[Sent], rows: LabelRows, top: float, is_lost: bool, several: bool
) -> str:
    scale = drawing.scale
    label = _burst_label(burst, is_lost, several)
    first, last = scale.x(facts.at(burst[0].sent_ns)), scale.x(facts.at(burst[-1].sent_ns))
    done_ns = burst[-1].done_ns
    tail = max(last, scale.x(facts.at(done_ns)) if done_ns else last)
    left, right, x = beside(first, tail, text_width(label) + 8)
    y = top + 7 + rows.place(left, right) * ROW
    class_ = "lost-text halo" if is_lost or burst[0].outcome == "failed" else "halo"
    marks = "".join(_send_mark(drawing, facts, send, y, is_lost) for send in apart(burst, facts, scale))
    return marks + _label(x, y, label, class_, on_marks=first < x < tail)


def _label(x: float, y: float, label: str, class_: str, *, on_marks: bool) -> str:
    """The words beside marks; those that stand on a line have a plate, or it would run through them."""
    plate = box(x - 2, y - 6, text_width(label) + 4, 12, "plate") if on_marks else ""
    return plate + text(x, y + 4, label, class_=class_)


def apart(burst: Sequence[Sent], facts: JudgedRun, scale: Scale) -> list[Sent]:
    """Those sends of a burst whose marks can be told from the one before, and the last."""

    def ends(send: Sent) -> tuple[float, float]:
        return scale.x(facts.at(send.sent_ns)), scale.x(facts.at(send.done_ns or send.sent_ns))

    found = [burst[0]]
    for send in burst[1:-1]:
        if max(abs(one - other) for one, other in zip(ends(send), ends(found[-1]), strict=True)) >= NARROW:
            found.append(send)
    return found + list(burst[1:][-1:])


NARROW: Final = 3.0
"""Marks nearer than so many pixels look like one: a disc is ten wide."""


def _act(drawing: Drawing, facts: JudgedRun, act: Act, rows: LabelRows, top: float) -> str:
    """Draw an act: a line as long as it took, and at its end a mark that says of which kind it is."""
    begin, end = (drawing.scale.x(facts.at(at_ns)) for at_ns in (act.begin_ns, act.end_ns))
    left, right, x = beside(begin, end, text_width(act.label) + 8)
    y = top + 7 + rows.place(left, right) * ROW
    colour = "var(--lost)" if act.bad else ACT_COLOURS[act.kind] if act.done else "var(--muted)"
    times = f"{facts.at(act.begin_ns):.3f} s" + (
        f" to {facts.at(act.end_ns):.3f} s" if act.end_ns > act.begin_ns else ""
    )
    parts = [title(f"{times}: {act.label}")]
    if end - begin > 3:
        parts.append(tag("line", x1=begin, x2=end, y1=y, y2=y, stroke=colour, stroke_width=2))
    parts.append(act_mark(act.kind, end, y, colour, begin))
    class_ = "lost-text halo" if act.bad else "halo"
    return tag("g", "".join(parts)) + _label(x, y, act.label, class_, on_marks=begin < x < end)


ACT_COLOURS: Final = {
    "commit": "var(--ack)",
    "transaction": "var(--ack)",
    "answer": "var(--ack)",
    "request": "var(--ink)",
}


def act_mark(kind: str, x: float, y: float, colour: str, begin: float | None = None) -> str:
    """The mark of an act: a filled square for a commit, a hollow one for an answer, a triangle for a request, and a
    tick at each end of a transaction.
    """
    match kind:
        case "transaction":
            ticks = "".join(f"M{at:.1f} {y - 4:.1f}v8" for at in ((x,) if begin is None else (begin, x)))
            return tag("path", d=ticks, stroke=colour, stroke_width=2)
        case "request":
            return tag("path", d=f"M{x - 3:.1f} {y - 4.5:.1f}l7 4.5l-7 4.5z", fill=colour)
        case _:
            fill = colour if kind == "commit" else "var(--surface)"
            return box(x - 3.5, y - 3.5, 7, 7, "", rx=1, fill=fill, stroke=colour, stroke_width=1.4)


def _span(drawing: Drawing, facts: JudgedRun, step: ScenarioStep, rows: LabelRows, top: float) -> str:
    """Draw a step of clients that takes time, such as the final read."""
    begin_s, end_s = facts.at(step.begin_ns), facts.at(step.end_ns or facts.end_ns)
    left = drawing.scale.x(begin_s)
    right = max(drawing.scale.x(end_s), left + 3)
    width = text_width(step.name) + 6
    leftward = right + width > RIGHT
    begin, end = (left - width, right) if leftward else (left, right + width)
    y = top + 7 + rows.place(begin, end) * ROW
    span = box(left, y - 5, right - left, 10, "span", f"{step.name}: {begin_s:.2f} s to {end_s:.2f} s", rx=5)
    return tag("g", span + text(begin if leftward else right + 5, y + 4, step.name, class_="halo"))


def client_lane(drawing: Drawing, facts: JudgedRun, y: float) -> float:
    """Draw what clients did; returns where the lane ends."""
    scale, rows = drawing.scale, LabelRows()
    lost = {one for finding in facts.found("lost-write") for one in finding.records}
    shown = sorted([*facts.sends, *others_lost(facts.found("lost-write"), facts.sends)], key=lambda one: one.sent_ns)
    sends = [s for s in shown if scale.holds(facts.at(s.sent_ns))]
    several = len({s.producer for s in shown}) > 1
    items = [
        _burst(drawing, facts, burst, rows, y + 6, burst[0].key in lost, several)
        for burst in bursts(facts, scale, sends, lost)
    ]
    items += [
        _act(drawing, facts, act, rows, y + 6)
        for act in facts.once(acts).drawn
        if scale.holds(facts.at(act.begin_ns)) or scale.holds(facts.at(act.end_ns))
    ]
    items += [
        _span(drawing, facts, step, rows, y + 6)
        for step in facts.steps
        if step.name.startswith(SPANS)
        and (scale.holds(facts.at(step.begin_ns)) or scale.holds(facts.at(step.end_ns or facts.end_ns)))
    ]
    height = max(26.0, rows.count * ROW + 10)
    lane(drawing, y, height, "clients")
    drawing.front += items
    return y + height
