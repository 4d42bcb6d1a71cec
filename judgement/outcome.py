"""What became of the user's data in a run, apart from whether that is documented.

A run that loses an acknowledged record where a KIP says it must is as documented, and the record is gone all the same.
So every report says first what happened to the records, and beside it how that stands to the documentation (the
verdict). judgement/outcome_of_findings.py makes an outcome; verdicts that are on record have theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

Tone = Literal["good", "uncertain", "bad"]

GOOD: Final = "good"
UNCERTAIN: Final = "uncertain"
BAD: Final = "bad"
TONES: Final[tuple[Tone, ...]] = (GOOD, UNCERTAIN, BAD)
"""From the best to the worst; `uncertain` is what is not known, or what Kafka permits."""


class RunOutcome(Struct, frozen=True, kw_only=True):
    """What became of the records of one run."""

    text: str
    """For people, in a few words: "1 of 5 acknowledged records LOST; replicas disagree at 1 offset"."""
    tone: Tone
    """good, uncertain or bad: the colour it is shown in."""
    acknowledged: int | None = None
    """Sends that were acknowledged; None if the analysis did not count them."""
    lost: int = 0
    unread: int = 0
    """Acknowledged, not read back, and no final read says whether they are there."""
    diverged_offsets: int = 0
    kept: bool = False
    """Whether every acknowledged record is known to be there, whatever else was seen."""


def worst(tones: Iterable[Tone]) -> Tone:
    """The worst of some tones; `uncertain` if there is none: nothing is known."""
    return max(tones, key=TONES.index, default=UNCERTAIN)
