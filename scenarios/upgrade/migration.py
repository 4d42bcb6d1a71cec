"""The metadata go from ZooKeeper to KRaft while clients continue, and in each phase something dies (KIP-866; Kafka
documentation, ZooKeeper to KRaft migration).

The phases are those of the documentation. First a KRaft controller is started that knows of ZooKeeper. One broker after
the other is started anew, so that it registers with that controller too; until the last one has, a broker is the
controller. Then the KRaft controller becomes the controller, copies the metadata, and writes what it decides to its own
log and to ZooKeeper. Brokers still register in ZooKeeper, and the cluster can go back.

Something dies when two brokers have registered with the KRaft controller, and again when it writes to both. The KRaft
controller dies a third time, when every broker has registered and it cannot take over yet, being cut from ZooKeeper.
`reverted` goes back: the KRaft controller is stopped, ZooKeeper forgets it, a broker becomes the controller, and every
broker is started without the settings of a migration.

The KRaft controller copies a few partitions within a second: nothing dies in that second. The last phase, in which
brokers leave ZooKeeper for good, is not carried out: the cluster is observed through ZooKeeper.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, LoadGenerator, Run, Target, ranges, scenario
from scenarios.upgrade import SOCKET_TIMEOUT, TOPIC, wait_whole

SOURCE = "Kafka documentation, ZooKeeper to KRaft migration; KIP-866"
REVERTING = "Kafka documentation, Reverting to ZooKeeper mode during the migration"
MIGRATED = ["metadata-migrated-to-kraft"]
REVERTED = ["migration-reverted"]

Strike = Callable[[Run, Target, LoadGenerator], None]


def nothing_dies(run: Run, kraft: Target, load: LoadGenerator) -> None:
    """The phase passes without a fault."""


def both_controllers_die(run: Run, kraft: Target, load: LoadGenerator) -> None:
    """The KRaft controller is killed, which nobody needs yet; then the broker that is the controller."""
    run.kill(kraft)
    load.wait_more(50, timeout_s=60)
    run.start(kraft)
    dead = run.controller()
    run.kill(dead)
    run.wait_controller_other_than(dead)
    run.start(dead)
    wait_whole(run)


def kraft_controller_dies(run: Run, kraft: Target, load: LoadGenerator) -> None:
    """The only controller is killed and started again; it takes over anew, in a later epoch."""
    before = run.observer.state.controller_epoch
    run.kill(kraft)
    load.wait_more(50, timeout_s=60)
    run.start(kraft)
    run.wait_state(
        f"{kraft.node.name} is the controller in a later epoch than {before}",
        lambda state: state.controller == kraft.id and state.controller_epoch > before,
        owed=lambda _: True,
    )
    wait_whole(run)


def leader_dies(run: Run, kraft: Target, load: LoadGenerator) -> None:
    """A leader that has registered with both is killed, another leads, and it comes back."""
    t = run.partition()
    dead = run.leader_of(t)
    run.kill(dead)
    run.wait_leader(t, *run.followers_of(t))
    load.wait_more(50, timeout_s=60)
    run.start(dead)
    wait_whole(run)


def zookeeper_dies(run: Run, kraft: Target, load: LoadGenerator) -> None:
    """ZooKeeper is killed and comes back; then a follower is restarted, which changes ISRs."""
    zookeeper, t = run.coordinator(), run.partition()
    run.kill(zookeeper)
    load.wait_more(50, timeout_s=60)
    run.start(zookeeper)
    wait_whole(run)
    follower = run.followers_of(t)[-1]
    run.stop(follower)
    run.start(follower)
    wait_whole(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strikes:
    """What happens in each phase."""

    half: Strike = nothing_dies
    """Two brokers have registered with the KRaft controller."""
    cut_off: bool = False
    """The KRaft controller is cut from ZooKeeper before the last brokers register, and dies when all have."""
    both: Strike = nothing_dies
    """The KRaft controller writes to its own log and to ZooKeeper."""
    back: bool = False
    """The migration is reverted."""


def migrate(run: Run, *, strikes: Strikes) -> None:
    """The migration, phase by phase, and what happens in each."""
    t = run.partition()
    first, second, *others = (*run.replicas_of(t), run.broker(run.cluster.plan.controller))
    with run.consume(t) as consumer, run.load(t, rate_per_s=50, also_idempotent=True) as load:
        load.wait_more(100, timeout_s=60)
        kraft = run.start_kraft_controller()
        run.note("phase: brokers register with the KRaft controller")
        run.enter_migration(first, second)
        strikes.half(run, kraft, load)
        if strikes.cut_off:
            run.cut([kraft], [run.coordinator()])
        run.enter_migration(*others)
        if strikes.cut_off:
            run.note("phase: every broker has registered, and the KRaft controller cannot take over")
            run.kill(kraft)
            run.heal_network()
            run.start(kraft)
        run.wait_migrated(kraft)
        run.note("phase: the KRaft controller writes to both")
        load.wait_more(50, timeout_s=60)
        strikes.both(run, kraft, load)
        if strikes.back:
            run.note("phase: the migration is reverted")
            run.revert_migration()
        consumer.wait_read(load.wait_more(100, timeout_s=60).acked, timeout_s=60)
    run.send(t)


def case(strikes: Strikes, sentence: str = "", *, basis: Basis = Basis.DOCUMENTATION, source: str = SOURCE) -> Case:
    """A migration with these strikes: nothing acknowledged is lost."""
    claims = REVERTED if strikes.back else MIGRATED
    documented = Documented(claims=claims, sentence=sentence, source=source, basis=basis)
    return Case(steps=partial(migrate, strikes=strikes), documented=[documented])


scenario(
    name="migration-to-kraft",
    claim="""A cluster can migrate from ZooKeeper to KRaft while producers write with acks=all and
        min.insync.replicas=2. No acknowledged record is lost, whichever of controller, leader and ZooKeeper dies on the
        way. Until it is finalized the migration can be reverted.""",
    source=SOURCE,
    operator="""Restart one broker at a time, wait until all replicas are in sync before the next, and restart the
        controller last. While the KRaft controller writes to ZooKeeper too, you can go back.""",
    needs=["idempotence"],
    applies=ranges.MIGRATES_TO_KRAFT,
    cluster=ClusterPlan(migrates=True, settings=SOCKET_TIMEOUT),
    topic=TOPIC,
    cases={
        "plain": case(Strikes()),
        "controller-dies": case(
            Strikes(half=both_controllers_die, cut_off=True, both=kraft_controller_dies),
            "The KRaft controller resumes the migration where it was, and nothing acknowledged is lost.",
            source="KRaftMigrationDriver of 3.9.0: a new controller recovers the state of the migration from ZooKeeper",
            basis=Basis.SOURCE,
        ),
        "leader-dies": case(
            Strikes(half=leader_dies, both=leader_dies),
            "Another replica leads, by the word of whoever is the controller, and nothing acknowledged is lost.",
        ),
        "zookeeper-dies": case(
            Strikes(half=zookeeper_dies, both=zookeeper_dies),
            "Writes to ZooKeeper that failed are done when it is back, and no acknowledged record is lost.",
            source="KRaftMigrationDriver of 3.9.0: what met an error of ZooKeeper is tried again",
            basis=Basis.SOURCE,
        ),
        "reverted": case(
            Strikes(back=True),
            "The cluster goes back to ZooKeeper, and nothing acknowledged is lost.",
            source=REVERTING,
        ),
    },
)
