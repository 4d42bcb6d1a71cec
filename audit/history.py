"""What audits of repositories came to over time: a file to which each audit adds a line, and what changed in it.

    kafka-chaos audit PATH… --history FILE      audits, and adds a line for the repository
    kafka-chaos audit --history FILE            each repository of the file: its first audit beside its last

A line has the repository's name, the day, the number of pairs of producer and topic with each grade, and the
fingerprints of all findings (audit/baseline.py). So it is known which are new and which are gone. It has no setting, no
path and no value of a configuration.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from audit import baseline
from audit.grade import ORDER, AuditAnswer
from evidence.errors import UsageError

DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Audited:
    """One audit of one repository."""

    repository: str
    day: str
    """As 2026-11-24 (UTC)."""
    grades: Mapping[str, int]
    """Pairs of producer and topic, by grade; of what is not certain the best."""
    findings: tuple[str, ...]
    """Fingerprints, sorted."""


def audited(answer: AuditAnswer, repository: str, day: str) -> Audited:
    """An answer as a line of the file."""
    return Audited(
        repository, day, dict(Counter(row.grade for row in answer.rows)), tuple(sorted(baseline.every(answer)))
    )


def name_of(paths: Sequence[str]) -> str:
    """The name of the repository that the first path is in: the directory that has .git, else the path's own.

    >>> name_of(["/nowhere/orders"])
    'orders'
    """
    start = Path(paths[0] if paths else ".").absolute()
    for each in (start, *start.parents):
        if (each / ".git").exists():
            return each.name
    return start.name or "."


def load(path: Path) -> list[Audited]:
    """The audits of a file, in its order. Raises UsageError, in one line, for a line that is no audit."""
    try:
        return [_of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such history; name PATHs to audit, and the file is made") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: not a history of audits ({error}); name another file") from None


def _of(told: Mapping[str, object]) -> Audited:
    grades, findings = told["grades"], told["findings"]
    if not isinstance(grades, dict) or not isinstance(findings, list) or not DAY.fullmatch(str(told["day"])):
        raise ValueError("a line has no day, grades and findings")
    counts = {str(letter): int(count) for letter, count in grades.items()}
    if unknown := sorted(set(counts) - set(ORDER)):
        raise ValueError(f"{unknown[0]!r} is no grade")
    return Audited(str(told["repository"]), str(told["day"]), counts, tuple(map(str, findings)))


def append(path: Path, one: Audited) -> None:
    """Add a line. Raises UsageError if the file is no history, or cannot be written."""
    if path.exists():
        load(path)
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(one), sort_keys=True) + "\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another file") from None


def since(before: Audited, now: Audited) -> str:
    """What changed between two audits: "C 2, F 3 → C 4; 1 new, 5 gone"."""
    new, gone = set(now.findings) - set(before.findings), set(before.findings) - set(now.findings)
    return f"{grades(before)} → {grades(now)}; {len(new)} new, {len(gone)} gone"


def grades(one: Audited) -> str:
    """How many have which grade, the worst first; "nothing" of none.

    >>> grades(Audited("r", "2026-11-24", {"A": 2, "F": 1}, ()))
    'F 1, A 2'
    """
    ordered = sorted(one.grades.items(), key=lambda item: -ORDER.index(item[0]))
    return ", ".join(f"{letter} {count}" for letter, count in ordered if count) or "nothing"


def lines(audits: Sequence[Audited]) -> list[str]:
    """A line for each repository, those with the worst grade now first: its first audit beside its last one."""
    of: dict[str, list[Audited]] = {}
    for one in audits:
        of.setdefault(one.repository, []).append(one)

    def badness(several: list[Audited]) -> tuple[int, ...]:
        return tuple(-several[-1].grades.get(letter, 0) for letter in reversed(ORDER))

    told = []
    for name, several in sorted(of.items(), key=lambda item: (badness(item[1]), item[0])):
        first, last = several[0], several[-1]
        if len(several) == 1:
            told.append(f"{name}  {last.day}: {grades(last)}")
        else:
            told.append(f"{name}  {first.day} to {last.day}, {len(several)} audits: {since(first, last)}")
    total = Counter[str]()
    for several in of.values():
        total.update(several[-1].grades)
    every = grades(Audited("", "", total, ()))
    return [*told, f"{len(of)} {'repository' if len(of) == 1 else 'repositories'} now: {every}"]
