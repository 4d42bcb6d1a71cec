"""A disk changes one bit of what a broker wrote (Kafka documentation, Message Format: CRC; Design: log recovery).

Each batch has a checksum. The leader, each follower and a consumer check it when a batch arrives over the network. A
leader does not check it when it sends a batch from its file. A broker checks its own files in one case only: after a
kill it checks every batch from the recovery point on, and cuts the log at the first damaged one.

So a bit that is flipped in a closed segment stays flipped. On a follower nobody notices. On the leader a reader gets an
error instead of the record, which two other replicas still have. With message format 2 the reader stops there; with
older formats it skips the record. A follower that starts with an empty disk fetches the damaged batch, refuses it, and
stops there. Only another leader can give it a good copy. An empty disk repairs the damaged replica, and so does a kill:
recovery cuts the log, and the replica fetches the rest again.

An index has no checksum. With one bit of it flipped, the leader looks beyond the end of a closed segment and answers
from the next segment, without an error. A follower that was down takes this for a gap, as compaction leaves gaps, and
joins the ISR without the records. When it leads, they are lost.
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
"""This many errors at one place show that a reader does not get past it."""
REFUSES = r"invalid messages|CorruptRecordException|InvalidMessageException|Message found with corrupt|is corrupt"
CUT = """Recovery cuts the log where it is damaged, far below the high watermark, and the broker fetches the cut records
    again. Without another replica they would be lost."""
RECOVERS = "Kafka documentation, Implementation: log, Guarantees"
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
    """A bit is flipped in a segment that a running follower wrote long ago."""
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
    run.wait_log_line(blank, REFUSES, "that the batch it fetches is damaged")
    run.copy_replicas("refused")
    run.stop(damaged)
    run.wait_leader(t, healthy)
    run.wait_isr(t, [healthy, blank])
    run.wipe(damaged)
    run.start(damaged)
    run.wait_isr(t, run.replicas_of(t))
    run.send(t, 2)


def filled_by_damaged_index(run: Run) -> None:
    """A follower was down, and returns to a leader with a damaged index; then it leads."""
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
    if ranges.CLEAN_STOP_ELECTS_BY_ISR.holds(run.version):
        run.stop(other)  # the follower that was away is behind it in the ISR
        run.wait_isr(t, [damaged, away])
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
    claim="""A damaged record stays on its replica. Followers and readers refuse it, and besides them only recovery
        after a kill checks it. A damaged index makes a follower skip records without an error.""",
    source="Kafka documentation, Message Format: CRC, Design: log recovery; Log.read, Log.recoverLog",
    operator="""Kafka does not look for damaged files, and no metric tells of one. If a follower logs that it found
        invalid messages, its leader's disk is bad: make a healthy replica the leader, then give the damaged broker a
        blank disk. If you suspect a broker's disk, delete its index files while it is down: the broker rebuilds
        them.""",
    cluster=ClusterPlan(settings={"log.flush.offset.checkpoint.interval.ms": "3600000"}),
    topic=TopicPlan(settings={"segment.ms": "2000", "index.interval.bytes": "1"}),
    cases={
        "leader": Case(
            steps=read_from_damaged,
            documented=[
                Documented(
                    on=ranges.OLD_MESSAGE_FORMATS,
                    required=DIFFERENT | {"internal-poll-skip"},
                    claims=[STAYS, UNNOTICED, TOLD, "reader-goes-on-behind-damage"],
                    sentence="""The leader remains the leader. Its readers get an error instead of the record, which two
                        in-sync replicas have, and continue behind it. All are of one segment, so one poll has the
                        records on both sides.""",
                    source="librdkafka 2.16, rd_kafka_msgset_reader_msg_v0_1, rd_kafka_msgset_reader_run",
                    basis=Basis.SOURCE,
                ),
                Documented(
                    required=DIFFERENT,
                    claims=[STAYS, UNNOTICED, TOLD, "reader-stops-at-damage"],
                    sentence="""The leader remains the leader. Its readers get an error again and again and stop there,
                        although two in-sync replicas have the record, until another replica leads.""",
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
                    on=ranges.TRUNCATIONS_ALWAYS_TOLD,
                    required=DIFFERENT | {"log-truncated-below-high-watermark"},
                    claims=[STAYS, "recovery-cuts-damage"],
                    sentence=f"{CUT} The broker then says that it truncates to that place.",
                    source=f"{RECOVERS}; Log.truncateTo (0.8.2.2, 0.10.2.2)",
                    basis=Basis.SOURCE,
                ),
                Documented(
                    required=DIFFERENT,
                    claims=[STAYS, "recovery-cuts-damage"],
                    sentence=CUT,
                    source=RECOVERS,
                    basis=Basis.DOCUMENTATION,
                ),
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
                    sentence="""A follower that was down joins the ISR without the records that the damaged index hides,
                        and they are lost when it leads. A fetch is answered from one segment, and the gap lies between
                        two. So a reader gets both sides in one poll or in two, as fast as the second answer comes.""",
                    source="Log.read (0.10.2.2 to 2.8.2), LocalLog.read (3.9.2, 4.3.1)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
    },
)
