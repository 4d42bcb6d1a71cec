"""What a producer's settings risk, measured: many producers and topics under one fault.

Each scenario here strikes some eighty *subjects* at once. A subject is one producer and one partition. The producer has
a client and settings: acks, idempotence, requests in flight, retries. The partition lies in a topic with settings:
replication factor, min.insync.replicas, unclean elections. The expected outcome of each subject is stated before the
run, and the verdict compares each subject with it. The runs are the cells of [the audit's matrix](../audit-matrix.md).

Clients are librdkafka and Kafka's own Java producer of the brokers' release, and the old Scala one where there is one.
They are given the cell's settings and short time-outs, and nothing else: every other setting is the client's default.
"""

from collections.abc import Callable, Iterable, Iterator

from harness.words import (
    FIRST,
    MANY,
    Basis,
    Outcome,
    Producer,
    Run,
    Subject,
    Subjects,
    Target,
    Topic,
    Version,
    one_of,
    ranges,
)
from results import MEASURED_ON

REFUSED_AGAIN = frozenset({"aborted-read"})
"""Further anomalies that are possible where a producer retries. A record whose last attempt was refused is in the log
if an earlier attempt was written and not answered. Clients report the last attempt alone
(evidence/history/outcomes.py).
"""
AUDITED = one_of(*MEASURED_ON.values())
"""One version of each line; scenarios of the audit run on any of them."""
ACKS_DOC = "Kafka documentation, producer configuration: acks"
MIN_ISR_DOC = "Kafka documentation, topic configuration: min.insync.replicas"
IDEMPOTENCE_DOC = "KIP-98; Kafka documentation, producer configuration: enable.idempotence"
UNCLEAN_DOC = "Kafka documentation, topic configuration: unclean.leader.election.enable"
RETRIES_DOC = "Kafka documentation, producer configuration: retries"
IN_FLIGHT_DOC = "Kafka documentation, producer configuration: max.in.flight.requests.per.connection"
ELR_DOC = "KIP-966"
CLUSTER = {
    "replica.socket.timeout.ms": "3000",
    # Of a partition with a dozen records. A broker that was killed makes all of them anew, full of zeros.
    "log.index.size.max.bytes": "65536",
}
"""Broker settings of every scenario here."""
OPERATOR = """Find your settings in the Atlas of your version (`kafka-chaos atlas --version V`). For configuration
    files, `kafka-chaos audit FILE` does it and names the smallest change that helps."""
Stated = Callable[["Producer", "Topic"], Outcome]


def elects_eligible_leaders(version: Version) -> bool:
    """Whether replicas that left an ISR of min.insync.replicas may still be elected (KIP-966)."""
    return ranges.LAST_KNOWN_LEADER.holds(version)


def refuses_idempotence(producer: Producer, version: Version) -> bool:
    """Whether every record is refused: a message format before 0.11 has no room for a producer's sequence numbers."""
    return producer.idempotence and "log.message.format.version" in version.settings


def accepted(subject: Subject, version: Version) -> bool:
    """Whether the brokers take a subject's records at all."""
    return not refuses_idempotence(subject.producer, version)


REFUSED = Outcome(
    must=frozenset({"refuses"}),
    why="The message format is held at one before 0.11, which has no room for a producer's sequence numbers.",
    source=IDEMPOTENCE_DOC,
    basis=Basis.KIP,
)


def producers(client: str, version: Version) -> Iterator[Producer]:
    """The producers of a client that can differ from one another."""
    if client == "scala":
        yield Producer(client=client, acks="0", in_flight=1)
        for acks in ("1", "all"):
            yield from (Producer(client=client, acks=acks, in_flight=1, retries=retries) for retries in ("0", MANY))
        return
    yield Producer(client=client, acks="0")
    for acks in ("1", "all"):
        yield Producer(client=client, acks=acks, retries="0")
        yield from (Producer(client=client, acks=acks, in_flight=number) for number in (1, 5))
    if ranges.IDEMPOTENT_PRODUCERS.holds(version):
        yield from (Producer(client=client, acks="all", idempotence=True, in_flight=number) for number in (1, 5))


def clients(version: Version) -> tuple[str, ...]:
    """The clients that are measured on a version."""
    return ("librdkafka", "java", "scala") if version.release < (0, 11) else ("librdkafka", "java")


def topics(producer: Producer, version: Version, unclean: Iterable[bool] = (False,)) -> Iterator[Topic]:
    """The topics in which a producer's outcome can differ."""
    least = (1, 2) if producer.acks == "all" or elects_eligible_leaders(version) else (1,)
    yield Topic(replication_factor=1)
    for factor in (2, 3):
        for number in least:
            for allowed in unclean:
                yield Topic(replication_factor=factor, min_insync_replicas=number, unclean=allowed)


def one_topic(producer: Producer) -> Iterator[Topic]:
    """The topic of a fault in which no replica fails."""
    yield Topic()


def alone(subject: Subject) -> bool:
    """Whether the leader by itself is enough for its acknowledgement."""
    return subject.producer.acks != "all" or subject.topic.replication_factor == 1


def others(subject: Subject) -> bool:
    """Whether another replica may lead."""
    return subject.topic.replication_factor > 1


def retries(producer: Producer) -> bool:
    """Whether the producer sends a record again that was not acknowledged."""
    return producer.retries == MANY


def overtakes(producer: Producer) -> bool:
    """Whether a record that is sent again may come behind later ones."""
    return retries(producer) and producer.in_flight > 1 and not producer.idempotence and producer.acks != "0"


def again(producer: Producer) -> str:
    """The sentence on a producer whose records may be reordered; it follows the sentence on the rest."""
    return " Several requests that were in flight are sent again in whatever order." if overtakes(producer) else ""


def unanswered(subject: Subject) -> bool:
    """Whether the producer never learns that its leader is dead, and continues to send into the old connection."""
    return subject.producer.acks == "0"


def withhold_an_answer(run: Run, subjects: Subjects, written: Callable[[Subject], bool]) -> Target:
    """Each subject sends a record, and the leader, which is returned, writes it; its answer is held back.

    Waits until the records of the subjects that are to be `written` are in the log.
    """
    t = run.partition()
    subjects.begin(lambda one: accepted(one, run.version))
    run.send(t, 3)
    leader = run.leader_of(t)
    run.hold_answers(leader)
    subjects.send(1)
    subjects.wait_log_end(FIRST + 1, leader, written)
    return leader


def end_waiting_fetches(run: Run, leader: Target) -> None:
    """Have the leader answer the fetches that waited for records when the followers were frozen.

    The next records are in that answer, and a follower may still read it when it continues. So one more record, which
    may be lost, is sent before those that the sequence is about.
    """
    t = run.partition()
    end, _ = run.log_end_and_high_watermark(leader, t)
    run.send(t, acks="1", expected_loss=True)
    run.wait_log_end(t, end + 1, [leader])


def plan(
    run: Run,
    stated: Stated,
    unclean: Iterable[bool] = (False,),
    *,
    among: Callable[[Producer], Iterable[Topic]] | None = None,
) -> list[Subject]:
    """Every subject of a scenario on a version; `among` says which topics are enough for a producer, if not all are
    asked for that may differ (audit/cells.py has the argument). A run that was given subjects has just these.
    """
    version, allowed = run.version, tuple(unclean)

    def outcome(producer: Producer, topic: Topic) -> Outcome:
        return REFUSED if refuses_idempotence(producer, version) else stated(producer, topic)

    if run.given:
        return [one.subject(outcome(one.producer, one.topic)) for one in run.given]
    return [
        Subject(producer=producer, topic=topic, stated=outcome(producer, topic))
        for client in clients(version)
        for producer in producers(client, version)
        for topic in (topics(producer, version, allowed) if among is None else among(producer))
    ]
