"""Deleted records return because brokers were started before their controllers (no JIRA).

DeleteRecords (KIP-107) moves the start of a partition's log. If the start lies in the middle of a segment, only the
broker's file log-start-offset-checkpoint has it; without the file a log begins with its first segment. A KRaft broker
loads its logs when it has the metadata, and gives up if it does not reach the controllers in time
(initial.broker.registration.timeout.ms, a minute). When it exits, it rewrites that file from its loaded logs, and has
loaded none. So the file is empty, and after the next start every record in the first segment belongs to the log again.
The marker of a clean shutdown was written at the same place; KAFKA-15375 fixed that.

Here all three replicas are started while the controller is down, as after a power cut of a site whose controllers come
back last. `controllers-first` uses the order that does no harm. In `crashed` no broker is stopped cleanly. In
`power-cut` the whole site loses power at one moment, after its disks were flushed. `own-settings` keeps all default
time-outs: the brokers give up after a minute. One broker with one replica is enough to show the bug (`one-broker`). If
one broker of three gives up, no record returns (`one-gives-up`): it learns the log start from the leader, and keeps it
when it leads. People use DeleteRecords to erase data.

In the code of 4.3.1 the place is LogManager.shutdown. It writes the recovery points and the log starts of each
directory from its logs, loaded or not (checkpointRecoveryOffsetsInDir, checkpointLogStartOffsetsInDir). Then it writes
the marker, and only there does it ask whether the logs were loaded (loadLogsCompletedFlags).
"""

from collections.abc import Callable
from dataclasses import replace

from harness.words import (
    Basis,
    Border,
    Bug,
    BugStatus,
    Case,
    ClusterPlan,
    Disks,
    Documented,
    Exhibit,
    Run,
    Side,
    Status,
    Target,
    ranges,
    scenario,
)

DELETED_RECORDS_RETURN = Bug(
    id="deleted-records-return",
    title="records that were deleted by request come back when brokers are started before their controllers",
    touches="DeleteRecords",
    whom="users of DeleteRecords, when a whole site is started and the controllers come last",
    since=Border(
        "2.8.0",
        "KIP-500, KIP-631",
        Side(
            "2.7.2",
            "there is no BrokerServer, and KafkaServer.startup makes its LogManager after it has reached ZooKeeper",
        ),
        Side(
            "2.8.0",
            "BrokerServer.shutdown calls LogManager.shutdown, which writes the checkpoints, whether logs were "
            "loaded or not",
        ),
    ),
    fixed=(),
    status=Status(
        state=BugStatus.OPEN,
        told="LogManager.shutdown is the same in 4.4.0 and in the source of 2026-08-22. No JIRA and no pull request "
        "was found; JIRA itself cannot be searched from here.",
        sources=("pull requests and issues of apache/kafka on GitHub, and commits to 2026-08-22: not found",),
        on="2026-11-23",
        looked_at="4.4.0",
    ),
    mode="kraft",
    code="LogManager.shutdown writes the recovery points and the log starts of each directory from the logs "
    "that it has, loaded or not (checkpointRecoveryOffsetsInDir, checkpointLogStartOffsetsInDir). Only "
    "the marker of a clean shutdown, behind them, asks whether they were loaded (loadLogsCompletedFlags, "
    "KAFKA-15375).",
    log_patterns=(
        "unable to register with the controller quorum",
        "Skipping recovery of .* clean shutdown file",
        "Loading logs from log dirs",
        "Log loaded for partition t-0",
    ),
)
SEEN = "seen on 3.9.2, 4.3.1 and 4.4.0; LogManager.shutdown writes checkpoints of logs that it has not loaded"
GAVE_UP = "unable to register with the controller quorum"
GIVEN_UP = frozenset({"correlated-crash"})
"""All brokers give up: there is no controller. All are up long before the first one does, which they were not in one of
two runs on 4.4.0 when they gave up after 8 s.
"""
RETURNS = (
    Documented(
        on=DELETED_RECORDS_RETURN.affected,
        required=frozenset({"resurrected"}) | GIVEN_UP,
        sentence="The deleted records are readable again.",
        source=SEEN,
        basis=Basis.MEASURED,
    ),
    Documented(
        on=DELETED_RECORDS_RETURN.unaffected,
        required=GIVEN_UP,
        sentence="Deleted records stay deleted.",
        source=SEEN,
        basis=Basis.MEASURED,
    ),
)
RETURNS_TO_ONE = (
    replace(RETURNS[0], required=RETURNS[0].required - GIVEN_UP, sentence=""),
    replace(RETURNS[1], required=frozenset()),
)
"""A crash of one broker is no correlated one, which takes two or more (checks/anomalies/metadata.py)."""
SETTINGS = {
    "initial.broker.registration.timeout.ms": "20000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
}
STAYS = Documented(
    sentence="With the controller started first, brokers load their logs, and deleted records stay deleted.",
    source=SEEN,
    basis=Basis.MEASURED,
)
HEARS = Documented(
    sentence="It learns the log start from the leader.",
    source="KIP-107: followers take the leader's log start",
    basis=Basis.KIP,
)


def stopped(run: Run) -> None:
    """All are stopped, and brokers are started first: they give up."""
    t, brokers = run.partition(), run.replicas_of(run.partition())
    delete_half(run)
    run.stop(*brokers, run.coordinator())
    run.wait_log_start_checkpointed(t, 5, brokers)
    give_up(run, brokers)
    start_all(run, brokers)
    run.send(t)


def crashed(run: Run) -> None:
    """All are killed, and brokers are started first: they give up."""
    crash(run, lambda nodes: run.kill(*nodes))


def without_power(run: Run) -> None:
    """All lose power, and brokers are started first: they give up."""

    def lose_power(nodes: list[Target]) -> None:
        run.flush_disks()
        run.lose_power(*nodes)

    crash(run, lose_power)


def one_gives_up(run: Run) -> None:
    """One broker is stopped with the controller and gives up; the others are up throughout."""
    t = run.partition()
    one = run.replicas_of(t)[:1]
    delete_half(run)
    run.stop(*one, run.coordinator())
    run.wait_log_start_checkpointed(t, 5, one)
    give_up(run, one)
    start_all(run, one)
    run.elect_preferred_leader(t)
    run.wait_leader(t, *one)
    run.send(t)


def controllers_first(run: Run) -> None:
    """All are stopped, and the controller is started first."""
    t, brokers = run.partition(), run.replicas_of(run.partition())
    delete_half(run)
    run.stop(*brokers, run.coordinator())
    run.wait_log_start_checkpointed(t, 5, brokers)
    start_all(run, brokers)
    run.send(t)


def delete_half(run: Run) -> None:
    """Ten records are read, and five deleted. Records deleted before anybody has read them would count as lost."""
    t = run.partition()
    with run.consume(t) as consumer:
        run.send(t, 10)
        consumer.wait_read(10, timeout_s=60)
    run.delete_records(t, 5)


def crash(run: Run, strike: Callable[[list[Target]], None]) -> None:
    """All go down at once, after the files of log starts are written (a clean stop writes them)."""
    t, brokers, controller = run.partition(), run.replicas_of(run.partition()), run.coordinator()
    delete_half(run)
    run.wait_log_start_checkpointed(t, 5, brokers)
    strike([*brokers, controller])
    give_up(run, brokers)
    tell_log_starts(run, brokers)
    run.start(controller)
    for broker in brokers:
        run.start_early(broker)  # a controller that is started anew knows of no session that ends
    run.wait_registered(brokers)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


def give_up(run: Run, brokers: list[Target]) -> None:
    """Brokers find no controller, and exit."""
    for broker in brokers:
        run.start_early(broker)
    for broker in brokers:
        run.expect_exit(broker, GAVE_UP)


def tell_log_starts(run: Run, brokers: list[Target]) -> None:
    """Where the log begins by the brokers' files."""
    seen = {broker.node.name: run.checkpointed_log_start(broker, run.partition()) for broker in brokers}
    run.note(f"by the brokers' files the log begins at: {seen}")


def start_all(run: Run, brokers: list[Target]) -> None:
    """The controller is started, and then the brokers."""
    tell_log_starts(run, brokers)
    run.start(run.coordinator())
    run.start(*brokers)
    run.wait_isr(run.partition(), run.replicas_of(run.partition()))


scenario(
    name="museum-deleted-records-return",
    claim="""Records that DeleteRecords had deleted on every replica are readable again after all brokers were started
        once while no controller could be reached.""",
    source="KIP-107; no JIRA found (of the same path: KAFKA-15375)",
    operator="""With KRaft start the controllers before the brokers, and raise initial.broker.registration.timeout.ms so
        that brokers have more time to find them. If brokers gave up, delete the records again before consumers read
        them. Do not rely on DeleteRecords alone for data that must not come back.""",
    exhibit=Exhibit(bug=DELETED_RECORDS_RETURN, affected=("3.9.2-kraft", "4.3.1", "4.4.0"), fixed=()),
    applies=ranges.KRAFT,
    cluster=ClusterPlan(settings=SETTINGS),
    cases={
        "default": Case(steps=stopped, documented=RETURNS),
        "crashed": Case(steps=crashed, documented=RETURNS),
        "power-cut": Case(
            steps=without_power, documented=RETURNS, cluster=ClusterPlan(settings=SETTINGS, disks=Disks())
        ),
        "own-settings": Case(
            steps=stopped,
            documented=RETURNS,
            cluster=ClusterPlan(settings={"min.insync.replicas": "2"}),
        ),
        "one-broker": Case(
            steps=stopped,
            documented=RETURNS_TO_ONE,
            replicas=((1,),),
            cluster=ClusterPlan(brokers=(1,), controller=2, settings=SETTINGS),
        ),
        "one-gives-up": Case(steps=one_gives_up, documented=[HEARS]),
        "controllers-first": Case(steps=controllers_first, documented=[STAYS]),
    },
)
