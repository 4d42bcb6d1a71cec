"""Claims about a follower that is far behind and fetches: 0.8.2 counts messages, later releases only time (KIP-16).

How far it was behind is worked out from two witnesses. The leader at TRACE says, of each fetch, where the follower's
log ends, which is what it goes by itself; the clients know how many records had been acknowledged by then. That is the
least that the follower was behind.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Final

from checks.claim import CONTRADICTED, HELD, NOT_OBSERVED, Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, judged, setting_ms
from evidence.basis import Basis
from evidence.events import Partition
from evidence.nodes import broker
from evidence.records import TopicPartition
from evidence.replication import topics_of, trace_of, traced_partitions
from evidence.text import plural

MAX_MESSAGES: Final = 4000
"""The default of replica.lag.max.messages in 0.8.2, and what counts as far behind in releases without it."""
SEEN_LATER_NS: Final = 1_000_000_000
"""An observer hears of a departure so much later than the leader decided on it, at most; the follower may have fetched
meanwhile."""
FETCHES: Final = 3
"""So many at least, for a follower to fetch again and again."""
BEHIND_TOLERANCE_MS: Final = 1500
"""For the fetch from which on it was behind, which may have waited, and for an observer."""
LAG_TIME_MS: Final = 10000
"""The default of replica.lag.time.max.ms up to 2.4; later it is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """A follower was at least so many records behind, from one of its fetches to the next."""

    node: str
    begin_ns: int
    end_ns: int
    records: int

    def row(self, where: TopicPartition) -> dict[str, Any]:
        """As evidence."""
        fetches_ms = elapsed_ms(self.begin_ns, self.end_ns)
        about = {"topic": where[0], "partition": where[1], "node": self.node, "at_ns": self.end_ns}
        return about | {"records_behind": self.records, "since_last_fetch_ms": fetches_ms}


def _lags(evidence: RunEvidence, where: TopicPartition, follower: int, until_ns: int | None = None) -> list[Lag]:
    """How far a follower was behind before each fetch that its leader told of, or at `until_ns` if that is earlier.

    Of what followed the last fetch nothing is known: lines may be missing there.
    """
    acked_ns = [done_ns for _, done_ns in evidence.acknowledged(*where)]
    heard = [
        one
        for one in trace_of(evidence.run_state, where).of("remote-log-end")
        if one.replica == follower
        and (state := evidence.run_state.state_at(*where, one.at_ns)) is not None
        and one.node == broker(state.leader)
    ]
    ends = [later.at_ns if until_ns is None else min(later.at_ns, until_ns) for later in heard[1:]]
    return [
        Lag(
            node=broker(follower),
            begin_ns=one.at_ns,
            end_ns=end_ns,
            records=bisect_right(acked_ns, end_ns) - one.offset,
        )
        for one, end_ns in zip(heard, ends, strict=False)
        if one.at_ns <= end_ns
    ]


def _lag_time_ns(evidence: RunEvidence) -> int:
    return setting_ms(evidence.run, "replica.lag.time.max.ms", LAG_TIME_MS) * 1_000_000


def _followers(evidence: RunEvidence) -> Iterator[tuple[TopicPartition, int]]:
    for where in traced_partitions(evidence.run_state, topics_of(evidence.run)):
        said = trace_of(evidence.run_state, where).of("remote-log-end")
        yield from ((where, follower) for follower in sorted({one.replica for one in said if one.replica is not None}))


def _departures(evidence: RunEvidence, where: TopicPartition, follower: int) -> list[tuple[Partition, bool]]:
    """Each state in which the follower was out of the ISR for the first time, its leader still leading; and whether it
    was in again later.
    """
    states = evidence.run_state.states.get(where, ())
    return [
        (after, any(follower in later.isr for later in states if later.at_ns > after.at_ns))
        for before, after in pairwise(states)
        if follower in before.isr and follower not in after.isr and after.leader == before.leader
    ]


@claim(
    "isr-counts-messages",
    source="Kafka documentation of 0.8.2, broker configuration: replica.lag.max.messages; KIP-16",
    basis=Basis.DOCUMENTATION,
)
def isr_counts_messages(evidence: RunEvidence) -> Judged:
    """A follower that is more than replica.lag.max.messages behind leaves the ISR though it fetches, and is back when
    it has caught up.

    A follower left the ISR while it fetched and was more than replica.lag.max.messages behind, and came back: each time
    it left, and more than once.
    """
    most = setting_ms(evidence.run, "replica.lag.max.messages", MAX_MESSAGES)
    lag_time_ns = _lag_time_ns(evidence)
    rows, wrong = list[dict[str, Any]](), list[dict[str, Any]]()
    for where, follower in _followers(evidence):
        for left, back in _departures(evidence, where, follower):
            lags = _lags(evidence, where, follower, until_ns=left.at_ns)
            near = [lag for lag in lags if left.at_ns - lag.end_ns < SEEN_LATER_NS]
            behind = max(near, key=lambda lag: lag.records, default=None)
            if behind is None:
                observed = f"{broker(follower)} left the ISR, and no line tells how far it was behind"
                return Judged(outcome=NOT_OBSERVED, observed=observed)
            row = behind.row(where) | {"left_ns": left.at_ns, "back": back}
            rows.append(row)
            fetched = behind.end_ns - behind.begin_ns < lag_time_ns
            if behind.records <= most or not fetched or not back:
                wrong.append(row)
    if wrong:
        observed = f"{wrong[0]['node']} left the ISR {wrong[0]['records_behind']} records behind"
        return Judged(outcome=CONTRADICTED, observed=observed, evidence=wrong)
    if len(rows) < 2:
        return Judged(outcome=NOT_OBSERVED, observed="no follower left the ISR twice", evidence=rows)
    far = f"{min(row['records_behind'] for row in rows)} to {max(row['records_behind'] for row in rows)}"
    observed = (
        f"{rows[0]['node']} left the ISR {plural(len(rows), 'time')}, {far} records behind, and came back each time"
    )
    return Judged(outcome=HELD, observed=observed, evidence=rows)


@claim("isr-does-not-count-messages", source="KIP-16", basis=Basis.KIP)
def isr_does_not_count_messages(evidence: RunEvidence) -> Judged:
    """A follower that fetches and catches up within replica.lag.time.max.ms stays in the ISR, however many messages it
    is behind.

    A follower that was more than 4000 records behind, more than once, and fetched, did not leave the ISR.
    """
    rows = list[dict[str, Any]]()
    for where, follower in _followers(evidence):
        lags = _lags(evidence, where, follower)
        far = [lag for lag in lags if lag.records > MAX_MESSAGES and lag.end_ns - lag.begin_ns < _lag_time_ns(evidence)]
        left = _departures(evidence, where, follower)
        if left and far:
            contrary = [far[0].row(where) | {"left_ns": left[0][0].at_ns}]
            observed = f"{broker(follower)} left the ISR, {far[0].records} records behind"
            return Judged(outcome=CONTRADICTED, observed=observed, evidence=contrary)
        rows += [lag.row(where) for lag in far]
    if len(rows) < 2:
        observed = f"no follower was seen to be more than {MAX_MESSAGES} records behind twice"
        return Judged(outcome=NOT_OBSERVED, observed=observed, evidence=rows)
    most = max(row["records_behind"] for row in rows)
    observed = f"{rows[0]['node']} was up to {most} records behind, {plural(len(rows), 'time')}, and stayed in the ISR"
    return Judged(outcome=HELD, observed=observed, evidence=rows)


# A follower that never catches up


def _endless(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Stretches of fetches before all of which a follower was behind: the last one up to each departure from the ISR,
    and the longest one if it stayed. Those with few fetches, or with replica.lag.time.max.ms between two, are left out:
    for that a follower may leave too.
    """
    for where, follower in _followers(evidence):
        departures: list[int | None] = [state.at_ns for state, _ in _departures(evidence, where, follower)]
        for left in departures or [None]:
            lags = _lags(evidence, where, follower, until_ns=left)
            stretches = [list(each) for is_behind, each in groupby(lags, lambda lag: lag.records > 0) if is_behind]
            behind = max(stretches[-1:] if left else stretches, key=_length_ns, default=[])
            longest_ms = max((elapsed_ms(lag.begin_ns, lag.end_ns) for lag in behind), default=0.0)
            if len(behind) < FETCHES or longest_ms * 1_000_000 >= _lag_time_ns(evidence):
                continue
            yield {
                "topic": where[0],
                "partition": where[1],
                "node": behind[0].node,
                "at_ns": behind[0].begin_ns,
                "fetches": len(behind),
                "longest_between_fetches_ms": longest_ms,
                "most_behind": max(lag.records for lag in behind),
                "behind_ms": elapsed_ms(behind[0].begin_ns, behind[-1].end_ns),
                "left": left is not None,
            }


def _length_ns(stretch: Sequence[Lag]) -> int:
    return stretch[-1].end_ns - stretch[0].begin_ns


@claim("endless-lag-leaves-isr", source="KIP-16", basis=Basis.KIP)
def endless_lag_leaves_isr(evidence: RunEvidence) -> Judged:
    """A follower that fetches all the time and is never caught up leaves the ISR after replica.lag.time.max.ms.

    It is behind at each fetch for at least that long when it leaves; one that was behind for twice as long and is still
    in the ISR contradicts it.
    """
    lag_ms = _lag_time_ns(evidence) / 1_000_000
    found = list(_endless(evidence))
    rows = [row for row in found if row["left"] or row["behind_ms"] > 2 * lag_ms + BEHIND_TOLERANCE_MS]
    wrong = [row for row in rows if not row["left"] or row["behind_ms"] < lag_ms - BEHIND_TOLERANCE_MS]
    return judged(rows, wrong, _told(rows, "left the ISR"), "no follower was behind for so long while it fetched")


@claim(
    "endless-lag-stays-in-isr",
    source="Kafka documentation of 0.8.2, broker configuration: replica.lag.time.max.ms, replica.lag.max.messages",
    basis=Basis.DOCUMENTATION,
)
def endless_lag_stays_in_isr(evidence: RunEvidence) -> Judged:
    """On 0.8.2 a follower that fetches stays in the ISR though it is never caught up, as long as it is no more than
    replica.lag.max.messages behind.

    It is behind at each fetch for at least twice replica.lag.time.max.ms, which counts fetches only.
    """
    lag_ms = _lag_time_ns(evidence) / 1_000_000
    most = setting_ms(evidence.run, "replica.lag.max.messages", MAX_MESSAGES)
    rows = [
        row
        for row in _endless(evidence)
        if row["most_behind"] <= most and (row["left"] or row["behind_ms"] >= 2 * lag_ms)
    ]
    wrong = [row for row in rows if row["left"]]
    return judged(rows, wrong, _told(rows, "stayed in the ISR"), "no follower was behind for so long while it fetched")


def _told(rows: Sequence[dict[str, Any]], what: str) -> str:
    """What became of the first of them."""
    return "; ".join(
        f"{row['node']} was behind at each of {row['fetches']} fetches, for {row['behind_ms'] / 1000:.1f} s and by up "
        f"to {row['most_behind']} records, and {what}"
        for row in rows[:1]
    )
