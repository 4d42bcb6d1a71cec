"""Records that were deleted by request come back, because brokers were started before their controllers (no JIRA).

DeleteRecords (KIP-107) moves the start of a partition's log. Where that lies in the middle of a segment, only a file of
the broker says so, log-start-offset-checkpoint; without it a log begins with its first segment. A KRaft broker loads
its logs when it has the metadata, and gives up if it does not reach the controllers in time
(initial.broker.registration.timeout.ms, a minute). On its way out it writes that file anew, from the logs that it has:
none. So the file is empty, and the next start takes every record that is still in the first segment for one of the log.
Of the marker of a clean shutdown, which was written there too, that was mended with KAFKA-15375.

Here all three replicas are started while the controller is down, as after a power cut of a site whose controllers come
back last. With `controllers-first` the same is done in the order that does no harm; with `crashed` nobody is stopped
properly, and with `power-cut` the whole site loses power at one moment, once its disks have taken what was written.
With `own-settings` no time-out is ours: the brokers give up after a minute. One broker with one replica is the least
(`one-broker`). Where one broker of three gives up it takes no harm (`one-gives-up`): it hears from the leader where the
log begins, and leads with that. DeleteRecords is what people use to erase.

In the code of 4.3.1 it is LogManager.shutdown: it writes the recovery points and the log starts of each directory from
the logs that it has, loaded or not (checkpointRecoveryOffsetsInDir, checkpointLogStartOffsetsInDir), and behind them
the marker, which alone asks whether they were loaded (loadLogsCompletedFlags).
"""

from harness.words import Bug, Case, ClusterPlan, Disks, Documented, Exhibit, Run, ranges, scenario

DELETED_RECORDS_RETURN = Bug(
    id="deleted-records-return",
    title="records that were deleted by request come back when brokers are started before their controllers",
    whom="whoever deletes records by request, when a whole site is started and the controllers come last",
    since="3.3.0",
    fixed=(),
    mode="kraft",
    code="LogManager.shutdown writes the recovery points and the log starts of each directory from the logs "
    "that it has, loaded or not (checkpointRecoveryOffsetsInDir, checkpointLogStartOffsetsInDir). Only "
    "the marker of a clean shutdown, behind them, asks whether they were loaded (loadLogsCompletedFlags, "
    "KAFKA-15375).",
    says=(
        "unable to register with the controller quorum",
        "Skipping recovery of .* clean shutdown file",
        "Loading logs from log dirs",
        "Log loaded for partition t-0",
    ),
)
GAVE_UP = "unable to register with the controller quorum"
GIVEN_UP = frozenset({"correlated-crash"})
"""All brokers give up within a minute: there is no controller."""
RETURNS = (
    Documented(on=DELETED_RECORDS_RETURN.affected, required=frozenset({"resurrected"}), allowed=GIVEN_UP),
    Documented(on=DELETED_RECORDS_RETURN.unaffected, allowed=GIVEN_UP, says="What was deleted stays deleted."),
)
SETTINGS = {
    "initial.broker.registration.timeout.ms": "8000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
}
STAYS = Documented(says="With the controller there first, brokers load their logs, and what was deleted stays so.")
HEARS = Documented(says="It hears from the leader where the log begins.")


@scenario(
    name="museum-deleted-records-return",
    claim="""Records that DeleteRecords had deleted on every replica are read again after all brokers were started once
        while no controller could be reached.""",
    source="KIP-107; no JIRA found (of the same path: KAFKA-15375)",
    operator="""With KRaft start the controllers before the brokers, and give brokers a longer time to find them
        (initial.broker.registration.timeout.ms). If brokers gave up, delete the records again before anybody reads.
        Do not rely on DeleteRecords alone for data that must not come back.""",
    exhibit=Exhibit(bug=DELETED_RECORDS_RETURN, affected=("3.9.2-kraft", "4.3.1"), fixed=()),
    applies=ranges.KRAFT,
    cluster=ClusterPlan(settings=SETTINGS),
    cases={
        "default": Case(documented=RETURNS),
        "crashed": Case(documented=RETURNS, variant="crashed"),
        "power-cut": Case(
            documented=RETURNS, variant="power-cut", cluster=ClusterPlan(settings=SETTINGS, disks=Disks())
        ),
        "own-settings": Case(documented=RETURNS, cluster=ClusterPlan(settings={"min.insync.replicas": "2"})),
        "one-broker": Case(
            documented=RETURNS, replicas=((1,),), cluster=ClusterPlan(brokers=(1,), controller=2, settings=SETTINGS)
        ),
        "one-gives-up": Case(documented=[HEARS], variant="one-gives-up"),
        "controllers-first": Case(documented=[STAYS], variant="controllers-first"),
    },
)
def deleted_records_return(run: Run) -> None:
    t = run.partition()
    replicas, controllers = run.replicas_of(t), run.coordinator()
    brokers = replicas[:1] if run.case.variant == "one-gives-up" else replicas
    with run.consume(t) as consumer:  # what nobody had read before it was deleted would count as lost
        run.send(t, 10)
        consumer.wait_read(10, timeout_s=60)
    run.delete_records(t, 5)

    crashed = run.case.variant in ("crashed", "power-cut")
    if crashed:
        run.wait_log_start_checkpointed(t, 5, brokers)  # a clean stop writes it
        if run.case.variant == "crashed":
            run.kill(*brokers, controllers)
        else:
            run.flush_disks()
            run.lose_power(*brokers, controllers)
    else:
        run.stop(*brokers, controllers)
        run.wait_log_start_checkpointed(t, 5, brokers)
    if run.case.variant != "controllers-first":
        for broker in brokers:
            run.start_early(broker)
        for broker in brokers:
            run.expect_exit(broker, GAVE_UP)
    seen = {broker.node.name: run.checkpointed_log_start(broker, t) for broker in brokers}
    run.note(f"by the brokers' files the log begins at: {seen}")

    run.start(controllers)
    if crashed:
        for broker in brokers:
            run.start_early(broker)  # a controller that is started anew knows of no session that ends
        run.wait_registered(brokers)
    else:
        run.start(*brokers)
    run.wait_isr(t, replicas)
    if run.case.variant == "one-gives-up":
        run.elect_preferred_leader(t)
        run.wait_leader(t, *brokers)
    run.send(t)
