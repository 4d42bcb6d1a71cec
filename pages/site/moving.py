"""A moving picture: replicas' logs, drawn frame by frame, without a script.

A picture is a few frames. A frame has a caption and the replicas of a partition: who leads, which records each log
holds, where its high watermark is. What changes from one frame to the next moves: records come and go, the line of the
high watermark slides. Pictures show documented mechanisms and no measured run; a chapter has a recorded run beside it.

The motion is CSS. Who asks for less motion, prints, or stops it sees every frame as a picture of its own, below one
another. A frame can be read without the picture: its caption is text of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from markupsafe import Markup

WIDTH: Final = 400
LANE: Final = 70
LEFT: Final = 8
CELL: Final = 40
CELL_HEIGHT: Final = 26
SECONDS: Final = 3.6
"""How long a frame is shown."""
GONE: Final = "✕"
PLOT_HEIGHT: Final = 96


@dataclass(frozen=True, slots=True)
class DrawnReplica:
    """A replica in a frame."""

    name: str
    """Who holds it: "broker-1"."""
    state: str
    """What it is or does just then: "leader", "follower", "down"."""
    log: str
    """Its records, a character each."""
    hw: int | None = None
    """Its high watermark; None where it says nothing."""
    unsure: int | None = None
    """From this offset on its records are not safe: not flushed, or on no other replica."""

    @property
    def down(self) -> bool:
        return self.state.startswith(("down", "no power"))

    @property
    def leads(self) -> bool:
        return self.state.startswith("leader")


@dataclass(frozen=True, slots=True)
class Frame:
    """A moment: what has just happened, and how the replicas stand."""

    caption: str
    replicas: tuple[DrawnReplica, ...]
    lost: str = ""
    """Records that were acknowledged and are on no log any more, or are read by nobody."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A picture: its frames, and what it shows, for those who do not see it."""

    id: str
    about: str
    frames: tuple[Frame, ...]
    plot: bool = False
    """Whether log ends and high watermarks are drawn over time as well: the staircase."""


def problems(picture: Moving) -> Iterator[str]:
    """What cannot be in a frame: a high watermark above a log's end, two leaders in one epoch, a leader that has a
    record which is lost.
    """
    names = [one.name for one in picture.frames[0].replicas]
    for number, frame in enumerate(picture.frames, 1):
        where = f"{picture.id}, frame {number}"
        if [one.name for one in frame.replicas] != names:
            yield f"{where}: other replicas than in the first"
        for one in frame.replicas:
            if one.hw is not None and one.hw > len(one.log):
                yield f"{where}: the high watermark of {one.name} is above its log's end"
            if one.leads and set(frame.lost) & set(one.log):
                yield f"{where}: {one.name} leads, and has a record that is lost"
        states = [one.state for one in frame.replicas if one.leads]
        if len(states) != len(set(states)):
            yield f"{where}: two leaders in one epoch"


# Drawing


def drawn(picture: Moving) -> Markup:
    """The picture as HTML: the moving one, the captions, and the frames one by one."""
    captions = "".join(
        f'<li><span class="frame">{_svg(picture, [frame])}</span>{escape(frame.caption)}{_lost(frame)}</li>'
        for frame in picture.frames
    )
    stage = "".join(
        f'<p class="m-{picture.id}-f{index}">{escape(frame.caption)}{_lost(frame)}</p>'
        for index, frame in enumerate(picture.frames)
    )
    style = "".join(sorted(set(_rules(picture))))
    return Markup(
        f"<style>{style}</style>"
        f'<div class="movie"><input type="checkbox" id="still-{picture.id}"><label for="still-{picture.id}">'
        "Show the frames one by one</label>"
        f'<div class="stage">{_svg(picture, picture.frames)}'
        f'<div class="captions" aria-hidden="true">{stage}</div></div>'
        f'<ol class="strip">{captions}</ol></div>'
    )


def _lost(frame: Frame) -> str:
    return f' <b class="gone">{GONE} lost: {escape(", ".join(frame.lost))}</b>' if frame.lost else ""


def _name(prefix: str, kind: str, *parts: object) -> str:
    return "-".join([f"m-{prefix}-{kind}", *map(str, parts)])


def _shown(frames: Sequence[bool]) -> str:
    """The name of the rule for what is to be seen in these frames."""
    return "".join("1" if one else "0" for one in frames)


def _rules(picture: Moving) -> Iterator[str]:
    """The style of everything that moves in a picture."""
    count, total = len(picture.frames), len(picture.frames) * SECONDS
    for shown in _patterns(picture):
        name = _name(picture.id, "s", shown)
        stops = [f"{100 * index / count:.2f}%{{opacity:{bit}}}" for index, bit in enumerate(shown)]
        yield (
            f"@keyframes {name}{{{''.join(stops)}100%{{opacity:{shown[-1]}}}}}"
            f".{name}{{animation:{name} {total:g}s steps(1,end) infinite}}"
        )
    for index in range(count):
        shown = _shown([one == index for one in range(count)])
        name = _name(picture.id, "s", shown)
        yield f".m-{picture.id}-f{index}{{animation:{name} {total:g}s steps(1,end) infinite}}"
    for lane in range(len(picture.frames[0].replicas)):
        places = [frame.replicas[lane].hw or 0 for frame in picture.frames]
        yield _slide(_name(picture.id, "hw", lane), [CELL * place for place in places], total)
    if picture.plot:
        yield _slide(_name(picture.id, "now"), [_plot_x(index, count) for index in range(count)], total)


def _slide(name: str, places: Sequence[float], total: float) -> str:
    """A rule that brings something to a place in each frame, and rests there."""
    count = len(places)
    stops = []
    for index, place in enumerate(places):
        begin = 100 * index / count
        before = places[index - 1] if index else place
        stops.append(f"{begin:.2f}%{{transform:translateX({before:g}px)}}")
        stops.append(f"{begin + 22 / count:.2f}%,{begin + 99 / count:.2f}%{{transform:translateX({place:g}px)}}")
    return f"@keyframes {name}{{{''.join(stops)}}}.{name}{{animation:{name} {total:g}s linear infinite}}"


def _patterns(picture: Moving) -> Iterator[str]:
    count = len(picture.frames)
    for index in range(count):
        yield _shown([one == index for one in range(count)])
    for _, shown in _parts(picture.frames):
        yield _shown(shown)


def _parts(frames: Sequence[Frame]) -> Iterator[tuple[str, list[bool]]]:
    """Everything in lanes that comes and goes: its drawing, and the frames that have it."""
    found: dict[str, list[bool]] = {}
    for index, frame in enumerate(frames):
        for lane, one in enumerate(frame.replicas):
            for part in _lane(one, lane, frame):
                found.setdefault(part, [False] * len(frames))[index] = True
    yield from found.items()


def _lane(one: DrawnReplica, lane: int, frame: Frame) -> Iterator[str]:
    y = lane * LANE
    kind = "down" if one.down else "leader" if one.leads else ""
    yield f'<text x="{LEFT + 66}" y="{y + 16}" class="state {kind}">{escape(one.state)}</text>'
    for offset, record in enumerate(one.log):
        lost = record in frame.lost
        unsure = one.unsure is not None and offset >= one.unsure
        look = "lost" if lost else "down" if one.down else "unsure" if unsure else "record"
        x = LEFT + offset * CELL
        yield (
            f'<g class="{look}"><rect x="{x + 2}" y="{y + 24}" width="{CELL - 4}" height="{CELL_HEIGHT}" rx="4"/>'
            f'<text x="{x + CELL / 2:g}" y="{y + 42}" text-anchor="middle">{escape(record)}</text></g>'
        )
    end = LEFT + len(one.log) * CELL
    yield f'<text x="{end + 8}" y="{y + 42}" class="end">end {len(one.log)}</text>'


def _svg(picture: Moving, frames: Sequence[Frame]) -> str:
    moving = len(frames) > 1
    lanes = frames[0].replicas
    height = len(lanes) * LANE + (PLOT_HEIGHT + 22 if picture.plot and moving else 0)
    parts = [
        f'<text x="{LEFT}" y="{lane * LANE + 16}" class="who">{escape(one.name)}</text>'
        for lane, one in enumerate(lanes)
    ]
    for text, shown in _parts(frames):
        parts.append(text if all(shown) else f'<g class="{_name(picture.id, "s", _shown(shown))}">{text}</g>')
    for lane in range(len(lanes)):
        told = [frame.replicas[lane].hw is not None for frame in frames]
        if not any(told):
            continue
        y, at = lane * LANE, frames[0].replicas[lane].hw or 0
        mark = f'<path d="M{LEFT} {y + 20}v34"/><text x="{LEFT + 4}" y="{y + 63}">HW</text>'
        mark = (
            f'<g class="hw {_name(picture.id, "hw", lane)}">{mark}</g>'
            if moving
            else (f'<g class="hw" transform="translate({at * CELL} 0)">{mark}</g>')
        )
        parts.append(mark if all(told) else f'<g class="{_name(picture.id, "s", _shown(told))}">{mark}</g>')
    if picture.plot and moving:
        parts.append(_plot(picture, len(lanes) * LANE + 10))
    about = escape(picture.about if moving else frames[0].caption)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{about}">{"".join(parts)}</svg>'


# The staircase


def _plot_x(index: int, count: int) -> float:
    return round((WIDTH - 150) * index / count, 1)


def _plot(picture: Moving, top: float) -> str:
    """Log ends and high watermarks over the frames, as steps, with a line at the frame that is shown."""
    count = len(picture.frames)
    highest = max(len(one.log) for frame in picture.frames for one in frame.replicas)
    lowest = min(one.hw or 0 for frame in picture.frames for one in frame.replicas) - 0.5
    parts = []

    def height(offset: float) -> float:
        return top + PLOT_HEIGHT - (PLOT_HEIGHT - 10) * (offset - lowest) / (highest - lowest)

    for lane, kind in enumerate(("one", "two")):
        for what in ("log end", "HW"):
            values = [
                (len(frame.replicas[lane].log) if what == "log end" else frame.replicas[lane].hw or 0)
                for frame in picture.frames
            ]
            shift = 3.0 * lane + (1.5 if what == "HW" else 0)
            points = [f"M{LEFT} {height(values[0]) + shift:.1f}"]
            for index, value in enumerate(values):
                points.append(f"V{height(value) + shift:.1f}H{LEFT + _plot_x(index + 1, count):.1f}")
            parts.append(f'<path class="step {kind} {"hwline" if what == "HW" else ""}" d="{"".join(points)}"/>')
    x = WIDTH - 132
    for row, (words, look) in enumerate(
        (
            ("leader's log end", "step one"),
            ("leader's HW", "step one hwline"),
            ("follower's log end", "step two"),
            ("follower's HW", "step two hwline"),
        )
    ):
        y = top + 14 + 22 * row
        parts.append(f'<path class="{look}" d="M{x} {y - 4}h14"/><text class="end" x="{x + 18}" y="{y}">{words}</text>')
    parts.append(f'<path class="now {_name(picture.id, "now")}" d="M{LEFT} {top - 4}v{PLOT_HEIGHT + 8}"/>')
    parts.append(f'<text class="end" x="{LEFT}" y="{top + PLOT_HEIGHT + 10}">time →</text>')
    return "".join(parts)
