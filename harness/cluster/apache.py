"""Which releases of Apache Kafka there are, from 0.8.2.0 on: a committed list, and what was looked up since.

compose/releases.txt has one release a line, as Maven Central names them; `kafka-chaos releases` renews it. A release
that is newer than those is looked up at Maven Central (harness/setup/central.py) and then kept in the user's cache, in
a file of the same form. Nothing here asks the network.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from evidence.cache import cache_path
from evidence.errors import UsageError
from evidence.releases import Release, line_of, numbers

COMMITTED: Final = Path(__file__).resolve().parents[2] / "compose" / "releases.txt"
OLDEST: Final = (0, 8, 2)
"""The first line of releases that can be started here."""
RELEASE: Final = re.compile(r"0(?:\.\d+){3}|[1-9]\d*(?:\.\d+){2}")
"""A release's number: four numbers before 1.0, three since."""
NEAREST: Final = 4
"""Releases that are told, at most, in place of one that does not exist."""


class UnknownRelease(UsageError):
    """There is no such release, as far as is known here."""

    def __init__(self, kafka: str) -> None:
        self.kafka = kafka
        super().__init__(
            f"there is no Kafka {kafka}; the nearest releases are {', '.join(nearest(kafka, releases()))} "
            "(`kafka-chaos list --versions` lists all)"
        )


def found_path() -> Path:
    """Where releases are kept that were looked up and that the committed list lacks."""
    return cache_path() / "releases.txt"


def parse(text: str, source: str) -> tuple[str, ...]:
    """The releases of a list, oldest first, each once. Raises UsageError, with the line, for one without a release."""
    found: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        name = line.partition("#")[0].strip()
        if name and not RELEASE.fullmatch(name):
            raise UsageError(f"{source}, line {number}: {name!r} is no release of Kafka, such as 2.8.1 or 0.11.0.0")
        found |= {name} - {""}
    return ordered(found)


def ordered(releases: Iterable[str]) -> tuple[str, ...]:
    """Releases that can be started here, oldest first, each once."""
    return tuple(sorted({one for one in releases if numbers(one) >= OLDEST}, key=numbers))


def render(releases: Iterable[str]) -> str:
    """The text of a list."""
    head = "# Apache Kafka's releases from 0.8.2.0 on, as on Maven Central; written by: kafka-chaos releases --list\n"
    return head + "".join(f"{release}\n" for release in ordered(releases))


def committed() -> tuple[str, ...]:
    """The releases of the committed list, oldest first."""
    return parse(COMMITTED.read_text(), f"compose/{COMMITTED.name}")


@cache
def releases() -> tuple[str, ...]:
    """All releases that are known here, oldest first: those of the committed list, and those looked up since."""
    try:
        since = parse(found_path().read_text(), str(found_path()))
    except OSError:
        since = ()
    return ordered((*committed(), *since))


def nearest(kafka: str, known: Sequence[str]) -> list[str]:
    """The releases around one that does not exist: the newest of its line, then its neighbours, in their order.

    >>> nearest("2.8.9", ["2.7.2", "2.8.0", "2.8.1", "2.8.2", "3.0.0", "3.0.1"])
    ['2.8.1', '2.8.2', '3.0.0', '3.0.1']
    """
    place = bisect.bisect(list(map(numbers, known)), numbers(kafka))
    half = NEAREST // 2
    start = max(0, min(place - half, len(known) - NEAREST))
    return list(known[start : start + NEAREST])


def closest(version: str) -> str:
    """The release that a version is nearest to: that of its numbers, or the last one before it.

    >>> closest("4.3.1-rc2"), closest("4.3.99-SNAPSHOT"), closest("0.8.2-beta")
    ('4.3.1', '4.3.1', '0.8.2.0')
    """
    known = releases()
    return next((one for one in reversed(known) if numbers(one) <= numbers(version)), known[0])


def may_be_newer(kafka: str, known: Sequence[str]) -> bool:
    """Whether a release that is not known may have come since the list was written: it is newer than all of its line
    that are known; or than all of its major number, if no release of its line is known.

    >>> known = ["2.8.1", "2.8.2", "4.3.1"]
    >>> [may_be_newer(each, known) for each in ("2.8.3", "2.8.0", "2.9.0", "2.7.9", "5.0.0", "4.4.0")]
    [True, False, True, False, True, True]
    >>> may_be_newer("9.9", known)
    False
    """
    if not RELEASE.fullmatch(kafka):
        return False
    asked = numbers(kafka)
    line = [one for one in map(numbers, known) if line_of(one) == line_of(asked)]
    alike: list[Release] = line or [one for one in map(numbers, known) if one[0] == asked[0]] or [numbers(known[-1])]
    return asked > max(alike)
