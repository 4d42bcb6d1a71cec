"""The runs of commits that nobody has any more: their part of docs/ledger.md, made from the ledger and git's history.

    python -m app.gone

writes it anew (`make docs` does), and a test holds the page to it. Such a run counts like any other: whether it does
must not hang on whether somebody keeps a branch, for then a branch that is deleted would take its failures with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from analysis import ledger as derivation
from app import ledger as store
from evidence.errors import UsageError
from evidence.ledger import AnyLine, RestoredRun, RunStarted, in_history
from evidence.text import markdown as escaped
from evidence.text import plural

PAGE: Final = Path("docs/ledger.md")
PART: Final = re.compile(r"(?<=^<!-- gone -->\n).*?(?=^<!-- end of gone -->$)", re.DOTALL | re.MULTILINE)
SHORT: Final = 10
COUNTS: Final = "counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneRun:
    """A run of a commit that is gone."""

    run: str
    commit: str
    why: str
    """COUNTS, or why it does not count."""


def of_gone_commits(lines: Iterable[AnyLine], history: Collection[str]) -> list[GoneRun]:
    """The runs that the ledger saw start whose commit is not in a history, by name."""
    every = list(lines)
    why = {one.run: one.why for row in derivation.rows(every) for one in row.aside}
    return sorted(
        (
            GoneRun(run=line.run, commit=line.commit, why=why.get(line.run, COUNTS))
            for line in every
            if isinstance(line, RunStarted) and line.commit is not None and line.commit not in history
        ),
        key=lambda one: one.run,
    )


def restored(lines: Iterable[AnyLine], history: Collection[str]) -> int:
    """How many restored runs with a name have none but commits that are gone."""
    there = cache(partial(in_history, history=history))
    of_commits = (line.commits for line in lines if isinstance(line, RestoredRun) and line.commits)
    return sum(not any(there(commit) for commit in commits) for commits in of_commits)


def part(found: Iterable[GoneRun], of_restored: int) -> str:
    """The part of the page."""
    every = list(found)
    counting = sum(one.why == COUNTS for one in every)
    return "\n".join(["", *_told(len(every), counting, of_restored), "", *_table(every), ""])


def _told(every: int, counting: int, of_restored: int) -> Iterator[str]:
    yield f"The commits of {plural(every, 'run')} are gone; {counting} of these runs count."
    yield f"All commits of {plural(of_restored, 'restored run')} are gone too."


def _table(every: Iterable[GoneRun]) -> Iterator[str]:
    yield "| run | commit | counts? |"
    yield "|---|---|---|"
    for one in every:
        yield f"| {one.run} | {one.commit[:SHORT]} | {escaped('yes' if one.why == COUNTS else f'no: {one.why}')} |"


def renewed(text: str, made: str) -> str:
    """The page with its part as it was made."""
    return PART.sub(lambda _: made + "\n", text)


def made() -> str:
    """The part, of the ledger and the history of this checkout. Raises UsageError without a history."""
    history = store.history()
    if history is None:
        raise UsageError("no git history here to ask for commits")
    lines = list(store.load().lines)
    return part(of_gone_commits(lines, history), restored(lines, history))


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), made()), encoding="utf-8")
