"""The leader is alone on its side (Kafka documentation, Design: replication; producer configuration: acks).

It is cut from all other nodes, and clients reach both sides. Its session ends, and one of its followers is elected,
cleanly, because all of them are still in the ISR. The old leader does not know that and cannot change the ISR. It
acknowledges nothing with acks=all. No other replica ever gets the records that it acknowledges with acks=1.

A leader that writes its ISR to ZooKeeper itself (before protocol 2.7) waits for ZooKeeper when it shrinks the ISR, and
appends and answers nothing until then. This was seen on 0.10.2.2, where writes with acks=1 also stop after
replica.lag.time.max.ms. The case with acks=1 is not run there: clients keep the old leader's address too long to send
anything to the next one.
"""

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, ranges, scenario
from scenarios.partition import ELECTED, SETTINGS, clients, loyal_client, send_beside

CLAIMS = [*ELECTED, "leader-replaced-in-time", "isr-whole-after-heal"]


@scenario(
    name="leader-isolated",
    claim="""A leader that is cut off from all other nodes is replaced when its session expires. Records that it
        acknowledged with acks=1 are lost when it is back. With acks=all it acknowledged nothing.""",
    source="Kafka documentation, Design: replication; producer configuration: acks",
    operator="""With acks=1 one broker decides, and it may be cut off without knowing. Use acks=all: in a network
        partition writes then pause for a session, and no record is lost. If that pause is too long, shorten the session
        timeout.""",
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
                    sentence="""The isolated leader acknowledges nothing, and no acknowledged record is lost. Clients
                        find the next leader late, because its own last fetch holds it up.""",
                    claims=[*CLAIMS, "isolated-leader-acknowledges-no-acks-all"],
                    source="KAFKA-6051",
                    basis=Basis.JIRA,
                ),
                Documented(
                    sentence="The isolated leader acknowledges nothing, and no acknowledged record is lost.",
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
        run.isolate(leader)
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
