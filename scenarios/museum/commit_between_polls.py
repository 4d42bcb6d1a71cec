"""Kafka's own consumer commits records while the application still processes them (KAFKA-18641).

A consumer with automatic commits commits in its next poll what the poll before returned: a loop has processed these
records by then, so a crash skips none. The consumer for the group protocol of KIP-848 has a thread of its own for the
network. Up to 3.9 that thread commits by the clock: whenever auto.commit.interval.ms has passed, it commits all
positions, among them those of records that the application was just given. An application that takes longer than the
interval, and dies then, never processes them.

From 4.0 on the thread commits only when the application polls (CommitRequestManager, 709bfc506a9). The classic protocol
never had the bug. The group protocol is in preview up to 3.9, and brokers must enable it.

3.7 commits by the clock as well. There a consumer that has no partition yet when its first interval ends commits
nothing from then on (KAFKA-16203): the sequence, whose interval is a second, cannot show the bug.
"""

from functools import partial

from harness.words import (
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
from scenarios.delivery import BATCH, GROUP, INPUTS, LIMIT_S, NUMBERS

KAFKA_18641 = Bug(
    id="KAFKA-18641",
    title="Kafka's consumer of the new group protocol commits records that the application has not processed",
    touches="group.protocol=consumer, automatic commits",
    whom="applications with group.protocol=consumer and automatic commits that take longer than "
    "auto.commit.interval.ms for what a poll returns",
    since=Border(
        "3.7.0",
        "KAFKA-15679",
        Side("3.6.2", "ConsumerConfig has no group.protocol: nothing makes a PrototypeAsyncConsumer"),
        Side(
            "3.7.0",
            "CommitRequestManager.poll calls maybeAutoCommitAllConsumedAsync in each round of the network thread, "
            "which commits SubscriptionState.allConsumed",
        ),
    ),
    fixed=("4.0.0",),
    commits=("709bfc506a9", "35a372c71db"),
    whose="Java clients",
    mode="kraft",
)
MORE = 5
AUTOMATIC = {"enable.auto.commit": "true", "auto.commit.interval.ms": "1000", "group.protocol": "consumer"}
SLOW_S = 12.0
"""Longer than the interval and a round of the network thread: the latter waits for up to five seconds."""


@scenario(
    name="museum-commit-between-polls",
    claim="""A consumer of the new group protocol commits records by the clock that its application has received and not
        processed. If the application dies then, these records are never processed.""",
    source="KAFKA-18641, KIP-848",
    operator="""Do not use group.protocol=consumer with automatic commits: set enable.auto.commit=false and commit what
        was processed, or keep the classic protocol.""",
    exhibit=Exhibit(bug=KAFKA_18641, affected=("3.9.2-kraft",), fixed=("4.0.2",)),
    applies=ranges.AUTOMATIC_COMMITS_GO_ON & ranges.KRAFT,
    cluster=ClusterPlan(
        settings={
            "group.coordinator.rebalance.protocols": "classic,consumer",
            "offsets.topic.num.partitions": "1",
        }
    ),
    cases={
        "default": Case(
            client="java",
            documented=[
                Documented(
                    on=KAFKA_18641.affected,
                    required=frozenset({"skipped-processing"}),
                    claims=NUMBERS,
                    source=KAFKA_18641.id,
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=KAFKA_18641.unaffected,
                    allowed=frozenset({"repeated-processing"}),
                    claims=NUMBERS,
                    sentence="The consumer commits in its next poll, so nothing is skipped.",
                    source=KAFKA_18641.id,
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
def commit_between_polls(run: Run) -> None:
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, "process-and-poll", t, group=GROUP, settings=AUTOMATIC, batch=BATCH)
    with application(stop=CrashPoint("poll", "process", 2)) as first:
        first.wait_still(timeout_s=LIMIT_S)
        run.let_pass(SLOW_S, "a client that commits by the clock has done so")
        run.wait_crash_point(first, t, committed=None)
        run.kill_client(first)
    run.send(t, MORE)
    with application():
        run.wait_committed(GROUP, t, INPUTS + MORE, timeout_s=LIMIT_S)
