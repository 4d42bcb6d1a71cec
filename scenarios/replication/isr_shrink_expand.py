"""A follower that stands still leaves the ISR in time, and comes back when it has caught up (Kafka documentation,
Replication; KIP-16).

The follower is frozen for longer than replica.lag.time.max.ms and for less than its session: only the leader notices. A
record sent during that time keeps it from being caught up. The leader acknowledges this record with acks=all when it
has removed the follower from the ISR. After the freeze the follower fetches the missing records and returns to the ISR.
When leaders began to ask the controller for ISR changes, they did not check the high watermark after the answer. There
the record waits for the next one, or until its request times out (KAFKA-13091).

Up to protocol 2.6 the leader writes the ISR to ZooKeeper itself and, from 0.9 on, announces that in
/isr_change_notification, which the controller reads and deletes; from 2.7 on it asks the controller (KIP-497).

Leaders look at their followers each replica.lag.time.max.ms before 0.10.2, and twice in that time from then on. In
`twenty-seconds` the time is long enough to distinguish the two: the follower leaves within 20 to 40 s, or within 20 to
30 s. In `by-default` the setting is the release's own: 10 s up to 2.4, and 30 s from then on (KIP-537).

In `for-a-minute` the ISR changes more often than every 5 s. Records come in bursts over a slow link, and the follower
is behind with each burst for longer than replica.lag.time.max.ms. The leader would announce changes after 5 s without
another one. It announces them after 60 s all the same.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.replication import wait_shrunk

ANSWER_LIMIT_S = 10.0

CLAIMS = ["isr-shrinks-in-lag-time", "isr-expands-when-caught-up", "acks-all-waits-for-isr"]
PATIENT = {"request.timeout.ms": "90000", "message.timeout.ms": "120000"}
"""A producer waits for its answer as long as the follower is in the ISR."""
ANNOUNCED_LIMIT_S = 100.0
BURSTS = {"linger.ms": "2000"}
BURST_RECORDS_PER_S = 400
BURST_RECORD_BYTES = 900
LINK_BYTES_PER_S = 450_000
"""A burst takes 1.6 of the 2 s between bursts, which is more than twice the lag time."""
SHORT_LAG = ClusterPlan(session_timeout_ms=20_000, settings={"replica.lag.time.max.ms": "700"})
OUTCOMES = [
    Documented(
        on=ranges.ISR_CHANGES_ANNOUNCED,
        claims=[*CLAIMS, "shrunk-isr-releases-acks-all", "isr-change-announced", "isr-notification-content"],
        source="KAFKA-1367; KIP-16",
        basis=Basis.JIRA,
    ),
    Documented(
        on=ranges.ISR_SHRINK_HOLDS_BACK,
        sentence="""A follower that stands still leaves the ISR in time, but an acks=all record that waits for it is not
            acknowledged before the next record is written.""",
        claims=[*CLAIMS, "shrunk-isr-holds-back"],
        source="KAFKA-13091",
        basis=Basis.JIRA,
    ),
    Documented(
        claims=[*CLAIMS, "shrunk-isr-releases-acks-all"],
        source="Kafka documentation, broker configuration: replica.lag.time.max.ms; KIP-16",
        basis=Basis.DOCUMENTATION,
    ),
]


def cluster(session_ms: int, lag_ms: int | None = None) -> ClusterPlan:
    """A cluster whose sessions outlast the freeze, with this replica.lag.time.max.ms or the release's own."""
    lag = {} if lag_ms is None else {"replica.lag.time.max.ms": str(lag_ms)}
    return ClusterPlan(session_timeout_ms=session_ms, settings={"min.insync.replicas": "1"} | lag)


def change_for_a_minute(run: Run) -> None:
    """The follower leaves and joins with each burst, after an announcement from which a minute counts."""
    t = run.partition()
    leader, (follower, other) = run.leader_of(t), run.followers_of(t)
    rate, size = BURST_RECORDS_PER_S, BURST_RECORD_BYTES
    with run.load(t, rate_per_s=rate, record_bytes=size, acks=run.case.acks, settings=BURSTS) as load:
        load.wait_acked(rate, timeout_s=ANNOUNCED_LIMIT_S)
        run.slow([leader], [follower], LINK_BYTES_PER_S)
        run.wait_isr(t, [leader, other])
        run.heal_network()
        run.wait_isr(t, run.replicas_of(t))
        run.wait_isr_announced(1)

        run.slow([leader], [follower], LINK_BYTES_PER_S)
        run.wait_isr_announced(2, ANNOUNCED_LIMIT_S)
    run.heal_network()
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


@scenario(
    name="isr-shrink-expand",
    claim="""A follower that stands still leaves the ISR once it has not been caught up for replica.lag.time.max.ms.
        acks=all continues without it, and it returns when it has caught up.""",
    source="Kafka documentation, Design: replication; KIP-16, KIP-497, KAFKA-13091",
    operator="""acks=all waits for a follower that stands still for replica.lag.time.max.ms, and up to half of it more.
        Alert on under-replicated partitions that last longer than that; a follower that comes back needs no help.""",
    cluster=cluster(20_000, 3_000),
    cases={
        "default": Case(documented=OUTCOMES),
        "twenty-seconds": Case(cluster=cluster(60_000, 20_000), client_settings=PATIENT, documented=OUTCOMES),
        "by-default": Case(cluster=cluster(60_000), client_settings=PATIENT, documented=OUTCOMES),
        "for-a-minute": Case(
            steps=change_for_a_minute,
            cluster=SHORT_LAG,
            applies=ranges.ISR_CHANGES_ANNOUNCED,
            acks="1",
            documented=[
                Documented(
                    claims=["isr-change-announced", "isr-notification-content", "isr-changes-announced-each-minute"],
                    sentence="""A leader whose ISRs change more often than every 5 s announces the changes 60 s after
                        its last announcement.""",
                    source="ReplicaManager: isr-change-propagation (0.9.0.1 to 2.6.2)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
    },
)
def isr_shrink_expand(run: Run) -> None:
    t = run.partition()
    run.send(t, 2)
    run.send_async(t).wait(ANSWER_LIMIT_S)  # a producer that starts now may ask the frozen broker, and wait for it

    frozen, other = run.followers_of(t)
    run.freeze(frozen)
    waiting = run.send_async(t)
    wait_shrunk(run, t, [run.leader_of(t), other])
    if not ranges.ISR_SHRINK_HOLDS_BACK.holds(run.version):
        waiting.wait(ANSWER_LIMIT_S)
    run.copy_replicas("shrunk")
    run.send(t, 2)
    waiting.wait(ANSWER_LIMIT_S)
    if ranges.ISR_CHANGES_ANNOUNCED.holds(run.version):
        run.wait_isr_announced(1)

    run.thaw()
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)
    if ranges.ISR_CHANGES_ANNOUNCED.holds(run.version):
        run.wait_isr_announced(2)
