"""A group that changes its members loses its offsets while it forms (KAFKA-13636).

From 2.4 on, offsets of topics that a group does not subscribe to expire although the group has members (KIP-496). The
coordinator knows these topics when the group has formed. Until 2.8.2, 3.0.1 and 3.1.1 an empty group that formed again
had an empty list of topics until then. So every offset of it that was older than offsets.retention.minutes expired at
the next check.

The window is the time that a group takes to form, group.initial.rebalance.delay.ms (3 s) and more for many members. It
hits a group that had nothing to read for long, and whose members are all restarted. Here the delay is longer, and
coordinators check for expired offsets each second.
"""

from harness.words import Basis, Border, Bug, ClusterPlan, Documented, Exhibit, Run, Side, ranges, scenario

KAFKA_13636 = Bug(
    id="KAFKA-13636",
    title="the committed offsets of a group expire while it forms again after a restart of its members",
    touches="groups that restart as a whole",
    whom="groups with old offsets whose members are all restarted",
    since=Border(
        "2.4.0",
        "KIP-496, KAFKA-8730",
        Side("2.3.1", "GroupMetadata.removeExpiredOffsets expires nothing of a group with members"),
        Side("2.4.0", "it expires what is not in subscribedTopics, which is the empty set while an empty group forms"),
    ),
    fixed=("2.8.2", "3.0.1", "3.1.1", "3.2.0"),
    commits=("78a37894965", "7fde1ef7633"),
)
GROUP = "restarted"
COMMITS_NOTHING = {"enable.auto.commit": "false"}
RETENTION_S = 60.0
"""The minimum: brokers count in minutes."""


@scenario(
    name="museum-rebalance-expires-offsets",
    claim="""A group that has had nothing to read for offsets.retention.minutes loses its committed offsets when its
        members are restarted, while it forms again. It then reads all records again.""",
    source="KAFKA-13636, KIP-496",
    operator="""Set offsets.retention.minutes far above the longest time in which a topic may be silent, or restart the
        members of a group one by one.""",
    needs=["groups"],
    exhibit=Exhibit(bug=KAFKA_13636, affected=("2.8.1",), fixed=("2.8.2",)),
    applies=ranges.OFFSETS_EXPIRE_BY_TOPIC,
    cluster=ClusterPlan(
        settings={
            "offsets.retention.minutes": "1",
            "offsets.retention.check.interval.ms": "1000",
            "group.initial.rebalance.delay.ms": "12000",
        }
    ),
    documented=[
        Documented(
            on=KAFKA_13636.affected,
            required=frozenset({"committed-offset-lost"}),
            source=KAFKA_13636.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_13636.unaffected,
            sentence="A group that is forming keeps its offsets, however old.",
            source=KAFKA_13636.id,
            basis=Basis.JIRA,
        ),
    ],
)
def rebalance_expires_offsets(run: Run) -> None:
    t = run.partition()
    run.send(t, 5)
    run.commit(GROUP, t, 5)
    # A member that commits would make the offsets young again.
    with run.consume(t, group=GROUP, settings=COMMITS_NOTHING):
        run.let_pass(RETENTION_S + 6.0, "the offsets are older than their retention")
        run.committed(GROUP, t, timeout_s=30)

    run.send(t)
    with run.consume(t, group=GROUP, settings=COMMITS_NOTHING) as restarted:
        run.let_pass(6.0, "the group is forming, and coordinators check for expired offsets")
        run.committed(GROUP, t, timeout_s=30)
        read = restarted.wait_position(*t, 6, timeout_s=90).records
    run.note(f"started again, the group got {read} of 6 records, of which 5 were committed")
