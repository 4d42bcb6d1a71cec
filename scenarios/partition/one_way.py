"""Packets are dropped one way, between the leader and a follower (Kafka documentation, Design: replication; KIP-16).

From leader to follower: requests to fetch still come, and the answers are lost. From follower to leader: the requests
are lost. TCP makes no difference of it, for each way carries the other's acknowledgements: the follower gets nothing,
and leaves the ISR in time. ZooKeeper or the controller sees both of them alive all the while: neither is elected anew.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, Target, ranges, scenario
from scenarios.partition import SETTINGS, SHRUNK, clients

LEAVES_AND_RETURNS = [
    Documented(
        claims=[*SHRUNK, "writes-go-on-while-cut"],
        source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
        basis=Basis.DOCUMENTATION,
    )
]
WRITES_WAIT_UNTIL_IT_LEFT = [
    Documented(
        on=ranges.ISR_SHRINK_HOLDS_BACK,
        sentence="""The same, but what waits with acks=all when the ISR shrinks goes on waiting for the next record,
            which a single producer does not get in before it is answered (KAFKA-13091).""",
        claims=SHRUNK,
        source="KAFKA-13091",
        basis=Basis.JIRA,
    ),
    Documented(
        claims=[*SHRUNK, "writes-wait-for-the-isr"],
        source="Kafka documentation, producer configuration: acks; broker configuration: replica.lag.time.max.ms",
        basis=Basis.DOCUMENTATION,
    ),
]


def to_follower(run: Run) -> None:
    """The follower does not hear the leader."""
    leader, (follower, _) = run.leader_of(run.partition()), run.followers_of(run.partition())
    cut_one_way(run, follower, sender=leader, receiver=follower)


def to_leader(run: Run) -> None:
    """The leader does not hear the follower."""
    leader, (follower, _) = run.leader_of(run.partition()), run.followers_of(run.partition())
    cut_one_way(run, follower, sender=follower, receiver=leader)


def cut_one_way(run: Run, follower: Target, *, sender: Target, receiver: Target) -> None:
    """The follower leaves the ISR, and is back when the link is healed."""
    t = run.partition()
    leader, others = run.leader_of(t), [one for one in run.followers_of(t) if one.id != follower.id]
    with clients(run, t) as load:
        run.cut([sender], [receiver], one_way=True)
        run.wait_isr(t, [leader, *others])
        load.wait_more(40, timeout_s=30)
        registered = run.observer.state.brokers
        run.claim("the follower is registered still", follower.id in registered, witness="metadata")
        run.copy_replicas("apart")

        run.heal_network()
        run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="one-way",
    claim="""A follower that hears nothing from the leader, or is not heard by it, leaves the ISR in time, though its
        session lasts; it is back when the link is healed, and nothing is lost.""",
    source="Kafka documentation, Design: replication; broker configuration: replica.lag.time.max.ms; KIP-16",
    operator="""A broker that ZooKeeper or the controller holds for alive may still be cut from a leader: watch
        UnderReplicatedPartitions, not only the number of brokers.""",
    cluster=ClusterPlan(settings=SETTINGS),
    cases={
        "to-follower-acks-1": Case(acks="1", steps=to_follower, documented=LEAVES_AND_RETURNS),
        "to-follower-acks-all": Case(steps=to_follower, documented=WRITES_WAIT_UNTIL_IT_LEFT),
        "to-leader-acks-1": Case(acks="1", steps=to_leader, documented=LEAVES_AND_RETURNS),
        "to-leader-acks-all": Case(steps=to_leader, documented=WRITES_WAIT_UNTIL_IT_LEFT),
    },
)
