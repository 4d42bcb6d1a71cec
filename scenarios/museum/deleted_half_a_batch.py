"""Records deleted up to the middle of a batch, and a follower never catches up again (KAFKA-6975).

DeleteRecords (KIP-107) moves the start of a log, to any offset. Records are stored and fetched in whole batches. A
follower that returns with a log before the new start begins at the new start, and gets the whole batch around it. The
first records of that batch lie before the start, so they are out of order for the follower's log. Until 1.0.2 and 1.1.1
that error ended the fetcher thread. With it ended the replication of every partition that this broker fetches from the
same leader, also of those in which nothing was deleted.

The follower stays out of the ISR, and a restart fails again. If the leader dies then, the partitions are offline. To
repair it, stop the follower, delete up to the end of the batch (while the follower runs, that request waits for it in
vain), and start the follower again.
"""

from harness.words import (
    Basis,
    Border,
    Bug,
    ClusterPlan,
    Documented,
    Exhibit,
    Partition,
    Run,
    Side,
    TopicPlan,
    ranges,
    scenario,
)

KAFKA_6975 = Bug(
    id="KAFKA-6975",
    title="deleting records up to the middle of a batch ends a follower's replication, of other partitions too",
    touches="DeleteRecords, Kafka Streams",
    whom="users of DeleteRecords, such as Kafka Streams",
    since=Border(
        "0.11.0.0",
        "KIP-107",
        Side("0.10.2.2", "ApiKeys has no DELETE_RECORDS, so a log starts where a batch starts"),
        Side(
            "0.11.0.0", "a log starts at any offset, and Log.append refuses a fetched batch that begins before its end"
        ),
    ),
    fixed=("1.0.2", "1.1.1", "2.0.0"),
    commits=("a1a6c524245", "ce4f4e1ab9a"),
)
WATCHED_S = 30.0
FETCHER_STOPPED = r"\[ReplicaFetcher(Thread-0-\d+\]:| .*\]) Stopped"
"""By a fetcher thread of 0.11, and of 1.0 and later."""


@scenario(
    name="museum-deleted-half-a-batch",
    claim="""After records were deleted up to the middle of a batch, a follower that returns never joins the ISR again.
        This concerns that partition and all others that it fetches from the same leader.""",
    source="KAFKA-6975, KIP-107",
    operator="""Do not delete records by request while a follower is away, or only up to the first record of a batch. If
        a fetcher thread has stopped and partitions stay under-replicated, stop the follower, delete up to the end of
        the batch, and start it again.""",
    exhibit=Exhibit(bug=KAFKA_6975, affected=("0.11.0.3",), fixed=("1.1.1",)),
    applies=ranges.DELETES_RECORDS,
    cluster=ClusterPlan(brokers=(1, 2), controller=3, settings={"replica.lag.time.max.ms": "6000"}),
    topic=TopicPlan(replicas=((1, 2),)),
    documented=[
        Documented(
            on=KAFKA_6975.affected,
            claims=["restarted-replica-stays-out"],
            source=KAFKA_6975.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_6975.unaffected,
            claims=["restarted-replicas-return"],
            sentence="The follower takes the whole batch, and every partition is in sync again.",
            source=KAFKA_6975.id,
            basis=Basis.JIRA,
        ),
    ],
)
def deleted_half_a_batch(run: Run) -> None:
    t = run.partition()
    leader, follower = run.replicas_of(t)
    run.create_topic(TopicPlan(name="beside", replicas=run.topic.replicas))
    beside = Partition("beside", 0)

    run.send(t)
    run.send(beside)

    run.stop(follower)
    run.wait_isr(t, [leader])
    with run.consume(t) as consumer:
        with run.load(t, records=10, settings={"linger.ms": "500"}) as load:
            load.wait_acked(10, timeout_s=30)
        consumer.wait_read(11, timeout_s=30)
    batches = run.batches_of(leader, t)
    run.require("the ten records are one batch", batches == [(0, 0), (1, 10)], batches=batches)
    run.delete_records(t, 6)
    run.copy_replicas("deleted")

    run.start(follower)
    if KAFKA_6975.affects(run.version):
        run.wait_log_line(follower, FETCHER_STOPPED, "that its fetcher thread has ended")
        run.let_pass(WATCHED_S, "the follower has had its time to come back")
        run.stop(follower)
        run.delete_records(t, 11)
        run.start(follower)
    run.wait_isr(t, [leader, follower])
    run.wait_isr(beside, [leader, follower])
    run.send(beside)
