"""A restart of the coordinator gives a group the offsets of long ago (KAFKA-5600).

A group's coordinator loads its partition of __consumer_offsets when it becomes the leader, chunk by chunk, and the
newest record of a group and partition is the one that counts. In 0.11.0.0 each chunk went into the cache as soon as it
was read, and what the cache has already was kept: the first chunk's offsets won, which are the oldest. Any group of a
log longer than offsets.load.buffer.size, or of more than one segment, went back.

Here the segments are small, and a group commits offset after offset. Who asks after the coordinator's death gets one of
those that were committed early.
"""

from harness.words import Basis, Bug, ClusterPlan, Documented, Exhibit, Run, ranges, scenario
from scenarios.museum import kill_coordinator

KAFKA_5600 = Bug(
    id="KAFKA-5600",
    title="after a coordinator's failover groups go back to offsets that they committed long ago",
    whom="every busy group, whenever its coordinator changes",
    since="0.11.0.0",
    fixed=("0.11.0.1", "1.0.0"),
    commits=("e2fe19d22a4", "3a515505e07"),
)
GROUP = "busy"
LAST = 60


@scenario(
    name="museum-oldest-offsets",
    claim="""After the death of its coordinator a group that had committed offset 60 is told that it stands where it
        stood long before, and processes everything since then again.""",
    source="KAFKA-5600",
    operator="""Do not run 0.11.0.0: each failover or restart of a broker sends busy groups back. Any later release is
        without it.""",
    exhibit=Exhibit(bug=KAFKA_5600, affected=("0.11.0.0",), fixed=("0.11.0.3",)),
    applies=ranges.OFFSETS_KEPT_BY_KAFKA,
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
