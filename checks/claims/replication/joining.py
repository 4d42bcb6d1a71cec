"""Claims about a follower that comes back while records are written: when it joins the ISR, and who waits for it.

They go by what the leader logs at TRACE. It hears of a follower's log end with each fetch of that follower. A follower
is caught up if a fetch of its own begins where the leader's log ended at the fetch before, or beyond
(Replica.updateLogReadResult, 0.10.2.2). While records are written it may be so and still be below the high watermark:
then it is no member of the ISR yet.

Lines of one request are a few milliseconds apart, in an order that differs between releases. What lies nearer to a
fetch than `REQUEST_NS` is taken for a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from checks.claim import NOT_OBSERVED, Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, judged
from checks.claims.replication.isr import lag_time_ms
from checks.claims.replication.watermarks import NO_TRACE
from evidence.basis import Basis
from evidence.events import Log, OffsetKind, ReplicaOffset, of
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.replication import Trace, topics_of, trace_of, traced_partitions
from evidence.text import plural

REQUEST_NS: Final = 20_000_000
LONG_NS: Final = 5 * REQUEST_NS
"""Between two fetches, for the high watermark to show that it stands or moves."""
NO_JOIN: Final = "no follower joined an ISR below its leader's log end"
NOBODY_WAITED: Final = "no follower was caught up, below the high watermark, for long enough between two fetches"


def _last(said: Sequence[ReplicaOffset], node: str, what: OffsetKind, until_ns: int, replica: int | None = None) -> int:
    """The last offset of a kind that a node told of up to a time; -1 if it told of none."""
    found = (
        one.offset
        for one in reversed(said)
        if (one.node, one.what, one.replica) == (node, what, replica) and one.at_ns <= until_ns
    )
    return next(found, -1)


@claim(
    "follower-joins-at-high-watermark",
    source="Partition.updateLeaderHWAndMaybeExpandIsr (0.8.2.2), maybeExpandIsr (0.9.0.1 to 3.9.0); KAFKA-7128 (2.0.1)",
    basis=Basis.SOURCE,
)
def follower_joins_at_high_watermark(evidence: RunEvidence) -> Judged:
    """A follower joins the ISR no sooner than its log end has reached the leader's high watermark. It need not have
    reached the leader's log end.

    By the leader's own lines at each join. A join at the leader's log end shows nothing of the difference. From 2.0.1
    on the log end must also have reached the start of the leader's epoch, which no line tells.
    """
    rows = [
        row
        for where in traced_partitions(evidence.run_state, topics_of(evidence.run))
        for row in _joins(evidence, where)
    ]
    wrong = [row for row in rows if row["log_end"] < row["high_watermark"]]
    if not wrong and not any(row["log_end"] < row["leader_log_end"] for row in rows):
        return Judged(outcome=NOT_OBSERVED, observed=NO_JOIN if rows else NO_TRACE, evidence=rows)
    return judged(rows, wrong, plural(len(rows), "follower") + " joined at the high watermark or beyond", NO_TRACE)


def _joins(evidence: RunEvidence, where: TopicPartition) -> Iterator[dict[str, Any]]:
    """Each follower that a leader took into the ISR, with the log ends and the high watermark of that moment."""
    said, isr = trace_of(evidence.run_state, where).said, frozenset[int]()
    changes = (one for one in of(evidence.run_state.events, Log) if one.event in ("shrink-isr", "expand-isr"))
    for one in changes:
        if (one.topic, one.partition) != where or one.isr is None:
            continue
        joined = sorted(frozenset(one.isr) - isr) if isr and one.event == "expand-isr" else []
        isr = frozenset(one.isr)
        for follower in joined:
            row: dict[str, Any] = {
                "topic": where[0],
                "partition": where[1],
                "node": broker(follower),
                "leader": one.node,
                "at_ns": one.at_ns,
                "log_end": _last(said, one.node, "remote-log-end", one.at_ns + REQUEST_NS, follower),
                "high_watermark": _last(said, one.node, "high-watermark", one.at_ns - 1),
                "leader_log_end": _last(said, one.node, "log-end", one.at_ns),
            }
            if min(row["log_end"], row["high_watermark"], row["leader_log_end"]) >= 0:
                yield row


def _waits(evidence: RunEvidence) -> list[dict[str, Any]]:
    """Each time between two fetches of a follower that is caught up and below the high watermark, while every member of
    the ISR has more than that.
    """
    return [
        row
        for where in traced_partitions(evidence.run_state, topics_of(evidence.run))
        for row in _waits_of(evidence, where, trace_of(evidence.run_state, where))
    ]


def _waits_of(evidence: RunEvidence, where: TopicPartition, trace: Trace) -> Iterator[dict[str, Any]]:
    heard: dict[tuple[str, int], list[ReplicaOffset]] = {}
    for one in trace.of("remote-log-end"):
        if one.replica is not None:
            of_it = heard.setdefault((one.node, one.replica), [])
            # Up to 1.1 two lines tell of one fetch.
            if not of_it or one.offset != of_it[-1].offset or one.at_ns - of_it[-1].at_ns >= LONG_NS:
                of_it.append(one)
    lag_ns = lag_time_ms(evidence.run) * 1_000_000
    for (leader, follower), fetches in heard.items():
        for before, now, after in zip(fetches, fetches[1:], fetches[2:], strict=False):
            if after.at_ns - now.at_ns < LONG_NS or after.at_ns - before.at_ns > lag_ns:
                continue
            if now.offset < _last(trace.said, leader, "log-end", before.at_ns - REQUEST_NS):
                continue
            begun_ns, ended_ns = now.at_ns + REQUEST_NS, after.at_ns - REQUEST_NS
            row: dict[str, Any] = {
                "topic": where[0],
                "partition": where[1],
                "node": broker(follower),
                "leader": leader,
                "at_ns": now.at_ns,
                "lasted_ms": elapsed_ms(now.at_ns, after.at_ns),
                "log_end": now.offset,
                "log_end_then": after.offset,
                "high_watermark": _last(trace.said, leader, "high-watermark", begun_ns),
                "high_watermark_then": _last(trace.said, leader, "high-watermark", ended_ns),
                "isr_has": _least_of_isr(evidence, where, trace, (leader, follower), ended_ns),
            }
            if now.offset < row["high_watermark"] < row["isr_has"]:
                yield row


def _least_of_isr(
    evidence: RunEvidence, where: TopicPartition, trace: Trace, of_whom: tuple[str, int], at_ns: int
) -> int:
    """How far the logs of all members of the ISR go, as their leader knows it; -1 if the follower is one of them."""
    leader, follower = of_whom
    state = evidence.run_state.state_at(*where, at_ns)
    if state is None or broker(state.leader) != leader or follower in state.isr:
        return -1
    others = (one for one in state.isr if one != state.leader)
    ends: Mapping[int, int] = {one: _last(trace.said, leader, "remote-log-end", at_ns, one) for one in others}
    return min([_last(trace.said, leader, "log-end", at_ns), *ends.values()])


@claim("high-watermark-waits-for-caught-up", source="KAFKA-4485", basis=Basis.JIRA)
def high_watermark_waits_for_caught_up(evidence: RunEvidence) -> Judged:
    """From 0.10.2 on the leader's high watermark waits for a replica that has caught up and is not in the ISR yet.

    From one fetch of such a replica to the next it rose no further than to where that fetch began, though every member
    of the ISR had more. The fetch itself lets it rise so far, and on a busy machine its lines are further apart than
    those of a request ought to be.
    """
    rows = _waits(evidence)
    wrong = [row for row in rows if row["high_watermark_then"] > max(row["high_watermark"], row["log_end_then"])]
    return judged(rows, wrong, f"the high watermark waited {plural(len(rows), 'time')}", NOBODY_WAITED)


@claim(
    "high-watermark-leaves-caught-up-behind",
    source="Partition.maybeIncrementLeaderHW (0.8.2.2 to 0.10.1.1); KAFKA-4485",
    basis=Basis.SOURCE,
)
def high_watermark_leaves_caught_up_behind(evidence: RunEvidence) -> Judged:
    """Before 0.10.2 the leader's high watermark goes by the ISR alone, and rises while a replica is about to join.

    It rose between two fetches of a replica that had caught up and was not in the ISR.
    """
    rows = _waits(evidence)
    wrong = [row for row in rows if row["high_watermark_then"] <= row["high_watermark"]]
    return judged(rows, wrong, f"the high watermark rose {plural(len(rows), 'time')}", NOBODY_WAITED)
