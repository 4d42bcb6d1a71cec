"""Two leaders in a row die at every stage of a rolling upgrade from 0.10.2.2 to 0.11.0.3 (KIP-101, KAFKA-1211).

The sequence is that of double-failover, repeated while the cluster is upgraded as documented. There are six stages.
First nothing is upgraded. Then the last replica and the controller are the new release, and then all brokers are. The
new protocol is on all but the last replica, and then on all. At last the new message format is on all. The protocol of
the last replica decides. It must follow a dead leader. Before protocol 0.11 it truncates to its own high watermark
then, new binary or not. With 0.11 it asks that leader for the end of its epoch, gets no answer, and truncates nothing.
So the old bug lasts until the protocol is raised everywhere. The message format, without which the log has no epochs,
makes no difference here. A follower whose leader answers does need it (follower-reboot). From 2.1.1 on a follower
without epochs asks nobody (KAFKA-7897), so an upgrade from 0.10 to 2.8 has the old bug until the format is raised too.
From 3.0 on the format is raised with the protocol (KIP-724).

In the control without the upgrade, the same brokers are restarted as often, and the record is lost each time. From 0.11
on the same stages of later upgrades lose nothing.

With KRaft the controller is upgraded before any broker, and there is one stage in place of the last three: with
metadata.version raised.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from harness.words import (
    LOST,
    Basis,
    Case,
    Documented,
    Partition,
    Run,
    Target,
    VersionRange,
    one_of,
    ranges,
    scenario,
)
from scenarios.truncation import double_failover
from scenarios.upgrade import ELECTED, ROUTE, by_high_watermark, finalize_if_higher, one_by_one, restart


def the_controller(run: Run) -> Target:
    """The node that is to be the controller, which has no replica."""
    return run.node("controller-100") if ranges.KRAFT.holds(run.version) else run.broker(run.cluster.plan.controller)


def two_leaders_die(run: Run, t: Partition, *, lost: bool) -> None:
    """The leader dies right after it has acknowledged a record, and the next one before a follower could fetch from it.
    The last replica leads, and has the record or not.
    """
    replicas = run.replicas_of(t)
    if not ranges.KRAFT.holds(run.version):
        run.move_controller_away_from(*replicas)
        run.wait_controller(the_controller(run))
    run.wait_isr(t, replicas)  # a broker whose session just ended on a busy machine cannot be elected
    run.elect_preferred_leader(t)
    leader = run.wait_leader(t, replicas[0])
    heir, last = replicas[1:]
    run.wait_isr(t, replicas)
    run.send(t, 3)
    end = run.log_end_and_high_watermark(leader, t)[0]
    run.wait_high_watermark(t, end, replicas)

    double_failover.leader_dies(run, t, leader, (heir, last), lost=lost)
    double_failover.heir_dies(run, t, leader, heir, last)
    leo, _ = run.log_end_and_high_watermark(last, t)
    if lost:
        run.require(f"{last.node.name} has truncated the record", leo == end, leo=leo, end=end)
    else:  # a follower truncates by leader epoch, and nobody has told it of an epoch's end (KIP-101)
        run.claim(f"{last.node.name} has the acknowledged record", leo == end + 1, witness="files", leo=leo, end=end)

    run.send(t)
    run.start(leader, heir)
    run.wait_isr(t, replicas)


def at_every_stage(run: Run, *, upgraded: bool) -> None:
    """The same two failures with each step of the upgrade done, or with the same brokers restarted."""
    t = run.partition()
    replicas, controller, kraft = run.replicas_of(t), the_controller(run), ranges.KRAFT.holds(run.version)
    *others, last = replicas
    old = by_high_watermark(run)
    kept = not old or (upgraded and run.next_version.leader_epochs)
    by_format = ranges.UPGRADED_TO_EPOCHS_BY_FORMAT.holds(run.version)

    def each(targets: list[Target], change: Callable[[Target], None]) -> None:
        one_by_one(run, targets, change if upgraded else partial(restart, run))

    run.note("stage: nothing is upgraded")
    two_leaders_die(run, t, lost=old)
    run.note("stage: the last replica and the controller are the new release")
    each([controller, last] if kraft else [last, controller], run.upgrade)
    two_leaders_die(run, t, lost=old)
    run.note("stage: all brokers are the new release")
    each(others, run.upgrade)
    two_leaders_die(run, t, lost=old)
    if kraft:
        run.note("stage: metadata.version is raised")
        if upgraded:
            finalize_if_higher(run, "metadata.version")
        two_leaders_die(run, t, lost=not kept)
        return
    run.note("stage: the protocol is raised on all but the last replica")
    each([*others, controller], run.raise_protocol)
    two_leaders_die(run, t, lost=old)
    run.note("stage: the protocol is raised everywhere")
    each([last], run.raise_protocol)
    two_leaders_die(run, t, lost=not kept or (old and by_format))
    if ranges.FORMAT_LOOKED_AT.holds(run.next_version):
        run.note("stage: the message format is raised")
        each([*replicas, controller], run.raise_format)
        two_leaders_die(run, t, lost=not kept)


KEPT = Documented(
    on=ranges.LEADER_EPOCHS,
    claims=ELECTED,
    sentence="A record acknowledged with acks=all survives two clean elections at every stage of an upgrade.",
    source="KIP-101",
    basis=Basis.KIP,
)


def lost(sentence: str, *, source: str, on: VersionRange = ranges.HIGH_WATERMARK_TRUNCATION) -> Documented:
    """The record is lost where followers truncate to their high watermark."""
    return Documented(
        on=on,
        required=LOST,
        allowed=frozenset({"replica-divergence"}),
        claims=ELECTED,
        sentence=f"{sentence} {double_failover.LEADER_KEEPS_IT}",
        source=f"{source}; KIP-101: scenario 2",
        basis=Basis.KIP,
    )


scenario(
    name="upgrade-double-failover",
    claim="""In an upgrade from 0.10.2, two clean elections lose a record acknowledged with acks=all at every stage
        until the last replica uses protocol 0.11, whichever binary it is. From then on it is kept.""",
    source="KIP-101, KAFKA-1211; Kafka documentation, Upgrading from 0.8.x, 0.9.x or 0.10.x to 0.11.0.0",
    operator="""The new binaries alone change nothing: the old loss is there until inter.broker.protocol.version is 0.11
        on every broker. Raise log.message.format.version too: with protocol 0.11 and format 0.10.2 a broker that
        returns still truncates to its high watermark. Do not leave an upgrade half done.""",
    applies=one_of("0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2") | ranges.TWO_FAILURES_ARRANGED,
    cluster=replace(double_failover.CLUSTER, upgrades=ROUTE),
    cases={
        "upgraded": Case(
            steps=partial(at_every_stage, upgraded=True),
            documented=[
                lost(
                    "The record is lost at every stage, since neither release truncates by leader epoch.",
                    source="KIP-101: scenario 1",
                    on=ranges.UPGRADED_BEFORE_EPOCHS,
                ),
                lost(
                    """The record is lost until the message format is raised on the last replica, and kept from then
                    on: with the older format a follower has no epochs, and truncates to its high watermark.""",
                    source="KIP-101: scenario 1; KAFKA-7897: no epochs with an older message format",
                    on=ranges.UPGRADED_TO_EPOCHS_BY_FORMAT,
                ),
                lost(
                    "The record is lost until the last replica uses protocol 0.11, and kept from then on.",
                    source="KIP-101: scenario 1, and Compatibility, Deprecation, and Migration Plan",
                ),
                KEPT,
            ],
        ),
        "restarted": Case(
            steps=partial(at_every_stage, upgraded=False),
            documented=[
                lost(
                    "Without the upgrade the same restarts change nothing: the record is lost each time.",
                    source="KIP-101: scenario 1",
                ),
                KEPT,
            ],
        ),
    },
)
