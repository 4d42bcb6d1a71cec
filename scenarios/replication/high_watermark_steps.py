"""With the follower's second fetch a record is below both high watermarks (KIP-101; Kafka documentation, Design).

Two replicas and one record at a time. The leader appends it. The follower fetches it, with the old high watermark. The
follower's next fetch shows the leader that the follower has it, and the leader's high watermark rises to the smallest
log end of the ISR. The answer to that fetch carries the new high watermark to the follower. Brokers log each step at
TRACE. Fetches without new records wait longer than usual, so that the steps are apart in time. A record is sent when
the follower's high watermark is on its disk, which is while a fetch waits.
"""

from harness.words import Basis, ClusterPlan, Documented, Run, TopicPlan, scenario
from scenarios.replication import OFFSETS_TRACED

RECORDS = 4


@scenario(
    name="high-watermark-steps",
    claim="""The leader's high watermark passes a record when the follower's next fetch shows that it has the record
        too. The follower's high watermark passes it with the answer to that fetch.""",
    source="KIP-101, Motivation; Kafka documentation, Design: replication",
    operator="""A follower learns one fetch later than its leader which records are committed. A record acknowledged
        with acks=all may be above a follower's high watermark, and before 0.11 followers truncated to that.""",
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
