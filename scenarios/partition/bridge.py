"""Two brokers do not reach each other, and a third reaches both (Kafka documentation, Design: replication).

Followers fetch from the leader alone, so the bridge's copy does not help the follower on the far side: it leaves the
ISR of the partition that the near broker leads. It stays in the ISR of the partition that the bridge leads. ZooKeeper
or the controller reaches all three: no session ends, and no leader is elected.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.partition import SETTINGS, SHRUNK, clients


@scenario(
    name="bridge",
    claim="""Where two brokers do not reach each other and a third reaches both, each leader keeps the replicas that it
        reaches in the ISR: no leader changes, and nothing is lost.""",
    source="Kafka documentation, Design: replication; broker configuration: replica.lag.time.max.ms",
    operator="""Replication does not route around a broken link: a follower that does not reach its leader is out of
        sync, whichever other brokers it reaches. Move the leadership to the broker that both reach, and the follower is
        in sync again.""",
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
                    sentence="""The same, but an acks=all record that waits when the ISR shrinks waits until the next
                        record is written. A single producer does not send one before it is answered (KAFKA-13091).""",
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
        whole = len(isr) == 3
        run.claim("the ISR of the bridge's partition is whole", whole, witness="metadata", about=[of_bridge], isr=isr)
        run.claim("nobody was elected", epochs == [0, 0], witness="metadata", about=[t, of_bridge], epochs=epochs)
        run.copy_replicas("apart")

        run.heal_network()
        run.wait_isr(t, run.replicas_of(t))
    run.send(t)
