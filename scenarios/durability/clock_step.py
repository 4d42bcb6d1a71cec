"""The wall clock of one broker is wrong for a while, by hours or days (Kafka documentation: retention.ms,
replica.lag.time.max.ms; KIP-937).

A virtual machine was paused, a battery is dead, or a time server is wrong: one clock jumps, and is right again a minute
later. Every process is up throughout. Since 2.0 sessions and time-outs use a monotonic clock and are not affected. The
client of ZooKeeper 3.4.10 used the wall clock (ZOOKEEPER-1366). A broker whose clock is set back sends ZooKeeper
nothing then, its session ends, and another replica leads. Five things use the wall clock on every release:

- Retention. Records have the time at which they were made, and a broker deletes a segment when the newest of them is
  older than retention.ms by its own clock. If that clock is eight days ahead, every record is too old with the default
  of seven. If the leader deletes, the records are lost everywhere: the log begins later, and followers (from 0.11 on)
  delete the segments before that. Until they do, the records are in their files, and no consumer is given them. A
  follower that deletes stays in the ISR with an empty log, and nothing reports it until it leads.
- Committed offsets. A coordinator deletes the offsets of a group without members that are older than
  offsets.retention.minutes by its own clock (seven days from 2.0 on, one before). The group then begins where
  auto.offset.reset says.
- Time stamps. From 4.0 on a leader refuses records made more than an hour after now. If its own clock is two hours
  behind, it refuses all records.
- The wait after a failed fetch. A follower asks again for a partition replica.fetch.backoff.ms after a fetch failed, by
  its own clock. If the clock is set back before that, the follower waits until the clock is there again: for eight
  days, if it was eight days ahead. Nothing is logged. The follower leaves the ISR, and returns when it is started anew.
  Before 2.5 each record that it takes begins such a wait, of no length: no fetch has to fail (KAFKA-9039). A change to
  a monotonic clock was proposed in 2020 and not taken (apache/kafka pull request 8517).
- The ISR. A leader notes when a follower last caught up, and never replaces that time by an earlier one. When its clock
  is set back, that time lies in the future. A follower that fetches nothing stays in the ISR, and acks=all waits for
  it. (Before 2.0 its session ends first.)
"""

from collections.abc import Callable
from functools import partial

from harness.words import (
    LOST,
    OFFSETS,
    Basis,
    Case,
    ClusterPlan,
    Documented,
    Partition,
    Run,
    Target,
    ranges,
    scenario,
)

HOUR_S = 3600
AHEAD_S = 8 * 24 * HOUR_S
"""A day more than the default of retention.ms."""
BEHIND_S = -2 * HOUR_S
"""More than message.timestamp.after.max.ms."""
LITTLE_S = -HOUR_S // 2
"""Less than that."""
COUNT = 20
GROUP = "group"
RETENTION_LIMIT_S = 90.0
"""Retention is first looked at 30 s after the start."""
LAG_MS = 3000
UNSEEN_S = 20.0
"""Several times replica.lag.time.max.ms, and several checks of it."""
WAIT_S = 60.0
FETCH_FAILED = "Error in response for fetch request"
BACKOFF_S = 2.5
"""More than twice replica.fetch.backoff.ms, which is a second."""
FETCH_WAIT = "PartitionFetchState.isDelayed, DelayedItem.dueMs: Time.SYSTEM.milliseconds (2.0.1 to 4.4.0)"
WAITS = "follower-waits-for-its-old-time"
RETENTION = "Kafka documentation, topic configuration: retention.ms; KIP-33"
DELETES = "wrong-clock-deletes-young-records"
OFTEN = {
    "log.retention.check.interval.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",  # so that followers' log starts show in their files
}


def written_everywhere(run: Run, t: Partition) -> None:
    """Records that every replica has, and a copy of them."""
    run.send(t, COUNT, expected_loss=True)
    run.wait_high_watermark(t, COUNT, run.replicas_of(t))
    run.copy_replicas("armed")


def leader_ahead(run: Run, t: Partition) -> None:
    written_everywhere(run, t)
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.step_clock(leader, AHEAD_S)
    run.wait_log_start(t, COUNT, [leader], RETENTION_LIMIT_S)
    run.wait_log_start_checkpointed(t, COUNT, followers)
    run.set_clocks_right()


def follower_ahead(run: Run, t: Partition) -> None:
    written_everywhere(run, t)
    leader, (first, second) = run.leader_of(t), run.followers_of(t)
    run.step_clock(first, AHEAD_S)
    run.wait_log_start(t, COUNT, [first], RETENTION_LIMIT_S)
    run.set_clocks_right()
    run.wait_isr(t, [leader, first, second])
    run.copy_replicas("deleted by the follower")
    run.stop(leader)
    run.wait_leader(t, first)
    run.start(leader)
    run.wait_log_start_checkpointed(t, COUNT, [leader, second])


def follower_fetched_ahead(run: Run, t: Partition) -> None:
    """Records are fetched while the follower's clock is ahead."""
    run.send(t, COUNT)
    leader, (first, second) = run.leader_of(t), run.followers_of(t)
    run.step_clock(first, AHEAD_S)
    run.send(t, COUNT)
    run.wait_log_end(t, 2 * COUNT, [first])
    run.set_clocks_right()
    see_whether_it_fetches(
        run, t, leader, first, second, stops=not ranges.DELAY_OF_FAILED_FETCHES_ALONE.holds(run.version)
    )


def follower_failed_ahead(run: Run, t: Partition) -> None:
    """A fetch fails while the follower's clock is ahead."""
    run.send(t, COUNT)
    leader, (first, second) = run.leader_of(t), run.followers_of(t)
    run.step_clock(first, AHEAD_S)
    run.cut([first], [leader])
    run.wait_log_line(first, FETCH_FAILED, "that a fetch has failed")
    # It sleeps for that time once before it begins to wait (AbstractFetcherThread.processFetchRequest).
    run.let_pass(BACKOFF_S, "the follower waits after the failed fetch")
    run.set_clocks_right()
    run.heal_network()
    see_whether_it_fetches(run, t, leader, first, second, stops=True)


def see_whether_it_fetches(
    run: Run, t: Partition, leader: Target, first: Target, second: Target, *, stops: bool
) -> None:
    """One more record, and the follower's part in the ISR for long after its clock is right. One that waits for its old
    time is started anew.
    """
    run.send(t, timeout_s=WAIT_S)
    if stops:
        run.wait_isr(t, [leader, second])
    run.let_pass(UNSEEN_S, "a follower that fetches would long be in the ISR")
    if stops:
        run.stop(first)
        run.start(first)


def coordinator_ahead(run: Run, t: Partition) -> None:
    run.send(t, COUNT)
    run.commit(GROUP, t, COUNT)
    run.wait_committed(GROUP, t, COUNT, timeout_s=WAIT_S)
    coordinator = run.leader_of(OFFSETS)
    run.step_clock(coordinator, AHEAD_S)
    run.wait_committed(GROUP, t, None, timeout_s=RETENTION_LIMIT_S)
    run.set_clocks_right()
    # It may follow in t. If a fetch of it failed while its clock was ahead, it waits for that time.
    run.stop(coordinator)
    run.start(coordinator)


def leader_behind(run: Run, t: Partition) -> None:
    run.send(t, COUNT)
    run.step_clock(run.leader_of(t), BEHIND_S)
    run.send(t, COUNT, must=False)
    run.set_clocks_right()


def leader_behind_lag(run: Run, t: Partition) -> None:
    run.send(t, COUNT)
    leader, (cut_off, other) = run.leader_of(t), run.followers_of(t)
    run.step_clock(leader, LITTLE_S)
    run.cut([cut_off], [leader])
    waiting = run.send_async(t)
    run.let_pass(UNSEEN_S, "a follower that fetches nothing would long be out of the ISR")
    run.claim("acks=all waits for a follower that is in the ISR", not waiting.acknowledged)
    run.require("the client still waits", not waiting.done)
    run.set_clocks_right()
    run.wait_isr(t, [leader, other])
    waiting.wait(WAIT_S)
    run.heal_network()


def set_right(run: Run, sequence: Callable[[Run, Partition], None]) -> None:
    """A clock is wrong for a while, and then right again."""
    t = run.partition()
    sequence(run, t)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="clock-step",
    claim="""A leader whose wall clock is days ahead for a minute deletes its records on every replica, even records of
        a second ago. A coordinator with such a clock deletes committed offsets. A broker whose clock is behind refuses
        records (4.0) and does not notice that a replica lags.""",
    source="Kafka documentation, topic configuration: retention.ms; KIP-32, KIP-33, KIP-107, KIP-937",
    operator="""Monitor each broker's clock. Let time servers slew and never step, and start no broker before its clock
        is synchronised (chronyd's waitsync). For topics that must not lose anything, set a retention longer than any
        step, or retention.ms=-1 and delete by request. Brokers look for old segments every five minutes by default
        (log.retention.check.interval.ms), here each second. So a clock that is wrong for one minute meets such a look
        one time in five. After a step, compare log start offsets of all replicas before you move leaders: a follower
        that deleted its log is still in the ISR.""",
    cluster=ClusterPlan(own_clocks=True),
    cases={
        "leader-ahead": Case(
            steps=partial(set_right, sequence=leader_ahead),
            applies=ranges.FOLLOWERS_FOLLOW_LOG_START,
            settings=OFTEN,
            documented=[
                Documented(
                    on=ranges.DELETION_REASON_LOGGED,
                    required=LOST,
                    claims=[DELETES],
                    sentence="""With the default retention of seven days, the log start moves behind all records, on all
                        replicas, as soon as the broker looks for old segments (here each second; by default every five
                        minutes).""",
                    source=RETENTION,
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    required=LOST,
                    sentence="""The leader's log start moves behind all records, and then that of every replica, as soon
                        as the leader looks for old segments (here each second; by default every five minutes).""",
                    source=RETENTION,
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
        "follower-ahead": Case(
            steps=partial(set_right, sequence=follower_ahead),
            applies=ranges.FOLLOWERS_FOLLOW_LOG_START,
            settings=OFTEN,
            documented=[
                Documented(
                    on=ranges.DELETION_REASON_LOGGED,
                    required=LOST,
                    claims=[DELETES, "leader-elected-from-isr"],
                    sentence="""The follower deletes all its records and stays in the ISR. Its clock is right again when
                        the leader is stopped, cleanly. It leads with an empty log, and the other logs then begin where
                        its own does.""",
                    source=RETENTION,
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    required=LOST,
                    claims=["leader-elected-from-isr"],
                    source=RETENTION,
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
        "follower-fetched-ahead": Case(
            steps=partial(set_right, sequence=follower_fetched_ahead),
            applies=ranges.SESSIONS_BY_MONOTONIC_CLOCK,
            settings={"replica.lag.time.max.ms": str(LAG_MS)},
            topic={"retention.ms": "-1"},
            documented=[
                Documented(
                    on=ranges.DELAY_OF_FAILED_FETCHES_ALONE,
                    claims=["follower-fetches-by-the-right-time"],
                    sentence="The follower still fetches, and stays in the ISR.",
                    source="KAFKA-9039",
                    basis=Basis.JIRA,
                ),
                Documented(
                    claims=[WAITS],
                    sentence="""The follower takes records while its clock is ahead. When the clock is right again, it
                        fetches nothing and leaves the ISR, until it is started anew.""",
                    source=FETCH_WAIT,
                    basis=Basis.SOURCE,
                ),
            ],
        ),
        "follower-failed-ahead": Case(
            steps=partial(set_right, sequence=follower_failed_ahead),
            applies=ranges.SESSIONS_BY_MONOTONIC_CLOCK,
            settings={"replica.lag.time.max.ms": str(LAG_MS), "replica.socket.timeout.ms": "2000"},
            topic={"retention.ms": "-1"},
            documented=[
                Documented(
                    claims=[WAITS],
                    sentence="""A fetch of the follower fails while its clock is ahead. When the clock is right and the
                        network whole, it fetches nothing and is out of the ISR, until it is started anew.""",
                    source=FETCH_WAIT,
                    basis=Basis.SOURCE,
                ),
            ],
        ),
        "coordinator-ahead": Case(
            steps=partial(set_right, sequence=coordinator_ahead),
            applies=ranges.TIME_STAMPS,
            settings={"offsets.retention.check.interval.ms": "1000"},
            topic={"retention.ms": "-1"},  # the coordinator has a replica, which is not what this is about
            documented=[
                Documented(
                    required=frozenset({"committed-offset-lost"}),
                    sentence="""With the default retention, a group that committed a minute ago loses its offset as soon
                        as the coordinator looks (here each second; by default every ten minutes).""",
                    source="Kafka documentation, broker configuration: offsets.retention.minutes",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "leader-behind": Case(
            steps=partial(set_right, sequence=leader_behind),
            applies=ranges.TIME_STAMPS,
            documented=[
                Documented(
                    on=ranges.TIME_STAMPS_BOUNDED,
                    claims=["clock-behind-refuses-records"],
                    sentence="Each record is refused as made more than an hour after now, until the clock is right.",
                    source="KIP-937; KIP-1030: an hour by default from 4.0 on",
                    basis=Basis.KIP,
                ),
                Documented(
                    claims=["clock-behind-takes-records"],
                    sentence="Records are taken as usual; retention keeps them for two hours more.",
                    source="KIP-937: no bound by default before 4.0",
                    basis=Basis.KIP,
                ),
            ],
        ),
        "leader-behind-lag": Case(
            steps=partial(set_right, sequence=leader_behind_lag),
            applies=ranges.SESSIONS_BY_MONOTONIC_CLOCK,
            settings={"replica.lag.time.max.ms": str(LAG_MS)},
            documented=[
                Documented(
                    claims=["lag-not-seen-while-clock-behind"],
                    sentence="""A follower that is cut from the leader stays in the ISR for as long as the clock is
                        behind, and acks=all waits for it; it leaves when the clock is right.""",
                    source="Replica: lastCaughtUpTimeMs never falls (2.0.0, 2.2.2, 2.4.1 to 4.3.1)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
    },
)
