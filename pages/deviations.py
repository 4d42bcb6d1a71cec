"""Runs that count and did not end as documented, as pages tell them: why, what followed, and the reason in one clause.

Runs that have one explanation (results/explained.toml) are told together. What later runs of their cells came to is
counted anew each time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from judgement.verdict import ERROR, NOT_REPRODUCED, UNEXPECTED, UNKNOWN
from results import Value
from results.explained import CAUSES, Explained, by_run

Place = tuple[str, ...]
"""The case and the version of a cell, and before them its scenario where a page has several."""
LONGEST: Final = 200
"""So many characters of a reason are told."""
REASON: Final = re.compile(
    rf"(?P<outcome>.*?): (?P<verdict>{'|'.join((UNEXPECTED, UNKNOWN, ERROR, NOT_REPRODUCED))}): "
)
CLAUSE: Final = re.compile(r"; |\\n|\n")
NOT_EXPLAINED: Final = "not explained yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A run that did not end as documented."""

    place: Place
    run: str
    reason: str
    """What it came to, in one clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviations:
    """Runs that have one explanation, or a single one that has none."""

    runs: tuple[Deviation, ...]
    explained: Explained | None
    later: int
    """How many runs of the same cells are on record by name that came after them."""
    good: int
    """How many of these ended as documented: at least so many, where a cell does not name all that did not."""
    whole: bool = True
    """Whether each cell names all of its runs that did not."""

    @property
    def cause(self) -> str:
        """The cause in words, as a heading has it."""
        words = CAUSES[self.explained.cause] if self.explained else NOT_EXPLAINED
        return words[0].upper() + words[1:]

    @property
    def sentences(self) -> str:
        """Why, what followed, and what came of later runs."""
        return " ".join(filter(None, (self._why, self._followed, self._later)))

    @property
    def by_reason(self) -> dict[str, list[str]]:
        """The names of the runs, by what they came to."""
        found: dict[str, list[str]] = {}
        for one in self.runs:
            found.setdefault(one.reason, []).append(one.run)
        return found

    @property
    def _why(self) -> str:
        return self.explained.why if self.explained else ""

    @property
    def _followed(self) -> str:
        if self.explained is None:
            return ""
        commits = ", ".join(commit[:8] for commit in self.explained.commits)
        return f"{self.explained.followed.removesuffix('.')} ({commits})." if commits else self.explained.followed

    @property
    def _later(self) -> str:
        if not self.later:
            return "The same case and version has no later run that counts."
        many = f"{self.good} of {self.later}" if self.good else f"None of {self.later}"
        many = f"at least {many}" if not self.whole else many
        return f"Later runs of the same case and version: {many} as documented."


def shortened(words: str) -> str:
    """What a run came to, in one clause: the outcome for the records, the verdict, its first reason.

    >>> shortened("all 5 kept; duplicate: unexpected: the claim a is contradicted: 2 s; the claim b is")
    'all 5 kept: unexpected: the claim a is contradicted: 2 s'
    """
    found = REASON.match(words)
    parts = (found["outcome"], found["verdict"], words[found.end() :]) if found else (words,)
    clause = ": ".join(CLAUSE.split(part, maxsplit=1)[0] for part in parts)
    return clause if len(clause) <= LONGEST else f"{clause[: LONGEST - 1].rstrip()}…"


def of(cells: Iterable[tuple[Place, Value]], told: Mapping[str, Explained] | None = None) -> list[Deviations]:
    """The runs of cells that did not end as documented, in the cells' order; `told` in place of what is on record."""
    known = _known() if told is None else told
    groups: dict[int | str, list[tuple[Deviation, Value]]] = {}
    for place, cell in cells:
        for line in cell["not_good"]:
            run, _, words = line.partition(": ")
            key = id(known[run]) if run in known else run
            groups.setdefault(key, []).append((Deviation(place=place, run=run, reason=shortened(words)), cell))
    return [_group(group, known) for group in groups.values()]


def _group(group: list[tuple[Deviation, Value]], known: Mapping[str, Explained]) -> Deviations:
    last = {one.place: (one.run, cell) for one, cell in sorted(group, key=lambda each: each[0].run)}
    later = [run for name, cell in last.values() for run in cell.get("ids", ()) if run > name]
    bad = {line.partition(": ")[0] for _, cell in last.values() for line in cell["not_good"]}
    unnamed = sum(cell["runs"] - cell["good"] - len(cell["not_good"]) for _, cell in last.values())
    return Deviations(
        runs=tuple(one for one, _ in group),
        explained=known.get(group[0][0].run),
        later=len(later),
        good=max(0, sum(run not in bad for run in later) - unnamed),
        whole=not unnamed,
    )


def by_cause(known: Iterable[Explained]) -> list[tuple[str, int]]:
    """Each cause in words, with the number of its runs; causes that no run has are left out."""
    counts = Counter(one.cause for one in known for _ in one.runs)
    return [(words, counts[cause]) for cause, words in CAUSES.items() if counts[cause]]


@cache
def _known() -> Mapping[str, Explained]:
    return by_run()
