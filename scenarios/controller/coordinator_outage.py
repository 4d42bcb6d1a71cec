"""ZooKeeper, or KRaft's only controller, is down (Kafka documentation, Design: replication; KIP-497, KIP-500).

It is killed, or stands still, for several sessions. Leaders lead, followers fetch, and records are acknowledged as
before: nothing has to be decided while nothing changes. Then a follower dies. It cannot be removed from the ISR, and no
session ends. So acks=all writes block, even long after replica.lag.time.max.ms. Before leaders asked the controller for
their ISRs (KIP-497, protocol 2.7) they wrote them to ZooKeeper themselves and held the partition's lock while they did.
There acks=1 blocks too. One thread of a broker does that for all its partitions, so the partitions behind the first one
continue. When the coordinator is back, the ISR shrinks and blocked writes continue.

After a kill and a restart, ZooKeeper gives every session its full time again, and brokers reconnect in time. A
ZooKeeper that stood still for longer than the sessions expires them all as soon as it continues. The first broker to
register becomes controller, finds hardly any broker registered, and elects leaders from those. A healthy leader loses
its partition. Records that it acknowledges with acks=1 until it learns of that are lost. A controller of KRaft that
stood still fences brokers whose heartbeats it has not read yet, with the same consequence. One that was killed and
started gives each its whole session again. During the outage, consumers read nothing beyond the dead follower's log
end.
"""

from collections.abc import Callable

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, Target, ranges, scenario
from scenarios.partition import RATE_PER_S, SETTINGS, clients

SESSIONS = 2
WAIT_S = 90.0
ONE_REPLICA_OF_OFFSETS = {"offsets.topic.replication.factor": "1"}
"""The partition written to is the only one whose ISR a leader has to shrink. The leader shrinks one after the other,
and only the first that it cannot write blocks.
"""
UNDER_A_LOCK = "Partition.maybeShrinkIsr (2.6.2): the ISR is written to ZooKeeper under leaderIsrUpdateLock; KIP-497"
SESSIONS_END = "ZooKeeper, SessionTrackerImpl (3.4 to 3.8): expired sessions end as soon as it runs again"
CLAIMS = [
    "writes-go-on-without-coordinator",
    "nothing-changes-without-coordinator",
    "acks-all-waits-for-coordinator",
    "one-controller-at-a-time",
]
LEADERS_MAY_MOVE = LOST | {"inconsistent-offsets"}
"""A healthy leader that is replaced has acknowledged records that no other replica has. It also leaves a producer's
request unanswered, which is sent again: without idempotence that is permitted of it, here as elsewhere.
"""
BLOCKS = [*CLAIMS, "writes-stop-while-isr-cannot-shrink"]
GOES_ON = [*CLAIMS, "writes-go-on-while-isr-cannot-shrink"]
SESSIONS_LAST = "sessions-outlast-coordinator"
NO_WRITES_AT_ALL = """Nothing changes while ZooKeeper is away. As soon as a follower has to leave the ISR, its leader
    takes no records, not even with acks=1, until ZooKeeper is back."""
LEADERS_MOVE_AFTERWARDS = """When the coordinator is back, leaders may move, and records acknowledged with acks=1 may be
    lost. It depends on whether a broker registers, or its heartbeat is read, before the sessions that have run out are
    ended."""


def killed(run: Run) -> None:
    """The coordinator dies, and is started again."""
    without_coordinator(run, Run.kill, lambda coordinator: run.start(coordinator))


def frozen(run: Run) -> None:
    """The coordinator stands still, and continues."""
    without_coordinator(run, Run.freeze, lambda _coordinator: run.thaw())


def without_coordinator(run: Run, take: Callable[[Run, Target], None], give_back: Callable[[Target], None]) -> None:
    """Writes continue while ZooKeeper or the controllers are down, until a follower dies."""
    t, coordinator = run.partition(), run.coordinator()
    leader, (follower, other) = run.leader_of(t), run.followers_of(t)
    with clients(run, t, expected_loss=True) as load:
        take(run, coordinator)
        load.wait_more(int(RATE_PER_S * SESSIONS * run.cluster.plan.session_timeout_ms / 1000), timeout_s=60)
        run.send(t, 3)

        run.kill(follower)
        waiting = run.send_async(t)
        run.wait_share_of_session(follower, SESSIONS)
        run.claim("acks=all waits for the dead follower, which is in the ISR", not waiting.acknowledged)
        run.require("the client still waits", not waiting.done)
        give_back(coordinator)
        run.wait_isr(t, [leader, other])
        waiting.wait(WAIT_S)

        run.start(follower)
        run.wait_isr(t, run.replicas_of(t))
        load.wait_more(40, timeout_s=60)
    run.send(t)


scenario(
    name="coordinator-outage",
    claim="""While ZooKeeper or the controllers are down, leaders, ISRs and registrations do not change. Writes continue
        as long as every member of the ISR is up. With acks=all writes wait for a member that is down until ZooKeeper or
        the controllers return. Nothing acknowledged with acks=all is lost.""",
    source="Kafka documentation, Design: replication; KIP-497, KIP-500",
    operator="""Reads and writes continue while ZooKeeper or the controllers are down, but no failure is repaired until
        they return: do not restart brokers before the outage is over. A ZooKeeper that stalls for longer than the
        sessions does more harm than one that crashes: all brokers lose their registration at once, and records written
        with acks=1 can be lost.""",
    cluster=ClusterPlan(settings=SETTINGS | ONE_REPLICA_OF_OFFSETS),
    cases={
        "killed": Case(
            steps=killed,
            acks="1",
            documented=[
                Documented(
                    on=ranges.ISR_CHANGES_IN_ZOOKEEPER,
                    claims=[*BLOCKS, SESSIONS_LAST],
                    sentence=NO_WRITES_AT_ALL,
                    source=UNDER_A_LOCK,
                    basis=Basis.SOURCE,
                ),
                Documented(
                    on=ranges.ZOOKEEPER,
                    claims=[*GOES_ON, SESSIONS_LAST],
                    source="KIP-497",
                    basis=Basis.KIP,
                ),
                Documented(
                    on=ranges.KRAFT,
                    claims=GOES_ON,
                    sentence="""A controller that is started gives every broker its whole session again. No healthy
                        leader is replaced, and nothing is lost.""",
                    source="ClusterControlManager.activate (2.8.2 to 4.3.1); KIP-631",
                    basis=Basis.SOURCE,
                ),
            ],
        ),
        "frozen": Case(
            steps=frozen,
            acks="1",
            documented=[
                Documented(
                    on=ranges.ISR_CHANGES_IN_ZOOKEEPER,
                    claims=BLOCKS,
                    allowed=LEADERS_MAY_MOVE,
                    sentence=f"{NO_WRITES_AT_ALL} {LEADERS_MOVE_AFTERWARDS}",
                    source=f"{UNDER_A_LOCK}; {SESSIONS_END}",
                    basis=Basis.SOURCE,
                ),
                Documented(
                    claims=GOES_ON,
                    allowed=LEADERS_MAY_MOVE,
                    sentence=LEADERS_MOVE_AFTERWARDS,
                    source=f"{SESSIONS_END}; KIP-497, KIP-631: brokers without heartbeats are fenced",
                    basis=Basis.SOURCE,
                ),
            ],
        ),
    },
)
