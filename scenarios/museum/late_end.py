"""A late packet ends a transaction that its producer has not ended (KAFKA-17754).

A producer asks its coordinator to end a transaction by its id and its epoch (EndTxn). Both are the same for every
transaction of a session. The producer repeats an unanswered request on a new connection, and the coordinator carries it
out. When the first request arrives after all, during the next transaction, the coordinator takes it for the end of that
one.

Here the producer aborts a first transaction, and the request is delayed. It repeats the request, and the coordinator
confirms the abort. It begins another transaction and sends a record. Then the late request arrives and aborts that
transaction. The producer does not know that. It sends to one more partition, which opens a third transaction for the
coordinator. Its commit is acknowledged. read_committed readers get the second record and never the first.

Brokers and Java clients of 4.0 raise the epoch with each transaction (KIP-890, transaction.version 2), so a late
request names a finished transaction. Neither librdkafka nor older clients do this yet, and brokers of 4.x still accept
their requests. `java` is the Java client of the brokers' own release, with which 4.0 and later are safe; `java-older`
is that of 3.9.2, with which they are not. With `in-time` nothing is late.

One broker is enough to show the bug. The second partition is needed: a commit right after the late request is refused,
because the coordinator has no transaction then (INVALID_TXN_STATE). `replicated` has three brokers, and all partitions,
the coordinator's too, have three replicas of which two must be in sync, as in production. Their leader is not the
coordinator's broker. `java-defaults` is the same with the default settings of the Java client of 3.9.2. It repeats a
request after request.timeout.ms, 30 s, and the late request arrives within the 60 s of transaction.timeout.ms. With
librdkafka's default of 60 s (socket.timeout.ms) nothing arrived late: the client machine's kernel had given the closed
connection up before its next attempt.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from harness.words import (
    Basis,
    Border,
    Bug,
    BugStatus,
    Case,
    ClusterPlan,
    Documented,
    Exhibit,
    OpenTransaction,
    Partition,
    Run,
    Side,
    Status,
    Target,
    TopicPlan,
    VersionRange,
    ranges,
    scenario,
)
from scenarios.museum import SKIPPED_IN_A_POLL
from scenarios.museum.marker_lost import HALF, IN_PRODUCTION, STATE, THREE

KAFKA_17754 = Bug(
    id="KAFKA-17754",
    title="half of a transaction that was acknowledged as committed is lost: a late request had aborted it",
    touches="transactions of librdkafka or older Java",
    whom="transactional producers of librdkafka, or of Java clients before 4.0, when a packet is late",
    since=Border(
        "0.11.0.0",
        "KIP-98",
        Side("0.10.2.2", "ApiKeys has no END_TXN"),
        Side(
            "0.11.0.0",
            "TransactionCoordinator.handleEndTransaction compares the producer id and the epoch, which all "
            "transactions of a session share",
        ),
    ),
    fixed=(),
    status=Status(
        state=BugStatus.IN_A_CLIENT,
        told="Brokers and Java clients of 4.0.0 and later are safe together, at transaction.version 2 (KIP-890 part "
        "2, KAFKA-14562). librdkafka does not have it: its issue 5423 is open and planned.",
        sources=("KIP-890", "KAFKA-14562, e14a81b4b2", "librdkafka issue 5423"),
        on="2026-11-23",
        looked_at="4.4.0",
    ),
    credit="Jepsen found it, testing Bufstream 0.1.0 (Jepsen, Bufstream 0.1.0, 2024)",
    code="TransactionCoordinator.endTransaction knows a request by its producer id and epoch alone. Below "
    "transaction.version 2, or below version 5 of EndTxn, the epoch stays the same from one transaction "
    "to the next, so a request that comes late ends the one that is ongoing then.",
    log_patterns=("Initialized transactionalId", "Creating new marker queue"),
)
ASKED_AGAIN_SOON = {"socket.timeout.ms": "3000", "transaction.timeout.ms": "600000"}
JAVA_ASKED_AGAIN_SOON = {"request.timeout.ms": "3000", "transaction.timeout.ms": "600000"}
ONE_BROKER = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
LATE_S = 60.0
OWN_TIMEOUTS_LIMIT_S = 90.0
"""More than request.timeout.ms of the Java client, 30 s, twice."""
TORN = Documented(
    on=KAFKA_17754.affected,
    required=HALF | SKIPPED_IN_A_POLL,
    source=KAFKA_17754.id,
    basis=Basis.JIRA,
)


def late(run: Run, settings: Mapping[str, str], torn: VersionRange = ranges.EVERY_VERSION) -> None:
    """The request to abort a transaction is delayed, and arrives in the next one, which is `torn` on some versions."""
    one, two, leader, coordinator = halves(run, settings)
    with aborting(run, one):
        run.delay_clients(coordinator)
    with run.transaction() as last:
        last.send(one)
        before, _ = run.log_end_and_high_watermark(leader, one)
        run.heal_network()
        run.wait_delivered()
        if torn.holds(run.version):
            run.wait_files(
                "the late request has been carried out: another marker is there",
                lambda: run.log_end_and_high_watermark(leader, one)[0] > before,
                lambda: str(run.log_end_and_high_watermark(leader, one)),
                LATE_S,
            )
        last.send(two)
    read_all(run, one, two, last, records=5 if torn.holds(run.version) else 6)


def in_time(run: Run, settings: Mapping[str, str]) -> None:
    """Nothing is late."""
    one, two, leader, _ = halves(run, settings)
    with aborting(run, one):
        pass
    with run.transaction() as last:
        last.send(one)
        run.log_end_and_high_watermark(leader, one)
        run.heal_network()
        last.send(two)
    read_all(run, one, two, last, records=6)


def halves(run: Run, settings: Mapping[str, str]) -> tuple[Partition, Partition, Target, Target]:
    """Two partitions with a record each, their leader, which is another broker than the coordinator where there is
    one, and the coordinator of the producer, which has had one transaction.
    """
    with run.transaction(settings=settings) as first:
        first.send(run.partition())
    coordinator = run.leader_of(STATE)
    others = [one for one in run.replicas_of(run.partition()) if one.id != coordinator.id]
    placed = (*others, coordinator)
    ids = tuple(one.id for one in placed)
    run.create_topic(TopicPlan(name="halves", replicas=(ids, ids)))
    one, two = Partition("halves", 0), Partition("halves", 1)
    run.send(one)
    run.send(two)
    return one, two, placed[0], coordinator


@contextmanager
def aborting(run: Run, t: Partition) -> Iterator[None]:
    """A transaction that sends a record and is aborted after the block. What its own marker adds has been written
    before the next transaction's record is taken.
    """
    with run.transaction(commit=False, timeout_s=OWN_TIMEOUTS_LIMIT_S) as aborted:
        aborted.send(t)
        yield
    run.require("the transaction is aborted", aborted.ended is not None and aborted.ended.outcome == "ok")


def read_all(run: Run, one: Partition, two: Partition, last: OpenTransaction, *, records: int) -> None:
    """The last transaction is committed, and so many records are read."""
    run.require("the commit is acknowledged", last.ended is not None and last.ended.outcome == "ok")
    run.send(one)
    run.send(two)
    with run.consume(one, committed_only=True) as consumer:
        consumer.wait_read(records, timeout_s=60)


scenario(
    name="museum-late-end",
    claim="""Half of a transaction is lost although its commit was acknowledged. A late packet of the transaction before
        had aborted that half, without an error.""",
    source="KAFKA-17754, KIP-890",
    operator="""No release of librdkafka has a fix (its issue 5423). Java clients of 4.0 and later with brokers of 4.0
        and later, at transaction.version 2, are safe. With others, check after a commit that was requested twice that
        all its records are readable.""",
    needs=["transactions"],
    exhibit=Exhibit(
        bug=KAFKA_17754,
        affected=("2.8.2", "3.9.2-kraft", "4.3.1"),
        fixed=("4.3.1",),
        fixed_case="java",
        fixed_with="with the Java client 4.3.1",
    ),
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(brokers=(1,), controller=1, settings=ONE_BROKER),
    topic=TopicPlan(replicas=((1,),)),
    cases={
        "default": Case(steps=partial(late, settings=ASKED_AGAIN_SOON), documented=[TORN]),
        "java": Case(
            steps=partial(late, settings=JAVA_ASKED_AGAIN_SOON, torn=ranges.TRANSACTIONS_KEEP_THE_EPOCH),
            client="java",
            documented=[
                Documented(
                    on=ranges.TRANSACTIONS_RAISE_THE_EPOCH,
                    sentence="The late request names an epoch that is over, and is refused: all of it is read.",
                    source="KIP-890: the epoch rises with each transaction",
                    basis=Basis.KIP,
                ),
                TORN,
            ],
        ),
        "java-older": Case(
            steps=partial(late, settings=JAVA_ASKED_AGAIN_SOON),
            client="java-3.9.2",
            applies=ranges.TRANSACTIONS_RAISE_THE_EPOCH,
            documented=[TORN],
        ),
        "replicated": Case(
            steps=partial(late, settings=ASKED_AGAIN_SOON), replicas=THREE, cluster=IN_PRODUCTION, documented=[TORN]
        ),
        "java-defaults": Case(
            steps=partial(late, settings={}),
            client="java-3.9.2",
            replicas=THREE,
            cluster=IN_PRODUCTION,
            documented=[TORN],
        ),
        "in-time": Case(
            steps=partial(in_time, settings=ASKED_AGAIN_SOON),
            documented=[
                Documented(
                    sentence="No request is late, and the whole transaction is read.",
                    source="KIP-98",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
