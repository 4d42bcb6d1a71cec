"""Transactions, offsets and deletions through a crash and a restart of all brokers (KIP-98, KIP-107, offset tracking).

A transaction is committed and another aborted; a read_committed reader gets the first, never the second. A group
commits an offset. The first records are deleted by request, after they were read. Then the leader dies and returns, and
all brokers are stopped and started again. The coordinators of the group and of the transactions move, and every broker
loads its files. A new reader gets the same records as the first one, without the deleted ones. The group's offset is
the acknowledged one. Another transaction is committed and read.

This scenario is the control of the museum: most of its bugs break one of these promises.
"""

from harness.words import Basis, Documented, Run, TopicPlan, ranges, scenario

COUNT = 5
DELETED = 3
COMMITTED = 7
GROUP = "group"
LIMIT_S = 60.0


@scenario(
    name="exactly-once",
    claim="""A crash of the leader and a restart of all brokers change nothing. A committed transaction is read whole
        and an aborted one never, a group has the offset that it committed, and deleted records stay deleted.""",
    source="KIP-98, KIP-107; Kafka documentation, Design: message delivery semantics, consumer offset tracking",
    operator="""Nothing to do. Set isolation.level=read_committed in readers that must see committed transactions alone:
        the default shows aborted ones too.""",
    needs=["transactions"],
    topic=TopicPlan(settings={"min.insync.replicas": "2"}),
    applies=ranges.TRANSACTIONS,
    documented=[
        Documented(
            source="KIP-98",
            basis=Basis.KIP,
        )
    ],
)
def exactly_once(run: Run) -> None:
    t, replicas = run.partition(), run.replicas_of(run.partition())
    with run.consume(t, committed_only=True) as reader:
        with run.transaction() as kept:
            kept.send(t, COUNT)
        with run.transaction(commit=False) as dropped:
            dropped.send(t, COUNT)
        run.send(t, COUNT)
        reader.wait_read(2 * COUNT, timeout_s=LIMIT_S)
    run.commit(GROUP, t, COMMITTED)
    run.wait_committed(GROUP, t, COMMITTED, timeout_s=LIMIT_S)
    run.delete_records(t, DELETED)

    leader = run.leader_of(t)
    others = run.followers_of(t)
    run.kill(leader)
    run.wait_leader(t, *others)
    run.send(t)
    run.start(leader)
    run.wait_isr(t, replicas)

    run.stop(*replicas)
    run.start(*replicas)
    run.wait_isr(t, replicas)
    run.wait_committed(GROUP, t, COMMITTED, timeout_s=LIMIT_S)
    with run.consume(t, committed_only=True) as reader:
        with run.transaction() as last:
            last.send(t, COUNT)
        reader.wait_read(3 * COUNT + 1 - DELETED, timeout_s=LIMIT_S)
