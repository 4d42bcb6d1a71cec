"""Two brokers do not reach each other, and a third reaches both (Kafka documentation, Design: replication).

Followers fetch from the leader and from nobody else, so what the bridge has of the leader's records does not help the
follower on the far side: it leaves the ISR of the partition that the near broker leads. It stays in the ISR of the one
that the bridge leads. ZooKeeper or the controller reaches all three: nobody's session ends, and nobody is elected.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.partition import SETTINGS, SHRUNK, clients


@scenario(
    name="bridge",
    claim="""Where two brokers do not reach each other and a third reaches both, each leader keeps the replicas that it
        reaches in the ISR: no leader changes, and nothing is lost.""",
    source="Kafka documentation, Design: replication; broker configuration: replica.lag.time.max.ms",
    operator="""Replication does not route around a broken link: a follower that does not reach its leader is out of
        sync, whoever else it reaches. Moving the leadership to the broker that both reach puts it back in sync.""",
    cluster=ClusterPlan(settings=SETTINGS),
    topic=TopicPlan(replicas=((1, 2, 3), (3, 1, 2))),
    cases={
        "acks-1": Case(
            acks="1",
            documented=[
                Documented(
                    claims=[*SHRUNK, "writes-go-on-while-cut"],
                    source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "acks-all": Case(
            documented=[
                Documented(
                    on=ranges.ISR_SHRINK_HOLDS_BACK,
                    sentence="""The same, but what waits with acks=all when the ISR shrinks goes on waiting for the next
                        record, which a single producer does not get in before it is answered (KAFKA-13091).""",
                    claims=[*SHRUNK, "writes-go-on-while-cut"],
                    source="KAFKA-13091",
                    basis=Basis.JIRA,
                ),
                Documented(
                    claims=[*SHRUNK, "writes-wait-for-the-isr", "writes-go-on-while-cut"],
                    source="Kafka documentation, producer configuration: acks; "
                    "broker configuration: replica.lag.time.max.ms",
                    basis=Basis.DOCUMENTATION,
                ),
            ]
        ),
    },
)
def bridge(run: Run) -> None:
    t, of_bridge = run.partition(0), run.partition(1)
    near, middle = run.leader_of(t), run.leader_of(of_bridge)
    (far,) = (follower for follower in run.followers_of(t) if follower.id != middle.id)
    with clients(run, t) as load:
        run.cut([near], [far])
        run.wait_isr(t, [near, middle])
        load.wait_more(40, timeout_s=30)
        isr, epochs = run.state_of(of_bridge).isr, [run.state_of(p).leader_epoch for p in (t, of_bridge)]
        run.claim("the ISR of the bridge's partition is whole", len(isr) == 3, witness="metadata", isr=isr)
        run.claim("nobody was elected", epochs == [0, 0], witness="metadata", epochs=epochs)
        run.copy_replicas("apart")

        run.heal_network()
        run.wait_isr(t, run.replicas_of(t))
    run.send(t)
