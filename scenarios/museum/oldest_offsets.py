"""A restart of the coordinator gives a group offsets that it committed long ago (KAFKA-5600).

A group's coordinator loads its partition of __consumer_offsets when it becomes the leader, chunk by chunk, and the
newest record of a group and partition is the one that counts. In 0.11.0.0 each chunk went into the cache as soon as it
was read, and existing entries were kept. So the offsets of the first chunk, the oldest, won. Any group went back whose
log was longer than offsets.load.buffer.size or had more than one segment.

Here the segments are small, and a group commits offset after offset. After the coordinator's death the group gets one
of its early offsets.
"""

from harness.words import Basis, Border, Bug, ClusterPlan, Documented, Exhibit, Run, Side, ranges, scenario
from scenarios.museum import kill_coordinator

KAFKA_5600 = Bug(
    id="KAFKA-5600",
    title="after a coordinator's failover groups go back to offsets that they committed long ago",
    touches="committed offsets of groups",
    whom="every busy group, whenever its coordinator changes",
    since=Border(
        "0.11.0.0",
        "KIP-98, KAFKA-5160",
        Side("0.10.2.2", "GroupMetadataManager.loadGroupsAndOffsets reads all chunks, and then fills the cache"),
        Side("0.11.0.0", "it fills the cache after each chunk, and GroupMetadataManager.addGroup keeps what is there"),
    ),
    fixed=("0.11.0.1", "1.0.0"),
    commits=("e2fe19d22a4", "3a515505e07"),
)
GROUP = "busy"
LAST = 60


@scenario(
    name="museum-oldest-offsets",
    claim="""After the death of its coordinator a group that had committed offset 60 gets an offset that it committed
        long before, and processes everything since then again.""",
    source="KAFKA-5600",
    operator="""Expect that each failover or restart of a broker sends busy groups back.""",
    exhibit=Exhibit(bug=KAFKA_5600, affected=("0.11.0.0",), fixed=("0.11.0.3",)),
    applies=ranges.GROUPS_COORDINATED & ranges.SEGMENTS_OF_ANY_SIZE,
    cluster=ClusterPlan(settings={"offsets.topic.segment.bytes": "2000", "log.cleaner.enable": "false"}),
    documented=[
        Documented(
            on=KAFKA_5600.affected,
            required=frozenset({"committed-offset-regression"}),
            source=KAFKA_5600.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_5600.unaffected,
            sentence="The next coordinator answers with the offset committed last.",
            source=KAFKA_5600.id,
            basis=Basis.JIRA,
        ),
    ],
)
def oldest_offsets(run: Run) -> None:
    t = run.partition()
    run.send(t, LAST)
    for offset in range(1, LAST + 1):
        run.commit(GROUP, t, offset)
    run.wait_committed(GROUP, t, LAST, timeout_s=30)

    kill_coordinator(run)
    run.committed(GROUP, t, timeout_s=60)
