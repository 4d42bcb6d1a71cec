"""A moving picture: replicas' logs, drawn frame by frame, which a reader steps through or plays.

A picture is a few frames. A frame has a caption and one or two strips: two show the same moment on two releases. A
strip has the replicas of a partition (who leads, which records each log holds, where its high watermark is), and what
else a lesson is about: the producer and its answer, the controller, settings, a cut of the network, a question to the
leader.

Each mark has one meaning in every lesson, and a picture has a legend of its marks:

- filled: committed; hollow: not committed; grey: on a broker that is down;
- dashed: in memory, on no disk;
- crossed out: just removed from this log; red: acknowledged, and not in this log.

What is committed, removed and missing is worked out from the frames, so that no drawing can say another thing than its
neighbours. Pictures show documented mechanisms and no measured run; a chapter has a recorded run beside it.

Without a script every frame is a picture of its own with its caption, as in print. The script (movie.js) shows one at a
time: back, next, play, and which frame of how many it is. Nothing moves before a reader asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Literal

from markupsafe import Markup

WIDTH: Final = 340
"""As wide as the content of a page on a phone, so that words are there as large as they are drawn."""
LANE: Final = 70
ROW: Final = 30
"""The height of a row of the producer, of the controller, or of a setting."""
LEFT: Final = 8
CELL: Final = 38
CELL_HEIGHT: Final = 26
SENT_CELL: Final = 24
ARROW_X: Final = WIDTH - 12
LONGEST: Final = 34
"""So many words a caption has at most."""
WORDS_A_MINUTE: Final = 180.0
PAUSE_S: Final = 2.0
"""How long a frame is shown beside the time that its words take: to look at the drawing."""

Answer = Literal["waits", "acknowledged", "lost", "again"]


@dataclass(frozen=True, slots=True)
class DrawnReplica:
    """A replica in a frame."""

    name: str
    """Who holds it: "broker-1"."""
    state: str
    """What it is or does just then: "leader", "follower", "down"."""
    log: str
    """Its records, a character each. A stroke stands before the first record of the next leader epoch: "abc/D"."""
    hw: int | None = None
    """Its high watermark; None where it says nothing."""
    memory: int | None = None
    """From this offset on its records are on no disk."""
    start: int = 0
    """Its log start offset: records before it are deleted."""

    @property
    def records(self) -> str:
        return self.log.replace("/", "")

    @property
    def held(self) -> str:
        """Its records that are not deleted."""
        return self.records[self.start :]

    @property
    def epochs(self) -> tuple[int, ...]:
        """The leader epoch of each record.

        >>> DrawnReplica("a", "leader", "abc/D").epochs
        (0, 0, 0, 1)
        """
        found, epoch = list[int](), 0
        for one in self.log:
            if one == "/":
                epoch += 1
            else:
                found.append(epoch)
        return tuple(found)

    @property
    def down(self) -> bool:
        return self.state.startswith(("down", "no power"))

    @property
    def leads(self) -> bool:
        return self.state.startswith("leader")


@dataclass(frozen=True, slots=True)
class Sent:
    """What a producer has sent, and what it was answered."""

    who: str
    """"producer, acks=all"."""
    records: str = ""
    answer: Answer = "waits"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of words: who says something, and what."""

    who: str
    says: str
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one replica to another, or its answer."""

    words: str
    begin: int
    """The lane from which the arrow comes."""
    end: int
    """The lane to which it goes."""


@dataclass(frozen=True, slots=True)
class Strip:
    """What a frame shows of one cluster."""

    replicas: tuple[DrawnReplica, ...]
    sent: Sent | None = None
    rows: tuple[Row, ...] = ()
    cut: int | None = None
    """Below this lane the network is cut."""
    asked: Asked | None = None

    @property
    def lost(self) -> str:
        """Records that were acknowledged and are in no leader's log any more."""
        return self.sent.records if self.sent and self.sent.answer == "lost" else ""


@dataclass(frozen=True, slots=True)
class Frame:
    """A moment: what has just happened, and how things stand."""

    caption: str
    strips: tuple[Strip, ...]
    part: str = ""
    """Which part of the picture it belongs to. Where it changes, another sequence begins."""
    instead: bool = False
    """Whether it shows what happens with other settings, and not what happens next."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A picture: its frames, and what it shows, for those who do not see it."""

    id: str
    about: str
    frames: tuple[Frame, ...]
    names: tuple[str, ...] = ("",)
    """What each strip shows: "0.10"."""
    epochs: tuple[int, ...] = ()
    """The strips whose records bear their leader epochs."""
    plot: bool = False
    """Whether log ends and high watermarks are told of all frames as well, below the moving picture and its last frame:
    the staircase.
    """


def problems(picture: Moving) -> Iterator[str]:
    """What cannot be in a frame: a high watermark above a log's end, two leaders in one epoch, a leader that has a
    record which is lost; and a caption that is too long.
    """
    first = picture.frames[0]
    shape = [_shape(strip) for strip in first.strips]
    for number, frame in enumerate(picture.frames, 1):
        where = f"{picture.id}, frame {number}"
        if [_shape(strip) for strip in frame.strips] != shape or len(frame.strips) != len(picture.names):
            yield f"{where}: other lanes than in the first"
        if len(frame.caption.split()) > LONGEST:
            yield f"{where}: the caption has {len(frame.caption.split())} words, {LONGEST} at most"
        for strip in frame.strips:
            yield from (f"{where}: {problem}" for problem in _impossible(strip))


def _shape(strip: Strip) -> tuple[object, ...]:
    return [one.name for one in strip.replicas], strip.sent is None, [row.who for row in strip.rows]


def _impossible(strip: Strip) -> Iterator[str]:
    for one in strip.replicas:
        if one.hw is not None and one.hw > len(one.records):
            yield f"the high watermark of {one.name} is above its log's end"
        if one.leads and set(strip.lost) & set(one.held):
            yield f"{one.name} leads, and has a record that is lost"
    states = [one.state for one in strip.replicas if one.leads]
    if len(states) != len(set(states)):
        yield "two leaders in one epoch"


# What follows from the frames


@dataclass(frozen=True, slots=True)
class Seen:
    """What the frames up to one say of the records of a strip."""

    committed: frozenset[str]
    removed: tuple[tuple[tuple[int, str], ...], ...]
    """Of each lane: offsets and records that were in its log one frame before and have left it."""
    missing: tuple[tuple[tuple[int, str], ...], ...]
    """Of each lane: offsets and records that were acknowledged and are lost, where the log has nothing else."""


def seen(picture: Moving, strip: int) -> list[Seen]:
    """What is committed, removed and missing in each frame. A new part begins anew."""
    found = list[Seen]()
    committed, places = set[str](), dict[str, int]()
    for index, frame in enumerate(picture.frames):
        begins = not index or frame.part != picture.frames[index - 1].part
        now = frame.strips[strip]
        before = now if begins else picture.frames[index - 1].strips[strip]
        if begins:
            committed, places = set(), {}
        for one in now.replicas:
            places |= {record: offset for offset, record in enumerate(one.records)}
            if one.leads or one.down:
                committed |= set(one.records[: one.hw or 0])
        missing = tuple(tuple(_missing(one, now.lost, places)) for one in now.replicas)
        removed = tuple(
            tuple(_removed(one, old, now.lost)) for one, old in zip(now.replicas, before.replicas, strict=True)
        )
        found.append(Seen(frozenset(committed), removed, missing))
    return found


def _missing(one: DrawnReplica, lost: str, places: dict[str, int]) -> Iterator[tuple[int, str]]:
    for record in lost:
        at = places.get(record)
        if at is not None and record not in one.held and (at >= len(one.records) or at < one.start):
            yield at, record


def _removed(one: DrawnReplica, old: DrawnReplica, lost: str) -> Iterator[tuple[int, str]]:
    for offset, record in enumerate(old.records):
        if record not in one.records and record not in lost and offset >= len(one.records):
            yield offset, record


def seconds(frame: Frame) -> float:
    """How long a frame is shown when the picture plays: as long as its words take to read, and a little to look.

    >>> seconds(Frame("a b c", ()))
    3.0
    """
    words = len(frame.caption.split()) + len(frame.part.split())
    return round(PAUSE_S + words * 60 / WORDS_A_MINUTE, 1)


# Drawing


def drawn(picture: Moving) -> Markup:
    """The picture as HTML: controls and the frame that is shown, the legend, and the frames one by one."""
    stills = "".join(
        f'<li{_instead(frame)}><div class="strips">{_stills(picture, index)}</div><p>{_words(frame)}</p></li>'
        for index, frame in enumerate(picture.frames)
    )
    captions = "".join(f"<p{_instead(frame)}>{_words(frame)}</p>" for frame in picture.frames)
    times = ",".join(f"{seconds(frame):g}" for frame in picture.frames)
    stage = "".join(_svg(picture, strip) for strip in range(len(picture.names)))
    count = len(picture.frames)
    return Markup(
        f'<div class="movie" data-seconds="{times}">'
        '<div class="controls" role="group" aria-label="The picture">'
        '<button type="button" data-do="back">← Back</button><button type="button" data-do="next">Next →</button>'
        f'<button type="button" data-do="play">▶ Play</button><span class="where">1 of {count}</span>'
        '<button type="button" data-do="all">Show all frames</button>'
        "<small>Keys: ← → and space</small></div>"
        f'<div class="stage"><div class="captions" aria-live="polite">{captions}</div>'
        f'<div class="strips">{stage}</div></div>'
        f'<ul class="marks" aria-label="What the marks mean">{_legend(picture)}</ul>'
        f'<ol class="stills">{stills}</ol></div>'
    )


def _words(frame: Frame) -> str:
    part = f'<b class="part">{escape(frame.part)}</b> ' if frame.part else ""
    return part + escape(frame.caption)


def _instead(frame: Frame) -> str:
    return ' class="instead"' if frame.instead else ""


def _stills(picture: Moving, index: int) -> str:
    return "".join(_svg(picture, strip, index) for strip in range(len(picture.names)))


def _svg(picture: Moving, strip: int, only: int | None = None) -> str:
    """A strip: all frames of it, each mark with the frames that have it, or one frame."""
    known = [(frame.strips[strip], state) for frame, state in zip(picture.frames, seen(picture, strip), strict=True)]
    frames = known if only is None else [known[only]]
    parts, first = [_name(picture, strip)], frames[0][0]
    top = NAME if _named(picture) else 0
    lanes = top + _above(first)
    for text, shown in _parts(frames, top, lanes, epochs=strip in picture.epochs):
        parts.append(text if all(shown) else _within(text, shown))
    for lane in range(len(first.replicas)):
        parts.append(_watermark([one.replicas[lane].hw for one, _ in frames], lanes + lane * LANE))
    height = lanes + len(first.replicas) * LANE
    if picture.plot and only in (None, len(picture.frames) - 1):
        parts.append(_staircase(picture, height + 8, only))
        height += 8 + STAIR * (len(QUANTITIES) + 1) + 6
    about = picture.about if only is None else picture.frames[only].caption
    if picture.names[strip]:
        about = f"{picture.names[strip]}: {about}"
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(about)}">{"".join(parts)}</svg>'


def _within(drawing: str, shown: Sequence[bool]) -> str:
    """A drawing that is seen in some frames."""
    hidden = "" if shown[0] else ' class="off"'
    return f'<g data-in="{"".join("1" if one else "0" for one in shown)}"{hidden}>{drawing}</g>'


NAME: Final = 24
"""The height of a strip's name."""


def _name(picture: Moving, strip: int) -> str:
    return f'<text x="{LEFT}" y="15" class="release">{escape(picture.names[strip])}</text>' if _named(picture) else ""


def _named(picture: Moving) -> bool:
    return any(picture.names)


def _above(strip: Strip) -> int:
    """The height of the rows above the replicas."""
    rows = len(strip.rows) + (1 if strip.sent else 0)
    return rows * ROW + (8 if rows else 0)


def _parts(
    frames: Sequence[tuple[Strip, Seen]], top: int, lanes: int, *, epochs: bool
) -> Iterator[tuple[str, list[bool]]]:
    """Everything that comes and goes: its drawing, and the frames that have it."""
    found: dict[str, list[bool]] = {}
    for index, (strip, state) in enumerate(frames):
        every = [*_rows(strip, top + 2), *_lanes(strip, state, lanes, epochs=epochs)]
        for part in every:
            found.setdefault(part, [False] * len(frames))[index] = True
    yield from found.items()


def _rows(strip: Strip, y: int) -> Iterator[str]:
    """What stands above the replicas: the producer, the controller, settings."""
    if strip.sent:
        yield from _sent(strip.sent, y)
        y += ROW
    for row in strip.rows:
        yield _text(LEFT, y + 17, row.who, "who")
        yield _text(LEFT + 92, y + 17, row.says, "wrong" if row.wrong else "")
        y += ROW


ANSWERS: Final[dict[Answer, str]] = {
    "waits": "waits",
    "acknowledged": "✓ acknowledged",
    "lost": "✕ lost",
    "again": "↻ sent again",
}


def _sent(sent: Sent, y: int) -> Iterator[str]:
    yield _text(LEFT, y + 17, sent.who, "who")
    if not sent.records:
        return
    x = LEFT + 146
    width = SENT_CELL if len(sent.records) <= 3 else SENT_CELL * 2 // 3
    for at, record in enumerate(sent.records):
        yield _cell(x + at * width, y, width, record, "lost" if sent.answer == "lost" else "sent")
    x += len(sent.records) * width + 6
    if sent.answer in ("waits", "again"):
        yield f'<path class="glass" d="M{x} {y + 4}h10l-10 16h10z"/>'
        x += 15
    yield _text(x, y + 17, ANSWERS[sent.answer], "wrong" if sent.answer == "lost" else "says")


def _lanes(strip: Strip, state: Seen, top: int, *, epochs: bool) -> Iterator[str]:
    for lane, one in enumerate(strip.replicas):
        yield from _lane(one, top + lane * LANE, state, lane, epochs=epochs)
    if strip.cut is not None:
        yield _cut(top + (strip.cut + 1) * LANE)
    if strip.asked:
        yield _arrow(strip.asked, top)


def _lane(one: DrawnReplica, y: int, state: Seen, lane: int, *, epochs: bool) -> Iterator[str]:
    kind = "down" if one.down else "leader" if one.leads else "state"
    yield _text(LEFT, y + 15, one.name, "who")
    yield _text(LEFT + 70, y + 15, one.state, kind)
    for offset, record in enumerate(one.records):
        if offset < one.start:
            continue
        look = "down" if one.down else "record" if record in state.committed else "open"
        if one.memory is not None and offset >= one.memory:
            look += " memory"
        epoch = f"e{one.epochs[offset]}" if epochs else ""
        yield _cell(LEFT + offset * CELL, y + 22, CELL, record, look, epoch)
    for offset, record in state.removed[lane]:
        yield _cell(LEFT + offset * CELL, y + 22, CELL, record, "removed")
    for offset, record in state.missing[lane]:
        yield _cell(LEFT + offset * CELL, y + 22, CELL, record, "lost")
    drawn = [offset for offset, _ in (*state.removed[lane], *state.missing[lane])]
    end = LEFT + max(len(one.records), *(offset + 1 for offset in drawn), 0) * CELL
    said = f"start {one.start}, end {len(one.records)}" if one.start else f"end {len(one.records)}"
    yield _text(end + 6, y + 40, said, "end")


def _cell(x: float, y: float, width: int, record: str, look: str, epoch: str = "") -> str:
    """A record: its letter, and the leader epoch that it bears."""
    middle = x + width / 2 - (7 if epoch else 0)
    box = f'<rect x="{x + 2:g}" y="{y}" width="{width - 4}" height="{CELL_HEIGHT}" rx="4"/>'
    letter = f'<text x="{middle:g}" y="{y + 18}" text-anchor="middle">{escape(record)}</text>'
    mark = f'<text x="{middle + 7:g}" y="{y + 18}" class="epoch">{epoch}</text>' if epoch else ""
    crossed = f'<path d="M{x + 5:g} {y + 3}l{width - 10} {CELL_HEIGHT - 6}"/>' if look in ("removed", "lost") else ""
    return f'<g class="{look}">{box}{letter}{mark}{crossed}</g>'


def _text(x: float, y: float, words: str, look: str = "") -> str:
    name = f' class="{look}"' if look else ""
    return f'<text x="{x:g}" y="{y:g}"{name}>{escape(words)}</text>'


def _watermark(places: Sequence[int | None], y: int) -> str:
    """The line of a high watermark, which slides from frame to frame; nothing where no frame has one."""
    first = next((at for at in places if at is not None), None)
    if first is None:
        return ""
    mark = f'<path d="M{LEFT} {y + 18}v34"/><text x="{LEFT + 4}" y="{y + 62}">HW</text>'
    if len(places) == 1:
        return f'<g class="hw" transform="translate({first * CELL} 0)">{mark}</g>'
    steps, last = list[str](), first
    for at in places:
        last = last if at is None else at
        steps.append(str(last * CELL))
    line = f'<g class="hw" data-at="{",".join(steps)}" style="transform:translateX({steps[0]}px)">{mark}</g>'
    return _within(line, [at is not None for at in places])


def _cut(y: int) -> str:
    """A cut of the network between two lanes."""
    waves = "".join("l6 -4l6 4" for _ in range(18))
    return f'<g class="cut"><path d="M{LEFT} {y}{waves}"/>{_text(LEFT + 222, y + 4, "network cut")}</g>'


def _arrow(asked: Asked, top: int) -> str:
    """A question of one replica to another, or its answer: an arrow on the right, and its words beside it."""
    begin, end = (top + lane * LANE + 36 for lane in (asked.begin, asked.end))
    head = 7 if end > begin else -7
    y = top + max(asked.begin, asked.end) * LANE + 15
    return (
        f'<g class="asked"><path d="M{ARROW_X} {begin}V{end}m-5 {-head}l5 {head}l5 {-head}"/>'
        f'<text x="{ARROW_X - 7}" y="{y}" text-anchor="end">{escape(asked.words)}</text></g>'
    )


# The legend


def _legend(picture: Moving) -> str:
    """What the marks mean that the picture has, and no others."""
    every = "".join(_svg(picture, strip) for strip in range(len(picture.names)))
    return "".join(
        f'<li><svg viewBox="0 0 {width} 30" width="{width}" height="30" aria-hidden="true">{icon}</svg>{words}</li>'
        for sign, icon, width, words in MARKS
        if sign in every
    )


MARKS: Final = (
    ('class="record"', _cell(0, 2, CELL, "a", "record"), CELL, "committed: every in-sync replica has it"),
    ('class="open"', _cell(0, 2, CELL, "a", "open"), CELL, "not committed"),
    ('class="record memory"', _cell(0, 2, CELL, "a", "record memory"), CELL, "committed, in memory, on no disk"),
    ('class="down', _cell(0, 2, CELL, "a", "down"), CELL, "on a broker that is down"),
    ('class="removed"', _cell(0, 2, CELL, "a", "removed"), CELL, "just removed from this log"),
    ('class="lost"', _cell(0, 2, CELL, "a", "lost"), CELL, "acknowledged, and not in this log"),
    ('class="epoch"', _cell(0, 2, CELL, "a", "record", "e1"), CELL, "e1: appended in leader epoch 1"),
    ('class="hw"', '<g class="hw"><path d="M4 2v28"/><text x="8" y="22">HW</text></g>', 34, "high watermark"),
    ('class="end"', _text(0, 22, "end 4", "end"), 38, "log end: the offset of the next record"),
    ('class="glass"', '<path class="glass" d="M4 7h10l-10 16h10z"/>', 18, "the producer has no answer yet"),
)
"""The sign of each mark in a drawing, how it is drawn in the legend, how wide, and its words."""


# The staircase

STAIR: Final = 20
QUANTITIES: Final = (("leader's log end", 0, False), ("follower's log end", 1, False),
                     ("leader's HW", 0, True), ("follower's HW", 1, True))  # fmt: skip
"""The rows of the staircase: words, lane, and whether it is the high watermark."""
STAIRS_LEFT: Final = 128


def _staircase(picture: Moving, top: float, only: int | None) -> str:
    """Log ends and high watermarks in each frame, as numbers; where one has just risen it is marked."""
    count = len(picture.frames)
    width = (WIDTH - STAIRS_LEFT) / count
    parts = list[str]()
    for index in range(count):
        x, height = STAIRS_LEFT + index * width, STAIR * (len(QUANTITIES) + 1) + 4
        now = f'<rect class="now" x="{x:.1f}" y="{top - 4}" width="{width:.1f}" height="{height}"/>'
        if only is None:
            parts.append(_within(now, [one == index for one in range(count)]))
        elif only == index:
            parts.append(now)
    parts.append(_text(LEFT, top + 12, "frame", "end"))
    parts += [_number(index, width, top + 12, index + 1, "end") for index in range(count)]
    for row, (words, lane, watermark) in enumerate(QUANTITIES, 1):
        y = top + 12 + STAIR * row
        parts.append(_text(LEFT, y, words, ""))
        before = None
        for index, frame in enumerate(picture.frames):
            one = frame.strips[0].replicas[lane]
            value = (one.hw or 0) if watermark else len(one.records)
            parts.append(_number(index, width, y, value, "risen" if before not in (None, value) else ""))
            before = value
    return "".join(parts)


def _number(index: int, width: float, y: float, value: int, look: str) -> str:
    x = STAIRS_LEFT + (index + 0.5) * width
    name = f' class="{look}"' if look else ""
    return f'<text x="{x:.1f}" y="{y:g}" text-anchor="middle"{name}>{value}</text>'
