"""A live group with nothing to read loses its offsets (KAFKA-4682, KIP-211).

Committed offsets are kept for a while and then deleted, so that those of abandoned groups disappear. Until 2.1 that
time counted from the commit, whether the group had members or not. A consumer that has read everything commits nothing
new: after offsets.retention.minutes, a day by default until 1.1 and a week in 2.0, its offsets were deleted while it
was polling. It notices nothing until it restarts. Then it begins where auto.offset.reset says: it reads all records
again, or skips those that came since.

From 2.1 on the time counts from the moment when the group's last member leaves.
"""

from harness.words import Basis, Border, Bug, ClusterPlan, Documented, Exhibit, Run, Side, ranges, scenario

KAFKA_4682 = Bug(
    id="KAFKA-4682",
    title="the committed offsets of a live group with nothing to read expire",
    touches="groups with nothing to read",
    whom="groups with nothing to read for a day, or a week",
    since=Border(
        "0.8.2.0",
        "KAFKA-1012",
        Side(
            "0.8.1.1",
            "no broker keeps offsets: KafkaApis.handleOffsetCommitRequest writes them to ZooKeeper, where they stay",
        ),
        Side(
            "0.8.2.0",
            "OffsetManager.compact deletes offsets that are older than the retention time, whoever still reads",
        ),
    ),
    fixed=("2.1.0",),
    commits=("418a91b5d4e", "2933f21374e"),
)
GROUP = "idle"
RETENTION_S = 60.0
"""The minimum: brokers count in minutes."""
CHECK_S = 2.0


@scenario(
    name="museum-expired-offsets",
    claim="""A live consumer group that has read everything loses its committed offsets, and reads all records again
        after its restart.""",
    source="KAFKA-4682, KIP-211",
    operator="""Set offsets.retention.minutes far above the longest time in which a topic may be silent (a weekend, a
        holiday): the default is a day, and a week in 2.0.""",
    needs=["groups"],
    exhibit=Exhibit(bug=KAFKA_4682, affected=("1.1.1",), fixed=("2.2.2",)),
    applies=ranges.GROUPS_COORDINATED,
    cluster=ClusterPlan(
        settings={
            "offsets.retention.minutes": "1",
            "offsets.retention.check.interval.ms": "2000",
            "offsets.topic.num.partitions": "1",
        }
    ),
    documented=[
        Documented(
            on=KAFKA_4682.affected,
            required=frozenset({"committed-offset-lost"}),
            source=KAFKA_4682.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_4682.unaffected,
            sentence="As long as the group has a member it keeps its offsets, however old.",
            source=KAFKA_4682.id,
            basis=Basis.JIRA,
        ),
    ],
)
def expired_offsets(run: Run) -> None:
    t = run.partition()
    run.send(t, 5)
    with run.consume(t, group=GROUP, settings={"auto.commit.interval.ms": "500"}) as consumer:
        consumer.wait_read(5, timeout_s=60)
        run.wait_committed(GROUP, t, 5, timeout_s=30)
        run.let_pass(RETENTION_S + 3 * CHECK_S, "the offsets' retention has passed, and two checks for what expires")
        run.committed(GROUP, t, timeout_s=30)

    run.send(t)
    with run.consume(t, group=GROUP) as restarted:
        read = restarted.wait_position(*t, 6, timeout_s=60).records
    run.note(f"started again, the group got {read} of 6 records, of which it had read 5 before")
