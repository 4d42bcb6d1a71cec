"""The picture of how the check grows with the history: processor time and memory over size, both axes logarithmic.

On such axes whatever grows linearly is a line of slope one; a thin one, drawn through the largest size, is there to
hold the points against.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 640
HEIGHT: Final = 400
LEFT: Final = 70
RIGHT: Final = 20
TOP: Final = 40
BOTTOM: Final = 60


@dataclass(frozen=True, slots=True)
class MeasuredSize:
    """What the check of one size took."""

    millions: float
    seconds: float
    processor_s: float
    peak_mb: float


def _x(millions: float, points: Sequence[MeasuredSize]) -> float:
    low, high = math.log10(points[0].millions), math.log10(points[-1].millions)
    return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(millions) - low) / (high - low or 1)


def _y(seconds: float, low: int, high: int) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(seconds) - low) / (high - low)


def draw(points: Sequence[MeasuredSize]) -> str:
    """The picture, as SVG. At least one point."""
    points = sorted(points, key=lambda point: point.millions)
    times = [point.processor_s for point in points]
    slope = times[-1] / points[-1].millions
    low = math.floor(math.log10(min(*times, slope * points[0].millions)))
    high = math.ceil(math.log10(max(times)))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">Complete check of a history, local[2]: processor seconds</text>',
    ]
    for power in range(low, high + 1):
        y = _y(10.0**power, low, high)
        lines.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>')
    start, end = (_y(slope * point.millions, low, high) for point in (points[0], points[-1]))
    lines.append(
        f'<path d="M{LEFT} {start:.1f}L{_x(points[-1].millions, points):.1f} {end:.1f}" stroke="#999" '
        'stroke-dasharray="4 4"/>'
    )
    path = "L".join(f"{_x(p.millions, points):.1f} {_y(p.processor_s, low, high):.1f}" for p in points)
    lines.append(f'<path d="M{path}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    for point in points:
        x, y = _x(point.millions, points), _y(point.processor_s, low, high)
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1f5fa8"/>')
        anchor = "end" if point is points[-1] and len(points) > 1 else "start"
        shift = -8 if anchor == "end" else 8
        lines.append(
            f'<text x="{x + shift:.1f}" y="{y - 8:.1f}" text-anchor="{anchor}">{point.processor_s:.1f} s, '
            f"{point.peak_mb:,.0f} MB</text>"
        )
        lines.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{point.millions:g} M</text>')
    lines.append(
        f'<text x="{LEFT}" y="{HEIGHT - 15}">Records acknowledged, and as many read. Dashed: growth in step with the '
        "largest size. MB: all processes, at most.</text>"
    )
    return "\n".join([*lines, "</svg>"]) + "\n"
