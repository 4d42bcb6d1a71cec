"""The controller is alone on its side (Kafka documentation, Design: replication; KIP-500, KIP-595; KAFKA-15489).

With ZooKeeper it is a broker without replicas: its session ends, /controller is deleted, and another broker becomes
controller. With KRaft it is one of three separate controllers: the others elect one of themselves, and the brokers,
which cannot reach the old one, turn to the new one. Leaders and followers need no controller to replicate, so writes
continue. A follower that is stopped cleanly then asks the new controller to remove it from the ISR. This shows that the
new controller is active. When the network is back, the old controller has lost the role. With ZooKeeper it does not get
it back while its successor's session lasts; a KRaft quorum may elect it once its log has all that the others have.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.partition import SETTINGS, clients

SOON_S = 10.0
"""Much less than replica.lag.time.max.ms, after which the leader would remove the follower itself."""
SESSION_MS = 9000
"""KRaft's default. Brokers take seconds to find the new controller, and it fences those that have not found it by then.
"""
REPLACED = ["one-controller-at-a-time", "controller-replaced-in-time", "partition-state-never-goes-back"]
CLAIMS = [*REPLACED, "writes-go-on-while-cut"]
DOCUMENTED = [
    Documented(
        on=ranges.FETCHES_HOLD_UP,
        sentence="""The controller is replaced. Writes continue, unless the old one led __consumer_offsets. Then its
            followers are held up by their last fetch of that topic, and start nothing else until it ends.""",
        claims=[*REPLACED, "controller-epoch-rises-by-one"],
        source="KAFKA-6051",
        basis=Basis.JIRA,
    ),
    Documented(
        on=ranges.ZOOKEEPER,
        claims=[*CLAIMS, "controller-epoch-rises-by-one"],
        source="Kafka documentation, Design: replication",
        basis=Basis.DOCUMENTATION,
    ),
    Documented(
        on=ranges.KRAFT,
        sentence="The other controllers elect one of themselves, in a higher epoch, and writes continue.",
        claims=CLAIMS,
        source="KIP-595",
        basis=Basis.KIP,
    ),
]


@scenario(
    name="controller-isolated",
    claim="""A controller that is cut off from all other nodes is replaced, in a higher epoch, and undoes nothing when
        it returns. Writes continue during the cut, and nothing is lost.""",
    source="Kafka documentation, Design: replication; KIP-500, KIP-595; KAFKA-15489",
    operator="""Reads and writes need no controller; elections, ISR changes and new topics do. Alert on
        ActiveControllerCount summed over the cluster: an isolated controller may report itself as active until it
        learns of the new one.""",
    cluster=ClusterPlan(
        controllers=3, session_timeout_ms=SESSION_MS, settings=SETTINGS | {"replica.lag.time.max.ms": "30000"}
    ),
    cases={"acks-1": Case(acks="1", documented=DOCUMENTED), "acks-all": Case(documented=DOCUMENTED)},
)
def controller_isolated(run: Run) -> None:
    t, controller = run.partition(), run.controller()
    leader, followers = run.leader_of(t), run.followers_of(t)
    with clients(run, t) as load:
        run.isolate(controller)
        successor = run.wait_controller_other_than(controller)
        # Not the successor itself: as that leaves, the leader takes it back into the ISR (seen on 0.10.2.2).
        follower, other = sorted(followers, key=lambda one: one.node.name == successor.node.name)
        run.stop(follower)
        run.wait_isr(t, [leader, other], SOON_S)
        load.wait_more(40, timeout_s=30)

        run.heal_network()
        if run.version.mode == "zookeeper":
            run.wait_registered([controller])
        run.start(follower)
        run.wait_isr(t, run.replicas_of(t))
    if run.version.mode == "zookeeper":  # the successor's /controller is there as long as its session
        run.claim(
            "the old controller is not the controller again", run.controller().id != controller.id, witness="metadata"
        )
    run.send(t)
