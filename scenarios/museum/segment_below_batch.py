"""A topic's segments are made smaller than a batch that it has, and a follower never copies it again (KAFKA-17375).

A broker refuses a batch that is larger than segment.bytes. This is right for a batch that a client sends. But a
follower makes the same check on fetched batches. It refuses a batch that its leader accepted when segments were larger
(RecordBatchTooLargeException), marks the partition as failed, and does not try again. So a replica that was down, or is
new, never gets past that batch. Neither the change of the setting nor the leader reports it.

Here a follower is down while a record of 2.5 MB is written and segment.bytes is then lowered to 1 MiB, the minimum
from 4.1 on. It returns, and its other partitions are in sync within a second. Then the leader dies, and no replica
leads. With `above`, segment.bytes is lowered to a size that the batch fits into. In the code the place is
UnifiedLog.append, which compares every batch with segment.bytes, for leaders and followers alike. It is fixed in the
development branch (b1d74d74df), and in no release.

Three cases are everyday operations, with three replicas of which two must be in sync. In `blank-disk` every replica has
the batch when segment.bytes is lowered, and a day later a broker gets a new disk. In `rolling-restart`
log.segment.bytes is lowered in the brokers' settings, and the brokers are restarted one after the other while a
producer writes. The first one never returns to the ISR. While the leader is restarted no producer can write, although
two of three brokers run. In `restarted` a follower that has the batch is only restarted, which does no harm.

Releases before 2.3 refuse such a batch as well. There the error ends the fetcher thread, and with it the replication of
other partitions (KAFKA-8346). The scenario applies from 2.3 on.
"""

from collections.abc import Callable
from functools import partial

from harness.words import (
    Basis,
    Border,
    Bug,
    BugStatus,
    Case,
    ClusterPlan,
    Documented,
    Exhibit,
    Partition,
    Run,
    Side,
    Status,
    Target,
    TopicPlan,
    VersionRange,
    ranges,
    scenario,
)
from scenarios.museum.marker_lost import IN_PRODUCTION, THREE

KAFKA_17375 = Bug(
    id="KAFKA-17375",
    title="after segment.bytes was lowered below a batch that is in the log, no replica can copy that batch",
    touches="a lowered segment.bytes",
    whom="clusters where segment.bytes of a topic with large batches is lowered",
    since=Border(
        "0.8.2.0",
        "KAFKA-1670",
        Side("0.8.1.1", "Log.append does not compare what it appends with segment.bytes"),
        Side("0.8.2.0", "Log.append refuses what is larger than segment.bytes, on followers as on leaders"),
    ),
    fixed=(),
    status=Status(
        state=BugStatus.UNRELEASED,
        told="The fix is in the source since 2026-08-18 (b1d74d74df), and in no release to 4.4.0.",
        sources=("apache/kafka pull request 23162",),
        on="2026-11-23",
        looked_at="4.4.0",
    ),
    code="UnifiedLog.append refuses a batch that is larger than segment.bytes (RecordBatchTooLargeException), on "
    "followers as on leaders, and the fetcher thread gives the partition up (AbstractFetcherThread: marked as "
    "failed). The development branch checks it on leaders alone (b1d74d74df).",
    log_patterns=("RecordBatchTooLargeException", "marked as failed", "Updating topic t with"),
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
RETURNS = Documented(
    on=KAFKA_17375.unaffected,
    claims=["restarted-replicas-return"],
    source=KAFKA_17375.id,
    basis=Basis.JIRA,
)
REFUSED = (
    Documented(
        on=KAFKA_17375.affected,
        claims=["restarted-replica-stays-out", "acks-all-refused-below-min-isr"],
        source=KAFKA_17375.id,
        basis=Basis.JIRA,
    ),
    RETURNS,
)


def follower_away(run: Run, segment_bytes: str, refuses: VersionRange) -> None:
    """The only follower is down while a large batch is written and segment.bytes is changed. It refuses the batch, or
    has it when the leader dies.
    """
    t, beside = run.partition(), create_beside(run)
    leader, follower = run.replicas_of(t)
    stop_follower(run, [leader], follower)
    write_batch(run, beside)
    run.set_topic(t.topic, "segment.bytes", segment_bytes, told=[leader])
    run.start(follower)
    run.wait_isr(beside, [leader, follower])
    if refuses.holds(run.version):
        give_partition_up(run, follower)
        lose_leader(run, t, beside)
    else:
        run.wait_isr(t, [leader, follower])
        run.kill(leader)
        run.wait_leader(t, follower)
        run.start(leader)
    all_back(run)


def blank_disk(run: Run) -> None:
    """A replica has the batch, loses its disk, and has to copy it."""
    with_the_batch(run, Run.wipe, refuses=KAFKA_17375.affected)


def restarted(run: Run) -> None:
    """A replica has the batch, and need not copy it."""
    with_the_batch(run, lambda _run, _follower: None, refuses=ranges.NO_VERSION)


def with_the_batch(run: Run, strike: Callable[[Run, Target], None], refuses: VersionRange) -> None:
    """Every replica has the batch when segment.bytes is lowered; then one of them is down, and returns."""
    t, beside = run.partition(), create_beside(run)
    *others, follower = run.replicas_of(t)
    write_batch(run, beside)
    run.set_topic(t.topic, "segment.bytes", BELOW, told=[*others, follower])
    stop_follower(run, others, follower)
    strike(run, follower)
    come_back_to_two(run, others, follower, refuses)


def rolling_restart(run: Run) -> None:
    """The follower that is restarted first has the new setting of all brokers, and lacks the batch."""
    t, beside = run.partition(), create_beside(run)
    *others, follower = run.replicas_of(t)
    stop_follower(run, others, follower)
    write_batch(run, beside)
    come_back_to_two(run, others, follower, KAFKA_17375.affected)


def create_beside(run: Run) -> Partition:
    """Another partition on the same replicas, which continues; the first one has a record."""
    run.create_topic(TopicPlan(name="beside", replicas=run.topic.replicas))
    run.send(run.partition())
    return Partition("beside", 0)


def stop_follower(run: Run, others: list[Target], follower: Target) -> None:
    """The follower is away."""
    run.stop(follower)
    run.wait_isr(run.partition(), others)


def write_batch(run: Run, beside: Partition) -> None:
    """A batch that is larger than segment.bytes will be."""
    settings = {"message.max.bytes": LARGE["max.message.bytes"]}
    with run.load(run.partition(), records=1, record_bytes=BATCH_BYTES, settings=settings) as load:
        load.wait_acked(1, timeout_s=30)
    run.send(beside)


def come_back_to_two(run: Run, others: list[Target], follower: Target, refuses: VersionRange) -> None:
    """The follower comes back to two replicas in sync, and has the partition, or refuses the batch."""
    t, beside = run.partition(), Partition("beside", 0)
    run.start(follower)
    run.wait_isr(beside, [*others, follower])
    if refuses.holds(run.version):
        give_partition_up(run, follower)
        restart_leader(run, t, beside)
    all_back(run)


def give_partition_up(run: Run, follower: Target) -> None:
    """The follower refuses the batch, and tries no more."""
    run.wait_log_line(follower, f"Partition {run.partition()} marked as failed", "that it gives the partition up")
    run.let_pass(WATCHED_S, "the follower has had its time to come back")


def all_back(run: Run) -> None:
    """Every replica is in sync."""
    t = run.partition()
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


def lose_leader(run: Run, t: Partition, beside: Partition) -> None:
    """The only in-sync replica dies: no replica leads until it is back and segment.bytes has its old value."""
    leader, follower = run.replicas_of(t)
    run.kill(leader)
    run.wait_leader(beside, follower)
    run.wait_no_leader(t, leader)
    run.set_topic(t.topic, "segment.bytes", USUAL, told=[follower])
    run.start(leader)


def restart_leader(run: Run, t: Partition, beside: Partition) -> None:
    """One of the two in-sync replicas is stopped: two of three brokers run, and no producer can write with acks=all,
    until segment.bytes has its old value and the follower is started again.
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


scenario(
    name="museum-segment-below-batch",
    claim="""If a topic's segment.bytes is lowered below the size of a batch in its log, a replica that has not
        copied that batch never returns to the ISR. When the leader dies, the partition is offline.""",
    source="KAFKA-17375",
    operator="""Keep segment.bytes of a topic above its max.message.bytes, and above the largest batch that was ever
        written to it, before you lower it or move replicas. If a follower logs that a partition is marked as failed,
        raise segment.bytes again and restart the follower.""",
    exhibit=Exhibit(bug=KAFKA_17375, affected=("3.9.2-kraft", "4.3.1", "4.4.0"), fixed=()),
    applies=ranges.FAILS_SINGLE_PARTITIONS,
    cluster=ClusterPlan(brokers=(1, 2), controller=3, settings={"min.insync.replicas": "1"}),
    topic=TopicPlan(replicas=((1, 2),), settings=LARGE),
    cases={
        "default": Case(
            steps=partial(follower_away, segment_bytes=BELOW, refuses=KAFKA_17375.affected),
            documented=[
                Documented(
                    on=KAFKA_17375.affected,
                    claims=["restarted-replica-stays-out"],
                    source=KAFKA_17375.id,
                    basis=Basis.JIRA,
                ),
                RETURNS,
            ],
        ),
        "blank-disk": Case(steps=blank_disk, replicas=THREE, cluster=IN_PRODUCTION, documented=REFUSED),
        "rolling-restart": Case(
            steps=rolling_restart, replicas=THREE, cluster=IN_PRODUCTION, settings=ROLLED, documented=REFUSED
        ),
        "restarted": Case(
            steps=restarted,
            replicas=THREE,
            cluster=IN_PRODUCTION,
            documented=[
                Documented(
                    claims=["restarted-replicas-return"],
                    sentence="A follower that has the batch need not copy it, and is in sync again.",
                    source=KAFKA_17375.id,
                    basis=Basis.JIRA,
                )
            ],
        ),
        "above": Case(
            steps=partial(follower_away, segment_bytes=ABOVE, refuses=ranges.NO_VERSION),
            documented=[
                Documented(
                    claims=["restarted-replicas-return"],
                    sentence="The batch fits into a segment: the follower copies it, and leads when the leader dies.",
                    source=KAFKA_17375.id,
                    basis=Basis.JIRA,
                )
            ],
        ),
    },
)
