"""The leader and one follower are on one side, three followers on the other (Kafka documentation, Design: replication).

min.insync.replicas is two, and the leader has two replicas on its side. Still it acknowledges nothing with acks=all:
the ISR is five, and only a broker that reaches ZooKeeper or the controller can shrink it. Its follower continues to
fetch, so records acknowledged with acks=1 are on two disks. Both truncate them when the network is healed.

Before 1.1 a follower of the old leader may be held up by its last fetch, and directs clients to that leader until then.
On 0.10.2.2 the next leader was elected after 5 s and acknowledged after 30 s, in the five runs that were looked at.

The follower on the leader's side is the last of the replicas. In `acks-all-next` it is the next in line. It is elected
although it is cut off too, for as long as its session lasts. Before 0.11 the others then truncate to their high
watermarks, and the last records acknowledged with acks=all may be lost (KIP-101).
"""

from functools import partial

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.partition import ELECTED, SETTINGS, clients, loyal_client, send_beside

CLAIMS = [*ELECTED, "leader-replaced-in-time", "isr-whole-after-heal"]


def split(run: Run, *, companion_is_next: bool) -> None:
    """The leader and a follower are cut off: the first in line to lead after it, or the last."""
    t, acks = run.partition(), run.case.acks
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    companion = followers[0 if companion_is_next else -1]
    majority = [one for one in followers if one.id != companion.id]
    loyal = loyal_client(run, t, leader)
    with clients(run, t, expected_loss=acks == "1" or companion_is_next):
        run.cut([leader, companion], [*majority, run.coordinator()])
        sent = loyal.send_async(*t, expected_loss=True)
        if acks == "1":
            offset = sent.wait(timeout_s=10).offset or 0
            run.wait_files(
                "both replicas of the small side hold the records acknowledged with acks=1",
                lambda: run.log_end_and_high_watermark(companion, t)[0] > offset,
                lambda: f"its log ends at {run.log_end_and_high_watermark(companion, t)[0]}, wanted beyond {offset}",
                10.0,
            )
        successor = run.wait_leader(t, *majority)
        send_beside(run, t, successor)
        run.claim("the small side acknowledges with acks=1 only", sent.acknowledged == (acks == "1"))
        run.copy_replicas("apart")

        run.heal_network()
        run.wait_registered([leader, companion])
        run.wait_isr(t, run.replicas_of(t))
    run.send(t)


LAST = partial(split, companion_is_next=False)

scenario(
    name="leader-with-minority",
    claim="""A leader that keeps one of four followers is replaced by one of the others. Records that it acknowledged
        with acks=1 are lost although two replicas had them. With acks=all it acknowledged nothing, although
        min.insync.replicas is two.""",
    source="Kafka documentation, Design: replication; topic configuration: min.insync.replicas",
    operator="""Two copies on the minority side do not help: only the side with ZooKeeper or the controllers can change
        the ISR. min.insync.replicas does not let a minority acknowledge. Use acks=all.""",
    cluster=ClusterPlan(brokers=(1, 2, 3, 4, 5), controller=5, settings=SETTINGS),
    topic=TopicPlan(replicas=((1, 2, 3, 4, 5),), settings={"min.insync.replicas": "2"}),
    cases={
        "acks-1": Case(
            steps=LAST,
            acks="1",
            applies=ranges.FETCHES_END,
            documented=[
                Documented(
                    required=LOST,
                    claims=CLAIMS,
                    source="Kafka documentation, producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "acks-all": Case(
            steps=LAST,
            documented=[
                Documented(
                    on=ranges.FETCHES_HOLD_UP,
                    sentence="""The leader on the small side acknowledges nothing, and no acknowledged record is lost.
                        Clients find the next leader late, because last fetches to the old one hold it up.""",
                    claims=[*CLAIMS, "isolated-leader-acknowledges-no-acks-all"],
                    source="KAFKA-6051",
                    basis=Basis.JIRA,
                ),
                Documented(
                    sentence="The leader on the small side acknowledges nothing, and no acknowledged record is lost.",
                    claims=[*CLAIMS, "isolated-leader-acknowledges-no-acks-all", "writes-resume-in-time"],
                    source="Kafka documentation, topic configuration: min.insync.replicas; "
                    "producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
        "acks-all-next": Case(
            steps=partial(split, companion_is_next=True),
            applies=ranges.HIGH_WATERMARK_TRUNCATION,
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    allowed=LOST | {"replica-divergence", "inconsistent-offsets"},
                    sentence="""The follower on the small side may be elected for as long as its session lasts. The
                        others then truncate to their high watermarks, and the last records acknowledged before the cut
                        are lost.""",
                    claims=[*ELECTED, "isr-whole-after-heal"],
                    source="KIP-101: scenario 1",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
