"""A transaction's marker is lost, and nobody writes it again (KAFKA-20716).

A transaction is committed when its coordinator has written so; then it has a marker put into each partition. Readers
under read_committed are given nothing behind the first record of a transaction that has no marker there. A marker is a
record like any other: written by the leader, and copied. Where the leader alone has it, and an unclean election makes a
replica lead that has the transaction's records and not its marker, the transaction is open there. Its coordinator has
noted it as complete, so nobody will end it: not its time-out, and no transaction that its producer has elsewhere.

Plain records are then acknowledged by all replicas, and consumers under read_committed never see them, also after the
old leader is back, which truncates. That an unclean election loses what the new leader lacks is documented. That it
holds back all that comes after is not. With `clean`, the replica is in sync again before the leader dies.

Two brokers are the least. With `replicated` it is three replicas of which two must be in sync: the leader and another
one have the marker and die, and the third, which was down, is elected. With `power-cut` unclean elections are not
enabled: all three replicas lose power at one moment, when the coordinator's topic has been written to the disks, and of
the partition the marker has not. Any of them may lead then (from 4.1 on the last leader, by an election that the
controller calls unclean); none has the marker.

If the same producer writes to the partition in a later transaction, that one's marker ends both. It is what releases
the readers (`next-commits`), and it makes of the first transaction what becomes of the second: where that is aborted
(`next-aborts`), readers under read_committed are given the first, which was acknowledged as committed, by half.
"""

from dataclasses import replace
from functools import partial

from harness.words import (
    Basis,
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
    Status,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

KAFKA_20716 = Bug(
    id="KAFKA-20716",
    title="after an unclean election, or a power loss, consumers under read_committed get nothing more, for ever",
    whom="topics with transactions, and unclean leader elections enabled or a power loss of all replicas",
    since="0.11.0.0",
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
    code="A marker counts as written when the leader has acknowledged it (TransactionMarkerChannelManager), "
    "and TransactionMetadata then has no partition left to complete. A replica that is elected without "
    "the marker has the transaction open by its own log (ProducerStateManager), which holds the last "
    "stable offset back, and no request of the coordinator's will end it.",
    log_patterns=("Truncating .*t-0", "Leader t-0 ", "Follower t-0 "),
)
WATCHED_S = 25.0
HELD_BACK = frozenset({"stuck-last-stable-offset"})
HALF = frozenset({"transaction-half-committed"})
SKIPPED = frozenset({"poll-skip", "internal-poll-skip"})
MARKER_CUT = frozenset({"log-truncated-below-high-watermark"})
"""The marker, which the replicas in sync alone had, was below their high watermark."""
STUCK = (
    Documented(
        on=KAFKA_20716.affected,
        required=HELD_BACK,
        allowed=MARKER_CUT,
        source=KAFKA_20716.id,
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
    """The record of the transaction is on the disks, and so is what its coordinator has noted; its marker is not.

    A transaction that its coordinator had for open would be aborted when its time is over, and hold nothing back.
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
    """That of the transaction, and another, on the same replicas."""
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
    """The replica that was away comes back to dead ones, and leads."""
    run.kill(*in_sync)
    run.start(behind)
    run.wait_leader(run.partition(), behind)
    run.start(*in_sync)


def watch(run: Run) -> None:
    """All replicas are in sync, records are acknowledged, and readers are given them or not."""
    t = run.partition()
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 3)
    run.watch_ends(t, WATCHED_S)


def require_complete(run: Run, transaction: OpenTransaction, elsewhere: Partition) -> None:
    """Require that a transaction is committed, and noted as complete: until it is, the next one may not begin."""
    run.require("the transaction is committed", transaction.ended is not None and transaction.ended.outcome == "ok")
    with run.transaction() as second:
        second.send(elsewhere)
    run.require("the next one is, too", second.ended is not None and second.ended.outcome == "ok")


scenario(
    name="museum-marker-lost",
    claim="""After an unclean election, or a power loss, that drops the marker of a committed transaction, no record
        that is acknowledged from then on is ever given to consumers under read_committed.""",
    source="KAFKA-20716, KIP-98",
    operator="""Keep unclean.leader.election.enable=false for topics that transactions write to. A power loss of all
        replicas can do the same. If it happened, a transaction that the same producer commits in that partition
        releases the readers, and keeps what was committed. To abort the open one (kafka-transactions find-hanging, and
        abort) releases them too, but makes its records aborted ones.""",
    needs=["transactions"],
    exhibit=Exhibit(bug=KAFKA_20716, affected=("3.9.2-kraft", "4.3.1", "4.4.0"), fixed=()),
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(brokers=(1, 2), controller=3, settings=TWO_BROKERS),
    topic=TopicPlan(replicas=((1, 2),)),
    cases={
        "default": Case(steps=elected_without_marker, topic=UNCLEAN, documented=STUCK),
        "replicated": Case(
            steps=elected_without_marker, topic=UNCLEAN, replicas=THREE, cluster=IN_PRODUCTION, documented=STUCK
        ),
        "power-cut": Case(
            steps=power_lost, replicas=THREE, cluster=replace(IN_PRODUCTION, disks=Disks()), documented=STUCK
        ),
        "next-commits": Case(
            steps=partial(next_transaction, commits=True),
            topic=UNCLEAN,
            documented=[
                Documented(
                    allowed=MARKER_CUT,
                    sentence="The next transaction's marker ends both, and all is read.",
                    source="seen on 3.9.2 and 4.3.1; ProducerAppendInfo takes one marker for both",
                    basis=Basis.MEASURED,
                )
            ],
        ),
        "next-aborts": Case(
            steps=partial(next_transaction, commits=False),
            topic=UNCLEAN,
            documented=[
                Documented(
                    on=KAFKA_20716.affected,
                    required=HALF,
                    allowed=MARKER_CUT | SKIPPED,
                    source=KAFKA_20716.id,
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
