"""A transaction's marker is lost, and the coordinator does not write it again (KAFKA-20716).

A transaction is committed when its coordinator has recorded that. Then the coordinator has a marker written to each
partition. read_committed readers get nothing behind the first record of a transaction that has no marker there. A
marker is a record like any other: written by the leader, and copied. If only the leader has the marker, an unclean
election may make a replica leader that has the transaction's records and not its marker. There the transaction is open.
Its coordinator has recorded it as complete, so neither a time-out nor a transaction of its producer elsewhere ends it.

All replicas then acknowledge plain records, and read_committed consumers never see them, even after the old leader has
returned and truncated. An unclean election is documented to lose records that the new leader lacks. It is not
documented to block all later records. With `clean`, the replica is in sync again before the leader dies.

Two brokers are enough to show the bug. `replicated` has three replicas of which two must be in sync. The leader and
another one have the marker and die, and the third, which was down, is elected. In `power-cut` unclean elections are
off. All three replicas lose power at one moment, when the coordinator's topic is on the disks and the partition's
marker is not. Any of them may lead then (from 4.1 on the last leader, by an election that the controller calls
unclean), and none has the marker.

If the same producer writes to the partition in a later transaction, that transaction's marker ends both. It unblocks
the readers (`next-commits`), but the first transaction then takes the outcome of the second. Where the second is
aborted (`next-aborts`), read_committed readers get half of the first transaction, although its commit was acknowledged.
"""

from dataclasses import replace
from functools import partial

from harness.words import (
    Basis,
    Border,
    Bug,
    BugStatus,
    Case,
    ClusterPlan,
    Disks,
    Documented,
    Exhibit,
    OpenTransaction,
    Partition,
    Run,
    Side,
    Status,
    Target,
    TopicPlan,
    ranges,
    scenario,
)
from scenarios.museum import SKIPPED_IN_A_POLL

KAFKA_20716 = Bug(
    id="KAFKA-20716",
    title="after an unclean election, or a power loss, read_committed consumers get no more records, forever",
    touches="transactions and unclean elections",
    whom="topics with transactions, and unclean leader elections enabled or a power loss of all replicas",
    since=Border(
        "0.11.0.0",
        "KIP-98",
        Side("0.10.2.2", "there are no transactions and no markers"),
        Side(
            "0.11.0.0",
            "TransactionMarkerRequestCompletionHandler removes a partition when its leader has answered, and no marker "
            "is sent to it again",
        ),
    ),
    fixed=(),
    status=Status(
        state=BugStatus.LIMITATION,
        told="Maintainers call it a limitation of unclean leader elections and have it documented. It was described in "
        "2018 (KAFKA-7408: truncate to the last stable offset on unclean leader election). A power loss of all "
        "replicas does the same without one.",
        sources=("apache/kafka pull request 22937", "KAFKA-7408"),
        on="2026-11-23",
        looked_at="4.4.0",
    ),
    also_known_as=("KAFKA-7408",),
    code="A marker counts as written when the leader has acknowledged it (TransactionMarkerChannelManager), and "
    "TransactionMetadata then has no partition left to complete. A replica that is elected without the marker has "
    "the transaction open by its own log (ProducerStateManager), which holds the last stable offset back, and the "
    "coordinator will send no request to end it.",
    log_patterns=("Truncating .*t-0", "Leader t-0 ", "Follower t-0 "),
)
WATCHED_S = 25.0
HELD_FOREVER = "read_committed consumers get no record that is acknowledged after the election, or the power loss."
TAKES_THE_SECOND = """The first transaction takes the outcome of the second, which is aborted. read_committed readers
    get the half of it that lies elsewhere, although its commit was acknowledged."""
HELD_BACK = frozenset({"stuck-last-stable-offset"})
HALF = frozenset({"transaction-half-committed"})
MARKER_CUT = frozenset({"log-truncated-below-high-watermark"})
MAY_BE_SEEN_CUT = """The marker, which the replicas in sync alone had, was below their high watermark and is cut off.
    That shows only if they had checkpointed that high watermark, each five seconds, when their files were copied."""
CHECKPOINTED = "broker configuration: replica.high.watermark.checkpoint.interval.ms (5 s)"
STUCK = (
    Documented(
        on=KAFKA_20716.affected,
        required=HELD_BACK,
        allowed=MARKER_CUT,
        sentence=f"{HELD_FOREVER} {MAY_BE_SEEN_CUT}",
        source=f"{KAFKA_20716.id}; {CHECKPOINTED}",
        basis=Basis.JIRA,
    ),
    Documented(
        on=KAFKA_20716.unaffected,
        source=KAFKA_20716.id,
        basis=Basis.JIRA,
    ),
)
UNCLEAN = {"unclean.leader.election.enable": "true"}
TWO_BROKERS = {
    "min.insync.replicas": "1",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
}
IN_PRODUCTION = ClusterPlan(controller=1, settings={"min.insync.replicas": "2"})
THREE = ((1, 2, 3),)
SHORT = {"transaction.timeout.ms": "10000"}
"""Coordinators look for transactions that took longer every 10 s: both together are less than WATCHED_S."""
STATE = Partition("__transaction_state", 0)


def elected_without_marker(run: Run) -> None:
    """A replica leads that has the transaction's record and not its marker."""
    t, elsewhere = partitions(run)
    *in_sync, behind = run.replicas_of(t)
    commit_while_away(run, elsewhere, behind)
    elect_uncleanly(run, behind, in_sync)
    watch(run)


def elected_with_marker(run: Run) -> None:
    """The replica has copied the marker before it leads."""
    t, elsewhere = partitions(run)
    *in_sync, behind = run.replicas_of(t)
    commit_while_away(run, elsewhere, behind)
    run.start(behind)
    run.wait_isr(t, [*in_sync, behind])
    run.kill(*in_sync)
    run.wait_leader(t, behind)
    run.start(*in_sync)
    watch(run)


def next_transaction(run: Run, *, commits: bool) -> None:
    """A replica leads without the marker, and the same producer has another transaction there."""
    t, elsewhere = partitions(run)
    *in_sync, behind = run.replicas_of(t)
    commit_while_away(run, elsewhere, behind, half_elsewhere=True)
    elect_uncleanly(run, behind, in_sync)
    run.wait_isr(t, run.replicas_of(t))
    with run.transaction(commit=commits) as later:
        later.send(t)
    run.require("the later transaction has ended", later.ended is not None and later.ended.outcome == "ok")
    run.send(t, 3)
    run.watch_ends(t, WATCHED_S)
    with (
        run.consume(t, committed_only=True) as consumer,
        run.consume(elsewhere, committed_only=True) as beside,
    ):
        consumer.wait_read(6 if commits else 4, timeout_s=60)
        beside.wait_read(2, timeout_s=60)


def power_lost(run: Run) -> None:
    """The transaction's record and its coordinator's state are on the disks; its marker is not.

    If the coordinator had it as open, it would abort it after the time-out, and nothing would be blocked.
    """
    t, elsewhere = partitions(run)
    replicas = run.replicas_of(t)
    with run.transaction(settings=SHORT) as transaction:
        transaction.send(t)
        run.wait_high_watermark(t, 1, replicas)
        run.flush_disks()
    require_complete(run, transaction, elsewhere)
    run.wait_log_end(t, 2, replicas)
    run.wait_log_end(elsewhere, 2, replicas)
    for written in (STATE, elsewhere):
        run.flush_log(written, replicas)
    run.copy_replicas("marked")

    run.lose_power(*replicas)
    run.copy_replicas("after the power loss")
    run.start(*replicas)
    watch(run)


def partitions(run: Run) -> tuple[Partition, Partition]:
    """The transaction's partition, and another on the same replicas."""
    elsewhere = Partition("elsewhere", 0)
    run.create_topic(TopicPlan(name=elsewhere.topic, replicas=run.topic.replicas))
    return run.partition(), elsewhere


def commit_while_away(run: Run, elsewhere: Partition, away: Target, *, half_elsewhere: bool = False) -> None:
    """A transaction's marker is written while a replica is down that has its record; another half of it is
    elsewhere, if that is asked for, and a record before it.
    """
    t = run.partition()
    before = run.send(t) if half_elsewhere else []
    with run.transaction() as transaction:
        transaction.send(t)
        if half_elsewhere:
            transaction.send(elsewhere)
        run.wait_high_watermark(t, len(before) + 1, run.replicas_of(t))
        run.kill(away)
    require_complete(run, transaction, elsewhere)
    run.copy_replicas("marked")


def elect_uncleanly(run: Run, behind: Target, in_sync: list[Target]) -> None:
    """The replica that was down returns while the others are dead, and leads."""
    run.kill(*in_sync)
    run.start(behind)
    run.wait_leader(run.partition(), behind)
    run.start(*in_sync)


def watch(run: Run) -> None:
    """All replicas are in sync, records are acknowledged, and readers get them or not."""
    t = run.partition()
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 3)
    run.watch_ends(t, WATCHED_S)


def require_complete(run: Run, transaction: OpenTransaction, elsewhere: Partition) -> None:
    """Require that a transaction is committed and recorded as complete: until then the next one may not begin."""
    run.require("the transaction is committed", transaction.ended is not None and transaction.ended.outcome == "ok")
    with run.transaction() as second:
        second.send(elsewhere)
    run.require("the next one is, too", second.ended is not None and second.ended.outcome == "ok")


scenario(
    name="museum-marker-lost",
    claim="""After an unclean election, or a power loss, that loses the marker of a committed transaction,
        read_committed consumers never get a record that is acknowledged later.""",
    source="KAFKA-20716, KIP-98",
    operator="""Keep unclean.leader.election.enable=false for topics that transactions write to. A power loss of all
        replicas can do the same. If it happened, let the same producer commit a transaction in that partition: this
        unblocks the readers and keeps the committed records. If you abort the open one instead (kafka-transactions
        find-hanging, and abort), readers are unblocked too, but its records count as aborted.""",
    needs=["transactions"],
    exhibit=Exhibit(bug=KAFKA_20716, affected=("3.9.2-kraft", "4.3.1", "4.4.0"), fixed=()),
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(brokers=(1, 2), controller=3, settings=TWO_BROKERS),
    topic=TopicPlan(replicas=((1, 2),)),
    cases={
        "default": Case(
            steps=elected_without_marker, applies=ranges.UNCLEAN_ON_REQUEST, topic=UNCLEAN, documented=STUCK
        ),
        "replicated": Case(
            steps=elected_without_marker,
            applies=ranges.UNCLEAN_ON_REQUEST,
            topic=UNCLEAN,
            replicas=THREE,
            cluster=IN_PRODUCTION,
            documented=STUCK,
        ),
        "power-cut": Case(
            steps=power_lost, replicas=THREE, cluster=replace(IN_PRODUCTION, disks=Disks()), documented=STUCK
        ),
        "next-commits": Case(
            steps=partial(next_transaction, commits=True),
            applies=ranges.UNCLEAN_ON_REQUEST,
            topic=UNCLEAN,
            documented=[
                Documented(
                    allowed=MARKER_CUT,
                    sentence=f"The next transaction's marker ends both, and all is read. {MAY_BE_SEEN_CUT}",
                    source=f"seen on 3.9.2 and 4.3.1; ProducerAppendInfo takes one marker for both; {CHECKPOINTED}",
                    basis=Basis.MEASURED,
                )
            ],
        ),
        "next-aborts": Case(
            steps=partial(next_transaction, commits=False),
            applies=ranges.UNCLEAN_ON_REQUEST,
            topic=UNCLEAN,
            documented=[
                Documented(
                    on=KAFKA_20716.affected,
                    required=HALF | SKIPPED_IN_A_POLL,
                    allowed=MARKER_CUT,
                    sentence=f"{TAKES_THE_SECOND} {MAY_BE_SEEN_CUT}",
                    source=f"{KAFKA_20716.id}; {CHECKPOINTED}",
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_20716.unaffected,
                    source=KAFKA_20716.id,
                    basis=Basis.JIRA,
                ),
            ],
        ),
        "clean": Case(
            steps=elected_with_marker,
            applies=ranges.UNCLEAN_ON_REQUEST,
            topic=UNCLEAN,
            documented=[
                Documented(
                    sentence="The replica that leads has the marker, and all is read.",
                    source="KIP-98",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
