"""The keepers of the cluster's metadata lose power: ZooKeeper, or one, two or all of three KRaft controllers (KIP-500,
KIP-595; ZooKeeper administrator's guide: forceSync).

A topic has just been created and has taken records, and a follower has just left the ISR, when the power goes. Unlike
records, metadata is flushed before a request is answered: a KRaft controller flushes the metadata log, ZooKeeper its
transaction log. So no metadata is lost. If one of three controllers loses power, another takes over. If two or all do,
nothing is decided until they return: leaders and ISRs stay as they are.

ZooKeeper can be told not to flush (forceSync=no, one of its unsafe options). Then it returns without its last
transactions: a topic that was just created is lost. Brokers have seen later transactions, so ZooKeeper refuses them. No
broker can renew its session or open another one until it is restarted.
"""

from functools import partial

from harness.words import (
    Basis,
    Case,
    ClusterPlan,
    Disks,
    Documented,
    Partition,
    Run,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

MADE_LAST = "made-last"
REFUSES = "Refusing session request for client .* as it has seen zxid"
QUORUM_FLUSHES = "KIP-595: the leader of the quorum flushes before it counts itself, followers before they fetch on"
NOTHING = (
    "All metadata that the cluster had committed is on the controllers' disks, and no acknowledged record is lost."
)


def unforced(run: Run) -> None:
    """A topic has just been made when ZooKeeper loses power, which has flushed nothing."""
    t, zookeeper = run.partition(), run.coordinator()
    run.send(t, 3)
    run.wait_high_watermark(t, 3, run.replicas_of(t))
    run.flush_disks()
    run.create_topic(TopicPlan(name=MADE_LAST, replicas=run.topic.replicas))
    run.lose_power(zookeeper)
    run.start(zookeeper)
    run.wait_log_line(zookeeper, REFUSES, "that a broker has seen later transactions")
    brokers = [run.broker(number) for number in run.cluster.brokers]
    run.kill(*brokers)
    run.start(*brokers)
    run.wait_forgotten(MADE_LAST)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


def forced(run: Run, most: int) -> None:
    """A topic has just been made and a follower has just left an ISR when ZooKeeper or this many controllers lose
    power.
    """
    t, made_last = run.partition(), TopicPlan(name=MADE_LAST, replicas=run.topic.replicas)
    late = Partition(made_last.name, 0)
    run.send(t, 3)
    run.flush_disks()
    run.create_topic(made_last)
    run.send(late, 3)
    follower = run.followers_of(t)[-1]
    rest = [one for one in run.replicas_of(t) if one.id != follower.id]
    run.stop(follower)
    run.wait_isr(t, rest)
    before, struck = run.state_of(t), keepers(run)[:most]

    run.lose_power(*struck)
    run.start(*struck)
    run.wait_registered(rest)
    run.create_topic(TopicPlan(name="made-after", replicas=(tuple(one.id for one in rest),)))
    after = run.state_of(t)
    run.claim(
        "the leader and the ISR are as they were",
        (after.leader, after.isr) == (before.leader, before.isr),
        witness="metadata",
        about=[t],
        before=before.isr,
        after=after.isr,
    )
    run.send(late)
    run.start(follower)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


def keepers(run: Run) -> list[Target]:
    """The controllers, the active one first; or ZooKeeper."""
    if run.version.mode == "zookeeper":
        return [run.coordinator()]
    active = run.controller()
    others = [one for one in (run.node(f"controller-{n}") for n in (100, 101, 102)) if one.id != active.id]
    return [active, *others]


scenario(
    name="metadata-power-loss",
    claim="""Controllers that lose power forget no decision: topics that were just created and ISRs that have just
        changed are as they were.""",
    source="KIP-500, KIP-595; ZooKeeper administrator's guide: forceSync",
    operator="""The metadata log, and ZooKeeper's log with its default forceSync=yes, survive a power loss; keep that
        default. A power loss endangers the records of your topics, not the metadata.""",
    cluster=ClusterPlan(controllers=3, disks=Disks()),
    topic=TopicPlan(settings={"min.insync.replicas": "1"}),
    cases={
        "one": Case(
            steps=partial(forced, most=1),
            applies=ranges.KRAFT,
            documented=[
                Documented(
                    claims=["metadata-survives-power-loss"],
                    sentence=NOTHING,
                    source=QUORUM_FLUSHES,
                    basis=Basis.KIP,
                )
            ],
        ),
        "majority": Case(
            steps=partial(forced, most=2),
            applies=ranges.KRAFT,
            documented=[
                Documented(
                    claims=["metadata-survives-power-loss"],
                    sentence=NOTHING,
                    source=QUORUM_FLUSHES,
                    basis=Basis.KIP,
                )
            ],
        ),
        "all": Case(
            steps=partial(forced, most=3),
            documented=[
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=["zookeeper-keeps-what-it-told"],
                    sentence="ZooKeeper flushes each transaction before it answers: nothing is lost.",
                    source="ZooKeeper administrator's guide: forceSync",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    claims=["metadata-survives-power-loss"],
                    sentence=NOTHING,
                    source=QUORUM_FLUSHES,
                    basis=Basis.KIP,
                ),
            ],
        ),
        "all-unforced": Case(
            steps=unforced,
            applies=ranges.ZOOKEEPER,
            cluster=ClusterPlan(disks=Disks(), java_options="-Dzookeeper.forceSync=no"),
            documented=[
                Documented(
                    claims=["unforced-zookeeper-forgets"],
                    sentence="""ZooKeeper has forgotten a topic that was created. It refuses the brokers, which have
                        seen that transaction, until they are restarted.""",
                    source="ZooKeeper administrator's guide: forceSync (unsafe options)",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
    },
)
