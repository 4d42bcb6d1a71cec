"""The restarted follower asks where its epoch ended and truncates nothing (KIP-101's answer to follower-reboot).

The same two replicas and the same reboot, on brokers with leader epochs. The leader lives while the follower returns,
so the follower can ask it. The leader answers with its log end offset, which covers the follower's record, and the
follower keeps it. The broker's own log shows the answer, and the record survives the leader's death that follows.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.truncation import EPOCHS_TRACED
from scenarios.truncation.follower_reboot import PARKED_FETCHES, kill_follower_above_its_high_watermark


@scenario(
    name="follower-reboot-epoch",
    claim="""With leader epochs a restarted follower asks the leader where its epoch ended, gets the leader's log end
        offset, and truncates nothing. The record survives the leader's death.""",
    source="KIP-101",
    operator="""From protocol 0.11 on a follower may restart at any time: it asks the leader before it truncates.
        This takes inter.broker.protocol.version 0.11 and, up to 2.8, log.message.format.version 0.11: records of an
        older format have no leader epoch, and the follower truncates to its high watermark.""",
    cluster=ClusterPlan(
        brokers=(1, 2, 3),
        controller=3,
        settings=PARKED_FETCHES,
        trace=("kafka.server.ReplicaFetcherThread", *EPOCHS_TRACED),
    ),
    topic=TopicPlan(replicas=((1, 2),)),
    documented=[
        Documented(
            on=ranges.LEADER_EPOCHS,
            claims=[
                "restarted-replica-keeps-its-log",
                "leader-elected-from-isr",
                "leader-epoch-rises-by-one",
                "own-epoch-ends-at-log-end",
            ],
            source="KIP-101",
            basis=Basis.KIP,
        )
    ],
    applies=ranges.LEADER_EPOCHS,
)
def follower_reboot_epoch(run: Run) -> None:
    t = run.partition()
    leader, follower = kill_follower_above_its_high_watermark(run, t)

    run.start(follower)
    run.wait_end_of_epoch(follower, t, 2)
    run.wait_isr(t, run.replicas_of(t))
    run.copy_replicas("rebooted")

    run.kill(leader)
    run.wait_leader(t, follower)
    run.send(t)
    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))
