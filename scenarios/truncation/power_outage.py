"""Both replicas lose power at one moment, with different log ends on their disks (KIP-101, scenario 2 as written).

Leader and follower have acknowledged a record that only the leader's disk has taken. The whole cluster loses power. The
follower is back first, is in the ISR, and is elected by a clean election without the record. It takes another one at
the same offset. Then the old leader returns. Its log ends at its high watermark and is no longer than the new leader's,
so by the old rule it truncates nothing. From then on both are in sync and have different records.

The new leader may take a compressed batch whose offsets begin at the place in question and end beyond it. A follower
asks for the records from its log end on, and the last offset identifies a compressed batch of the old formats. So the
old leader gets the whole batch, appends it, and holds two records at one offset.

The controller loses power with the replicas. So the ISR does not change between the two deaths, and both replicas are
in it when the follower is back. With KRaft the controller fences both as soon as it is back, in an order that no
setting decides, and the follower may be outside the ISR by then. The sequence is left to clusters with ZooKeeper.
"""

from functools import partial

from harness.words import LOST, Basis, Case, ClusterPlan, Disks, Documented, Run, TopicPlan, ranges, scenario

BEFORE = 3
"""Records that both disks have taken."""
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
"""The follower's disk has the high watermark, which brokers flush, and not the record below it."""
COMPRESSED = {"compression.type": "gzip", "linger.ms": "300"}
"""Records that are sent at once are one batch."""


def return_in_turn(run: Run, count: int) -> None:
    """The outage. The follower is back alone and takes this many records at once. Then the old leader returns."""
    t = run.partition()
    leader, (follower,) = run.leader_of(t), run.followers_of(t)
    run.send(t, BEFORE)
    run.wait_high_watermark(t, BEFORE, [leader, follower])
    run.flush_disks()
    run.send(t, expected_loss=True)
    run.wait_high_watermark(t, BEFORE + 1, [leader, follower])
    # The file is replaced by renaming, and a rename is on the disk when the next file is flushed there.
    run.wait_checkpoint_written(leader)
    run.wait_checkpoint_written(leader)
    run.flush_log(t, [leader])
    run.copy_replicas("armed")

    brokers = [run.broker(number) for number in run.cluster.brokers]
    run.lose_power(*brokers)
    ends = {one.node.name: run.log_end_and_high_watermark(one, t) for one in (leader, follower)}
    run.require(
        "the leader's disk has the record and a high watermark above it, and the follower's disk lacks the record",
        ends[leader.node.name] == (BEFORE + 1, BEFORE + 1) and ends[follower.node.name][0] == BEFORE,
        ends=ends,
    )
    run.copy_replicas("after the outage")

    run.start(follower)
    run.wait_leader(t, follower)
    for pending in [run.send_async(t) for _ in range(count)]:
        pending.wait(timeout_s=30)
    run.copy_replicas("follower leads")

    run.start(*(one for one in brokers if one.id != follower.id))
    run.wait_isr(t, [leader, follower])
    run.send(t)


def outcomes(diverged: str, identical: str) -> list[Documented]:
    """The documented outcomes, with these sentences, before leader epochs and with them."""
    return [
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            required=LOST | TRUNCATED | {"replica-divergence"},
            claims=["leader-elected-from-isr", "leader-epoch-rises-by-one", "restarted-replica-keeps-its-log"],
            sentence=diverged,
            source="KIP-101: scenario 2",
            basis=Basis.KIP,
        ),
        Documented(
            required=LOST | TRUNCATED,
            claims=["leader-elected-from-isr", "diverged-replica-truncates"],
            sentence=identical,
            source="KIP-101",
            basis=Basis.KIP,
        ),
    ]


scenario(
    name="power-outage-divergence",
    claim="""After a power outage the replica with less on its disk returns first and leads by a clean election. The
        other one truncates nothing, and two in-sync replicas permanently hold different records at one offset.""",
    source="KIP-101: scenario 2",
    operator="""After a power outage, before 0.11 or with an inter.broker.protocol.version before 0.11, compare the
        replicas with `kafka-chaos replicas`: they may differ without any error. On every release the record that only
        one disk had is lost when another replica leads. Start the broker with the longest log first. Where a whole
        cluster can lose power, flush each record (log.flush.interval.messages=1).""",
    cluster=ClusterPlan(brokers=(1, 2, 3), controller=3, disks=Disks()),
    topic=TopicPlan(replicas=((1, 2),), settings={"min.insync.replicas": "1"}),
    applies=ranges.ZOOKEEPER,
    cases={
        "single": Case(
            steps=partial(return_in_turn, count=1),
            documented=outcomes(
                """The old leader keeps its record where the new one has a different record: both are in sync, and
                    differ.""",
                """The old leader asks where its epoch ended, truncates the record that the new one lacks, and the
                replicas are identical. The record was on one disk alone, and is lost.""",
            ),
        ),
        "compressed": Case(
            steps=partial(return_in_turn, count=3),
            client_settings=COMPRESSED,
            documented=outcomes(
                """The old leader keeps its record and appends the new leader's whole batch behind it, which begins at
                the same offset: both are in sync, and differ.""",
                """The old leader asks where its epoch ended, truncates its record, and takes the new leader's batch:
                the replicas are identical. The record was on one disk alone, and is lost.""",
            ),
        ),
    },
)
