"""The first record of a batch is given up while the batch is in flight, and librdkafka writes the rest of it twice.

An idempotent producer's batch has a sequence number, and the leader recognises the batch when it is sent again
(KIP-98). Under another epoch the leader does not recognise it. librdkafka gives records up one by one, each when its
own message.timeout.ms has passed. It gives a request up when the time of its first record has passed
(rd_kafka_ProduceRequest). The other records of the batch return to the queue, although they may be written. The
abandoned record leaves a gap in the sequence numbers, so librdkafka begins a new epoch
(rd_kafka_idemp_drain_epoch_bump) and sends the others again under that epoch. For the leader they are new.
INTRODUCTION.md promises the contrary ("a message is only written to the log once"), and says of time-outs only that an
abandoned record may be written. A maintainer has said that a time-out can lead to duplicates, on other partitions
(librdkafka issue 4953).

The batch waits for its second record (linger.ms), so the first is older. The answer is held back until the first is
given up; both are on every replica by then. Then answers come, and the second record is acknowledged: it is in the log
twice. The only fault is the answer's delay. In production the cause is a partition without a leader for
message.timeout.ms, five minutes by default: the waiting records are sent in one batch, whose first record has no time
left.

Java's producer gives a batch up as a whole (delivery.timeout.ms), and sends nothing of it again. With `in-time` the
answer comes before the first record times out.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Pending, Run, ranges, scenario

LINGER_S, SECOND_S, TIMEOUT_S = 10.0, 7.0, 15.0
ANSWER_LIMIT_S = 60.0
IDEMPOTENT = {"enable.idempotence": "true", "linger.ms": str(round(LINGER_S * 1000))}
LIBRDKAFKA = IDEMPOTENT | {"message.timeout.ms": str(round(TIMEOUT_S * 1000)), "retries": "100"}
JAVA = IDEMPOTENT | {
    "delivery.timeout.ms": str(round(TIMEOUT_S * 1000)),
    "request.timeout.ms": str(round((TIMEOUT_S - LINGER_S) * 1000)),
}
AT_ONCE = {"linger.ms": "0", "client.id": "another"}


def given_up_in_flight(run: Run) -> None:
    """The answer to a batch is held back until its first record is given up."""
    first, second = send_one_batch(run)
    given_up = first.wait(ANSWER_LIMIT_S)
    run.require(
        "the client does not know the first record's outcome", given_up.outcome == "info", got=given_up.error_name
    )
    run.heal_network()
    end(run, second)


def answered_in_time(run: Run) -> None:
    """The answer to a batch is held back, and comes before its first record is given up."""
    first, second = send_one_batch(run)
    run.heal_network()
    answer = first.wait(ANSWER_LIMIT_S)
    run.require("the first record is acknowledged", answer.outcome == "ok", got=answer.error_name)
    end(run, second)


def send_one_batch(run: Run) -> tuple[Pending, Pending]:
    """Two records, of which the second is sent some seconds after the first: a batch that is on every replica, and
    whose answer is held back. The producer has its id by then, whose answer would be held back too.
    """
    t = run.partition()
    leader, producer = run.leader_of(t), run.producer()
    before = producer.send_async(t.topic, t.number).wait(ANSWER_LIMIT_S)
    run.require("the producer has its id", before.outcome == "ok", got=before.error_name)
    first = producer.send_async(t.topic, t.number)
    run.let_pass(SECOND_S, "the first record waits for more")
    run.hold_answers(leader)
    second = producer.send_async(t.topic, t.number)
    run.wait_log_end(t, 3, run.replicas_of(t))
    run.copy_replicas("written")
    run.require("the client has an answer for neither", not first.done and not second.done)
    return first, second


def end(run: Run, second: Pending) -> None:
    """The client is done with the second record, and another one writes."""
    answer = second.wait(ANSWER_LIMIT_S)
    run.note(f"the second record: {answer.error_name or 'acknowledged'}")
    run.send(run.partition(), settings=AT_ONCE)


scenario(
    name="timed-out-batch",
    claim="""An idempotent producer of librdkafka writes a record twice, and reports it as written, when an older record
        of its batch timed out in flight. Under the new epoch the leader does not recognise it. Java's producer does
        not.""",
    source="librdkafka, INTRODUCTION.md: Idempotent Producer, Guarantees, Message timeout considerations; librdkafka "
    "issue 4953; KIP-98, KIP-91; found here, nothing documents it",
    operator="""With librdkafka set message.timeout.ms far above the longest outage that you want to survive: the
        default is five minutes. Where duplicates must not occur, use transactions, or detect duplicates by a key of
        your own.""",
    cluster=ClusterPlan(session_timeout_ms=30_000),
    applies=ranges.IDEMPOTENCE,
    cases={
        "librdkafka": Case(
            steps=given_up_in_flight,
            client_settings=LIBRDKAFKA,
            documented=[
                Documented(
                    required=frozenset({"duplicate"}),
                    source="seen with librdkafka 1.5.0 to 2.16.0; its INTRODUCTION.md, Guarantees, says otherwise",
                    basis=Basis.MEASURED,
                )
            ],
        ),
        "in-time": Case(
            steps=answered_in_time,
            client_settings=LIBRDKAFKA,
            documented=[
                Documented(
                    sentence="Both records are acknowledged, and each is in the log once.",
                    source="librdkafka, INTRODUCTION.md: Idempotent Producer, Guarantees",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "java": Case(
            steps=given_up_in_flight,
            client="java",
            client_settings=JAVA,
            documented=[
                Documented(
                    sentence="The batch is given up as a whole, and is in the log once.",
                    source="KIP-91: delivery.timeout.ms; KIP-98",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
