"""What the commands say: results on standard output, progress and failures on standard error.

Who reads either may leave before the end (`kafka-chaos list | head`, a closed terminal, a dead parent). Work is never
ended by that: a run goes on unwatched, and a verdict is still the status of its command. A command that only lists
something ends with EXIT_UNREAD, quietly, as other programs do.
"""

from __future__ import annotations

import os
import select
import sys
from typing import TextIO

from evidence.text import visible


def say(text: str) -> None:
    """Tell the person who watches; if the terminal is closed or the matrix dead, the work goes on unwatched."""
    try:
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
