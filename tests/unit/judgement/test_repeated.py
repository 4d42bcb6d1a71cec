"""Flaky, blind and changed are different words, and no good run excuses a loss."""

from __future__ import annotations

import pytest

from judgement.repeated import in_words, overall
from judgement.verdict import Name, Verdict

OK, BAD, BLIND = "as-documented", "unexpected", "unknown"


@pytest.mark.parametrize(
    ("verdicts", "told", "verdict"),
    [
        ((OK, OK), "good: 2 as-documented", OK),
        ((BAD, OK, OK, OK), "flaky: 1 unexpected, 3 as-documented", BAD),
        ((BLIND, OK, OK, OK), "flaky: 1 unknown, 3 as-documented", OK),
        ((BLIND, "error", BLIND), "blind: 1 error, 2 unknown", "error"),
        ((BAD, BAD, BLIND, "not-reproduced"), "changed: 2 unexpected, 1 not-reproduced, 1 unknown", BAD),
    ],
)
def test_what_runs_say_together(verdicts: tuple[Name, ...], told: str, verdict: str) -> None:
    given = [Verdict(verdict=name) for name in verdicts]
    assert in_words(given) == told
    assert overall(given).verdict == verdict
