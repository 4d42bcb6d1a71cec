"""Claims about a broker whose disk is slow: which acknowledgements wait for it, and what the cluster does about it.

How slow it is stands in the proof of the fault (`bytes_per_s`). Brokers are taken to flush each message, so that a
record takes a replica at least one page of its disk. Only records that were sent one by one are looked at: what one of
a load waits for is also the queue before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import elapsed_ms, judged, row_of, timed
from checks.claims.replication.isr import ISR_TOLERANCE_MS, shrinks_within_ms
from evidence.basis import Basis
from evidence.events import Partition
from evidence.faults.disks import SlowDiskProof
from evidence.nodes import broker, number_of
from evidence.records import TopicPartition
from evidence.run_state import FaultFact, Sent, in_isr_throughout, isr_at
from evidence.text import plural

PAGE_BYTES: Final = 4096
"""The least that a flush writes."""
SHARE: Final = 0.5
"""Of the time that a page takes: who waits for the disk takes more, who does not takes less."""
FEWEST: Final = 3
"""So few records say nothing of what one usually takes."""
NOTHING: Final = "no disk of a replica in sync was slow while records were sent one by one"
FLUSH: Final = "broker configuration: log.flush.interval.messages"
LAG: Final = "Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16"


def page_ms(fault: FaultFact) -> float:
    """The time that a page takes on a slow disk."""
    assert isinstance(fault.proof, SlowDiskProof)
    return PAGE_BYTES * 1000 / fault.proof.bytes_per_s


def _slowed(evidence: RunEvidence) -> Iterator[tuple[FaultFact, TopicPartition, Sequence[Partition], int, int]]:
    """Each slow disk and each partition with a replica in sync on it: its states, who led it, and until when."""
    run_state = evidence.run_state
    for fault, _ in run_state.proved(SlowDiskProof):
        for where, states in run_state.states.items():
            then = run_state.state_at(*where, fault.inject_ns)
            if then is not None and fault.node in map(broker, then.isr):
                yield fault, where, states, then.leader, fault.heal_ns or run_state.end_ns


def _acknowledged(evidence: RunEvidence, where: TopicPartition, begin_ns: int, end_ns: int) -> list[tuple[Sent, int]]:
    """The records sent one by one between two times and acknowledged, and when."""
    sends = (one for one in evidence.run_state.sends if one.key.where == where and begin_ns <= one.sent_ns < end_ns)
    return [(one, one.done_ns) for one in sends if one.outcome == "acked" and one.done_ns is not None]


def _waits(fault: FaultFact, leader: int, states: Sequence[Partition], sent: Sent, done_ns: int) -> bool | None:
    """Whether a record had to wait for the disk; None if the replica left the ISR or joined it meanwhile."""
    if broker(leader) == fault.node:
        return True
    if sent.acks != "all":
        return False
    number = number_of(fault.node)
    if number in in_isr_throughout(states, sent.sent_ns, done_ns):
        return True
    inside = [state.isr for state in states if sent.sent_ns < state.at_ns <= done_ns]
    return None if any(number in isr for isr in [isr_at(states, sent.sent_ns) or (), *inside]) else False


def _latencies(evidence: RunEvidence, *, waiting: bool) -> Iterator[dict[str, Any]]:
    """By slow disk, partition and acks: the median time to the acknowledgement of the records that had to wait for the
    disk, or of those that had not, and what records took before it was slow.
    """
    for fault, where, states, leader, end_ns in _slowed(evidence):
        assert fault.proved_ns is not None
        took: dict[str, list[float]] = {}
        for sent, done_ns in _acknowledged(evidence, where, fault.proved_ns, end_ns):
            if _waits(fault, leader, states, sent, done_ns) is waiting:
                took.setdefault(sent.acks, []).append((done_ns - sent.sent_ns) / 1e6)
        for acks, times in sorted(took.items()):
            earlier = [
                (done_ns - sent.sent_ns) / 1e6
                for sent, done_ns in _acknowledged(evidence, where, 0, fault.inject_ns)
                if sent.acks == acks
            ]
            if len(times) >= FEWEST:
                yield row_of(fault, where) | {
                    "acks": acks,
                    "records": len(times),
                    "before_ms": round(median(earlier), 1) if earlier else None,
                    "median_ms": round(median(times), 1),
                    "page_ms": round(page_ms(fault), 1),
                }


def _told(rows: Sequence[dict[str, Any]], when: str) -> str:
    said = [
        f"{row['median_ms']:g} ms with acks={row['acks']} {when}"
        + ("" if row["before_ms"] is None else f", {row['before_ms']:g} ms before")
        for row in rows
    ]
    pages = sorted({row["page_ms"] for row in rows})
    return f"median latency {'; '.join(said)}; a page takes {', '.join(f'{ms:g}' for ms in pages)} ms"


@claim(
    "acks-wait-for-slow-disk",
    source=f"Kafka documentation, producer configuration: acks; {FLUSH}",
    basis=Basis.DOCUMENTATION,
    bound=f"at least {SHARE:.0%} of the time that a page takes on that disk",
    bound_source="Kafka documentation, producer configuration: acks",
    bound_basis=Basis.DOCUMENTATION,
)
def acks_wait_for_slow_disk(evidence: RunEvidence) -> Judged:
    """With a flush of each message acks=all waits for the slowest disk in the ISR, and any acks for the leader's."""
    rows = list(_latencies(evidence, waiting=True))
    wrong = [row for row in rows if row["median_ms"] < SHARE * row["page_ms"]]
    return judged(rows, wrong, _told(rows, "while the slow disk counts"), NOTHING)


@claim(
    "others-do-not-wait-for-slow-disk",
    source=f"Kafka documentation, producer configuration: acks; {FLUSH}",
    basis=Basis.DOCUMENTATION,
    bound=f"less than {SHARE:.0%} of the time that a page takes on that disk",
    bound_source="Kafka documentation, producer configuration: acks",
    bound_basis=Basis.DOCUMENTATION,
)
def others_do_not_wait(evidence: RunEvidence) -> Judged:
    """acks=1 does not wait for the disk of a follower, nor acks=all for that of a replica out of the ISR."""
    rows = list(_latencies(evidence, waiting=False))
    wrong = [row for row in rows if row["median_ms"] >= SHARE * row["page_ms"]]
    seen = _told(rows, "while the slow disk does not count")
    return judged(rows, wrong, seen, "nobody was acknowledged without a replica whose disk was slow")


def _changes(states: Sequence[Partition], node: str, begin_ns: int, end_ns: int) -> Iterator[tuple[bool, int]]:
    """When a replica left the ISR (False) and joined it (True), between two times."""
    for before, after in pairwise(states):
        was, now = (node in map(broker, one.isr) for one in (before, after))
        if was != now and begin_ns < after.at_ns < end_ns:
            yield now, after.at_ns


@claim("slow-follower-stays-in-isr", source=LAG, basis=Basis.DOCUMENTATION)
def slow_follower_stays(evidence: RunEvidence) -> Judged:
    """A follower stays in the ISR however slow its disk is, as long as it writes each fetch in less than
    replica.lag.time.max.ms.
    """
    rows, nothing = [], "no follower in the ISR had a slow disk and was waited for"
    for fault, where, states, leader, end_ns in _slowed(evidence):
        if broker(leader) == fault.node or not _acknowledged(evidence, where, fault.inject_ns, end_ns):
            continue
        left = [at_ns for joined, at_ns in _changes(states, fault.node, fault.inject_ns, end_ns) if not joined]
        lasted_s = round((end_ns - fault.inject_ns) / 1e9, 1)
        rows.append(row_of(fault, where) | {"left_ns": left, "lasted_s": lasted_s})
    wrong = [row for row in rows if row["left_ns"]]
    return judged(rows, wrong, plural(len(rows), "follower") + " with a slow disk in the ISR all the time", nothing)


@claim(
    "slow-follower-leaves-isr",
    source=LAG,
    basis=Basis.DOCUMENTATION,
    bound="replica.lag.time.max.ms, the interval of the leader's check (ReplicaManager, isr-expiration), and a "
    f"tolerance of {ISR_TOLERANCE_MS} ms for the machine",
    bound_source="Kafka documentation, broker configuration: replica.lag.time.max.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def slow_follower_leaves(evidence: RunEvidence) -> Judged:
    """A follower whose disk takes longer than replica.lag.time.max.ms for a fetch leaves the ISR.

    From the first record that a follower with a slow disk has to write until it has left the ISR no more time passes
    than replica.lag.time.max.ms and the leader's check.
    """
    rows = []
    bound_ms = shrinks_within_ms(evidence.run)
    for fault, where, states, leader, end_ns in _slowed(evidence):
        if broker(leader) == fault.node:
            continue
        sent = [one.sent_ns for one, _ in _acknowledged(evidence, where, fault.inject_ns, end_ns)]
        joined_ns = fault.inject_ns
        for joined, at_ns in [*_changes(states, fault.node, fault.inject_ns, end_ns), (False, end_ns)]:
            first_ns = next((one for one in sent if joined_ns <= one < at_ns), None)
            if joined:
                joined_ns = at_ns
            elif first_ns is not None:
                took_ms = elapsed_ms(first_ns, at_ns)
                rows.append(row_of(fault, where) | {"left_ns": at_ns, "took_ms": took_ms, "bound_ms": bound_ms})
                joined_ns = end_ns
    return timed(
        rows,
        lambda row: f"{row['node']} left the ISR {row['took_ms'] / 1000:.1f} s after a record that it could not write",
        "no follower in the ISR had a slow disk and was written to",
    )


@claim("slow-follower-returns-to-isr", source=LAG, basis=Basis.DOCUMENTATION)
def slow_follower_returns(evidence: RunEvidence) -> Judged:
    """A follower that left the ISR because of its slow disk returns as soon as it has caught up, and leaves again when
    records are written: the ISR flaps.
    """
    rows = []
    for fault, where, states, leader, end_ns in _slowed(evidence):
        changes = list(_changes(states, fault.node, fault.inject_ns, end_ns))
        if broker(leader) != fault.node and changes:
            left, back = (sum(joined is which for joined, _ in changes) for which in (False, True))
            rows.append(row_of(fault, where) | {"left": left, "returned": back, "changes": changes})
    seen = "; ".join(
        f"{row['node']} left the ISR {row['left']} times and returned {row['returned']} times" for row in rows
    )
    wrong = [row for row in rows if row["left"] < 2 or row["returned"] < row["left"]]
    return judged(rows, wrong, seen, "no follower left the ISR while its disk was slow")


@claim(
    "slow-leader-keeps-leading",
    source="Kafka documentation, Design: replication (a broker is alive that keeps its session)",
    basis=Basis.DOCUMENTATION,
)
def slow_leader_keeps_leading(evidence: RunEvidence) -> Judged:
    """A leader whose disk is slow remains the leader, stays registered, and has all its followers in the ISR."""
    rows = []
    for fault, where, states, leader, end_ns in _slowed(evidence):
        if broker(leader) != fault.node:
            continue
        meanwhile = [one for one in states if fault.inject_ns < one.at_ns < end_ns]
        in_isr = set(isr_at(states, fault.inject_ns) or ())
        rows.append(
            row_of(fault, where)
            | {
                "other_leaders": sorted({one.leader for one in meanwhile} - {leader}),
                "left_isr": sorted({number for one in meanwhile for number in in_isr - set(one.isr)}),
                "registered": evidence.run_state.alive_at(fault.node, end_ns),
                "until_ns": end_ns,
            }
        )
    wrong = [row for row in rows if row["other_leaders"] or row["left_isr"] or not row["registered"]]
    return judged(rows, wrong, plural(len(rows), "leader") + " led on with all followers", "no leader had a slow disk")
