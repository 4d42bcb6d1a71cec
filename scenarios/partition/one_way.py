"""Packets are dropped one way, between the leader and a follower (Kafka documentation, Design: replication; KIP-16).

From leader to follower: fetch requests arrive, and the answers are lost. From follower to leader: the requests are
lost. The effect is the same, because each direction carries the other's TCP acknowledgements: the follower gets
nothing, and leaves the ISR in time. ZooKeeper or the controller sees both of them alive throughout: there is no
election.
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
        sentence="""The same, but an acks=all record that waits when the ISR shrinks waits until the next record is
            written. A single producer does not send one before it is answered (KAFKA-13091).""",
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
    claim="""A follower that gets no packets from the leader, or whose packets do not reach it, leaves the ISR in time,
        although its session lasts. It returns when the link is healed, and nothing is lost.""",
    source="Kafka documentation, Design: replication; broker configuration: replica.lag.time.max.ms; KIP-16",
    operator="""A broker that is alive for ZooKeeper or the controller may still be cut off from a leader: alert on
        UnderReplicatedPartitions, not only on the number of brokers.""",
    cluster=ClusterPlan(settings=SETTINGS),
    cases={
        "to-follower-acks-1": Case(acks="1", steps=to_follower, documented=LEAVES_AND_RETURNS),
        "to-follower-acks-all": Case(steps=to_follower, documented=WRITES_WAIT_UNTIL_IT_LEFT),
        "to-leader-acks-1": Case(acks="1", steps=to_leader, documented=LEAVES_AND_RETURNS),
        "to-leader-acks-all": Case(steps=to_leader, documented=WRITES_WAIT_UNTIL_IT_LEFT),
    },
)
