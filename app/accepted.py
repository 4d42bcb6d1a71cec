"""Changes that somebody accepts for a while, in a TOML file: each with a reason and a day on which it ends.

    [[accept]]
    what = "time leader-elected"            # as a comparison names it: kind and name
    cell = "double-failover on 4.4.0"       # or a scenario alone; without it, every cell
    why = "KAFKA-12345 waits for the controller; mended in 4.5.1"
    until = 2027-01-31

From the day after its end an exception holds no more, and the comparison says so; it says too which were not needed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from evidence.errors import UsageError
from judgement.comparison import Cell, Comparison, Fact, name_of

FIELDS: Final = frozenset({"what", "cell", "why", "until"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What is accepted."""

    what: str
    cell: str
    why: str
    until: date

    def holds(self, cell: Cell, fact: Fact) -> bool:
        """Whether it is of this change."""
        return self.what == str(fact) and self.cell in ("", cell[0], name_of(cell))

    def __str__(self) -> str:
        return f"{self.what}" + (f", {self.cell}" if self.cell else "")


@dataclass(frozen=True, slots=True)
class Accepted:
    """The exceptions of a file, on a day."""

    exceptions: Sequence[Acceptance]
    today: date

    def why(self, cell: Cell, fact: Fact) -> str:
        """Why a change is accepted; "" if it is not."""
        found = (one for one in self.exceptions if one.until >= self.today and one.holds(cell, fact))
        return next((f"{one.why} (until {one.until})" for one in found), "")

    def notes(self, comparison: Comparison) -> list[str]:
        """Exceptions that have ended, and those that nothing needed."""
        worse = [(cell.cell, change.fact) for change in comparison.changes if change.worse for cell in change.cells]
        needed = {one for one in self.exceptions if any(one.holds(*pair) for pair in worse)}
        ended = [f"no longer accepted since {one.until}: {one}" for one in self.exceptions if one.until < self.today]
        unused = [f"accepted, and not seen: {one}" for one in self.exceptions if one not in needed]
        return ended + unused


def read(path: Path, today: date) -> Accepted:
    """The exceptions of a file. Raises UsageError, in one line, for a file of another form."""
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: not readable as TOML ({error})") from None
    tables = value.get("accept")
    if set(value) - {"accept"} or not isinstance(tables, list):
        raise UsageError(f"{path}: write each exception as a table [[accept]] with what, why and until (and cell)")
    return Accepted([_exception(path, number, table) for number, table in enumerate(tables, 1)], today)


def _exception(path: Path, number: int, table: Any) -> Acceptance:
    place = f"{path}, exception {number}"
    if not isinstance(table, dict) or set(table) - FIELDS:
        raise UsageError(
            f"{place}: has {', '.join(sorted(set(table) - FIELDS)) or 'no table'}; known: what, cell, why, until"
        )
    for name in ("what", "why"):
        if not isinstance(table.get(name), str) or not table[name].strip():
            raise UsageError(f"{place}: says no {name}")
    until = table.get("until")
    if not isinstance(until, date) or isinstance(until, datetime):
        raise UsageError(f"{place}: has no day on which it ends; write until = 2027-01-31")
    return Acceptance(what=table["what"], cell=str(table.get("cell", "")), why=table["why"], until=until)
