"""What readers under read_committed are given of a committed transaction: all of it, or nothing yet."""

from __future__ import annotations

from typing import Any

import pytest

from checks.anomalies.transactions import half_committed_transactions, seen_by_committed
from checks.view import Ending
from tests.unit.checks.histories import Row, assigned, polled, sent, view

COMMITTED, ABORTED, UNKNOWN = Ending("ok", 500), Ending("fail", 500), Ending("info", -1)
AROUND = [sent(10, 0, producer=2), sent(11, 2, producer=2)]
"""Plain records before and behind the transaction's, which is at offset 1."""


def part(*reads: Row) -> list[Row]:
    """A partition with a record of the transaction at offset 1, and who read what."""
    return [AROUND[0], sent(1, 1, transaction=1), AROUND[1], *reads]


def read(*offsets: int, reader: str = "reader-1") -> list[Row]:
    """Each by a poll of its own."""
    own = {0: {"producer": 2, "sequence": 10}, 1: {"producer": 1, "sequence": 1}, 2: {"producer": 2, "sequence": 11}}
    return [polled(offset, 0, process=reader, op=100 + offset) | own[offset] for offset in offsets]


def halves(*partitions: list[Row], ending: Ending = COMMITTED) -> list[Any]:
    endings = {("producer-1", 1): ending}
    views = [view(*rows, endings=endings, uncommitted_readers=["dirty"]) for rows in partitions]
    return list(half_committed_transactions([one for seen in views for one in seen_by_committed(seen)]))


HALF = part(*read(0, 2))
WHOLE = part(*read(0, 1, 2))


def test_one_partition_has_its_record_and_another_hides_it() -> None:
    (row,) = halves(WHOLE, HALF)
    assert (row["process"], row["transaction"]) == ("producer-1", 1)
    assert [(one["sequence"], one["offset"]) for one in row["given"]] == [(1, 1)]
    assert [(one["sequence"], one["offset"]) for one in row["passed_over"]] == [(1, 1)]


def test_within_one_poll_it_is_passed_over_too() -> None:
    one_poll = [row | {"op": 100} for row in read(0, 2)]
    assert len(halves(WHOLE, part(*one_poll))) == 1


@pytest.mark.parametrize(
    "partitions",
    [
        [WHOLE, WHOLE],
        [HALF, HALF],
        [WHOLE, part(*read(0))],
        [WHOLE, part(*read(2))],
        [WHOLE, part(*read(0, 2, reader="dirty"))],
        [WHOLE, part(*read(0, 2), *read(1, reader="reader-2"))],
        [WHOLE, part(read(0)[0], assigned() | {"op": 101}, read(2)[0])],
        [part(*read(0, 1, 2, reader="dirty")), HALF],
    ],
    ids=[
        "all of it",
        "none of it",
        "nobody has come that far",
        "nobody has come from before",
        "who reads everything has missed it",
        "another was given it",
        "the partition was not its own between",
        "only who reads everything was given it",
    ],
)
def test_what_is_not_half_committed(partitions: list[list[Row]]) -> None:
    assert halves(*partitions) == []


@pytest.mark.parametrize("ending", [ABORTED, UNKNOWN], ids=["aborted", "unknown"])
def test_what_was_not_committed_for_sure_may_be_hidden(ending: Ending) -> None:
    assert halves(WHOLE, HALF, ending=ending) == []
