"""The producers are killed with records that nobody acknowledged (Kafka documentation, producer configuration: acks).

The leader's answers are held back. Each subject sends a record, which is written, and then four more at once. With
several requests in flight, or with acks=0, these are sent too, and the process is killed when they are in the log. With
one in flight they wait in the client's memory for the first answer, and die with the process. The written record is in
the log, although the producer never received the acknowledgement. Nothing that was acknowledged is lost.
"""

from harness.words import (
    FIRST,
    Basis,
    ClusterPlan,
    Documented,
    Outcome,
    Producer,
    Run,
    Subject,
    Subjects,
    Topic,
    scenario,
)
from scenarios.audit import (
    ACKS_DOC,
    AUDITED,
    CLUSTER,
    OPERATOR,
    accepted,
    one_topic,
    plan,
    unanswered,
    withhold_an_answer,
)

MORE = 4


def stated(producer: Producer, topic: Topic) -> Outcome:
    if producer.acks == "0":
        return Outcome(
            why="With acks=0 a record dies with its client, unless it is sent before: these are in the log by then.",
            source=ACKS_DOC,
            basis=Basis.DOCUMENTATION,
        )
    return Outcome(
        why="Every acknowledged record is in the log. The producer reported nothing about the others.",
        source=ACKS_DOC,
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-client-crash",
    claim="""A killed producer loses no acknowledged record. The log has those of its unacknowledged records that were
        written; the others are lost.""",
    source=ACKS_DOC,
    operator=OPERATOR,
    cluster=ClusterPlan(settings=CLUSTER),
    documented=[
        Documented(
            source=ACKS_DOC,
            basis=Basis.DOCUMENTATION,
        )
    ],
    applies=AUDITED,
)
def client_crash(run: Run) -> None:
    t = run.partition()
    subjects = Subjects(run, plan(run, stated, among=one_topic))

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    leader = withhold_an_answer(run, subjects, taken)
    subjects.send(MORE)
    subjects.wait_log_end(
        FIRST + 1 + MORE, leader, lambda one: taken(one) and (one.producer.in_flight > 1 or unanswered(one))
    )
    subjects.kill_clients()
    run.heal_network()
    run.send(t)
