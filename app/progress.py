"""What many runs are doing, as they do it.

    on a terminal        a table of the runs under way (step, elapsed and expected time) and when all will have ended;
                         a line for each run that has ended scrolls by above it
    elsewhere            only these lines: a file and a CI job keep what is written once
    -v                   the lines of every run beside them, and no table
    --json-lines         all of it, as lines of JSON on standard output

`Board` knows what there is to tell and draws it, without a terminal; `Screen` paints it. How long runs take is known
from the ledger; once some have ended, what is left is taken to be as much slower, or faster, as these were.
"""

from __future__ import annotations

import heapq
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from app.arguments import judged_json
from app.matrix import Happened, MatrixCell
from app.output import Progress, painted
from app.plan import SECONDS
from evidence.text import visible
from judgement.verdict import Verdict

REPAINT_S: Final = 1.0
BAR: Final = 10
"""Columns of a bar."""
MARGIN: Final = 2
"""Lines of a terminal that the table leaves free."""
JUDGING: Final = "waits for its verdict"


@dataclass(slots=True)
class UnderWay:
    """A run that is under way."""

    since: float
    step: str = "starts"


@dataclass(slots=True)
class Board:
    """What is known of the runs of a matrix. Times are seconds of one clock."""

    jobs: int
    expected: Mapping[MatrixCell, float]
    """How long each run takes, by earlier ones."""
    waiting: dict[MatrixCell, None] = field(default_factory=dict)
    under_way: dict[MatrixCell, UnderWay] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    lost: int = 0
    _took_s: float = 0.0
    _expected_s: float = 0.0
    """Of the runs that have ended: what they took, and what they were expected to take."""

    def note(self, happened: Happened, now: float) -> None:
        """Take notice of what happened."""
        cell = happened.cell
        match happened.what:
            case "waits":
                self.waiting[cell] = None
            case "begins":
                self.waiting.pop(cell, None)
                self.under_way[cell] = UnderWay(now)
            case "step" if cell in self.under_way:
                self.under_way[cell].step = happened.text.removeprefix("· ")
            case "ends" if cell in self.under_way:
                self._took_s += now - self.under_way[cell].since
                self._expected_s += self._alone(cell)
                self.under_way[cell].step = JUDGING
            case "judged":
                self.under_way.pop(cell, None)
                self.waiting.pop(cell, None)
                if happened.verdict is not None:
                    self.verdicts.append(happened.verdict)
            case "lost" | "left":
                self.under_way.pop(cell, None)
                self.waiting.pop(cell, None)
                self.lost += happened.what == "lost"

    def _alone(self, cell: MatrixCell) -> float:
        return self.expected.get(cell, SECONDS)

    @property
    def pace(self) -> float:
        """How many times as long as expected runs took here."""
        return self._took_s / self._expected_s if self._expected_s else 1.0

    def takes(self, cell: MatrixCell) -> float:
        """How long a run of a cell takes here, in seconds."""
        return self._alone(cell) * self.pace

    def left_s(self, now: float) -> float:
        """How long it takes until all have ended."""
        running = [max(0.0, self.takes(cell) - (now - one.since)) for cell, one in self.under_way.items()]
        return ends_in(running, map(self.takes, self.waiting), self.jobs)

    def frame(self, now: float, at: datetime, width: int, height: int) -> list[str]:
        """The table, as lines of at most so many columns, at most so many. `at` is the time of day."""
        good = sum(verdict.good for verdict in self.verdicts)
        ended = len(self.verdicts) + self.lost
        total = ended + len(self.under_way) + len(self.waiting)
        left = self.left_s(now)
        head = (
            f"{ended} of {total} runs have ended, {good} of them well; about {in_words(left)} to go, "
            f"until {(at + timedelta(seconds=left)):%H:%M} UTC"
        )
        rows = [self._row(cell, one, now) for cell, one in self.under_way.items()]
        shown = [head, *rows[: max(1, height - 1)]]
        return [line if len(line) <= width else f"{line[: width - 1]}…" for line in map(visible, shown)]

    def _row(self, cell: MatrixCell, one: UnderWay, now: float) -> str:
        widest = max(len(str(other)) for other in self.under_way)
        elapsed, takes = now - one.since, self.takes(cell)
        full = min(BAR, int(BAR * elapsed / takes))
        bar = "█" * full + "░" * (BAR - full)
        return f"  {cell!s:<{widest}}  {bar} {elapsed:4.0f} s of {takes:3.0f}  {one.step}"


def ends_in(running: Iterable[float], waiting: Iterable[float], jobs: int) -> float:
    """When the last of these ends, if those that wait begin in order as soon as one of so many has ended.

    >>> ends_in([10.0], [5.0, 20.0, 1.0], 2)
    25.0
    """
    free = list(running)
    free += [0.0] * (jobs - len(free))
    heapq.heapify(free)
    for takes in waiting:
        heapq.heapreplace(free, free[0] + takes)
    return max(free, default=0.0)


def in_words(seconds: float) -> str:
    """A duration, roughly.

    >>> [in_words(number) for number in (20, 200, 9000)]
    ['1 min', '4 min', '2.5 h']
    """
    minutes = int(seconds // 60) + 1
    return f"{minutes} min" if minutes < 100 else f"{seconds / 3600:.1f} h"


class Screen:
    """Paints a board at the end of a terminal, each second and after each line that is printed above it."""

    def __init__(self, board: Board, *, size: Callable[[], os.terminal_size]) -> None:
        self._board = board
        self._size = size
        self._lines = 0
        self._over = threading.Event()
        self._lock = threading.RLock()

    def note(self, happened: Happened) -> None:
        """Take notice of what happened; it is painted in a moment."""
        with self._lock:
            self._board.note(happened, time.monotonic())

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """While the block lasts nothing is painted."""
        with self._lock:
            self._erase()
            try:
                yield
            finally:
                self._paint()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the block lasts the board is on the screen."""
        painter = threading.Thread(target=self._repaint, daemon=True)
        with painted(self.lifted):
            painter.start()
            try:
                yield
            finally:
                self._over.set()
                painter.join()
                with self._lock:
                    self._erase()

    def _repaint(self) -> None:
        while not self._over.wait(REPAINT_S):
            with self.lifted():
                pass

    def _erase(self) -> None:
        if self._lines:
            self._write(f"\x1b[{self._lines}F\x1b[J")
            self._lines = 0

    def _paint(self) -> None:
        if not self._over.is_set():
            size = self._size()
            lines = self._board.frame(time.monotonic(), datetime.now(UTC), size.columns, size.lines - MARGIN)
            self._write("".join(f"{line}\n" for line in lines))
            self._lines = len(lines)

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # the terminal was closed: the work goes on
            self._over.set()


def on_terminal() -> bool:
    """Whether progress is read on a terminal that can be painted on."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" and "CI" not in os.environ


Watch = Callable[[Happened], None]


@contextmanager
def watching(
    progress: Progress,
    *,
    jobs: int,
    expected: Callable[[], Mapping[MatrixCell, float]],
    verbose: bool = False,
    json_lines: bool = False,
    quiet: bool = False,
) -> Iterator[Watch]:
    """What is to be told of each thing that happens, in the way that is asked for; a table while the block lasts."""
    if json_lines:
        yield lambda happened: progress.json(happened.what, **as_json(happened))
    elif quiet or not (verbose or on_terminal()):
        yield lambda happened: None
    elif verbose:
        yield lambda happened: _tell(progress, happened)
    else:
        screen = Screen(Board(jobs, expected()), size=lambda: os.get_terminal_size(sys.stderr.fileno()))
        with screen.shown():
            yield screen.note


def _tell(progress: Progress, happened: Happened) -> None:
    if happened.what in ("step", "told"):
        progress.line(f"{happened.cell}: {happened.text}")


def as_json(happened: Happened) -> dict[str, Any]:
    """What happened, for programs."""
    cell = happened.cell
    told: dict[str, Any] = {
        "scenario": cell.scenario,
        "case": cell.case,
        "version": cell.version,
        "seed": cell.seed,
    }
    if happened.text:
        told["text"] = happened.text
    if happened.run_dir is not None and happened.verdict is not None:
        told |= judged_json(happened.run_dir, happened.verdict)
    return told
