"""Work done ahead of where its results are used, in order, by threads of this process.

One topic-partition is one task, so a partition that holds most of a run would keep one core busy and leave the others
idle. What takes long of it (decoding columns, comparing copies, checksums) runs outside the interpreter's lock, so
threads of the task do that side by side, and what needs an order gets the results in theirs.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Final, TypeVar

Result = TypeVar("Result")

AHEAD: Final = 2
"""Results for each thread that may wait to be used: what they hold is held in memory."""


@cache
def _threads() -> tuple[ThreadPoolExecutor, int]:
    """The threads of this process, one for each core that it may use."""
    cores = len(os.sched_getaffinity(0))
    return ThreadPoolExecutor(cores, thread_name_prefix="ahead"), cores


def in_order(work: Iterable[Callable[[], Result]], *, ahead: bool) -> Iterator[Result]:
    """The result of each piece of work, in order; `ahead`: threads are at those that come next. Such work must not use
    this function itself. Raises what the work raises, in its place.
    """
    if not ahead:
        for one in work:
            yield one()
        return
    pool, cores = _threads()
    waiting: deque[Future[Result]] = deque()
    try:
        for one in work:
            waiting.append(pool.submit(one))
            if len(waiting) > AHEAD * cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for left in waiting:
            left.cancel()
