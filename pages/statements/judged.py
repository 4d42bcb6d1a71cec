"""The verdict of each statement, counted from the ledger's cells.

On a release a witness shows a statement if all of its runs do, contradicts it if most of them do, and else shows it
"not in every run". The worst of its witnesses decides on a release, since a statement is false if a part of it is.

Over all releases a statement is shown or contradicted if it is so on each, and otherwise depends on the release. One
that is shown, and of which something is left open, is "shown in part".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from judgement.report.cells import version_key
from pages.statements.statement import Statement
from pages.statements.witness import RunTally, Witness


class StatementVerdict(StrEnum):
    """What became of a statement."""

    SHOWN = "shown"
    IN_PART = "shown in part"
    NOT_ALWAYS = "not in every run"
    DEPENDS = "depends on the release"
    CONTRADICTED = "contradicted"
    NOT_RUN = "no run yet"
    NOT_SHOWN = "not shown"


WORSE: Final = (StatementVerdict.SHOWN, StatementVerdict.NOT_ALWAYS, StatementVerdict.CONTRADICTED)
"""The verdicts on a release, the worst last."""


def verdict_of(tally: RunTally) -> StatementVerdict:
    """What the runs of a witness on one release come to, if any of them says something.

    >>> [str(verdict_of(RunTally(*each))) for each in ((5, 0), (5, 1), (1, 34))]
    ['shown', 'not in every run', 'contradicted']
    """
    if not tally.contradicts:
        return StatementVerdict.SHOWN
    return StatementVerdict.NOT_ALWAYS if tally.shows >= tally.contradicts else StatementVerdict.CONTRADICTED


@dataclass(frozen=True, slots=True)
class JudgedStatement:
    """A statement, and what the runs of each of its witnesses showed on each release."""

    statement: Statement
    witnessed: tuple[tuple[Witness, Mapping[str, RunTally]], ...]

    @property
    def releases(self) -> list[str]:
        """The releases that have runs, the oldest first."""
        return sorted({version for _, tallies in self.witnessed for version in tallies}, key=version_key)

    def tally(self, version: str) -> RunTally:
        """The runs of all witnesses on a release."""
        return sum((tallies.get(version, RunTally()) for _, tallies in self.witnessed), RunTally())

    def on(self, version: str) -> StatementVerdict:
        """The verdict on a release that has runs."""
        found = (verdict_of(tallies[version]) for _, tallies in self.witnessed if version in tallies)
        return max(found, key=WORSE.index)

    @property
    def runs(self) -> int:
        """How many runs say something; one that answers two questions counts twice."""
        return sum(self.tally(version).runs for version in self.releases)

    @property
    def verdict(self) -> StatementVerdict:
        """The verdict over all releases."""
        if not self.releases:
            return StatementVerdict.NOT_RUN if self.statement.by else StatementVerdict.NOT_SHOWN
        found = set(map(self.on, self.releases))
        if StatementVerdict.CONTRADICTED in found:
            return StatementVerdict.DEPENDS if len(found) > 1 else StatementVerdict.CONTRADICTED
        if StatementVerdict.NOT_ALWAYS in found:
            return StatementVerdict.NOT_ALWAYS
        return StatementVerdict.IN_PART if self.statement.not_yet else StatementVerdict.SHOWN


def judged(statement: Statement, data: Mapping[str, Any]) -> JudgedStatement:
    """A statement with the runs of its witnesses, of `results.by_scenario`."""
    return JudgedStatement(statement, tuple((witness, witness.by_version(data)) for witness in statement.by))


def all_judged(statements: Iterable[Statement], data: Mapping[str, Any]) -> list[JudgedStatement]:
    """All of them, in their order."""
    return [judged(statement, data) for statement in statements]
