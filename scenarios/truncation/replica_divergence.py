"""Two in-sync replicas hold different records at one offset, forever (KIP-101, scenario 2).

Leader and follower go down one after the other. The follower returns alone, is elected uncleanly, and takes new records
at offsets that the other has already used. The old leader returns with its log ending exactly at its high watermark, so
by the old rule it truncates nothing. From then on both are in sync and have different records. With leader epochs it
truncates to the point where their logs diverge. Then only the documented loss of an unclean election remains.
"""

from harness.words import LOST, Basis, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario

UNCLEAN_ELECTION = ("leader-elected-from-outside-isr", "leader-epoch-rises-by-one")


@scenario(
    name="replica-divergence",
    claim="""After an unclean election the old leader returns with its log ending at its high watermark and
        truncates nothing: two in-sync replicas permanently hold different records at one offset.""",
    source="KIP-101, KAFKA-1211",
    operator="""Unclean elections lose records on every release. Before 0.11 they may also leave replicas that
        differ permanently, without any error. Keep unclean elections off, and compare replicas with `kafka-chaos
        replicas`
        after an incident on an old protocol.""",
    cluster=ClusterPlan(
        brokers=(1, 2, 3),
        controller=3,
        settings={
            "unclean.leader.election.enable": "true",
            "replica.lag.time.max.ms": "30000",
            "replica.socket.timeout.ms": "3000",
            "replica.fetch.wait.max.ms": "500",
            "min.insync.replicas": "1",
        },
    ),
    applies=ranges.UNCLEAN_ON_REQUEST,
    topic=TopicPlan(replicas=((1, 2),), settings={"unclean.leader.election.enable": "true"}),
    documented=[
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            required=LOST | {"replica-divergence"},
            claims=[*UNCLEAN_ELECTION, "restarted-replica-keeps-its-log"],
            source="KIP-101: scenario 2",
            basis=Basis.KIP,
        ),
        Documented(
            on=ranges.LEADER_EPOCHS,
            required=LOST,
            claims=[*UNCLEAN_ELECTION, "diverged-replica-truncates"],
            sentence="""After an unclean election the old leader returns, asks where its epoch ended, and truncates the
                records that the new leader lacks. The replicas are identical, and only the records that an unclean
                election loses are lost.""",
            source="KIP-101",
            basis=Basis.KIP,
        ),
    ],
)
def replica_divergence(run: Run) -> None:
    t = run.partition()
    first, second = run.replicas_of(t)
    run.send(t, 2)
    run.wait_high_watermark(t, 2, [first, second])

    run.kill(first)
    run.wait_leader(t, second)
    run.send(t, 1, expected_loss=True)
    run.wait_high_watermark(t, 3, [second])
    run.copy_replicas("second-alone")

    run.kill(second)
    run.wait_unregistered(second)
    run.start(first)
    run.wait_leader(t, first)
    run.send(t, 1)
    run.copy_replicas("first-alone")

    run.start(second)
    run.wait_isr(t, [first, second])
    run.send(t, 1)
