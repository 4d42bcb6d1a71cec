"""How far readers of committed records may read while transactions are open (KIP-98, KIP-101's third offset).

A partition's leader keeps the last stable offset: the first offset of the oldest transaction that is open there, or the
high watermark if none is. read_committed readers get no record from there on, of any producer. Here one transaction is
opened, records without a transaction follow it, and a second transaction is committed behind it. The last stable offset
stays where the first one began. It moves to the high watermark when the first one ends.

The first one ends in three ways: its producer commits it, its producer aborts it, or its producer says nothing for
longer than transaction.timeout.ms, and the transaction coordinator aborts it.
"""

from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, OpenTransaction, Partition, Run, ranges, scenario

LOOK_S = 2.0
"""Two answers or more while nothing is written."""
RELEASED_S = 30.0
TIME_OUT = {"transaction.timeout.ms": "15000", "message.timeout.ms": "15000"}
"""Longer than the steps that need the transaction open."""
INTERVAL = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
PATIENT = {"transaction.timeout.ms": "120000"}
FIRST_READ = 3
"""Records before the first transaction."""
IN_ALL = 6
"""Committed and plain records, without those of the first transaction."""


def hold_back(run: Run, t: Partition, first: OpenTransaction) -> None:
    """A record of the first transaction; behind it plain records and those of a committed transaction."""
    first.send(t)
    run.send(t, 2)
    with run.transaction("second", settings=PATIENT) as second:
        second.send(t)
    run.watch_ends(t, LOOK_S)


def begin(run: Run, t: Partition) -> None:
    """Records before the first transaction, one of them of a transaction: its producer is at work from then on, and the
    first transaction is not open for as long as a process takes to start.
    """
    run.send(t, 2)
    with run.transaction("second", settings=PATIENT) as second:
        second.send(t)
    run.watch_ends(t, LOOK_S)


def end_by_producer(run: Run, *, commit: bool) -> None:
    """The first transaction's producer ends it."""
    t = run.partition()
    begin(run, t)
    with run.consume(t, committed_only=True) as reader:
        reader.wait_read(FIRST_READ, timeout_s=RELEASED_S)
        with run.transaction("first", commit=commit, settings=PATIENT) as first:
            hold_back(run, t, first)
        reader.wait_read(IN_ALL + (1 if commit else 0), timeout_s=RELEASED_S)
    run.watch_ends(t, LOOK_S)


def end_by_time_out(run: Run) -> None:
    """The first transaction's producer stays silent, and is refused when it comes to commit."""
    t = run.partition()
    begin(run, t)
    with run.consume(t, committed_only=True) as reader:
        reader.wait_read(FIRST_READ, timeout_s=RELEASED_S)
        with run.transaction("first", settings=TIME_OUT) as first:
            hold_back(run, t, first)
            reader.wait_read(IN_ALL, timeout_s=2 * RELEASED_S)
        refused = first.ended is not None and first.ended.outcome != "ok"
        run.claim("a commit after the time-out is refused", refused, witness="clients", ended=str(first.ended))
    run.watch_ends(t, LOOK_S)


HELD = ("last-stable-offset-at-first-open", "last-stable-offset-released", "committed-reader-waits")

scenario(
    name="last-stable-offset",
    claim="""While a transaction is open, read_committed readers get no record, of any producer, from its first record
        on. Its commit, its abort or its time-out lets them read up to the high watermark.""",
    source="KIP-98: last stable offset; Kafka documentation, consumer configuration: isolation.level",
    operator="""One forgotten transaction blocks every read_committed reader of its partitions for
        transaction.timeout.ms (a minute by default) and until the coordinator's next check. Keep transactions short,
        set the time-out close to what they need, and monitor the last stable offset beside the high watermark.""",
    needs=["transactions"],
    cluster=ClusterPlan(brokers=(1, 2, 3), controller=4, settings={INTERVAL: "2000"}),
    applies=ranges.TRANSACTIONS,
    cases={
        "committed": Case(
            steps=partial(end_by_producer, commit=True),
            documented=[Documented(claims=HELD, source="KIP-98: last stable offset", basis=Basis.KIP)],
        ),
        "aborted": Case(
            steps=partial(end_by_producer, commit=False),
            documented=[
                Documented(
                    claims=HELD,
                    sentence="""After the abort readers continue, and they do not get the transaction's records.""",
                    source="KIP-98: last stable offset",
                    basis=Basis.KIP,
                )
            ],
        ),
        "timed-out": Case(
            steps=end_by_time_out,
            documented=[
                Documented(
                    claims=[*HELD, "silent-transaction-aborted-in-time"],
                    sentence="""The coordinator aborts the transaction when it times out. Readers continue, and the
                        coordinator refuses the producer's commit.""",
                    source="KIP-98: transaction.timeout.ms",
                    basis=Basis.KIP,
                )
            ],
        ),
    },
)
