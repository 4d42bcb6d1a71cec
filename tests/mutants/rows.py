"""What came of each run of a mutant: results/mutants.csv, a line for each run, oldest first.

A line is never changed and never dropped: `merged` adds those that are not there. Lists are joined by "; ".
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from evidence.errors import UsageError
from evidence.run import full_name
from tests.mutants import registry

BETWEEN: Final = "; "
NOTICED, OTHERWISE, MISSED, NOT_REACHED = "noticed", "unexpected otherwise", "missed", "not reached"
UNEXPECTED: Final = "unexpected"
DUTY: Final = "Kafka owes this"
"""How the reason begins that tells of a duty which a step found undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run of a mutant."""

    run: str
    """Its name, which no other run has."""
    mutant: str
    scenario: str
    case: str
    version: str
    seed: int
    commit: str
    """Of the harness, with "+" if its tree was changed."""
    hits: int
    """How often brokers did other than Kafka, at least: what a killed one did last it may not have said."""
    verdict: str
    anomalies: tuple[str, ...] = ()
    """Those that nothing documents."""
    claims: tuple[str, ...] = ()
    """Those that are contradicted."""
    reasons: tuple[str, ...] = ()
    """Why the verdict is what it is, in the order in which it names them."""
    seconds: int = 0
    """From the start of the run to its end."""
    ended: str = "complete"
    """How the run ended: "complete", "failed", or "interrupted" by the limit of time."""

    @property
    def what(self) -> str:
        """The scenario, and its case if it has one."""
        return full_name(self.scenario, self.case)

    @property
    def outcome(self) -> str:
        """Noticed, unexpected for another reason, missed, or not reached."""
        if not self.mutant:
            raise ValueError(f"{self.run} is of Kafka itself")
        if not self.hits:
            return NOT_REACHED
        if self.verdict != UNEXPECTED:
            return MISSED
        return NOTICED if told(self) else OTHERWISE

    @property
    def cell(self) -> tuple[str, str, str, str]:
        return (self.mutant, self.scenario, self.case, self.version)


def told(row: Row) -> tuple[str, ...]:
    """Which of its mutant's right reasons a run names; of a duty it is the words."""
    named, mutant = {*row.anomalies, *row.claims}, registry.get(row.mutant)
    undone = [reason for reason in row.reasons if reason.startswith(DUTY)]
    duties = [f"a duty ({words})" for words in mutant.duties if any(words in reason for reason in undone)]
    return (*(one for one in mutant.tells if one in named), *duties[:1])


def as_csv(rows: Iterable[Row]) -> str:
    """The file's text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [one.name for one in fields(Row)]
    writer.writerow(names)
    for row in rows:
        values = (getattr(row, name) for name in names)
        writer.writerow(BETWEEN.join(value) if isinstance(value, tuple) else value for value in values)
    return out.getvalue()


def read(text: str, source: str) -> list[Row]:
    """The rows of such a text. Raises UsageError, with the line's number, for one that is none."""
    rows = []
    for number, line in enumerate(csv.DictReader(io.StringIO(text)), 2):
        try:
            rows.append(Row(**{one.name: _value(one.name, line[one.name]) for one in fields(Row)}))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{source}, line {number}: not a run of a mutant ({error!r})") from None
    return rows


def _value(name: str, text: str) -> Any:
    if name in ("seed", "hits", "seconds"):
        return int(text)
    if name in ("anomalies", "claims", "reasons"):
        return tuple(filter(None, text.split(BETWEEN)))
    return text


def merged(before: Sequence[Row], new: Iterable[Row]) -> list[Row]:
    """The rows that are there, and behind them those of other runs, by the runs' names."""
    known = {row.run for row in before}
    return [*before, *sorted((row for row in new if row.run not in known), key=lambda row: row.run)]
