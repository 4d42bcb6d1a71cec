"""Packets are dropped one way, between the leader and a follower (Kafka documentation, Design: replication; KIP-16).

From leader to follower: requests to fetch still come, and the answers are lost. From follower to leader: the requests
are lost. TCP makes no difference of it, for each way carries the other's acknowledgements: the follower gets nothing,
and leaves the ISR in time. ZooKeeper or the controller sees both of them alive all the while: neither is elected anew.
"""

from harness.words import Case, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.partition import SETTINGS, SHRUNK, clients

ACKS_1 = [Documented(claims=[*SHRUNK, "writes-go-on-while-cut"])]
ACKS_ALL = [
    Documented(
        on=ranges.ISR_SHRINK_HOLDS_BACK,
        says="""The same, but what waits with acks=all when the ISR shrinks goes on waiting for the next record, which a
            single producer does not get in before it is answered (KAFKA-13091).""",
        claims=SHRUNK,
    ),
    Documented(claims=[*SHRUNK, "writes-wait-for-the-isr"]),
]


@scenario(
    name="one-way",
    claim="""A follower that hears nothing from the leader, or is not heard by it, leaves the ISR in time, though its
        session lasts; it is back when the link is healed, and nothing is lost.""",
    source="Kafka documentation, Design: replication; broker configuration: replica.lag.time.max.ms; KIP-16",
    operator="""A broker that ZooKeeper or the controller holds for alive may still be cut from a leader: watch
        UnderReplicatedPartitions, not only the number of brokers.""",
    cluster=ClusterPlan(settings=SETTINGS),
    cases={
        "to-follower-acks-1": Case(acks="1", variant="to-follower", documented=ACKS_1),
        "to-follower-acks-all": Case(variant="to-follower", documented=ACKS_ALL),
        "to-leader-acks-1": Case(acks="1", variant="to-leader", documented=ACKS_1),
        "to-leader-acks-all": Case(variant="to-leader", documented=ACKS_ALL),
    },
)
def one_way(run: Run) -> None:
    t = run.partition()
    leader, (follower, other) = run.leader_of(t), run.followers_of(t)
    sender, receiver = (leader, follower) if run.case.variant == "to-follower" else (follower, leader)
    with clients(run, t) as load:
        run.cut([sender], [receiver], one_way=True)
        run.wait_isr(t, [leader, other])
        load.wait_more(40, timeout_s=30)
        run.require("the follower is still registered", follower.id in run.observer.state.brokers)
        run.copy_replicas("apart")

        run.heal_network()
        run.wait_isr(t, run.replicas_of(t))
    run.send(t)
