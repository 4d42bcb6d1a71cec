"""Four brokers are split two and two, and ZooKeeper or the controller is on one side (Kafka documentation, Design:
replication).

There are two partitions, each with a replica on every broker. One is led on the side without ZooKeeper or controller:
its leader stops acknowledging with acks=all, and another is elected on the other side. The other is led on that other
side: its leader stays, and removes the replicas that it does not reach from the ISR. Neither half is a majority; the
side with ZooKeeper or the controller continues.

The session of one broker of the side without ZooKeeper may end before that of the other. The controller then elects
this other one first, which it still takes for alive. Followers that truncate to their own high watermark (a protocol of
before 0.11) do so then, below a record that the old leader knows to be committed, and once more for the next leader.
The old leader comes back with that record and keeps it: replicas differ forever, and the record is lost (KIP-101; a run
with acks=1 on 2.2.2-pinned showed it). By the same steps one of acks=all would be; no run has shown that, so it is not
allowed.

The scenario does not run before 1.1 (KAFKA-6051): last fetches to the old leader hold up the next one there, and no
record could be sent to it for over 90 s (0.10.2.2).
"""

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, TopicPlan, ranges, scenario
from scenarios.partition import ELECTED, SETTINGS, SHRUNK, clients, loyal_client, send_beside

DIFFER = frozenset({"replica-divergence", "inconsistent-offsets"})
CLAIMS = [*ELECTED, *SHRUNK, "leader-replaced-in-time"]


@scenario(
    name="split-in-halves",
    claim="""When a cluster is split in halves, the side with ZooKeeper or the controller continues. Leaders there
        remove the other side's replicas from the ISR, and leaders on the other side are replaced. Records that the
        replaced leaders acknowledged with acks=1 are lost. With acks=all they acknowledged nothing.""",
    source="Kafka documentation, Design: replication; topic configuration: min.insync.replicas",
    operator="""Spread ZooKeeper or the controllers over three places, not two, so that after every split one side
        has a majority of them and enough brokers. Two data centres and acks=1 lose records at each split.""",
    applies=ranges.FETCHES_END,
    cluster=ClusterPlan(brokers=(1, 2, 3, 4), settings=SETTINGS),
    topic=TopicPlan(replicas=((1, 2, 3, 4), (3, 4, 1, 2)), settings={"min.insync.replicas": "2"}),
    cases={
        "acks-1": Case(
            acks="1",
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    required=LOST,
                    allowed=DIFFER,
                    sentence="""If a second broker of the side without ZooKeeper is elected first, replicas may differ
                        forever.""",
                    claims=CLAIMS,
                    source="KIP-101: motivation",
                    basis=Basis.KIP,
                ),
                Documented(
                    required=LOST,
                    claims=CLAIMS,
                    source="Kafka documentation, producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
        "acks-all": Case(
            documented=[
                Documented(
                    sentence="""The side without ZooKeeper or controller acknowledges nothing, and no acknowledged
                        record is lost.""",
                    claims=[*CLAIMS, "isolated-leader-acknowledges-no-acks-all"],
                    source="Kafka documentation, topic configuration: min.insync.replicas; "
                    "producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                )
            ]
        ),
    },
)
def split_in_halves(run: Run) -> None:
    orphaned, kept, acks = run.partition(0), run.partition(1), run.case.acks
    run.send(orphaned, 3)
    leader, here, there = run.leader_of(orphaned), run.replicas_of(orphaned)[:2], run.replicas_of(orphaned)[2:]
    loyal = loyal_client(run, orphaned, leader)
    with clients(run, orphaned, expected_loss=acks == "1"):
        run.cut(here, [*there, run.coordinator()])
        sent = loyal.send_async(*orphaned, expected_loss=True)
        if acks == "1":
            sent.wait(timeout_s=10)
        successor = run.wait_leader(orphaned, *there)
        run.wait_isr(kept, there)
        send_beside(run, orphaned, successor)
        run.claim("the side that is left alone acknowledges with acks=1 only", sent.acknowledged == (acks == "1"))
        run.copy_replicas("apart")

        run.heal_network()
        run.wait_registered(here)
        for t in (orphaned, kept):
            run.wait_isr(t, run.replicas_of(t))
    run.send(orphaned)
