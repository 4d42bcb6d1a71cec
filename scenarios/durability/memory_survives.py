"""What no disk has outlives processes, and it outlives power as long as one replica in sync keeps it (Kafka
documentation, Application vs. OS flush management; Replication).

The same cluster and load as in page-cache-only, which is where everything is lost: three replicas,
min.insync.replicas=2, acks=all, and the records of the last seconds are on no disk. Here less happens than that.

Either all brokers are killed, one right after the other: a broker writes its log into the page cache of its machine,
which no process takes along, so every log has every acknowledged record the moment after. Or some of the replicas lose
power at one moment, the leader among them: their logs end before what they had acknowledged, another replica in sync
leads, and they take it from there when they are back.

Before 0.11 that may cost a record even so (KIP-101): the dead leader's session ends first, the dead follower is elected
for a moment, and the replica that is left follows it and truncates to its own high watermark, which is one fetch
behind. Then it leads. That is double-failover, made by two machines on one power supply.
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
"""Of the load: what it has in flight when brokers go down is not waited for."""
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
"""A disk that lost power holds less than the high watermark that was flushed to it: the load lasts for longer than the
five seconds between two writings of that."""


def killed(run: Run) -> None:
    """All brokers' processes die under load."""
    t = run.partition()
    replicas = [run.leader_of(t), *run.followers_of(t)]
    acked = strike_under_load(run, t, lambda: run.kill(*replicas))
    ends = ends_of(run, t, replicas)
    run.require("every log has all that was acknowledged", min(ends.values()) >= acked, acked=acked, ends=ends)
    come_back(run, t, replicas)


def without_power(run: Run, count: int) -> None:
    """So many replicas lose power under load, the leader first; one that is spared leads."""
    t = run.partition()
    replicas = [run.leader_of(t), *run.followers_of(t)]
    struck, spared = replicas[:count], replicas[count:]

    def strike() -> None:
        run.lose_power(*struck)
        run.wait_leader(t, *spared)

    acked = strike_under_load(run, t, strike)
    ends = ends_of(run, t, struck)
    run.require("no disk has all that was acknowledged", max(ends.values()) < acked, acked=acked, ends=ends)
    come_back(run, t, struck)


def strike_under_load(run: Run, t: Partition, strike: Callable[[], None]) -> int:
    """Some records are on the disks, and a load goes on that is not when brokers are struck: how many of all of these
    were acknowledged.
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
    claim="""A record that is on nobody's disk survives the death of all brokers' processes, and a power loss that one
        replica in sync is spared; before 0.11 the last record is at stake if two go at once.""",
    source="Kafka documentation, Application vs. OS flush management; Kafka documentation, Replication; KIP-101",
    operator="""This is what replication in place of flushes buys: brokers may crash, all of them, and machines may lose
        power, all but one in sync. page-cache-only shows what it does not buy.""",
    cluster=ClusterPlan(disks=Disks()),
    topic=TopicPlan(settings={"min.insync.replicas": "2"}),
    cases={
        "killed": Case(
            steps=killed,
            documented=[
                Documented(
                    sentence="What the processes wrote is in the page caches of machines that are up: nothing is lost.",
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
                    sentence="A follower has the leader's records, leads, and gives them back to it.",
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
                    sentence="""The replica that is left leads with all it has, unless the dead follower was elected
                        first: then it followed that one for a moment, and cut off what it had fetched last. What
                        lay below the high watermark in every replica's file (5 s old at most) cannot be lost.""",
                    source="KIP-101: scenario 1; broker configuration: replica.high.watermark.checkpoint.interval.ms",
                    basis=Basis.KIP,
                ),
                Documented(
                    required=TRUNCATED,
                    claims=["leader-elected-from-isr"],
                    sentence="""The replica that is left has all, leads, and gives it back; until a second one is in
                        sync it takes nothing with acks=all.""",
                    source="Kafka documentation, Application vs. OS flush management; Design: replication",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
    },
)
