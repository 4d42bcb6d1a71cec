"""Claims about a broker whose wall clock is wrong: what it deletes, what it refuses, and whom it keeps in the ISR."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import faults, judged, row_of
from checks.claims.replication.isr import check_period_ms, lag_time_ms
from evidence.basis import Basis
from evidence.events import Log, of
from evidence.faults.clock import ClockStepProof
from evidence.faults.network import CutProof
from evidence.nodes import broker, number_of
from evidence.run_state import DOWN, FaultFact, RunState, in_isr_throughout, isr_at
from evidence.text import plural

RETENTION_MS: Final = re.compile(r"retention time (\d+) ?ms")
NEWEST_MS: Final = re.compile(r"largestRecordTimestamp=(?:\w+[(\[])?(\d+)")
"""The time stamp of the newest record of a segment, as the line that deletes it has it."""
REFUSED: Final = "INVALID_TIMESTAMP"
TIMES: Final = 2
"""A lagging replica that is left in the ISR for so many times what it may lag has been left there for good."""


def _steps(run_state: RunState) -> Iterator[tuple[FaultFact, int, int, int]]:
    """Each clock that was wrong, by how many seconds, and from when to when: seen to be, about to be set right."""
    for fault, proof in run_state.proved(ClockStepProof):
        if fault.proved_ns is not None:
            yield fault, proof.seconds, fault.proved_ns, fault.heal_ns or run_state.end_ns


def _deletions(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Each time that a broker deleted segments for their age: whether its clock was ahead, and how old the newest
    record was by the right time, where the line says it.
    """
    run_state = evidence.run_state
    for line in of(run_state.events, Log):
        kept = RETENTION_MS.search(line.line) if line.event == "retention" else None
        if kept is None:
            continue
        ahead = any(
            fault.node == line.node and seconds > 0 and fault.inject_ns <= line.at_ns <= fault.until_ns
            for fault, seconds, _, _ in _steps(run_state)
        )
        newest = NEWEST_MS.search(line.line)
        yield {
            "node": line.node,
            "topic": line.topic,
            "partition": line.partition,
            "at_ns": line.at_ns,
            "clock_ahead": ahead,
            "age_ms": None if newest is None else line.wall_ns // 1_000_000 - int(newest[1]),
            "retention_ms": int(kept[1]),
        }


@claim(
    "wrong-clock-deletes-young-records",
    source="Kafka documentation, topic configuration: retention.ms; KIP-32, KIP-33",
    basis=Basis.DOCUMENTATION,
)
def wrong_clock_deletes_young_records(evidence: RunEvidence) -> Judged:
    """A broker whose clock is ahead by more than the retention time deletes records that are younger than that; no
    broker with the right time deletes any for their age.
    """
    rows = list(_deletions(evidence))
    wrong = [
        row
        for row in rows
        if not row["clock_ahead"] or (row["age_ms"] is not None and row["age_ms"] >= row["retention_ms"])
    ]
    ages = [row["age_ms"] for row in rows if row["age_ms"] is not None]
    oldest = f", the newest record up to {max(ages) / 1000:.0f} s old" if ages else ""
    seen = f"{plural(len(rows), 'deletion')} by {', '.join(sorted({row['node'] for row in rows}))}{oldest}"
    return judged(rows, wrong, seen, "no broker deleted a segment for its age")


def _sent_behind(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """What was sent to a leader while its clock was behind, and what came of it."""
    run_state = evidence.run_state
    for fault, seconds, begin_ns, end_ns in _steps(run_state):
        for one in run_state.sends if seconds < 0 else ():
            state = run_state.state_at(one.topic, one.partition, one.sent_ns)
            done = one.done_ns is not None and one.done_ns <= end_ns
            if begin_ns <= one.sent_ns and done and state is not None and broker(state.leader) == fault.node:
                yield row_of(fault, (one.topic, one.partition)) | {"outcome": one.outcome, "error": one.error}


@claim(
    "clock-behind-refuses-records",
    source="KIP-937; KIP-1030: message.timestamp.after.max.ms is an hour from 4.0 on",
    basis=Basis.KIP,
)
def clock_behind_refuses_records(evidence: RunEvidence) -> Judged:
    """A leader whose clock is behind by more than message.timestamp.after.max.ms refuses records that were made now
    (INVALID_TIMESTAMP).
    """
    rows = list(_sent_behind(evidence))
    wrong = [row for row in rows if (row["outcome"], row["error"]) != ("failed", REFUSED)]
    return judged(
        rows, wrong, f"{plural(len(rows), 'record')} refused ({REFUSED})", "nothing was sent to such a leader"
    )


@claim(
    "clock-behind-takes-records",
    source="KIP-937: message.timestamp.after.max.ms has no bound by default before 4.0",
    basis=Basis.KIP,
)
def clock_behind_takes_records(evidence: RunEvidence) -> Judged:
    """A leader whose clock is behind accepts records that were made now, although its clock puts them in the future."""
    rows = list(_sent_behind(evidence))
    wrong = [row for row in rows if row["outcome"] != "acked"]
    return judged(rows, wrong, f"{plural(len(rows), 'record')} acknowledged", "nothing was sent to such a leader")


def _unfetched(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Each replica that was cut from its leader while that one's clock was behind, for longer than it may lag: whether
    it stayed in the ISR until the clock was set right, and was out of it before the links were healed.
    """
    run_state = evidence.run_state
    least_ns = TIMES * int((lag_time_ms(evidence.run) + check_period_ms(evidence.run)) * 1e6)
    for step, seconds, begin_ns, end_ns in _steps(run_state):
        for cut in faults(run_state, CutProof):
            if seconds > 0 or cut.proved_ns is None or not begin_ns < cut.inject_ns < end_ns:
                continue
            for where, states in run_state.states.items():
                then = run_state.state_at(*where, cut.inject_ns)
                if then is None or broker(then.leader) != step.node or end_ns - cut.proved_ns < least_ns:
                    continue
                for node in (broker(b) for b in then.isr if b != then.leader and cut.between(step.node, broker(b))):
                    healed_ns = cut.heal_ns or run_state.end_ns
                    yield row_of(step, where) | {
                        "replica": node,
                        "behind_s": round((end_ns - cut.proved_ns) / 1e9, 1),
                        "stayed": number_of(node) in in_isr_throughout(states, cut.inject_ns, end_ns),
                        "left": number_of(node) not in in_isr_throughout(states, end_ns, healed_ns),
                    }


@claim(
    "lag-not-seen-while-clock-behind",
    source="Replica.updateFetchState (2.4.1 to 3.6.2), updateFetchStateOrThrow (3.7.0 to 4.3.1): the latest time at "
    "which it was caught up is kept",
    basis=Basis.SOURCE,
)
def lag_not_seen_while_clock_behind(evidence: RunEvidence) -> Judged:
    """A leader whose clock was set back keeps a replica that fetches nothing in the ISR, until its clock has reached
    the time of the last fetch. Then it removes the replica.
    """
    rows = list(_unfetched(evidence))
    wrong = [row for row in rows if not row["stayed"] or not row["left"]]
    lag_s = lag_time_ms(evidence.run) / 1000
    told = "; ".join(f"{row['replica']} for {row['behind_s']:g} s" for row in rows)
    return judged(
        rows,
        wrong,
        f"in the ISR without fetching: {told} (replica.lag.time.max.ms is {lag_s:g} s), and out of it afterwards",
        "no replica was cut for long from a leader whose clock was behind",
    )


def _after_ahead(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Each follower whose clock was ahead and set right, until its process ended: whether it stayed in the ISR, and
    whether it was ever in it once a replica that fetches nothing has to be out.
    """
    run_state = evidence.run_state
    must_ns = TIMES * int((lag_time_ms(evidence.run) + check_period_ms(evidence.run)) * 1e6)
    for step, seconds, _, _ in _steps(run_state):
        number, right_ns = number_of(step.node), step.until_ns
        out_ns, until_ns = right_ns + must_ns, _end_after(run_state, step.node, right_ns)
        for where, states in run_state.states.items():
            then = run_state.state_at(*where, step.inject_ns)
            if seconds < 0 or then is None or number not in then.isr or number == then.leader or until_ns < out_ns:
                continue
            later = [isr_at(states, out_ns) or (), *(one.isr for one in states if out_ns < one.at_ns < until_ns)]
            yield row_of(step, where) | {
                "watched_s": round((until_ns - right_ns) / 1e9, 1),
                "stayed": number in in_isr_throughout(states, right_ns, until_ns),
                "was_in": any(number in isr for isr in later),
            }


def _end_after(run_state: RunState, node: str, at_ns: int) -> int:
    """When a node's process ended after a time; the end of the run if it did not."""
    ends = (one.begin_ns for one in run_state.processes.get(node, ()) if one.value == DOWN)
    return next((end_ns for end_ns in ends if end_ns > at_ns), run_state.end_ns)


def _of_followers_ahead(evidence: RunEvidence, wrong: Callable[[dict[str, Any]], bool], where: str) -> Judged:
    rows = list(_after_ahead(evidence))
    told = "; ".join(f"{row['node']} for {row['watched_s']:g} s" for row in rows)
    wrongs = [row for row in rows if wrong(row)]
    return judged(rows, wrongs, f"{where} the ISR with the right time: {told}", "no follower's clock was ahead")


@claim(
    "follower-waits-for-its-old-time",
    source="DelayedItem.dueMs, later PartitionFetchState.dueMs (2.0.1 to 4.4.0): Time.SYSTEM.milliseconds, the "
    "wall clock; apache/kafka pull request 8517 (closed) would have made it monotonic",
    basis=Basis.SOURCE,
)
def follower_waits_for_its_old_time(evidence: RunEvidence) -> Judged:
    """A follower whose clock was ahead fetches nothing after the clock was set right: it leaves the ISR and does not
    return.
    """
    return _of_followers_ahead(evidence, lambda row: bool(row["was_in"]), "out of")


@claim(
    "follower-fetches-by-the-right-time",
    source="KAFKA-9039: a follower waits after a failed fetch alone",
    basis=Basis.JIRA,
)
def follower_fetches_by_the_right_time(evidence: RunEvidence) -> Judged:
    """A follower whose clock was ahead, and no fetch of which failed, stays in the ISR when its clock is set right."""
    return _of_followers_ahead(evidence, lambda row: not row["stayed"], "in")
