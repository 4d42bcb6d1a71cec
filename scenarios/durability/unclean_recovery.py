"""How much a broker reads of its logs before it is back after a kill (Kafka documentation, Design: log recovery,
Operations: graceful shutdown).

A broker that was stopped cleanly has left a mark, and starts at once. Without the mark it checks every batch of each
log from the recovery point on, because the log below that was flushed. A segment is flushed when the next one begins,
but the file of recovery points is written once a minute (log.flush.offset.checkpoint.interval.ms). So after a kill the
broker reads neither the whole log nor the last segment alone. It reads the segments begun since the file was written,
and in the first minute every segment.

The broker logs how long that takes, and the table of durations has it. It compares logs of 10 MB and of 100 MB, when
all of it is read and when only the last segment is. The broker also opens each segment, read or not.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Basis, Case, Documented, Run, Target, TopicPlan, scenario

RECORDS = 1000
RECORD_BYTES = 10_000
RATE_PER_S = 200
LARGER = 10
"""The cases with a larger log have this many times as many records, sent as fast as possible."""
SEGMENT_BYTES = 1 << 20
"""The minimum for a topic from 4.1 on; ten segments in the smaller log."""
FEWEST = 5
"""So many of them at least are known to be flushed in the case with checkpoints."""
HALF = RECORDS * LARGER * RECORD_BYTES // 2
"""Of the larger log."""
LIMIT_S = 90.0
LARGE_LIMIT_S = 180.0
INTERVAL = "log.flush.offset.checkpoint.interval.ms"
BEGINS = "recovery-begins-at-recovery-point"
NEVER = {INTERVAL: "3600000"}
EACH_SECOND = {INTERVAL: "1000"}
EVERYTHING = [
    Documented(
        claims=[BEGINS],
        sentence="No recovery point was written: the broker reads every segment, flushed or not.",
        source="Kafka documentation, broker configuration: log.flush.offset.checkpoint.interval.ms",
        basis=Basis.DOCUMENTATION,
    )
]
THE_LAST = [
    Documented(
        claims=[BEGINS],
        sentence="The broker reads the last segment, and all that was not flushed when the file was last written.",
        source="Kafka documentation, broker configuration: log.flush.offset.checkpoint.interval.ms",
        basis=Basis.DOCUMENTATION,
    )
]


def clean_stop(run: Run) -> None:
    """A follower is stopped cleanly."""
    write_slowly(run)
    end_and_return(run, Run.stop)


def killed(run: Run, write: Callable[[Run], None]) -> None:
    """A follower is killed that has written no recovery point."""
    write(run)
    end_and_return(run, Run.kill)


def killed_checkpointed(run: Run, write: Callable[[Run], None], flushed_bytes: int) -> None:
    """A follower is killed whose recovery point covers at least this much of the log."""
    write(run)
    run.wait_recovery_point(run.partition(), flushed_bytes // RECORD_BYTES, run.followers_of(run.partition())[0])
    end_and_return(run, Run.kill)


def write_slowly(run: Run) -> None:
    """Ten megabytes, in some seconds."""
    write(run, RECORDS, RATE_PER_S, LIMIT_S)


def write_much(run: Run) -> None:
    """A hundred, as fast as they go."""
    write(run, RECORDS * LARGER, None, LARGE_LIMIT_S)


def write(run: Run, records: int, rate_per_s: int | None, timeout_s: float) -> None:
    """So many records, until a follower has them."""
    t = run.partition()
    with run.load(t, records=records, rate_per_s=rate_per_s, record_bytes=RECORD_BYTES) as load:
        load.wait_acked(records, timeout_s=timeout_s)
    follower, _ = run.followers_of(t)
    run.wait_log_end(t, run.log_end_and_high_watermark(run.leader_of(t), t)[0], [follower])


def end_and_return(run: Run, end: Callable[[Run, Target], None]) -> None:
    """The follower ends, and is started again."""
    t = run.partition()
    follower, _ = run.followers_of(t)
    end(run, follower)
    run.copy_replicas("down")
    run.read_checkpoints(follower)
    run.start(follower)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t)


scenario(
    name="unclean-recovery",
    claim="""After a kill a broker reads its logs again from the checkpointed recovery point on, which is up to a minute
        old. After a clean stop it reads nothing.""",
    source="""Kafka documentation, Design: log recovery, broker configuration: log.flush.offset.checkpoint.interval.ms,
        num.recovery.threads.per.data.dir""",
    operator="""Stop brokers cleanly. The time to recover from a crash does not depend on the size of the logs. It
        depends on the data written in the minute before, and on one segment for each partition. Many partitions with
        large segments start slowly. Raise num.recovery.threads.per.data.dir; a lower
        log.flush.offset.checkpoint.interval.ms costs little.""",
    topic=TopicPlan(settings={"segment.bytes": str(SEGMENT_BYTES)}),
    cases={
        "clean-stop": Case(
            steps=clean_stop,
            documented=[
                Documented(
                    claims=["clean-stop-recovers-nothing"],
                    source="Kafka documentation, Graceful shutdown",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "killed": Case(steps=partial(killed, write=write_slowly), settings=NEVER, documented=EVERYTHING),
        "killed-checkpointed": Case(
            steps=partial(killed_checkpointed, write=write_slowly, flushed_bytes=FEWEST * SEGMENT_BYTES),
            settings=EACH_SECOND,
            documented=THE_LAST,
        ),
        "killed-100-mb": Case(steps=partial(killed, write=write_much), settings=NEVER, documented=EVERYTHING),
        "killed-checkpointed-100-mb": Case(
            steps=partial(killed_checkpointed, write=write_much, flushed_bytes=HALF),
            settings=EACH_SECOND,
            documented=THE_LAST,
        ),
    },
)
