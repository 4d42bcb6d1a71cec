"""The user's cache directory (evidence.cache), made, and locks that keep two harnesses from filling it at one time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evidence.cache import cache_path
from evidence.errors import UsageError
from harness.setup.waiting import Echo, saying


def cache_dir() -> Path:
    """Where fetched and built files are kept. Raises UsageError if it cannot be made."""
    path = cache_path()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(path, "made", error) from None
    return path.resolve()


def _unusable(path: Path, what: str, error: OSError) -> UsageError:
    return UsageError(f"the cache directory {path} cannot be {what} ({error.strerror}); set KAFKA_CHAOS_CACHE")


@contextmanager
def exclusive(name: str, echo: Echo = lambda line: None) -> Iterator[None]:
    """Hold the cache's lock called `name`; waits for whoever holds it and tells `echo` so.

    The kernel drops the lock if its holder dies. Raises UsageError if the cache cannot be written.
    """
    locks = cache_dir() / "locks"
    try:
        locks.mkdir(exist_ok=True)
        file = (locks / f"{name}.lock").open("w")
    except OSError as error:
        raise _unusable(locks.parent, "written", error) from None
    with file:
        with saying(echo, f"waiting for another kafka-chaos that holds {file.name}"):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
