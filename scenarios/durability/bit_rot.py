"""A disk changes one bit of what a broker wrote (Kafka documentation, Message Format: CRC; Design: log recovery).

Each batch has a checksum, and it is checked where a batch comes in over the network: by the leader, by each follower
and by a consumer. It is not checked where a batch goes out: a leader sends what the file has. Nor does a broker read
again what it has written, but for one case: after a kill it checks every batch from the recovery point on, and cuts
the log at the first that is damaged.

So a bit that is flipped in a closed segment stays where it is. On a follower nobody notices. On the leader the reader
is given an error in place of the record, which two other replicas still have: with format 2 it comes no further, with
older ones it goes on behind it. A follower that has to begin anew
fetches the damaged batch, refuses it, and comes no further: it takes another leader to fill it. What mends the damaged
replica is a blank disk, or a kill: recovery cuts the log, and what it has cut is fetched again.

An index has no checksum. With one bit flipped, a fetch from the middle of a closed segment is looked for beyond its end
and answered from the next segment, without an error. A follower that was away takes that for a gap, as compaction makes
one, and joins the ISR without the records; when it leads, they are lost.
"""

import time
from collections.abc import Callable
from functools import partial

from harness.words import (
    LOST,
    Basis,
    Case,
    ClusterPlan,
    Documented,
    Partition,
    Run,
    Target,
    TopicPlan,
    ranges,
    scenario,
)

SEGMENT_LIMIT_S = 30.0
STRUCK = 2
"""The offset of the record in which a bit is flipped."""
FIRST_MISSING = 3
"""The offset that a follower asks for when it is back."""
CHECKED_AS_THEY_COME = (
    "Log.append (0.10.2.2, 2.8.2), UnifiedLog.append (3.9.2, 4.3.1): batches are checked as they come in"
)
STAYS = "damage-stays-on-its-replica"
UNNOTICED = "damage-goes-unnoticed"
TOLD = "reader-is-told-of-damage"
READ_LIMIT_S = 60.0
TOLD_AGAIN = 20
"""So many errors at one place show that a reader does not get over it."""
REFUSES = r"invalid messages|CorruptRecordException|InvalidMessageException|Message found with corrupt|is corrupt"
DAMAGED = frozenset({"corrupt-record"})
DIFFERENT = DAMAGED | {"replica-divergence"}


def read_from_damaged(run: Run) -> None:
    """A consumer reads from a leader with a damaged record, until another replica leads."""
    t = run.partition()
    damaged, others = run.leader_of(t), run.followers_of(t)
    send_and_close(run, t)
    end = 1 + (run.send(t)[-1].offset or 0)
    run.flip_record(damaged, t, STRUCK)
    run.copy_replicas("damaged")
    with run.consume(t) as consumer:
        if ranges.OLD_MESSAGE_FORMATS.holds(run.version):
            consumer.wait_position(*t, end, timeout_s=READ_LIMIT_S)
        else:
            consumer.wait_failures(TOLD_AGAIN, timeout_s=READ_LIMIT_S)
        run.stop(damaged)
        run.wait_leader(t, *others)
        consumer.wait_position(*t, end, timeout_s=READ_LIMIT_S)
    run.start(damaged)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 2)


def damaged_while_up(run: Run) -> None:
    """A bit is flipped in what a running follower wrote long ago."""
    t = run.partition()
    follower, _ = run.followers_of(t)
    send_and_close(run, t)
    run.flip_record(follower, t, STRUCK)
    run.send(t, 2)
    run.copy_replicas("damaged")


def damaged_while_down(run: Run, end: Callable[[Run, Target], None]) -> None:
    """A bit is flipped while a follower is down."""
    t = run.partition()
    follower, _ = run.followers_of(t)
    send_and_close(run, t)
    end(run, follower)
    run.flip_record(follower, t, STRUCK)
    run.copy_replicas("damaged")
    run.start(follower)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 2)


def refilled_from_damaged(run: Run) -> None:
    """A blank follower meets a damaged leader, until another leads and the damaged one is blank itself."""
    t = run.partition()
    damaged = run.leader_of(t)
    blank, healthy = run.followers_of(t)
    send_and_close(run, t)
    run.flip_record(damaged, t, STRUCK)
    run.stop(blank)
    run.wipe(blank)
    run.start(blank)
    run.wait_log_line(blank, REFUSES, "that what it fetches is damaged")
    run.copy_replicas("refused")
    run.stop(damaged)
    run.wait_leader(t, healthy)
    run.wait_isr(t, [healthy, blank])
    run.wipe(damaged)
    run.start(damaged)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 2)


def filled_by_damaged_index(run: Run) -> None:
    """A follower was away, and comes back to a leader with a damaged index; then it leads."""
    t = run.partition()
    damaged = run.leader_of(t)
    away, other = run.followers_of(t)
    run.send(t, FIRST_MISSING)
    run.wait_high_watermark(t, FIRST_MISSING, [away])
    run.stop(away)
    run.wait_isr(t, [damaged, other])
    run.send(t, 3, expected_loss=True)
    close_segment(run, t, [damaged, other])
    logs = (run.cluster.data / damaged.node.name / "kafka" / str(t)).glob("*.log")
    begins = max(base for base in (int(log.stem) for log in logs) if base <= FIRST_MISSING)
    run.require("the follower will ask for the middle of a segment", begins < FIRST_MISSING, begins=begins)
    run.flip_index(damaged, t, FIRST_MISSING)
    run.start(away)
    run.wait_isr(t, run.replicas_of(t))
    run.copy_replicas("filled")
    run.stop(damaged)
    run.wait_leader(t, away)
    run.send(t, 2)


def send_and_close(run: Run, t: Partition) -> None:
    """Six records in a segment that is closed on every replica."""
    run.send(t, 6)
    close_segment(run, t, run.replicas_of(t))


def close_segment(run: Run, t: Partition, replicas: list[Target]) -> None:
    """Wait until the segment has been there for so long that the next record begins another, on each replica."""
    age_s = int(run.topic.settings["segment.ms"]) / 1000
    directories = [run.cluster.data / replica.node.name / "kafka" / str(t) for replica in replicas]
    begun = time.monotonic()
    run.wait_files(
        f"the first segment of {t} is old enough to be closed",
        lambda: time.monotonic() > begun + age_s,
        lambda: "the time",
        SEGMENT_LIMIT_S,
    )
    run.send(t, 2)
    run.wait_files(
        f"the first segment of {t} is closed on every replica",
        lambda: all(len(list(directory.glob("*.log"))) > 1 for directory in directories),
        lambda: ", ".join(
            f"{len(list(directory.glob('*.log')))} on {directory.parts[-3]}" for directory in directories
        ),
        SEGMENT_LIMIT_S,
    )


scenario(
    name="bit-rot",
    claim="""A damaged record stays on the replica that has it: followers and readers refuse it, and nothing else looks
        at it, but for recovery after a kill. A damaged index makes a follower skip records without an error.""",
    source="Kafka documentation, Message Format: CRC, Design: log recovery; Log.read, Log.recoverLog",
    operator="""Kafka does not look for damaged files, and no metric tells of one. If a follower logs that it found
        invalid messages, its leader's disk is bad: make a healthy replica the leader, then give the damaged broker a
        blank disk. Delete index files of a broker whose disk is suspect while it is down: they are made anew.""",
    cluster=ClusterPlan(settings={"log.flush.offset.checkpoint.interval.ms": "3600000"}),
    topic=TopicPlan(settings={"segment.ms": "2000", "index.interval.bytes": "1"}),
    cases={
        "leader": Case(
            steps=read_from_damaged,
            documented=[
                Documented(
                    on=ranges.OLD_MESSAGE_FORMATS,
                    required=DIFFERENT,
                    allowed=frozenset({"poll-skip", "internal-poll-skip"}),
                    claims=[STAYS, UNNOTICED, TOLD, "reader-goes-on-behind-damage"],
                    sentence="""The leader goes on leading. Its readers are given an error in place of the record, which
                        two replicas in sync have, and go on behind it.""",
                    source="librdkafka 2.16, rd_kafka_msgset_reader_msg_v0_1",
                    basis=Basis.SOURCE,
                ),
                Documented(
                    required=DIFFERENT,
                    claims=[STAYS, UNNOTICED, TOLD, "reader-stops-at-damage"],
                    sentence="""The leader goes on leading. Its readers are given an error, again and again, and come no
                        further, though two replicas in sync have the record, until another replica leads.""",
                    source="librdkafka 2.16, rd_kafka_msgset_reader_v2",
                    basis=Basis.SOURCE,
                ),
            ],
        ),
        "follower": Case(
            steps=damaged_while_up,
            documented=[
                Documented(
                    required=DIFFERENT,
                    claims=[STAYS, UNNOTICED],
                    source=CHECKED_AS_THEY_COME,
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "follower-stopped": Case(
            steps=partial(damaged_while_down, end=Run.stop),
            documented=[
                Documented(
                    required=DIFFERENT,
                    claims=[STAYS, UNNOTICED],
                    source=CHECKED_AS_THEY_COME,
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "follower-killed": Case(
            steps=partial(damaged_while_down, end=Run.kill),
            documented=[
                Documented(
                    required=DIFFERENT,
                    allowed=frozenset({"log-truncated-below-high-watermark"}),
                    claims=[STAYS, "recovery-cuts-damage"],
                    sentence="""Recovery cuts the log where it is damaged, far below the high watermark, and the broker
                        fetches again what it has cut: with nobody to fetch it from it would be lost.""",
                    source="Kafka documentation, Implementation: log, Guarantees",
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "refill": Case(
            steps=refilled_from_damaged,
            documented=[
                Documented(
                    required=DIFFERENT,
                    claims=[STAYS, "damage-is-refused"],
                    source="AbstractFetcherThread: CorruptRecordException (0.10.2.2 to 4.3.1)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "index": Case(
            steps=filled_by_damaged_index,
            topic={"segment.ms": "12000"},
            documented=[
                Documented(
                    required=LOST | {"replica-divergence", "index-mismatch"},
                    allowed=frozenset({"poll-skip", "internal-poll-skip"}),
                    claims=["reader-is-not-told-of-gap", "leader-elected-from-isr"],
                    sentence="""A follower that was away joins the ISR without the records that it asked for by way of
                        the damaged index, and they are lost when it leads.""",
                    source="Log.read (0.10.2.2 to 2.8.2), LocalLog.read (3.9.2, 4.3.1)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
    },
)
