"""A record is refused, the next accepted, and the first is sent again: their order is reversed (KIP-98).

Too few replicas are in sync, and the leader refuses a record with acks=all (NOT_ENOUGH_REPLICAS); its answer is held
back in the network. Replicas return, and the leader accepts the client's next record, which was in flight together with
the first. Then the first answer arrives, and the client sends the first record again, so it is written behind the
second.

With one request in flight a Java client sends the second record after the first is settled. This is different with
librdkafka (2.16.0): it prepares its next request while the first is in flight, and sends it before it retries the
first. With idempotence the leader refuses the second too, because its sequence number is not the next, and the client
sends both again in order. A long back-off alone does not reorder records: later records wait behind the first while it
waits for its retry.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Pending, Run, TopicPlan, ranges, scenario

IN_FLIGHT = "max.in.flight.requests.per.connection"
SEVERAL = {"retries": "10", "enable.idempotence": "false", IN_FLIGHT: "5"}
ONE = SEVERAL | {IN_FLIGHT: "1"}
IDEMPOTENT = SEVERAL | {"enable.idempotence": "true"}
RARELY = {"topic.metadata.refresh.interval.ms": "300000"}
"""librdkafka's own default. The more requests are answered at once, the less often a broker's kernel acknowledges one
before its answer, and the second record would not arrive (harness/faults/answers.py).
"""
BACK_OFF = SEVERAL | {"retry.backoff.ms": "5000", "retry.backoff.max.ms": "5000"}
TURNED = [
    Documented(
        required=frozenset({"nonmonotonic-send"}),
        source="Kafka documentation, producer configuration: max.in.flight.requests.per.connection",
        basis=Basis.DOCUMENTATION,
    )
]
TURNED_BY_LIBRDKAFKA = [
    Documented(
        sentence="librdkafka reverses the order with one request in flight too: it has already prepared the next one.",
        required=frozenset({"nonmonotonic-send"}),
        source="librdkafka issue 1092 (closed as fixed in 2018; seen of 1.7.0 to 2.16.0, on every line of brokers)",
        basis=Basis.JIRA,
    )
]
IN_ORDER = [
    Documented(
        sentence="The two records are in the log in the order in which they were sent.",
        source="KIP-98; Kafka documentation, producer configuration: max.in.flight.requests.per.connection",
        basis=Basis.DOCUMENTATION,
    )
]
BEHIND_IT = [
    Documented(
        sentence="Later records wait behind the first record while it waits for its retry.",
        source="seen of librdkafka 2.16.0 and of Java clients of 0.10.2.2 to 4.3.1, documented nowhere",
        basis=Basis.MEASURED,
    )
]
ANOTHER = {"client.id": "another", "enable.idempotence": "false"}
"""A client whose record the frozen followers lack: the ISR of an idle partition would not shrink."""
ANSWER_LIMIT_S = 60.0


def accepted_while_in_flight(run: Run) -> None:
    """The second record is accepted while the client still has the first, which was refused, as in flight."""
    t, (first, second) = run.partition(), send_two(run, hold_first_answer=True)
    run.wait_log_end(t, 6, run.replicas_of(t))
    run.require("it has heard nothing of either", not first.done and not second.done)
    let_answers_come(run, first, second)


def held_answer(run: Run) -> None:
    """The second record is sent while the answer to the first is held back."""
    let_answers_come(run, *send_two(run, hold_first_answer=True))


def back_off(run: Run) -> None:
    """The second record is sent while the first waits for its retry."""
    let_answers_come(run, *send_two(run, hold_first_answer=False))


def send_two(run: Run, *, hold_first_answer: bool) -> tuple[Pending, Pending]:
    """Two records: too few replicas are in sync when the first arrives, and enough are when the second is sent."""
    t = run.partition()
    run.send(t, 3)
    leader, followers, producer = run.leader_of(t), run.followers_of(t), run.producer()
    run.send(t, acks="1", only=leader, settings=ANOTHER)
    run.freeze(*followers)
    run.send(t, acks="1", only=leader, settings=ANOTHER)
    run.wait_leader_knows_isr(t, [leader])

    if hold_first_answer:
        run.hold_answers(leader)
    first = producer.send_async(t.topic, t.number)
    run.wait_log_line(leader, "NotEnoughReplicas", "that it refuses the first record")
    run.thaw()
    run.wait_leader_knows_isr(t, run.replicas_of(t))
    run.require("the client is not done with the first record", not first.done)
    return first, producer.send_async(t.topic, t.number)


def let_answers_come(run: Run, first: Pending, second: Pending) -> None:
    """The client gets the answers for both records."""
    run.copy_replicas("second-sent")
    run.heal_network()
    first.wait(ANSWER_LIMIT_S)
    second.wait(ANSWER_LIMIT_S)
    run.send(run.partition())


def of_client(prefix: str, client: str) -> dict[str, Case]:
    """The cases of a client library."""
    rdkafka = client == "librdkafka"
    own = RARELY if rdkafka else {}
    return {
        f"{prefix}several-in-flight": Case(
            steps=accepted_while_in_flight, client=client, client_settings=SEVERAL | own, documented=TURNED
        ),
        f"{prefix}one-in-flight": Case(
            steps=held_answer,
            client=client,
            client_settings=ONE | own,
            documented=TURNED_BY_LIBRDKAFKA if rdkafka else IN_ORDER,
        ),
        f"{prefix}idempotent": Case(
            steps=held_answer,
            client=client,
            client_settings=IDEMPOTENT | own,
            documented=IN_ORDER,
            applies=ranges.IDEMPOTENCE if rdkafka else ranges.JAVA_IDEMPOTENT_IN_FLIGHT,
        ),
        f"{prefix}back-off": Case(steps=back_off, client=client, client_settings=BACK_OFF | own, documented=BEHIND_IT),
    }


scenario(
    name="refused-then-accepted",
    claim="""With several requests in flight and without idempotence, retries reorder records: a refused record is sent
        again behind an accepted one.""",
    source="Kafka documentation, producer configuration: max.in.flight.requests.per.connection; KIP-98",
    operator="""Where order matters, set enable.idempotence=true. One request in flight keeps the order of Java's
        producer, and not that of librdkafka.""",
    needs=["acks-1"],
    cluster=ClusterPlan(session_timeout_ms=30_000, settings={"replica.lag.time.max.ms": "2000"}),
    topic=TopicPlan(settings={"min.insync.replicas": "2"}),
    cases=of_client("", "librdkafka") | of_client("java-", "java"),
)
