"""The leader is cut from all other nodes and keeps its clients (Kafka documentation, producer configuration: acks).

Each subject sends seven records as soon as the leader is alone. It acknowledges acks=1 alone. It cannot acknowledge
acks=all, because it cannot change the ISR without ZooKeeper or the controller. Its session ends, a follower is elected,
and when the network is whole again the old leader truncates.

replica.lag.time.max.ms is longer than all this: before protocol 2.7 a leader that shrinks the ISR waits for ZooKeeper,
and answers no client until then (scenarios/partition/leader_isolated.py).
"""

from harness.words import (
    FIRST,
    LOST,
    Basis,
    ClusterPlan,
    Documented,
    Outcome,
    Producer,
    Run,
    Subject,
    Subjects,
    Topic,
    scenario,
)
from scenarios.audit import (
    ACKS_DOC,
    AUDITED,
    CLUSTER,
    IN_FLIGHT_DOC,
    OPERATOR,
    accepted,
    again,
    alone,
    end_waiting_fetches,
    others,
    overtakes,
    plan,
    retries,
    unanswered,
)

RECORDS_WHILE_CUT_OFF = 7


def stated(producer: Producer, topic: Topic) -> Outcome:
    if topic.replication_factor == 1:
        return Outcome(
            why="Nobody else can be elected: the leader is the same before and after.",
            source=ACKS_DOC,
            basis=Basis.DOCUMENTATION,
        )
    may = {"reorders"} if overtakes(producer) else set()
    if producer.acks != "all":
        return Outcome(
            must=frozenset({"loses"}),
            may=frozenset(may),
            why="The leader acknowledges records that no follower can fetch, and truncates them when it is back."
            + again(producer),
            source=f"{ACKS_DOC}; {IN_FLIGHT_DOC}" if may else ACKS_DOC,
            basis=Basis.DOCUMENTATION,
        )
    # librdkafka sends what it has not been answered to the next leader, which refuses it for want of replicas, once.
    once = producer.client == "librdkafka" and not retries(producer)
    refused = {"refuses"} if once and topic.replication_factor == topic.min_insync_replicas else set()
    return Outcome(
        must=frozenset(refused),
        may=frozenset(may),
        why="The leader waits for followers that cannot fetch, so it acknowledges nothing with acks=all."
        + again(producer),
        source=f"{ACKS_DOC}; {IN_FLIGHT_DOC}" if may else ACKS_DOC,
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-leader-cut-off",
    claim="""A leader that is cut off from all other nodes still acknowledges acks=1, and those records are lost. With
        acks=all it acknowledges nothing.""",
    source=ACKS_DOC,
    operator=OPERATOR,
    cluster=ClusterPlan(settings=CLUSTER | {"replica.lag.time.max.ms": "30000"}),
    documented=[
        Documented(
            allowed=LOST,
            source=ACKS_DOC,
            basis=Basis.DOCUMENTATION,
        )
    ],
    applies=AUDITED,
)
def leader_cut_off(run: Run) -> None:
    t = run.partition()
    subjects = Subjects(run, plan(run, stated))

    def taken(one: Subject) -> bool:
        return alone(one) and accepted(one, run.version)

    subjects.begin(lambda one: accepted(one, run.version))
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.isolate(leader)
    end_waiting_fetches(run, leader)
    subjects.send(RECORDS_WHILE_CUT_OFF, expected_loss=lambda one: taken(one) and others(one))
    subjects.wait_acknowledged(FIRST + RECORDS_WHILE_CUT_OFF, taken)
    subjects.wait_log_end(FIRST + RECORDS_WHILE_CUT_OFF, leader, taken)
    run.claim(
        "the leader acknowledges nothing with acks=all while it is alone",
        all(one.tally.ok <= FIRST for one in subjects.of(lambda one: not alone(one))),
    )
    subjects.wait_led(*followers, which=others)
    run.heal_network()
    run.wait_registered([leader])
    subjects.wait_whole()
    subjects.settle()
    subjects.send(2, expected_loss=lambda one: unanswered(one) and others(one))
    subjects.settle()
