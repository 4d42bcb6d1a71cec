"""What is drawn of a trend: lines for the terminal, and a page with a picture for each duration.

In a picture each period has a line from the least to the most and a dot at the median; nothing connects them, since
nothing is known of what was between. A hollow dot: the machine was busy in every run of that period.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from markupsafe import Markup

from evidence.rundir import write_atomically
from evidence.text import plural, visible
from judgement.report.html import environment, style
from judgement.report.timeline_svg.drawing import tag, title
from judgement.trend import Period, Spread, Trend, TrendSubject

BLOCKS: Final = "▁▂▃▄▅▆▇█"
MOST_LINES: Final = 20
"""Of each part, in the terminal."""
MOST_PERIODS: Final = 40
"""The last ones, in the terminal."""
STEP: Final = 16
HEIGHT: Final = 34


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.2g} s" if ms < 10_000 else f"{ms / 1000:.0f} s"


def sentence(one: Trend) -> str:
    """The first line: of how much this is, and how many cells were not good last time."""
    what = plural(len(one.periods), one.by)
    span = f", {one.periods[0]} to {one.periods[-1]}" if len(one.periods) > 1 else f", {one.periods[0]}"
    bad = sum(periods.get(one.periods[-1], Period()).mark in "✕?" for periods in one.cells.values())
    told = f"{what}{span}: {plural(one.runs, 'run')} of {plural(len(one.cells), 'cell')}"
    return f"{told}; in the last {one.by} {bad or 'no'} cell{'' if bad == 1 else 's'} did not end well"


def marks(periods: Sequence[str], shown: Mapping[str, Period]) -> str:
    """A mark for each period."""
    return "".join(shown.get(period, Period()).mark for period in periods)


def blocks(periods: Sequence[str], shown: Mapping[str, Spread]) -> str:
    """A block for each period, as high as its median; the highest has the whole height.

    >>> of = {p: Spread(runs=1, least_ms=0, median_ms=ms, most_ms=ms, busy=0) for p, ms in (("a", 1), ("c", 8))}
    >>> blocks("abc", of)
    '▁·█'
    """
    top = max(spread.median_ms for spread in shown.values()) or 1.0
    return "".join(
        BLOCKS[min(7, int(8 * shown[period].median_ms / top - 1e-9))] if period in shown else "·" for period in periods
    )


def lines(one: Trend) -> Iterator[str]:
    """The trend in a terminal."""
    yield sentence(one)
    periods = one.periods[-MOST_PERIODS:]
    bad = one.not_always_good
    if bad:
        yield ""
        yield f"Cells by {one.by}, those that were not always good (✓ good, ✕ bad, ? unknown or error, · no run)"
        width = max(len(subject.cell) for subject in bad[:MOST_LINES])
        for subject in bad[:MOST_LINES]:
            yield visible(f"  {subject.cell:{width}}  {marks(periods, one.cells[subject])}")
        yield from _more(len(bad))
    changed = one.by_change
    if changed:
        yield ""
        yield f"Medians by {one.by}, the most changed first"
        width = max(len(_named(subject)) for _, subject in changed[:MOST_LINES])
        for share, subject in changed[:MOST_LINES]:
            last = next(one.durations[subject][p] for p in reversed(one.periods) if p in one.durations[subject])
            drawn = blocks(periods, one.durations[subject]) if set(periods) & set(one.durations[subject]) else ""
            told = f"{_seconds(last.median_ms)} last, ×{share:.2f}"
            yield visible(f"  {_named(subject):{width}}  {drawn}  {told} ({plural(last.runs, 'run')})")
        yield from _more(len(changed))
    yield ""
    yield "Nothing here is tested: `kafka-chaos compare OLD NEW` tells what changed."


def _named(subject: TrendSubject) -> str:
    return f"{subject.name} of {subject.cell}"


def _more(number: int) -> Iterator[str]:
    if number > MOST_LINES:
        yield f"  … and {number - MOST_LINES} more; --out FILE draws all"


def picture(periods: Sequence[str], shown: Mapping[str, Spread]) -> str:
    """The times of one duration, as SVG: from 0 at the foot to the most at the head."""
    top = max(spread.most_ms for spread in shown.values()) or 1.0

    def y(ms: float) -> float:
        return HEIGHT - 4 - (HEIGHT - 8) * ms / top

    drawn = [tag("line", x1=0, x2=len(periods) * STEP, y1=HEIGHT - 4, y2=HEIGHT - 4, class_="axis")]
    for number, period in enumerate(periods):
        if period in shown:
            one, x = shown[period], number * STEP + STEP / 2
            busy = f", {one.busy} on a busy machine" if one.busy else ""
            about = f"{period}: median {_seconds(one.median_ms)}, {_seconds(one.least_ms)} to {_seconds(one.most_ms)}"
            dot = "dot hollow" if one.busy == one.runs else "dot"
            whisker = tag("line", x1=x, x2=x, y1=y(one.least_ms), y2=y(one.most_ms), class_="whisker")
            mark = tag("circle", cx=x, cy=y(one.median_ms), r=3, class_=dot)
            drawn.append(tag("g", title(f"{about} ({plural(one.runs, 'run')}{busy})") + whisker + mark))
    size = {"width": len(periods) * STEP, "height": HEIGHT, "viewBox": f"0 0 {len(periods) * STEP} {HEIGHT}"}
    return tag("svg", "".join(drawn), role="img", class_="trend", **size)


def render_html(one: Trend) -> str:
    """The page."""
    order = {subject: number for number, subject in enumerate(one.not_always_good)}
    cells = sorted(one.cells, key=lambda subject: (order.get(subject, len(order)), subject))
    shares = {subject: share for share, subject in one.by_change}
    return (
        environment()
        .get_template("trend.html.j2")
        .render(
            style=style(),
            sentence=visible(sentence(one)),
            by=one.by,
            periods=one.periods,
            cells=[(subject.cell, [one.cells[subject].get(p, Period()) for p in one.periods]) for subject in cells],
            durations=[
                (
                    subject.name,
                    subject.cell,
                    Markup(picture(one.periods, shown)),
                    _seconds(max(spread.most_ms for spread in shown.values())),
                    _seconds(next(shown[p].median_ms for p in reversed(one.periods) if p in shown)),
                    f"×{shares[subject]:.2f}" if subject in shares else "",
                )
                for subject, shown in one.durations.items()
            ],
        )
    )


def write(one: Trend, path: Path) -> None:
    """Write the page."""
    write_atomically(path, render_html(one))
