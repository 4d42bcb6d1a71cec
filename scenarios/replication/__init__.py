"""ISR and high watermark: when a record counts as committed, and who may be missing then.

The leader keeps a set of replicas that are in sync with it, the ISR. A record is committed when all of them have it:
only then is it acknowledged to a producer with acks=all, and given to consumers. The high watermark is the offset up to
which that is so. The set shrinks when a replica stands still and grows when it has caught up, so what acks=all promises
depends on how many are left, which is what min.insync.replicas bounds.

`high-watermark-steps` shows how the high watermark moves, record by record, and `high-watermark-visibility` what
consumers see of it. `follower-fetching` shows which replica gives it to them. `isr-shrink-expand` and `isr-lag-max-
messages` are about who is in the ISR, and `isr-join-under-load` about who waits for a follower that joins it.
`min-insync-refusal` and `shrink-to-leader` are about too few in it, and `offset-checkpoints` about what brokers
remember of all this on disk.
`last-stable-offset` is the third offset: how far readers of committed records may read while transactions are open.
"""

from collections.abc import Sequence

from harness.words import Partition, Run, Target, ranges

OFFSETS_TRACED = (
    "kafka.cluster",
    "kafka.log.Log",
    "kafka.log.UnifiedLog",
    "kafka.server.ReplicaFetcherThread",
    "kafka.server.ReplicaManager",
    "org.apache.kafka.storage.internals.log.UnifiedLog",
)
"""The loggers that tell of each step of a log end and of a high watermark, by their names in one release or another."""


def wait_shrunk(run: Run, t: Partition, targets: Sequence[Target]) -> None:
    """Wait until the leader has taken all but these replicas out of the ISR. Where the high watermark waits for the
    next record, wait too until the leader has heard that the ISR is smaller: a record before that moves nothing.
    """
    run.wait_isr(t, targets)
    if ranges.ISR_SHRINK_HOLDS_BACK.holds(run.version):
        run.wait_log_line(run.leader_of(t), rf"Partition {t} .*ISR updated to", "that its smaller ISR is in force")
