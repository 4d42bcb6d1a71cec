"""What was on a broker's disk: a cell a record at each moment when files were copied, and the truncations it logged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from evidence.events import Ends, Log, Moment
from evidence.records import TopicPartition
from judgement.report.facts import JudgedRun
from judgement.report.steps import Act, named, truncations
from judgement.report.timeline_svg.drawing import (
    CELL,
    LEFT,
    RIGHT,
    ROW,
    Drawing,
    LabelRows,
    box,
    cell,
    differs,
    empty,
    tag,
    text,
    text_width,
    title,
    vertical,
)

MAX_CELLS: Final = 8


def _lost_offsets(facts: JudgedRun, partition: TopicPartition, moment: Moment, node: str) -> set[int]:
    """Offsets of records that were acknowledged, are lost in the end, and are on this disk at this moment."""
    rows = [row for one in facts.found("lost-write") if one.where == partition for row in one.evidence]
    held = {row.holdings.get(moment.name, {}).get(node) for row in rows}
    return {offset for offset in held if offset is not None}


def _diverged_offsets(facts: JudgedRun, partition: TopicPartition, moment: Moment) -> set[int]:
    rows = [row for one in facts.found("replica-divergence") if one.where == partition for row in one.evidence]
    return {row.offset for row in rows if row.moment == moment.name and row.offset is not None}


def first_on_disk(files: Iterable[str], where: str) -> int:
    """The offset at which the first segment of a partition begins, among the names of copied files; 0 without any. What
    lies before it is on no disk: it was deleted.

    >>> first_on_disk(["t-0/00000000000000000007.log", "t-0/00000000000000000005.log"], "t-0")
    5
    >>> first_on_disk(["t-0/00000000000000000005.log.deleted", "t-1/00000000000000000005.log"], "t-0")
    0
    """
    found = [SEGMENT.fullmatch(name.removeprefix(f"{where}/")) for name in files if name.startswith(f"{where}/")]
    return min((int(one[1]) for one in found if one), default=0)


SEGMENT: Final = re.compile(r"(\d{20})\.log")


def _ever_lost(facts: JudgedRun, partition: TopicPartition) -> set[int]:
    """The offsets at which acknowledged records that are lost were."""
    rows = [row for one in facts.found("lost-write") if one.where == partition for row in one.evidence]
    return {row.offset for row in rows if row.offset is not None}


def _cells(
    facts: JudgedRun,
    partition: TopicPartition,
    moment: Moment,
    node: str,
    x: float,
    y: float,
    first: int,
    leo: int,
    hw: int | None,
) -> str:
    """A cell for each offset up to the log's end: an empty outline for a record that is deleted, red if it is lost."""
    lost, diverged = _lost_offsets(facts, partition, moment, node), _diverged_offsets(facts, partition, moment)
    gone = _ever_lost(facts, partition)
    parts = []
    for offset in range(leo):
        left = x + offset * (CELL + 1)
        committed = hw is not None and offset < hw
        if offset < first:
            parts.append(empty(left, y, "var(--lost)" if offset in gone else "var(--out)"))
            continue
        bad = offset in lost or offset in diverged
        colour = "var(--lost)" if bad else "var(--cell)"
        parts.append(cell(left, y, colour, filled=committed))
        if offset in diverged:
            parts.append(differs(left, y, "var(--surface)" if committed else colour))
    if hw is not None and hw <= leo:
        mark = x + hw * (CELL + 1) - 0.5
        parts.append(vertical(mark, y - 2, y + 13, class_="high-watermark"))
    return "".join(parts)


def cut_something(facts: JudgedRun, node: str, where: str, line: Log) -> bool:
    """Whether a truncation is known to have removed records: the last copy before it reaches beyond its offset.

    A log only grows between truncations, so a copy that goes further, not yet truncated, proves it.
    """
    before = [m for m in facts.moments if m.at_ns <= line.at_ns and where in m.nodes.get(node, {})]
    if not before or line.offset is None:
        return False
    topic, _, partition = where.rpartition("-")
    between = any(
        act.line.node == node and act.line.at_ns < line.at_ns and (act.line.offset or 0) <= line.offset
        for act in truncations(facts, (topic, int(partition)), before[-1].at_ns)
    )
    return not between and (before[-1].nodes[node][where].leo or 0) > line.offset


def disk_strip(drawing: Drawing, facts: JudgedRun, node: str, partition: TopicPartition, y: float) -> float:
    """What was on disk at each moment, and truncations; returns the height used."""
    rows, where = LabelRows(), named(partition)
    for act in truncations(facts, partition, 0):
        cut = cut_something(facts, node, where, act.line)
        # Becoming a follower with an empty log is logged as a truncation to 0.
        told = cut or any(send.done_ns and send.done_ns < act.line.at_ns for send in facts.sends)
        if act.line.node == node and told and drawing.scale.holds(facts.at(act.line.at_ns)):
            drawing.front.append(_truncation(drawing, facts, act, rows, y, where, cut))
    for moment in facts.moments:
        ends = moment.nodes.get(node, {}).get(where, Ends())
        if ends.leo is not None and drawing.scale.holds(facts.at(moment.at_ns)):
            drawing.front.append(_log_at(drawing, facts, node, partition, moment, rows, y))
    return rows.count * ROW + (2 if rows.count else 0)


def _truncation(drawing: Drawing, facts: JudgedRun, act: Act, rows: LabelRows, y: float, where: str, cut: bool) -> str:
    """A bar where a log was truncated; with a cross if that is known to have removed something."""
    line, at_s = act.line, facts.at(act.line.at_ns)
    x = drawing.scale.x(at_s)
    words = f"truncated to {line.offset}" if cut else f"truncate to {line.offset}"
    width = text_width(words) + 16
    leftward = x + width > RIGHT
    begin = x - width if leftward else x - 4
    row_y = y + 1 + rows.place(begin, begin + width + 4) * ROW
    colour, class_ = ("var(--lost)", "lost-text") if cut else ("var(--muted)", "muted")
    cross = f"M{x - 4:.1f} {row_y + 3:.1f}l8 8m0 -8l-8 8" if cut else ""
    mark = tag("path", d=f"M{x:.1f} {row_y:.1f}v14{cross}", stroke=colour, class_="drawn")
    said = f"{at_s:.2f} s: {line.node} truncated {where} to offset {line.offset}. Its log says:\n" + "\n".join(
        act.quotes
    )
    label = text(begin if leftward else x + 8, row_y + 11, words, class_=f"{class_} halo")
    return tag("g", title(said) + mark + label)


def _log_at(
    drawing: Drawing, facts: JudgedRun, node: str, partition: TopicPartition, moment: Moment, rows: LabelRows, y: float
) -> str:
    """The cells of a log at a moment of copying, and where it ends. Where they have no room right of their time, they
    stand left of it on a line of their own: what is further left on a line is never later.
    """
    at_s, where = facts.at(moment.at_ns), named(partition)
    ends = moment.nodes[node][where]
    leo, hw = ends.leo or 0, ends.hw
    first = min(first_on_disk(moment.files.get(node, {}), where), leo)
    words = ends_in_words(first, leo, hw)
    drawn = leo if leo <= MAX_CELLS else 0
    width = drawn * (CELL + 1) + 4 + text_width(words, 10)
    x = drawing.scale.x(at_s)
    leftward = x + 3 + width > RIGHT
    begin = x - 5 - width if leftward else x + 3
    row = rows.place(LEFT, RIGHT) if leftward else rows.place(begin, begin + width)
    row_y = y + 2 + row * ROW
    sentence = f"{at_s:.2f} s, “{moment.label}”: on {node}'s disk {where} ends at {leo}"
    sentence += f", its checkpointed high watermark is {hw}" if hw is not None else ""
    sentence += f"; what lies before offset {first} is deleted" if first else ""
    lost = _lost_offsets(facts, partition, moment, node)
    sentence += f"; it holds the record at {', '.join(map(str, sorted(lost)))} that is lost in the end" if lost else ""
    ground = box(begin - 2, row_y, width + 4, 13, "lane") if leftward else ""
    cells = _cells(facts, partition, moment, node, begin, row_y + 1, first, drawn, hw if drawn else None)
    label = text(begin + drawn * (CELL + 1) + 4, row_y + 10, words, class_="tiny muted halo")
    return tag("g", title(sentence) + ground + cells + label)


def ends_in_words(first: int, leo: int, hw: int | None) -> str:
    """Where a log ends, and its high watermark. That is read from a file of its own, which a power loss may leave newer
    than the log.

    >>> ends_in_words(0, 4, 3), ends_in_words(0, 4, None), ends_in_words(5, 5, 5), ends_in_words(2, 5, 5)
    ('LEO 4 HW 3', 'LEO 4', 'empty, LEO 5 HW 5', 'from 2, LEO 5 HW 5')
    >>> ends_in_words(0, 806, 1435)
    'LEO 806, HW file: 1435'
    """
    begin = f"empty, LEO {leo}" if first and first >= leo else f"from {first}, LEO {leo}" if first else f"LEO {leo}"
    if hw is None:
        return begin
    return f"{begin}, HW file: {hw}" if hw > leo else f"{begin} HW {hw}"
