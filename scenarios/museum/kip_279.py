"""In-sync replicas differ forever, in spite of leader epochs (KIP-279, KAFKA-6361).

Two replicas take turns: the leader stops, and the other is started and elected uncleanly. Each turn is another leader
epoch, and each leader writes records that the other never gets. When both are up at last, the leader does not know the
follower's newest epoch.

A follower asks its leader where its newest epoch ends, and truncates there (KIP-101). Until 2.0 the leader answered
with an offset alone. For an unknown epoch this was the beginning of the next larger epoch that it knows. That offset is
beyond the follower's log end, so the follower truncates nothing, fetches from its log end on, and is in sync. At the
offsets before, the two have different records. From 2.0 on the answer names its epoch, the largest one not above the
follower's, and the follower goes back, epoch by epoch, to one that both know.

The unclean elections are documented to lose the second replica's records. The bug is that the replicas differ and
nothing ever reports it.
"""

from harness.words import (
    LOST,
    Basis,
    Border,
    Bug,
    ClusterPlan,
    Documented,
    Exhibit,
    Partition,
    Run,
    Side,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

KAFKA_6361 = Bug(
    id="KAFKA-6361",
    title="in-sync replicas hold different records forever, although they truncate by leader epoch",
    touches="unclean leader elections",
    whom="clusters with unclean leader elections enabled",
    since=Border(
        "0.11.0.0",
        "KIP-101",
        Side("0.10.2.2", "followers truncate to their high watermark, and no request asks where an epoch ends"),
        Side(
            "0.11.0.0",
            "LeaderEpochFileCache.endOffsetFor answers an unknown epoch with the start of the next larger one",
        ),
    ),
    fixed=("2.0.0",),
    commits=("9679c44d2b5",),
    mode="zookeeper",
)

DIVERGED = frozenset({"replica-divergence", "leader-epoch-regression"})
"""The replicas differ, and in the follower's log the epochs go back where the leader's records follow its own."""


@scenario(
    name="museum-kip-279",
    claim="""Two replicas that led alternately after unclean elections are in sync with different records at the same
        offsets. No log line, metric or consumer ever shows it. The current leader decides which record a consumer
        gets.""",
    source="KAFKA-6361, KIP-279",
    operator="""Keep unclean.leader.election.enable=false. Where it was on, replicas may differ permanently after
        several unclean elections in a row: compare them (kafka-replica-verification), and empty the disk of one that
        differs.""",
    needs=["acks-1"],
    exhibit=Exhibit(bug=KAFKA_6361, affected=("1.1.1",), fixed=("2.2.2",)),
    applies=ranges.TRUNCATES_BY_EPOCH_WITH_ZOOKEEPER,
    cluster=ClusterPlan(
        brokers=(1, 2),
        controller=3,
        settings={
            "unclean.leader.election.enable": "true",
            # The last replica has nobody to hand its leadership to: it need not ask three times.
            "controlled.shutdown.max.retries": "1",
            "min.insync.replicas": "1",
        },
    ),
    topic=TopicPlan(replicas=((1, 2),)),
    documented=[
        Documented(
            on=KAFKA_6361.affected,
            required=LOST | DIVERGED,
            source=KAFKA_6361.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_6361.unaffected,
            required=LOST,
            sentence="""The unclean elections lose the second replica's records, as documented. Then it truncates to an
                epoch that both know, and the replicas agree.""",
            source=KAFKA_6361.id,
            basis=Basis.JIRA,
        ),
    ],
)
def kip_279(run: Run) -> None:
    t = run.partition()
    one, two = run.replicas_of(t)
    run.send(t)
    run.wait_high_watermark(t, 1, [one, two])

    run.stop(one)
    run.wait_isr(t, [two])
    run.send(t, acks="1", only=two, expected_loss=True)
    elect_uncleanly(run, t, one, in_place_of=two)
    run.send(t, 3, acks="1", only=one)
    elect_uncleanly(run, t, two, in_place_of=one)
    run.send(t, acks="1", only=two, expected_loss=True)
    elect_uncleanly(run, t, one, in_place_of=two)
    run.send(t, 2, acks="1", only=one)
    run.copy_replicas("armed")
    of_leader, of_follower = ([epoch for epoch, _ in run.epochs_of(replica, t)] for replica in (one, two))
    run.require(
        "the leader does not know the follower's newest epoch, and has a newer one",
        of_follower[-1] not in of_leader and of_follower[-1] < of_leader[-1],
        leader=of_leader,
        follower=of_follower,
    )

    run.start(two)
    run.wait_isr(t, [one, two])
    run.send(t)


def elect_uncleanly(run: Run, t: Partition, heir: Target, *, in_place_of: Target) -> None:
    """The only replica in sync stops, and the other, which is not in sync, is started and leads."""
    run.stop(in_place_of)
    run.start(heir)
    run.wait_leader(t, heir)
