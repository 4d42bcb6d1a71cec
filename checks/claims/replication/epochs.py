"""Claims about where a leader says that an epoch ends (KIP-101), by its own lines at TRACE.

A follower asks for the end of the last epoch that its log has: up to 2.6 by a request of its own, from protocol 2.7 on
with each fetch (KIP-595). The leader looks it up in its epochs either way, and that is what it logs
(LeaderEpochFileCache.endOffsetFor, 0.11.0.3 to 4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from evidence.basis import Basis
from evidence.events import Log, of
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.replication import topics_of
from evidence.text import plural

SLACK_NS: Final = 5_000_000
"""A line's stamp is cut to milliseconds."""
NOBODY_ASKED: Final = "no leader told at TRACE where an epoch ends"


@claim("own-epoch-ends-at-log-end", source="KIP-101: OffsetsForLeaderEpoch", basis=Basis.KIP)
def own_epoch_ends_at_log_end(evidence: RunEvidence) -> Judged:
    """Asked where the last epoch of its log ends, a leader answers with its log end.

    That is its own epoch, or an older one if it has written nothing since: a controller raises the epoch of a leader
    that loses a follower, too. The log end is that of the records that were acknowledged by then. Where another was on
    its way, or nobody knows what came of one, the answer says nothing.
    """
    rows = list[dict[str, Any]]()
    producers = {process.name for process in evidence.run.of_kind("producer")}
    scripted = producers <= {one.process for one in evidence.run_state.sends}
    for row in _answers(evidence) if scripted else ():
        ends = _log_end(evidence, (row["topic"], row["partition"]), row["at_ns"])
        if ends is not None and _is_last(evidence, row, ends):
            rows.append(row | {"log_end": ends})
    wrong = [row for row in rows if row["answer"] != row["log_end"]]
    return judged(rows, wrong, plural(len(rows), "answer") + " with the leader's log end", NOBODY_ASKED)


@claim("older-epoch-ends-where-next-begins", source="KIP-101: OffsetsForLeaderEpoch", basis=Basis.KIP)
def older_epoch_ends_where_next_begins(evidence: RunEvidence) -> Judged:
    """Asked where an older epoch ends, a leader answers with the first offset of the next epoch that it knows.

    The next epoch is that of the first batch of a later one, in the last copy of the leader's log.
    """
    rows = list[dict[str, Any]]()
    for row in _answers(evidence):
        later = _later(evidence, row)
        if row["asked"] < row["leader_epoch"] and later:
            rows.append(row | {"next_begins": min(later)})
    wrong = [row for row in rows if row["answer"] != row["next_begins"]]
    return judged(rows, wrong, plural(len(rows), "answer") + " with the start of the next epoch", NOBODY_ASKED)


def _answers(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """What leaders answered; nothing for an epoch of which the leader knows nothing (-1)."""
    topics = set(topics_of(evidence.run))
    for one in of(evidence.run_state.events, Log):
        if one.event != "epoch-answer" or one.topic not in topics or one.partition is None:
            continue
        state = evidence.run_state.state_at(one.topic, one.partition, one.at_ns)
        if state is not None and one.node == broker(state.leader) and (one.offset or 0) >= 0:
            yield {
                "topic": one.topic,
                "partition": one.partition,
                "node": one.node,
                "at_ns": one.at_ns,
                "asked": one.leader_epoch,
                "leader_epoch": state.leader_epoch,
                "answer": one.offset,
            }


def _later(evidence: RunEvidence, row: dict[str, Any]) -> list[int] | None:
    """Where batches of later epochs than the one that was asked for begin, in the last copy of the leader's log; None
    if there is no copy.
    """
    stored = evidence.stored(row["topic"], row["partition"]).get(row["node"])
    if stored is None:
        return None
    headers = (batch.header for batch in stored.batches)
    return [one.base_offset for one in headers if one.leader_epoch > row["asked"] and one.base_offset is not None]


def _is_last(evidence: RunEvidence, row: dict[str, Any], log_end: int) -> bool:
    """Whether the leader's log had nothing of a later epoch when it ended there."""
    later = _later(evidence, row)
    if later is None:
        return bool(row["asked"] == row["leader_epoch"])
    return row["asked"] <= row["leader_epoch"] and all(offset >= log_end for offset in later)


def _log_end(evidence: RunEvidence, where: TopicPartition, at_ns: int) -> int | None:
    """Where a partition's log ended; None while a record is on its way, or if nobody knows what came of one."""
    begun = [one for one in evidence.run_state.sends if (one.topic, one.partition) == where]
    begun = [one for one in begun if one.sent_ns <= at_ns + SLACK_NS]
    done = [
        one.offset + 1
        for one in begun
        if one.outcome == "acked" and one.offset is not None and (one.done_ns or at_ns) < at_ns - SLACK_NS
    ]
    return max(done, default=0) if len(done) == len(begun) else None
