"""The parts of the picture: a scale, rows for labels, SVG elements as text, and the layers that hold them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evidence.text import html

STYLE: Final = (Path(__file__).parent.parent / "templates" / "timeline.css").read_text()
WIDTH: Final = 1200
LEFT: Final = 118
RIGHT: Final = 1184
CELL: Final = 9
ROW: Final = 17
CHAR: Final = 0.615
"""Width of a character as a share of its font size: generous, so that text never runs out of its box."""


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


class LabelRows:
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


def beside(begin: float, end: float, width: float) -> tuple[float, float, float]:
    """Where a label of a width stands beside marks: from where to where both need room, and where its words begin. It
    stands right of the marks, else left of them, else on them.

    >>> beside(200.0, 210.0, 50.0), beside(1150.0, 1160.0, 50.0), beside(130.0, 1160.0, 50.0)
    ((194.0, 268.0, 218.0), (1092.0, 1168.0, 1092.0), (124.0, 1168.0, 136.0))
    """
    if end + 8 + width <= RIGHT:
        return begin - 6, end + 8 + width, end + 8
    if begin - 8 - width >= LEFT:
        return begin - 8 - width, end + 8, begin - 8 - width
    return begin - 6, max(end + 8, begin + 6 + width), begin + 6


def tag(name: str, content: str = "", **attributes: object) -> str:
    """One SVG element; attribute names use _ for -, a trailing _ is dropped; numbers are rounded; text is not escaped.

    >>> tag("rect", x=1.25, fill="red")
    '<rect x="1.2" fill="red"/>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        shown = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
        parts.append(f'{key.rstrip("_").replace("_", "-")}="{html(shown)}"')
    opening = " ".join(parts)
    return f"<{opening}>{content}</{name}>" if content else f"<{opening}/>"


def text(x: float, y: float, content: str, *, class_: str = "", anchor: str | None = None) -> str:
    """A text element, escaped."""
    return tag("text", html(content), x=x, y=y, class_=class_ or None, text_anchor=anchor)


def box(x: float, y: float, width: float, height: float, look: str, about: str = "", **more: object) -> str:
    """A rectangle with rounded corners; `look` is its class in the stylesheet, `about` its tooltip."""
    attributes: dict[str, object] = {"x": x, "y": y, "width": width, "height": height, "rx": 2, "class_": look or None}
    return tag("rect", title(about) if about else "", **(attributes | more))


def cell(x: float, y: float, colour: str, *, filled: bool = True) -> str:
    """A record on a disk: filled below the high watermark, hollow above it."""
    fill = colour if filled else "var(--surface)"
    return box(x + 0.6, y, CELL - 1.2, 11, "cell", rx=1.5, fill=fill, stroke=colour)


def empty(x: float, y: float, colour: str) -> str:
    """A record that was deleted: the outline of its cell."""
    return box(x + 0.6, y, CELL - 1.2, 11, "gone", rx=1.5, fill="none", stroke=colour)


def differs(x: float, y: float, colour: str) -> str:
    """The sign in the cell of a record that another replica does not have there."""
    return tag(
        "path", d=f"M{x + 2.2:.1f} {y + 3.6:.1f}h4.6m-4.6 3.8h4.6m-.8 -5.6l-3 7.4", stroke=colour, class_="differs"
    )


def vertical(x: float, top: float, bottom: float, **look: object) -> str:
    """A line from top to bottom."""
    return tag("line", "", x1=x, x2=x, y1=top, y2=bottom, **look)


def title(content: str) -> str:
    """The tooltip of a mark."""
    return f"<title>{html(content)}</title>"


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


def patterns(prefix: str) -> str:
    """The patterns that show states without colour; their names begin with `prefix`."""

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


def assembled(drawing: Drawing, name: str, description: str, height: float, *, background: bool = False) -> str:
    """The <svg> element of a drawing, with what it is for those who cannot see it."""
    prefix = drawing.prefix
    parts = [
        f'<svg class="kc" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" aria-labelledby="{prefix}-title {prefix}-desc">',
        f'<title id="{prefix}-title">{html(name)}</title><desc id="{prefix}-desc">{html(description)}</desc>',
        f"<style>{STYLE}</style>",
        patterns(prefix),
    ]
    if background:
        parts.append(box(0, 0, WIDTH, height, "plate", rx=8))
    return "\n".join([*parts, *drawing.back, *drawing.middle, *drawing.front, "</svg>"]) + "\n"


def lane(drawing: Drawing, y: float, height: float, name: str, detail: str = "") -> None:
    """Draw a lane's ground and its name."""
    drawing.back.append(box(8, y, RIGHT - 4, height, "lane", rx=5))
    drawing.front.append(text(16, y + 17, name, class_="lane-name"))
    if detail:
        drawing.front.append(text(16, y + 31, detail, class_="muted tiny"))


def fitting(room: float, *candidates: str, size: float = 11) -> str:
    """The first of these texts that fits."""
    return next((c for c in candidates if text_width(c, size) + 8 <= room), "")
