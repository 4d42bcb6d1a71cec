"""Deleting one topic ends every broker that holds it (KAFKA-4893).

A topic's name may have 249 characters. To delete a partition a broker renames its directory to <topic>-<partition>.<32
hexadecimal digits>-delete, which for names from 214 characters on is longer than the 255 bytes that file systems take.
From 1.0 on a broker takes a directory that fails for a broken disk (KIP-112): it gives up the log directory, and a
broker that has no other ends itself. All who hold the topic are told in the same moment.

Started again, they are told again: the deletion stands in ZooKeeper until it is done, and the controller, here a broker
without replicas, goes on with it. It is withdrawn while all are down, which is what an operator has to find out during
the outage. Nothing is lost.
"""

from harness.words import Basis, Bug, ClusterPlan, Documented, Exhibit, Run, TopicPlan, ranges, scenario

KAFKA_4893 = Bug(
    id="KAFKA-4893",
    title="deleting a topic with a long name ends every broker that holds it",
    whom="whoever deletes a topic with a name of 214 characters or more",
    since="1.0.0",
    fixed=("2.2.2", "2.3.0"),
    commits=("e6563aab722", "bda2a02ce7d"),
)
LONGEST = ("long-topic-name-" * 16)[:249]
"""The longest name that a topic may have."""


@scenario(
    name="museum-long-topic-name",
    claim="""One request to delete a topic with a long name ends every broker that holds it, within seconds of each
        other, and each again when it is started.""",
    source="KAFKA-4893",
    operator="""Before 2.2.2, keep topics' names under 214 characters, and do not delete one that has more. If it
        happened: stop the other brokers too, delete /admin/delete_topics/NAME in ZooKeeper, then start all.""",
    exhibit=Exhibit(bug=KAFKA_4893, affected=("1.1.1",), fixed=("2.2.2",)),
    applies=ranges.TOPICS_BY_REQUEST,
    cluster=ClusterPlan(settings={"delete.topic.enable": "true"}),
    documented=[
        Documented(
            on=KAFKA_4893.affected,
            required=frozenset({"correlated-crash"}),
            source=KAFKA_4893.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_4893.unaffected,
            sentence="The topic is deleted, and every broker goes on.",
            source=KAFKA_4893.id,
            basis=Basis.JIRA,
        ),
    ],
)
def long_topic_name(run: Run) -> None:
    t = run.partition()
    run.send(t, 3)
    run.create_topic(TopicPlan(name=LONGEST, replicas=run.topic.replicas))

    run.delete_topic(LONGEST)
    if KAFKA_4893.affects(run.version):
        for broker in run.replicas_of(t):
            run.expect_exit(broker, "Shutdown broker because all log dirs in .* have failed")
        controller = run.controller()
        run.stop(controller)
        run.withdraw_deletion(LONGEST)
        run.start(controller, *run.replicas_of(t))
    else:
        run.wait_deleted(LONGEST)

    run.wait_isr(t, run.replicas_of(t))
    run.send(t)
