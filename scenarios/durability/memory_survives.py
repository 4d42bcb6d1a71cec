"""Unflushed records survive process crashes, and a power loss if one in-sync replica keeps its power (Kafka
documentation, Application vs. OS flush management; Replication).

Cluster and load are those of page-cache-only, where everything is lost: three replicas, min.insync.replicas=2,
acks=all, and the records of the last seconds on no disk. Here the fault is smaller.

Either all brokers are killed, one right after the other. A broker writes its log into the page cache of its machine,
which survives the process, so every log has every acknowledged record a moment later. Or some of the replicas lose
power at one moment, the leader among them. Their logs then lack acknowledged records, another in-sync replica leads,
and they fetch these records from it when they are back.

Before 0.11 that may still lose a record (KIP-101). The dead leader's session expires first, the dead follower is
elected for a moment, and the remaining replica follows it and truncates to its own high watermark, which is one fetch
behind. Then it leads. This is double-failover, caused by two machines on one power supply.
"""

from collections.abc import Callable
from functools import partial

from harness.words import (
    LOST,
    Basis,
    Case,
    ClusterPlan,
    Disks,
    Documented,
    Partition,
    Run,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

FLUSHED = 10
"""Records that are on the disks before the load begins."""
RATE_PER_S = 50
GIVEN_UP_SOON = {"message.timeout.ms": "5000"}
"""For the load: records in flight when brokers go down are not waited for."""
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
"""A disk that lost power holds less than the high watermark that was flushed to it. The load lasts longer than the five
seconds between two checkpoints of the high watermark.
"""


def killed(run: Run) -> None:
    """All brokers' processes die under load."""
    t = run.partition()
    replicas = [run.leader_of(t), *run.followers_of(t)]
    in_sync: list[Target] = []

    def strike() -> None:
        isr = run.state_of(t).isr
        in_sync.extend(one for one in replicas if one.id in isr)
        run.kill(*replicas)

    acked = strike_under_load(run, t, strike)
    ends = ends_of(run, t, in_sync)
    # acks=all waits for every replica in sync, and the page cache of a machine survives the process (Kafka
    # documentation, Application vs. OS flush management).
    run.claim(
        "every log of the ISR has all acknowledged records",
        all(end >= acked for end in ends.values()),
        witness="files",
        acked=acked,
        ends=ends,
    )
    come_back(run, t, replicas)


def without_power(run: Run, count: int) -> None:
    """`count` replicas lose power under load, the leader first; a replica that keeps its power leads."""
    t = run.partition()
    replicas = [run.leader_of(t), *run.followers_of(t)]
    struck, spared = replicas[:count], replicas[count:]

    def strike() -> None:
        run.lose_power(*struck)
        run.wait_leader(t, *spared)

    acked = strike_under_load(run, t, strike)
    ends = ends_of(run, t, struck)
    run.require("no disk has all acknowledged records", max(ends.values()) < acked, acked=acked, ends=ends)
    come_back(run, t, struck)


def strike_under_load(run: Run, t: Partition, strike: Callable[[], None]) -> int:
    """Some records are on the disks. A load runs, whose records are not on the disks when brokers are struck. Returns
    how many of all these records were acknowledged.
    """
    run.send(t, FLUSHED)
    run.wait_high_watermark(t, FLUSHED, [run.leader_of(t), *run.followers_of(t)])
    run.flush_disks()
    load_s = run.vary(10, low=8, high=12)
    with run.load(t, rate_per_s=RATE_PER_S, expected_loss=True, settings=GIVEN_UP_SOON, also_idempotent=True) as load:
        load.wait_acked(int(load_s * RATE_PER_S), timeout_s=3 * load_s + 60)
        acked = FLUSHED + load.acked_in_all()
        for one in run.replicas_of(t) if ranges.HIGH_WATERMARK_TRUNCATION.holds(run.version) else ():
            run.read_checkpoints(one)  # what lies below these cannot be lost where one is spared
        strike()
    return acked


def ends_of(run: Run, t: Partition, struck: list[Target]) -> dict[str, int]:
    """Where the logs of these replicas end, by node."""
    return {one.node.name: run.log_end_and_high_watermark(one, t)[0] for one in struck}


def come_back(run: Run, t: Partition, struck: list[Target]) -> None:
    """Those that went down are started again, and in sync."""
    run.copy_replicas("struck")
    run.start(*struck)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="memory-survives",
    claim="""Unflushed records survive the death of all broker processes. They survive a power loss if one in-sync
        replica keeps its power. Before 0.11 the last record can be lost if two replicas lose power at once.""",
    source="Kafka documentation, Application vs. OS flush management; Kafka documentation, Replication; KIP-101",
    operator="""Replication without flushing protects you from any number of process crashes, and from power loss of all
        but one in-sync replica (before 0.11 the last record may be lost then). It does not protect you from a power
        loss of all replicas (page-cache-only).""",
    cluster=ClusterPlan(disks=Disks()),
    topic=TopicPlan(settings={"min.insync.replicas": "2"}),
    cases={
        "killed": Case(
            steps=killed,
            documented=[
                Documented(
                    sentence="The page caches of machines that are up have all that the processes wrote: nothing is "
                    "lost.",
                    source="Kafka documentation, Application vs. OS flush management",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "leader": Case(
            steps=partial(without_power, count=1),
            documented=[
                Documented(
                    required=TRUNCATED,
                    claims=["leader-elected-from-isr"],
                    sentence="A follower has the leader's records and leads, and the old leader fetches them from it.",
                    source="Kafka documentation, Application vs. OS flush management; Design: replication",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "leader-and-follower": Case(
            steps=partial(without_power, count=2),
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    required=TRUNCATED,
                    allowed=LOST | {"inconsistent-offsets"},
                    claims=["leader-elected-from-isr"],
                    sentence="""The remaining replica leads with all its records, unless the dead follower was elected
                        first. Then it followed the dead replica for a moment and truncated the records that it had
                        fetched last. Records below the checkpointed high watermark of every replica (at most 5 s old)
                        cannot be lost.""",
                    source="KIP-101: scenario 1; broker configuration: replica.high.watermark.checkpoint.interval.ms",
                    basis=Basis.KIP,
                ),
                Documented(
                    required=TRUNCATED,
                    claims=["leader-elected-from-isr"],
                    sentence="""The remaining replica has all records and leads, and the others fetch them. Until a
                        second replica is in sync it refuses acks=all.""",
                    source="Kafka documentation, Application vs. OS flush management; Design: replication",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
    },
)
