"""A record comes under both high watermarks with the follower's second fetch (KIP-101; Kafka documentation, Design).

Two replicas and one record at a time. The leader appends it; the follower's fetch brings it there, with the high
watermark of before; the next fetch tells the leader that the follower has it, and the leader's high watermark is the
smallest log end of the ISR; the answer to that fetch tells the follower. Each step is a line that the brokers log at
TRACE. Fetches that find nothing wait longer than usual, so that the steps lie apart: a record is sent when the
follower's high watermark has been seen on its disk, which is while a fetch waits.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, TopicPlan, scenario
from scenarios.replication import OFFSETS_TRACED

RECORDS = 4


@scenario(
    name="high-watermark-steps",
    claim="""A record that the leader has appended comes under its high watermark when the follower's next fetch shows
        that it has it too, and under the follower's with the answer to that fetch.""",
    source="KIP-101, Motivation; Kafka documentation, Design: replication",
    operator="""A follower knows one fetch later than its leader what is committed: a record acknowledged with acks=all
        may be above a follower's high watermark, and before 0.11 followers truncated to that.""",
    cluster=ClusterPlan(settings={"replica.fetch.wait.max.ms": "1500"}, trace=OFFSETS_TRACED),
    topic=TopicPlan(replicas=((1, 2),)),
    documented=[
        Documented(
            claims=[
                "high-watermark-follows-in-steps",
                "high-watermark-within-log",
                "leader-high-watermark-never-falls",
                "follower-high-watermark-behind-leaders",
            ],
            source="KIP-101: motivation",
            basis=Basis.KIP,
        )
    ],
)
def high_watermark_steps(run: Run) -> None:
    t = run.partition()
    for number in range(1, RECORDS + 1):
        run.send(t)
        run.wait_high_watermark(t, number, run.replicas_of(t))
    run.copy_replicas("in-step")
