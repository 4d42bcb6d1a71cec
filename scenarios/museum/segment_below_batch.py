"""A topic's segments are made smaller than a batch that it has, and a follower never copies it again (KAFKA-17375).

A broker refuses a batch that is larger than segment.bytes. That is right for one that a client sends. But a follower
asks the same of what it fetches: a batch that its leader took when segments were larger is refused
(RecordBatchTooLargeException), the follower marks the partition as failed, and does not try again. So a replica that
was away, or is new, never gets past that batch. Nothing is said where the setting is changed, nor on the leader.

Here a follower is away while a record of 2.5 MB is written and segment.bytes is then lowered to 1 MiB, the least that
4.x takes. It comes back, and its other partitions are in sync within a second. Then the leader dies, and nobody leads.
With `above`, segment.bytes is lowered to a size that the batch fits into. In the code it is UnifiedLog.append, which
holds what it is to append against segment.bytes for leaders and followers alike. It is fixed in the development branch
(b1d74d74df), and in no release.

What operators do, with three replicas of which two must be in sync: with `blank-disk` every replica has the batch when
segment.bytes is lowered, and a day later a broker gets a new disk. With `rolling-restart` log.segment.bytes is lowered
in the brokers' own settings, one after the other is restarted for it, and a producer goes on meanwhile: the first
one never comes back into the ISR, and while the leader is restarted nobody can write, though two of three brokers run.
With `restarted` a follower that has the batch is merely restarted, which does no harm.
"""

from harness.words import Bug, Case, ClusterPlan, Documented, Exhibit, Partition, Run, TopicPlan, ranges, scenario
from scenarios.museum.marker_lost import IN_PRODUCTION, THREE

KAFKA_17375 = Bug(
    id="KAFKA-17375",
    title="after segment.bytes was lowered below a batch that is in the log, no replica can copy that batch",
    whom="whoever lowers segment.bytes of a topic with large batches",
    since="2.3.0",
    fixed=(),
    code="UnifiedLog.append refuses a batch that is larger than segment.bytes (RecordBatchTooLargeException) "
    "for what a follower fetches as for what a leader is sent, and the fetcher thread gives the partition "
    "up (AbstractFetcherThread: marked as failed). The development branch asks leaders alone "
    "(b1d74d74df).",
    says=("RecordBatchTooLargeException", "marked as failed", "Updating topic t with"),
)
BATCH_BYTES = 2_500_000
LARGE = {"max.message.bytes": "5000000"}
BELOW = str(1 << 20)
ABOVE = str(4 << 20)
USUAL = str(1 << 30)
WATCHED_S = 30.0
ANSWER_LIMIT_S = 30.0
ROLLED = {"3:log.segment.bytes": BELOW}
"""The broker that is restarted first has the new setting; the others have not yet."""
HAVE_IT = frozenset({"blank-disk", "restarted"})
"""Cases in which every replica has the batch when segment.bytes is lowered."""
RETURNS = Documented(on=KAFKA_17375.unaffected, claims=["restarted-replicas-return"])
REFUSED = (
    Documented(on=KAFKA_17375.affected, claims=["restarted-replica-stays-out", "acks-all-refused-below-min-isr"]),
    RETURNS,
)


@scenario(
    name="museum-segment-below-batch",
    claim="""After segment.bytes of a topic was lowered below the size of a batch that is in its log, a replica that has
        not copied that batch yet never comes back into the ISR; when the leader dies, the partition is offline.""",
    source="KAFKA-17375",
    operator="""Keep segment.bytes of a topic above its max.message.bytes, and above the largest batch that was ever
        written to it, before you lower it or move replicas. If a follower logs that a partition is marked as failed,
        raise segment.bytes again and restart the follower.""",
    exhibit=Exhibit(bug=KAFKA_17375, affected=("3.9.2-kraft", "4.3.1"), fixed=()),
    applies=ranges.FAILS_SINGLE_PARTITIONS,
    cluster=ClusterPlan(brokers=(1, 2), controller=3, settings={"min.insync.replicas": "1"}),
    topic=TopicPlan(replicas=((1, 2),), settings=LARGE),
    cases={
        "default": Case(
            variant=BELOW,
            documented=[Documented(on=KAFKA_17375.affected, claims=["restarted-replica-stays-out"]), RETURNS],
        ),
        "blank-disk": Case(variant=BELOW, replicas=THREE, cluster=IN_PRODUCTION, documented=REFUSED),
        "rolling-restart": Case(replicas=THREE, cluster=IN_PRODUCTION, settings=ROLLED, documented=REFUSED),
        "restarted": Case(
            variant=BELOW,
            replicas=THREE,
            cluster=IN_PRODUCTION,
            documented=[
                Documented(
                    claims=["restarted-replicas-return"],
                    says="A follower that has the batch need not copy it, and is in sync again.",
                )
            ],
        ),
        "above": Case(
            variant=ABOVE,
            documented=[
                Documented(
                    claims=["restarted-replicas-return"],
                    says="The batch fits into a segment: the follower copies it, and leads when the leader dies.",
                )
            ],
        ),
    },
)
def segment_below_batch(run: Run) -> None:
    t = run.partition()
    *others, follower = run.replicas_of(t)
    run.create_topic(TopicPlan(name="beside", replicas=run.topic.replicas))
    beside = Partition("beside", 0)
    run.send(t)

    has_it = run.case.name in HAVE_IT
    if not has_it:
        run.stop(follower)
        run.wait_isr(t, others)
    settings = {"message.max.bytes": LARGE["max.message.bytes"]}
    with run.load(t, records=1, record_bytes=BATCH_BYTES, settings=settings) as load:
        load.wait_acked(1, timeout_s=30)
    run.send(beside)
    if run.case.variant:
        run.set_topic(t.topic, "segment.bytes", run.case.variant, told=[*others, *([follower] if has_it else [])])
    if has_it:
        run.stop(follower)
        run.wait_isr(t, others)
    if run.case.name == "blank-disk":
        run.wipe(follower)

    run.start(follower)
    run.wait_isr(beside, [*others, follower])
    if stays_out(run):
        run.wait_log_line(follower, f"Partition {t} marked as failed", "that it gives the partition up")
        run.let_pass(WATCHED_S, "the follower has had its time to come back")
        (lose_leader if len(others) == 1 else restart_leader)(run, t, beside)
    elif len(others) == 1:
        run.wait_isr(t, [*others, follower])
        run.kill(*others)
        run.wait_leader(t, follower)
        run.start(*others)
    run.wait_isr(t, [*others, follower])
    run.send(t)


def lose_leader(run: Run, t: Partition, beside: Partition) -> None:
    """The only replica in sync dies: nobody leads, until it is back and segment.bytes is what it was."""
    leader, follower = run.replicas_of(t)
    run.kill(leader)
    run.wait_leader(beside, follower)
    run.wait_no_leader(t, leader)
    run.set_topic(t.topic, "segment.bytes", USUAL, told=[follower])
    run.start(leader)


def restart_leader(run: Run, t: Partition, beside: Partition) -> None:
    """One of the two replicas in sync is stopped: two of three brokers run, and nobody can write with acks=all, until
    segment.bytes is what it was and the follower is started again.
    """
    leader, second, follower = run.replicas_of(t)
    run.stop(leader)
    run.wait_isr(beside, [second, follower])
    run.wait_leader(t, second)
    run.wait_isr(t, [second])
    run.send_async(t).wait(ANSWER_LIMIT_S)
    run.send(beside)
    run.start(leader)
    run.set_topic(t.topic, "segment.bytes", USUAL, told=[leader, second, follower])
    run.stop(follower)
    run.start(follower)


def stays_out(run: Run) -> bool:
    """Whether the follower refuses the batch in this case."""
    return run.case.name in ("default", "blank-disk", "rolling-restart") and KAFKA_17375.affects(run.version)
