"""A record that the leader alone acknowledged is lost when it dies (Kafka documentation, producer configuration: acks).

The leader takes a record while its followers get nothing from it, and dies before they do. They are still in sync, so
one of them is elected, cleanly. With acks=1 the leader had acknowledged the record alone; with acks=all it had not.
"""

from harness.words import LOST, Basis, Case, ClusterPlan, Documented, Run, scenario

CLEAN = ["leader-elected-from-isr", "leader-replaced-in-time"]


@scenario(
    name="leader-crash",
    claim="A record that the leader acknowledged before its followers had it is lost when the leader dies.",
    source="Kafka documentation, producer configuration: acks",
    operator="""With acks=1 an acknowledgement means that one machine has the record. Use acks=all wherever a lost
        record matters.""",
    cluster=ClusterPlan(settings={"unclean.leader.election.enable": "false", "replica.socket.timeout.ms": "3000"}),
    cases={
        "acks-1": Case(
            acks="1",
            documented=[
                Documented(
                    required=LOST,
                    claims=CLEAN,
                    source="Kafka documentation, producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "acks-all": Case(
            documented=[
                Documented(
                    sentence="It was never acknowledged.",
                    claims=CLEAN,
                    source="Kafka documentation, producer configuration: acks",
                    basis=Basis.DOCUMENTATION,
                )
            ]
        ),
    },
)
def leader_crash(run: Run) -> None:
    t = run.partition()
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.cut([leader], followers)
    sent = run.send_async(t, acks=run.case.acks, expected_loss=True)
    run.wait_log_end(t, 4, [leader])
    if run.case.acks == "1":
        sent.wait(timeout_s=10)
    run.kill(leader)
    run.claim("acknowledged by the leader alone only with acks=1", sent.acknowledged == (run.case.acks == "1"))
    run.heal_network()
    run.wait_leader(t, *followers)
    run.send(t)
