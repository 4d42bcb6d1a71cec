"""A producer dies with records that nobody acknowledged (Kafka documentation, producer configuration: linger.ms).

That send() has returned says that the record is in the client's memory. A record that waits there for others
(linger.ms) dies with the process. One that the leader has written is in the log though nobody was ever told: whoever
takes over where acknowledgements end sends it a second time.
"""

from harness.words import Case, Documented, Run, scenario

TAKE_LIMIT_S = 30.0
RECORDS = 5
ABSENT = [
    Documented(
        says="None of the records that the client had taken is in the log.",
        claims=["unknown-record-not-in-log"],
    )
]
PRESENT = [
    Documented(
        says="Every record that the client had taken is in the log, and no acknowledgement of one was ever heard.",
        claims=["unanswered-record-on-disk", "unknown-record-in-log"],
    )
]
LINGER = {"linger.ms": "60000"}


@scenario(
    name="client-crash",
    claim="""A record that a producer had taken and that was not acknowledged when it died may be in the log or not: not
        if it lingered in the client's memory, and for sure if the leader had written it.""",
    source="Kafka documentation, producer configuration: linger.ms, acks; Design: message delivery semantics",
    operator="""Treat a record as sent when it is acknowledged, not when send() returns; after a crash begin again with
        the first that was not acknowledged, and expect some of these twice.""",
    cases={
        "lingering": Case(client_settings=LINGER, variant="lingering", documented=ABSENT),
        "unanswered": Case(variant="unanswered", documented=PRESENT),
        "java-lingering": Case(client="java", client_settings=LINGER, variant="lingering", documented=ABSENT),
        "java-unanswered": Case(client="java", variant="unanswered", documented=PRESENT),
    },
)
def client_crash(run: Run) -> None:
    t, written = run.partition(), run.case.variant == "unanswered"
    run.send(t, 3, settings={"linger.ms": "0"})
    producer, leader = run.producer(settings={} if not written else {"linger.ms": "0"}), run.leader_of(t)

    if written:
        run.hold_answers(leader)
    for number in range(RECORDS):
        producer.hand_over(t.topic, t.number, timeout_s=TAKE_LIMIT_S)
        if written:
            run.wait_log_end(t, 3 + number + 1, run.replicas_of(t))
    run.copy_replicas("taken")
    run.kill_client(producer)

    run.heal_network()
    run.send(t, settings={"linger.ms": "0", "client.id": "another"})
