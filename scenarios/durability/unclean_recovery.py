"""How much a broker reads of its logs before it is back after a kill (Kafka documentation, Design: log recovery,
Operations: graceful shutdown).

A broker that was stopped cleanly has left a mark, and starts at once. Without the mark it checks every batch of each
log from the recovery point on: up to there all was flushed. A segment is flushed when the next one begins, but the file
that says so is written once a minute (log.flush.offset.checkpoint.interval.ms). So what is read after a kill is not the
log, however large, nor the last segment alone: it is what was begun since the file was written, and in the first minute
everything.

How long that takes is told by the broker, and stands in the table of durations: of a log of 10 MB and of one of 100,
with all of it to be read and with the last segment alone. Each segment must be opened as well, read or not.
"""

from harness.words import Case, Documented, Run, TopicPlan, scenario

RECORDS = 1000
RECORD_BYTES = 10_000
RATE_PER_S = 200
LARGER = 10
"""So many times as many records, as fast as they go, are in the cases with a larger log."""
LARGE = "100-mb"
SEGMENT_BYTES = 1 << 20
"""The least that a topic may have from 4.0 on; ten segments in the smaller log."""
FEWEST = 5
"""So many of them at least are known to be flushed in the case with checkpoints."""
LIMIT_S = 90.0
LARGE_LIMIT_S = 180.0
INTERVAL = "log.flush.offset.checkpoint.interval.ms"
BEGINS = "recovery-begins-at-recovery-point"
NEVER = {INTERVAL: "3600000"}
EACH_SECOND = {INTERVAL: "1000"}
EVERYTHING = [
    Documented(
        claims=[BEGINS],
        says="No recovery point was written: the broker reads every segment, flushed or not.",
    )
]
THE_LAST = [
    Documented(
        claims=[BEGINS],
        says="The broker reads the last segment, and what was not flushed when the file was last written.",
    )
]


@scenario(
    name="unclean-recovery",
    claim="""After a kill a broker reads its logs from the checkpointed recovery point on, which is up to a minute old;
        after a clean stop it reads nothing.""",
    source="""Kafka documentation, Design: log recovery, broker configuration: log.flush.offset.checkpoint.interval.ms,
        num.recovery.threads.per.data.dir""",
    operator="""Stop brokers cleanly. What a crash costs is not the size of the logs but what was written in the minute
        before, and one segment for each partition: many partitions with large segments start slowly. Raise
        num.recovery.threads.per.data.dir; a lower log.flush.offset.checkpoint.interval.ms costs little.""",
    topic=TopicPlan(settings={"segment.bytes": str(SEGMENT_BYTES)}),
    cases={
        "clean-stop": Case(documented=[Documented(claims=["clean-stop-recovers-nothing"])]),
        "killed": Case(settings=NEVER, documented=EVERYTHING),
        "killed-checkpointed": Case(settings=EACH_SECOND, documented=THE_LAST),
        f"killed-{LARGE}": Case(settings=NEVER, variant=LARGE, documented=EVERYTHING),
        f"killed-checkpointed-{LARGE}": Case(settings=EACH_SECOND, variant=LARGE, documented=THE_LAST),
    },
)
def unclean_recovery(run: Run) -> None:
    t = run.partition()
    follower, _ = run.followers_of(t)
    large = run.case.variant == LARGE
    records = RECORDS * LARGER if large else RECORDS
    with run.load(t, records=records, rate_per_s=None if large else RATE_PER_S, record_bytes=RECORD_BYTES) as load:
        load.wait_acked(records, timeout_s=LARGE_LIMIT_S if large else LIMIT_S)
    run.wait_log_end(t, run.log_end_and_high_watermark(run.leader_of(t), t)[0], [follower])
    if run.case.settings == EACH_SECOND:
        flushed = records * RECORD_BYTES // 2 if large else FEWEST * SEGMENT_BYTES
        run.wait_recovery_point(t, flushed // RECORD_BYTES, follower)
    (run.stop if run.case.name == "clean-stop" else run.kill)(follower)
    run.copy_replicas("down")
    run.read_checkpoints(follower)
    run.start(follower)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)
