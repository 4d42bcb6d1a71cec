"""A controller that is cut off from the other controllers remains the brokers' controller, and nothing is decided
(KAFKA-15489).

KRaft's controllers are a quorum, and its leader is the active controller. If the others cannot reach it, they elect
another. But until 3.7 it did not resign: a leader from which no voter fetches stayed leader, and brokers follow any
leader that answers them. So there are two. The brokers follow one that can commit nothing, and no broker asks the
other, which has a majority. While the cut lasts, a partition whose leader dies gets no other leader, no topic can be
created, and no ISR shrinks, although every broker reaches a majority of the controllers.

From 3.7 on the isolated one resigns when no majority has fetched from it for 1.5 times
controller.quorum.fetch.timeout.ms, and brokers find the new one.
"""

from harness.words import Basis, Border, Bug, ClusterPlan, Documented, Exhibit, Run, Side, TopicPlan, ranges, scenario

KAFKA_15489 = Bug(
    id="KAFKA-15489",
    title="a controller that is cut off from the other controllers stays active: no failover while the cut lasts",
    touches="three controllers, a cut between them",
    whom="clusters with three controllers, when the active one loses only its links to the other two",
    since=Border(
        "2.8.0",
        "KIP-500, KIP-595",
        Side("2.7.2", "brokers have no KRaft controllers: there is no BrokerServer and no ControllerServer"),
        Side("2.8.0", "raft.LeaderState does not ask whether a majority of the voters still fetches"),
    ),
    fixed=("3.7.0",),
    commits=("37416e1aeba",),
    mode="kraft",
)
WATCHED_S = 30.0
PATIENT = {f"{broker}:controller.quorum.fetch.timeout.ms": "20000" for broker in (1, 2)}
"""On a busy machine a broker that waits for 2 s looks for another leader without this bug."""


@scenario(
    name="museum-isolated-controller",
    claim="""While the active controller is cut off from the other controllers alone, a partition whose leader dies gets
        no other leader, although an in-sync replica is up and most controllers agree.""",
    source="KAFKA-15489, KIP-595",
    operator="""Alert if two nodes report to be the active controller (ActiveControllerCount), and stop the one with the
        lower epoch by hand.""",
    exhibit=Exhibit(bug=KAFKA_15489, affected=("3.5.1-kraft",), fixed=("3.9.2-kraft",)),
    applies=ranges.KRAFT,
    cluster=ClusterPlan(brokers=(1, 2), controllers=3, settings={"min.insync.replicas": "1"} | PATIENT),
    topic=TopicPlan(replicas=((1, 2),)),
    documented=[
        Documented(
            on=KAFKA_15489.affected,
            claims=["dead-leader-is-not-replaced"],
            source=KAFKA_15489.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_15489.unaffected,
            claims=["writes-resume-in-time"],
            sentence="The isolated controller steps down, and the others move the leadership.",
            source=KAFKA_15489.id,
            basis=Basis.JIRA,
        ),
    ],
)
def isolated_controller(run: Run) -> None:
    t = run.partition()
    run.send(t, 3)
    active = run.controller()
    others = [run.node(name) for name in sorted(run.cluster.nodes) if name.startswith("controller-")]
    others = [other for other in others if other.id != active.id]

    leader, follower = run.leader_of(t), run.followers_of(t)[0]
    run.cut([active], others)
    run.wait_controller(*others)
    run.kill(leader)
    if KAFKA_15489.affects(run.version):
        run.let_pass(WATCHED_S, "the partition has had its time to get another leader")
    else:
        run.wait_leader(t, follower)
        run.send(t, 3)
    run.heal_network()
    run.start(leader)
    run.wait_isr(t, [leader, follower])
    run.send(t)
