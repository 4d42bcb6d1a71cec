"""Why a coordinator refuses an offset that a member commits when another one has its partition.

A coordinator looks first for the group.instance.id, then for the member, and last for its generation or epoch. One that
has been removed from its group is told UNKNOWN_MEMBER_ID, whatever the protocol of the group. Before it answers
ILLEGAL_GENERATION (classic protocol) or STALE_MEMBER_EPOCH (consumer protocol) it has to know the member, and that one
has to speak of an older generation than its own.

There is one way round that. A member of librdkafka's that has not polled for max.poll.interval.ms leaves its group by
itself, and forgets its member id (rd_kafka_cgrp_leave), not its generation. Of a commit in a transaction that names no
member the coordinator checks the generation alone before 3.0 (GroupCoordinator.doTxnCommitOffsets, 2.5.0 to 2.8.2). If
it removes the member before that leaves, the other error comes. From 3.0 on it looks for the member first, and knows
none without a name (GroupCoordinator.validateOffsetCommit, 3.0.0 to 3.8.0; ClassicGroup, 3.9.0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from checks.claims.delivery.crashes import NOBODY_LATE, LateCommit, late_commits
from evidence.basis import Basis
from evidence.borders import MEMBERS_ASKED_FOR_IN_TRANSACTIONS
from evidence.node_releases import release_at
from evidence.nodes import broker
from evidence.releases import numbers
from evidence.text import plural

INSTANCE: Final = "group.instance.id"
UNKNOWN_MEMBER: Final = ("UNKNOWN_MEMBER_ID", "CommitFailedException")
"""CommitFailedException is what Java's consumers make of UNKNOWN_MEMBER_ID, and of ILLEGAL_GENERATION and
STALE_MEMBER_EPOCH, too (ConsumerCoordinator.OffsetCommitResponseHandler 2.8.2, CommitRequestManager 3.9.0)."""
OLD_GENERATION: Final = "ILLEGAL_GENERATION"
TRANSACTIONAL: Final = "transactional.id"
LIBRDKAFKA: Final = "librdkafka"
FENCED: Final = "FENCED_INSTANCE_ID"


def _told(late: Sequence[LateCommit], is_right: Callable[[LateCommit], bool]) -> Judged:
    rows: list[dict[str, Any]] = [one.row() for one in late]
    wrong = [one.row() for one in late if not is_right(one)]
    seen = ", ".join(sorted({row["error"] or "no error" for row in rows}))
    return judged(rows, wrong, f"{plural(len(rows), 'late commit')} ({seen})", NOBODY_LATE)


def _fenced(evidence: RunEvidence, late: LateCommit) -> bool:
    """Whether the one that has the partition now has the same group.instance.id."""
    processes = [evidence.run.process(name) for name in (late.commit.process, *late.owners)]
    own, *others = [process.settings.get(INSTANCE, "") if process is not None else "" for process in processes]
    return bool(own) and own in others


def _by_generation_alone(evidence: RunEvidence, late: LateCommit) -> bool:
    """Whether it is a commit in a transaction of librdkafka's, whose member may have left by itself, and a broker of
    before 3.0 may have coordinated.
    """
    process, run = evidence.run.process(late.commit.process), evidence.run
    if process is None or TRANSACTIONAL not in process.settings:
        return False
    brokers = {broker(number) for replicas in run.assignment.values() for number in replicas} or {broker(1)}
    releases = [numbers(release_at(run, evidence.run_state, node, late.commit.invoked_ns)) for node in brokers]
    if min(releases) >= MEMBERS_ASKED_FOR_IN_TRANSACTIONS.release:
        return False
    return (process.library or evidence.run.client) == LIBRDKAFKA


@claim(
    "late-commit-of-removed-member-unknown",
    source="GroupCoordinator.doCommitOffsets and doTxnCommitOffsets (2.8.2), validateOffsetCommit (3.0.0), "
    "ConsumerGroup.validateOffsetCommit (3.9.0): a member that the group does not have",
    basis=Basis.SOURCE,
)
def late_commit_of_removed_member_unknown(evidence: RunEvidence) -> Judged:
    """The coordinator does not know a member that it has removed from the group, and refuses its offsets with
    UNKNOWN_MEMBER_ID.

    A commit in a transaction of librdkafka's may name no member any more: before 3.0 ILLEGAL_GENERATION is right there.
    Java's consumers make a CommitFailedException of either. Static members whose group.instance.id another process has
    taken are left out: they are fenced.
    """

    def is_right(one: LateCommit) -> bool:
        error = one.commit.error
        return error in UNKNOWN_MEMBER or (error == OLD_GENERATION and _by_generation_alone(evidence, one))

    return _told([one for one in late_commits(evidence) if not _fenced(evidence, one)], is_right)


@claim("late-commit-of-replaced-instance-fenced", source="KIP-345: FENCED_INSTANCE_ID", basis=Basis.KIP)
def late_commit_of_replaced_instance_fenced(evidence: RunEvidence) -> Judged:
    """The coordinator refuses the offsets of a static member with FENCED_INSTANCE_ID once another process has its
    group.instance.id.

    A member of librdkafka's that has heard so from a heartbeat asks no coordinator any more: it shows nothing of this.
    """
    late = [one for one in late_commits(evidence) if _fenced(evidence, one)]
    return _told(late, lambda one: one.commit.error == FENCED)
