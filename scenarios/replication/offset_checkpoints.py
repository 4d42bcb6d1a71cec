"""Brokers keep offsets in two files, written at intervals and when they stop (Kafka documentation).

A broker writes its high watermarks to replication-offset-checkpoint every five seconds and its recovery points to
recovery-point-offset-checkpoint every minute. It writes both when it stops cleanly: then they are its log ends. After
kill -9 the high watermark is the last one written. A broker without the file takes every high watermark as 0. A
follower that truncates to its high watermark then removes its whole log and fetches it again. A follower with leader
epochs asks its leader and keeps it (KIP-101).

An old file, as from a backup, has a high watermark that is too low, with the same effect down to that offset. An offset
beyond the end of the log counts as the end. A recovery point beyond the end does not harm a whole log: the log below it
is not checked again after a kill.

An empty file counts as no file. A broker cannot read a file that was cut, so that it has fewer lines than its second
line says. From 1.0 on it then treats its log directory as broken, and exits if it has no other (KIP-112). Before, it
stays up and serves none of its replicas. Up to 3.0 a letter in a number, from one flipped bit, has the same effect.
From 3.1 on the broker does not treat the directory as broken: it stays up and serves none of the replicas there
(`museum-malformed-checkpoint` is about this bug). Removing the file repairs all of these.
"""

from collections.abc import Callable
from functools import partial

from harness.words import Basis, Case, ClusterPlan, Documented, Partition, Run, Target, VersionRange, ranges, scenario

BEYOND = 1000
"""An offset beyond a log that ends at 3."""
HEAD = 0.45
"""This part of the file is its version and the number of its lines."""
CHECKPOINTED = "Kafka documentation, broker configuration: replica.high.watermark.checkpoint.interval.ms"
UNREADABLE_LINE = "Expected 1 entries but found only 0|Malformed line in offset checkpoint|For input string"
DIRECTORY_FAILED = "all log dirs .* have failed|Halting broker because dir .* is offline"
"""The last line of a broker whose only log directory has failed: of LogManager, or of ReplicaManager, which ends those
with a protocol of before 1.0 whatever directory has failed (haltBrokerOnDirFailure).
"""
ENDS_ITSELF = """A broker that cannot read the file exits, each time that it is started, until the file is removed."""
STAYS_OUT = Documented(
    claims=["unreadable-checkpoint-keeps-replica-out"],
    sentence="""A broker that cannot read the file runs and is registered, and its replica is out of the ISR until it is
        started with a file that it can read.""",
    source="OffsetCheckpoint.read, Partition.getOrCreateReplica (0.10.2.2); CheckpointFile, "
    "ReplicaManager.applyLocalFollowersDelta (3.1.0 to 4.3.1)",
    basis=Basis.SOURCE,
)
LOG_IS_KEPT = "restarted-replica-keeps-its-log"
CHECKPOINT_IS_BOUNDED = "wrong-checkpoint-is-bounded"
WITHOUT_FILE = (
    Documented(
        on=ranges.HIGH_WATERMARK_TRUNCATION,
        claims=["missing-high-watermark-truncates-all"],
        source="Partition.getOrCreateReplica, ReplicaManager.makeFollowers (0.10.2.2); KIP-101",
        basis=Basis.SOURCE,
    ),
    Documented(claims=[LOG_IS_KEPT], source="KIP-101", basis=Basis.KIP),
)
"""An empty file counts as no file."""
PERIODIC = "high-watermarks-checkpointed-in-time"


def end_between_two_writings(run: Run, end: Callable[[Run, Target], None]) -> None:
    """The leader acknowledges three records just after it has written its file, and ends."""
    t = run.partition()
    run.send(t, 3)
    leader = run.leader_of(t)
    run.wait_checkpoint_written(leader)
    run.wait_checkpoint_written(leader)
    run.send(t, 3)
    end(run, leader)
    run.copy_replicas("ended")
    run.read_checkpoints(leader)
    run.start(leader)
    come_back(run)


def start_without_file(run: Run, spoil: Callable[[Run, Target], None]) -> None:
    """A follower is killed and finds no file of high watermarks, or an empty one, when it starts again."""
    follower = kill_follower(run)
    spoil(run, follower)
    run.copy_replicas("without-the-file")
    run.start(follower)
    come_back(run)


def start_with_unreadable_file(run: Run, spoil: Callable[[Run, Target], None], ends: VersionRange) -> None:
    """A follower is killed and finds a file without its last lines, or with a letter in a number, until somebody
    removes it. On some versions it exits then.
    """
    t, follower = run.partition(), kill_follower(run)
    spoil(run, follower)
    run.wait_isr(t, [target for target in run.replicas_of(t) if target.id != follower.id])
    if ends.holds(run.version):
        run.start_early(follower)
        run.expect_exit(follower, DIRECTORY_FAILED)
        run.copy_replicas("ended")
    else:
        run.start(follower)
        run.wait_log_line(follower, UNREADABLE_LINE, "that it cannot read the file")
        run.send(t)
        run.copy_replicas("up")
        run.kill(follower)
    run.remove_checkpoint(follower)
    run.start(follower)
    come_back(run)


def cut_file(run: Run) -> None:
    """A follower is killed and finds a file without its last lines, until somebody removes it."""
    cut = partial(Run.cut_checkpoint, left=HEAD)
    start_with_unreadable_file(run, cut, ranges.LOG_DIRECTORIES_FAIL)


def flipped_bit(run: Run) -> None:
    """A follower is killed and finds a file with a letter in a number, until somebody removes it."""
    start_with_unreadable_file(run, Run.flip_checkpoint, ranges.BAD_NUMBERS_FAIL_DIRECTORIES)


def start_with_old_file(run: Run) -> None:
    """A follower is killed and finds an old high watermark."""
    follower = kill_follower(run)
    run.overwrite_high_watermark(follower, run.partition(), 1)
    run.copy_replicas("with-the-wrong-file")
    start_and_write_again(run, follower)


def start_with_offset_beyond(run: Run, overwrite: Callable[[Run, Target, Partition, int], None]) -> None:
    """A follower is killed and finds an offset beyond its log in one of its files."""
    follower = kill_follower(run)
    run.copy_replicas("ended")  # before: a high watermark beyond its log would look like a log that was cut
    overwrite(run, follower, run.partition(), BEYOND)
    start_and_write_again(run, follower)


def kill_follower(run: Run) -> Target:
    """A follower is killed that has checkpointed the high watermark."""
    t = run.partition()
    run.send(t, 3)
    follower, _ = run.followers_of(t)
    run.wait_high_watermark(t, 3, [follower])
    run.kill(follower)
    return follower


def start_and_write_again(run: Run, follower: Target) -> None:
    """The follower is in sync, and has written its files again."""
    t = run.partition()
    run.start(follower)
    run.wait_isr(t, run.replicas_of(t))
    run.wait_checkpoint_written(follower)
    run.read_checkpoints(follower)
    come_back(run)


def come_back(run: Run) -> None:
    """All replicas are in sync again."""
    t = run.partition()
    run.wait_isr(t, run.replicas_of(t))
    run.copy_replicas("back")
    run.send(t)


scenario(
    name="offset-checkpoints",
    claim="""A broker checkpoints its high watermarks every five seconds and when it stops cleanly; after kill -9 the
        file is out of date, and without the file the high watermark is 0. A broker trusts the file up to the log's
        end.""",
    source="Kafka documentation, broker configuration: replica.high.watermark.checkpoint.interval.ms; KIP-101",
    operator="""Never delete replication-offset-checkpoint or recovery-point-offset-checkpoint by hand, least of all
        before 0.11, where a follower without the file fetches its whole log again. Stop brokers cleanly, so that the
        files are current.""",
    cluster=ClusterPlan(settings={"replica.high.watermark.checkpoint.interval.ms": "5000"}),
    cases={
        "clean-stop": Case(
            steps=partial(end_between_two_writings, end=Run.stop),
            documented=[
                Documented(
                    claims=[PERIODIC, "clean-stop-writes-checkpoints"],
                    source=CHECKPOINTED,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "kill": Case(
            steps=partial(end_between_two_writings, end=Run.kill),
            documented=[
                Documented(
                    claims=[PERIODIC, "killed-high-watermark-is-recent"],
                    source=CHECKPOINTED,
                    basis=Basis.DOCUMENTATION,
                )
            ],
        ),
        "missing-file": Case(
            steps=partial(start_without_file, spoil=Run.remove_checkpoint),
            documented=WITHOUT_FILE,
        ),
        "empty-file": Case(
            steps=partial(start_without_file, spoil=partial(Run.cut_checkpoint, left=0)),
            documented=WITHOUT_FILE,
        ),
        "cut-file": Case(
            steps=cut_file,
            documented=[
                Documented(on=ranges.LOG_DIRECTORIES_FAIL, sentence=ENDS_ITSELF, source="KIP-112", basis=Basis.KIP),
                STAYS_OUT,
            ],
        ),
        "flipped-bit": Case(
            steps=flipped_bit,
            documented=[
                Documented(
                    on=ranges.BAD_NUMBERS_FAIL_DIRECTORIES, sentence=ENDS_ITSELF, source="KIP-112", basis=Basis.KIP
                ),
                STAYS_OUT,
            ],
        ),
        "old-file": Case(
            steps=start_with_old_file,
            documented=[
                Documented(
                    on=ranges.HIGH_WATERMARK_TRUNCATION,
                    claims=["restarted-replica-truncates-to-high-watermark"],
                    source="KIP-101",
                    basis=Basis.KIP,
                ),
                Documented(
                    claims=[LOG_IS_KEPT],
                    source="KIP-101",
                    basis=Basis.KIP,
                ),
            ],
        ),
        "high-watermark-beyond-log": Case(
            steps=partial(start_with_offset_beyond, overwrite=Run.overwrite_high_watermark),
            documented=[
                Documented(
                    claims=[LOG_IS_KEPT, CHECKPOINT_IS_BOUNDED],
                    source="Partition.getOrCreateReplica (0.10.2.2, 2.2.2), "
                    "Log.updateHighWatermark (2.8.2), UnifiedLog (4.3.1)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
        "recovery-point-beyond-log": Case(
            steps=partial(start_with_offset_beyond, overwrite=Run.overwrite_recovery_point),
            documented=[
                Documented(
                    claims=[LOG_IS_KEPT],
                    source="Log.recoverLog (0.10.2.2, 2.8.2), LogLoader.recoverLog (3.9.2, 4.3.1)",
                    basis=Basis.SOURCE,
                )
            ],
        ),
    },
)
