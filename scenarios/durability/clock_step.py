"""The wall clock of one broker is wrong for a while, by hours or days (Kafka documentation: retention.ms,
replica.lag.time.max.ms; KIP-937).

A virtual machine that was paused, a dead battery, a time server gone mad: one clock jumps, is right again a minute
later, and every process has been up throughout. Sessions and time-outs go by a monotonic clock and do not mind, since
2.4: the client of ZooKeeper 3.4 measured time by the wall clock (ZOOKEEPER-1366), so a broker whose clock is set back
sends ZooKeeper nothing, its session ends, and another one leads. These go by the wall clock on every release:

- Retention. Records have the time at which they were made, and a broker deletes a segment when the newest of them is
  older than retention.ms by its own clock. If that is eight days ahead, everything is too old with the default of
  seven. On the leader it is gone for all: the log begins later now, and on followers too (from 0.11 on), which delete
  what is before with the segment. A follower that deletes stays in the ISR with nothing in its log, and nobody hears
  of it until it leads.
- Committed offsets. A coordinator forgets those of a group without members that are older than
  offsets.retention.minutes (seven days from 2.0 on, one before) by its own clock. The group begins where
  auto.offset.reset says.
- Time stamps. From 4.0 on a leader refuses records made more than an hour after now. If its own clock is two hours
  behind, these are all.
- The ISR. A leader notes when a follower had last caught up, and never takes an earlier time for it. With its clock set
  back, that time lies in the future: a follower that fetches nothing stays in the ISR, and acks=all waits for it.
  (Before 2.4 its session ends first.)
"""

from collections.abc import Callable
from functools import partial

from harness.words import LOST, OFFSETS, Basis, Case, ClusterPlan, Documented, Partition, Run, ranges, scenario

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
"""Several times as long as a follower may lag, and is looked for."""
WAIT_S = 60.0
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


def coordinator_ahead(run: Run, t: Partition) -> None:
    run.send(t, COUNT)
    run.commit(GROUP, t, COUNT)
    run.wait_committed(GROUP, t, COUNT, timeout_s=WAIT_S)
    run.step_clock(run.leader_of(OFFSETS), AHEAD_S)
    run.wait_committed(GROUP, t, None, timeout_s=RETENTION_LIMIT_S)
    run.set_clocks_right()


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
    """A clock is wrong for a while, and then all is as before."""
    t = run.partition()
    sequence(run, t)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="clock-step",
    claim="""A broker whose wall clock is ahead for a minute deletes its records, even those of a second ago, on
        every replica, and forgets the offsets that groups committed. One whose clock is behind refuses records (4.0)
        and does not see that a replica lags.""",
    source="Kafka documentation, topic configuration: retention.ms; KIP-32, KIP-33, KIP-107, KIP-937",
    operator="""Watch each broker's clock as you watch its disk, have time servers slew and never step, and start no
        broker before its clock is synchronised (chronyd's waitsync). Topics that must not lose anything want a
        retention longer than any step, or retention.ms=-1 and deletion by request. Brokers look for what is too old
        every five minutes by default (log.retention.check.interval.ms), here each second: a minute ahead meets a look
        one time in five. After a step compare log start offsets of all replicas before you move leaders: a follower
        that deleted is in the ISR.""",
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
                    sentence="""The log begins after everything, on all replicas, with the default retention of seven
                        days, as soon as the broker looks (here each second; by default every five minutes).""",
                    source=RETENTION,
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    required=LOST,
                    sentence="""The leader's log begins after everything, and then all do, as soon as it looks (here
                        each second; by default every five minutes).""",
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
                    sentence="""The follower deletes all that it has and stays in the ISR. Its clock is right again when
                        the leader is stopped, cleanly: it leads, with nothing, and the others' logs begin where its own
                        does.""",
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
        "coordinator-ahead": Case(
            steps=partial(set_right, sequence=coordinator_ahead),
            applies=ranges.TIME_STAMPS,
            settings={"offsets.retention.check.interval.ms": "1000"},
            topic={"retention.ms": "-1"},  # the coordinator has a replica, which is not what this is about
            documented=[
                Documented(
                    required=frozenset({"committed-offset-lost"}),
                    sentence="""A group that committed a minute ago has no offset any more, with the default retention,
                        as soon as the coordinator looks (here each second; by default every ten minutes).""",
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
                    sentence="Records are taken as ever; retention keeps them for two hours more.",
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
                    source="Replica.updateFetchState: lastCaughtUpTimeMs never falls (2.4.1 to 4.3.1)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
    },
)
