"""ISR and high watermark: when a record counts as committed, and which replicas may be missing then.

The leader keeps a set of replicas that are in sync with it, the ISR. A record is committed when all of them have it.
Only then does the leader acknowledge it with acks=all and give it to consumers. The high watermark is the offset up to
which records are committed. The ISR shrinks when a replica stands still and grows when it has caught up. So the promise
of acks=all depends on the size of the ISR, and min.insync.replicas is its lower bound.

`high-watermark-steps` shows how the high watermark moves, record by record. `high-watermark-visibility` shows its
effect on consumers, and `follower-fetching` which replica serves them. `isr-shrink-expand` and `isr-lag-max-messages`
are about the members of the ISR, and `isr-join-under-load` about a follower that joins it. `min-insync-refusal` and
`shrink-to-leader` are about an ISR that is too small, and `offset-checkpoints` about the offsets that brokers keep on
disk. `last-stable-offset` is the third offset: how far read_committed readers may read while transactions are open.
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
"""The loggers of each step of a log end and of a high watermark, with their names in all releases."""


def wait_shrunk(run: Run, t: Partition, targets: Sequence[Target]) -> None:
    """Wait until the leader has taken all but these replicas out of the ISR. Where the high watermark waits for the
    next record, also wait until the leader knows the smaller ISR: an earlier record does not move it.
    """
    run.wait_isr(t, targets)
    if ranges.ISR_SHRINK_HOLDS_BACK.holds(run.version):
        run.wait_log_line(run.leader_of(t), rf"Partition {t} .*ISR updated to", "that its smaller ISR is in force")
