"""A follower that stands still leaves the ISR in time, and comes back when it has caught up (Kafka documentation,
Replication; KIP-16).

The follower is frozen for longer than replica.lag.time.max.ms, well within its session: nobody but the leader
finds it missing. A record that is sent meanwhile keeps it from being caught up, and is acknowledged under
acks=all once the leader has taken it out of the ISR. Thawed, it fetches what it missed and is back in. When leaders
began to ask the controller for their ISRs they forgot to look after the high watermark when the answer came: there the
record waits for the next one, or until its request times out (KAFKA-13091).

Up to protocol 2.6 the leader writes the ISR to ZooKeeper itself and, from 0.9 on, announces that in
/isr_change_notification, which the controller reads and deletes; from 2.7 on it asks the controller (KIP-497).
"""

from harness.words import Basis, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.replication import wait_shrunk

ANSWER_LIMIT_S = 10.0

CLAIMS = ["isr-shrinks-in-lag-time", "isr-expands-when-caught-up", "acks-all-waits-for-isr"]


@scenario(
    name="isr-shrink-expand",
    claim="""A follower that stands still leaves the ISR once it has not been caught up for replica.lag.time.max.ms,
        acks=all goes on without it, and it comes back when it has caught up.""",
    source="Kafka documentation, Design: replication; KIP-16, KIP-497, KAFKA-13091",
    operator="""replica.lag.time.max.ms is how long acks=all waits for a follower that stands still. Alert on
        under-replicated partitions that last longer than that; a follower that comes back needs no help.""",
    cluster=ClusterPlan(
        session_timeout_ms=20000,
        settings={"replica.lag.time.max.ms": "3000", "min.insync.replicas": "1"},
    ),
    documented=[
        Documented(
            on=ranges.ISR_CHANGES_ANNOUNCED,
            claims=[*CLAIMS, "shrunk-isr-releases-acks-all", "isr-change-announced", "isr-notification-content"],
            source="KAFKA-1367; KIP-16",
            basis=Basis.JIRA,
        ),
        Documented(
            on=ranges.ISR_SHRINK_HOLDS_BACK,
            sentence="""A follower that stands still leaves the ISR in time, but what waits for it with acks=all is not
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
    ],
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
