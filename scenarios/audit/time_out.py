"""The leader answers later than producers wait (KIP-91; Kafka documentation, delivery.timeout.ms, request.timeout.ms).

Each subject sends a record, which is written. The answer is held back until the producers have given the record up;
their time-outs are seconds here. A producer without retries reports an error for a record that is in the log. A
producer with retries does the same when its deadline has passed. Without a deadline (before KIP-91) it retries until it
is answered, and has then written the record twice.
"""

from harness.words import (
    DELIVERY_TIME_OUT_SINCE,
    LIBRDKAFKA,
    Basis,
    ClusterPlan,
    Documented,
    Outcome,
    Producer,
    Run,
    Subject,
    Subjects,
    TimeOuts,
    Topic,
    scenario,
)
from scenarios.audit import (
    AUDITED,
    CLUSTER,
    IDEMPOTENCE_DOC,
    OPERATOR,
    accepted,
    one_topic,
    plan,
    retries,
    withhold_an_answer,
)

TIME_OUT_DOC = "KIP-91; Kafka documentation, producer configuration: delivery.timeout.ms, request.timeout.ms"
IMPATIENT = TimeOuts(request_ms=2_000, delivery_ms=4_000, scala_ms=2_000)


def stated(producer: Producer, topic: Topic) -> Outcome:
    if producer.acks == "0":
        return Outcome(
            why="No answer is waited for.",
            source=TIME_OUT_DOC,
            basis=Basis.KIP,
        )
    if producer.idempotence:
        return Outcome(
            why="It is reported as failed, and it is in the log. The leader recognises a retry by its sequence number.",
            source=f"{TIME_OUT_DOC}; {IDEMPOTENCE_DOC}",
            basis=Basis.KIP,
        )
    if producer.client == "scala" and retries(producer):
        return Outcome(
            must=frozenset({"duplicates"}),
            why="It has no deadline, and is sent again after each time-out.",
            source=TIME_OUT_DOC,
            basis=Basis.KIP,
        )
    if retries(producer):
        return Outcome(
            may=frozenset({"duplicates"}),
            why="It is reported as failed, and it is in the log. A retry before the deadline may write it twice.",
            source=TIME_OUT_DOC,
            basis=Basis.KIP,
        )
    return Outcome(
        why="It is sent once and reported as failed, and it is in the log.",
        source=TIME_OUT_DOC,
        basis=Basis.KIP,
    )


@scenario(
    name="audit-time-out",
    claim="A record that a producer has given up because no answer came is in the log, whatever the settings.",
    source=TIME_OUT_DOC,
    operator=OPERATOR,
    cluster=ClusterPlan(settings=CLUSTER),
    documented=[
        Documented(
            source=TIME_OUT_DOC,
            basis=Basis.KIP,
        )
    ],
    applies=AUDITED,
)
def time_out(run: Run) -> None:
    subjects = Subjects(run, plan(run, stated, among=one_topic), IMPATIENT)

    def taken(one: Subject) -> bool:
        return accepted(one, run.version)

    def gives_up(one: Subject) -> bool:
        has_deadline = one.producer.client == LIBRDKAFKA or (
            one.producer.client == "java" and one.release(run.version) >= DELIVERY_TIME_OUT_SINCE
        )
        return taken(one) and (has_deadline or not retries(one.producer))

    withhold_an_answer(run, subjects, gives_up)
    subjects.wait_answered(gives_up)
    run.heal_network()
    subjects.settle()
    subjects.send(2)
    subjects.settle()
