"""A follower that restarts truncates a record it had acknowledged, and is then elected (KIP-101; KAFKA-3143).

Two replicas. The follower holds m1 but does not know the high watermark that covers it when it dies. It returns and
truncates to its checkpointed high watermark. The leader dies before the follower has fetched m1 again (here the
follower is cut off from the leader, so that this always happens). If the follower is still in the ISR it is elected,
and m1 is lost. The old leader truncates m1 too when it returns, or keeps it where the new leader has a different
record.

A dead follower stays in the ISR when it was the controller: until 2.3 a new controller updated only the partitions
whose leader had died (KAFKA-3143). From 2.3 on it leaves the ISR, and the sequence loses nothing: the partition waits
for its leader. With leader epochs it would truncate nothing in any case.
"""

from harness.words import LOST, Basis, ClusterPlan, Documented, Partition, Run, Target, TopicPlan, ranges, scenario

PARKED_FETCHES = {
    "replica.fetch.wait.max.ms": "2500",
    "replica.socket.timeout.ms": "3000",
    "replica.lag.time.max.ms": "60000",
    "min.insync.replicas": "1",
}
"""A follower learns a high watermark with its next fetch. A fetch that may wait 2.5 s leaves time to kill the follower
in between.
"""

CLEAN_ELECTIONS = ("leader-elected-from-isr", "leader-epoch-rises-by-one")
LEAVES_ISR = """A follower that holds an acknowledged record but not the high watermark that covers it dies and leaves
    the ISR. It cannot be elected when the leader dies, and the record returns with the leader."""


def kill_follower_above_its_high_watermark(run: Run, t: Partition) -> tuple[Target, Target]:
    """Send m0 and m1; the follower dies with m1 on its disk and the high watermark still before it.

    Returns leader and follower.
    """
    run.send(t, 1)
    run.wait_high_watermark(t, 1, run.replicas_of(t))

    leader, (follower,) = run.leader_of(t), run.followers_of(t)
    run.send(t, acks="all", expected_loss=True)
    run.kill(follower)
    leo, hw = run.log_end_and_high_watermark(follower, t)
    run.require("the follower holds the record above its high watermark", (leo, hw) == (2, 1), leo=leo, hw=hw)
    run.copy_replicas("armed")
    return leader, follower


def elect_the_follower(run: Run, t: Partition, leader: Target, follower: Target) -> None:
    """The dead follower is still in the ISR: it returns cut off, the leader dies, and it is elected."""
    isr = run.state_of(t).isr
    run.require("the dead follower is still in the ISR", follower.id in isr, isr=isr)
    run.move_controller_away_from(leader, follower)
    run.start_cut_off(follower, [leader])
    if run.version.truncates_to_high_watermark:
        run.wait_log_end(t, 1, [follower])
    run.kill(leader)
    run.heal_network()
    run.wait_leader(t, follower)
    run.send(t)


def leave_only_the_follower(run: Run, t: Partition, leader: Target, follower: Target) -> None:
    """The controller removes the dead follower from the ISR: it returns to a dead leader, and may not lead."""
    run.wait_isr(t, [leader])
    run.note("the controller took the dead follower out of the ISR (KAFKA-3143, KRaft's fencing): it cannot be elected")
    run.kill(leader)
    run.start(follower)
    run.wait_no_leader(t, leader)


@scenario(
    name="follower-reboot",
    claim="""A follower that holds an acknowledged record but not the high watermark that covers it restarts, truncates
        to its own high watermark, and is elected when the leader dies: the record is lost.""",
    source="KIP-101, KAFKA-1211, KAFKA-3143",
    operator="""Up to 2.2 with a protocol before 0.11, a follower that restarts may truncate acknowledged records, and
        they are lost if it is elected before it has fetched them again. Finish the upgrade of
        inter.broker.protocol.version and of log.message.format.version: records of the old format have no leader epoch,
        so replicas truncate to the high watermark for them. Until then restart one broker at a time and wait until
        every partition has its full ISR.""",
    cluster=ClusterPlan(
        brokers=(1, 2, 3),
        controller=2,
        settings=PARKED_FETCHES,
    ),
    topic=TopicPlan(replicas=((1, 2),)),
    documented=[
        Documented(
            on=ranges.REBOOTED_FOLLOWER_LOSES,
            # It leads on for a session of its follower, and until that is started: its high watermark is checkpointed.
            required=LOST | {"replica-divergence"},
            claims=[*CLEAN_ELECTIONS, "restarted-replica-truncates-to-high-watermark"],
            source="KIP-101: scenario 1; KAFKA-3143",
            basis=Basis.KIP,
        ),
        Documented(
            on=ranges.DEAD_CONTROLLER_STAYS_IN_ISR,
            claims=[*CLEAN_ELECTIONS, "restarted-replica-keeps-its-log"],
            sentence="""A follower that holds an acknowledged record but not the high watermark that covers it restarts,
                truncates nothing without asking for the end of its epoch, and is elected with the record.""",
            source="KIP-101",
            basis=Basis.KIP,
        ),
        Documented(
            on=ranges.LAST_KNOWN_LEADER,
            claims=["offline-partition-waits", "leader-epoch-rises-by-one"],
            sentence=LEAVES_ISR,
            source="KAFKA-3143; KIP-966: last known leader",
            basis=Basis.JIRA,
        ),
        Documented(
            claims=["offline-partition-waits", *CLEAN_ELECTIONS],
            sentence=LEAVES_ISR,
            source="KAFKA-3143",
            basis=Basis.JIRA,
        ),
    ],
)
def follower_reboot(run: Run) -> None:
    t = run.partition()
    leader, follower = kill_follower_above_its_high_watermark(run, t)
    run.wait_unregistered(follower)

    if ranges.DEAD_CONTROLLER_STAYS_IN_ISR.holds(run.version):
        elect_the_follower(run, t, leader, follower)
    else:
        leave_only_the_follower(run, t, leader, follower)

    run.start(leader)
    run.wait_leader(t, leader, follower)
    run.send(t)
    run.wait_isr(t, run.replicas_of(t))
