"""Leader epochs, on disks and as the cluster stated them.

two-leaders-in-one-epoch: the cluster named two brokers as leader under one epoch. Or two replicas, in sync or not, hold
different records at one offset under one leader epoch. Both records are as they were written: a batch whose checksum
does not fit does not tell who wrote it.

leader-epoch-regression: epochs that the cluster stated and that went down; or a leader-epoch checkpoint whose epochs or
start offsets go back, or that gives a batch another epoch than the batch itself carries. What the file does not have
*yet* (an epoch newer than its last; brokers from 3.7 on write it behind the log) counts only against a broker that runs
and is quiet.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from checks.anomalies.delete_records import asked_before
from checks.anomalies.metadata import goes_back, stated_row
from checks.anomaly import (
    CLUSTER,
    COPIES,
    KEPT_ROWS,
    also_found,
    anomaly,
)
from checks.copies import WITH_EPOCHS, Copies, Copy, differing_fields, held_by
from checks.view import (
    EVIDENCE_LIMIT,
    NO_IDENTITY,
    Evidence,
    Ints,
    Rows,
)
from evidence.basis import Basis
from evidence.events import Partition
from evidence.run_state import UP, RunState, leader_of
from kafkafiles.checkpoints import LOG_START_OFFSETS, EpochStart, read_offset_checkpoint
from kafkafiles.errors import ParseError
from kafkafiles.replica import Replica


@anomaly("two-leaders-in-one-epoch", source="KIP-101", basis=Basis.KIP, reads=(COPIES,), screened=KEPT_ROWS)
def two_leaders(copies: Copies) -> Rows:
    """Two brokers led a partition, or appended to it, under one leader epoch.

    Offsets at which replicas hold different records of one leader epoch, so that two brokers appended under it.
    """
    rows = Rows()
    for _, of_moment, difference in copies.compared():
        held = [(broker, one) for broker, one in difference.records.items() if one and one.magic >= WITH_EPOCHS]
        guilty = [
            (broker, other)
            for (broker, one), (other, another) in combinations(held, 2)
            if one.leader_epoch == another.leader_epoch >= 0 and one.valid and another.valid
            if differing_fields(one, another)
        ]
        if guilty:
            rows.total += 1
            rows.append(
                {
                    "moment": of_moment[0].moment,
                    "offset": difference.offset,
                    **held_by(of_moment[0], dict(held)),
                }
            )
    return Rows(rows[:EVIDENCE_LIMIT], total=rows.total)


@also_found("two-leaders-in-one-epoch", reads=(CLUSTER,))
def two_leaders_in_one_epoch(run_state: RunState) -> list[Evidence]:
    """Two leaders that the cluster named under one leader epoch of a partition."""
    found: list[Evidence] = []
    for (topic, partition), states in run_state.states.items():
        first: dict[int, Partition] = {}
        for state in states:
            if leader_of(state) is None:
                continue
            earlier = first.setdefault(state.leader_epoch, state)
            if leader_of(earlier) != leader_of(state):
                found.append(
                    {
                        "topic": topic,
                        "partition": partition,
                        "leader_epoch": state.leader_epoch,
                        "before": stated_row(earlier),
                        "after": stated_row(state),
                    }
                )
    return found


@anomaly("leader-epoch-regression", source="KIP-101", basis=Basis.KIP, reads=(COPIES,), screened=KEPT_ROWS)
def epoch_files(copies: Copies) -> Rows:
    """The leader epoch of a partition went down, or a replica's epoch file disagrees with its batches.

    Replicas whose leader-epoch checkpoint goes back, or disagrees with the epochs in their own batches.
    """
    rows: list[Evidence] = []
    for copy in copies.copies:
        if copy.replica.epochs is None:
            continue
        settled = copy.condition == UP and copies.quiet(copy.at_ns)
        entries = copy.replica.epochs.entries
        batches = epochs_of_batches(copy.replica, entries, _deleted_before(copies, copy))
        wrong = epoch_disagreements(entries, *batches, settled=settled)
        rows += [copy.place() | row for row in wrong]
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


@also_found("leader-epoch-regression", reads=(CLUSTER,))
def leader_epoch_regression(run_state: RunState) -> list[Evidence]:
    """Partitions whose leader epoch went down from one statement to the next."""
    return [
        {"topic": topic, "partition": partition, "before": stated_row(before), "after": stated_row(after)}
        for (topic, partition), states in run_state.states.items()
        for before, after in goes_back(states, "leader_epoch")
    ]


def epochs_of_batches(replica: Replica, entries: Sequence[EpochStart], deleted_before: int = 0) -> tuple[Ints, Ints]:
    """Offset and leader epoch of the batches that matter: those at which the log's epoch changes, and those at which
    the file says that it does. What was deleted by request may lie on the disk for long, in a batch or a segment that
    has later records too: it is no part of the log, and the file begins after it.
    """
    stated = [entry.start_offset for entry in entries]
    runs = [
        (max(run.first_offset, deleted_before), run) for run in replica.epoch_runs if run.last_offset >= deleted_before
    ]
    found = [
        (offset, run.epoch)
        for first, run in runs
        for offset in sorted({first, *(at for at in stated if first < at <= run.last_offset)})
    ]
    columns = np.array(found, dtype=np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def epoch_disagreements(
    entries: Sequence[EpochStart], base: Ints, epoch: Ints, *, settled: bool = True
) -> list[dict[str, Any]]:
    """What an epoch file says that goes back, or that its log's batches (base offset, epoch) contradict."""
    found: list[dict[str, Any]] = [
        {"what": "the epoch file goes back", "before": _entry(before), "after": _entry(after)}
        for before, after in pairwise(entries)
        if after.epoch <= before.epoch or after.start_offset < before.start_offset
    ]
    back = np.flatnonzero(np.diff(epoch) < 0)
    found += [
        {"what": "the log's epochs go back", "offset": int(base[at + 1]), "epochs": epoch[at : at + 2].tolist()}
        for at in back.tolist()
    ]
    if not entries:
        return found + [
            {"what": "the epoch file is empty", "offset": int(base[0]), "batch_epoch": int(epoch[0])}
            for _ in [0][: int(settled and len(base) > 0)]
        ]
    starts = np.array([entry.start_offset for entry in entries])
    numbers = np.array([NO_IDENTITY, *(entry.epoch for entry in entries)])
    by_file = numbers[np.searchsorted(starts, base, side="right")]
    wrong = by_file != epoch
    if not settled:
        wrong &= epoch <= entries[-1].epoch
    return found + [
        {
            "what": "the epoch file disagrees with a batch",
            "offset": int(base[at]),
            "batch_epoch": int(epoch[at]),
            "file_epoch": None if by_file[at] == NO_IDENTITY else int(by_file[at]),
            "epoch_file": [_entry(entry) for entry in entries[-20:]],
        }
        for at in np.flatnonzero(wrong)[:EVIDENCE_LIMIT].tolist()
    ]


def _entry(entry: EpochStart) -> dict[str, int]:
    return {"epoch": entry.epoch, "start_offset": entry.start_offset}


def _deleted_before(copies: Copies, copy: Copy) -> int:
    """The offset before which the partition's records had been deleted when a copy was taken: by request, or because
    the leader's log begins later, as the broker's file of log starts has it.
    """
    where = (copy.replica.topic, copy.replica.partition)
    asked = asked_before(copies.run_state, *where, copy.at_ns)
    try:
        starts = read_offset_checkpoint(copy.replica.path.parent / LOG_START_OFFSETS).offsets
    except (OSError, ParseError):  # releases before 0.11 have none
        return asked
    return max(asked, starts.get(where, 0))
