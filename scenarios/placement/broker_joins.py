"""A new broker is added to the cluster (Kafka documentation, Expanding your cluster).

Three brokers have a topic with a load on it when a fourth one joins, with an id and an empty disk of its own. It is
registered, and gets none of the existing partitions: only an operator moves them. A topic that is created afterwards
has partitions on the new broker too.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, TopicPlan, scenario

NEW = 4
PARTITIONS = 8
"""Two for each of the four brokers."""

CLAIMS = ("joined-broker-gets-no-old-partition", "joined-broker-gets-share-of-new-topics", "replicas-placed-evenly")


@scenario(
    name="broker-joins",
    claim="""A broker that joins gets none of the existing partitions, and its share of topics that are created from
        then on.""",
    source="Kafka documentation, Expanding your cluster",
    operator="""A new broker takes no existing load. Move partitions to it (kafka-reassign-partitions), or it serves new
        topics only.""",
    cluster=ClusterPlan(brokers=(1, 2, 3), controller=1, joins=(NEW,)),
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2))),
    documented=[
        Documented(
            claims=CLAIMS,
            source="Kafka documentation, Expanding your cluster",
            basis=Basis.DOCUMENTATION,
        )
    ],
)
def broker_joins(run: Run) -> None:
    t = run.partition()
    with run.load(t, rate_per_s=50) as load:
        load.wait_acked(50, timeout_s=60)
        run.add_broker(NEW)
        run.create_topic_anywhere("made-later", partitions=PARTITIONS, replication=2)
        load.wait_more(50, timeout_s=60)
    run.send(t)
