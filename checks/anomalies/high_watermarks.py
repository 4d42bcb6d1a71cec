"""High watermarks: what lies below one that was announced must stay on every replica that had to have it then.

Nobody records a high watermark as it moves; these witnesses bound it from below. A send that is acknowledged under
acks=all, and a record that a reader was given, say that the leader's had passed their offset. A checkpoint copied from
a broker's disk says that this broker's had come as far. Only a consumer that asks for the log's end is told the
leader's exactly. Where a witness leaves room for doubt, nothing is reported:

log-truncated-below-high-watermark: a replica's log ends below a high watermark that this broker itself had
checkpointed, or below one that its leader had reached. In the second case the replica was in every ISR stated from
before the record was sent until `QUIET_NS` after it was known to be there. Such a replica had the record, and has cut
it off. Log ends are those of copies and of truncations in the brokers' logs. A broker that a fault of the run has given
a blank disk has truncated nothing: high watermarks announced before that do not count against it. Nor do records count
that somebody had asked to delete before: a follower that was away when all it has was deleted begins its log anew.

read-above-high-watermark: a reader was given a record, and a replica in the ISR did not have it. That replica had been
in the ISR since before the record was sent, under one leader and without a restart, so it cannot have cut the record
off.

high-watermark-regression: the leader's high watermark is smaller than it was before under the same leader epoch (by
two of its checkpoints, or two of its answers), or than the offset after a record that a reader had been given. The
latter counts once for each leader epoch: a leader that begins with too little answers so until it has caught up. An
answer counts if nobody but the leader can have given it: a broker that has led before and does not know yet that it
leads no more answers with what it has. What read_committed clients are told is the last stable offset: it counts where
there are no transactions.

Limit: a topic deleted and created again under its name begins anew, and is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from checks import excuses
from checks.anomalies.delete_records import asked_before
from checks.anomaly import (
    COPIES,
    GUARANTEES,
    HISTORY,
    KEPT_ROWS,
    anomaly,
)
from checks.copies import ACKS_ALL, QUIET_NS, Copies, Copy
from checks.view import (
    EVIDENCE_LIMIT,
    EndAnswer,
    Evidence,
    Ints,
    PartitionView,
    Rows,
    identity_of,
    reader,
    record_in,
    sender,
)
from evidence.basis import Basis
from evidence.events import Log, Partition, of
from evidence.faults.process import PowerLossProof
from evidence.nodes import number_of
from evidence.run_state import DOWN, in_isr_throughout, leader_of, one_leader

ITSELF, LEADER = "itself", "leader"


@dataclass(frozen=True, kw_only=True)
class _Reached:
    """Records whose offsets the leader's high watermark passed between `begun_ns` and `known_ns`."""

    what: str
    row: Ints
    """Rows of sends."""
    poll: Ints | None = None
    """Rows of the polls that returned them, if they were read."""
    offset: Ints
    begun_ns: Ints
    known_ns: Ints


def _acknowledged(view: PartitionView) -> _Reached:
    sends = view.sends
    row = np.flatnonzero(
        sends.ok & (sends.acks == ACKS_ALL) & (sends.offset >= 0) & (sends.invoked_ns >= 0) & (sends.completed_ns >= 0)
    )
    return _Reached(
        what="acknowledged under acks=all",
        row=row,
        offset=sends.offset[row],
        begun_ns=sends.invoked_ns[row],
        known_ns=sends.completed_ns[row],
    )


def _read(view: PartitionView) -> _Reached:
    """Values that were read and whose sending is on record, each by the poll that was the first to return it."""
    sends, polls = view.sends, view.polls
    given = np.flatnonzero(polls.good & (polls.value >= 0) & (polls.offset >= 0) & (polls.completed_ns >= 0))
    given = given[np.argsort(polls.completed_ns[given], kind="stable")]
    value, first = np.unique(polls.value[given], return_index=True)
    row = np.flatnonzero((sends.invoked_ns >= 0) & np.isin(sends.value, value))
    # A value that was sent twice may have been read as either: its sending is the earlier one.
    row = row[np.lexsort((sends.invoked_ns[row], sends.value[row]))]
    row = row[np.concatenate([[True], sends.value[row][1:] != sends.value[row][:-1]])] if len(row) else row
    poll = given[first[np.searchsorted(value, sends.value[row])]]
    return _Reached(
        what="read",
        row=row,
        poll=poll,
        offset=polls.offset[poll],
        begun_ns=sends.invoked_ns[row],
        known_ns=polls.completed_ns[poll],
    )


def _times(states: Sequence[Partition]) -> list[int]:
    return sorted({state.monotonic_ns for state in states})


def _by_era(states: Sequence[Partition], begin_ns: Ints, end_ns: Ints) -> Iterator[tuple[int, int, Ints]]:
    """Groups of intervals in which the same states held: (begin, end, which). Those that begin before anything was
    stated are left out.
    """
    times = _times(states)
    eras = len(times) + 1
    era = np.searchsorted(times, begin_ns, side="right") * eras + np.searchsorted(times, end_ns, side="right")
    for one in np.unique(era).tolist():
        low, high = divmod(one, eras)
        if low > 0:
            yield times[low - 1], times[high - 1], np.flatnonzero(era == one)


@dataclass(frozen=True, kw_only=True)
class LogEnd:
    """Where a replica's log was seen to end, at the latest, at some time after `at_ns`."""

    node: str
    at_ns: int
    end: int
    seen_by: Mapping[str, Any]
    since_ns: int = 0
    """When its disk was last made blank before that."""
    deleted: int = 0
    """The offset before which records had been deleted by request."""

    @property
    def kept(self) -> int:
        """The offset from which on records are missing that nobody had asked to delete."""
        return max(self.end, self.deleted)


def log_ends(topic: str, partition: int, copies: Copies) -> list[LogEnd]:
    """The log ends that copies and logged truncations show, in order of time."""
    found = [
        LogEnd(node=copy.node, at_ns=copy.begun_ns, end=copy.replica.leo, seen_by={"moment": copy.moment})
        for copy in copies.copies
        if copy.replica.segments and not copy.damaged
    ]
    for line in of(copies.run_state.events, Log):
        here = (line.topic, line.partition) == (topic, partition)
        if line.event == "truncate" and here and line.offset is not None:
            line_of = {"log_line": line.line}
            found.append(LogEnd(node=line.node, at_ns=line.monotonic_ns, end=max(0, line.offset), seen_by=line_of))
    blank = [fault for fault in copies.run_state.faults if fault.kind == "wipe" and fault.proved_ns is not None]
    return [
        replace(
            end,
            since_ns=max((b.inject_ns for b in blank if b.node == end.node and b.inject_ns < end.at_ns), default=0),
            deleted=asked_before(copies.run_state, topic, partition, end.at_ns),
        )
        for end in sorted(found, key=lambda end: end.at_ns)
    ]


def _below_own(ends: Sequence[LogEnd], copies: Copies) -> Iterator[Evidence]:
    """Log ends below a high watermark that the same broker had checkpointed."""
    stated = [copy for copy in copies.copies if copy.high_watermark is not None]
    for end in ends:
        # A copy holds the checkpoint that was there before its own segments were copied.
        own = [
            copy
            for copy in stated
            if copy.node == end.node and copy.at_ns >= end.since_ns
            if copy.at_ns <= end.at_ns or copy.moment == end.seen_by.get("moment")
        ]
        highest = max(own, key=lambda copy: copy.high_watermark or 0, default=None)
        if highest is not None and end.kept < (highest.high_watermark or 0):
            yield _truncated(end, highest.high_watermark or 0) | {
                "announced_by": ITSELF,
                "announced": {
                    "what": "checkpointed",
                    "moment": highest.moment,
                    "high_watermark": highest.high_watermark,
                },
            }


def _truncated(end: LogEnd, high_watermark: int) -> dict[str, Any]:
    return {"node": end.node, "log_end": end.end, **end.seen_by, "high_watermark": high_watermark, "at_ns": end.at_ns}


def _below_leaders(
    view: PartitionView, ends: Sequence[LogEnd], copies: Copies, reached: _Reached
) -> Iterator[Evidence]:
    """Log ends below a high watermark that the leader reached while the replica was in sync."""
    in_sync: list[tuple[set[int], Ints]] = [
        (in_isr_throughout(copies.states, begin, end), which)
        for begin, end, which in _by_era(copies.states, reached.begun_ns, reached.known_ns + QUIET_NS)
    ]
    for end in ends:
        owed = [which for brokers, which in in_sync if number_of(end.node) in brokers]
        rows = np.concatenate([np.zeros(0, np.int64), *owed])
        rows = rows[(reached.known_ns[rows] <= end.at_ns) & (reached.offset[rows] >= end.kept)]
        rows = rows[reached.begun_ns[rows] >= end.since_ns]
        if len(rows):
            furthest = int(rows[np.argmax(reached.offset[rows])])
            values = view.sends.value[reached.row[[furthest, *rows[:20].tolist()]]]
            yield _truncated(end, int(reached.offset[furthest]) + 1) | {
                "records": [record_in(view, value) for value in values.tolist()],
                "announced_by": LEADER,
                "announced": {"what": reached.what, "known_ns": int(reached.known_ns[furthest])}
                | sender(view, int(reached.row[furthest])),
                "cut_off": [identity_of(int(view.sends.value[reached.row[row]])) for row in rows[:20]],
                "cut_off_count": len(rows),
            }


@anomaly(
    "log-truncated-below-high-watermark",
    source="KIP-101, KAFKA-1211",
    basis=Basis.KIP,
    reads=(COPIES, HISTORY),
    screened=KEPT_ROWS,
    permitted="before inter-broker protocol 0.11, or while leaders have written no message format of 0.11, below the "
    "leader's high watermark and not below its own",
    permits=excuses.truncated_by_protocol,
    follows_from="lost-write",
    follows=excuses.lost_record_was_cut_off,
)
def log_truncated_below_high_watermark(copies: Copies, view: PartitionView) -> Rows:
    """A replica's log ended below a high watermark that it or its leader had announced.

    Replicas whose log ended below a high watermark that they, or their leader while they were in sync, had reached;
    each end once for each witness.
    """
    ends = log_ends(view.topic, view.partition, copies)
    rows: list[Evidence] = list(_below_own(ends, copies))
    for reached in (_acknowledged(view), _read(view)):
        rows += _below_leaders(view, ends, copies, reached)
    rows.sort(key=lambda row: row["at_ns"])
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


@anomaly(
    "read-above-high-watermark",
    source=GUARANTEES,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY, COPIES),
    screened=KEPT_ROWS,
)
def read_above_high_watermark(view: PartitionView, copies: Copies) -> Rows:
    """A record was read before every in-sync replica had it.

    Records read before the copying, and missing from a copy whose broker was in the ISR throughout.
    """
    read, rows = _read(view), Rows()
    assert read.poll is not None, "what was read was read by a poll"
    for copy in copies.copies:
        if not copy.replica.segments or copy.damaged:
            continue
        until_ns = copy.at_ns + QUIET_NS
        since_ns = copies.run_state.undisturbed_since(copy.node, until_ns)
        due = np.flatnonzero(
            (read.known_ns <= copy.begun_ns) & (read.begun_ns >= since_ns) & (read.offset >= copy.replica.leo)
        )
        for begin, _, which in _by_era(copies.states, read.begun_ns[due], np.full(len(due), until_ns)):
            leader = one_leader(copies.states, begin, until_ns)
            if leader is None or copy.broker not in in_isr_throughout(copies.states, begin, until_ns):
                continue
            for one in due[which].tolist():
                rows.total += 1
                if len(rows) < EVIDENCE_LIMIT:
                    rows.append(
                        reader(view, int(read.poll[one]))
                        | copy.place()
                        | {
                            "log_end": copy.replica.leo,
                            "sent": sender(view, int(read.row[one])),
                            "leader": leader.leader,
                            "leader_epoch": leader.leader_epoch,
                            "isr": list(leader.isr),
                        }
                    )
    return rows


def _stated(copy: Copy, leader: Partition) -> dict[str, Any]:
    return copy.place() | {"high_watermark": copy.high_watermark, "leader_epoch": leader.leader_epoch}


def _lost_power(copies: Copies, node: str, before: Copy, after: Copy) -> bool:
    """Whether the node lost power between two copies: its disk has an older checkpoint then, no leader went back."""
    return any(
        fault.node == node
        for fault, _ in copies.run_state.proved(PowerLossProof)
        if before.begun_ns < fault.inject_ns < after.at_ns
    )


def _checkpoints_back(copies: Copies) -> Iterator[Evidence]:
    for node in dict.fromkeys(copy.node for copy in copies.copies):
        own = [copy for copy in copies.copies if copy.node == node and copy.high_watermark is not None]
        for before, after in pairwise(own):
            leader = one_leader(copies.states, before.begun_ns - QUIET_NS, after.at_ns + QUIET_NS)
            if leader is None or leader.leader != before.broker or _lost_power(copies, node, before, after):
                continue
            if (after.high_watermark or 0) < (before.high_watermark or 0):
                yield {
                    "what": "a leader's checkpoint went back",
                    "before": _stated(before, leader),
                    "after": _stated(after, leader),
                }


def answering(copies: Copies, answer: EndAnswer) -> Partition | None:
    """The leader that gave an answer; None if it may have been another broker."""
    leader = one_leader(copies.states, answer.asked_ns - QUIET_NS, answer.answered_ns + QUIET_NS)
    if leader is None:
        return None
    epoch = leader.leader_epoch
    led_since = min(state.monotonic_ns for state in copies.states if state.leader_epoch == epoch)
    for state in copies.states:
        other = leader_of(state)
        if other in (None, leader.leader) or state.monotonic_ns > answer.asked_ns:
            continue
        node = f"broker-{other}"
        dead = copies.run_state.condition_at(node, answer.asked_ns) == DOWN
        if not dead and copies.run_state.undisturbed_since(node, answer.asked_ns) < led_since:
            return None
    return leader


def _told(answer: EndAnswer, leader: Partition) -> dict[str, Any]:
    return {
        "high_watermark": answer.offset,
        "process": answer.process,
        "asked_ns": answer.asked_ns,
        "answered_ns": answer.answered_ns,
        "leader": leader.leader,
        "leader_epoch": leader.leader_epoch,
    }


def _answers_back(view: PartitionView, copies: Copies) -> Iterator[Evidence]:
    transactions = bool(np.any(view.sends.transaction >= 0))
    told = [
        (answer, leader)
        for answer in view.ends
        if not transactions or answer.uncommitted
        for leader in [answering(copies, answer)]
        if leader is not None
    ]
    polls, below_read = view.polls, set[int]()
    given = np.flatnonzero(polls.good & (polls.offset >= 0) & (polls.completed_ns >= 0))
    for answer, leader in told:
        earlier = [
            one for one in told if one[0].answered_ns <= answer.asked_ns and one[1].leader_epoch == leader.leader_epoch
        ]
        before = max(earlier, key=lambda one: one[0].offset, default=None)
        if before is not None and answer.offset < before[0].offset:
            yield {
                "what": "a leader's answer went back",
                "before": _told(*before),
                "after": _told(answer, leader),
            }
        passed = given[(polls.completed_ns[given] <= answer.asked_ns) & (polls.offset[given] >= answer.offset)]
        if len(passed) and leader.leader_epoch not in below_read:
            below_read.add(leader.leader_epoch)
            furthest = int(passed[np.argmax(polls.offset[passed])])
            yield {
                "what": "a leader's high watermark is below what a reader had been given",
                "records": [record_in(view, int(polls.value[furthest]))],
                "before": reader(view, furthest),
                "after": _told(answer, leader),
                "read_count": len(passed),
            }


@anomaly(
    "high-watermark-regression",
    source=f"{GUARANTEES}; KIP-101",
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY, COPIES),
    screened=KEPT_ROWS,
)
def high_watermark_regression(view: PartitionView, copies: Copies) -> Rows:
    """The high watermark of a leader went down within one leader epoch, or below what was read. Not in a checkpoint
    that a power loss took back.
    """
    rows = [*_checkpoints_back(copies), *_answers_back(view, copies)]
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))
