"""A broker returns with its old id and an empty disk, as a machine that replaces a broken one (Kafka documentation,
Design: replication; KIP-966, KIP-858).

Out of the ISR: the broker is down until it has left the ISR. It returns with nothing, fetches everything from the
leader, and is back in the ISR when it has all of it.

Still in the ISR: it is the last in-sync replica when it dies, so it stays in the ISR of a partition without a leader.
It returns and is elected, because it is in the ISR, and leads an empty log. The follower that returns after it removes
its own copy of every record, although both replicas had acknowledged each one with min.insync.replicas=2. With eligible
leader replicas (KIP-966, on by default for new clusters from 4.1) the follower is still eligible. The broker that
returns without the mark of a clean stop is not eligible. So the partition waits for the follower, and nothing is lost.
Before 4.3 the controller forgot the eligible replicas when the returning broker reported its new log directory
(apache/kafka#20716), and elected that broker as the last known leader.

With KRaft from 3.7 on the election may be late: the controller knows the old directory of the replica when the broker
registers, and elects nobody there. That the broker reports the new one is no reason for an election. The next reason is
the return of the follower.
"""

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario

TRUNCATION = "log truncation is not allowed"


def out_of_isr(run: Run) -> None:
    """The leader dies, leaves the ISR, and returns blank."""
    t = run.partition()
    replaced, other = run.replicas_of(t)
    run.send(t, 3)
    run.kill(replaced)
    run.wait_leader(t, other)
    run.wait_isr(t, [other])
    run.send(t, 2)
    run.wipe(replaced)
    run.copy_replicas("blank")
    run.start(replaced)
    run.wait_isr(t, [replaced, other])
    run.send(t)


def still_in_isr(run: Run) -> None:
    """The last replica in sync dies, and returns blank before the other is there."""
    t = run.partition()
    replaced, other = run.replicas_of(t)
    run.send(t, 3, expected_loss=not ranges.ELIGIBLE_LEADERS_REMEMBERED.holds(run.version))
    run.copy_replicas("armed")
    run.stop(other)
    run.wait_isr(t, [replaced])
    run.kill(replaced)
    run.wait_no_leader(t, replaced)
    run.wipe(replaced)
    run.start(replaced)
    if not ranges.LEADERS_NEED_A_DIRECTORY.holds(run.version):
        run.wait_leader(t, replaced)
        run.send(t, acks="1")
    if ranges.ENDS_RATHER_THAN_TRUNCATES.holds(run.version):
        run.start_early(other)
        if ranges.HANGS_RATHER_THAN_TRUNCATES.holds(run.version):
            run.wait_log_line(other, TRUNCATION, "that it exits rather than truncate")
            run.kill(other)
        else:
            run.expect_exit(other, TRUNCATION)
        run.wipe(other)
    run.start(other)
    run.wait_leader(t)
    run.wait_isr(t, [replaced, other])
    run.send(t)


scenario(
    name="blank-disk-replacement",
    claim="""A broker that returns with an empty disk refills it from the leaders, and nothing is lost, if it was out of
        the ISR. If it is the last member of the ISR, it is elected with an empty log, and all records are lost.""",
    source="Kafka documentation, Design: replication; KIP-966, KIP-858, apache/kafka#20716",
    operator="""Before you give a broker an empty disk, make sure that it is in no ISR: wait until its partitions have
        other leaders and have removed it. The last member of an ISR must not return with an empty disk. Eligible leader
        replicas (from 4.3, with min.insync.replicas=2) protect you from that.""",
    needs=["acks-1"],
    cluster=ClusterPlan(settings={"replica.socket.timeout.ms": "3000"}),
    topic=TopicPlan(replicas=((1, 2),)),
    cases={
        "out-of-isr": Case(
            steps=out_of_isr,
            documented=[
                Documented(
                    claims=["blank-replica-refilled"],
                    source="Kafka documentation, Design: replication",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "still-in-isr": Case(
            steps=still_in_isr,
            # Otherwise the controllers of 0.8.2 to 0.10.2 leave nobody in the ISR.
            settings={"unclean.leader.election.enable": "false"},
            topic={"min.insync.replicas": "2"},
            documented=[
                Documented(
                    on=ranges.ELIGIBLE_LEADERS_REMEMBERED,
                    claims=["blank-replica-passed-over", "leader-elected-from-isr"],
                    sentence="""The follower, which was eligible, is elected when it returns, and nothing is lost.""",
                    source="KIP-966: unclean shutdown of an eligible leader replica",
                    basis=Basis.KIP,
                ),
                Documented(
                    on=ranges.ELIGIBLE_LEADERS_FORGOTTEN,
                    required=LOST,
                    claims=["blank-replica-elected", "leader-elected-from-outside-isr"],
                    sentence="""The controller forgets that the follower is eligible when the broker reports its new log
                        directory. When the follower returns, the controller elects the broker with the empty log,
                        because it is the last known leader.""",
                    source="apache/kafka#20716: a change of directories cleared the eligible replicas",
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=ranges.LEADERS_NEED_A_DIRECTORY,
                    required=LOST,
                    claims=["blank-replica-elected", "leader-elected-from-isr"],
                    sentence="""The controller does not know the broker's new directory, and may elect nobody. When the
                        follower returns, it elects the broker with the empty log, because that one is in the ISR, and
                        the follower removes every record.""",
                    source="KIP-858; ReplicationControlManager.LeaderAcceptor (3.7.0 to 4.0.0)",
                    basis=Basis.SOURCE,
                ),
                Documented(
                    on=ranges.HANGS_RATHER_THAN_TRUNCATES,
                    required=LOST,
                    claims=["blank-replica-elected", "leader-elected-from-isr"],
                    sentence="""The broker is elected with its empty log, because it is in the ISR. The follower starts
                        to exit rather than truncate committed records, and hangs half way (KAFKA-3924, KAFKA-4039). It
                        returns only when it is killed, and without its log.""",
                    source="KAFKA-3924, KAFKA-4039",
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=ranges.ENDS_RATHER_THAN_TRUNCATES,
                    required=LOST,
                    claims=["blank-replica-elected", "leader-elected-from-isr"],
                    sentence="""The broker is elected with its empty log, because it is in the ISR. The follower exits
                        rather than truncate committed records, and returns only without its log.""",
                    source="KAFKA-7414; ReplicaFetcherThread.handleOffsetOutOfRange (0.8.2.2 to 2.0.0, not 2.0.1)",
                    basis=Basis.JIRA,
                ),
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    required=LOST,
                    allowed=frozenset({"replica-divergence"}),
                    claims=["blank-replica-elected", "leader-elected-from-isr"],
                    sentence="""The broker is elected with its empty log, because it is in the ISR. The follower
                        truncates to the end of the new leader's log, and may keep records where the leader has
                        different ones.""",
                    source="KIP-101: scenario 2; KIP-966: motivation",
                    basis=Basis.KIP,
                ),
                Documented(
                    required=LOST,
                    claims=["blank-replica-elected", "leader-elected-from-isr"],
                    sentence="""The broker is elected with its empty log, because it is in the ISR, and the follower
                        removes every record that both had acknowledged.""",
                    source="KIP-966: motivation",
                    basis=Basis.KIP,
                ),
            ],
        ),
    },
)
