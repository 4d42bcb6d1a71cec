"""Claims about the ISR: when a follower leaves it, when it is back, and how ZooKeeper is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from checks.claim import CONTRADICTED, Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, faults, judged, release_of, setting_ms, timed
from evidence import borders
from evidence.basis import Basis
from evidence.events import NO_LEADER, IsrChange, Missed, Partition, of
from evidence.faults.process import KillProof
from evidence.nodes import number_of
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import ALIVE, FROZEN, Interval, RunState
from evidence.text import plural

ISR_TOLERANCE_MS: Final = 1500
"""For a leader that gets no processor at once, a write to ZooKeeper or the controller, and an observer."""
EARLY_MS: Final = 250
"""For a fetch that was answered late on a busy machine."""
FETCH_WAIT_MS: Final = 500
"""The default of replica.fetch.wait.max.ms, in every version."""
FETCH_BACKOFF_MS: Final = 1000
"""The default of replica.fetch.backoff.ms, in every version from 0.9 on."""
NOTIFICATIONS: Final = "/isr_change_notification"
CHECKED_MS: Final = 2500
QUIET_MS: Final = 5000
MINUTE_MS: Final = 60000
"""ISR changes are announced by a check every 2.5 s, after 5 s without one (or 60 s after the last announcement)."""
MANY: Final = 10
"""So many changes within a minute, at least, before they say something of it."""


def lag_time_ms(run: RunRecord) -> int:
    """The replica.lag.time.max.ms of a run."""
    return setting_ms(run, "replica.lag.time.max.ms", 30000 if release_of(run) >= borders.LONG_LAG.release else 10000)


def check_period_ms(run: RunRecord) -> float:
    """How often a leader looks for followers that lag."""
    return lag_time_ms(run) / (2 if release_of(run) >= borders.LOOKS_TWICE.release else 1)


def shrinks_within_ms(run: RunRecord) -> float:
    """After how long a leader has taken a follower that lags out of the ISR: it looks once a period."""
    return lag_time_ms(run) + check_period_ms(run) + ISR_TOLERANCE_MS


def _freezes(run_state: RunState) -> Iterator[tuple[str, int, Interval]]:
    """Node, broker id and interval of each freeze, by what the engine says."""
    for node, intervals in run_state.processes.items():
        number = node.rpartition("-")[2]
        if number.isdigit():
            yield from ((node, int(number), one) for one in intervals if one.value == FROZEN)


def _next(states: Sequence[Partition], at_ns: int, broker: int, *, inside: bool) -> Partition | None:
    """The first state after a time that has the broker in the ISR, or not, while the leader is the one of that time;
    None if there is none, if that is how it was already, or if the broker was the leader.
    """
    held = next((state for state in reversed(states) if state.at_ns <= at_ns), None)
    if held is None or held.leader == broker or (broker in held.isr) == inside:
        return None
    later = [state for state in states if state.at_ns > at_ns]
    found = next((state for state in later if (broker in state.isr) == inside), None)
    return found if found is not None and found.leader == held.leader else None


@claim(
    "isr-shrinks-in-lag-time",
    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16, KIP-537",
    basis=Basis.DOCUMENTATION,
    bound="from the freeze. No sooner than replica.lag.time.max.ms, less replica.fetch.wait.max.ms (the last fetch may "
    f"have waited) and {EARLY_MS} ms for the machine. No later than replica.lag.time.max.ms, the interval of the "
    "leader's check (as long before 0.10.2, half of it from then on; ReplicaManager, isr-expiration), "
    f"and a tolerance of {ISR_TOLERANCE_MS} ms for the machine",
    bound_source="Kafka documentation, broker configuration: replica.lag.time.max.ms; ReplicaManager: isr-expiration",
    bound_basis=Basis.DOCUMENTATION,
)
def isr_shrinks_in_lag_time(evidence: RunEvidence) -> Judged:
    """A follower that stands still leaves the ISR once it has not been caught up for replica.lag.time.max.ms.

    A frozen follower with a session that lasts leaves the ISR no sooner than replica.lag.time.max.ms after its last
    fetch, and by the next check after that. One that stood still for longer and was not left out is late, too.
    """
    rows = [
        row
        for node, broker, frozen in _freezes(evidence.run_state)
        for (topic, number), states in evidence.run_state.states.items()
        if (gone := _left_or_thawed(states, frozen, broker)) is not None
        for row in _shrink(evidence, node, frozen, (topic, number), *gone)
    ]
    early = [row for row in rows if row["left"] and row["took_ms"] < row["least_ms"]]
    if early:
        observed = f"{early[0]['node']} left the ISR {early[0]['took_ms'] / 1000:.1f} s after it froze: too early"
        return Judged(outcome=CONTRADICTED, observed=observed, evidence=early)
    return timed(
        [row for row in rows if row["left"] or row["took_ms"] > row["bound_ms"]],
        lambda row: (
            f"{row['node']} left the ISR {row['took_ms'] / 1000:.1f} s after it froze"
            if row["left"]
            else f"{row['node']} stayed in the ISR for all of the {row['took_ms'] / 1000:.1f} s that it was frozen"
        ),
        "no frozen follower left an ISR while its session lasted",
    )


def _left_or_thawed(states: Sequence[Partition], frozen: Interval, broker: int) -> tuple[int, bool] | None:
    """When a frozen follower left the ISR, and True; or when it was thawed or had another leader, still in it, and
    False. None if it was not in it, or led.
    """
    held = next((state for state in reversed(states) if state.at_ns <= frozen.begin_ns), None)
    if held is None or held.leader == broker or broker not in held.isr:
        return None
    for state in states:
        if frozen.begin_ns < state.at_ns < frozen.end_ns and (broker not in state.isr or state.leader != held.leader):
            return state.at_ns, broker not in state.isr and state.leader == held.leader
    return frozen.end_ns, False


def _shrink(
    evidence: RunEvidence, node: str, frozen: Interval, partition: TopicPartition, at_ns: int, left: bool
) -> Iterator[dict[str, Any]]:
    """How long it took from the freeze on, if the follower was missing a record by then. One whose session ended first
    is taken out of the ISR for that: it had stayed until then.
    """
    run_state, lag_ms = evidence.run_state, lag_time_ms(evidence.run)
    topic, number = partition
    sent = [one.sent_ns for one in run_state.sends if (one.topic, one.partition) == partition]
    missed = [sent_ns for sent_ns in sent if frozen.begin_ns < sent_ns < at_ns]
    registered = [one for one in run_state.registrations.get(node, ()) if one.value == ALIVE]
    session = next((one for one in registered if one.begin_ns <= frozen.begin_ns < one.end_ns), None)
    if not missed or session is None:
        return
    if session.end_ns <= at_ns:
        at_ns, left = session.end_ns, False
    due_ms = max(lag_ms, (missed[0] - frozen.begin_ns) / 1e6)
    wait_ms = setting_ms(evidence.run, "replica.fetch.wait.max.ms", FETCH_WAIT_MS)
    yield {
        "node": node,
        "topic": topic,
        "partition": number,
        "at_ns": frozen.begin_ns,
        "left": left,
        "took_ms": elapsed_ms(frozen.begin_ns, at_ns),
        "least_ms": lag_ms - wait_ms - EARLY_MS,
        "bound_ms": due_ms + check_period_ms(evidence.run) + ISR_TOLERANCE_MS,
    }


@claim(
    "dead-controller-stays-in-isr",
    source="KAFKA-3143; Kafka sources, ReplicaStateMachine: startup",
    basis=Basis.JIRA,
    bound="no sooner after the kill than replica.lag.time.max.ms, less the replica.fetch.wait.max.ms for which its "
    f"last fetch may have waited and {EARLY_MS} ms for the machine",
    bound_source="KAFKA-3143; Kafka documentation, broker configuration: replica.lag.time.max.ms",
    bound_basis=Basis.JIRA,
)
def dead_controller_stays_in_isr(evidence: RunEvidence) -> Judged:
    """Before 2.3 a follower that was the controller when it died stays in the ISR until its leader misses it.

    A follower that was the controller when it was killed leaves the ISR no sooner than it would if nobody knew of its
    death: replica.lag.time.max.ms after its last fetch.
    """
    run_state, run = evidence.run_state, evidence.run
    least_ms = lag_time_ms(run) - setting_ms(run, "replica.fetch.wait.max.ms", FETCH_WAIT_MS) - EARLY_MS
    rows: list[dict[str, Any]] = []
    for killed in faults(run_state, KillProof):
        then = run_state.controller_at(killed.inject_ns)
        for (topic, partition), states in run_state.states.items() if then and then.value == killed.node else ():
            left = _next(states, killed.inject_ns, number_of(killed.node), inside=False)
            if left is not None and left.at_ns < killed.until_ns:
                took_ms = elapsed_ms(killed.inject_ns, left.at_ns)
                about = {"node": killed.node, "topic": topic, "partition": partition, "at_ns": killed.inject_ns}
                rows.append(about | {"took_ms": took_ms, "least_ms": least_ms})
    wrong = [row for row in rows if row["took_ms"] < row["least_ms"]]
    shortest = min((row["took_ms"] for row in rows), default=0.0)
    seen = f"{plural(len(rows), 'stay')} of a dead controller in an ISR, the shortest of {shortest / 1000:.1f} s"
    return judged(rows, wrong, seen, "no controller was killed that followed, or it never left an ISR")


def _thawed(run_state: RunState, node: str, frozen: Interval) -> int:
    """When a node was about to be thawed: the engine tells of it a little later, and by then it may be back already."""
    healed = [
        fault.heal_ns for fault in run_state.faults if (fault.kind, fault.node) == ("freeze", node) and fault.heal_ns
    ]
    return next((heal_ns for heal_ns in healed if frozen.begin_ns < heal_ns <= frozen.end_ns), frozen.end_ns)


@claim(
    "isr-expands-when-caught-up",
    source="Kafka documentation, Design: replication; broker configuration: replica.fetch.wait.max.ms",
    basis=Basis.DOCUMENTATION,
    bound="replica.fetch.wait.max.ms for a fetch that finds nothing, replica.fetch.backoff.ms after one that "
    f"failed while it stood still, and a tolerance of {ISR_TOLERANCE_MS} ms for the machine",
    bound_source="Kafka documentation, broker configuration: replica.fetch.wait.max.ms, replica.fetch.backoff.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def isr_expands_when_caught_up(evidence: RunEvidence) -> Judged:
    """A follower that resumed is back in the ISR with the fetch that has caught up.

    One that was alive, and stayed out for longer than the bound while nothing else struck, is late too.
    """
    run = evidence.run
    bound_ms = (
        setting_ms(run, "replica.fetch.wait.max.ms", FETCH_WAIT_MS)
        + setting_ms(run, "replica.fetch.backoff.ms", FETCH_BACKOFF_MS)
        + ISR_TOLERANCE_MS
    )
    rows = []
    for node, broker, frozen in _freezes(evidence.run_state):
        thawed_ns = _thawed(evidence.run_state, node, frozen)
        for (topic, number), states in evidence.run_state.states.items():
            back = _next(states, thawed_ns, broker, inside=True)
            if not evidence.run_state.alive_at(node, thawed_ns):
                continue
            until_ns = _stays_out(evidence.run_state, states, thawed_ns, broker) if back is None else back.at_ns
            if until_ns is None or (back is None and elapsed_ms(thawed_ns, until_ns) <= bound_ms):
                continue
            about = {"node": node, "topic": topic, "partition": number, "at_ns": thawed_ns, "back": back is not None}
            rows.append(about | {"took_ms": elapsed_ms(thawed_ns, until_ns), "bound_ms": bound_ms})
    return timed(
        rows,
        lambda row: (
            f"{row['node']} was back in the ISR {row['took_ms'] / 1000:.1f} s after it continued"
            if row["back"]
            else f"{row['node']} was not back in the ISR in the {row['took_ms'] / 1000:.1f} s after it continued"
        ),
        "no follower that had been frozen came back into an ISR",
    )


def _stays_out(run_state: RunState, states: Sequence[Partition], thawed_ns: int, broker: int) -> int | None:
    """Until when a broker that was out of an ISR stayed out of it, while its leader led and nothing else struck; None
    if it was not out.
    """
    held = next((state for state in reversed(states) if state.at_ns <= thawed_ns), None)
    if held is None or held.leader in (broker, NO_LEADER) or broker in held.isr:
        return None
    ended = [state.at_ns for state in states if state.at_ns > thawed_ns and state.leader != held.leader]
    ended += [state.at_ns for state in states if state.at_ns > thawed_ns and broker in state.isr]
    struck = [fault.inject_ns for fault in run_state.faults if fault.inject_ns > thawed_ns]
    return min([run_state.end_ns, *ended, *struck])


def _changes_by_leaders(run_state: RunState) -> list[tuple[str, int]]:
    """Partition ("t-0") and time of each change of an ISR under the same leader and leader epoch."""
    changes = [
        (f"{topic}-{number}", after.at_ns)
        for (topic, number), states in run_state.states.items()
        for before, after in pairwise(states)
        if (before.leader, before.leader_epoch) == (after.leader, after.leader_epoch) and before.isr != after.isr
    ]
    return sorted(changes, key=lambda change: change[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Announcement:
    """A notification, or one that came and went between two looks of the observer: then nobody knows what it held."""

    at_ns: int
    path: str
    partitions: tuple[str, ...]
    read: bool


def _announcements(run_state: RunState) -> list[_Announcement]:
    """The notifications of ISR changes in the order in which they were made, or known to have been made."""
    notes = of(run_state.events, IsrChange)
    held = {one.path: one.partitions for one in notes if one.state == "holds"}
    gone = {one.path for one in notes if one.state == "gone"}
    found = [
        _Announcement(at_ns=one.at_ns, path=one.path, partitions=held.get(one.path, ()), read=one.path in gone)
        for one in notes
        if one.state == "made"
    ]
    found += [
        _Announcement(at_ns=one.at_ns, path=one.path, partitions=(), read=True)
        for one in of(run_state.events, Missed)
        if one.path == NOTIFICATIONS
    ]
    return sorted(found, key=lambda one: one.at_ns)


@claim(
    "isr-change-announced",
    source="KAFKA-1367; ReplicaManager, isr-change-propagation (0.9 to protocol 2.6)",
    basis=Basis.JIRA,
    bound=f"from the last change before it: {QUIET_MS} ms without another change, {CHECKED_MS} ms between checks, "
    f"and a tolerance of {ISR_TOLERANCE_MS} ms for the machine",
    bound_source="ReplicaManager: isr-change-propagation (0.9.0.1 to 2.6.2)",
    bound_basis=Basis.SOURCE,
)
def isr_change_announced(evidence: RunEvidence) -> Judged:
    """A leader that changed an ISR announces it in /isr_change_notification, and the controller deletes the
    notification.
    """
    run_state, bound_ms = evidence.run_state, QUIET_MS + CHECKED_MS + ISR_TOLERANCE_MS
    changes, announcements = _changes_by_leaders(run_state), _announcements(run_state)
    rows: list[dict[str, Any]] = []
    for partition, at_ns in changes:
        later = (one for one in announcements if one.at_ns > at_ns)
        told = next((one for one in later if partition in (one.partitions or (partition,))), None)
        # Each further change puts it off.
        since_ns = max(at for _, at in changes if at == at_ns or (told is not None and at_ns < at < told.at_ns))
        took_ms = elapsed_ms(since_ns, told.at_ns if told else run_state.end_ns)
        row = {"partition": partition, "at_ns": at_ns, "took_ms": took_ms, "bound_ms": bound_ms}
        if told is not None:
            rows.append(row | {"path": told.path, "partitions": list(told.partitions), "read": told.read})
        elif took_ms > bound_ms:
            rows.append(row | {"path": None, "read": False})
    unread = [row for row in rows if row["path"] is not None and not row["read"]]
    if unread:
        return judged(rows, unread, plural(len(rows), "change") + " of an ISR announced and read", "")
    return timed(
        rows,
        lambda row: (
            f"{plural(len(rows), 'change')} of an ISR announced, the slowest after {row['took_ms'] / 1000:.1f} s"
        ),
        "no change of an ISR was due to be announced",
    )


@claim(
    "isr-changes-announced-each-minute",
    source="ReplicaManager: isr-change-propagation (0.9.0.1 to 2.6.2)",
    basis=Basis.SOURCE,
    bound=f"from the announcement before it: {MINUTE_MS} ms, {CHECKED_MS} ms between checks, and a tolerance of "
    f"{ISR_TOLERANCE_MS} ms for the machine; no sooner than {MINUTE_MS} ms less {EARLY_MS} ms",
    bound_source="ReplicaManager: isr-change-propagation (0.9.0.1 to 2.6.2)",
    bound_basis=Basis.SOURCE,
)
def isr_changes_announced_each_minute(evidence: RunEvidence) -> Judged:
    """Where a leader's ISRs change more often than every 5 s it announces them 60 s after its last announcement.

    Between two announcements there are many changes, and the second one came within 5 s of the last change. A leader
    looks only each 2.5 s, so it may miss that nothing changed for 5 s: an announcement after a minute counts all the
    same. One before that may be due to such a time, and says nothing then.
    """
    run_state = evidence.run_state
    changes, rows = [at_ns for _, at_ns in _changes_by_leaders(run_state)], list[dict[str, Any]]()
    for before, told in pairwise(_announcements(run_state)):
        between = [at_ns for at_ns in changes if before.at_ns < at_ns < told.at_ns]
        gaps_ms = [elapsed_ms(one, next_one) for one, next_one in pairwise([*between, told.at_ns])]
        took_ms = elapsed_ms(before.at_ns, told.at_ns)
        quiet = max(gaps_ms, default=0) >= QUIET_MS and took_ms < MINUTE_MS - EARLY_MS
        if len(between) < MANY or gaps_ms[-1] >= QUIET_MS or quiet:
            continue
        rows.append(
            {
                "path": told.path,
                "at_ns": before.at_ns,
                "changes": len(between),
                "longest_gap_ms": max(gaps_ms),
                "took_ms": took_ms,
                "bound_ms": MINUTE_MS + CHECKED_MS + ISR_TOLERANCE_MS,
            }
        )
    early = [row for row in rows if row["took_ms"] < MINUTE_MS - EARLY_MS]
    if early:
        observed = f"announced {early[0]['took_ms'] / 1000:.1f} s after the last announcement: too early"
        return Judged(outcome=CONTRADICTED, observed=observed, evidence=early)
    return timed(
        rows,
        lambda row: f"{plural(row['changes'], 'change')} announced {row['took_ms'] / 1000:.1f} s after the last ones",
        "no ISR changed more often than every 5 s from one announcement to the next",
    )
