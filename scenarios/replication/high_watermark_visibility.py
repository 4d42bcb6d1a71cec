"""Consumers see only records that all in-sync replicas have (Kafka documentation, Design: replication).

The follower is frozen and still in the ISR. A record with acks=1 is acknowledged and in the leader's log, but the high
watermark stays before it. The consumer is alive: one fetch asked for two partitions of the same leader, and it gets a
record of the other one. It gets the first record when the follower continues and fetches it, or has left the ISR (from
2.7 to 3.0 only with the next record: KAFKA-13091).

In `below-min-isr` the follower stops cleanly, and the ISR is smaller than min.insync.replicas. From 3.7 on the high
watermark stands still then: the record shows when the follower is back (KAFKA-15583). Before, it shows at once.
"""

from collections.abc import Callable

from harness.words import Basis, Case, ClusterPlan, Documented, Run, Target, TopicPlan, ranges, scenario
from scenarios.replication import wait_shrunk

READ_LIMIT_S = 30.0
LONGER_THAN_A_FETCH_S = 1.0
"""A fetch that finds nothing waits for half of that (fetch.wait.max.ms)."""
HIDDEN = [
    Documented(
        claims=["record-hidden-until-isr-has-it"],
        source="Kafka documentation, Design: replication",
        basis=Basis.DOCUMENTATION,
    )
]


def catches_up(run: Run) -> None:
    """The follower continues, and has the record."""
    hidden(run, lambda _leader: run.thaw())


def leaves_isr(run: Run) -> None:
    """The follower is out of the ISR, and no longer needs to have the record."""
    t = run.partition()

    def leave(leader: Target) -> None:
        wait_shrunk(run, t, [leader])
        if ranges.ISR_SHRINK_HOLDS_BACK.holds(run.version):
            run.send(t)

    hidden(run, leave)


def below_min_isr(run: Run) -> None:
    """The ISR is smaller than min.insync.replicas when the record is acknowledged."""
    t, beside = run.partition(0), run.partition(1)
    leader, (stopped,) = run.leader_of(t), run.followers_of(t)
    with run.consume(t) as consumer:
        run.send(t, 2)
        run.send(t, acks="1")
        run.send(beside)
        consumer.wait_read(4, timeout_s=READ_LIMIT_S)

        run.stop(stopped)
        run.wait_leader_knows_isr(t, [leader])
        run.send(t, acks="1")
        run.send(beside)
        consumer.wait_position(*beside, 2, timeout_s=READ_LIMIT_S)
        if ranges.HIGH_WATERMARK_NEEDS_MIN_ISR.holds(run.version):
            run.let_pass(LONGER_THAN_A_FETCH_S, "a consumer would have been given the record")
        else:
            consumer.wait_position(*t, 4, timeout_s=READ_LIMIT_S)
        run.start(stopped)
        run.wait_isr(t, run.replicas_of(t))
        consumer.wait_position(*t, 4, timeout_s=READ_LIMIT_S)


def hidden(run: Run, until: Callable[[Target], None]) -> None:
    """No consumer gets a record that a frozen follower lacks, until the follower's state changes."""
    t, beside = run.partition(0), run.partition(1)
    leader, (frozen,) = run.leader_of(t), run.followers_of(t)
    with run.consume(t) as consumer:
        run.send(t, 2)
        run.send(t, acks="1")
        run.send(beside)
        consumer.wait_read(4, timeout_s=READ_LIMIT_S)

        run.freeze(frozen)
        run.send(t, acks="1")
        run.wait_log_end(t, 4, [leader])
        run.send(beside)
        consumer.wait_position(*beside, 2, timeout_s=READ_LIMIT_S)

        until(leader)
        consumer.wait_position(*t, 4, timeout_s=READ_LIMIT_S)
    run.thaw()
    run.wait_isr(t, run.replicas_of(t))


scenario(
    name="high-watermark-visibility",
    claim="""No consumer gets a record that the leader acknowledged alone until every replica in the ISR has it, or has
        left.""",
    source="Kafka documentation, Design: replication; KIP-101",
    operator="""A consumer that does not see a new record is not necessarily behind: the record may be waiting for a
        slow replica. Look at the ISR and the followers before you look at the consumer.""",
    needs=["acks-1"],
    cluster=ClusterPlan(session_timeout_ms=20000),
    topic=TopicPlan(replicas=((1, 2), (1, 3))),
    cases={
        "catches-up": Case(steps=catches_up, settings={"replica.lag.time.max.ms": "30000"}, documented=HIDDEN),
        "leaves-isr": Case(steps=leaves_isr, settings={"replica.lag.time.max.ms": "3000"}, documented=HIDDEN),
        "below-min-isr": Case(
            steps=below_min_isr,
            topic={"min.insync.replicas": "2"},
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_NEEDS_MIN_ISR,
                    claims=["high-watermark-waits-for-min-isr"],
                    sentence="""A record that is acknowledged with acks=1 below min.insync.replicas is given to no
                        consumer until enough replicas are in sync.""",
                    source="KAFKA-15583",
                    basis=Basis.JIRA,
                ),
                Documented(
                    claims=["high-watermark-ignores-min-isr"],
                    sentence="""A record that is acknowledged with acks=1 below min.insync.replicas is given to
                        consumers at once.""",
                    source="Partition.maybeIncrementLeaderHW (0.8.2.2 to 3.6.2); KAFKA-15583",
                    basis=Basis.SOURCE,
                ),
            ],
        ),
    },
)
