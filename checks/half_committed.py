"""transaction-half-committed: readers under read_committed were given a part of a committed transaction.

Whether a record is in the log is one thing (analysis.check: torn-transaction), whether readers under read_committed are
given it another: a marker of an abort, put where it does not belong, hides records that are there. So only what such
readers were given counts here, and what they passed over: records between two that one of them was given one after the
other, while the partition was its own.

A transaction lies in several partitions, so each tells what it shows (`seen_by_committed`), and they are put together
for the run (`half_committed_transactions`). Only transactions that their client was told are committed count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from checks.anomalies.order import neighbours
from checks.view import EVIDENCE_LIMIT, Evidence, PartitionView, Rows, sender

GIVEN: Final = "given"
PASSED_OVER: Final = "passed_over"


def seen_by_committed(view: PartitionView) -> list[dict[str, Any]]:
    """The records of committed transactions that readers under read_committed were given, or passed over."""
    sends, polls = view.sends, view.polls
    rows = np.flatnonzero((sends.transaction >= 0) & sends.ok)
    given = polls.value[polls.good & ~view.dirty]
    if not len(rows) or not len(given):
        return []
    pairs = [neighbours(view, internal=internal) for internal in (False, True)]
    before, after = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    gap = ~view.dirty[after] & (polls.offset[after] - polls.offset[before] > 1)
    low, high = np.sort(polls.offset[before][gap]), np.sort(polls.offset[after][gap])
    at = sends.offset[rows]
    # The gaps that began before an offset, less those that had ended there: those that it lies in.
    within = np.searchsorted(low, at) - np.searchsorted(high, at, side="right") > 0
    was_given = np.isin(sends.value[rows], given)
    shown = was_given | ((at >= 0) & within)
    place = {"topic": view.topic, "partition": view.partition}
    return [
        sender(view, row) | place | {"seen": GIVEN if of_it else PASSED_OVER}
        for row, of_it in zip(rows[shown].tolist(), was_given[shown].tolist(), strict=True)
    ]


def half_committed_transactions(seen: Iterable[Mapping[str, Any]]) -> Rows:
    """transaction-half-committed: of each such transaction the records given and those passed over."""
    of: dict[tuple[str, int], dict[str, list[Mapping[str, Any]]]] = {}
    for one in seen:
        parts = of.setdefault((one["process"], one["transaction"]), {GIVEN: [], PASSED_OVER: []})
        parts[one["seen"]].append(one)
    rows: list[Evidence] = [
        {"process": process, "transaction": transaction} | parts
        for (process, transaction), parts in of.items()
        if parts[GIVEN] and parts[PASSED_OVER]
    ]
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))
