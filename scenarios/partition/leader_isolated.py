"""The leader is alone on its side (Kafka documentation, Design: replication; producer configuration: acks).

It is cut from all other nodes, and clients reach both sides. Its session ends, and one of its followers is elected,
cleanly, for the ISR is still all of them. The old leader knows nothing of that and cannot change the ISR: what it is
asked to acknowledge with acks=all it does not, and what it acknowledges with acks=1 nobody else ever has.

A leader that writes its ISR to ZooKeeper itself (before protocol 2.7) waits for ZooKeeper when it would shrink the ISR,
and appends and answers nothing meanwhile: seen on 0.10.2.2, where acks=1 too stops after replica.lag.time.max.ms. There
the case with acks=1 is not run: clients are told of the old leader for so long that nothing is sent to the next one.
"""

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.partition import ELECTED, SETTINGS, clients, loyal_client, other_nodes, send_beside

CLAIMS = [*ELECTED, "leader-replaced-in-time", "isr-whole-after-heal"]


@scenario(
    name="leader-isolated",
    claim="""A leader that is cut from all other nodes is replaced when its session has ended. Records that it
        acknowledged with acks=1 are lost when it is back. With acks=all it acknowledged nothing.""",
    source="Kafka documentation, Design: replication; producer configuration: acks",
    operator="""acks=1 is a promise of one broker, which may be cut off without knowing it. With acks=all a partition of
        the network costs a session of waiting and no record; shorten the session, not the promise.""",
    cluster=ClusterPlan(settings=SETTINGS),
    cases={
        "acks-1": Case(
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
            documented=[
                Documented(
                    on=ranges.FETCHES_HOLD_UP,
                    sentence="""The isolated leader acknowledges nothing, and nothing acknowledged is lost; clients find
                        the next leader late, for its own last fetch holds it up.""",
                    claims=[*CLAIMS, "isolated-leader-acknowledges-no-acks-all"],
                    source="KAFKA-6051",
                    basis=Basis.JIRA,
                ),
                Documented(
                    sentence="The isolated leader acknowledges nothing, and nothing acknowledged is lost.",
                    claims=[*CLAIMS, "isolated-leader-acknowledges-no-acks-all", "writes-resume-in-time"],
                    source="Kafka documentation, producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                ),
            ]
        ),
    },
)
def leader_isolated(run: Run) -> None:
    t, acks = run.partition(), run.case.acks
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    loyal = loyal_client(run, t, leader)
    with clients(run, t, expected_loss=acks == "1"):
        run.cut([leader], other_nodes(run, leader))
        sent = loyal.send_async(*t, expected_loss=True)
        if acks == "1":
            sent.wait(timeout_s=10)
        successor = run.wait_leader(t, *followers)
        send_beside(run, t, successor)
        run.claim("the isolated leader acknowledges with acks=1 only", sent.acknowledged == (acks == "1"))
        run.copy_replicas("apart")

        run.heal_network()
        run.wait_registered([leader])
        run.wait_isr(t, run.replicas_of(t))
    run.send(t)
