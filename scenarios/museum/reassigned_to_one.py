"""A reassignment ends with one replica in sync, and deletes the only other good copy (KAFKA-15665).

A reassignment adds the new replicas, waits until they are in sync, and removes those that are no longer wanted. With
KRaft, until 3.8, it waited for the added replicas alone: the replicas that stay did not have to be in sync. If the ISR
is only the replica that leaves, the reassignment ends as soon as the new one has caught up. The new replica is then
alone in the ISR. The old one, which has every record too, is deleted.

From 3.8 to 4.2 it waited for all replicas. A replica that stays and is down for long keeps a reassignment from its end
then. So from 4.3 on it waits for the added ones alone again, unless it removes more than it adds (KAFKA-19975). The ISR
is as large as before. The only other good copy is deleted all the same.

The last replica in sync, or with eligible leader replicas (KIP-966) the last known leader, is elected when it comes
back, with its blank disk. From 3.7 on the controller has to know by then in which directory its replica lies (KIP-858,
blank-disk-replacement). It elects nobody if it learns that later (ReplicationControlManager.handleAssignReplicasToDirs,
3.7.1, 4.3.1, 4.4.0). The order differs from run to run. A second start ends it.

Here two of three replicas are cut off, and the remaining one acknowledges a record. A fourth broker is to replace it,
and that broker's disk then fails. Where the reassignment waits for the replicas that stay, the first replica still
exists, and leads with every record.
"""

from harness.words import (
    LOST,
    Basis,
    Border,
    Bug,
    BugStatus,
    ClusterPlan,
    Documented,
    Exhibit,
    Partition,
    Run,
    Side,
    Status,
    Target,
    ranges,
    scenario,
)

KAFKA_15665 = Bug(
    id="KAFKA-15665",
    title="a reassignment deletes good copies until one is left: a single replica stays in sync",
    touches="reassignments",
    whom="clusters that reassign a partition while a replica that stays is out of sync",
    since=Border(
        "3.0.0",
        "KAFKA-12803",
        Side("2.8.2", "ReplicationControlManager does not know reassignments"),
        Side(
            "3.0.0",
            "PartitionChangeBuilder.completeReassignmentIfNeeded waits until the added replicas are in sync, and "
            "asks for no other",
        ),
    ),
    fixed=("3.8.0",),
    again=Border(
        "4.3.0",
        "KAFKA-19975",
        Side("4.2.1", "PartitionReassignmentReplicas.maybeCompleteReassignment waits until all replicas are in sync"),
        Side(
            "4.3.0",
            "PartitionReassignmentReplicas.maybeCompleteReassignment waits for the added replicas alone, unless "
            "more are removed than added",
        ),
    ),
    status=Status(
        state=BugStatus.LIMITATION,
        told="KAFKA-19975 has it so on purpose, and calls it safe: the ISR does not get smaller. What it does not say "
        "is that the last other copy with every record is deleted while replicas that stay lack records.",
        sources=(
            "KAFKA-19975: pull request 21114 of apache/kafka",
            "PartitionReassignmentReplicas.maybeCompleteReassignment in 4.3.1 and 4.4.0, which are alike",
        ),
        on="2026-11-28",
        looked_at="4.4.0",
    ),
    commits=("756f44a3e58",),
    mode="kraft",
)
NO_LEADER = -1
TOLD_S = 3.0
"""Longer than brokers collect the directories of new replicas for (AssignmentsManager: half a second)."""


@scenario(
    name="museum-reassigned-to-one",
    claim="""A reassignment ends with one in-sync replica of the three that were requested, and has deleted the only
        other good copy. When that one disk fails, every acknowledged record is lost.""",
    source="KAFKA-15665",
    operator="""Do not reassign a partition while a replica that stays is out of sync. Look at the ISR first
        (kafka-topics --describe --under-replicated-partitions), and bring back those replicas.""",
    exhibit=Exhibit(bug=KAFKA_15665, affected=("3.5.1-kraft", "4.3.1"), fixed=("3.9.2-kraft", "4.2.2")),
    applies=ranges.KRAFT,
    cluster=ClusterPlan(
        brokers=(1, 2, 3, 4),
        controller=5,
        settings={"replica.lag.time.max.ms": "5000", "replica.socket.timeout.ms": "3000", "min.insync.replicas": "1"},
    ),
    documented=[
        Documented(
            on=KAFKA_15665.affected,
            required=LOST,
            source=KAFKA_15665.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_15665.unaffected,
            sentence="""The reassignment waits for the replicas that stay, and deletes nothing until then. The first
                replica leads when the disk fails, and nothing is lost.""",
            source=KAFKA_15665.id,
            basis=Basis.JIRA,
        ),
    ],
)
def reassigned_to_one(run: Run) -> None:
    t = run.partition()
    leaves, *stay = run.replicas_of(t)
    (comes,) = run.without(t)
    run.send(t, expected_loss=True)
    run.cut(stay, [leaves, comes])
    run.send(t, expected_loss=True)
    run.wait_isr(t, [leaves])

    run.reassign(t, [*stay, comes])
    if KAFKA_15665.affects(run.version):
        run.wait_leader(t, comes)
        run.wait_isr(t, [comes])
    else:
        run.wait_isr(t, [leaves, comes])
    run.send(t, expected_loss=True)
    run.copy_replicas("reassigned")

    run.kill(comes)
    run.wipe(comes)
    if not KAFKA_15665.affects(run.version):
        run.wait_leader(t, leaves)  # until the replicas that stay are reached again, and end the reassignment
    run.heal_network()
    run.start(comes)
    if KAFKA_15665.affects(run.version) and ranges.LEADERS_NEED_A_DIRECTORY.holds(run.version):
        start_again_unless_led(run, t, comes)
    run.wait_reassigned(t)
    run.send(t)


def start_again_unless_led(run: Run, t: Partition, last: Target) -> None:
    """Start the last known leader once more if it was unfenced too early to be elected."""
    run.let_pass(TOLD_S, "the broker has said in which directory its replica lies")
    if run.state_of(t).leader == NO_LEADER:
        run.note(
            f"nobody leads {t}: {last.node.name} was unfenced before it had said in which directory its replica lies"
        )
        run.stop(last)
        run.start(last)
