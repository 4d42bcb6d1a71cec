"""Leadership returns to preferred replicas automatically, if enough of it is elsewhere (Kafka documentation, Balancing
leadership).

The preferred leader A dies while a producer sends and a consumer reads; B leads. A returns and is in sync again. No
election is requested. Every five seconds here (300 in Kafka's defaults) the controller computes the share of each
broker's preferred partitions that other brokers lead. A is the preferred leader of t and of the partitions of another
topic, of which it has the only replicas. With three of these a quarter of A's leaderships is elsewhere, more than the
10 % that leader.imbalance.per.broker.percentage allows: the next check moves leadership back. With twenty-four it is 4
%, and B remains the leader.

From 2.6 on the controller leaves out preferred replicas that are not in the ISR, as it knows it (KAFKA-9866). Leaders
that write ISRs to ZooKeeper themselves (to protocol 2.6) announce them 5 to 7.5 s later. Checks before that do nothing.

KRaft's controller looks at partitions, not at brokers: every leadership returns, in either case. 4.0 removed the
setting of the share.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, TopicPlan, VersionRange, ranges, scenario

CHECK_S = 5
RATE_PER_S = 50
ELECTED = ("leader-elected-from-isr", "leader-epoch-rises-by-one")
RETURNS = ("leadership-returns-by-itself", "preferred-leader-elected", *ELECTED)


def returning_broker(run: Run, others: int, back: VersionRange) -> None:
    """A leader dies and returns. It is the preferred leader of `others` more partitions. Leadership returns on the
    versions of `back`. (The broker may also lead the partition of consumers' offsets.)
    """
    t = run.partition()
    preferred, heir, _ = run.replicas_of(t)
    run.create_topic(TopicPlan(name="alone", replicas=((preferred.id,),) * others))

    with run.consume(t) as consumer, run.load(t, rate_per_s=RATE_PER_S, also_idempotent=True) as load:
        load.wait_more(50, timeout_s=30)
        run.kill(preferred)
        run.wait_leader(t, heir)
        run.start(preferred)
        run.wait_isr(t, run.replicas_of(t))
        if back.holds(run.version):
            run.wait_leader(t, preferred)
        # As many as are sent in three intervals: at least two checks have found nothing to do.
        consumer.wait_read(load.wait_more(3 * CHECK_S * RATE_PER_S, timeout_s=60).acked, timeout_s=30)
    run.send(t)


scenario(
    name="auto-leader-rebalance",
    claim="""With auto.leader.rebalance.enable, leadership returns to a preferred replica that is in sync again at the
        next check, if its broker lacks more than leader.imbalance.per.broker.percentage of its leaderships.""",
    source="Kafka documentation, Balancing leadership; broker configuration: auto.leader.rebalance.enable; Kafka "
    "sources, KafkaController: checkAndTriggerAutoLeaderRebalance, ReplicationControlManager: "
    "maybeBalancePartitionLeaders",
    operator="""Leave auto.leader.rebalance.enable on, which is the default: after a failover leadership is back within
        leader.imbalance.check.interval.seconds. With ZooKeeper a broker that should lead many partitions may
        permanently lack a tenth of them: request a preferred election, or lower
        leader.imbalance.per.broker.percentage.""",
    cluster=ClusterPlan(
        settings={
            "auto.leader.rebalance.enable": "true",
            "leader.imbalance.check.interval.seconds": str(CHECK_S),
            "replica.socket.timeout.ms": "3000",
        }
    ),
    cases={
        "above": Case(
            steps=partial(returning_broker, others=3, back=ranges.EVERY_VERSION),
            documented=[
                Documented(
                    on=ranges.REBALANCE_HEARS_LATE,
                    claims=RETURNS,
                    sentence="""Leadership returns at the first check after the controller has heard that the preferred
                        replica is in sync again. Its leader announces that 5 to 7.5 s later.""",
                    source="KAFKA-9866: KafkaController.canPreferredReplicaBeLeader (2.6.0 to 3.9.2); "
                    "isr-change-propagation: ReplicaManager (2.6.3), ZkIsrManager (2.8.2), ZkAlterPartitionManager "
                    "(3.9.2)",
                    basis=Basis.JIRA,
                ),
                Documented(
                    claims=RETURNS,
                    source="Kafka documentation, Balancing leadership; "
                    "broker configuration: auto.leader.rebalance.enable",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
        "below": Case(
            steps=partial(returning_broker, others=24, back=ranges.KRAFT),
            documented=[
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=["small-imbalance-is-left", *ELECTED],
                    sentence="""Another replica remains the leader although the preferred one is in sync again: its
                        broker lacks less than leader.imbalance.per.broker.percentage of its leaderships.""",
                    source="Kafka documentation, broker configuration: leader.imbalance.per.broker.percentage",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    on=ranges.KRAFT,
                    claims=RETURNS,
                    sentence="""Leadership returns to the preferred replica at the next check: KRaft's controller
                        ignores the share of leaderships that a broker lacks.""",
                    source="ReplicationControlManager.maybeBalancePartitionLeaders (3.9.2, 4.3.1)",
                    basis=Basis.SOURCE,
                ),
            ],
        ),
    },
)
