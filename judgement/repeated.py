"""A cell that was run again because its first run was not good: what all of its runs say together.

    flaky      some runs were good, and some were not
    blind      every run was unknown or an error: nothing was seen, of whatever is there
    changed    no run that tells anything was good

The verdict on all is the worst of those that tell something, so one unknown run among good ones is forgotten, and one
loss among good ones is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

from judgement.verdict import ERROR, SEVERITY, UNKNOWN, Verdict, worst

Word = Literal["good", "flaky", "blind", "changed"]
BLIND: Final = (UNKNOWN, ERROR)


def word(verdicts: Sequence[Verdict]) -> Word:
    """What so many runs of a cell are."""
    telling = [verdict.good for verdict in verdicts if verdict.verdict not in BLIND]
    if not telling:
        return "blind"
    if not any(telling):
        return "changed"
    return "good" if all(verdict.good for verdict in verdicts) else "flaky"


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on all runs of a cell."""
    return worst([verdict for verdict in verdicts if verdict.verdict not in BLIND] or verdicts)


def in_words(verdicts: Sequence[Verdict]) -> str:
    """The word, and how often each verdict was given, the most severe first: "flaky: 1 unexpected, 3 as-documented"."""
    tally = Counter(verdict.verdict for verdict in verdicts)
    told = ", ".join(f"{tally[name]} {name}" for name in sorted(tally, key=lambda name: -SEVERITY[name]))
    return f"{word(verdicts)}: {told}"
