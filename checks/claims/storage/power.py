"""Claims about power loss: what a disk holds of what was written to it, by the proofs of the faults.

The proof of a power loss has three facts of each replica (harness/faults/power.py). These are the end of its log as the
process had written it, its end on the disk with batches that are the same, and the age of the oldest lost batch.
Clients' histories say how many records had been acknowledged by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged, timed
from evidence.basis import Basis
from evidence.events import Partition, Znode, of
from evidence.faults.process import PowerLossProof
from evidence.nodes import broker
from evidence.run_state import FaultFact
from evidence.text import plural

TOLERANCE_MS: Final = 5000
"""For a kernel that has other disks to write to first, and producers that stamp a record before it is sent."""
CENTISECOND_MS: Final = 10
METADATA: Final = "__cluster_metadata-0"
STATED_NS: Final = 500_000_000
"""The observer reads what a controller has written, and flushes a moment later: what was stated before that counts."""
ZOOKEEPER: Final = "zookeeper"
TOPICS: Final = "/brokers/topics/"
NO_ZOOKEEPER: Final = "ZooKeeper did not lose power, or was not seen again"
FLUSH_INTERVALS: Final = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")


def _rows(evidence: RunEvidence) -> Iterator[tuple[FaultFact, PowerLossProof, dict[str, Any]]]:
    """Each proved power loss, and each replica of the run's topics that its node had."""
    topics = {f"{topic}-{number}" for topic, number in evidence.run.assignment}
    for fault, proof in evidence.run_state.proved(PowerLossProof):
        for name, replica in proof.replicas.items():
            if name in topics:
                topic, _, number = name.rpartition("-")
                about = {"node": fault.node, "at_ns": fault.inject_ns, "topic": topic, "partition": int(number)}
                kept = ("written", "held", "bytes_beyond", "beyond_is_zeros", "oldest_lost_ms")
                yield fault, proof, about | {key: getattr(replica, key) for key in kept}


@claim(
    "lost-records-are-recent",
    source="Linux documentation, sysctl vm: dirty_expire_centisecs, dirty_writeback_centisecs; Kafka documentation,"
    " broker configuration: log.flush.interval.ms",
    basis=Basis.DOCUMENTATION,
    bound="both settings of the machine (the proof of the power loss has them), or both of the brokers' if they are "
    f"set and lower, and a tolerance of {TOLERANCE_MS} ms for a kernel that has other disks to write to",
    bound_source="Linux documentation, sysctl vm: dirty_expire_centisecs, dirty_writeback_centisecs; Kafka "
    "documentation, broker configuration: log.flush.interval.ms",
    bound_basis=Basis.DOCUMENTATION,
)
def lost_records_are_recent(evidence: RunEvidence) -> Judged:
    """Records that a disk loses with the power are no older than the kernel lets dirty pages become, or brokers
    flush.
    """
    rows, settings = [], evidence.run.settings
    flushed = [settings[name] for name in FLUSH_INTERVALS if name in settings]
    flushed_ms = sum(map(int, flushed)) if len(flushed) == len(FLUSH_INTERVALS) else None
    for _, proof, row in _rows(evidence):
        kernel = proof.writeback
        expire, wake = kernel.get("dirty_expire_centisecs"), kernel.get("dirty_writeback_centisecs")
        if row["oldest_lost_ms"] is not None and expire is not None and wake:
            written_ms = (expire + wake) * CENTISECOND_MS
            bound_ms = (written_ms if flushed_ms is None else min(written_ms, flushed_ms)) + TOLERANCE_MS
            rows.append(row | {"took_ms": row["oldest_lost_ms"], "bound_ms": bound_ms})
    return timed(
        rows,
        lambda row: f"the oldest record that {row['node']} lost was {row['took_ms'] / 1000:.1f} s old",
        "no disk lost a record with a time stamp",
    )


@claim(
    "flushed-records-survive",
    source="Kafka documentation, broker configuration: log.flush.interval.messages",
    basis=Basis.DOCUMENTATION,
)
def flushed_records_survive(evidence: RunEvidence) -> Judged:
    """With a flush of each message, a disk that loses power holds every record that was acknowledged.

    Each disk holds at least as many offsets as records had been acknowledged when its power went.
    """
    rows = []
    for fault, _, row in _rows(evidence):
        where = (row["topic"], row["partition"])
        state = evidence.run_state.state_at(*where, fault.inject_ns)
        if state is not None and row["node"] in map(broker, state.isr):
            acked = sum(done_ns <= fault.inject_ns for _, done_ns in evidence.acknowledged_in_all(*where))
            rows.append(row | {"acknowledged": acked})
    wrong = [row for row in rows if (row["held"] or 0) < row["acknowledged"]]
    seen = plural(len(rows), "replica") + " with everything acknowledged on its disk"
    return judged(rows, wrong, seen, "no disk of a replica in sync lost power")


@claim(
    "metadata-survives-power-loss",
    source="KIP-595: the leader of the quorum flushes before it counts itself, followers before they fetch on",
    basis=Basis.KIP,
)
def metadata_survives(evidence: RunEvidence) -> Judged:
    """The disk of a controller that loses power holds every stated partition state."""
    rows: list[dict[str, Any]] = []
    for fault, proof in evidence.run_state.proved(PowerLossProof):
        replica = proof.replicas.get(METADATA)
        if not fault.node.startswith("controller-") or replica is None:
            continue
        stated = [
            one.version
            for one in of(evidence.run_state.events, Partition)
            if one.version is not None and one.at_ns <= fault.inject_ns - STATED_NS
        ]
        if stated:
            row = {"node": fault.node, "at_ns": fault.inject_ns, "stated": max(stated), "held": replica.held}
            rows.append(row | {"written": replica.written})
    wrong = [row for row in rows if (row["held"] or 0) <= row["stated"]]
    return judged(rows, wrong, plural(len(rows), "metadata log") + " whole", "no controller's disk lost power")


def _znodes(evidence: RunEvidence) -> Iterator[dict[str, Any]]:
    """Each znode of topics that ZooKeeper had told of before it lost power, and what it told first after that."""
    run_state = evidence.run_state
    for fault, _ in run_state.proved(PowerLossProof):
        if fault.node != ZOOKEEPER or fault.proved_ns is None:
            continue
        told = [one for one in of(run_state.events, Znode) if one.path.startswith(TOPICS)]
        before = {one.path: one for one in told if one.at_ns <= fault.inject_ns}
        after = {one.path: one for one in reversed(told) if one.at_ns > fault.proved_ns}
        seen_again = any(one.at_ns > fault.proved_ns for one in of(run_state.events, Znode))
        for path, had in before.items() if seen_again else ():
            has = after.get(path, had)
            if had.content is not None:
                older = has.content is None or (has.created == had.created and has.version < had.version)
                yield {
                    "node": fault.node,
                    "at_ns": fault.inject_ns,
                    "path": path,
                    "version": had.version,
                    "older": older,
                }


@claim("zookeeper-keeps-what-it-told", source="ZooKeeper administrator's guide: forceSync", basis=Basis.DOCUMENTATION)
def zookeeper_keeps(evidence: RunEvidence) -> Judged:
    """After a power loss ZooKeeper has every topic and partition state that it had reported."""
    rows = list(_znodes(evidence))
    wrong = [row for row in rows if row["older"]]
    return judged(rows, wrong, plural(len(rows), "znode") + " kept", NO_ZOOKEEPER)


@claim(
    "unforced-zookeeper-forgets",
    source="ZooKeeper administrator's guide: forceSync (unsafe options)",
    basis=Basis.DOCUMENTATION,
)
def zookeeper_forgets(evidence: RunEvidence) -> Judged:
    """After a power loss ZooKeeper with forceSync=no has forgotten the last states that it had reported.

    A znode of a topic that ZooKeeper had told of is gone, or older, when it is back.
    """
    rows = list(_znodes(evidence))
    forgotten = [row for row in rows if row["older"]]
    return judged(forgotten or rows, [] if forgotten else rows, plural(len(rows), "znode") + " told of", NO_ZOOKEEPER)
