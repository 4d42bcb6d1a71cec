"""Where Kafka places the replicas of new topics (Kafka sources: AdminUtils, StripedReplicaPlacer).

On clusters of three, four and five brokers, topics are created with one, two and three replicas, without an assignment.
With ZooKeeper the first replica of partition i is on broker (s+i) mod n of some order with a random start. The second
replica follows by a shift, and the shift grows by one after each round of all brokers. So brokers that share one
partition share few others. KRaft puts the brokers in a random order for each round, and each partition on brokers that
follow each other in it. Either way leaders and replicas are evenly spread.

In `racks` two brokers are in one rack and two in another. The replicas of a partition then lie in both (KIP-36).

The code ran in the tool kafka-topics before 0.10.1; from then on it runs in the controller, which is asked by
CreateTopics. The assignment is read from /brokers/topics/T, or from the metadata log.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, ranges, scenario

TURNS = 3
DOCUMENTED = (
    Documented(
        on=ranges.ZOOKEEPER,
        claims=["replicas-placed-evenly", "replicas-placed-by-shift"],
        source="AdminUtils.assignReplicasToBrokers (0.8.2.2 to 3.9.2)",
        basis=Basis.SOURCE,
    ),
    Documented(
        on=ranges.KRAFT,
        claims=["replicas-placed-evenly", "replicas-placed-in-stripes"],
        sentence="""Kafka puts the brokers in a random order for each round, and the replicas of a partition on brokers
            that follow each other in it. Leaders and replicas are evenly spread.""",
        source="StripedReplicaPlacer (3.9.2, 4.3.1)",
        basis=Basis.SOURCE,
    ),
)

RACKS = {"1:broker.rack": "east", "2:broker.rack": "east", "3:broker.rack": "west", "4:broker.rack": "west"}


def brokers(count: int) -> Case:
    """The case of a cluster with this many brokers."""
    return Case(cluster=ClusterPlan(brokers=tuple(range(1, count + 1)), controller=1), documented=DOCUMENTED)


@scenario(
    name="replica-assignment",
    claim="""Kafka places the first replicas of a new topic's partitions round-robin on the brokers, and the others
        behind them by a shift that grows with each round. Leaders and replicas are evenly spread.""",
    source="Kafka documentation, Design: replication; Kafka sources: AdminUtils.assignReplicasToBrokers, "
    "StripedReplicaPlacer; KIP-36",
    operator="""Give a topic as many partitions as there are brokers, or a multiple of that: each broker then leads as
        many partitions as any other. Brokers that join later get no existing partitions: move partitions to them
        yourself.""",
    cluster=ClusterPlan(controller=1),
    cases={
        "three-brokers": brokers(3),
        "four-brokers": brokers(4),
        "five-brokers": brokers(5),
        "racks": Case(
            cluster=ClusterPlan(brokers=(1, 2, 3, 4), controller=1, settings=RACKS),
            applies=ranges.RACKS,
            documented=[
                Documented(
                    claims=["replicas-spread-over-racks"],
                    sentence="""Each partition has a replica in both racks, if it has two or more.""",
                    source="KIP-36; Kafka documentation, Balancing replicas across racks",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
def replica_assignment(run: Run) -> None:
    run.send(run.partition())
    for replication in (1, 2, 3):
        partitions = TURNS * len(run.cluster.brokers)
        run.create_topic_anywhere(f"placed-{replication}", partitions=partitions, replication=replication)
