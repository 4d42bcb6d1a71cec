"""Two producers with one transactional.id: the second one fences the first (KIP-98).

The first one has a transaction open when the second one begins, as when an application is started again while its old
process still lives. The coordinator aborts the open transaction and raises the epoch of the id. The first producer's
later records and its commit are refused. So read_committed readers get the second producer's records alone.

In the first two cases it sends another record and then commits. The leader refuses the record with
INVALID_PRODUCER_EPOCH on every release. Clients treat their producer as failed from then on, and tell the application
so when it commits. In the other two it commits at once, and the coordinator refuses that: with INVALID_PRODUCER_EPOCH
before 2.7, and with PRODUCER_FENCED from 2.7 on (KIP-588). librdkafka makes _FENCED of both.
"""

from harness.words import Basis, Case, Documented, Partition, Run, ranges, scenario

KIP_98, KIP_588 = "KIP-98", "KIP-588"
LIMIT_S = 60.0
COORDINATOR = "TransactionCoordinator.endTransaction (0.11.0.2, 2.6.3)"
BY_CLIENT, INVALID_EPOCH, FENCED = (
    f"fenced-commit-told-{what}" for what in ("by-client", "invalid-epoch", "producer-fenced")
)
LIBRDKAFKA = [
    Documented(
        claims=[BY_CLIENT],
        sentence="The commit is refused, and librdkafka says _FENCED.",
        source="librdkafka, rd_kafka_txn_normalize_err (2.16.0)",
        basis=Basis.SOURCE,
    )
]


def record_and_commit(run: Run) -> None:
    """The second producer begins while the first one's transaction is open. The first sends a record, and commits."""
    t = run.partition()
    with run.transaction("one") as first:
        first.send(t, 2)
        second_producer(run, t)
        (late,) = first.send(t, must=False)
        run.claim(
            "the leader refuses what the first producer sends, because its epoch is old",
            late.outcome != "ok" and late.error_name == "INVALID_PRODUCER_EPOCH",
            error=late.error_name,
        )
    read(run, t)


def commit(run: Run) -> None:
    """The second producer begins while the first one's transaction is open. The first commits."""
    t = run.partition()
    with run.transaction("one") as first:
        first.send(t, 2)
        second_producer(run, t)
    read(run, t)


def second_producer(run: Run, t: Partition) -> None:
    """Another process with the transactional.id of the first commits three records."""
    with run.transaction("the same", settings={"transactional.id": "one"}) as second:
        second.send(t, 3)


def read(run: Run, t: Partition) -> None:
    """Readers get the second producer's records and one that is sent now."""
    run.send(t)
    with run.consume(t, committed_only=True) as reader:
        run.claim(
            "readers get the records that the second one sent", reader.wait_read(4, timeout_s=LIMIT_S).records == 4
        )


scenario(
    name="producer-fencing",
    claim="""A second producer with the same transactional.id aborts the first producer's open transaction. The first
        producer's later records and commits are refused.""",
    source=f"{KIP_98}, {KIP_588}",
    operator="""Give each instance of an application its own transactional.id, and the same one after a restart. Two
        instances with one id fence each other again and again. Treat both ProducerFencedException and
        InvalidProducerEpochException as its sign: which of them you get depends on the release, and on what was
        refused.""",
    applies=ranges.TRANSACTIONS,
    needs=["transactions"],
    cases={
        "librdkafka": Case(steps=record_and_commit, documented=LIBRDKAFKA),
        "java": Case(
            client="java",
            steps=record_and_commit,
            documented=[
                Documented(
                    on=ranges.JAVA_WRAPS_FENCED,
                    claims=[BY_CLIENT],
                    sentence="The commit is refused with a KafkaException that does not say why; its cause does.",
                    source="TransactionManager.maybeFailWithError (0.11.0.2 to 2.2.2)",
                    basis=Basis.SOURCE,
                ),
                Documented(
                    claims=[INVALID_EPOCH],
                    sentence="""The commit is refused with the error of the record: INVALID_PRODUCER_EPOCH, which Java
                        throws as ProducerFencedException before 2.7 and as InvalidProducerEpochException since.""",
                    source="TransactionManager.maybeFailWithError (2.3.0, 2.8.2, 3.9.0); Errors (2.6.3, 2.7.0)",
                    basis=Basis.SOURCE,
                ),
            ],
        ),
        "librdkafka-commit": Case(steps=commit, documented=LIBRDKAFKA),
        "java-commit": Case(
            client="java",
            steps=commit,
            documented=[
                Documented(
                    on=ranges.INVALID_EPOCH_TOLD,
                    claims=[INVALID_EPOCH],
                    sentence="""The coordinator refuses the commit with INVALID_PRODUCER_EPOCH, which Java throws as
                        ProducerFencedException.""",
                    source=COORDINATOR,
                    basis=Basis.SOURCE,
                ),
                Documented(
                    claims=[FENCED],
                    sentence="The coordinator refuses the commit with PRODUCER_FENCED.",
                    source=KIP_588,
                    basis=Basis.KIP,
                ),
            ],
        ),
    },
)
