"""The leader dies: the first live in-sync replica in the order of the assignment leads (Kafka documentation, Design:
replication).

Three replicas A, B and C, assigned in this order. A producer sends and a consumer reads all the time. A dies and B
leads. A returns and is the last to join the ISR. Then B dies. C was in sync all the time and stands before A in the
ISR, but A leads, because it comes first in the assignment. Each election raises the leader epoch by one and leaves only
live replicas in the ISR. It is recorded with the epoch of the controller that held it.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.controller import BEFORE

CLAIMS = (
    "leader-is-first-in-assignment",
    "leader-elected-from-isr",
    "leader-epoch-rises-by-one",
    "election-leaves-live-replicas",
    "election-in-the-controllers-epoch",
    "dead-broker-leaves-in-session",
    "leader-replaced-in-time",
    "writes-resume-in-time",
)


@scenario(
    name="offline-leader-election",
    claim="""When the leader dies, the first live in-sync replica in the order of the assignment leads, in the next
        leader epoch, with an ISR of live replicas. No record acknowledged with acks=all is lost.""",
    source="Kafka documentation, Design: replication; Kafka sources, OfflinePartitionLeaderSelector, "
    "PartitionLeaderElectionAlgorithms, PartitionChangeBuilder",
    operator="""After a broker's death the next live in-sync replica in the order of the assignment leads. So the order
        of replicas decides where the load goes. Spread first and second replicas over different brokers.""",
    cluster=ClusterPlan(settings={"replica.socket.timeout.ms": "3000"}),
    documented=[
        Documented(
            on=ranges.ZOOKEEPER,
            claims=[*CLAIMS, "topic-znode-content", "state-znode-content"],
            source="OfflinePartitionLeaderSelector (0.8.2.2 to 1.0.2), "
            "PartitionLeaderElectionAlgorithms (1.1.1 to 3.9.2)",
            basis=Basis.SOURCE,
        ),
        Documented(
            on=ranges.KRAFT,
            claims=[*CLAIMS, "partition-records-content"],
            source="PartitionChangeBuilder (3.9.2, 4.3.1)",
            basis=Basis.SOURCE,
        ),
    ],
)
def offline_leader_election(run: Run) -> None:
    t = run.partition()
    a, b, c = run.replicas_of(t)
    with run.consume(t) as consumer, run.load(t, rate_per_s=50, also_idempotent=True) as load:
        load.wait_acked(BEFORE, timeout_s=30)
        run.send(t, 3)

        run.kill(a)
        run.send(t, 2)
        run.wait_leader(t, b)
        run.start(a)
        run.wait_isr(t, [a, b, c])

        run.kill(b)
        run.send(t, 2)
        run.wait_leader(t, a)
        run.start(b)
        run.wait_isr(t, [a, b, c])
        run.send(t)
        consumer.wait_read(load.wait_acked(200, timeout_s=30).acked, timeout_s=30)
