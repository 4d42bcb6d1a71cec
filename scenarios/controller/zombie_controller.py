"""A replaced controller that does not know it does no harm (Kafka documentation, Design: replication; KIP-500).

A producer sends to every partition, and a consumer reads them, throughout.

Frozen: the controller stands still for longer than its session, and another takes over, in a higher epoch. The old
controller continues and finds that it is a broker like the others. Apart (KRaft): it is one of three controllers that
are not brokers. The other two elect one of themselves while writes continue, and the old controller follows it when it
continues.

Cut off, with ZooKeeper: the controller first loses the network to one broker, X. The leader of another partition dies,
so the controller has a request for X and keeps trying to send it. Then the controller loses ZooKeeper, and X becomes
controller. The old controller still takes itself for the controller when it reaches X again. Its request carries the
old epoch, and X refuses it.

Old view, with ZooKeeper: the controller stands still while a broker dies, and an operator deletes /controller, as
operators do to force an election. The old controller's session lasts. When it resumes it first learns that the broker
has died, and only then of the election. So it acts with its old view, and ZooKeeper answers it. It reads that a newer
controller has written the partition's state, and leaves it. In 2.1 and 2.2 it has another partition to write, of which
the dead broker was a follower: ZooKeeper refuses that, for /controller_epoch has changed (`fenced`). Before 2.1
ZooKeeper takes it, and the leader of that partition goes by a state that is no longer there (`unfenced`).
"""

from collections.abc import Callable
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Run, Target, TopicPlan, ranges, scenario
from scenarios.controller import BEFORE

SETTINGS = {"replica.socket.timeout.ms": "3000"}
APART_SESSION_MS = 9000
"""KRaft's default. Brokers take seconds to find the new controller, and it fences those that have not found it by then.
"""
OUTDATED = r"written by another controller|zkVersion check fails"
KEEPS_ITS_SESSION = ClusterPlan(
    brokers=(1, 2, 3, 4),
    controller=4,
    settings=SETTINGS | {"4:zookeeper.session.timeout.ms": "60000", "replica.lag.time.max.ms": "60000"},
)
"""The controller's session outlasts its standing still, and no leader takes the dead broker out of an ISR."""
NO_HARM = ["one-controller-at-a-time", "partition-state-never-goes-back"]


def replaced(run: Run, sequence: Callable[[Run], None]) -> None:
    """A producer and a consumer are at work while the controller is replaced, and no partition has lost a replica."""
    partitions = [run.partition(number) for number in range(3)]
    with run.consume(partitions[0]), run.load(partitions[0], rate_per_s=60, also_idempotent=True) as load:
        load.wait_acked(BEFORE, timeout_s=30)
        for t in partitions:
            run.send(t, 2)
        sequence(run)
        for t in partitions:
            run.wait_isr(t, run.replicas_of(t))
            run.send(t)


def stays_replaced(run: Run, zombie: Target) -> None:
    """With ZooKeeper Kafka owes that a controller that was replaced is not the controller again, as long as the session
    of its successor lasts. Voters of a KRaft quorum may elect it again once its log has all that theirs have (KIP-595).
    """
    run.claim("the old controller is not the controller again", run.controller().id != zombie.id, witness="metadata")


def frozen(run: Run) -> None:
    """The controller stands still for longer than its session, and continues."""
    zombie = run.controller()
    (led,) = (t for t in map(run.partition, range(3)) if run.leader_of(t).id == zombie.id)
    others = run.followers_of(led)
    run.freeze(zombie)
    run.wait_controller(*others)
    run.wait_leader(led, *others)
    run.wait_unregistered(zombie)
    # A client that knows of the frozen broker would wait for its answer.
    run.send(led, 2, only=others[0])
    run.thaw()
    run.wait_registered([zombie])


def frozen_apart(run: Run) -> None:
    """A controller that is not a broker stands still, and continues when another is active."""
    zombie, t = run.controller(), run.partition()
    leader, (follower, other) = run.leader_of(t), run.followers_of(t)
    run.freeze(zombie)
    run.wait_controller_other_than(zombie)
    run.stop(follower)
    run.wait_isr(t, [leader, other])
    run.send(t, 2)
    run.thaw()
    run.start(follower)


def cut_off(run: Run) -> None:
    """The controller has a request for a broker that it does not reach, and reaches it when that one is controller."""
    zombie, t = run.controller(), run.partition(1)
    leader, (other, _) = run.leader_of(t), run.followers_of(t)
    run.cut([zombie], [other])
    run.kill(leader)
    run.wait_leader(t, other)
    run.cut([zombie], [run.coordinator()])
    run.wait_controller(other)
    run.heal_network(zombie, other)
    run.wait_log_line(other, r"Latest known controller epoch", "that it refuses a request of the old controller")
    run.heal_network()
    run.start(leader)
    run.wait_registered([zombie])


def old_view(run: Run) -> None:
    """The controller hears of a death first, and of its own replacement after it has acted on that."""
    zombie, t = run.controller(), run.partition()
    leader, (other,) = run.leader_of(t), run.followers_of(t)
    run.send(t, 2)
    run.freeze(zombie)
    run.kill(leader)
    run.wait_unregistered(leader)
    run.remove_controller()
    run.wait_controller_other_than(zombie)
    run.wait_leader(t, other)
    run.thaw()
    run.wait_log_line(zombie, OUTDATED, "that it has found or heard of the newer controller")
    # The successor's /controller is there as long as its session (Kafka documentation, Design: replication).
    stays_replaced(run, zombie)
    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 2)


def unfenced(run: Run) -> None:
    """The same, and the old controller's write of another partition's state is taken: its leader must start anew to
    hear of that.
    """
    follows = run.partition(1)
    leader = run.leader_of(follows)
    old_view(run)
    run.wait_isr(follows, [leader])
    run.kill(leader)
    run.wait_unregistered(leader)
    run.start(leader)
    for t in (run.partition(), follows):
        run.wait_isr(t, run.replicas_of(t))
        run.send(t)


scenario(
    name="zombie-controller",
    claim="""A controller that stands still or is cut off for longer than its session is replaced, in a higher epoch.
        Brokers refuse its later requests, and no partition's state goes back.""",
    source="Kafka documentation, Design: replication; KAFKA-6082, KIP-500, KIP-595",
    operator="""A controller that wakes up after a long pause does no harm: brokers refuse its requests. Watch for long
        garbage collections and network trouble of the controller, because each of them costs an election.""",
    cluster=ClusterPlan(controller=1, combined=True, settings=SETTINGS),
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2))),
    cases={
        "frozen": Case(
            steps=partial(replaced, sequence=frozen),
            documented=[
                Documented(
                    claims=[*NO_HARM, "controller-replaced-in-time"],
                    source="Kafka documentation, Design: replication",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "frozen-apart": Case(
            steps=partial(replaced, sequence=frozen_apart),
            cluster=ClusterPlan(controllers=3, session_timeout_ms=APART_SESSION_MS, settings=SETTINGS),
            applies=ranges.KRAFT,
            documented=[
                Documented(
                    on=ranges.KRAFT,
                    claims=[*NO_HARM, "controller-replaced-in-time"],
                    source="KIP-595",
                    basis=Basis.KIP,
                )
            ],
        ),
        "cut-off": Case(
            steps=partial(replaced, sequence=cut_off),
            applies=ranges.ZOOKEEPER,
            documented=[
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=[*NO_HARM, "stale-controller-refused"],
                    source="ReplicaManager.becomeLeaderOrFollower: STALE_CONTROLLER_EPOCH (0.8.2.2 to 3.9.2)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "old-view": Case(
            steps=old_view,
            cluster=KEEPS_ITS_SESSION,
            replicas=((1, 2),),
            applies=ranges.ZOOKEEPER,
            documented=[
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=[*NO_HARM, "replaced-controller-leaves-newer-state"],
                    source="PartitionStateMachine: electLeaderForPartition (0.8.2.2 to 1.0.2), "
                    "doElectLeaderForPartitions (1.1.1 to 3.9.0)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "unfenced": Case(
            steps=unfenced,
            cluster=KEEPS_ITS_SESSION,
            settings={"unclean.leader.election.enable": "false"},
            replicas=((1, 2), (2, 1)),
            applies=ranges.CONTROLLER_IS_NOT_FENCED,
            documented=[
                Documented(
                    on=ranges.CONTROLLER_IS_NOT_FENCED,
                    claims=["one-controller-at-a-time", "replaced-controller-still-writes"],
                    sentence="""A controller that was replaced and does not know it still removes a dead broker from an
                        ISR.""",
                    source="KAFKA-6082",
                    basis=Basis.JIRA,
                )
            ],
        ),
        "fenced": Case(
            steps=old_view,
            cluster=KEEPS_ITS_SESSION,
            replicas=((1, 2), (2, 1)),
            applies=ranges.CONTROLLER_IS_FENCED_BEFORE_FOLLOWERS_LEAVE,
            documented=[
                Documented(
                    on=ranges.CONTROLLER_IS_FENCED_BEFORE_FOLLOWERS_LEAVE,
                    claims=[*NO_HARM, "replaced-controller-is-fenced"],
                    source="KAFKA-6082; KafkaZkClient: retryRequestsUntilConnected (2.1.0)",
                    basis=Basis.JIRA,
                )
            ],
        ),
    },
)
