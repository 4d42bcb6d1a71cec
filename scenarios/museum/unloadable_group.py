"""After one large commit, a group's coordinator never answers again (KAFKA-7286).

A group's offsets are records of __consumer_offsets, and its coordinator is the leader of their partition. A new leader
first loads the partition, chunk by chunk, into a buffer of offsets.load.buffer.size. Until 2.0.1, when a batch is
larger than the buffer, it reads the same chunk again and again. Loading never ends, and all groups of the partition
have no coordinator. The next leader has the same problem.

Groups of hundreds of members write such records without large commits: the assignment of a group is one record. Here
the buffer is small, and one commit with long metadata plays that role. Nothing happens until the coordinator dies.
"""

from harness.words import Basis, Border, Bug, ClusterPlan, Documented, Exhibit, Run, Side, ranges, scenario
from scenarios.museum import kill_coordinator

KAFKA_7286 = Bug(
    id="KAFKA-7286",
    title="after one large commit, no coordinator of that partition of groups ever finishes loading",
    touches="groups of hundreds of members",
    whom="groups of hundreds of members, or with large metadata",
    since=Border(
        "0.8.2.0",
        "KAFKA-1012",
        Side("0.8.1.1", "no broker loads offsets: KafkaApis.handleOffsetCommitRequest writes them to ZooKeeper"),
        Side(
            "0.8.2.0",
            "OffsetManager.loadOffsets reads at most offsets.load.buffer.size, and then from the same offset "
            "again if that holds no whole message",
        ),
    ),
    fixed=("2.0.1", "2.1.0"),
    commits=("4a5cba87bcd", "518758fdcef"),
)
GROUP = "wordy"


@scenario(
    name="museum-unloadable-group",
    claim="""After one large offset commit, the death of the group's coordinator permanently leaves every group of
        that partition without a coordinator: no commit, no fetch of an offset, no rebalance.""",
    source="KAFKA-7286",
    operator="""Set offsets.load.buffer.size (5 MB) above the largest record of a group: hundreds of members, or large
        metadata. The transaction log has the same flaw (transaction.state.log.load.buffer.size).""",
    exhibit=Exhibit(bug=KAFKA_7286, affected=("1.1.1",), fixed=("2.2.2",)),
    applies=ranges.GROUPS_COORDINATED,
    cluster=ClusterPlan(
        settings={
            "offsets.load.buffer.size": "2000",
            "offset.metadata.max.bytes": "10000",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "3",
        }
    ),
    documented=[
        Documented(
            on=KAFKA_7286.affected,
            required=frozenset({"group-unavailable"}),
            source=KAFKA_7286.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_7286.unaffected,
            sentence="The next coordinator uses a larger buffer, and answers.",
            source=KAFKA_7286.id,
            basis=Basis.JIRA,
        ),
    ],
)
def unloadable_group(run: Run) -> None:
    t = run.partition()
    run.send(t, 3)
    run.commit(GROUP, t, 3, metadata_bytes=5000)
    run.wait_committed(GROUP, t, 3, timeout_s=30)

    kill_coordinator(run)
    run.committed(GROUP, t, timeout_s=30)
