"""How far a reader of what is committed may read: to the first record of an open transaction (KIP-98).

A transaction is open, and records that are part of none come after it. Readers at read_uncommitted are given all of
them. Readers at read_committed are given nothing from the transaction's first record on, though what comes after it is
committed: the leader tells them the last stable offset as the end. When the transaction is committed, or aborted, they
go on. If its producer says nothing more the coordinator aborts it after transaction.timeout.ms, and the producer is
refused when it comes back.
"""

from functools import partial

from harness.words import Basis, Case, Documented, Partition, Run, ranges, scenario

KIP_98 = "KIP-98"
BEFORE, WITHIN, AFTER = 3, 2, 3
WATCHED_S = 2.0
LIMIT_S = 180.0
"""Brokers before 1.1 look for transactions that take too long once a minute."""
SHORT = {"transaction.timeout.ms": "20000", "message.timeout.ms": "20000"}


def ended(run: Run, *, commit: bool) -> None:
    """The producer ends its transaction."""
    t = run.partition()
    run.send(t, BEFORE)
    with run.transaction(commit=commit) as transaction:
        held_back(run, t, transaction.send(t, WITHIN)[0].offset)
    released(run, t, BEFORE + AFTER + (WITHIN if commit else 0))


def timed_out(run: Run) -> None:
    """The coordinator ends it, and refuses the producer's commit."""
    t = run.partition()
    run.send(t, BEFORE)
    with run.transaction(settings=SHORT) as transaction:
        held_back(run, t, transaction.send(t, WITHIN)[0].offset)
        released(run, t, BEFORE + AFTER)
    refused = transaction.ended is not None and transaction.ended.outcome != "ok"
    run.claim("the commit of a transaction that was aborted is refused", refused)


def held_back(run: Run, t: Partition, first: int | None) -> None:
    """Records come after an open transaction: readers of what is committed are held back at its first one."""
    run.send(t, AFTER)
    ends = run.watch_ends(t, WATCHED_S)
    run.require("the leader says how far may be read", ends is not None)
    assert ends is not None
    stable, high = ends.last_stable_offset, ends.high_watermark
    run.claim("the end of what is committed is the transaction's first record", stable == first, end=stable)
    run.claim("the high watermark is beyond it", high == BEFORE + WITHIN + AFTER, high_watermark=high)


def released(run: Run, t: Partition, records: int) -> None:
    """A reader of what is committed is given all that is."""
    with run.consume(t, committed_only=True) as reader:
        reader.wait_read(records, timeout_s=LIMIT_S)
    ends = run.watch_ends(t, 0.0)
    run.require("the leader says how far may be read", ends is not None)
    assert ends is not None
    run.claim("nothing is held back", ends.last_stable_offset == ends.high_watermark, end=ends.last_stable_offset)


DOCUMENTED = [Documented(source=KIP_98, basis=Basis.KIP)]

scenario(
    name="last-stable-offset",
    claim="""Readers of what is committed are given nothing from the first record of an open transaction on, and
        everything once it is committed, aborted, or timed out.""",
    source=KIP_98,
    operator="""One producer that leaves a transaction open holds up all readers of its partitions that read what is
        committed. Keep transaction.timeout.ms short, and watch the lag of such readers against the high watermark.""",
    applies=ranges.TRANSACTIONS,
    cases={
        "committed": Case(steps=partial(ended, commit=True), documented=DOCUMENTED),
        "aborted": Case(steps=partial(ended, commit=False), documented=DOCUMENTED),
        "timed-out": Case(steps=timed_out, documented=DOCUMENTED),
    },
)
