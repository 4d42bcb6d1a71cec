"""An unclean election drops a transaction's marker, and nobody writes it again (KAFKA-20716).

A transaction is committed when its coordinator has written so; then it has a marker put into each partition. Readers
under read_committed are given nothing behind the first record of a transaction that has no marker there. A marker is a
record like any other: written by the leader, and copied. Where the leader alone has it, and an unclean election makes a
replica lead that has the transaction's records and not its marker, the transaction is open there. Its coordinator has
noted it as complete, so nobody will end it: not its time-out, not the producer's next transaction.

Plain records are then acknowledged by all replicas, and consumers under read_committed never see them, also after the
old leader is back, which truncates. That an unclean election loses what the new leader lacks is documented. That it
holds back all that comes after is not. With `clean`, the replica is in sync again before the leader dies.
"""

from __future__ import annotations

from typing import Final

from harness.plan import ClusterPlan, TopicPlan
from harness.run import Partition, Run
from harness.scenario import EVERY_VERSION, Bug, Case, Documented, Exhibit, Line, scenario

KAFKA_20716 = Bug(
    id="KAFKA-20716",
    title="after an unclean election consumers under read_committed get nothing more, for ever",
    whom="topics with transactions and unclean leader elections enabled",
    since="0.11.0.0",
    fixed=(),
    code="A marker counts as written when the leader has acknowledged it (TransactionMarkerChannelManager), "
    "and TransactionMetadata then has no partition left to complete. A replica that is elected without "
    "the marker has the transaction open by its own log (ProducerStateManager), which holds the last "
    "stable offset back, and no request of the coordinator's will end it.",
    says=("Truncating .*t-0", "Leader t-0 ", "Follower t-0 "),
)
TRANSACTIONS = Line("transactions (KIP-98, 0.11 and later)", lambda version: version.release >= (0, 11))
WATCHED_S: Final = 25.0
HELD_BACK: Final = frozenset({"stuck-last-stable-offset"})
MARKER_CUT: Final = frozenset({"log-truncated-below-high-watermark"})
"""The marker, which the leader alone had, was below its high watermark."""


@scenario(
    name="museum-marker-lost",
    claim="""After an unclean election that drops the marker of a committed transaction, no record that is acknowledged
        from then on is ever given to consumers under read_committed.""",
    source="KAFKA-20716, KIP-98",
    operator="""Keep unclean.leader.election.enable=false for topics that transactions write to. If it happened, find
        the open transaction with kafka-transactions find-hanging, and abort it there.""",
    exhibit=Exhibit(bug=KAFKA_20716, affected=("3.9.2-kraft", "4.3.1"), fixed=()),
    applies=TRANSACTIONS,
    cluster=ClusterPlan(settings={"min.insync.replicas": "1", "replica.lag.time.max.ms": "5000"}),
    topic=TopicPlan(replicas=((1, 2),), settings={"unclean.leader.election.enable": "true"}),
    cases={
        "default": Case(
            documented=[
                Documented(on=KAFKA_20716.affected, required=HELD_BACK, allowed=MARKER_CUT),
                Documented(on=KAFKA_20716.unaffected),
            ]
        ),
        "clean": Case(
            documented=[Documented(on=EVERY_VERSION, says="The replica that leads has the marker, and all is read.")]
        ),
    },
)
def marker_lost(run: Run) -> None:
    t = run.partition()
    leader, follower = run.replicas_of(t)
    elsewhere = TopicPlan(name="elsewhere", replicas=((run.without(t)[0].id,),))
    run.create_topic(elsewhere)

    with run.transaction() as transaction:
        transaction.send(t)
        run.wait_high_watermark(t, 1, [leader, follower])
        run.kill(follower)
        run.wait_isr(t, [leader])
    run.require("the transaction is committed", transaction.ended is not None and transaction.ended.outcome == "ok")
    run.wait_high_watermark(t, 2, [leader])
    # One that begins and ends after it: then the coordinator has noted the first as complete.
    with run.transaction() as second:
        second.send(Partition(elsewhere.name, 0))
    run.require("the next one is, too", second.ended is not None and second.ended.outcome == "ok")
    run.copy_replicas("marked")

    if run.case.name == "clean":
        run.start(follower)
        run.wait_isr(t, [leader, follower])
        run.kill(leader)
    else:
        run.kill(leader)
        run.start(follower)
    run.wait_leader(t, follower)
    run.send(t, 3)
    run.start(leader)
    run.wait_isr(t, [leader, follower])
    run.watch_ends(t, WATCHED_S)
