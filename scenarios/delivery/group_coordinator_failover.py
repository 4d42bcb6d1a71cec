"""The broker that coordinates a group is gone (Kafka documentation, Implementation: consumer offset tracking).

A group's offsets are records of a partition of __consumer_offsets, and its leader is the group's coordinator. When that
broker is gone, another replica is elected. It reads the partition before it answers, and until then
clients get COORDINATOR_LOAD_IN_PROGRESS. So commits pause for the broker's session, the election and the reading. Every
replica in sync has what was acknowledged, so the group's offset does not go back.

Before 1.1 the next coordinator waits for its own last fetch first, if the old one neither answers nor closes the
connection (KAFKA-6051). If the old one is dead it may wait as long for a connection to its address
(ReplicaFetcherThread.sendRequest, 0.10.2.2: blockingReady). Either took 27 s on 0.10.2.2.

The coordinator is killed; or frozen, with its connections open; or cut off from all other nodes. A broker that is cut
off does not know that it was replaced. It takes no commit, because no other replica gets the record. But it may answer
those who ask it with the offset that it has in memory (GroupCoordinator.handleFetchOffsets, 2.8.2, writes nothing), and
that one is older than the group's. So the clients here know the other brokers alone, until the old coordinator follows
the next one.
"""

from functools import partial

from harness.words import OFFSETS, Basis, Case, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.delivery import CUT, FROZEN, GROUP, HELD_UP, KILLED, LIMIT_S, Gone

FIRST, SECOND, THIRD = 3, 7, 9
"""The offsets that are committed: before, while the coordinator is gone, and when it is back."""
TRACKING = "Kafka documentation, Implementation: consumer offset tracking"
PAUSE = "commits-pause-for-the-session"


def fail_over(run: Run, gone: Gone) -> None:
    """A group commits before, while its coordinator is gone, and when it is back."""
    t = run.partition()
    run.send(t, THIRD)
    run.commit(GROUP, t, FIRST)
    old, in_sync = run.leader_of(OFFSETS), run.in_isr(OFFSETS)
    others = [one for one in in_sync if one.id != old.id]
    gone.taken(run, old)
    run.commit(GROUP, t, SECOND, only=others)
    run.wait_leader(OFFSETS, *others)
    run.wait_committed(GROUP, t, SECOND, timeout_s=LIMIT_S, only=others)
    gone.back(run, old)
    run.wait_isr(OFFSETS, in_sync)
    run.wait_committed(GROUP, t, SECOND, timeout_s=LIMIT_S)
    run.commit(GROUP, t, THIRD)
    run.wait_committed(GROUP, t, THIRD, timeout_s=LIMIT_S)


DOCUMENTED = [
    Documented(on=ranges.FETCHES_HOLD_UP, sentence=HELD_UP, source="KAFKA-6051", basis=Basis.JIRA),
    Documented(claims=[PAUSE], source=TRACKING, basis=Basis.DOCUMENTATION),
]

scenario(
    name="group-coordinator-failover",
    claim="""When the broker that coordinates a group is gone, commits pause until another one has taken over. The
        group's committed offset does not go back.""",
    source=TRACKING,
    operator="""Give __consumer_offsets three replicas (offsets.topic.replication.factor), and min.insync.replicas 2:
        its leaders keep every group's offsets. A tool that reaches only a broker which is cut off may show offsets that
        are older than the group's.""",
    cluster=ClusterPlan(settings={"offsets.topic.num.partitions": "1"}),
    cases={
        name: Case(steps=partial(fail_over, gone=gone), documented=DOCUMENTED)
        for name, gone in (("killed", KILLED), ("frozen", FROZEN), ("cut", CUT))
    },
)
