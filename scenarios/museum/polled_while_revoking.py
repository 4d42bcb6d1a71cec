"""Kafka's own consumer hands over records while it gives its partitions up, and does not commit them (KAFKA-14196).

When a group begins to rebalance, a member with automatic commits commits how far it has come and then gives up its
partitions. In 3.2.1 it asks for the commit and does not wait: until the answer is there, the partition is its own, and
the same poll returns further records. The next poll finds the commit answered and gives the partition up, without
another commit. So these records are processed here, and again by the next owner.

Up to 3.2.0 the commit was waited for, or the partition was given up in the same call. From 3.2.3 on partitions that are
about to be revoked are not fetched (maybeMarkPartitionsPendingRevocation). Members that rebalance cooperatively were
never struck.
"""

from functools import partial

from harness.words import (
    OFFSETS,
    Basis,
    Border,
    Bug,
    Case,
    ClusterPlan,
    CrashPoint,
    Documented,
    Exhibit,
    Run,
    Side,
    ranges,
    scenario,
)
from scenarios.delivery import BATCH, GROUP, INPUTS, LIMIT_S

KAFKA_14196 = Bug(
    id="KAFKA-14196",
    title="when a group rebalances, Kafka's consumer processes records that it does not commit any more",
    touches="automatic commits, eager rebalances",
    whom="groups of Java consumers that rebalance eagerly, with automatic commits",
    since=Border(
        "3.2.1",
        "KAFKA-14024",
        Side("3.2.0", "ConsumerCoordinator.onJoinPrepare commits and gives the partitions up in one call"),
        Side(
            "3.2.1",
            "ConsumerCoordinator.onJoinPrepare returns while the commit is not answered, and KafkaConsumer.poll then "
            "fetches",
        ),
    ),
    fixed=("3.2.3",),
    commits=("56baf6448f0", "14df199af04", "536cdf692fb"),
    whose="Java clients",
)
AUTOMATIC = {
    "enable.auto.commit": "true",
    "auto.commit.interval.ms": "1000",
    "heartbeat.interval.ms": "1000",
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
}
"""A member that has to join again commits there, before it commits by the clock."""
PREPARES = rf"Preparing to re\w+ group {GROUP} (?:.* )?with old generation 1\b"
"""Since the second member has asked to join."""
TOLD_S = 3.0
"""Longer than a heartbeat, whose answer tells that the group rebalances."""


@scenario(
    name="museum-polled-while-revoking",
    claim="""A member whose group rebalances is given records after it has committed, and gives its partition up. The
        next owner gets the same records.""",
    source="KAFKA-14196",
    operator="""Expect records to be processed twice at each rebalance, or use the CooperativeStickyAssignor. With any
        client, automatic commits repeat after a crash.""",
    exhibit=Exhibit(bug=KAFKA_14196, affected=("3.2.2",), fixed=("3.2.3",)),
    applies=ranges.POLLS_ARE_LIMITED,
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1"}),
    cases={
        "default": Case(
            client="java",
            documented=[
                Documented(
                    on=KAFKA_14196.affected,
                    required=frozenset({"repeated-processing"}),
                    source=KAFKA_14196.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_14196.unaffected,
                    claims=["each-input-processed-once"],
                    sentence="The member gets nothing more before it gives its partition up.",
                    source=KAFKA_14196.id,
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
def polled_while_revoking(run: Run) -> None:
    t = run.partition()
    run.send(t, INPUTS)
    member = partial(run.application, "process-and-poll", t, group=GROUP, settings=AUTOMATIC, batch=BATCH)
    with member(stop=CrashPoint("process", "poll", 1)) as first:
        run.wait_crash_point(first, t)
        with member():
            run.wait_log_line(run.leader_of(OFFSETS), PREPARES, "the group prepares to rebalance")
            run.let_pass(TOLD_S, "the first member has heard that its group rebalances")
            first.go_on()
            first.wait_processed(BATCH, timeout_s=LIMIT_S)
            run.wait_committed(GROUP, t, INPUTS, timeout_s=LIMIT_S)
