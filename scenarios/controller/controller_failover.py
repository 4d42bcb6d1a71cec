"""The controller dies and another takes over (Kafka documentation, Design: replication; KIP-500, KIP-595).

Three brokers, each the leader of one partition, and one of them the controller too. A producer sends to all three
partitions, and a consumer reads them, all the time. The controller is killed. With ZooKeeper its session ends and
/controller is deleted. One of the other brokers creates it again and raises /controller_epoch by one. With KRaft the
three are the quorum: the voters miss their leader and elect another, in a higher epoch. The new controller then elects
a leader for the partition that the dead broker led, and writes with acks=all continue.

In `watched` the controller leads nothing, and three brokers are left to take its place. At TRACE they log the result of
their attempt to create /controller: one succeeds, and the others are refused or find it there.

With separate controllers (KRaft) writes continue while there is no controller. The new controller shows itself when it
elects a leader after a broker has died.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.controller import BEFORE

SETTINGS = {"replica.socket.timeout.ms": "3000"}
ONE_AFTER_THE_OTHER = (
    "one-controller-at-a-time",
    "controller-replaced-in-time",
    "leader-replaced-in-time",
    "writes-resume-in-time",
    "leader-elected-from-isr",
    "leader-epoch-rises-by-one",
)
ELECTION_TRACED = ("kafka.controller.KafkaController", "kafka.server.ZookeeperLeaderElector")
"""The loggers of a broker that tries to become the controller: the first from 0.11 on, the other before."""
IN_ZOOKEEPER = (
    *ONE_AFTER_THE_OTHER,
    "controller-epoch-rises-by-one",
    "dead-broker-leaves-in-session",
    "controller-znode-content",
    "controller-epoch-znode-content",
)


@scenario(
    name="controller-failover",
    claim="""When the controller dies, another node becomes controller in a higher epoch and elects leaders for the
        partitions that the dead broker led. No record acknowledged with acks=all is lost.""",
    source="Kafka documentation, Design: replication; KIP-500, KIP-595",
    operator="""The death of the controller needs no action. The partitions that it led have no leader until its session
        expires and a new controller is elected. Expect one longer pause of writes, and no loss with acks=all.""",
    cluster=ClusterPlan(controller=1, combined=True, settings=SETTINGS),
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2))),
    cases={
        "a-broker": Case(
            documented=[
                Documented(
                    on=ranges.CONTROLLER_BY_ONE_TRANSACTION,
                    claims=[*IN_ZOOKEEPER, "controller-and-epoch-in-one-transaction"],
                    source="Kafka documentation, Design: replication; KAFKA-6082",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=[*IN_ZOOKEEPER, "controller-and-epoch-in-two-writes"],
                    source="Kafka documentation, Design: replication",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    on=ranges.KRAFT,
                    claims=ONE_AFTER_THE_OTHER,
                    sentence="""The voters elect another controller, in a higher epoch. It starts every broker's session
                        again. When the dead broker's session expires, it elects leaders for the partitions that this
                        broker led.""",
                    source="KIP-595, KIP-631",
                    basis=Basis.KIP,
                ),
            ]
        ),
        "watched": Case(
            cluster=ClusterPlan(controller=4, settings=SETTINGS, trace=ELECTION_TRACED),
            applies=ranges.ZOOKEEPER,
            documented=[
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=[*ONE_AFTER_THE_OTHER, "one-broker-creates-controller-znode"],
                    sentence="""Every live broker is notified that /controller was deleted. One creates it again; the
                        others are refused, or find that it exists.""",
                    source="ZookeeperLeaderElector.elect (0.8.2.2 to 0.10.2.2), KafkaController.elect (0.11.0.0 to "
                    "3.9.0)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "apart": Case(
            cluster=ClusterPlan(controllers=3, settings=SETTINGS),
            applies=ranges.KRAFT,
            documented=[
                Documented(
                    on=ranges.KRAFT,
                    claims=ONE_AFTER_THE_OTHER,
                    sentence="""The voters elect another controller, in a higher epoch, which elects leaders for the
                        partitions of a broker that dies then.""",
                    source="KIP-595, KIP-631",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
def controller_failover(run: Run) -> None:
    partitions = [run.partition(number) for number in range(3)]
    with run.consume(partitions[0]), run.load(partitions[0], rate_per_s=60, also_idempotent=True) as load:
        load.wait_acked(BEFORE, timeout_s=30)
        for t in partitions:
            run.send(t, 2)

        controller = run.controller()
        led = [t for t in partitions if run.leader_of(t).id == controller.id]
        orphan = (led or partitions)[0]
        leader, others = run.leader_of(orphan), run.followers_of(orphan)
        run.kill(controller)
        if not led:
            run.send(orphan, 2)
            run.wait_controller_other_than(controller)
            run.kill(leader)
        run.send(orphan, 2)
        run.wait_controller_other_than(controller)
        run.wait_leader(orphan, *others)
        for t in partitions:
            run.send(t, 2)

        run.start(controller, *(() if led else (leader,)))
        for t in partitions:
            run.wait_isr(t, run.replicas_of(t))
            run.send(t)
