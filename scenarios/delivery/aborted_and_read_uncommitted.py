"""Aborted records are in the log, and the reader's isolation.level decides whether it gets them (KIP-98).

Brokers write the records of a transaction at once, and a marker when it ends. A reader under read_uncommitted, which is
the default of Java's consumers, gets each record as soon as it is replicated: those of an open transaction, and those
of one that is aborted. A reader under read_committed gets nothing of a transaction before its end, and nothing at all
if it is aborted. Neither gets the markers.

Both kinds of reader are at work while a transaction is aborted, and another one is committed behind it. The first one
is aborted by its producer. Or another process begins with its transactional.id: the coordinator aborts what the first
process has open, and refuses its commit.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Basis, Case, Documented, OpenTransaction, Partition, Run, ranges, scenario

ISOLATION = "Kafka documentation, consumer configuration: isolation.level"
EVERYTHING = {"isolation.level": "read_uncommitted"}
ABORTED, COMMITTED = 3, 2
"""Records of each transaction."""
LIMIT_S = 60.0
Abort = Callable[[Run, Partition, Callable[[OpenTransaction], None]], None]
"""How a transaction is begun, worked in, and aborted."""


def by_producer(run: Run, _t: Partition, work: Callable[[OpenTransaction], None]) -> None:
    """Its producer aborts it."""
    with run.transaction("one", commit=False) as transaction:
        work(transaction)


def by_next_process(run: Run, t: Partition, work: Callable[[OpenTransaction], None]) -> None:
    """Another process begins with its transactional.id, and commits a record of its own."""
    with run.transaction("one") as transaction:
        work(transaction)
        with run.transaction("the next process", settings={"transactional.id": "one"}) as following:
            following.send(t, 1)
    refused = transaction.ended is not None and transaction.ended.outcome != "ok"
    run.claim("the first process cannot commit", refused, ended=str(transaction.ended))


def abort(run: Run, aborted: Abort, others: int = 0) -> None:
    """One transaction is aborted, and one is committed behind it. `others`: records committed beside them."""
    t = run.partition()
    with run.consume(t, settings=EVERYTHING) as everything, run.consume(t, committed_only=True) as committed:

        def work(transaction: OpenTransaction) -> None:
            transaction.send(t, ABORTED)
            read = everything.wait_read(ABORTED, timeout_s=LIMIT_S).records
            run.claim("read_uncommitted gets the records of an open transaction", read == ABORTED, read=read)

        aborted(run, t, work)
        with run.transaction("another") as transaction:
            transaction.send(t, COMMITTED)
        committed.wait_read(COMMITTED + others, timeout_s=LIMIT_S)
        everything.wait_read(ABORTED + COMMITTED + others, timeout_s=LIMIT_S)
        run.watch_ends(t, 2)
        of_all, of_committed = everything.stop().records, committed.stop().records
    run.claim("read_uncommitted has all records", of_all == ABORTED + COMMITTED + others, read=of_all)
    run.claim(
        "read_committed has those of committed transactions", of_committed == COMMITTED + others, read=of_committed
    )


DOCUMENTED = [Documented(claims=["last-stable-offset-released"], source=f"KIP-98; {ISOLATION}", basis=Basis.KIP)]

scenario(
    name="aborted-and-read-uncommitted",
    claim="""A reader under read_uncommitted gets the records of transactions that are open or aborted. A reader under
        read_committed gets only those of committed transactions.""",
    source=f"KIP-98; {ISOLATION}",
    operator="""Set isolation.level=read_committed in every consumer of a topic that transactions write to, tools and
        mirrors included: Java's default is read_uncommitted, librdkafka's is read_committed.""",
    applies=ranges.TRANSACTIONS,
    needs=["transactions"],
    cases={
        f"{prefix}{name}": Case(client=client, steps=steps, documented=DOCUMENTED)
        for prefix, client in (("", "librdkafka"), ("java-", "java"))
        for name, steps in (
            ("by-producer", partial(abort, aborted=by_producer)),
            ("by-next-process", partial(abort, aborted=by_next_process, others=1)),
        )
    },
)
