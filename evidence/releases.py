"""Releases of Kafka as numbers. The borders between them, each with its sources, are in evidence/borders.py."""

from __future__ import annotations

from functools import lru_cache

Release = tuple[int, ...]


@lru_cache(maxsize=4096)
def numbers(release: str) -> Release:
    """A release's numbers, for comparing; what is no number ends them, and what follows a hyphen is not read.

    >>> numbers("0.10.2.2") < numbers("2.8.2") < numbers("3.0.0-rc1") <= numbers("3.0.0")
    True
    >>> numbers("3.9.2-pinned"), numbers("4.3"), numbers("")
    ((3, 9, 2), (4, 3), ())
    """
    found: list[int] = []
    for part in release.partition("-")[0].split("."):
        if not part.isdecimal():
            break
        found.append(int(part))
    return tuple(found)


def line_of(release: Release) -> Release:
    """The line of releases that a release belongs to: what Kafka numbers its bug-fix releases within.

    >>> line_of((2, 8, 1)), line_of((0, 11, 0, 3))
    ((2, 8), (0, 11, 0))
    """
    return release[:2] if release >= (1,) else release[:3]
