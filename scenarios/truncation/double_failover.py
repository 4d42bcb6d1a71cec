"""An acknowledged record lost by two clean elections (KIP-101, KAFKA-1211).

KIP-101's scenario 1 is `follower-reboot`: one failure. Here two failures lead to the same truncation.

Three replicas. The leader dies right after it has acknowledged a record: both followers hold it, but do not yet know
the high watermark that covers it. The first of them dies before the session of the leader ends, so it is elected when
it is already dead. The last replica, which must follow it, has truncated to its own high watermark. Then it is elected,
cleanly, from the ISR.

If a leader had checkpointed the new high watermark before it died, it keeps the record when it returns, and another
replica has a different record at the same offset (KIP-101's second scenario). So the record is sent just after a
checkpoint was written. A kill that takes longer than until the next one cannot be excluded from outside, and then the
replicas differ, on each of these versions. A leader checkpoints its own high watermark, and a broker that returns
truncates to that (ReplicaManager.checkpointHighWatermarks and makeFollowers, 0.8.2.2 to 0.10.2.2;
AbstractFetcherThread.truncateToHighWatermark, 2.2.2 to 3.8.0, for partitions without epochs).

A follower learns the new high watermark from its next fetch response, up to replica.fetch.wait.max.ms later on an idle
partition. We raise that setting to widen this window.

The second broker must die before the first one's session expires, and its own session must expire clearly later. With
ZooKeeper the second broker has a longer session, so that the sequence also works on a busy machine, where a kill takes
a second. The first broker's session expires when between two thirds and the whole of it have passed since its death
(KRaft: seven eighths). The second broker dies when between 28 and 40 % of it have passed; the seed decides when.
"""

from collections.abc import Sequence

from harness.words import LOST, Basis, ClusterPlan, Documented, Partition, Run, Target, ranges, scenario

CLUSTER = ClusterPlan(
    zookeeper_sessions_ms={2: 7000},
    settings={
        "replica.fetch.wait.max.ms": "2500",
        "replica.socket.timeout.ms": "3000",
        "replica.lag.time.max.ms": "30000",
        "min.insync.replicas": "1",
    },
)
LEADER_KEEPS_IT = """If the dead leader had written the high watermark above that record to its checkpoint, each five
    seconds, it keeps the record when it returns, and the others have a different one there."""
TWO_CLEAN_ELECTIONS = ("leader-elected-from-isr", "leader-epoch-rises-by-one", "dead-broker-leaves-in-session")


def leader_dies(run: Run, t: Partition, leader: Target, followers: Sequence[Target], *, lost: bool = True) -> None:
    """The leader dies right after it has acknowledged a record, which all followers hold above their high watermarks.
    Where followers learn the high watermark at once, and truncate by epoch, it is enough that they hold the record.
    `lost`: the sequence is expected to lose that record.
    """
    told = ranges.TELLS_HIGH_WATERMARK_AT_ONCE.holds(run.version_of(leader))
    known = told and ranges.LEADER_EPOCHS.holds(run.version)
    end = run.log_end_and_high_watermark(leader, t)[0]
    run.wait_checkpoint_written(leader)
    run.send(t, acks="all", expected_loss=lost)
    run.kill(leader)
    for follower in followers:
        leo, hw = run.log_end_and_high_watermark(follower, t)
        held = leo == end + 1 and (known or hw == end)
        above = "" if known else " above its high watermark"
        run.require(f"{follower.node.name} holds the record{above}", held, leo=leo, hw=hw)


def heir_dies(run: Run, t: Partition, leader: Target, heir: Target, last: Target) -> None:
    """The next leader dies before the session of the dead leader ends, so that it is elected dead, and the last replica
    leads.
    """
    run.wait_share_of_session(leader, run.vary(0.35, low=0.28, high=0.4))
    run.kill(heir)
    run.wait_leader(t, last)
    run.require(
        "the second leader was elected after its death, then the last replica",
        run.elected_after_death(heir, t),
        leader=run.state_of(t).leader,
    )


@scenario(
    name="double-failover",
    claim="""Two clean elections lose a record acknowledged with acks=all. The leader dies right after the
        acknowledgement, the next leader dies before it can lead, and the last in-sync replica has truncated to its own
        high watermark.""",
    source="KIP-101, KAFKA-1211",
    operator="""Before 0.11, and as long as inter.broker.protocol.version is older than 0.11, acks=all does not survive
        two failures in a row. Finish upgrades, on every broker: a new binary that still speaks the old protocol has the
        old bug. Raise log.message.format.version too: with the older format a broker that returns still truncates to
        its high watermark.""",
    cluster=CLUSTER,
    documented=[
        Documented(
            on=ranges.HIGH_WATERMARK_TRUNCATION,
            required=LOST,
            allowed=frozenset({"replica-divergence"}),
            claims=TWO_CLEAN_ELECTIONS,
            sentence=f"""The last in-sync replica has truncated to its own high watermark, and leads without a record
                that was acknowledged with acks=all. {LEADER_KEEPS_IT}
                It did so in one of 11 runs on 0.9.0.1.""",
            source="KIP-101: scenarios 1 and 2",
            basis=Basis.KIP,
        ),
        Documented(
            on=ranges.LEADER_EPOCHS,
            claims=TWO_CLEAN_ELECTIONS,
            sentence="""A record acknowledged with acks=all survives two clean elections: the last in-sync replica
                cannot ask a dead leader where its epoch ended, truncates nothing, and leads with the record.""",
            source="KIP-101",
            basis=Basis.KIP,
        ),
    ],
)
def double_failover(run: Run) -> None:
    t = run.partition()
    run.send(t, 3)
    run.wait_high_watermark(t, 3, run.replicas_of(t))

    leader, (heir, last) = run.leader_of(t), run.followers_of(t)
    leader_dies(run, t, leader, (heir, last))
    run.copy_replicas("armed")
    heir_dies(run, t, leader, heir, last)

    run.send(t)
    run.start(leader, heir)
    run.wait_isr(t, run.replicas_of(t))
