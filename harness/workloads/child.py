"""What every workload process has in common: its arguments, its life with the harness, its lines of JSON.

A child gets one JSON argument and speaks JSON lines on stdin and stdout. It must not outlive the harness, nor lose
what it has recorded when it goes: the kernel sends it SIGTERM when its parent dies, SIGTERM and the end of stdin both
mean "stop, flush, close properly", and Ctrl-C at the terminal is the harness's affair.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

PR_SET_PDEATHSIG: Final = 1


def read_arguments() -> dict[str, Any]:
    """The JSON object given as the only argument."""
    arguments: dict[str, Any] = json.loads(sys.argv[1])
    return arguments


def say(**message: Any) -> None:
    """Send one line to the harness; if it is gone there is nobody to tell, and the child is about to be stopped."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.close(sys.stdout.fileno())


def live_with_parent(stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM, which also comes when the harness dies; ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop())
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def commands() -> queue.SimpleQueue[dict[str, Any] | None]:
    """The lines that come on stdin, as they come; None when it ends."""
    lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(json.loads(line))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines
