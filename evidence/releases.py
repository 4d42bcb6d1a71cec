"""Releases of Kafka as numbers, and borders between releases that several rooms decide by.

It lies here, on the ground floor, because the audit of files rests on evidence/ alone and must draw the same borders as
the scenarios do. Where each border comes from is said beside it. The lines of versions that scenarios speak of are made
of these in harness/cluster/ranges.py.
"""

from __future__ import annotations

from typing import Final

Release = tuple[int, ...]


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


IDEMPOTENT_IN_NAME: Final[tuple[Release, ...]] = ((3, 0, 0), (3, 1, 0))
"""Java clients that document idempotence as their default (KIP-679), and have it off (KAFKA-13598)."""
KRAFT_SINCE: Final[Release] = (3, 3)
"""KRaft may be used in production from here on (KIP-833)."""
KRAFT_ONLY: Final[Release] = (4,)
"""From here on there is nothing else: ZooKeeper was removed."""

# Eligible leader replicas (KIP-966, KRaft alone): replicas that left an ISR of min.insync.replicas, and may still lead.
# Three releases matter, and each question has its own border.

ELIGIBLE_LEADERS_SUPPORTED: Final[Release] = (4, 0)
"""A cluster can have them: the feature eligible.leader.replicas.version exists, and its default is 0 (off). 3.7 to 3.9
have the code behind a metadata.version that is not released."""
ELIGIBLE_LEADERS_BY_DEFAULT: Final[Release] = (4, 1)
"""New clusters have them: the feature's default is 1 from metadata.version 4.1-IV0 on. Upgraded clusters do not. With
it the last known leader may be elected where no replica is in sync or eligible."""
ELIGIBLE_LEADERS_KEPT: Final[Release] = (4, 3)
"""The controller keeps them when a broker comes back and tells it of a new log directory; before, it forgot them then
(apache/kafka#20716)."""
