"""Records are written and the acknowledgements never arrive (KIP-98; Kafka documentation, retries).

The leader's answers are held back, and requests still reach it. Each subject sends a record, which is written. Then the
connections are reset, and the answers are lost. A producer with retries writes the record a second time, unless it is
idempotent. A producer without retries reports an error for a record that is in the log.
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
    AUDITED,
    CLUSTER,
    IDEMPOTENCE_DOC,
    OPERATOR,
    RETRIES_DOC,
    accepted,
    one_topic,
    plan,
    retries,
    unanswered,
    withhold_an_answer,
)


def stated(producer: Producer, topic: Topic) -> Outcome:
    if producer.acks == "0":
        return Outcome(
            why="No answer is waited for, and the record is written. The next ones are sent after the reset.",
            source=RETRIES_DOC,
            basis=Basis.DOCUMENTATION,
        )
    if producer.idempotence:
        return Outcome(
            why="The leader knows the batch by its sequence number.",
            source=IDEMPOTENCE_DOC,
            basis=Basis.KIP,
        )
    if retries(producer):
        return Outcome(
            must=frozenset({"duplicates"}),
            why="The record is written, the answer is lost, and the record is sent again.",
            source=f"{RETRIES_DOC}; {IDEMPOTENCE_DOC}",
            basis=Basis.DOCUMENTATION,
        )
    return Outcome(
        why="It is sent once: the producer reports an error, and the record is in the log.",
        source=RETRIES_DOC,
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-lost-acknowledgement",
    claim="""Every producer with retries and without idempotence writes a record again whose acknowledgement is lost.
        Without retries the record is reported as failed and is in the log.""",
    source=f"{RETRIES_DOC}; KIP-98",
    operator=OPERATOR,
    cluster=ClusterPlan(settings=CLUSTER),
    documented=[
        Documented(
            source=RETRIES_DOC,
            basis=Basis.DOCUMENTATION,
        )
    ],
    applies=AUDITED,
)
def lost_acknowledgement(run: Run) -> None:
    subjects = Subjects(run, plan(run, stated, among=one_topic))

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    leader = withhold_an_answer(run, subjects, taken)
    run.require(
        "nobody who waits for an answer has one",
        all(one.tally.ok == FIRST for one in subjects.of(lambda one: taken(one) and not unanswered(one))),
    )
    run.reset_clients(leader)
    run.heal_network()
    subjects.settle()
    subjects.send(2)
    subjects.settle()
