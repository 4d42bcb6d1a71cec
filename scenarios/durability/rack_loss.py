"""Replicas lie in two racks, and one rack loses power (Kafka documentation: balancing replicas across racks,
min.insync.replicas; KIP-36).

Four replicas, 1 and 2 in one rack, 3 and 4 in the other; the leader is 1. With all of them in sync, the loss of a rack
loses no record: the remaining replicas have every acknowledged record, and one of them leads. Before 0.11 they may
truncate the last one first, as in memory-survives.

In the other cases the leader is first cut off from the other rack, and not from ZooKeeper or the controller. The ISR
shrinks to its own rack. With min.insync.replicas=2 that is enough: two brokers that share a power supply acknowledge
records, and lose them together. With min.insync.replicas=3 a record must be in both racks, and the leader refuses these
records. (With eligible leader replicas the other rack then leads before the first is back: its replicas left an ISR
that was too small.)
"""

from harness.words import (
    LOST,
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

BEFORE = 3
COUNT = 10
ANSWER_LIMIT_S = 20.0
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
"""A disk that lost power holds less than the rack acknowledged, or a replica truncates what its leader acknowledged."""
MIN_INSYNC_DOC = "Kafka documentation, topic configuration: min.insync.replicas"
IN_SYNC = [
    Documented(
        on=ranges.HIGH_WATERMARK_TRUNCATION,
        allowed=TRUNCATED | LOST | {"inconsistent-offsets"},
        claims=["leader-elected-from-isr", "leader-replaced-in-time"],
        sentence="""The other rack leads and has all records, unless the second broker of the dead rack was elected
            first. Then the others truncate their last record, and only that one (memory-survives). Whether a broker
            says that it truncates depends on its release and on how far its high watermark was behind.""",
        source="KIP-101: scenario 1; Log.truncateTo (to 0.10.2.2 also of a log that ends there already)",
        basis=Basis.KIP,
    ),
    Documented(
        claims=["leader-elected-from-isr", "leader-replaced-in-time"],
        sentence="""The other rack has all records, leads, and continues. The logs of the dead rack are beginnings of
            the leader's, so they are not truncated when it is back.""",
        source="Kafka documentation, Balancing replicas across racks; topic configuration: min.insync.replicas",
        basis=Basis.DOCUMENTATION,
    ),
]
WITHIN = [
    Documented(
        on=ranges.LAST_KNOWN_LEADER,
        required=LOST | TRUNCATED,
        claims=["leader-elected-from-outside-isr"],
        sentence="""The two replicas of one rack acknowledge records that they alone have, and lose them together. Both
            return without the mark of a clean stop, and the last known leader leads again without these records.""",
        source="KIP-966: last known leader",
        basis=Basis.KIP,
    ),
    Documented(
        required=LOST | TRUNCATED,
        claims=["leader-elected-from-isr"],
        sentence="""The two replicas of one rack acknowledge records that they alone have, and lose them together. They
            are still the ISR, and one of them leads again without these records.""",
        source=f"{MIN_INSYNC_DOC}; Application vs. OS flush management",
        basis=Basis.DOCUMENTATION,
    ),
]
ACROSS = [
    Documented(
        on=ranges.HIGH_WATERMARK_TRUNCATION,
        allowed=TRUNCATED,
        claims=["acks-all-refused-below-min-isr"],
        sentence="""One rack alone acknowledges nothing, so nothing is lost with it. The record that it wrote and did
            not acknowledge lies below its own high watermark. If that was checkpointed before the power was cut, and
            the record not flushed, its brokers truncate below it.""",
        source=f"KIP-101: motivation; {MIN_INSYNC_DOC}; broker configuration: "
        "replica.high.watermark.checkpoint.interval.ms",
        basis=Basis.KIP,
    ),
    Documented(
        claims=["acks-all-refused-below-min-isr"],
        sentence="One rack alone acknowledges nothing, so nothing is lost with it.",
        source=MIN_INSYNC_DOC,
        basis=Basis.DOCUMENTATION,
    ),
]


def in_sync(run: Run) -> None:
    """Both racks have all records when one loses power, and the other continues."""
    t, one, two, three, four = written(run)
    run.send(t, COUNT - 1)
    run.send(t, expected_loss=True)  # before 0.11, where the high watermark of followers is one fetch behind
    run.lose_power(one, two)
    require_lost(run, t, [one, two], BEFORE + COUNT)
    run.wait_leader(t, three, four)
    run.wait_isr(t, [three, four])
    run.send(t)
    come_back(run, t, one, two)


def within(run: Run) -> None:
    """One rack is cut off and acknowledges alone, and then it loses power."""
    t, one, two, three, four = written(run)
    send_to_one_rack(run, t, one, two, [three, four], acknowledged=True)
    run.lose_power(one, two)
    require_lost(run, t, [one, two], BEFORE + 1 + COUNT)
    run.copy_replicas("after the power loss")
    run.heal_network()
    run.wait_no_leader(t, one)
    come_back(run, t, one, two)


def across(run: Run) -> None:
    """One rack is cut off and acknowledges nothing alone, and then it loses power."""
    t, one, two, three, four = written(run)
    send_to_one_rack(run, t, one, two, [three, four], acknowledged=False)
    run.lose_power(one, two)
    run.heal_network()
    come_back(run, t, one, two)


def written(run: Run) -> tuple[Partition, Target, Target, Target, Target]:
    """Every disk has some records. The partition, the two replicas of the leader's rack, and the other two."""
    t = run.partition()
    one, two, three, four = replicas = run.replicas_of(t)
    run.send(t, BEFORE)
    run.wait_high_watermark(t, BEFORE, replicas)
    run.flush_disks()
    return t, one, two, three, four


def send_to_one_rack(
    run: Run, t: Partition, one: Target, two: Target, others: list[Target], *, acknowledged: bool
) -> None:
    """The leader's rack is cut off, and is the ISR. min.insync.replicas decides whether it acknowledges records."""
    run.cut([one], others)
    run.producer().send_async(*t, expected_loss=True)  # only who lacks something leaves the ISR
    run.wait_isr(t, [one, two])
    alone = [run.send_async(t, expected_loss=True).wait(ANSWER_LIMIT_S) for _ in range(COUNT)]
    run.claim(
        "one rack continues alone where min.insync.replicas allows it",
        all((sent.outcome == "ok") == acknowledged for sent in alone),
        answers=[sent.error_name or sent.outcome for sent in alone],
    )
    run.copy_replicas("alone")


def require_lost(run: Run, t: Partition, struck: list[Target], written: int) -> None:
    """Require that no disk of the rack has all records."""
    ends = {node.node.name: run.log_end_and_high_watermark(node, t)[0] for node in struck}
    run.require("no disk of the dead rack has all records", max(ends.values()) < written, ends=ends)


def come_back(run: Run, t: Partition, *struck: Target) -> None:
    """The rack has power again."""
    run.start(*struck)
    run.wait_leader(t)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="rack-loss",
    claim="""A rack that loses power loses the records that it acknowledged alone. It acknowledges none alone if
        min.insync.replicas is higher than the number of replicas in any rack. Before 0.11 the last record may be lost
        all the same (KIP-101).""",
    source="Kafka documentation, Balancing replicas across racks; topic configuration: min.insync.replicas; KIP-36",
    operator="""Spread replicas over racks (broker.rack), and set min.insync.replicas higher than the number of replicas
        in any one rack. Otherwise a rack that is cut off acknowledges alone. With three replicas you need three
        racks.""",
    cluster=ClusterPlan(
        brokers=(1, 2, 3, 4),
        controller=5,
        disks=Disks(),
        settings={
            "replica.lag.time.max.ms": "3000",
            "replica.socket.timeout.ms": "3000",
            "unclean.leader.election.enable": "false",
        },
    ),
    topic=TopicPlan(replicas=((1, 2, 3, 4),)),
    cases={
        "in-sync": Case(steps=in_sync, topic={"min.insync.replicas": "2"}, documented=IN_SYNC),
        "within": Case(steps=within, topic={"min.insync.replicas": "2"}, documented=WITHIN),
        "across": Case(steps=across, topic={"min.insync.replicas": "3"}, documented=ACROSS),
    },
)
