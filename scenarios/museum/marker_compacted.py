"""A key that looks like a transaction's marker makes a committed record vanish on the next leader (KAFKA-14055).

A transaction's marker is a record with a key of four bytes: 00000001 for a commit, 00000000 for an abort. Users' keys
may be the same, for instance the integers 1 and 0. Until 3.0.2, 3.1.2 and 3.2.1 the log cleaner looked for markers in
its map of users' keys: a record with the key 00000001 supersedes every earlier commit marker, and the cleaner removes
it.

Readers of that replica do not notice, because it knows which transactions were aborted. A replica that is rebuilt from
its log does not know it. There the transaction is open until its producer's next marker, and takes the outcome of that
marker. Here that is an abort: read_committed readers do not get the committed record, and the next compaction removes
it.
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

KAFKA_14055 = Bug(
    id="KAFKA-14055",
    title="a committed record vanishes when the leader moves, because another record's key is the integer 1 or 0",
    touches="transactions on compacted topics",
    whom="compacted topics that transactions write to, with integers as keys",
    since=Border(
        "0.11.0.0",
        "KIP-98",
        Side("0.10.2.2", "there are no markers"),
        Side("0.11.0.0", "Cleaner.shouldRetainRecord looks a marker's key up in the map of users' keys"),
    ),
    fixed=("3.0.2", "3.1.2", "3.2.1"),
    commits=("0bc8da7aec8", "b29cb162e3c", "abee38c4bcd", "77230b567ab"),
)
COMMIT_MARKER = "\x00\x00\x00\x01"
SEGMENT_S = 12.0
CLEANED_LIMIT_S = 60.0
MARKER = (1, 1)


@scenario(
    name="museum-marker-compacted",
    claim="""After a leader was moved to a new replica, a record that a transaction had committed long before is lost,
        because another record of the compacted topic has the integer 1 as its key.""",
    source="KAFKA-14055, KIP-98",
    operator="""In compacted topics that transactions write to, do not use keys of four bytes that are 0 or 1. An
        integer serializer writes such keys.""",
    needs=["transactions"],
    exhibit=Exhibit(bug=KAFKA_14055, affected=("2.8.2",), fixed=("3.9.2-zk",)),
    applies=ranges.TRANSACTIONS,
    cluster=ClusterPlan(settings={"log.cleaner.backoff.ms": "1000"}),
    topic=TopicPlan(
        replicas=((1,),),
        settings={"cleanup.policy": "compact", "segment.ms": "12000", "min.cleanable.dirty.ratio": "0.01"},
    ),
    documented=[
        Documented(
            on=KAFKA_14055.affected,
            required=LOST,
            source=KAFKA_14055.id,
            basis=Basis.JIRA,
        ),
        Documented(
            on=KAFKA_14055.unaffected,
            sentence="Markers are kept as long as their transaction has a record in the log.",
            source=KAFKA_14055.id,
            basis=Basis.JIRA,
        ),
    ],
)
def marker_compacted(run: Run) -> None:
    t = run.partition()
    (old,) = run.replicas_of(t)
    new = run.without(t)[0]
    affected = KAFKA_14055.affects(run.version)
    with run.transaction("first", expected_loss=affected) as first:
        first.send(t, key="account")
    run.require("it is committed", first.ended is not None and first.ended.outcome == "ok")
    run.wait_log_end(t, 2, [old])
    with run.transaction("second") as second:
        second.send(t, key=COMMIT_MARKER)
    run.require("so is the other", second.ended is not None and second.ended.outcome == "ok")
    run.wait_log_end(t, 4, [old])

    roll(run)
    run.wait_cleaned(t, 4, [old], CLEANED_LIMIT_S)
    if affected:
        run.wait_files(
            "the first transaction's marker is removed",
            lambda: MARKER not in run.batches_of(old, t),
            lambda: str(run.batches_of(old, t)),
            CLEANED_LIMIT_S,
        )
    with run.transaction("first", commit=False) as aborted:
        aborted.send(t, key="another")
    run.require("its next one is aborted", aborted.ended is not None and aborted.ended.outcome == "ok")
    run.copy_replicas("compacted")

    run.reassign(t, [new, old])
    run.wait_reassigned(t)
    run.elect_preferred_leader(t)
    run.wait_leader(t, new)
    with run.consume(t, committed_only=True) as consumer:
        consumer.wait_read(2 if affected else 3, timeout_s=60)
    roll(run)
    if affected:
        run.wait_files(
            "the record is lost on the new leader",
            lambda: (0, 0) not in run.batches_of(new, t),
            lambda: str(run.batches_of(new, t)),
            CLEANED_LIMIT_S,
        )


def roll(run: Run) -> None:
    """Close the segment: by a record that comes when it is old enough, with a key of its own."""
    t = run.partition()
    run.let_pass(SEGMENT_S + 1, "the segment is old enough to be closed by the next record")
    end, _ = run.log_end_and_high_watermark(run.leader_of(t), t)
    run.send(t, key=f"roll-{end}")
