"""A cluster goes from one release to the next while producers send and a consumer reads (Kafka documentation,
Upgrading; KIP-584, KIP-778).

One node after the other is stopped cleanly and started as the new release, on the same disks: with ZooKeeper the
brokers, the controller last; with KRaft the three controllers, then the brokers. The next node follows when all
replicas are in sync. Then the protocol is raised. With ZooKeeper these are the protocol and the message format, with a
restart of every broker for each. With KRaft it is metadata.version, and then transaction.version and
eligible.leader.replicas.version where the new release has a higher level, without any restart.

The other cases do the same. When half of the brokers are the new release, the active controller dies, or a leader that
is still the old release. `restarted` restarts the same nodes as often, with the same seed, and upgrades none.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Case, ClusterPlan, LoadGenerator, Run, Target, one_of, ranges, scenario
from scenarios.upgrade import (
    ROUTE,
    SOCKET_TIMEOUT,
    TOPIC,
    by_high_watermark,
    finalize_if_higher,
    left_first,
    none_lost,
    one_by_one,
    partitions,
    restart,
    wait_left,
    wait_whole,
)

Meanwhile = Callable[[Run, list[Target], LoadGenerator], None]
FEATURES = ("metadata.version", "transaction.version", "eligible.leader.replicas.version")
SOURCE = "Kafka documentation, Upgrading; Kafka documentation, topic configuration: min.insync.replicas"


def nothing_dies(run: Run, old: list[Target], load: LoadGenerator) -> None:
    """Half of the brokers are the new release, without a fault."""


def controller_dies(run: Run, old: list[Target], load: LoadGenerator) -> None:
    """The active controller is killed, another takes over, and it comes back."""
    dead = run.controller()
    run.kill(dead)
    run.wait_controller_other_than(dead)
    wait_left(run, load, dead)
    run.start(dead)


def old_leader_dies(run: Run, old: list[Target], load: LoadGenerator) -> None:
    """A leader that is still the old release is killed, another replica leads, and it returns."""
    t = next(t for t in partitions(run) if run.leader_of(t).id in {one.id for one in old})
    dead = run.leader_of(t)
    run.kill(dead)
    run.wait_leader(t, *run.followers_of(t))
    wait_left(run, load, dead)
    run.start(dead)


def roll(run: Run, *, meanwhile: Meanwhile = nothing_dies, upgraded: bool = True) -> None:
    """Upgrade every node, and then raise the protocol."""
    t, kraft = run.partition(), ranges.KRAFT.holds(run.version)
    first = sorted(run.replicas_of(t), key=lambda one: one.id == run.cluster.plan.controller)
    controllers = [run.node(f"controller-{number}") for number in (100, 101, 102)] if kraft else []
    half = len(first) // 2 + 1

    again = run.start if by_high_watermark(run) else partial(restart, run)

    with run.consume(t) as consumer, run.load(t, rate_per_s=50, also_idempotent=kraft) as load:

        def each(targets: list[Target], change: Callable[[Target], None]) -> None:
            one_by_one(run, targets, left_first(run, load, change if upgraded else again))

        load.wait_more(100, timeout_s=60)
        run.note("stage: every node as the next release, one after the other")
        each([*controllers, *first[:half]], run.upgrade)
        load.wait_more(50, timeout_s=60)
        meanwhile(run, first[half:], load)
        wait_whole(run)
        each(first[half:], run.upgrade)
        load.wait_more(50, timeout_s=60)
        run.note("stage: what the cluster speaks is raised")
        if not kraft:
            each(first, run.raise_protocol)
            if ranges.FORMAT_LOOKED_AT.holds(run.next_version):
                each(first, run.raise_format)
        for feature in FEATURES if kraft and upgraded else ():
            if finalize_if_higher(run, feature):
                load.wait_more(50, timeout_s=60)
        consumer.wait_read(load.wait_more(100, timeout_s=60).acked, timeout_s=60)
    run.send(t)


documented = partial(none_lost, source=SOURCE)

scenario(
    name="upgrade-rolling",
    claim="""A cluster can be upgraded node by node, and then its protocol or metadata.version can be raised, while
        producers write with acks=all and min.insync.replicas=2. No acknowledged record is lost, even if a broker dies
        on the way. Before leader epochs (KIP-101) each broker is started only when it has left every ISR.""",
    source=SOURCE,
    operator="""Upgrade one node at a time, and wait until all replicas are in sync before the next. Raise the protocol,
        or metadata.version, when every node is new, and not before you are sure that you will not go back. Up to
        protocol 0.10.2 start a broker again only when it has left every ISR.""",
    applies=one_of(*ROUTE) | ranges.PAIRS,
    cluster=ClusterPlan(upgrades=ROUTE, controller=1, controllers=3, settings=SOCKET_TIMEOUT),
    topic=TOPIC,
    cases={
        "plain": Case(steps=roll, documented=documented()),
        "controller-dies": Case(steps=partial(roll, meanwhile=controller_dies), documented=documented()),
        "old-leader-dies": Case(steps=partial(roll, meanwhile=old_leader_dies), documented=documented()),
        "restarted": Case(
            steps=partial(roll, upgraded=False),
            documented=documented("The same restarts, without the upgrade."),
        ),
    },
)
