"""A producer dies with records that nobody acknowledged (Kafka documentation, producer configuration: linger.ms).

When send() has returned, the record is in the client's memory. A record that waits there for others (linger.ms) is lost
with the process. A record may also be in the log although the producer died before the acknowledgement. If you resume
from the last acknowledged record, it is written twice.
"""

from collections.abc import Mapping
from functools import partial

from harness.words import Basis, Case, Documented, Partition, Run, ScriptedProducer, ranges, scenario

TAKE_LIMIT_S = 30.0
RECORDS = 5
ABSENT = [
    Documented(
        sentence="None of the records that the client had taken is in the log.",
        claims=["unknown-record-not-in-log"],
        source="Kafka documentation, producer configuration: linger.ms",
        basis=Basis.DOCUMENTATION,
    )
]
PRESENT = [
    Documented(
        sentence="Every record that the client had taken is in the log, and none was ever acknowledged.",
        claims=["unanswered-record-on-disk", "unknown-record-in-log"],
        source="Kafka documentation, Design: message delivery semantics",
        basis=Basis.DOCUMENTATION,
    )
]
QUEUED = [
    Documented(
        sentence="None of the records in the producer's queue is in the log, and send() had returned for each.",
        claims=["unknown-record-not-in-log"],
        source="Kafka documentation 0.8.2, producer configuration: producer.type, queue.buffering.max.ms",
        basis=Basis.DOCUMENTATION,
    )
]
LINGER = {"linger.ms": "60000"}
AT_ONCE = {"linger.ms": "0"}
ASYNCHRONOUS = {"producer.type": "async", "queue.buffering.max.ms": "60000"}
SYNCHRONOUS = {"producer.type": "sync"}


def lingering(run: Run, at_once: Mapping[str, str] = AT_ONCE) -> None:
    """The records wait in the client's memory for others when it dies."""
    t = run.partition()
    run.send(t, 3, settings=at_once)
    producer = run.producer()
    for _ in range(RECORDS):
        producer.hand_over(t.topic, t.number, timeout_s=TAKE_LIMIT_S)
    die_and_go_on(run, t, producer, at_once)


def unanswered(run: Run) -> None:
    """The records are on every replica when the client dies, and none was acknowledged."""
    t = run.partition()
    run.send(t, 3, settings=AT_ONCE)
    producer = run.producer(settings=AT_ONCE)
    run.hold_answers(run.leader_of(t))
    for number in range(RECORDS):
        producer.hand_over(t.topic, t.number, timeout_s=TAKE_LIMIT_S)
        run.wait_log_end(t, 3 + number + 1, run.replicas_of(t))
    die_and_go_on(run, t, producer, AT_ONCE)


def die_and_go_on(run: Run, t: Partition, producer: ScriptedProducer, at_once: Mapping[str, str]) -> None:
    """The client dies, and another sends."""
    run.copy_replicas("taken")
    run.kill_client(producer)
    run.heal_network()
    run.send(t, settings={**at_once, "client.id": "another"})


scenario(
    name="client-crash",
    claim="""An unacknowledged record of a producer that died may be in the log or not. It is not if it lingered in the
        client's memory, and it is if the leader had written it.""",
    source="Kafka documentation, producer configuration: linger.ms, acks; Design: message delivery semantics",
    operator="""Treat a record as sent when it is acknowledged, not when send() returns. After a crash resume with the
        first unacknowledged record, and expect some records twice.""",
    cases={
        "lingering": Case(client_settings=LINGER, steps=lingering, documented=ABSENT),
        "unanswered": Case(steps=unanswered, documented=PRESENT),
        "java-lingering": Case(client="java", client_settings=LINGER, steps=lingering, documented=ABSENT),
        "scala-async": Case(
            client="scala",
            client_settings=ASYNCHRONOUS,
            steps=partial(lingering, at_once=SYNCHRONOUS),
            applies=ranges.SCALA_PRODUCERS,
            documented=QUEUED,
        ),
        "java-unanswered": Case(client="java", steps=unanswered, documented=PRESENT),
    },
)
