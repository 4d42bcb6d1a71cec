"""Brokers fail again and again, in ways and at moments that the seed draws, while records are written (Kafka
documentation, Design: replication; KIP-98; KIP-101).

Each other scenario brings about one sequence that is known. This one knows none. A broker is killed, stopped, frozen,
or cut off. While it is away records are written, an administrator asks for changes, or a transaction ends. Then the
broker comes back, and the next one follows when all replicas are in sync. The seed draws the broker, the fault, how
long it lasts, and what is asked. The same seed draws the same storm, but the brokers' own timing differs from run to
run.

Kafka owes in every such sequence what it owes everybody. One of three replicas is away at a time, elections are clean
and min.insync.replicas is 2. So no record that was acknowledged with acks=all is lost, and writes continue each time.
Producers are idempotent, so nothing is written twice. A transaction is read whole or not at all, and holds up no reader
when it has ended. In the end every replica is in sync, and all are equal.

A leader that reaches no follower acknowledges nothing with acks=all, and another leads once its session has ended. A
broker may also lose the controllers alone, or hear from the others without being heard.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from harness.words import (
    BackgroundConsumer,
    Basis,
    Case,
    ClusterPlan,
    Documented,
    Partition,
    Run,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

BLOWS = 8
RATE, BETWEEN = 60, 60
"""Records a second, and how many are acknowledged while a broker is away, and after it."""
LIMIT_S = 120.0
FOUR = (1, 2, 3, 4)
"""Brokers for the case in which replicas move: one has none of a partition's."""
IDEMPOTENT = {"enable.idempotence": "true"}
SOON = {"message.timeout.ms": "8000"}
"""A record of a transaction is given up after that: a client that asks a leader which is cut off hears of no other."""
SETTINGS = {
    "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false",
    "replica.lag.time.max.ms": "3000",
    "replica.socket.timeout.ms": "3000",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
SOURCE = "Kafka documentation, Design: replication; topic configuration: min.insync.replicas; KIP-101"
ELECTED = ("leader-elected-from-isr", "leader-epoch-rises-by-one")

Strike = Callable[[Run, Target], AbstractContextManager[None]]
"""A fault of one broker, which lasts as long as the block."""


@contextmanager
def killed(run: Run, broker: Target) -> Iterator[None]:
    """Kill -9."""
    run.kill(broker)
    yield
    run.start(broker)


@contextmanager
def stopped(run: Run, broker: Target) -> Iterator[None]:
    """A clean stop."""
    run.stop(broker)
    yield
    run.start(broker)


@contextmanager
def frozen(run: Run, broker: Target) -> Iterator[None]:
    """It stands still, and continues as if nothing had been."""
    run.freeze(broker)
    yield
    run.thaw()


@contextmanager
def cut_off(run: Run, broker: Target) -> Iterator[None]:
    """No other node reaches it, and clients do."""
    run.cut([broker], [*others(run, run.partition(), broker), run.coordinator()])
    yield
    run.heal_network()


@contextmanager
def without_controllers(run: Run, broker: Target) -> Iterator[None]:
    """It reaches the other brokers, and neither ZooKeeper nor the controllers."""
    run.cut_from_coordinator(broker)
    yield
    run.heal_network()


@contextmanager
def unheard(run: Run, broker: Target) -> Iterator[None]:
    """It hears from all other nodes, and none hears from it."""
    run.cut([broker], [*others(run, run.partition(), broker), run.coordinator()], one_way=True)
    yield
    run.heal_network()


ENDS: tuple[Strike, ...] = (killed, stopped, frozen)
EVERY: tuple[Strike, ...] = (*ENDS, cut_off, without_controllers, unheard)


def others(run: Run, t: Partition, broker: Target) -> list[Target]:
    """The partition's other replicas."""
    return [one for one in run.replicas_of(t) if one.id != broker.id]


def drawn(run: Run, usual: int, of: int) -> int:
    """A number from 0 to `of`, without it, by the seed."""
    return int(run.vary(usual % of, 0, of - 0.001))


def partitions_of(run: Run) -> list[Partition]:
    """The topic's partitions."""
    return [run.partition(number) for number in range(len(run.topic.replicas))]


def blow(run: Run, t: Partition, number: int, strikes: Sequence[Strike]) -> tuple[Target, AbstractContextManager[None]]:
    """The next broker, one of a partition's replicas, and the fault of it."""
    broker = run.replicas_of(t)[drawn(run, number, 3)]
    return broker, strikes[drawn(run, number, len(strikes))](run, broker)


def whole(run: Run) -> None:
    """Every replica is in sync."""
    for t in partitions_of(run):
        run.wait_isr(t, run.replicas_of(t))


def writes(run: Run) -> None:
    """A load continues through every fault."""
    t = run.partition()
    with run.consume(t) as consumer, run.load(t, rate_per_s=RATE, settings=IDEMPOTENT) as load:
        for number in range(BLOWS):
            load.wait_more(BETWEEN, timeout_s=LIMIT_S)
            _, fault = blow(run, t, number, EVERY)
            with fault:
                load.wait_more(drawn(run, BETWEEN, 4 * BETWEEN), timeout_s=LIMIT_S)
            whole(run)
        consumer.wait_read(load.wait_more(BETWEEN, timeout_s=LIMIT_S).acked, timeout_s=LIMIT_S)


def changes(run: Run) -> None:
    """While a broker is away an administrator asks for something, and a load continues."""
    t = run.partition()
    asks = (records_deleted, segments_shortened, moved)
    with run.consume(t) as consumer, run.load(t, rate_per_s=RATE, settings=IDEMPOTENT) as load:
        for number in range(BLOWS):
            consumer.wait_read(load.wait_more(BETWEEN, timeout_s=LIMIT_S).acked, timeout_s=LIMIT_S)
            asked = partitions_of(run)[drawn(run, number, 3)]
            broker, fault = blow(run, asked, number, ENDS)
            with fault:
                live = others(run, asked, broker)
                run.wait_leader(asked, *live)
                load.wait_more(drawn(run, 0, BETWEEN), timeout_s=LIMIT_S)
                asks[drawn(run, number, len(asks))](run, asked, live, consumer)
                load.wait_more(BETWEEN, timeout_s=LIMIT_S)
            run.wait_reassigned(asked)
            whole(run)
        consumer.wait_read(load.wait_more(BETWEEN, timeout_s=LIMIT_S).acked, timeout_s=LIMIT_S)


def records_deleted(run: Run, t: Partition, _live: Sequence[Target], consumer: BackgroundConsumer) -> None:
    """Records that were read are deleted, a part of the log or all of it, whatever the broker has that is away."""
    end = run.wait_stable(t, timeout_s=LIMIT_S).high_watermark
    consumer.wait_position(t.topic, t.number, end, timeout_s=LIMIT_S)
    run.delete_records(t, int(end * run.vary(0.5, 0.2, 1.0)))


def segments_shortened(run: Run, t: Partition, live: Sequence[Target], _consumer: BackgroundConsumer) -> None:
    """The topic's segments become shorter, or longer again."""
    run.set_topic(t.topic, "segment.bytes", str(1_048_576 * (2 + drawn(run, 1, 4))), told=live)


def moved(run: Run, t: Partition, _live: Sequence[Target], _consumer: BackgroundConsumer) -> None:
    """The preferred leader is to be replaced by the broker that has no replica."""
    _, *rest = run.replicas_of(t)
    run.reassign(t, [*rest, next(run.broker(one) for one in FOUR if one not in run.assignment_of(t))])


def transactions(run: Run) -> None:
    """A broker fails in the middle of each transaction, which is committed or aborted meanwhile."""
    generation = 0
    with run.consume(run.partition(), committed_only=True):
        for number in range(BLOWS):
            commits = drawn(run, number, 3) > 0
            with run.transaction(
                f"storm-{generation}", commit=commits, settings=SOON, timeout_s=LIMIT_S
            ) as transaction:
                for t in partitions_of(run):
                    transaction.send(t, 2, timeout_s=LIMIT_S)
                broker, fault = blow(run, run.partition(), number, EVERY)
                with fault:
                    for t in partitions_of(run):
                        run.wait_leader(t, *others(run, t, broker))
                    for t in partitions_of(run):
                        transaction.send(t, 2, timeout_s=LIMIT_S, must=False)
            # A client that is not told how its transaction ended cannot begin another one.
            ended = transaction.ended
            generation += int(ended is None or ended.outcome != "ok")
            whole(run)
        for t in partitions_of(run):
            run.wait_stable(t, timeout_s=LIMIT_S)


def owed(source: str, basis: Basis) -> list[Documented]:
    """Nothing is lost."""
    return [Documented(claims=ELECTED, source=source, basis=basis)]


scenario(
    name="broker-storm",
    claim="""Brokers fail one at a time, in any way and at any moment. With three replicas, acks=all and
        min.insync.replicas=2 no acknowledged record is lost, and an idempotent producer writes none twice.""",
    source=f"{SOURCE}; KIP-98",
    operator="""Have three replicas, min.insync.replicas=2, acks=all and idempotent producers, and let one broker be
        away at a time. Then no fault of a broker or its network loses an acknowledged record.""",
    applies=ranges.LEADER_EPOCHS & ranges.TRANSACTIONS,
    needs=["idempotence", "transactions"],
    topic=TopicPlan(replicas=((1, 2, 3), (2, 3, 1), (3, 1, 2))),
    cluster=ClusterPlan(controller=1, settings=SETTINGS),
    cases={
        "writes": Case(steps=writes, documented=owed(SOURCE, Basis.DOCUMENTATION)),
        "changes": Case(
            steps=changes,
            cluster=ClusterPlan(brokers=FOUR, controller=1, settings=SETTINGS),
            documented=owed(SOURCE, Basis.DOCUMENTATION),
        ),
        "transactions": Case(steps=transactions, documented=owed("KIP-98", Basis.KIP)),
    },
)
