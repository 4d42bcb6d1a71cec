"""A topic is deleted and created again while a broker is down, and its replica there is never created (KAFKA-14616).

A broker that returns finds on its disk the directory of the deleted topic. With KRaft, until 3.7, the replica manager
looked at the new topic first, found a directory with the id of the old one, and refused to create the replica
(InconsistentTopicIdException). Only then did the broker delete the stray directory. It does not try again before its
next restart. The partition stays under-replicated, and with min.insync.replicas=2 it refuses acks=all.
"""

from harness.words import (
    LOST,
    Basis,
    Border,
    Bug,
    Documented,
    Exhibit,
    Partition,
    Run,
    Side,
    TopicPlan,
    ranges,
    scenario,
)

KAFKA_14616 = Bug(
    id="KAFKA-14616",
    title="a topic that is deleted and created again while a broker is down has no replica there until a second "
    "restart",
    touches="topics that are made again",
    whom="clusters where a topic is deleted and created again while a broker is down",
    since=Border(
        "3.0.0",
        "KAFKA-13127",
        Side("2.8.2", "BrokerMetadataListener does not compare a log's topic id, and deletes no stray directory"),
        Side(
            "3.0.0",
            "BrokerMetadataPublisher.publish applies the topics, which refuses the old id, and deletes stray "
            "replicas afterwards",
        ),
    ),
    fixed=("3.7.0",),
    commits=("f7feb43af35", "5a861075bdd"),
    mode="kraft",
)
WATCHED_S = 30.0
OF_THE_DELETED = LOST | {"inconsistent-offsets"}
"""The traces of the requested deletion: the records are deleted, and their offsets are given to others. They are there
each time, and are no harm, so they are not required.
"""
DELETED = (
    "The deleted records, and their offsets that are given to others, show as lost-write and inconsistent-offsets."
)
EPOCH_ROSE = frozenset({"leader-epoch-regression"})
SOON = {"message.timeout.ms": "5000"}


@scenario(
    name="museum-made-again",
    claim="""A topic that was deleted and created again while a broker was down has no replica on that broker, and
        refuses writes with acks=all, until that broker is restarted once more.""",
    source="KAFKA-14616",
    operator="""Do not create a topic again under its old name while a broker is down. If it happened, restart that
        broker once more.""",
    exhibit=Exhibit(bug=KAFKA_14616, affected=("3.5.1-kraft",), fixed=("3.9.2-kraft",)),
    applies=ranges.KRAFT,
    documented=[
        Documented(
            on=KAFKA_14616.affected,
            allowed=OF_THE_DELETED | EPOCH_ROSE,
            deletes=True,
            claims=["restarted-replica-stays-out"],
            sentence=f"""The broker that returns refuses to create the replica of the new topic, which refuses acks=all
                until it is restarted once more. {DELETED} Before 3.6 leader epochs go back too: there the controller
                raised the deleted topic's when it removed the dead broker from its ISR.""",
            source=f"{KAFKA_14616.id}; "
            "KAFKA-15021: PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded (3.5.2, 3.6.0)",
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_14616.unaffected,
            allowed=OF_THE_DELETED,
            deletes=True,
            claims=["restarted-replicas-return"],
            sentence=f"""The broker moves the stray directory aside, creates the new replica, and is in sync within
                seconds. {DELETED}""",
            source=KAFKA_14616.id,
            basis=Basis.JIRA,
        ),
    ],
)
def made_again(run: Run) -> None:
    kept = run.partition()
    run.send(kept, 3)
    first, second, _ = run.replicas_of(kept)
    plan = TopicPlan(name="again", replicas=((first.id, second.id),), settings={"min.insync.replicas": "2"})
    run.create_topic(plan)
    t = Partition(plan.name, 0)
    run.send(t, 3, expected_loss=True)

    run.kill(second)
    run.wait_isr(t, [first])
    run.delete_topic(plan.name)
    run.create_topic(plan, without=[second])
    run.start(second)
    if KAFKA_14616.affects(run.version):
        run.let_pass(WATCHED_S, "the replica has had its time to come back")
        (refused,) = run.send(t, must=False, settings=SOON)
        run.claim("a record with acks=all is not acknowledged", refused.outcome != "ok", seen=refused.error_name)
        run.stop(second)
        run.start(second)
    run.wait_isr(t, [first, second])
    run.send(t)
