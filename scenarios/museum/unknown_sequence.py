"""A partition that an idempotent producer wrote to cannot be moved: the new replica refuses its first batch
(KAFKA-6003).

An idempotent producer numbers its records, and a broker takes only the next number (KIP-98). A new replica knows no
numbers. When the log's beginning has been deleted, by retention or by request, the first batch that it fetches has a
number above zero. Until 0.11.0.2 a replica checked batches again that its leader had accepted, and failed with
OutOfOrderSequenceException. The error ended the fetcher thread, and the replication of every partition that this broker
fetches from the same leader. The reassignment never ends, and the broker's replicas of unrelated partitions leave the
ISR at their next write.
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

KAFKA_6003 = Bug(
    id="KAFKA-6003",
    title="a partition of an idempotent producer cannot be moved, and the attempt stops a broker's replication",
    touches="idempotent producers, reassignments",
    whom="idempotent producers and topics whose oldest records are deleted, when replicas are moved",
    since=Border(
        "0.11.0.0",
        "KIP-98",
        Side("0.10.2.2", "batches have no producer id and no sequence number"),
        Side("0.11.0.0", "ProducerAppendInfo.validateAppend checks the sequence of fetched batches too"),
    ),
    fixed=("0.11.0.2", "1.0.0"),
    commits=("dc907d9b7b9", "3c96f9128af"),
)
IDEMPOTENT = {"enable.idempotence": "true"}
WATCHED_S = 25.0


@scenario(
    name="museum-unknown-sequence",
    claim="""A reassignment of a partition that an idempotent producer wrote to, and whose oldest records are deleted,
        never ends; the new replica's broker stops replicating other partitions too.""",
    source="KAFKA-6003, KIP-98",
    operator="""Do not use idempotent producers: any reassignment, and any broker that returns with an empty disk, may
        stop a broker's replication. Restarting that broker does not help; deleting the partition's records while it is
        down does.""",
    needs=["idempotence"],
    exhibit=Exhibit(bug=KAFKA_6003, affected=("0.11.0.0",), fixed=("0.11.0.3",)),
    applies=ranges.IDEMPOTENT_PRODUCERS,
    cluster=ClusterPlan(brokers=(1, 2), controller=3, settings={"replica.lag.time.max.ms": "6000"}),
    topic=TopicPlan(replicas=((1,),)),
    documented=[
        Documented(
            on=KAFKA_6003.affected,
            claims=["reassignment-stalls"],
            source=KAFKA_6003.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_6003.unaffected,
            claims=["reassignment-ends-as-asked"],
            sentence="The new replica accepts the records that its leader accepted, and is in sync within seconds.",
            source=KAFKA_6003.id,
            basis=Basis.JIRA,
        ),
    ],
)
def unknown_sequence(run: Run) -> None:
    t = run.partition()
    (old,) = run.replicas_of(t)
    (new,) = run.without(t)
    run.create_topic(TopicPlan(name="beside", replicas=((old.id, new.id),)))
    beside = Partition("beside", 0)
    with run.consume(t) as consumer:
        run.send(t, 10, settings=IDEMPOTENT)
        consumer.wait_read(10, timeout_s=60)
    run.delete_records(t, 5)

    run.reassign(t, [old, new])
    if KAFKA_6003.affects(run.version):
        run.wait_log_line(new, r"ReplicaFetcherThread-0-\d+\]: Stopped", "that its fetcher thread has ended")
        run.send(beside)
        run.wait_isr(beside, [old])
        run.let_pass(WATCHED_S, "the reassignment has had its time to end")
        run.stop(new)
        run.delete_records(t, 10)
        run.start(new)
    run.wait_reassigned(t)
    run.wait_isr(beside, [old, new])
    run.send(beside)
