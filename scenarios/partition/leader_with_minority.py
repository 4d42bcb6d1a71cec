"""The leader and one follower are on one side, three followers on the other (Kafka documentation, Design: replication).

Two replicas are as many as min.insync.replicas asks for, and the leader still acknowledges nothing with acks=all: the
ISR is five, and only who reaches ZooKeeper or the controller can make it smaller. Its follower goes on fetching, so
what is acknowledged with acks=1 is on two disks; it is cut off from both when the partition is healed.

Before 1.1 a follower of the old leader may be held up by its last fetch, and tells clients of that leader meanwhile:
on 0.10.2.2 the next one is elected after 5 s and acknowledges after 30 s (5 of 5 runs).

The follower on the leader's side is the last of the replicas. Were it the next, it would be elected though it is
cut too, for as long as its session lasts; before 0.11 the others then cut their logs back to their high watermarks, and
what was acknowledged last may be lost with acks=all (KIP-101): `acks-all-next`.
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
                "both of the small side hold what was acknowledged with acks=1",
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
    claim="""A leader that is left with one of four followers is replaced by one of the others. Records that it
        acknowledged with acks=1 are lost though two replicas had them. With acks=all it acknowledged nothing, though
        min.insync.replicas is two.""",
    source="Kafka documentation, Design: replication; topic configuration: min.insync.replicas",
    operator="""Copies are no majority: what counts is the ISR, and on which side of the partition ZooKeeper or the
        controllers are. min.insync.replicas bounds what acks=all may be worth, it does not make a minority able to
        acknowledge.""",
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
                    sentence="""The leader on the small side acknowledges nothing, and nothing acknowledged is lost. The
                        next leader is found late: last fetches to the old one hold it up.""",
                    claims=[*CLAIMS, "isolated-leader-acknowledges-no-acks-all"],
                    source="KAFKA-6051",
                    basis=Basis.JIRA,
                ),
                Documented(
                    sentence="The leader on the small side acknowledges nothing, and nothing acknowledged is lost.",
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
                        others then cut off what lies above their high watermarks, and of that what was acknowledged
                        last, before the cut, is lost.""",
                    claims=[*ELECTED, "isr-whole-after-heal"],
                    source="KIP-101: scenario 1",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
