"""Transactions of which a part is there, or is seen.

torn-transaction: some of its records were read, and others are not in the log: readers have passed them, or the final
read came to its end.

transaction-half-committed: readers under read_committed were given a part of a committed transaction. Whether a record
is in the log is one thing, whether such readers are given it another: a marker of an abort, put where it does not
belong, hides records that are there. So only what such readers were given counts here, and what they passed over:
records between two that one of them was given one after the other, while the partition was its own. Only transactions
that their client was told are committed count.

A transaction lies in several partitions, so each tells what it shows, and that is put together for the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from checks.anomalies.lost_write import passed_by
from checks.anomalies.order import neighbours
from checks.anomaly import (
    KEPT_ROWS,
    absent_if,
    anomaly,
    gathered,
)
from checks.view import EVIDENCE_LIMIT, NO_TRANSACTION, Evidence, PartitionView, Rows, identity_of, sender
from evidence.basis import Basis
from evidence.findings import record_of
from evidence.records import RecordId

GIVEN: Final = "given"
PASSED_OVER: Final = "passed_over"


def transactions_of(view: PartitionView) -> list[dict[str, Any]]:
    """For each transaction that wrote to this partition: how it ended, which of its values were read, and which are
    missing although readers passed their place or the final read reached the end.
    """
    sends, gone = view.sends, passed_by(view)
    rows = np.flatnonzero(sends.transaction != NO_TRANSACTION)
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for row in rows.tolist():
        one = found.setdefault(
            (int(sends.process[row]), int(sends.transaction[row])),
            {
                "process": view.processes[sends.process[row]],
                "transaction": int(sends.transaction[row]),
                "topic": view.topic,
                "partition": view.partition,
                "ok": False,
                "fail": False,
                "proven": False,
                "read": [],
                "missing": [],
            },
        )
        one["ok"] = one["ok"] or bool(sends.ok[row])
        one["fail"] = one["fail"] or bool(sends.fail[row])
        one["proven"] = one["proven"] or bool(view.committed[row])
        if view.read[row] or gone[row]:
            one["read" if view.read[row] else "missing"].append(identity_of(int(sends.value[row])))
    return list(found.values())


TRANSACTIONS: Final = gathered(transactions_of, KEPT_ROWS, by=("process", "transaction"))


@anomaly("torn-transaction", source="KIP-98", basis=Basis.KIP, reads=(TRANSACTIONS,))
def torn_transactions(seen: Iterable[Mapping[str, Any]]) -> Rows:
    """Some records of a committed transaction were read, and others are not in the log.

    Of a transaction that was committed (or that reads prove to have been) some values were read, and others are not in
    the log: readers have passed them, or the final read came to its end.
    """
    parts: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for one in seen:
        parts.setdefault((one["process"], one["transaction"]), []).append(one)
    rows: list[Evidence] = []
    for (process, transaction), of_it in sorted(parts.items()):
        read = [value | {"topic": p["topic"], "partition": p["partition"]} for p in of_it for value in p["read"]]
        missing = [value | {"topic": p["topic"], "partition": p["partition"]} for p in of_it for value in p["missing"]]
        aborted = any(part["fail"] for part in of_it)  # reading those is aborted-read
        # Of one that nobody knows to be committed, a reader at read_uncommitted may see what there is of it.
        if read and missing and not aborted and any(part["proven"] for part in of_it):
            outcome = "ok" if any(part["ok"] for part in of_it) else "info"
            row = {"process": process, "transaction": transaction, "outcome": outcome}
            rows.append(row | {"records": _records(read + missing), "given": read, "missing": missing})
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


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


def _without_transactions(view: PartitionView) -> bool:
    return not bool((view.sends.transaction != NO_TRANSACTION).any())


SEEN_BY_COMMITTED: Final = gathered(seen_by_committed, absent_if(_without_transactions), by=("process", "transaction"))
"""What both kinds of readers agree on may be left out of the rows that are kept: it needs all, if any transaction wrote
to the partition.
"""


@anomaly("transaction-half-committed", source="KIP-98, KIP-890", basis=Basis.KIP, reads=(SEEN_BY_COMMITTED,))
def half_committed_transactions(seen: Iterable[Mapping[str, Any]]) -> Rows:
    """read_committed readers got some records of a committed transaction, and skipped others.

    Of each such transaction the records given and those passed over.
    """
    of: dict[tuple[str, int], dict[str, list[Mapping[str, Any]]]] = {}
    for one in seen:
        parts = of.setdefault((one["process"], one["transaction"]), {GIVEN: [], PASSED_OVER: []})
        parts[one["seen"]].append(one)
    rows: list[Evidence] = [
        {"process": process, "transaction": transaction, "records": _records(parts[GIVEN] + parts[PASSED_OVER])} | parts
        for (process, transaction), parts in sorted(of.items())
        if parts[GIVEN] and parts[PASSED_OVER]
    ]
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


def _records(rows: Iterable[Mapping[str, Any]]) -> list[RecordId]:
    return [record for row in rows for record in record_of(row)]
