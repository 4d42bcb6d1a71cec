"""A broker's lane: what its process was, and apart from it what the cluster stated of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

from evidence.records import TopicPartition
from evidence.run_state import ALIVE, DOWN, DYING, FROZEN, UP, Interval, PartitionInterval
from judgement.report.facts import JudgedRun, broker_id
from judgement.report.timeline_svg.disks import disk_strip
from judgement.report.timeline_svg.drawing import LEFT, RIGHT, Drawing, box, fitting, lane, tag, text, text_width, title

LOOKS: Final = {UP: "up", FROZEN: "frozen", DYING: "down", DOWN: "down"}
"""Of a process: its class in the stylesheet, and its pattern but for one that is up."""


def broker_lane(drawing: Drawing, facts: JudgedRun, node: str, partitions: Sequence[TopicPartition], y: float) -> float:
    """Draw one broker: its process, then for each partition its stated role and its disk; returns where it ends."""
    number = broker_id(node)
    mine = [p for p in partitions if number in facts.assignment.get(p, ())]
    bottom = y + 6
    _process_band(drawing, facts, node, bottom)
    bottom += 16
    for partition in mine:
        _role_band(drawing, facts, node, partition, bottom, named=len(partitions) > 1)
        bottom += 22
        bottom += disk_strip(drawing, facts, node, partition, bottom)
    bottom = max(bottom + 5, y + (26 if mine else 38))
    detail = "" if mine else "no replica"
    lane(drawing, y, bottom - y, node, detail)
    return bottom


def _process_band(drawing: Drawing, facts: JudgedRun, node: str, y: float) -> None:
    scale = drawing.scale
    taken, dots = sorted(_words_of_marks(drawing, facts, node)), _dots(drawing, facts, node)
    for interval in facts.processes.get(node, ()):
        begin, end = scale.x(facts.at(interval.begin_ns)), scale.x(facts.at(interval.end_ns))
        if end - begin < 0.5:
            continue
        from_to = f"from {facts.at(interval.begin_ns):.2f} s to {facts.at(interval.end_ns):.2f} s"
        from_to = f"{node} {interval.value} {from_to} ({interval.detail})"
        look = LOOKS[interval.value]
        fill = None if look == "up" else drawing.fill(look)
        drawing.middle.append(box(begin, y, end - begin, 14, look, from_to, fill=fill))
        words = interval.value if interval.value == UP else f"{interval.value}: {interval.detail}"
        room = (
            (left, fitting(right - left, words, interval.value, size=10)) for left, right in free(begin, end, taken)
        )
        left, shown = next(((left, shown) for left, shown in room if shown), (begin, ""))
        if shown and interval.value == UP:
            drawing.front.append(text(left + 5, y + 10.5, shown, class_="on-up tiny"))
        elif shown:
            # A plate under the words, or the hatching would run through them.
            drawing.front.append(box(left + 3, y + 1.5, text_width(shown, 10) + 5, 11, "plate"))
            drawing.front.append(text(left + 6, y + 10.5, shown, class_="tiny"))
    labelled = float(LEFT)
    for registration in _gone(drawing, facts, node):
        x = scale.x(facts.at(registration.begin_ns))
        begin, end = _gone_room(registration, x, dots)
        drawing.front.append(_gone_mark(facts, node, registration, x, y, dots, told=begin >= labelled))
        labelled = max(labelled, end)
    labelled = float(LEFT)
    for cut_node, interval in facts.cuts:
        begin, end = scale.x(facts.at(interval.begin_ns)), scale.x(facts.at(interval.end_ns))
        if cut_node == node and end - begin >= 0.5:
            about = f"{interval.detail}, until {facts.at(interval.end_ns):.2f} s"
            drawing.middle.append(box(begin, y - 3, end - begin, 20, "struck", about, fill=drawing.fill("cut")))
            if begin + 3 >= labelled:  # the next cut may follow so soon that the word stands there already
                labelled = begin + 8 + text_width(interval.value, 10)
                drawing.front.append(box(begin + 3, y + 1.5, text_width(interval.value, 10) + 5, 11, "plate"))
                drawing.front.append(text(begin + 5, y + 10.5, interval.value, class_="tiny"))


def free(begin: float, end: float, taken: Sequence[tuple[float, float]]) -> Iterable[tuple[float, float]]:
    """What is left of a band between words that stand in it, from left to right.

    >>> list(free(0, 100, [(-5, 10), (40, 60), (150, 160)]))
    [(10, 40), (60, 100)]
    """
    for left, right in taken:
        if right <= begin or left >= end:
            continue
        if left > begin:
            yield begin, left
        begin = right
    if begin < end:
        yield begin, end


def _gone(drawing: Drawing, facts: JudgedRun, node: str) -> Iterable[Interval]:
    """When the cluster took a broker for dead, as far as it is drawn."""
    for registration in facts.registrations.get(node, ()):
        if registration.value != ALIVE and drawing.scale.holds(facts.at(registration.begin_ns)):
            yield registration


def _dots(drawing: Drawing, facts: JudgedRun, node: str) -> list[float]:
    """Where the stems of faults end in a broker's process band, from left to right."""
    struck = (fault for fault in facts.faults if node in fault.nodes)
    times = [facts.at(fault.inject_ns) for fault in struck]
    return sorted(drawing.scale.x(at_s) for at_s in times if drawing.scale.holds(at_s))


def _words_of_marks(drawing: Drawing, facts: JudgedRun, node: str) -> Iterable[tuple[float, float]]:
    """Where words of marks and of cuts, and dots of faults, stand in a process's band."""
    dots = _dots(drawing, facts, node)
    yield from ((x - DOT, x + DOT) for x in dots)
    for registration in _gone(drawing, facts, node):
        yield _gone_room(registration, drawing.scale.x(facts.at(registration.begin_ns)), dots)
    for cut_node, interval in facts.cuts:
        begin, end = drawing.scale.x(facts.at(interval.begin_ns)), drawing.scale.x(facts.at(interval.end_ns))
        if cut_node == node and end - begin >= 0.5:
            yield begin + 3, begin + 8 + text_width(interval.value, 10)


DOT: Final = 4.0
"""Half of the width of the dot at the end of a stem."""


def _gone_words(registration: Interval, x: float, dots: Sequence[float]) -> tuple[str, float]:
    """The words of a mark, and where they begin: right of it or, where the picture ends, left of it."""
    words = "fenced" if registration.value == "fenced" else "session over"
    return words, clear(x, text_width(words, 10), dots)


def clear(x: float, width: float, dots: Sequence[float]) -> float:
    """Where words of a width begin that belong to a mark, so that no dot lies on them.

    >>> clear(200.0, 50.0, []), clear(200.0, 50.0, [220.0, 270.0]), clear(1170.0, 50.0, [])
    (207.0, 276.0, 1113.0)
    """
    left = x + 7
    for dot in dots:
        if left - DOT < dot < left + width + DOT:
            left = dot + DOT + 2
    if left + width <= RIGHT:
        return left
    right = x - 7
    for dot in reversed(dots):
        if right - width - DOT < dot < right + DOT:
            right = dot - DOT - 2
    return right - width


def _gone_room(registration: Interval, x: float, dots: Sequence[float]) -> tuple[float, float]:
    """From where to where a diamond and its words stand."""
    words, left = _gone_words(registration, x, dots)
    return min(x - 6, left - 2), max(x + 6, left + text_width(words, 10) + 2)


def _gone_mark(
    facts: JudgedRun, node: str, registration: Interval, x: float, y: float, dots: Sequence[float], *, told: bool
) -> str:
    """A diamond where the cluster noticed that a broker is gone; without words (`told`) where those of another are."""
    about = title(f"{facts.at(registration.begin_ns):.2f} s: the cluster takes {node} for dead ({registration.value})")
    diamond = tag("path", d=f"M{x:.1f} {y + 2.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z", fill="var(--controller)")
    if not told:
        return tag("g", about + diamond)
    begin, end = _gone_room(registration, x, dots)
    words, left = _gone_words(registration, x, dots)
    plate = box(begin, y + 1.5, end - begin, 11, "plate")
    return tag("g", about + plate + diamond + text(left, y + 10.5, words, class_="tiny"))


def _roles(facts: JudgedRun, node: str, partition: TopicPartition) -> Iterable[tuple[int, int, str, int]]:
    """(begin, end, role, leader epoch) of a broker as the cluster stated it for a partition;
    neighbours alike are joined.
    """
    number = broker_id(node)

    def role(state: PartitionInterval) -> tuple[str, int]:
        if state.leader == number:
            return "leader", state.leader_epoch
        return ("in sync" if number in state.isr else "out of sync"), -1

    states = facts.partitions.get(partition, ())
    for (name, epoch), together in itertools.groupby(states, key=role):
        run = list(together)
        yield run[0].begin_ns, run[-1].end_ns, name, epoch


def _role_band(
    drawing: Drawing, facts: JudgedRun, node: str, partition: TopicPartition, y: float, *, named: bool
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
        width = max(1.0, end - begin - 1)
        dead = [
            i for i in facts.processes.get(node, ()) if i.value == DOWN and i.begin_ns < end_ns and i.end_ns > begin_ns
        ]
        if role == "leader":
            about += f", leader epoch {epoch}"
            drawing.middle.append(box(begin, y, width, 19, "leader", about, rx=3))
            _hatch(drawing, facts, dead, begin, end, y, about)
            elected_dead = any(i.begin_ns <= begin_ns for i in dead)
            words = [f"leader, epoch {epoch}", f"leader {epoch}", f"L{epoch}"]
            if elected_dead:
                words = [f"leader, epoch {epoch}: elected while dead", f"leader {epoch}, elected dead", *words]
            shown = fitting(end - begin, *words)
            if shown:
                if dead:
                    plate = text_width(shown) * 0.94 + 4
                    drawing.front.append(box(begin + 2, y + 3, plate, 13, "leader"))
                drawing.front.append(text(begin + 5, y + 13.5, shown, class_="on-leader"))
        elif role == "in sync":
            drawing.middle.append(box(begin, y, width, 19, "isr", about, rx=3))
            _hatch(drawing, facts, dead, begin, end, y, about)
            shown = fitting(end - begin, "in ISR", "ISR")
            if shown:
                drawing.front.append(text(begin + 5, y + 13.5, shown, class_="on-isr"))
        else:
            drawing.middle.append(box(begin, y, width, 19, "out", about, rx=3))
            shown = fitting(end - begin, "not in ISR", "out")
            if shown:
                drawing.front.append(text(begin + 5, y + 13.5, shown, class_="muted"))


def _hatch(
    drawing: Drawing, facts: JudgedRun, dead: Iterable[Interval], begin: float, end: float, y: float, about: str
) -> None:
    """Hatching where a stated role belongs to a process that is down."""
    for interval in dead:
        left = max(begin, drawing.scale.x(facts.at(interval.begin_ns)))
        right = min(end, drawing.scale.x(facts.at(interval.end_ns)))
        look = {"fill": drawing.fill("dead"), "opacity": 0.55, "rx": None}
        drawing.middle.append(box(left, y, max(1.0, right - left - 1), 19, "", f"{about}; its process is down", **look))
