"""Committed offsets and transactions when all brokers lose power at one moment (Kafka documentation, Application vs. OS
flush management; KIP-98).

Coordinators keep committed offsets and the state of transactions in topics (__consumer_offsets, __transaction_state),
acknowledged by all replicas in sync, and flushed no sooner than other records. So a group whose commit was acknowledged
goes back to an older offset, or to none. It reads again the records that it had finished, although all records are
kept. A flush of each message prevents that as it does for records.

Before 0.11 a coordinator that takes over a partition of __consumer_offsets reads it only up to the high watermark.
Right after all brokers were down, that is the checkpointed one, unless the leader is alone in the ISR. Later commits
may be forgotten, although all replicas have them and have flushed them. This is the case `offsets-not-checkpointed`;
the other cases wait for the checkpoint.

A transaction is as durable as the least flushed of its partitions. Here one topic has flush.messages=1 and the other
has not. After the power loss a transaction that was committed in both has its records and commit marker in the first
topic, and has lost those in the second. Readers of committed records get half of it, without an error.
"""

from functools import partial

from harness.words import (
    LOST,
    OFFSETS,
    Basis,
    Case,
    ClusterPlan,
    Disks,
    Documented,
    Partition,
    Run,
    TopicPlan,
    ranges,
    scenario,
)

BEFORE = 10
FIRST, LAST = 3, 7
"""The offsets that a group commits before its disks were flushed, and after."""
OLD, NEW = "old-group", "new-group"
ANSWER_LIMIT_S = 60.0
COUNT = 3
"""Records of a transaction in each topic."""
MARKED = COUNT + 1
OTHER = "flushed"
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
"""A record is lost only if the disk of the replica that leads lacks it, which acknowledged it in the ISR."""


def commit_offsets(run: Run, *, flushed: bool) -> None:
    """One group has committed before, both commit at the last moment. `flushed`: each message is."""
    t = run.partition()
    replicas = run.replicas_of(t)
    run.send(t, BEFORE)
    run.commit(OLD, t, FIRST)
    run.wait_high_watermark(t, BEFORE, replicas)
    run.wait_high_watermark(OFFSETS, 1, replicas)
    run.flush_disks()
    for group in (OLD, NEW):
        run.commit(group, t, LAST)
    run.wait_high_watermark(OFFSETS, 3, replicas)
    run.copy_replicas("armed")
    lose_all(run, t)
    run.wait_committed(OLD, t, LAST if flushed else FIRST, timeout_s=ANSWER_LIMIT_S)
    run.wait_committed(NEW, t, LAST if flushed else None, timeout_s=ANSWER_LIMIT_S)
    run.send(t)


def commit_offsets_last(run: Run) -> None:
    """Two groups commit, everything is flushed, and no further high watermark is checkpointed."""
    t = run.partition()
    run.send(t, BEFORE)
    run.wait_high_watermark(t, BEFORE, run.replicas_of(t))
    run.commit(OLD, t, FIRST)
    run.wait_high_watermark(OFFSETS, 1, run.replicas_of(t))
    for group in (OLD, NEW):
        run.commit(group, t, LAST)
    run.copy_replicas("armed")
    lose_all(run, t)
    for group in (OLD, NEW):
        answer = run.committed(group, t, ANSWER_LIMIT_S)
        run.require("the group's coordinator answers", answer.error is None, group=group, error=answer.error)
    run.send(t)


def commit_transactions(run: Run) -> None:
    """A transaction before, and one at the last moment, each in both topics."""
    t = run.partition()
    run.create_topic(TopicPlan(name=OTHER, replicas=run.topic.replicas, settings={"flush.messages": "1"}))
    both = (t, Partition(OTHER, 0))
    with run.transaction("before") as transaction:
        for each in both:
            transaction.send(each, COUNT)
    for each in both:
        run.wait_log_end(each, MARKED, run.replicas_of(each))
        run.wait_high_watermark(each, MARKED, run.replicas_of(each))
    run.flush_disks()
    with run.transaction("last", expected_loss=True) as transaction:
        for each in both:
            transaction.send(each, COUNT)
    assert transaction.ended is not None, "the block has ended"
    run.require("the transaction is committed", transaction.ended.outcome == "ok", error=transaction.ended.error_name)
    for each in both:
        run.wait_log_end(each, 2 * MARKED, run.replicas_of(each))
    run.copy_replicas("armed")
    lose_all(run, t)
    for each in both:
        run.wait_isr(each, run.replicas_of(each))
        run.send(each)


def lose_all(run: Run, t: Partition) -> None:
    """Every broker loses power, and is back."""
    replicas = run.replicas_of(t)
    run.lose_power(*replicas)
    run.copy_replicas("after the power loss")
    run.start(*replicas)
    run.wait_isr(t, replicas)


scenario(
    name="coordinator-power-loss",
    claim="""Committed offsets and transactions are in the memory of brokers, like records. When all brokers lose power,
        groups go back to older offsets, or to none, and a transaction may survive in one partition and not in
        another.""",
    source="Kafka documentation, Application vs. OS flush management, Consumer offset tracking; KIP-98",
    operator="""After a power loss of all brokers, expect groups to read records again and transactions to be
        incomplete: exactly-once does not hold then. Topics that one transaction writes to need the same flush settings.
        Cluster-wide log.flush.interval.messages=1 includes the coordinators' topics; flush.messages on your own topics
        does not.""",
    needs=["transactions"],
    cluster=ClusterPlan(controller=1, disks=Disks()),  # no fourth broker, which would keep a copy
    topic=TopicPlan(settings={"min.insync.replicas": "2"}),
    cases={
        "offsets": Case(
            steps=partial(commit_offsets, flushed=False),
            documented=[
                Documented(
                    required=frozenset({"committed-offset-regression", "committed-offset-lost"}),
                    sentence="Both groups' commits were acknowledged and are lost. No record is lost.",
                    source="Kafka documentation, Application vs. OS flush management",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "offsets-flush-each": Case(
            steps=partial(commit_offsets, flushed=True),
            settings={"log.flush.interval.messages": "1"},
            documented=[
                Documented(
                    sentence="Coordinators' topics are flushed too: both groups are as they were.",
                    source="Kafka documentation, broker configuration: log.flush.interval.messages",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "offsets-not-checkpointed": Case(
            steps=commit_offsets_last,
            applies=ranges.COORDINATORS_READ_TO_HIGH_WATERMARK,
            settings={"log.flush.interval.messages": "1"},
            documented=[
                Documented(
                    on=ranges.COORDINATORS_READ_TO_HIGH_WATERMARK,
                    allowed=frozenset({"committed-offset-regression", "committed-offset-lost"}),
                    sentence="""Every replica has flushed the commits. The coordinator that takes over reads up to the
                        high watermark in its file, or to its log's end if it is alone in the ISR. So commits of the
                        last seconds (replica.high.watermark.checkpoint.interval.ms) may be forgotten.""",
                    source="OffsetManager.loadOffsetsFromLog (0.8.2.2) and GroupMetadataManager.loadGroupsForPartition "
                    "(0.9.0.1, 0.10.2.2): getHighWatermark; the latter in 0.11.0.0: getLogEndOffset",
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "transaction": Case(
            steps=commit_transactions,
            applies=ranges.TRANSACTIONS,
            documented=[
                Documented(
                    required=LOST | TRUNCATED | {"torn-transaction"},
                    sentence="""Half of a committed transaction survives: the records of the flushed topic. The other
                        half is lost.""",
                    source="Kafka documentation, Application vs. OS flush management; KIP-98",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "transaction-flush-each": Case(
            steps=commit_transactions,
            applies=ranges.TRANSACTIONS,
            settings={"log.flush.interval.messages": "1"},
            documented=[
                Documented(
                    claims=["flushed-records-survive"],
                    sentence="The transaction is whole.",
                    source="Kafka documentation, broker configuration: log.flush.interval.messages",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
