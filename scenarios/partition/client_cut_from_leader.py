"""Clients are cut off from one leader, and the cluster is whole (Kafka documentation, Design: replication).

The cluster notices nothing: the leader's followers fetch, its session lasts, and it is in every ISR. So it remains the
leader. Nothing is written to its partition or read from it until clients reach it again. The partition that another
broker leads continues. Kafka elects leaders by what brokers see, not by what clients see.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, TopicPlan, scenario
from scenarios.partition import RATE_PER_S, SETTINGS, clients

SESSIONS = 2
DOCUMENTED = [
    Documented(
        claims=["no-writes-while-clients-are-cut", "writes-go-on-while-cut"],
        source="Kafka documentation, Design: replication; "
        "broker configuration: zookeeper.session.timeout.ms, broker.session.timeout.ms",
        basis=Basis.DOCUMENTATION,
    )
]


@scenario(
    name="client-cut-from-leader",
    claim="""A leader that clients cannot reach remains the leader, however long that lasts. Its partition takes no
        writes until they reach it again, other partitions do, and nothing is lost.""",
    source="Kafka documentation, Design: replication; broker configuration: zookeeper.session.timeout.ms, "
    "broker.session.timeout.ms",
    operator="""Every client must reach every broker that leads; Kafka does not notice when one does not. Alert on
        clients' errors by broker, and move the leadership (a preferred election, or a clean stop) to a broker that they
        reach.""",
    cluster=ClusterPlan(settings=SETTINGS),
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1))),
    cases={"acks-1": Case(acks="1", documented=DOCUMENTED), "acks-all": Case(documented=DOCUMENTED)},
)
def client_cut_from_leader(run: Run) -> None:
    t, reached = run.partition(0), run.partition(1)
    leader = run.leader_of(t)
    with clients(run, t) as load:
        run.cut_clients(leader)
        # Half of the load goes to the partition that is reached: so long as this takes, sessions would have ended.
        sessions_s = SESSIONS * run.cluster.plan.session_timeout_ms / 1000
        load.wait_more(int(RATE_PER_S / 2 * sessions_s), timeout_s=60)
        epochs, isrs = zip(*((run.state_of(p).leader_epoch, run.state_of(p).isr) for p in (t, reached)), strict=True)
        whole, both = all(len(isr) == 3 for isr in isrs), [t, reached]
        run.claim("nobody was elected", epochs == (0, 0), witness="metadata", about=both, epochs=epochs)
        run.claim("every ISR is whole", whole, witness="metadata", about=both, isrs=isrs)

        run.heal_network()
        load.wait_more(int(RATE_PER_S * sessions_s), timeout_s=60)
    run.send(t)
