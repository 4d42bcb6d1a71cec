"""Records that the leader acknowledged as the whole ISR are lost with it (Kafka documentation: unclean leader
election).

The leader is cut off from its followers, not from ZooKeeper or the controller, and removes them from the ISR. With
min.insync.replicas=1 acks=all then means the leader alone. If it dies, an unclean election makes a follower leader that
has none of these records. Without unclean elections the partition waits for its leader. With min.insync.replicas=2 the
leader has acknowledged nothing.
"""

from functools import partial

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, Target, TopicPlan, ranges, scenario
from scenarios.replication import wait_shrunk

UNCLEAN = {"unclean.leader.election.enable": "true"}
ANSWER_LIMIT_S = 20.0
TRUNCATED = frozenset({"log-truncated-below-high-watermark"})
DIVERGES = frozenset({"replica-divergence"})
IF_CHECKPOINTED = """If it had checkpointed a high watermark at the end of its log (each five seconds), it truncates
    where the new leader's log ends, and keeps the records before that beside different ones. Else it truncates
    further."""


def elected_uncleanly(run: Run, *, acknowledged: bool) -> None:
    """A follower leads that has none of the records that the leader wrote alone, acknowledged or not."""
    t, leader = run.partition(), go_on_alone(run, acknowledged=acknowledged)
    others = [one for one in run.replicas_of(t) if one.id != leader.id]
    run.kill(leader)
    run.heal_network()
    run.wait_leader(t, *others)
    run.send(t, acks="1")
    come_back(run, leader)


def waits_for_its_leader(run: Run) -> None:
    """Nobody leads until the leader is back."""
    t, leader = run.partition(), go_on_alone(run, acknowledged=True)
    run.kill(leader)
    run.heal_network()
    run.wait_no_leader(t, leader)
    come_back(run, leader)


def go_on_alone(run: Run, *, acknowledged: bool) -> Target:
    """The leader is cut off from its followers and is the whole ISR. min.insync.replicas decides whether it
    acknowledges records. Returns the leader.
    """
    t = run.partition()
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.cut([leader], followers)
    run.producer().send_async(*t, expected_loss=True)  # for as long as it waits, its producer's next records wait too
    wait_shrunk(run, t, [leader])
    alone = [run.send_async(t, expected_loss=True).wait(ANSWER_LIMIT_S) for _ in range(3)]
    run.claim(
        "the leader continues alone where min.insync.replicas allows it",
        all((one.outcome == "ok") == acknowledged for one in alone),
        answers=[one.error_name or one.outcome for one in alone],
    )
    run.copy_replicas("alone")
    return leader


def come_back(run: Run, leader: Target) -> None:
    """The old leader is started again."""
    t = run.partition()
    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="shrink-to-leader",
    claim="""A leader that is cut off from its followers shrinks the ISR to itself and still acknowledges acks=all.
        Those records are lost when it dies and an unclean election follows.""",
    source="Kafka documentation, broker configuration: unclean.leader.election.enable, min.insync.replicas; KAFKA-1555",
    operator="""acks=all alone does not mean several copies: when the ISR has shrunk to the leader, one copy is enough
        for it. Set min.insync.replicas=2 and keep unclean elections off; either of them prevents this loss.""",
    needs=["acks-1"],
    cluster=ClusterPlan(
        settings={
            "replica.lag.time.max.ms": "3000",
            "replica.socket.timeout.ms": "3000",
            "unclean.leader.election.enable": "false",
        }
    ),
    topic=TopicPlan(settings={"min.insync.replicas": "1"}),
    cases={
        "unclean": Case(
            steps=partial(elected_uncleanly, acknowledged=True),
            applies=ranges.UNCLEAN_ON_REQUEST,
            settings=UNCLEAN,
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    required=LOST | TRUNCATED,
                    allowed=DIVERGES,
                    sentence=f"""The records that the leader acknowledged alone are lost when a follower leads. It
                        returns and truncates below them. {IF_CHECKPOINTED}""",
                    source="Kafka documentation, Design: unclean leader election; KIP-101; broker configuration: "
                    "replica.high.watermark.checkpoint.interval.ms",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    required=LOST,
                    source="Kafka documentation, Design: unclean leader election",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
        "clean": Case(
            steps=waits_for_its_leader,
            documented=[
                Documented(
                    on=ranges.LAST_KNOWN_LEADER,
                    sentence="""The partition waits for its last known leader, which is elected when it is back although
                        it stopped uncleanly. Its records are kept.""",
                    source="KIP-966: last known leader",
                    basis=Basis.KIP,
                ),
                Documented(
                    sentence="Without unclean elections the partition waits for its leader, and nothing is lost.",
                    claims=["leader-elected-from-isr"],
                    source="Kafka documentation, Design: unclean leader election",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
        "two-in-sync": Case(
            steps=partial(elected_uncleanly, acknowledged=False),
            applies=ranges.UNCLEAN_ON_REQUEST,
            settings=UNCLEAN,
            topic={"min.insync.replicas": "2"},
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    sentence=f"""With min.insync.replicas=2 the leader acknowledges nothing alone, and nothing is lost.
                        A record that it refused after it had written it may stay in its log. {IF_CHECKPOINTED}""",
                    allowed=TRUNCATED | DIVERGES,
                    claims=["acks-all-refused-below-min-isr"],
                    source="Kafka documentation, topic configuration: min.insync.replicas; KIP-101",
                    basis=Basis.DOCUMENTATION,
                ),
                Documented(
                    sentence="With min.insync.replicas=2 the leader acknowledges nothing alone, and nothing is lost.",
                    claims=["acks-all-refused-below-min-isr"],
                    source="Kafka documentation, topic configuration: min.insync.replicas",
                    basis=Basis.DOCUMENTATION,
                ),
            ],
        ),
    },
)
