"""All brokers are restarted one after the other while a producer sends and a consumer reads (Kafka documentation,
Graceful shutdown; KIP-101).

Each of three brokers leads a partition, and one of them is the controller (with KRaft the controller is separate). The
brokers are stopped one after the other, cleanly or by kill -9, and started again. The next broker follows when all
replicas are in sync. With acks=all and min.insync.replicas=2 writes continue with one broker down, and no acknowledged
record is lost. Combined nodes (KRaft) are also the quorum of controllers. Two of three are always up, and elect another
controller when the active one is restarted.

Before 0.11 a follower truncates to its own high watermark and fetches the rest again, when it starts and when another
leader is elected. Nothing is lost by that here (KIP-101: it takes a second failure before it has fetched). A broker is
started only when it has left the ISR, so it cannot lead before it has everything. The next broker ends only when
records were acknowledged after the last election, with all that were in sync then. Before 2.3 a killed controller stays
in the ISR of partitions that it followed (KAFKA-3143). Writes with acks=all wait for it for replica.lag.time.max.ms,
ten seconds there, and not for its session alone. A controller that is stopped cleanly has left the ISR, but its last
fetch may bring it back in, and then it stays as well.
"""

from collections.abc import Callable
from functools import partial

from harness.words import (
    Basis,
    Case,
    ClusterPlan,
    Documented,
    Run,
    Target,
    TopicPlan,
    VersionRange,
    ranges,
    scenario,
)

SETTINGS = {"min.insync.replicas": "2", "replica.socket.timeout.ms": "1500"}
COMBINED = ClusterPlan(combined=True, settings=SETTINGS)
ELECTED = ("leader-elected-from-isr", "leader-epoch-rises-by-one")
TRUNCATES = """Followers truncate to their high watermark and fetch the rest again. The next broker ends only when they
    have done so, so nothing is lost."""
KILLED_IS_WAITED_FOR = """A killed controller stays in the ISR of partitions that it followed. acks=all waits for it
    until their leaders have missed it for replica.lag.time.max.ms."""
STOPPED_IS_WAITED_FOR = """A controller that is stopped may be back in an ISR before it exits, and then stays there.
    acks=all waits for it until its leader has missed it for replica.lag.time.max.ms."""


def documented(
    *claims: str,
    on: VersionRange = ranges.EVERY_VERSION,
    sentence: str = "",
    source: str = "Kafka documentation, Graceful shutdown; topic configuration: min.insync.replicas",
    basis: Basis = Basis.DOCUMENTATION,
) -> list[Documented]:
    """Nothing is lost: before leader epochs because no two failures follow each other. Of these lines, those that are
    in `on`.
    """
    all_of_them = on is ranges.EVERY_VERSION
    old, new = (line if all_of_them else line & on for line in (ranges.HIGH_WATERMARK_TRUNCATION, ranges.LEADER_EPOCHS))
    claimed = [*claims, *ELECTED]
    return [
        Documented(
            on=old,
            claims=claimed,
            sentence=f"{sentence} {TRUNCATES}".strip(),
            source=f"{source}; KIP-101: scenario 1 (a record is lost by a second failure before it is fetched again)",
            basis=basis,
        ),
        Documented(
            on=new,
            claims=claimed,
            sentence=sentence,
            source=source,
            basis=basis,
        ),
    ]


def restart_all(run: Run, end: Callable[[Run, Target], None]) -> None:
    """One broker after the other ends and is started again. The next broker follows when all are in sync."""
    partitions = [run.partition(number) for number in range(3)]
    t = partitions[0]
    with run.consume(t) as consumer, run.load(t, rate_per_s=100, also_idempotent=True) as load:
        load.wait_more(100, timeout_s=30)
        for restarted in run.replicas_of(t):
            end(run, restarted)
            for p in partitions:
                run.wait_isr(p, [one for one in run.replicas_of(p) if one.id != restarted.id])
            load.wait_more(100, timeout_s=60)
            run.start(restarted)
            for p in partitions:
                run.wait_isr(p, run.replicas_of(p))
        consumer.wait_read(load.wait_more(100, timeout_s=60).acked, timeout_s=60)
    run.send(t)


scenario(
    name="rolling-restart",
    claim="""All brokers can be restarted one after the other, cleanly or not, while producers write with acks=all and
        min.insync.replicas=2: no acknowledged record is lost.""",
    source="Kafka documentation, Graceful shutdown; Kafka documentation, topic configuration: min.insync.replicas; "
    "KIP-101, KAFKA-3143",
    operator="""Restart brokers one at a time, by SIGTERM, and wait for all replicas to be in sync before the next. With
        replication factor 3 and min.insync.replicas=2 writes pause for seconds at a time. A producer that is not
        idempotent may write records twice. After a kill, writes pause for the broker's session.""",
    cluster=ClusterPlan(controller=1, settings=SETTINGS),
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2))),
    cases={
        "clean": Case(
            steps=partial(restart_all, end=Run.stop),
            documented=[
                *documented(
                    "leader-moved-before-shutdown",
                    on=ranges.DEAD_CONTROLLER_STAYS_IN_ISR,
                    sentence=STOPPED_IS_WAITED_FOR,
                    source="seen on 0.10.2.2, in one run; KAFKA-3143 is of controllers that are killed",
                    basis=Basis.MEASURED,
                ),
                *documented("leader-moved-before-shutdown", "writes-pause-briefly"),
            ],
        ),
        "killed": Case(
            steps=partial(restart_all, end=Run.kill),
            documented=[
                *documented(
                    "leader-replaced-in-time",
                    "dead-controller-stays-in-isr",
                    on=ranges.DEAD_CONTROLLER_STAYS_IN_ISR,
                    sentence=KILLED_IS_WAITED_FOR,
                    source="KAFKA-3143",
                    basis=Basis.JIRA,
                ),
                *documented("leader-replaced-in-time", "writes-pause-for-the-session"),
            ],
        ),
        "clean-combined": Case(
            steps=partial(restart_all, end=Run.stop),
            cluster=COMBINED,
            applies=ranges.KRAFT,
            documented=documented("leader-moved-before-shutdown", "one-controller-at-a-time"),
        ),
        "killed-combined": Case(
            steps=partial(restart_all, end=Run.kill),
            cluster=COMBINED,
            applies=ranges.KRAFT,
            documented=documented("leader-replaced-in-time", "one-controller-at-a-time"),
        ),
    },
)
