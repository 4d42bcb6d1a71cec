"""A follower joins the ISR while records are written, and the high watermark waits for it (KAFKA-4485).

The link from the leader to one of two followers is slow, though wide enough for all that is written. That follower is
frozen until it has left the ISR. Then it resumes, and fetches what it missed. That takes seconds, in which the leader's
log grows; the next fetch takes less, and so on. The follower joins with the fetch that reaches the high watermark, and
the leader's log is already longer by then.

From its second fetch on the follower is caught up with the log of the fetch before, and still below the high watermark.
Before 0.10.2 the high watermark goes by the ISR alone and runs away from the follower, which joins only if it is fast
enough. From 0.10.2 on the high watermark stands still until the follower has reached it.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.replication import OFFSETS_TRACED

RECORDS_PER_S = 100
RECORD_BYTES = 1000
LINK_BYTES_PER_S = 400_000
"""Four times what is written: each fetch takes a fourth of the time of the one before."""
LAG_TIME_MS = 6000
"""Longer than the first fetch takes, in which the follower gets what was written in some eight seconds."""
BEFORE = 200
LOAD_LIMIT_S = 60.0
LARGE_FETCHES = "4194304"
"""One fetch has all that is missing."""


@scenario(
    name="isr-join-under-load",
    claim="""A follower that comes back while records are written joins the ISR once its log end has reached the high
        watermark. From 0.10.2 on the high watermark waits for it.""",
    source="KAFKA-4485; Kafka documentation, Design: replication",
    operator="""When a follower comes back under load acks=all may pause for the time of one of its fetches: the leader
        waits for it before it is in the ISR. A slow link makes that pause long.""",
    needs=["acks-1"],
    cluster=ClusterPlan(
        session_timeout_ms=30000,
        settings={"replica.lag.time.max.ms": str(LAG_TIME_MS), "replica.fetch.max.bytes": LARGE_FETCHES},
        trace=OFFSETS_TRACED,
    ),
    topic=TopicPlan(replicas=((1, 2, 3),)),
    documented=[
        Documented(
            on=ranges.HIGH_WATERMARK_WAITS_TO_JOIN,
            claims=["follower-joins-at-high-watermark", "high-watermark-waits-for-caught-up"],
            source="KAFKA-4485",
            basis=Basis.JIRA,
        ),
        Documented(
            claims=["follower-joins-at-high-watermark", "high-watermark-leaves-caught-up-behind"],
            sentence="""A follower that comes back while records are written joins the ISR once its log end has reached
                the high watermark, which does not wait for it.""",
            source="Partition.maybeIncrementLeaderHW (0.8.2.2 to 0.10.1.1); KAFKA-4485",
            basis=Basis.SOURCE,
        ),
    ],
)
def isr_join_under_load(run: Run) -> None:
    t = run.partition()
    leader, (joining, other) = run.leader_of(t), run.followers_of(t)
    run.slow([leader], [joining], LINK_BYTES_PER_S)
    with run.load(t, rate_per_s=RECORDS_PER_S, record_bytes=RECORD_BYTES, acks="1") as load:
        load.wait_acked(BEFORE, timeout_s=LOAD_LIMIT_S)
        run.freeze(joining)
        run.wait_isr(t, [leader, other])
        run.thaw()
        run.wait_isr(t, [leader, joining, other])
    run.heal_network()
    run.send(t)
