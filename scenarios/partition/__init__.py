"""Partitions of the network, one scenario for each shape: which side continues, which stops, and which records are lost
when the network is healed.

Kafka keeps the state of its partitions in one place, ZooKeeper or the quorum of controllers. The side that reaches it
decides which replicas lead and are in sync. A leader on the other side still takes itself for the leader. It cannot
change the ISR, so it acknowledges no acks=all record that a member of the ISR lacks. With acks=1 it acknowledges
records that it alone has, and truncates them when the network is healed.

`leader-isolated`, `leader-with-minority` and `split-in-halves` are about a leader on the wrong side,
`follower-isolated`, `one-way`, `bridge` and `flapping-link` about followers that a leader does not reach,
`controller-isolated` and `client-cut-from-leader` about partitions that move no record at all. In all but the last one,
clients reach every broker throughout: a producer and a consumer run through each of these partitions.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.words import LoadGenerator, Partition, Run, ScriptedProducer, Target

RATE_PER_S = 20.0
BEFORE = 20
"""This many records are acknowledged before anything is cut."""
SEND_LIMIT_S = 90.0
ATTEMPTS = 12
ATTEMPT_MS = 8_000
SETTINGS = {
    "unclean.leader.election.enable": "false",
    "replica.lag.time.max.ms": "3000",
    "replica.socket.timeout.ms": "3000",
}
ELECTED = ("leader-elected-from-isr", "leader-epoch-rises-by-one")
SHRUNK = ("isr-shrinks-to-reachable-side", "isr-whole-after-heal")


@contextmanager
def clients(run: Run, t: Partition, *, expected_loss: bool = False) -> Iterator[LoadGenerator]:
    """A producer with the case's acks, and a consumer, at work while the block lasts.

    `expected_loss` says that records acknowledged while the block lasts may be lost. Records acknowledged before, which
    every replica has, may not: they are a load of their own.
    """
    with run.consume(t) as consumer:
        if expected_loss:
            with run.load(t, rate_per_s=RATE_PER_S, acks=run.case.acks) as before:
                before.wait_acked(BEFORE, timeout_s=30)
            end, _ = run.log_end_and_high_watermark(run.leader_of(t), t)
            run.wait_log_end(t, end, run.replicas_of(t))
            run.wait_high_watermark(t, end, run.replicas_of(t))
        with run.load(
            t, rate_per_s=RATE_PER_S, acks=run.case.acks, expected_loss=expected_loss, also_idempotent=True
        ) as load:
            load.wait_acked(BEFORE, timeout_s=30)
            consumer.wait_read(BEFORE // 2, timeout_s=30)
            yield load


def send_beside(run: Run, t: Partition, successor: Target) -> None:
    """Send three records with acks=all on the side of the next leader.

    A client that knows the old leader sends there, and asks the broker that it used last for the current leader
    (librdkafka, rd_kafka_broker_weight_usable). The old leader answers and names itself. So after a while another
    client tries, which asks the next leader first.
    """
    for attempt in range(ATTEMPTS):
        settings = {"client.id": f"beside-{attempt}", "message.timeout.ms": str(ATTEMPT_MS)}
        (first,) = run.send(t, only=successor, settings=settings, must=False)
        if first.outcome == "ok":
            run.send(t, 2, only=successor, settings=settings)
            return
    run.claim(f"the next leader acknowledges with acks=all one of {ATTEMPTS} clients", held=False)


def loyal_client(run: Run, t: Partition, leader: Target) -> ScriptedProducer:
    """A producer with the case's acks that knows this leader alone, has sent it a record, and does not ask again for
    the leader.
    """
    settings = {"message.send.max.retries": "0", "topic.metadata.refresh.interval.ms": "-1"}
    producer = run.producer(acks=run.case.acks, only=leader, settings=settings)
    (sent,) = producer.send(*t, count=1, timeout_s=SEND_LIMIT_S)
    run.claim("the leader acknowledges before it is cut off", sent.outcome == "ok")
    return producer
