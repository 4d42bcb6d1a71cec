"""Records are written and the acknowledgements never arrive (KIP-98; Kafka documentation, retries).

What the leader answers is held back while it takes what it is sent: each subject sends a record, which is written. Then
the connections are reset, and the answers are gone. A producer that tries again writes the record a second time, unless
it is idempotent; one that does not reports an error for a record that is there.
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
)


def stated(producer: Producer, topic: Topic) -> Outcome:
    if producer.acks == "0":
        return Outcome(
            may=frozenset({"loses"}),
            why="""No answer is waited for, and the record is written. What is sent before the client notices the reset
                is gone.""",
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
        why="It is sent once: the producer reports an error, and the record is there.",
        source=RETRIES_DOC,
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-lost-acknowledgement",
    claim="""A record whose acknowledgement is lost is written again by every producer that tries again and is not
        idempotent; without retries it is reported as failed, and is there.""",
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
    t = run.partition()
    subjects = Subjects(run, plan(run, stated, among=one_topic))

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    subjects.begin(taken)
    run.send(t, 3)
    leader = run.leader_of(t)
    run.hold_answers(leader)
    subjects.send(1)
    subjects.wait_log_end(FIRST + 1, leader, taken)
    run.require(
        "nobody who waits for an answer has one",
        all(one.tally.ok == FIRST for one in subjects.of(lambda one: taken(one) and not unanswered(one))),
    )
    run.reset_clients(leader)
    run.heal_network()
    subjects.settle()
    subjects.send(2, expected_loss=unanswered)
    subjects.settle()
