"""With too few in-sync replicas the leader refuses acks=all and accepts acks=1 (Kafka documentation:
min.insync.replicas).

Two replicas, min.insync.replicas=2. The follower stops cleanly and is out of the ISR. The leader refuses a record with
acks=all before it writes it; a record with acks=1 needs only the leader. When the follower is back, the next record
with acks=all is acknowledged, at the offset after the last one with acks=1: refused records are not in the log.
"""

from harness.words import Basis, Documented, Run, TopicPlan, scenario

ANSWER_LIMIT_S = 20.0


@scenario(
    name="min-insync-refusal",
    claim="""With fewer replicas in sync than min.insync.replicas a record with acks=all is refused and is not in the
        log, and records with acks=1 are acknowledged.""",
    source="Kafka documentation, topic configuration: min.insync.replicas; KAFKA-1555",
    operator="""min.insync.replicas protects only producers with acks=all, which then see NOT_ENOUGH_REPLICAS and have
        to retry. Leave room for one replica to be down: replication factor 3 with min.insync.replicas=2.""",
    needs=["acks-1"],
    topic=TopicPlan(replicas=((1, 2),), settings={"min.insync.replicas": "2"}),
    documented=[
        Documented(
            claims=["acks-all-refused-below-min-isr", "acks-1-goes-on-below-min-isr", "refused-record-not-in-log"],
            source="Kafka documentation, topic configuration: min.insync.replicas",
            basis=Basis.DOCUMENTATION,
        )
    ],
)
def min_insync_refusal(run: Run) -> None:
    t = run.partition()
    run.send(t, 3)

    leader, (follower,) = run.leader_of(t), run.followers_of(t)
    run.stop(follower)
    run.wait_leader_knows_isr(t, [leader])
    for _ in range(3):
        sent = run.send_async(t).wait(ANSWER_LIMIT_S)
        run.claim(
            "nothing is acknowledged with acks=all below min.insync.replicas", sent.outcome != "ok", offset=sent.offset
        )
        run.send(t, acks="1")

    run.start(follower)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)
