"""What `bisect` and `run --for-bisect` look for besides anomalies: a time that is too long, and a line of brokers.

A run has such a symptom, has it not, or cannot tell: without a measured time, or without a broker's log. A line is
looked for as `compare` tells it (judgement/fingerprints.py), by a part of it, so that what was copied from a comparison
is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.nights import TIMES, ran_of
from checks.names import CLAIMS
from evidence.errors import UsageError, unknown_name
from evidence.rundir import RunDir
from judgement.comparison import Ran

LEVELS: Final = ("error line", "warning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Symptom:
    """One of them."""

    name: str
    """In words: "leader-replaced-in-time over 6 s"."""
    time: str = ""
    over_ms: float = 0.0
    line: str = ""

    @property
    def of_claim(self) -> bool:
        """Whether it is the time of a claim: runs tell it only if they are held against what is documented."""
        return self.time in CLAIMS

    def shown(self, ran: Ran) -> bool | None:
        """Whether a run has it; None if it cannot tell."""
        if self.time:
            took = ran.times_ms.get(self.time)
            return None if took is None else took > self.over_ms
        if ran.lines is None:
            return None
        return any(fact.kind in LEVELS and self.line in fact.name for fact in ran.lines)


def longer(text: str) -> Symptom:
    """From "NAME=SECONDS": a claim that is timed, or what is measured of every run. Raises UsageError.

    >>> longer("leader-replaced-in-time=6.5").name
    'leader-replaced-in-time over 6.5 s'
    """
    name, equals, seconds = text.partition("=")
    try:
        over = float(seconds)
    except ValueError:
        over = 0.0
    if not equals or not 0.0 < over < 1e6:
        raise UsageError(f"--longer {text!r}: write it as NAME=SECONDS, such as leader-replaced-in-time=6.5")
    if name not in TIMES and name not in CLAIMS:
        raise unknown_name("time", name, [*TIMES, *CLAIMS])
    return Symptom(name=f"{name} over {over:g} s", time=TIMES.get(name, name), over_ms=over * 1000)


def line(text: str) -> Symptom:
    """From a part of a line, as a comparison tells it. Raises UsageError."""
    if not text.strip():
        raise UsageError("--line: name a part of the line, as `compare` tells it")
    return Symptom(name=f"a line with {text.strip()!r}", line=text.strip())


def named(longer_than: Sequence[str], lines: Sequence[str]) -> tuple[Symptom, ...]:
    """Those that the options name. Raises UsageError."""
    return (*map(longer, longer_than), *map(line, lines))


def shown(wanted: Sequence[Symptom], run_dir: RunDir) -> dict[str, bool | None]:
    """Of each of them whether a judged run has it, by its words; None where it cannot tell."""
    if not wanted:
        return {}
    ran = ran_of(run_dir)
    return {one.name: one.shown(ran) for one in wanted}
