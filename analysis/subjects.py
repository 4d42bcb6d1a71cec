"""What came of one subject's records (evidence/subjects.py): how many were acknowledged, refused, or have an outcome
that the sender was never told, and of these how many are in the log all the same.

Only that is counted here. What was lost, duplicated or reordered is found by the checks that find it in any run.
"""

from __future__ import annotations

import numpy as np

from checks.view import SEQUENCE_BITS, Bools, Ints, PartitionView, pack
from evidence.findings import SubjectCounts
from evidence.run import SubjectRecord, TimedRecord


def count(view: PartitionView, subject: SubjectRecord) -> SubjectCounts:
    """The counts of one subject, from its partition's view. `acks` are the acks that its records were sent with.

    With `timed`, ranges of sequences that were sent one by one (`latency`) and as fast as the client takes them
    (`throughput`), how long the former took and how fast the latter went.
    """
    sends = view.sends
    process = subject.process
    own: Bools = sends.process == (view.processes.index(process) if process in view.processes else -2)
    unknown = own & sends.info
    unheard = _unheard(view, subject, own)
    there = np.isin(unheard, view.polls.value[view.polls.good])
    return SubjectCounts(
        topic=view.topic,
        partition=view.partition,
        process=process,
        acks=tuple(sorted(set(sends.acks[own].tolist()))),
        acknowledged=int((own & sends.ok).sum()),
        refused=int((own & sends.fail).sum()),
        unknown_present=int((unknown & view.read).sum() + there.sum()),
        unknown_absent=int((unknown & ~view.read).sum() + (~there).sum()),
        **_timed(view, own & sends.ok, subject.timed),
    )


def _unheard(view: PartitionView, subject: SubjectRecord, own: Bools) -> Ints:
    """The values of records that a producer had taken when the run killed it, and of which it told nothing: it told
    what it was about to send. (One that ended by itself told of every record, and of some that it never sent.)
    """
    taken = [
        pack(one.producer, np.arange(one.first, one.first + one.count, dtype=np.int64))
        for one in view.reservations
        if subject.killed and one.process == subject.process
    ]
    values = np.unique(np.concatenate([np.zeros(0, np.int64), *taken]))
    return np.setdiff1d(values, view.sends.value[own])


def _timed(view: PartitionView, answered: Bools, timed: TimedRecord | None) -> dict[str, float]:
    sends = view.sends
    sequence = sends.value & ((1 << SEQUENCE_BITS) - 1)

    if timed is None:
        return {}

    def among(first: int, last: int) -> Bools:
        found: Bools = answered & (sequence >= first) & (sequence < last)
        return found

    told: dict[str, float] = {}
    if (paced := among(*timed.latency)).any():
        took_ms = (sends.completed_ns[paced] - sends.invoked_ns[paced]) / 1e6
        told["latency_p50_ms"], told["latency_p99_ms"] = (
            round(float(np.percentile(took_ms, share)), 3) for share in (50, 99)
        )
    if (burst := among(*timed.throughput)).any():
        seconds = (sends.completed_ns[burst].max() - sends.invoked_ns[burst].min()) / 1e9
        told["records_per_s"] = round(float(burst.sum() / seconds), 1) if seconds else 0.0
    return told
