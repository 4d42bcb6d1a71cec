"""A leader forgets an idempotent producer, and then the producer sends again (KIP-98, KIP-360, KIP-854).

A leader knows an idempotent producer by what it wrote last: its id, its epoch and the sequence number of its last
batch. By that it recognises a batch that comes twice. It forgets a producer that was idle for as long as
producer.id.expiration.ms says (a day by default; before 3.4 transactional.id.expiration.ms, seven days). Brokers look
for such producers each ten minutes, and leave them out when they load their partitions. Here the time is five seconds,
and the brokers are restarted cleanly, one after the other and the leader last. So every replica that may lead has
forgotten the producer.

- `idle`: the producer has all its answers, and sends the next record. A leader of 0.11 refuses it as out of order. From
  1.0 to 2.4 it says that it does not know the producer (KAFKA-5793). From 2.5 on it takes any number (KIP-360).
- `retried`: the answer to a record is lost, and the producer sends it again to the leader that has forgotten it. From
  2.5 on the record is written twice: two batches with one id, epoch and number. Before, the client reports an error
  for a record that is in the log.
- `deleted`: the producer's records are deleted by request. Before 2.4 the leader forgets the producer with them
  (KAFKA-7190). On 0.11 the next record is refused. From 1.0 on the answer says where the log begins. The client sees
  that all its records were deleted, and begins with number 0.

Java's producer of 1.0 to 2.4 gives the record up if it has no such explanation, and takes a new id. librdkafka begins a
new epoch, and the record is acknowledged. But if the record is refused as out of order, or had been sent before, its
producer ends with a fatal error, and the application has to make a new one.
"""

from dataclasses import dataclass
from functools import partial

from harness.words import (
    Basis,
    Case,
    ClusterPlan,
    Documented,
    Partition,
    Run,
    SendResult,
    VersionRange,
    ranges,
    scenario,
)
from scenarios.producer import DUPLICATE

KAFKA_5793 = "KAFKA-5793"
EXPIRES_S = 5.0
CLIENT = {
    "enable.idempotence": "true",
    "retries": "100",
    "request.timeout.ms": "40000",
    "delivery.timeout.ms": "180000",
}
"""A retry comes when all replicas are restarted, or once more after that."""
BEFORE = 3
READ_LIMIT_S = 60.0
ANSWER_LIMIT_S = 200.0
FATAL = "_FATAL"
FORGETS = ranges.PRODUCER_OUT_OF_ORDER | ranges.PRODUCER_ID_UNKNOWN


@dataclass(frozen=True)
class Client:
    """What a client library makes of a leader that has forgotten its producer."""

    gives_up: VersionRange
    """Where it reports a record as failed that the leader did not expect."""
    gives_up_sent: VersionRange
    """Where it does so of a record that it had sent before."""
    ends: bool
    """Whether it has a fatal error then."""
    next_epoch: bool
    """Whether it begins a new epoch where it begins with number 0."""


LIBRDKAFKA = Client(gives_up=ranges.PRODUCER_OUT_OF_ORDER, gives_up_sent=FORGETS, ends=True, next_epoch=True)
JAVA = Client(gives_up=FORGETS, gives_up_sent=FORGETS, ends=False, next_epoch=False)


def idle(run: Run, client: Client) -> None:
    """The producer sends nothing until every replica has forgotten it."""
    t = run.partition()
    run.send(t, BEFORE)
    forget(run, t)
    (sent,) = run.send(t, must=False)
    if answered(run, sent, given_up=client.gives_up):
        counted(run, client, anew=ranges.PRODUCER_ID_UNKNOWN)
    go_on(run, client, client.gives_up)


def retried(run: Run, client: Client) -> None:
    """The answer to a record is lost, and the record is sent again when every replica has forgotten the producer."""
    t = run.partition()
    run.send(t, BEFORE)
    leader, producer = run.leader_of(t), run.producer()
    run.hold_answers(leader)
    sent = producer.send_async(t.topic, t.number)
    run.wait_log_end(t, BEFORE + 1, run.replicas_of(t))
    run.copy_replicas("written")
    forget(run, t)
    run.heal_network()
    taken = answered(run, sent.wait(ANSWER_LIMIT_S), given_up=client.gives_up_sent)
    first, *again = run.sequences_of(run.leader_of(t), t)[BEFORE:]
    if taken:
        run.claim("both batches have one id, epoch and number", again == [first], first=first, again=again)
    else:
        run.claim("the record is in the log once", again == [], again=again)
    go_on(run, client, client.gives_up_sent)


def deleted(run: Run, client: Client) -> None:
    """The records of the producer are deleted, and nobody is restarted."""
    t = run.partition()
    with run.consume(t) as reader:
        run.send(t, BEFORE)
        reader.wait_read(BEFORE, timeout_s=READ_LIMIT_S)
    run.delete_records(t, BEFORE)
    (sent,) = run.send(t, must=False)
    if answered(run, sent, given_up=ranges.PRODUCER_OUT_OF_ORDER):
        counted(run, client, anew=ranges.PRODUCERS_GO_WITH_RECORDS)
    go_on(run, client, ranges.PRODUCER_OUT_OF_ORDER)


def forget(run: Run, t: Partition) -> None:
    """Let the producer's state expire, and restart the brokers: the followers first, so that a leader that is stopped
    is followed by a broker that has forgotten the producer.
    """
    leader, followers = run.leader_of(t), run.followers_of(t)
    run.let_pass(EXPIRES_S + 1, "the producer's state expires")
    for follower in followers:
        run.stop(follower)
        run.start(follower)
        run.wait_isr(t, run.replicas_of(t))
    run.stop(leader)
    run.wait_leader(t, *followers)
    run.start(leader)
    run.wait_isr(t, run.replicas_of(t))


def answered(run: Run, sent: SendResult, given_up: VersionRange) -> bool:
    """Hold the answer to a record against what is documented; whether the record was acknowledged."""
    taken = sent.outcome == "ok"
    if given_up.holds(run.version):
        run.claim("the record is reported as failed", not taken, error=sent.error_name)
    else:
        run.claim("the record is acknowledged", taken, error=sent.error_name)
    return taken


def counted(run: Run, client: Client, anew: VersionRange) -> None:
    """Hold the number of the record's batch against what is documented: 0 where its producer begins anew."""
    found = run.sequences_of(run.leader_of(run.partition()), run.partition())
    number, epoch, sequence = found[BEFORE]
    begins = anew.holds(run.version)
    wanted = (found[0][0], int(begins and client.next_epoch), 0 if begins else BEFORE)
    run.claim(
        f"the record's batch has number {wanted[2]} of epoch {wanted[1]}",
        (number, epoch, sequence) == wanted,
        found=found,
    )


def go_on(run: Run, client: Client, given_up: VersionRange) -> None:
    """See whether the producer can send its next record, and send one with another."""
    t, ended = run.partition(), client.ends and given_up.holds(run.version)
    (last,) = run.send(t, must=False)
    if ended:
        run.claim("the producer has a fatal error", last.error_name == FATAL, error=last.error_name)
    else:
        run.claim("the producer's next record is acknowledged", last.outcome == "ok", error=last.error_name)
    run.send(t, settings={"client.id": "another"})


SOURCES = "KIP-98, KIP-360, KAFKA-5793, KAFKA-7190"
TAKEN = "Kafka documentation, broker configuration: producer.id.expiration.ms; KIP-360"
ONCE = (Documented(source=SOURCES, basis=Basis.KIP),)
TWICE = (
    Documented(
        on=ranges.PRODUCER_OUT_OF_ORDER,
        required=frozenset({"aborted-read"}),
        sentence="The producer reports that the record is out of order. It is in the log.",
        source=KAFKA_5793,
        basis=Basis.JIRA,
    ),
    Documented(
        on=ranges.PRODUCER_ID_UNKNOWN,
        sentence="The producer reports that the leader does not know it. The record is in the log, once.",
        source=KAFKA_5793,
        basis=Basis.JIRA,
    ),
    Documented(
        required=DUPLICATE,
        sentence="The record is acknowledged, and in the log twice.",
        source=TAKEN,
        basis=Basis.DOCUMENTATION,
    ),
)


def of_client(prefix: str, client: str, what: Client) -> dict[str, Case]:
    """The cases of a client library."""
    steps = {"idle": (idle, ONCE), "retried": (retried, TWICE), "deleted": (deleted, ONCE)}
    return {
        f"{prefix}{name}": Case(
            client=client, client_settings=CLIENT, steps=partial(one, client=what), documented=documented
        )
        for name, (one, documented) in steps.items()
    }


scenario(
    name="producer-state-expired",
    claim="""A leader forgets an idempotent producer that is idle for too long. A batch that is sent again after that is
        written twice from 2.5 on. Before, the producer reports an error for a record that is in the log.""",
    source=f"{SOURCES}, KIP-854; Kafka documentation, broker configuration: producer.id.expiration.ms",
    operator="""Keep producer.id.expiration.ms longer than the delivery.timeout.ms of every producer: the defaults are a
        day and two minutes. With brokers before 2.5, make a new producer after a fatal error.""",
    applies=ranges.IDEMPOTENCE,
    needs=["idempotence"],
    cluster=ClusterPlan(producers_expire_ms=round(EXPIRES_S * 1000)),
    cases={**of_client("", "librdkafka", LIBRDKAFKA), **of_client("java-", "java", JAVA)},
)
