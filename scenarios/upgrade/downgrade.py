"""A cluster that was upgraded goes back to the release before (Kafka documentation, Upgrading: downgrades; KIP-584).

As long as nothing was raised every node can go back, one after the other, while clients go on: the new release wrote
and spoke as the old one does. Once the protocol (ZooKeeper) or metadata.version (KRaft) was raised, a node that is
started as the old release ends itself: it does not know the protocol that its settings name, or the level that the
metadata log has. It goes on as the new release then, and nothing is lost.
"""

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, Target, TopicPlan, one_of, ranges, scenario
from scenarios.upgrade import ROUTE

CLAIMS = ("leader-elected-from-isr", "leader-epoch-rises-by-one")
SOURCE = "Kafka documentation, Upgrading: once the protocol, or metadata.version, is raised there is no way back"
REFUSES = r"is not a valid version|metadata\.version|MetadataVersion|feature level"
"""What an old release says of a protocol, or of a level, that it does not know."""


def nodes(run: Run) -> tuple[list[Target], list[Target]]:
    """KRaft's controller, if there is one, and the brokers."""
    kraft = ranges.KRAFT.holds(run.version)
    return [run.node("controller-100")] if kraft else [], run.replicas_of(run.partition())


def wait_whole(run: Run) -> None:
    """Wait until all replicas are in sync."""
    for t in (run.partition(number) for number in range(3)):
        run.wait_isr(t, run.replicas_of(t))


def before_raising(run: Run) -> None:
    """Every node as the next release, and back again."""
    t, (controllers, brokers) = run.partition(), nodes(run)
    with run.consume(t) as consumer, run.load(t, rate_per_s=50, expected_loss=old(run)) as load:
        load.wait_more(100, timeout_s=60)
        for target in (*controllers, *brokers):
            run.upgrade(target)
            wait_whole(run)
        load.wait_more(50, timeout_s=60)
        for target in (*brokers, *controllers):
            run.downgrade(target)
            wait_whole(run)
        consumer.wait_read(load.wait_more(100, timeout_s=60).acked, timeout_s=60)
    run.send(t)


def after_raising(run: Run) -> None:
    """Every node as the next release, with what it speaks; then a broker is to go back."""
    t, (controllers, brokers) = run.partition(), nodes(run)
    with run.consume(t) as consumer, run.load(t, rate_per_s=50, expected_loss=old(run)) as load:
        load.wait_more(100, timeout_s=60)
        for target in (*controllers, *brokers):
            run.upgrade(target)
            wait_whole(run)
        if controllers:
            run.finalize("metadata.version")
        else:
            run.raise_protocol()
        run.downgrade(brokers[-1], refused=REFUSES)
        load.wait_more(50, timeout_s=60)
        run.upgrade(brokers[-1])
        wait_whole(run)
        consumer.wait_read(load.wait_more(100, timeout_s=60).acked, timeout_s=60)
    run.send(t)


def old(run: Run) -> bool:
    """Whether the run begins with followers that truncate to their high watermark, which may lose records."""
    return ranges.HIGH_WATERMARK_TRUNCATION.holds(run.version)


def documented(sentence: str) -> list[Documented]:
    """Nothing is lost from leader epochs on; before, a loss is allowed."""
    return [
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            allowed=LOST | {"replica-divergence"},
            claims=CLAIMS,
            sentence=sentence,
            source="seen on 0.10.2.2: that nothing is lost while followers truncate is not documented",
            basis=Basis.MEASURED,
        ),
        Documented(claims=CLAIMS, sentence=sentence, source=SOURCE, basis=Basis.DOCUMENTATION),
    ]


scenario(
    name="upgrade-downgrade",
    claim="""As long as neither the protocol nor metadata.version was raised, a cluster can go back to the release
        before, node by node; afterwards a node that is started as the old release ends itself. Nothing acknowledged is
        lost.""",
    source=SOURCE,
    operator="""Leave some days between the last new node and the new protocol, or metadata.version: until then you can
        go back, and afterwards only to a backup.""",
    applies=one_of(*ROUTE),
    cluster=ClusterPlan(upgrades=ROUTE, controller=1, settings={"replica.socket.timeout.ms": "1500"}),
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2)), settings={"min.insync.replicas": "2"}),
    cases={
        "before-raising": Case(
            steps=before_raising, documented=documented("Every node goes back, and nothing acknowledged is lost.")
        ),
        "after-raising": Case(
            steps=after_raising,
            documented=documented("A node that is started as the old release ends itself, and nothing is lost."),
        ),
    },
)
