"""Stored pictures in fewer bytes, drawn as before: a site with a hundred pictures has a limit.

Each function takes an <svg> element, or a part of one, and returns it shorter. They come after everything that looks
for marks in a picture, because that knows the longer ways of writing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

PATTERN: Final = re.compile(r'<pattern id="([\w-]+)".*?</pattern>', re.DOTALL)
LINE: Final = re.compile(r'<line x1="([\d.]+)" x2="([\d.]+)" y1="([\d.]+)" y2="([\d.]+)"([^>]*?)/>')
CELL: Final = (
    r'<rect x="([\d.]+)" y="([\d.]+)" width="7.8" height="11" rx="1.5" class="cell" (fill="[^"]*" stroke="[^"]*")/>'
)
CELLS: Final = re.compile(f"(?:{CELL}){{2,}}")
PATH: Final = re.compile(r'(?<= d=")M[\d. ]+[VH][\d.VHZ]*(?=")')
STEP: Final = re.compile(r"([A-Z])([^A-Z]*)")
WHOLE: Final = re.compile(r"(?<=\d)\.0(?![\d])")
DRAWN: Final = re.compile(r'(?<= d=")[^"]*(?=")')


def compact(svg: str) -> str:
    """A picture in fewer bytes."""
    svg = CELLS.sub(_cells, used_patterns(svg))
    svg = LINE.sub(_straight, svg)
    svg = PATH.sub(lambda one: steps(one[0]), svg)
    return DRAWN.sub(lambda one: WHOLE.sub("", one[0]), svg)


def used_patterns(svg: str) -> str:
    """A picture without the patterns that nothing in it is filled with.

    >>> used_patterns('<pattern id="a"></pattern><pattern id="b"></pattern><rect fill="url(#b)"/>')
    '<pattern id="b"></pattern><rect fill="url(#b)"/>'
    """
    return PATTERN.sub(lambda one: one[0] if f"url(#{one[1]})" in svg else "", svg)


def _straight(found: re.Match[str]) -> str:
    """A line that is upright or level, as a path."""
    x, to_x, y, to_y, look = found.groups()
    if x == to_x:
        return f'<path d="M{x} {y}V{to_y}"{look}/>'
    return f'<path d="M{x} {y}H{to_x}"{look}/>' if y == to_y else found[0]


def _cells(found: re.Match[str]) -> str:
    """Cells of records in a row: those that look alike are one path."""
    cells = re.findall(CELL, found[0])
    return "".join(
        f'<path d="{"".join(f"M{x} {y}h7.8v11h-7.8z" for x, y, _ in alike)}" class="cell" {look}/>'
        for look, alike in groupby(cells, key=lambda one: one[2])
    )


def steps(path: str) -> str:
    """A path of upright and level lines without those that go nowhere, and with level ones in a row as one.

    >>> steps("M1.0 5V5H2V5H3V7H4")
    'M1.0 5H3V7H4'
    >>> steps("M1 5V5H3V9H1Z")
    'M1 5H3V9H1Z'
    """
    return "".join(_steps(STEP.findall(path)))


def _steps(commands: list[tuple[str, str]]) -> Iterator[str]:
    x = y = 0.0
    waiting = ""
    for letter, value in commands:
        if letter == "M":
            x, y = map(float, value.split())
        elif letter == "V":
            if float(value) == y:
                continue
            y = float(value)
        elif letter == "H":
            onward, x = float(value) >= x, float(value)
            if waiting and not onward:
                yield waiting
            waiting = f"H{value}"
            continue
        if waiting:
            yield waiting
            waiting = ""
        yield letter + value
    if waiting:
        yield waiting
