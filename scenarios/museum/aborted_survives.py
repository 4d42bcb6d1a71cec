"""Compaction in two passes permanently turns aborted data into committed data (KAFKA-13727).

The log cleaner keeps the newest record of each key, and leaves out records of aborted transactions. It works in passes,
each as far as its map of keys has room. Until 2.8.2 and 3.0.2, a pass whose map was full in the middle of a segment
rewrote the whole segment. But it put only the transactions up to the end of the map into the segment's index of aborted
transactions. The later ones no longer count as aborted, so read_committed readers get their records. The next pass
reads that segment again, takes these records for the newest of their keys, and removes the committed ones.

Here the map has room for some 25 keys. A committed record has the key "account", sixty follow with other keys, and then
a transaction that writes to "account" and is aborted. With the defaults the map has room for five million keys, so a
topic needs that many between two passes.
"""

from harness.words import (
    LOST,
    Basis,
    Border,
    Bug,
    ClusterPlan,
    Documented,
    Exhibit,
    Run,
    Side,
    TopicPlan,
    ranges,
    scenario,
)

KAFKA_13727 = Bug(
    id="KAFKA-13727",
    title="compaction makes an aborted record the committed one of its key, and removes the committed record",
    touches="transactions on compacted topics",
    whom="compacted topics that transactions write to, with more keys than one pass of the cleaner can hold",
    since=Border(
        "0.11.0.0",
        "KIP-98",
        Side("0.10.2.2", "there are no transactions"),
        Side(
            "0.11.0.0",
            "Cleaner.cleanSegments collects the aborted ones of the last segment up to map.latestOffset, and "
            "copies all of it",
        ),
    ),
    fixed=("2.8.2", "3.0.2", "3.1.1", "3.2.0"),
    commits=("76d287c9677", "18cb82a3d50"),
)
KEY = "account"
OTHERS = 60
SEGMENT_S = 15.0
CLEANED_LIMIT_S = 90.0


@scenario(
    name="museum-aborted-survives",
    claim="""In a compacted topic a record of an aborted transaction permanently replaces the committed record of
        its key, for all readers.""",
    source="KAFKA-13727, KIP-98",
    operator="""If transactions write to compacted topics, set log.cleaner.dedupe.buffer.size so that the cleaner's map
        holds all keys between two passes (24 bytes for each key and thread).""",
    needs=["transactions"],
    exhibit=Exhibit(bug=KAFKA_13727, affected=("2.2.2",), fixed=("2.8.2",)),
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(
        settings={
            "log.cleaner.dedupe.buffer.size": "1500000",
            "log.cleaner.io.buffer.load.factor": "0.0004",
            "log.cleaner.backoff.ms": "1000",
        }
    ),
    topic=TopicPlan(
        replicas=((1,),),
        settings={"cleanup.policy": "compact", "segment.ms": "15000", "min.cleanable.dirty.ratio": "0.01"},
    ),
    documented=[
        Documented(
            on=KAFKA_13727.affected,
            required=LOST | {"aborted-read"},
            source=KAFKA_13727.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_13727.unaffected,
            sentence="The aborted record is removed, and the committed one of its key stays, in any number of passes.",
            source=KAFKA_13727.id,
            basis=Basis.JIRA,
        ),
    ],
)
def aborted_survives(run: Run) -> None:
    t = run.partition()
    (broker,) = run.replicas_of(t)
    affected = KAFKA_13727.affects(run.version)
    run.send(t, expected_loss=affected, key=KEY)
    for number in range(OTHERS):
        run.send(t, key=f"other-{number}")
    with run.transaction(commit=False) as transaction:
        transaction.send(t, key=KEY)
    run.require("it is aborted", transaction.ended is not None and transaction.ended.outcome == "ok")
    run.copy_replicas("aborted")

    run.let_pass(SEGMENT_S + 1, "the segment is old enough to be closed by the next record")
    for number in range(3):
        run.send(t, key=f"later-{number}")
    run.wait_cleaned(t, OTHERS + 1, [broker], CLEANED_LIMIT_S)
    if affected:
        first = (0, 0)
        run.wait_files(
            "the committed record of the key is lost",
            lambda: first not in run.batches_of(broker, t),
            lambda: str(run.batches_of(broker, t)[:3]),
            CLEANED_LIMIT_S,
        )
    with run.consume(t, committed_only=True) as consumer:
        consumer.wait_read(OTHERS + 4, timeout_s=60)
