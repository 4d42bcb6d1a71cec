"""One record is refused, the next one is accepted, and the first is tried again (KIP-98).

The followers are frozen until they have left the ISR. Each subject sends a record. The leader refuses it where acks=all
needs two in-sync replicas (NOT_ENOUGH_REPLICAS), and the answer is held back. The followers continue and are in sync
again. Each subject sends another record, which is accepted if it reaches the leader. Then the answers arrive. With
several requests in flight the first record is written behind the second. librdkafka prepares its next request while one
is in flight, and sends it before it retries the first. So records are reordered with one request in flight too.
"""

from collections.abc import Iterator

from harness.words import (
    FIRST,
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
    IN_FLIGHT_DOC,
    MIN_ISR_DOC,
    OPERATOR,
    accepted,
    others,
    overtakes,
    plan,
    retries,
)

PATIENT = TimeOuts(request_ms=60_000, delivery_ms=120_000, scala_ms=60_000)
"""Longer than answers are held back, and as long again, for TCP to deliver them: no time-out is to be seen here."""


def refused(producer: Producer, topic: Topic) -> bool:
    """Whether the first record of the two is refused."""
    return producer.acks == "all" and topic.min_insync_replicas > 1


def refusing(producer: Producer) -> Iterator[Topic]:
    """A topic that refuses nothing, and one that refuses acks=all while the leader is alone."""
    yield Topic()
    if producer.acks == "all":
        yield Topic(min_insync_replicas=2)


def stated(producer: Producer, topic: Topic) -> Outcome:
    if not refused(producer, topic):
        return Outcome(
            why="The leader alone is enough: neither record is refused.",
            source=MIN_ISR_DOC,
            basis=Basis.DOCUMENTATION,
        )
    if producer.idempotence:
        return Outcome(
            why="The leader refuses a batch that is not the next one of its producer.",
            source=IDEMPOTENCE_DOC,
            basis=Basis.KIP,
        )
    if overtakes(producer):
        return Outcome(
            must=frozenset({"reorders"}),
            why="Both are in flight, the second is accepted, and the first is written behind it.",
            source=IN_FLIGHT_DOC,
            basis=Basis.DOCUMENTATION,
        )
    if retries(producer) and producer.client == LIBRDKAFKA:
        return Outcome(
            must=frozenset({"reorders"}),
            why="The second record is in a request by then, and that request is sent before the first record is "
            "retried.",
            source="librdkafka issue 1092 (closed as fixed in 2018; seen of 1.7.0 to 2.16.0)",
            basis=Basis.JIRA,
        )
    if retries(producer):
        return Outcome(
            why="The second record is sent when the first is settled.", source=IN_FLIGHT_DOC, basis=Basis.DOCUMENTATION
        )
    if producer.client == "scala":
        return Outcome(
            why="It is sent once, and reported as failed without a reason.",
            source=MIN_ISR_DOC,
            basis=Basis.DOCUMENTATION,
        )
    return Outcome(
        must=frozenset({"refuses"}),
        why="It is sent once.",
        source=MIN_ISR_DOC,
        basis=Basis.DOCUMENTATION,
    )


@scenario(
    name="audit-refused-then-accepted",
    claim="""Without idempotence and with several requests in flight, a refused record that is retried is written behind
        a later record that was accepted first.""",
    source=f"{IN_FLIGHT_DOC}; KIP-98",
    operator=OPERATOR,
    cluster=ClusterPlan(session_timeout_ms=30_000, settings=CLUSTER | {"replica.lag.time.max.ms": "2000"}),
    documented=[
        Documented(
            source=IN_FLIGHT_DOC,
            basis=Basis.DOCUMENTATION,
        )
    ],
    applies=AUDITED,
)
def refused_then_accepted(run: Run) -> None:
    t = run.partition()
    subjects = Subjects(run, plan(run, stated, among=refusing), PATIENT)

    def is_refused(one: Subject) -> bool:
        return refused(one.producer, one.topic) and accepted(one, run.version)

    def turned(one: Subject) -> bool:
        return is_refused(one) and overtakes(one.producer)

    subjects.begin(lambda one: accepted(one, run.version))
    run.send(t, 3)
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.send(t, acks="1", only=leader)
    run.freeze(*followers)
    subjects.lead(leader, others)
    subjects.wait_leader_knows_isr([leader], leader, others)

    run.hold_answers(leader)
    subjects.send(1)
    subjects.wait_refused(leader, is_refused)
    run.thaw()
    subjects.wait_leader_knows_isr(run.replicas_of(t), leader, others)
    subjects.send(1)
    subjects.wait_log_end(FIRST + 2, leader, turned)
    run.heal_network()
    subjects.settle()
    subjects.send(2)
    subjects.settle()
