"""Claims about unavailability: for how long a partition takes no writes, as its producers saw it.

What a pause is, and other figures of it, are in evidence/availability.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import (
    CLIENT_BOUND,
    CLIENT_MS,
    ELECTION_MS,
    SESSION_BOUND,
    judged,
    session_bound_ms,
    session_ms,
    timed,
)
from evidence.basis import Basis
from evidence.events import NO_LEADER, Log, of
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.run_state import DOWN
from evidence.text import plural


@dataclass(frozen=True, slots=True)
class WritePause:
    """How long a partition took no writes, up to some time."""

    at_ns: int
    """When it began: a row of it says so, because a machine that stood still explains it only from then on."""
    ms: float
    over: bool
    """Whether an acknowledgement had ended it by then; if none had, it lasted longer than this."""


def longest_pause(
    evidence: RunEvidence, where: TopicPartition, begin_ns: int, end_ns: int, to_ns: int | None = None
) -> WritePause | None:
    """The longest pause of writes that lasted at some time between two, from its beginning up to `to_ns` (the second of
    them, unless told otherwise); None if nobody wrote then.

    Writes that never continue pause until the last record has failed that waited for it.
    """
    return longest_of(evidence.acknowledged(*where), evidence.failed(*where), begin_ns, end_ns, to_ns or end_ns)


def longest_of(
    acknowledged: Sequence[tuple[int, int]],
    failed: Sequence[tuple[int, int]],
    begin_ns: int,
    end_ns: int,
    to_ns: int,
) -> WritePause | None:
    """The same, of records as (sent, acknowledged), and of those that failed as (sent, failed), each in order of the
    latter.

    >>> longest_of([(0, 1_000_000), (2_000_000, 9_000_000), (8_000_000, 10_000_000)], [], 0, 20_000_000, 20_000_000)
    WritePause(at_ns=2000000, ms=7.0, over=True)
    >>> longest_of([(0, 1_000_000), (2_000_000, 9_000_000), (8_000_000, 10_000_000)], [], 0, 6_000_000, 6_000_000)
    WritePause(at_ns=2000000, ms=4.0, over=False)
    >>> longest_of([(0, 1_000_000)], [(2_000_000, 9_000_000)], 0, 20_000_000, 20_000_000)
    WritePause(at_ns=2000000, ms=7.0, over=False)
    """
    import numpy as np  # the catalogue of claims is read where nothing is judged

    from evidence.availability import pauses

    if not acknowledged:
        return None
    sent_ns, done_ns = np.array(acknowledged, np.int64).T
    failed_sent_ns, failed_ns = np.array([*failed], np.int64).reshape(-1, 2).T
    # Nothing follows the last acknowledgement but what fails.
    last_ns = int(np.append(done_ns, failed_ns).max())
    begins, ends = pauses(np.append(sent_ns, last_ns), np.append(done_ns, last_ns), failed_sent_ns, failed_ns)
    acked = np.arange(len(ends)) < len(done_ns) - 1
    lasted = (begins < np.minimum(ends, end_ns)) & (ends > begin_ns)
    if not lasted.any():
        return None
    lengths = np.where(lasted, np.minimum(ends, to_ns) - begins, 0)
    longest = int(np.argmax(lengths))
    over = bool(acked[longest] and ends[longest] <= to_ns)
    return WritePause(at_ns=int(begins[longest]), ms=round(int(lengths[longest]) / 1e6, 1), over=over)


def _led(evidence: RunEvidence, kind: str) -> Iterator[dict[str, Any]]:
    """Each partition whose leader was stopped or killed: when, by when it was down, and when another led."""
    for fault in evidence.run_state.faults:
        for (topic, partition), states in evidence.run_state.states.items() if fault.kind == kind else ():
            then = evidence.run_state.state_at(topic, partition, fault.inject_ns)
            if then is None or broker(then.leader) != fault.node:
                continue
            ends = [one.begin_ns for one in evidence.run_state.processes.get(fault.node, ()) if one.value == DOWN]
            others = [one.at_ns for one in states if one.leader not in (NO_LEADER, then.leader)]
            yield {
                "topic": topic,
                "partition": partition,
                "node": fault.node,
                "at_ns": fault.inject_ns,
                "until_ns": min(fault.until_ns, evidence.run_state.end_ns),
                "down_ns": next((one for one in ends if one > fault.inject_ns), None),
                "moved_ns": next((one for one in others if one > fault.inject_ns), None),
            }


def _elected_offline(evidence: RunEvidence, row: Mapping[str, Any]) -> bool:
    """Whether a controller logged, while the broker shut down, that it elected a leader because there was none."""
    return any(
        one.event == "election"
        and one.detail == "offline"
        and (one.topic, one.partition) == (row["topic"], row["partition"])
        and row["at_ns"] < one.at_ns <= row["down_ns"]
        for one in of(evidence.run_state.events, Log)
    )


@claim(
    "leader-moved-before-shutdown",
    source="Kafka documentation, Graceful shutdown; broker configuration: controlled.shutdown.enable",
    basis=Basis.DOCUMENTATION,
)
def leader_moved_before_shutdown(evidence: RunEvidence) -> Judged:
    """A broker that is stopped cleanly hands its leaderships over before it ends.

    SIGTERM asks it to. A broker that had to be killed in the end had its time for that too. Its duty is over before the
    end of its process, so the kind of that end does not matter. A leadership that the controller gives away because the
    partition has lost its leader is not handed over: a broker leaves ZooKeeper before its process ends.
    """
    rows = [
        row | {"over_ns": row["down_ns"] - 1, "elected_offline": _elected_offline(evidence, row)}
        for row in _led(evidence, "stop")
        if row["down_ns"] is not None
    ]
    wrong = [
        row for row in rows if row["elected_offline"] or row["moved_ns"] is None or row["moved_ns"] > row["down_ns"]
    ]
    return judged(rows, wrong, plural(len(rows), "leadership") + " handed over", "no leader was stopped cleanly")


@claim(
    "writes-pause-briefly",
    source="Kafka documentation, Graceful shutdown",
    basis=Basis.DOCUMENTATION,
    bound="the broker's configured session, for which writes pause when a leader dies. The documentation names a few "
    "milliseconds for the move, and no time for clients that have to learn of it",
    bound_source="nothing is documented of clients, and what was seen is more than the few milliseconds of the move",
    bound_basis=Basis.MEASURED,
)
def writes_pause_briefly(evidence: RunEvidence) -> Judged:
    """While a leader is stopped cleanly writes pause only until producers have found the next one, not for a
    session.

    A pause that begins before the broker is back lasts until the next acknowledgement. One that the next fault may have
    made longer counts only if it was too long by then.
    """
    return _pauses(evidence, "stop", lambda node: session_ms(evidence.run, node))


@claim(
    "writes-pause-for-the-session",
    source="Kafka documentation, Design: replication; broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms",
    basis=Basis.DOCUMENTATION,
    bound=f"{SESSION_BOUND}, {ELECTION_MS} ms for the election, and {CLIENT_BOUND}",
    bound_source="Kafka documentation, broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms; of elections and clients nothing is documented, and the rest "
    "is more than was seen",
    bound_basis=Basis.MEASURED,
)
def writes_pause_for_the_session(evidence: RunEvidence) -> Judged:
    """When a leader is killed writes pause until its session has ended and producers have found the next one.

    A pause that begins before the broker is back lasts until the next acknowledgement. One that the next fault may have
    made longer counts only if it was too long by then.
    """

    def bound_ms(node: str) -> float | None:
        limit_ms = session_ms(evidence.run, node)
        return None if limit_ms is None else session_bound_ms(limit_ms) + ELECTION_MS + CLIENT_MS

    return _pauses(evidence, "kill", bound_ms)


def _pauses(evidence: RunEvidence, kind: str, bound_of: Callable[[str], float | None]) -> Judged:
    rows = []
    for led in _led(evidence, kind):
        strikes = [fault.inject_ns for fault in evidence.run_state.faults if not fault.starts]
        to_ns = min([one for one in strikes if one > led["at_ns"]], default=evidence.run_state.end_ns)
        where, until_ns = (led["topic"], led["partition"]), min(led["until_ns"], to_ns)
        pause, bound_ms = longest_pause(evidence, where, led["at_ns"], until_ns, to_ns), bound_of(led["node"])
        if pause is not None and bound_ms is not None and (pause.over or pause.ms > bound_ms):
            rows.append(led | {"at_ns": pause.at_ns, "took_ms": pause.ms, "bound_ms": bound_ms})
    return timed(
        rows,
        lambda row: f"{row['topic']}-{row['partition']} took no writes for {row['took_ms'] / 1000:.2f} s",
        "nobody wrote while a leader went",
    )
