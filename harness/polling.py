"""Asking again until an answer satisfies: for conditions that nobody reports, such as files, logs and requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

POLL_S: Final = 0.02


def poll(
    ask: Callable[[], T],
    timeout_s: float,
    *,
    until: Callable[[T], object] = bool,
    every_s: float = POLL_S,
    watch: Callable[[], object] = lambda: None,
) -> T:
    """Ask, and ask again, until an answer satisfies `until` or `timeout_s` is over: the last answer, which satisfies or
    says what was seen in the end. It is asked at least once. `watch` is called before each time: it may raise what
    makes further asking vain.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        watch()
        if until(answer := ask()) or time.monotonic() >= deadline:
            return answer
        time.sleep(every_s)
