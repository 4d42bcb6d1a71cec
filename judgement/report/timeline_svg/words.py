"""The words above a picture, as long as it is wide: the outcome and the run, and below them what was seen."""

from __future__ import annotations

import re
from typing import Final

from judgement.report.timeline_svg.drawing import CHAR, WIDTH, text_width

LINES: Final = 2
HEADLINE: Final = 15.0
BELOW: Final = 12.0
SOURCES: Final = re.compile(r"(\bdocumented for [^ ]+|\bshown before for [^ ]+) \(.*\)(?=\.(?: |$)|$)")
"""What a sentence has of its sources, in brackets."""


KEPT: Final = re.compile(r"all [\d ]+ acknowledged records? kept")
HARMLESS: Final = frozenset({"internal-poll-skip", "correlated-crash", "nonmonotonic-send", "duplicate"})
"""Anomalies that are rarely what a run is about."""


def anomaly_first(outcome: str) -> list[str]:
    """The parts of an outcome: what was lost, then anomalies, those that a run is rarely about behind others, and last
    what was kept.

    >>> anomaly_first("all 7 acknowledged records kept; internal-poll-skip; transaction-half-committed")
    ['transaction-half-committed', 'internal-poll-skip', 'all 7 acknowledged records kept']
    """

    def rank(part: str) -> int:
        return 2 if KEPT.match(part) else 1 if part.partition(" ×")[0] in HARMLESS else 0

    return sorted(outcome.split("; "), key=rank)


def heading(outcome: str, name: str) -> str:
    """What became of the records, the anomaly first, and the run. Parts at the end of the outcome give way where it is
    too long.

    >>> heading("1 of 5 acknowledged records LOST", "double-failover on 0.10.2.2")
    '1 of 5 acknowledged records LOST · double-failover on 0.10.2.2'
    """
    parts = anomaly_first(outcome)
    shown = parts
    while len(shown) > 1 and text_width(_joined(parts, shown, name), HEADLINE) > WIDTH - 32:
        shown = shown[:-1]
    return _joined(parts, shown, name)


def _joined(parts: list[str], shown: list[str], name: str) -> str:
    more = f"; {len(parts) - len(shown)} more" if len(shown) < len(parts) else ""
    return f"{'; '.join(shown)}{more} · {name}"


def below(sentence: str) -> list[str]:
    """What was seen, in two lines at most: without the sources where these make it longer, or with its first part and
    how many more there are.
    """
    first, *others = sentence.split("; ")
    tried = (sentence, SOURCES.sub(r"\1", sentence), f"{first}; {len(others)} more.", f"{first}.")
    return next((lines for one in tried if len(lines := wrapped(one)) <= LINES), wrapped(first)[:LINES])


def wrapped(sentence: str, width: int = WIDTH - 40) -> list[str]:
    """A sentence in lines that are at most so many pixels wide."""
    limit = int(width / (BELOW * CHAR))
    lines, current = [], ""
    for word in sentence.split():
        if current and len(current) + 1 + len(word) > limit:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}".strip()
    return [*lines, current]
