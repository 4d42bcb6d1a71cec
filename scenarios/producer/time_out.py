"""A producer gives a record up that is in the log, or is written later (KIP-91: delivery.timeout.ms).

A time-out is the client's: it says that no answer came in time, and nothing about the record. Answered late: the leader
has written it, and its answer is on its way. Carried out late: the leader stands still with the request in its kernel.
It writes the record when it continues, after the client has reported the error. An application that takes the error for
a failure and sends the record again has it twice, with idempotence too: for the broker it is another batch.
"""

from harness.words import Basis, Case, ClusterPlan, Documented, Pending, Run, SendResult, ranges, scenario
from scenarios.producer import PATIENT

ONE_ATTEMPT = {"retries": "0", "request.timeout.ms": "2000", "delivery.timeout.ms": "4000"}
IN_LOG = "The record that the client has given up is in the log, once."
ANSWERED_LATE = [
    Documented(
        sentence=IN_LOG,
        claims=["unanswered-record-on-disk", "unknown-record-in-log"],
        source="KIP-91",
        basis=Basis.KIP,
    )
]
CARRIED_OUT_LATE = [
    Documented(
        sentence=IN_LOG,
        claims=["unknown-record-comes-late", "unknown-record-in-log"],
        source="KIP-91",
        basis=Basis.KIP,
    )
]
SENT_AGAIN = [
    Documented(
        sentence="The record is in the log twice: the client gave it up, and the application sent it again.",
        required=frozenset({"duplicate"}),
        claims=["unanswered-record-on-disk"],
        source="KIP-91; KIP-98: a record that the application sends again is another one",
        basis=Basis.KIP,
    )
]
ANSWER_LIMIT_S = 60.0
"""The client's own time-out has to come first."""


def answered_late(run: Run) -> None:
    """The record is written, and its answer is held back."""
    give_up_what_is_written(run)
    run.heal_network()
    run.send(run.partition(), settings={"client.id": "another"})


def sent_again(run: Run) -> None:
    """The record is written, its answer is held back, and the application sends it again."""
    given_up = give_up_what_is_written(run)
    run.heal_network()
    run.producer().send_async(*run.partition(), again=given_up).wait(ANSWER_LIMIT_S)
    run.send(run.partition(), settings={"client.id": "another"})


def carried_out_late(run: Run) -> None:
    """The leader stands still with the request, and writes the record when it continues."""
    t = run.partition()
    run.send(t, settings=PATIENT)
    run.send(t, 2)
    leader, producer = run.leader_of(t), run.producer()
    run.freeze(leader)
    give_up(run, producer.send_async(t.topic, t.number))
    run.copy_replicas("given up")
    run.thaw()
    run.wait_log_end(t, 4, run.replicas_of(t))
    run.send(t, settings={"client.id": "another"})


def give_up_what_is_written(run: Run) -> SendResult:
    """A record is on every replica when its producer gives it up without an answer."""
    t = run.partition()
    run.send(t, settings=PATIENT)
    run.send(t, 2)
    leader, producer = run.leader_of(t), run.producer()
    run.hold_answers(leader)
    sent = producer.send_async(t.topic, t.number)
    run.wait_log_end(t, 4, run.replicas_of(t))
    run.copy_replicas("written")
    return give_up(run, sent)


def give_up(run: Run, sent: Pending) -> SendResult:
    """Wait until the producer reports the outcome of a record as unknown."""
    given_up = sent.wait(ANSWER_LIMIT_S)
    run.require("the client does not know its outcome", given_up.outcome == "info", error=given_up.error_name)
    return given_up


def of_client(prefix: str, client: str) -> dict[str, Case]:
    """The cases of a client library."""
    short = ONE_ATTEMPT | ({"socket.timeout.ms": "2000"} if client == "librdkafka" else {})
    idempotent = short | {"retries": "10", "enable.idempotence": "true"}
    return {
        f"{prefix}answered-late": Case(
            steps=answered_late, client=client, client_settings=short, documented=ANSWERED_LATE
        ),
        f"{prefix}carried-out-late": Case(
            client=client, client_settings=short, steps=carried_out_late, documented=CARRIED_OUT_LATE
        ),
        f"{prefix}sent-again": Case(
            client=client,
            client_settings=idempotent,
            steps=sent_again,
            documented=SENT_AGAIN,
            applies=ranges.IDEMPOTENCE,
        ),
    }


scenario(
    name="time-out",
    claim="""A record for which a producer reports a time-out may be in the log, or be written later. If the application
        sends it again, it is in the log twice.""",
    source="KIP-91; Kafka documentation, producer configuration: delivery.timeout.ms, request.timeout.ms",
    operator="""Never take a producer's time-out for a failed write. Make delivery.timeout.ms (message.timeout.ms)
        longer than the longest outage that you want to survive, and let readers detect duplicates by a key of your
        own.""",
    cluster=ClusterPlan(session_timeout_ms=30_000),
    cases=of_client("", "librdkafka") | of_client("java-", "java"),
)
