"""What the commands say: results on standard output, progress and failures on standard error.

Who reads either may leave before the end (`kafka-chaos list | head`, a closed terminal, a dead parent). This never ends
the work: a run continues unwatched, and a verdict is still the status of its command. A command that only lists
something ends with EXIT_UNREAD, quietly, as other programs do.
"""

from __future__ import annotations

import json
import os
import re
import select
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, TextIO

from evidence.errors import EXIT_ERROR, KafkaChaosError, refusal
from evidence.text import visible

if TYPE_CHECKING:
    from evidence.events import Event


_lifted: Callable[[], AbstractContextManager[object]] = nullcontext
"""Takes what is painted at the end of the terminal away while a line is printed."""


@contextmanager
def painted(lifted: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    """While the block lasts something is painted at the end of the terminal, which `lifted` takes away for a line."""
    global _lifted
    _lifted = lifted
    try:
        yield
    finally:
        _lifted = nullcontext


def say(text: str) -> None:
    """Tell the person who watches; if the terminal is closed or the matrix dead, the work goes on unwatched."""
    try:
        with _lifted():
            print(visible(text, keep="\n"), file=sys.stderr, flush=True)
    except OSError:
        mute(sys.stderr)


def result(text: str, *, end: str = "\n") -> None:
    """Print what a command that ends with a verdict has found. If nobody reads it, its status still tells."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        mute(sys.stdout)


def mute(stream: TextIO) -> None:
    """Drop all further output: what is still buffered must not fail once more when the interpreter flushes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def nobody_reads(stream: TextIO) -> bool:
    """Whether the stream is a pipe, or a socket, whose other end is closed."""
    poll = select.poll()
    poll.register(stream, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def tell_failure(error: Exception) -> int:
    """Say in one line what failed, behind it where if that is a defect; the exit status, never a verdict's."""
    if isinstance(error, KafkaChaosError):
        say(f"kafka-chaos: {error}")
        return error.exit_status
    if isinstance(error, OSError):
        # A full disk, a directory of another user, Docker's refusals.
        say(f"kafka-chaos: {refusal(error)}")
        return EXIT_ERROR
    said = " ".join(f"{type(error).__name__}: {_words(error)}".split())
    say(f"kafka-chaos: {said[:500]} (a defect of kafka-chaos, nothing is judged; where it happened:)")
    say("".join(traceback.format_exception(error)).rstrip())
    return EXIT_ERROR


def _words(error: Exception) -> str:
    """What an error says. One of Spark's asks Java for it, which has ended by then, and fails."""
    try:
        return str(error)
    except Exception as failed:
        return f"it does not say why ({type(failed).__name__})"


PARTITION: Final = re.compile(r"(?<!\S)(?!(?:broker|controller|producer|consumer|load)-)[\w.-]+-\d+(?=[\s:,]|$)")
"""A partition in a line of progress: `t-0`."""
MOST_ALIKE: Final = 3


RUN: Final = "run"
"""The kind of a line of JSON that has a run; other lines of JSON are messages, or have the kind of an event."""
MESSAGE: Final = "message"


class Progress:
    """Lines of progress, each behind the seconds since the start; as lines of JSON they go to standard output.

    Of events that differ in nothing but the partition, as of the fifty subjects of an audit, the first MOST_ALIKE in a
    row are told one by one, and the others by their number.
    """

    def __init__(self, *, quiet: bool = False, json_lines: bool = False) -> None:
        self._start = time.monotonic()
        self._json_lines = json_lines
        self._quiet = quiet
        self._lock = threading.RLock()
        self._alike: dict[str, set[str]] = {}
        self._untold = 0

    def line(self, text: str, kind: str = MESSAGE) -> None:
        """Print one line."""
        if self._json_lines:
            self.json(kind, text=text.strip())
        elif not self._quiet:
            with self._lock:
                say(f"{time.monotonic() - self._start:7.1f} s  {visible(text)}")

    def json(self, kind: str, **values: object) -> None:
        """Print one line of JSON, with the seconds since the start."""
        with self._lock:
            result(json.dumps({"kind": kind, "at_s": round(time.monotonic() - self._start, 1)} | values))

    def event(self, event: Event) -> None:
        """Print what a person wants to see of the timeline: steps, faults and their proof, elections."""
        from judgement.report import console

        text = console.progress_line(event)
        with self._lock:
            if text and not self._is_like_others(text):
                self.line(text, event.kind)

    def _is_like_others(self, text: str) -> bool:
        """Whether enough lines like this one have been told in a row, of other partitions."""
        named = PARTITION.search(text)
        if named is None:
            if self._untold:
                self.line(f"  … and {self._untold} more like these, of other partitions")
            self._alike, self._untold = {}, 0
            return False
        told = self._alike.setdefault(PARTITION.sub("", text), set())
        if named[0] not in told and len(told) >= MOST_ALIKE:
            self._untold += 1
            return True
        told.add(named[0])
        return False
