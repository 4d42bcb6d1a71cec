"""Deleting one topic makes every broker exit that holds it (KAFKA-4893).

A topic's name may have 249 characters. To delete a partition a broker renames its directory to <topic>-<partition>.<32
hexadecimal digits>-delete, which for names from 214 characters on is longer than the 255 bytes that file systems take.
From 0.10.2 to 0.11 the topic is never deleted then, and nothing else happens. From 1.0 on a broker treats a failing
directory as a broken disk (KIP-112). It takes the log directory offline, and exits if it has no other. All brokers that
hold the topic get the request at the same moment.

When they are restarted, they get it again: the deletion is in ZooKeeper until it is done, and the controller, here a
broker without replicas, repeats it. The deletion is withdrawn while all brokers are down; an operator has to find that
out during the outage. No record is lost.
"""

from harness.words import Basis, Border, Bug, ClusterPlan, Documented, Exhibit, Run, Side, TopicPlan, ranges, scenario
from scenarios.replication.offset_checkpoints import DIRECTORY_FAILED

KAFKA_4893 = Bug(
    id="KAFKA-4893",
    title="deleting a topic with a long name makes every broker exit that holds it",
    touches="topic names of 214 characters",
    whom="clusters where a topic with a name of 214 characters or more is deleted",
    since=Border(
        "1.0.0",
        "KIP-112",
        Side(
            "0.11.0.2",
            "Partition.delete halts the broker for an IOException, and a failed rename is a "
            "KafkaStorageException, which it does not catch",
        ),
        Side("1.0.0", "LogManager.asyncDelete takes the log directory offline when the rename fails"),
    ),
    fixed=("2.2.2", "2.3.0"),
    commits=("e6563aab722", "bda2a02ce7d"),
)
LONGEST = ("long-topic-name-" * 16)[:249]
"""The maximum length of a topic's name."""


@scenario(
    name="museum-long-topic-name",
    claim="""After one request to delete a topic with a long name, every broker that holds the topic exits within
        seconds, and again after each restart.""",
    source="KAFKA-4893",
    operator="""Keep topics' names under 214 characters, and do not delete one that has more. If it happened: stop the
        other brokers too, delete /admin/delete_topics/NAME in ZooKeeper, then start all.""",
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
            on=ranges.DELETION_RENAMES,
            sentence="The rename fails. Every broker stays up, and the topic's directories stay, too.",
            source="Kafka sources, LogManager.asyncDelete and Partition.delete (0.10.2.0, 0.11.0.2)",
            basis=Basis.SOURCE,
        ),
        Documented(
            on=KAFKA_4893.unaffected,
            sentence="The topic is deleted, and every broker stays up.",
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
            run.expect_exit(broker, DIRECTORY_FAILED)
        controller = run.controller()
        run.stop(controller)
        run.withdraw_deletion(LONGEST)
        run.start(controller, *run.replicas_of(t))
    elif ranges.DELETION_RENAMES.holds(run.version):
        for broker in run.replicas_of(t):
            run.wait_log_line(broker, "Failed to rename log directory", "its directory cannot be renamed")
    else:
        run.wait_deleted(LONGEST)

    run.wait_isr(t, run.replicas_of(t))
    run.send(t)
