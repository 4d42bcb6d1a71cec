"""Which tests `make unit`, `make test` and `make test-rest` run: the table of CONTRIBUTING.md, read.

A test that carries none of the marks `docker`, `spark` and `slow` is of the tier `unit`. Every other is in the table:
by itself, with all its parameters, or with its whole file; the longest entry that fits counts. One that does not stand
there is refused, and so is an entry that fits no test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TIERS: Final = ("unit", "test", "rest")
MARKS: Final = ("docker", "spark", "slow")
"""Tests with one of these are not of the tier `unit`."""
ROW: Final = re.compile(r"^\| `(tests/[^`]+)` \| (\w+) \| (\d+) \| (.+) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """An entry of the table."""

    tests: str
    """A test's node id, one without its parameters, or a file."""
    tier: str
    seconds: int
    """About how long its tests take, two at a time on two cores."""
    why: str

    @property
    def file(self) -> str:
        """The file that its tests are in."""
        return self.tests.partition("::")[0]

    def fits(self, node_id: str) -> bool:
        """Whether it names this test."""
        return node_id == self.tests or node_id.startswith((f"{self.tests}::", f"{self.tests}["))


def read_rows(text: str) -> tuple[Row, ...]:
    """The entries of the table, in its order.

    Raises ValueError for a tier that does not exist, and for a test that is named twice.
    """
    rows = tuple(Row(tests, tier, int(seconds), why) for tests, tier, seconds, why in ROW.findall(text))
    for row in rows:
        if row.tier not in TIERS[1:]:
            raise ValueError(f"{row.tests}: there is no tier {row.tier!r} for it; there are {', '.join(TIERS[1:])}")
    if twice := {row.tests for row in rows if sum(other.tests == row.tests for other in rows) > 1}:
        raise ValueError(f"more than one entry: {', '.join(sorted(twice))}")
    return rows


def row_of(node_id: str, rows: Iterable[Row]) -> Row | None:
    """The entry that counts for a test; None if none fits."""
    return max((row for row in rows if row.fits(node_id)), key=lambda row: len(row.tests), default=None)


def tier_of(node_id: str, marks: Iterable[str], rows: Iterable[Row]) -> str:
    """The tier of a test that has these marks. Raises LookupError for one that must be in the table and is not."""
    if not set(MARKS) & set(marks):
        return TIERS[0]
    row = row_of(node_id, rows)
    if row is None:
        raise LookupError(node_id)
    return row.tier


def unused(rows: Iterable[Row], node_ids: Iterable[str]) -> list[str]:
    """The entries that count for none of these tests."""
    listed = tuple(rows)
    used = {row_of(node_id, listed) for node_id in node_ids}
    return [row.tests for row in listed if row not in used]


def shard(rows: Iterable[Row], number: int, count: int) -> set[str]:
    """The files of one of `count` parts of the table, the first being 1, each of about the same length.

    Raises ValueError for a part that is none of them.
    """
    if not 1 <= number <= count:
        raise ValueError(f"there is no part {number} of {count}")
    seconds: dict[str, int] = {}
    for row in rows:
        seconds[row.file] = seconds.get(row.file, 0) + row.seconds
    parts: list[list[str]] = [[] for _ in range(count)]
    for file in sorted(seconds, key=lambda file: (-seconds[file], file)):
        min(parts, key=lambda part: sum(seconds[other] for other in part)).append(file)
    return set(parts[number - 1])


def places(rows: Sequence[Row], turn: int) -> dict[Row, int]:
    """When each entry's turn is: in the table's order, which begins with another entry each turn."""
    count = len(rows)
    return {row: (place - turn) % count for place, row in enumerate(rows)}
