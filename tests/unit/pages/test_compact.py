"""Pictures in fewer bytes: the same marks at the same places."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import results
from pages.compact import CELL, compact, steps

NAMES = ["museum-kip-279.svg", "rolling-restart.clients.svg", "high-watermark-steps.offsets.svg"]


def points(path: str) -> list[tuple[float, float]]:
    """Where a path of upright and level lines turns."""
    found, x, y = list[tuple[float, float]](), 0.0, 0.0
    for letter, value in re.findall(r"([MVH])([\d. ]+)", path):
        if letter == "M":
            x, y = map(float, value.split())
        else:
            x, y = (float(value), y) if letter == "H" else (x, float(value))
        found.append((x, y))
    corners = [found[0]]
    for before, one, after in zip(found, found[1:], [*found[2:], (-1.0, -1.0)], strict=False):
        straight = (before[1] == one[1] == after[1] and before[0] <= one[0] <= after[0]) or one == before
        if not straight:
            corners.append(one)
    return corners


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_smaller_and_says_the_same(name: str) -> None:
    svg = results.picture(name).read_text(encoding="utf-8")
    small = compact(svg)
    assert len(small) < 0.97 * len(svg)
    before, after = ElementTree.fromstring(svg), ElementTree.fromstring(small)
    assert [*before.itertext()] == [*after.itertext()]
    assert compact(small) == small
    cells = re.findall(CELL, svg)
    assert small.count("h7.8v11h-7.8z") + len(re.findall(CELL, small)) == len(cells)


def test_a_staircase_keeps_its_corners() -> None:
    stairs = "M118.0 165.0V165.0H122.2V160.8H126.4V160.8H130.5V148.1H134.7V165.0H118.0Z"
    assert len(steps(stairs)) < len(stairs)
    assert points(steps(stairs)) == points(stairs)


def test_a_line_that_is_neither_upright_nor_level_stays() -> None:
    slanted = '<line x1="1" x2="2" y1="3" y2="4" class="a"/>'
    assert compact(slanted) == slanted
    assert compact(slanted.replace('"2"', '"1"')) == '<path d="M1 3V4" class="a"/>'


def test_cells_that_look_alike_are_one_path() -> None:
    def cell(x: float, colour: str) -> str:
        look = f'class="cell" fill="{colour}" stroke="{colour}"'
        return f'<rect x="{x}" y="5" width="7.8" height="11" rx="1.5" {look}/>'

    row = "".join(map(cell, (1, 11, 21), ("red", "blue", "blue")))
    assert compact(row) == (
        '<path d="M1 5h7.8v11h-7.8z" class="cell" fill="red" stroke="red"/>'
        '<path d="M11 5h7.8v11h-7.8zM21 5h7.8v11h-7.8z" class="cell" fill="blue" stroke="blue"/>'
    )
    assert compact(cell(1, "red")) == cell(1, "red")
