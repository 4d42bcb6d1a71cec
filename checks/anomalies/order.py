"""The order of reads and of sends, by index in the log: the dense rank of the offsets at which a record was seen.

For one consumer and partition, between one record and the next that it was given:

    poll-skip, internal-poll-skip                  index distance above 1: records between the two were left out
    nonmonotonic-poll, internal-nonmonotonic-poll  index distance below 1: it went back, or stood still

"Internal" is inside one poll, else it is from the last record of one poll to the first of the next. A poll that
returned records counts whatever the outcome of its operation: an abort does not take a consumer back. A partition that
was assigned or revoked in between, or that has a new assignment, starts again. A partition that was assigned or revoked
during a poll is exempt within that poll.

For one producer: nonmonotonic-send is a send whose index is not above that of the send before it (internal: the two
are of one operation). A value's place is where it was read, or, if nobody read it, where it was acknowledged, unless
something else was seen at that place: then the value is lost and has no place. A value that was sent again and again
with no other between counts once; one that was sent again later may lie where either send put it, and is left out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from checks import excuses
from checks.anomaly import (
    HISTORY,
    JEPSEN,
    KEPT_ROWS,
    anomaly,
)
from checks.disturbances import REACHED
from checks.view import EVIDENCE_LIMIT, Bools, Ints, PartitionView, Rows, identity_of, reader, record_in, sender
from evidence.basis import Basis

SENT_AGAIN: Final = f"if the producer retries without idempotence and has several requests in flight, {REACHED}"


def _eras(view: PartitionView, rows: Ints) -> Ints:
    """Which stay of the partition with its consumer each poll belongs to."""
    era = np.zeros(len(rows), dtype=np.int64)
    for process, ops in view.assignments.items():
        own = view.polls.process[rows] == process
        # A rebalance is noted while a poll waits: the records of that same poll belong to the new stay.
        era[own] = np.searchsorted(ops, view.polls.op[rows][own], side="right")
    return era


def _rebalanced(view: PartitionView, rows: Ints) -> Bools:
    """Which polls the partition was given or taken away in."""
    found = np.zeros(len(rows), dtype=np.bool_)
    for process, ops in view.assignments.items():
        own = view.polls.process[rows] == process
        found[own] = np.isin(view.polls.op[rows][own], ops)
    return found


def neighbours(view: PartitionView, *, internal: bool) -> tuple[Ints, Ints, Ints]:
    """Neighbouring reads: row before, row after, index distance; of one poll, or of one and the next."""
    polls = view.polls
    rows, index = view.reading_order
    era = _eras(view, rows)
    before, after = rows[:-1], rows[1:]
    same = (polls.process[before] == polls.process[after]) & (era[:-1] == era[1:])
    one_poll = polls.op[before] == polls.op[after]
    if internal:
        one_poll &= ~_rebalanced(view, before)
    elif view.unordered:
        same &= ~np.isin(polls.process[before], list(view.unordered))
    chosen = np.flatnonzero(same & (one_poll if internal else ~one_poll))
    return before[chosen], after[chosen], (index[1:] - index[:-1])[chosen]


def _hidden(view: PartitionView) -> Ints:
    """Offsets that hold nothing but values of transactions that are not committed for sure, ascending: readers at
    read_committed pass them by.
    """
    sends, log = view.sends, view.log
    pending = sends.value[(sends.transaction >= 0) & ~view.committed]
    pending = pending[~np.isin(pending, sends.value[view.committed])]
    if not len(pending):
        return np.zeros(0, np.int64)
    is_pending = np.isin(log.value, pending)
    return np.setdiff1d(log.offset[is_pending], log.offset[~is_pending])


def _skips(view: PartitionView, *, internal: bool) -> Rows:
    before, after, distance = neighbours(view, internal=internal)
    found = np.flatnonzero(distance > 1)
    hidden = _hidden(view) if len(found) else np.zeros(0, np.int64)
    if len(hidden):
        # Neighbours, once what this reader must not be given is left out.
        low = np.searchsorted(hidden, view.polls.offset[before[found]], side="right")
        high = np.searchsorted(hidden, view.polls.offset[after[found]])
        dirty = view.dirty[after[found]]
        found = found[distance[found] - np.where(dirty, 0, high - low) > 1]
    rows = Rows(total=len(found))
    for one in found[:EVIDENCE_LIMIT].tolist():
        low = np.searchsorted(view.log.offset, view.polls.offset[before[one]], side="right")
        high = np.searchsorted(view.log.offset, view.polls.offset[after[one]])
        skipped = list(dict.fromkeys(view.log.value[low:high].tolist()))
        around = view.polls.value[[before[one], after[one]]].tolist()
        rows.append(
            {
                "records": [record_in(view, value) for value in (*around, *skipped[:20])],
                "offset": int(view.polls.offset[after[one]]),
                "process": view.processes[view.polls.process[after[one]]],
                "before": reader(view, int(before[one])),
                "after": reader(view, int(after[one])),
                "skipped": [identity_of(value) for value in skipped[:20]],
                "skipped_count": len(skipped),
            }
        )
    return rows


def _returns(view: PartitionView, *, internal: bool) -> Rows:
    before, after, distance = neighbours(view, internal=internal)
    found = np.flatnonzero(distance < 1)
    return Rows(
        (
            {
                "records": [record_in(view, int(view.polls.value[row])) for row in (before[one], after[one])],
                "offset": int(view.polls.offset[after[one]]),
                "process": view.processes[view.polls.process[after[one]]],
                "before": reader(view, int(before[one])),
                "after": reader(view, int(after[one])),
            }
            for one in found[:EVIDENCE_LIMIT].tolist()
        ),
        total=len(found),
    )


@anomaly("poll-skip", source=JEPSEN, basis=Basis.DOCUMENTATION, reads=(HISTORY,), screened=KEPT_ROWS)
def poll_skip(view: PartitionView) -> Rows:
    """Between two consecutive polls of a partition that stayed assigned, the consumer skipped records."""
    return _skips(view, internal=False)


@anomaly("internal-poll-skip", source=JEPSEN, basis=Basis.DOCUMENTATION, reads=(HISTORY,), screened=KEPT_ROWS)
def internal_poll_skip(view: PartitionView) -> Rows:
    """Within one poll the consumer skipped records."""
    return _skips(view, internal=True)


@anomaly("nonmonotonic-poll", source=JEPSEN, basis=Basis.DOCUMENTATION, reads=(HISTORY,), screened=KEPT_ROWS)
def nonmonotonic_poll(view: PartitionView) -> Rows:
    """The second of two consecutive polls of a partition that stayed assigned went back.

    From one poll to the next a consumer went back, or stood still.
    """
    return _returns(view, internal=False)


@anomaly("internal-nonmonotonic-poll", source=JEPSEN, basis=Basis.DOCUMENTATION, reads=(HISTORY,), screened=KEPT_ROWS)
def internal_nonmonotonic_poll(view: PartitionView) -> Rows:
    """Within one poll the records of a partition go back."""
    return _returns(view, internal=True)


def _sent_once(view: PartitionView, rows: Ints) -> Ints:
    """Of sends, by process and in order, those of values with one place in it."""
    value, process = view.sends.value[rows], view.sends.process[rows]
    same = process[1:] == process[:-1]
    if _unlike(value, same):  # a sort of millions of values less
        return rows
    again = np.concatenate([[False], same & (value[1:] == value[:-1])])
    rows, value = rows[~again], value[~again]
    values, count = np.unique(value, return_counts=True)
    return rows[~np.isin(value, values[count > 1])]


def _unlike(value: Ints, same: Bools) -> bool:
    """Whether all values differ because they go up within each stretch, and stretches do not overlap."""
    if not len(value) or not np.all((value[1:] > value[:-1])[same]):
        return not len(value)
    first, last = value[np.concatenate([[True], ~same])], value[np.concatenate([~same, [True]])]
    order = np.argsort(first)
    return bool(np.all(first[order][1:] > last[order][:-1]))


def _backward(view: PartitionView, *, internal: bool) -> Rows:
    sends = view.sends
    place = view.places
    rows = np.flatnonzero(place >= 0)
    rows = rows[np.lexsort((sends.value[rows], sends.invoked_ns[rows], sends.process[rows]))]
    rows = _sent_once(view, rows)
    before, after = rows[:-1], rows[1:]
    same: Bools = sends.process[before] == sends.process[after]
    transaction = (sends.transaction[before] >= 0) & (sends.transaction[before] == sends.transaction[after])
    one = (sends.op[before] == sends.op[after]) | transaction
    if view.unordered and not internal:
        same &= ~np.isin(sends.process[before], list(view.unordered))
    # Sends that nothing orders (invoked at one time by operations of their own) follow their sequence.
    found = np.flatnonzero(same & (one if internal else ~one) & (place[after] <= place[before]))
    return Rows(
        (
            {
                "records": [record_in(view, int(sends.value[which[row]])) for which in (before, after)],
                "offset": int(place[after[row]]),
                "process": view.processes[sends.process[after[row]]],
                "before": sender(view, int(before[row])) | {"offset": int(place[before[row]])},
                "after": sender(view, int(after[row])) | {"offset": int(place[after[row]])},
            }
            for row in found[:EVIDENCE_LIMIT].tolist()
        ),
        total=len(found),
    )


@anomaly(
    "nonmonotonic-send",
    source=JEPSEN,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=KEPT_ROWS,
    permitted=SENT_AGAIN,
    permits=excuses.reordered,
    follows_from="lost-write",
    follows=excuses.lost_record_came_before,
)
def nonmonotonic_send(view: PartitionView) -> Rows:
    """The offsets of a producer's records in a partition do not follow the order in which it sent them."""
    return _backward(view, internal=False)


@anomaly(
    "internal-nonmonotonic-send",
    source=JEPSEN,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    screened=KEPT_ROWS,
    permitted=SENT_AGAIN,
    permits=excuses.reordered,
)
def internal_nonmonotonic_send(view: PartitionView) -> Rows:
    """The same between records of one operation."""
    return _backward(view, internal=True)
