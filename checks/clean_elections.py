"""Which elections are clean, for the anomaly `unclean-election` and the claim `leader-elected-from-isr`."""

from __future__ import annotations

from evidence.events import Partition


def clean(before: Partition, after: Partition) -> bool:
    """Whether the leader of a state was in sync, or eligible (KIP-966), or came in sync with a reassignment's end."""
    return after.leader in (*before.isr, *(before.elr or ())) or ends_reassignment(before, after)


def ends_reassignment(before: Partition, after: Partition) -> bool:
    """Whether a change ends a reassignment with KRaft, takes the old leader away, and puts the new one in sync.

    Others that were in sync stay beside it, or it is one that was added: an unclean election leaves a leader alone in
    the ISR. A leader that stays a replica leads on (PartitionChangeBuilder.electAnyLeader). With ZooKeeper the
    controller elects from the ISR as it stands (leaderForReassign).
    """
    others = set(after.isr) & set(before.isr) - {after.leader}
    under_way = bool(before.adding or before.removing) and not (after.adding or after.removing)
    leaves = before.leader not in (after.replicas or (before.leader,))
    sound = bool(others) or after.leader in (before.adding or ())
    return after.source == "kraft" and under_way and leaves and after.leader in after.isr and sound
