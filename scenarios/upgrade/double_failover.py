"""Two leaders in a row die at every stage of a rolling upgrade from 0.10.2.2 to 0.11.0.3 (KIP-101, KAFKA-1211).

The sequence is that of double-failover, again and again while the cluster is upgraded as the documentation has it: with
nothing upgraded, with the last replica and the controller as the new release, with all brokers as it, with the new
protocol on all but the last replica, with it on all, and with the new message format. What decides is the protocol that
the last replica goes by: told to follow a leader that is dead, it truncates to its own high watermark before 0.11, new
binary or not; with 0.11 it asks that leader for the end of its epoch, gets no answer, and truncates nothing. So the old
bug lasts until the protocol is raised everywhere. The message format, without which no epoch is in the log, makes no
difference here: a follower whose leader answers does need it (follower-reboot).

Without the upgrade the same brokers are restarted as often, and the record is lost each time. From 0.11 on the same
stages of the next upgrades lose nothing.
"""

from collections.abc import Callable
from functools import partial

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Partition, Run, Target, one_of, ranges, scenario
from scenarios.upgrade import HAS_FORMAT, ROUTE, restart

ELECTED = ("leader-elected-from-isr", "leader-epoch-rises-by-one")


def two_leaders_die(run: Run, t: Partition, *, lost: bool) -> None:
    """The leader dies right after it has acknowledged a record, the next one before anybody could fetch from it: the
    last replica leads, and has the record or not.
    """
    controller, replicas = run.broker(run.cluster.plan.controller), run.replicas_of(t)
    run.move_controller_away_from(*replicas)
    run.wait_controller(controller)
    run.elect_preferred_leader(t)
    leader = run.wait_leader(t, replicas[0])
    heir, last = replicas[1:]
    run.wait_isr(t, replicas)
    run.send(t, 3)
    end = run.log_end_and_high_watermark(leader, t)[0]
    run.wait_high_watermark(t, end, replicas)

    run.wait_checkpoint_written(leader)
    run.send(t, expected_loss=lost)
    run.kill(leader)
    for follower in (heir, last):
        leo, hw = run.log_end_and_high_watermark(follower, t)
        held = (leo, hw) == (end + 1, end)
        run.require(f"{follower.node.name} holds the record above its high watermark", held, leo=leo, hw=hw)
    run.wait_share_of_session(leader, run.vary(0.35, low=0.28, high=0.4))
    run.kill(heir)
    run.wait_leader(t, last)
    run.require("the second leader was elected after its death, then the last", run.elected_after_death(heir, t))
    leo, _ = run.log_end_and_high_watermark(last, t)
    run.require(f"{last.node.name} has the record: {not lost}", leo == end + (not lost), leo=leo, end=end)

    run.send(t)
    run.start(leader, heir)
    run.wait_isr(t, replicas)


def at_every_stage(run: Run, *, upgraded: bool) -> None:
    """The same two failures with each step of the upgrade done, or with the same brokers restarted."""
    t = run.partition()
    replicas, controller = run.replicas_of(t), run.broker(run.cluster.plan.controller)
    *others, last = replicas
    old = ranges.HIGH_WATERMARK_TRUNCATION.holds(run.version)
    kept = upgraded or not old

    def restart_each(*targets: Target, change: Callable[[Target], None]) -> None:
        for target in targets:
            if upgraded:
                change(target)
            else:
                restart(run, target)
            run.wait_isr(t, replicas)

    run.note("stage: nothing is upgraded")
    two_leaders_die(run, t, lost=old)
    run.note("stage: the last replica and the controller are the new release")
    restart_each(last, controller, change=run.upgrade)
    two_leaders_die(run, t, lost=old)
    run.note("stage: all brokers are the new release")
    restart_each(*others, change=run.upgrade)
    two_leaders_die(run, t, lost=old)
    run.note("stage: the protocol is raised on all but the last replica")
    restart_each(*others, controller, change=run.raise_protocol)
    two_leaders_die(run, t, lost=old)
    run.note("stage: the protocol is raised everywhere")
    restart_each(last, change=run.raise_protocol)
    two_leaders_die(run, t, lost=not kept)
    if HAS_FORMAT.holds(run.next_version):
        run.note("stage: the message format is raised")
        restart_each(*replicas, controller, change=run.raise_format)
        two_leaders_die(run, t, lost=not kept)


CLUSTER = ClusterPlan(
    upgrades=ROUTE,
    zookeeper_sessions_ms={2: 7000},
    settings={
        "replica.fetch.wait.max.ms": "2500",
        "replica.socket.timeout.ms": "3000",
        "replica.lag.time.max.ms": "30000",
        "min.insync.replicas": "1",
    },
)
KEPT = Documented(
    on=ranges.LEADER_EPOCHS,
    claims=ELECTED,
    sentence="A record acknowledged with acks=all survives two clean elections at every stage of an upgrade.",
    source="KIP-101",
    basis=Basis.KIP,
)

scenario(
    name="upgrade-double-failover",
    claim="""In an upgrade from 0.10.2 a record acknowledged with acks=all is lost by two clean elections at every stage
        until the last replica goes by protocol 0.11, whichever binary it is; from then on it is kept.""",
    source="KIP-101, KAFKA-1211; Kafka documentation, Upgrading from 0.8.x, 0.9.x or 0.10.x to 0.11.0.0",
    operator="""The new binaries alone change nothing: the old loss is there until inter.broker.protocol.version is 0.11
        on every broker. Do not leave an upgrade half done.""",
    applies=one_of("0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2"),
    cluster=CLUSTER,
    cases={
        "upgraded": Case(
            steps=partial(at_every_stage, upgraded=True),
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    required=LOST,
                    allowed=frozenset({"replica-divergence"}),
                    claims=ELECTED,
                    source="KIP-101: scenario 1, and Compatibility, Deprecation, and Migration Plan",
                    basis=Basis.KIP,
                ),
                KEPT,
            ],
        ),
        "restarted": Case(
            steps=partial(at_every_stage, upgraded=False),
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    required=LOST,
                    allowed=frozenset({"replica-divergence"}),
                    claims=ELECTED,
                    sentence="Without the upgrade the same restarts change nothing: the record is lost each time.",
                    source="KIP-101: scenario 1",
                    basis=Basis.KIP,
                ),
                KEPT,
            ],
        ),
    },
)
