"""Kafka's own consumer commits, in the poll that returns them, records that nobody has processed (found here).

A consumer with automatic commits commits in its next poll what the poll before returned. From 4.0 on the consumer for
the group protocol of KIP-848 does so in a thread of its own: the poll gives that thread an event, and waits until it
has taken the positions to commit (KAFKA-18641). From 4.2 on the poll does not wait (KAFKA-18376). If records are
buffered it returns them at once, and sets the positions behind them. The other thread takes the positions before that,
or after it: then records are committed that the application is only now given. A crash skips them.

Nothing decides which of the two comes first. So an application is killed again and again after its second poll, until
the committed offset is beyond what it processed. auto.commit.interval.ms is a millisecond here, so that each poll
commits. With the default of five seconds it is each poll after so long, thus every poll of an application that takes
longer than that for what a poll returns.
"""

from functools import partial

from harness.words import (
    Basis,
    Border,
    Bug,
    BugStatus,
    Case,
    CrashPoint,
    Documented,
    Exhibit,
    Run,
    Side,
    Status,
    ranges,
    scenario,
)
from scenarios.delivery import BATCH, GROUP, LIMIT_S, NUMBERS
from scenarios.delivery.rebalance_while_processing import SERVER_SIDE

POLL_COMMITS_AHEAD = Bug(
    id="poll-commits-ahead",
    title="Kafka's consumer of the new group protocol commits records in the poll that returns them",
    touches="group.protocol=consumer, automatic commits",
    whom="applications with group.protocol=consumer and automatic commits, which are on by default",
    since=Border(
        "4.2.0",
        "KAFKA-18376",
        Side(
            "4.1.2",
            "AsyncKafkaConsumer.poll waits for PollEvent.reconcileAndAutoCommit before it fetches: positions are taken "
            "first",
        ),
        Side(
            "4.2.0",
            "AsyncKafkaConsumer.pollForFetches returns what is buffered at once; ApplicationEventProcessor calls "
            "updateTimerAndMaybeCommit in its own time",
        ),
    ),
    fixed=(),
    status=Status(
        state=BugStatus.OPEN,
        told="The review of KAFKA-18641 asked for the wait (pull request 18737, 2025-02), and 4.0 and 4.1 have it. It "
        "went with the poll that does not block. KAFKA-20332 and KAFKA-20535 wait again, for the check of "
        "rebalances alone. No ticket about commits was found; JIRA itself cannot be searched from here.",
        sources=(
            "https://github.com/apache/kafka/pull/18737",
            "pull requests and issues of apache/kafka on GitHub, and commits to 2026-08: not found",
        ),
        on="2026-11-27",
        looked_at="4.4.0",
    ),
    code="AsyncKafkaConsumer.collectFetch (4.3.1) waits for AsyncPollEvent.reconciliationCheckFuture alone, which "
    "ApplicationEventProcessor completes before it calls CommitRequestManager.updateTimerAndMaybeCommit. That commits "
    "SubscriptionState.allConsumed, which collectFetch may have moved by then.",
    log_patterns=(
        "joins the consumer group using the consumer protocol",
        "fenced from the group because the member session",
    ),
    whose="Java clients",
    mode="kraft",
)
ATTEMPTS, MORE = 10, 5
INPUTS = (ATTEMPTS + 1) * BATCH
AUTOMATIC = {"enable.auto.commit": "true", "auto.commit.interval.ms": "1", "group.protocol": "consumer"}
ANSWERED_S = 1.0
SOURCE = "AsyncKafkaConsumer.collectFetch, ApplicationEventProcessor (4.2.0 to 4.4.0); KAFKA-18641"


@scenario(
    name="museum-poll-commits-ahead",
    claim="""A consumer of the new group protocol may commit records in the same poll that returns them. If the
        application dies before it has processed them, they are never processed.""",
    source="found here, no JIRA found; KAFKA-18641, KAFKA-18376",
    operator="""With Java clients 4.2 and later do not use group.protocol=consumer with automatic commits where no
        record may be skipped: set enable.auto.commit=false and commit what was processed, or keep the classic
        protocol.""",
    exhibit=Exhibit(bug=POLL_COMMITS_AHEAD, affected=("4.3.1", "4.4.0"), fixed=("4.1.2",)),
    applies=ranges.GROUP_COORDINATOR_OF_4,
    cluster=SERVER_SIDE,
    cases={
        "default": Case(
            client="java",
            documented=[
                Documented(
                    on=POLL_COMMITS_AHEAD.affected,
                    required=frozenset({"skipped-processing"}),
                    claims=NUMBERS,
                    source=SOURCE,
                    basis=Basis.SOURCE,
                ),
                Documented(
                    on=POLL_COMMITS_AHEAD.unaffected,
                    claims=NUMBERS,
                    sentence="The poll waits until the positions to commit are taken, so nothing is skipped.",
                    source="KAFKA-18641",
                    basis=Basis.JIRA,
                ),
            ],
        )
    },
)
def poll_commits_ahead(run: Run) -> None:
    t = run.partition()
    run.send(t, INPUTS)
    application = partial(run.application, "process-and-poll", t, group=GROUP, settings=AUTOMATIC, batch=BATCH)
    processed = 0
    for _ in range(ATTEMPTS):
        with application(stop=CrashPoint("poll", "process", 2)) as one:
            one.wait_still(timeout_s=LIMIT_S)
            run.let_pass(ANSWERED_S, "the commit of its last poll is answered")
            committed = run.wait_crash_point(one, t).committed or 0
            run.kill_client(one)
        processed += BATCH
        if committed > processed:
            break
    run.send(t, MORE)
    with application():
        run.wait_committed(GROUP, t, INPUTS + MORE, timeout_s=LIMIT_S)
