"""Why a coordinator refuses an offset that a member commits when another one has its partition.

A coordinator looks first for the group.instance.id, then for the member, and last for its generation or epoch. One that
has been removed from its group is told UNKNOWN_MEMBER_ID, whatever the protocol of the group. Before it answers
ILLEGAL_GENERATION (classic protocol) or STALE_MEMBER_EPOCH (consumer protocol) it has to know the member, and that one
has to speak of an older generation than its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from checks.claim import Judged, RunEvidence, claim
from checks.claims.basis import judged
from checks.claims.delivery.crashes import LateCommit, late_commits
from evidence.basis import Basis
from evidence.text import plural

INSTANCE: Final = "group.instance.id"
UNKNOWN_MEMBER: Final = ("UNKNOWN_MEMBER_ID", "CommitFailedException")
"""CommitFailedException is what Java's consumers make of UNKNOWN_MEMBER_ID, and of ILLEGAL_GENERATION and
STALE_MEMBER_EPOCH, too (ConsumerCoordinator.OffsetCommitResponseHandler 2.8.2, CommitRequestManager 3.9.0)."""
FENCED: Final = ("FENCED_INSTANCE_ID",)
NEVER: Final = "nobody committed late"


def _told(late: Sequence[LateCommit], errors: Sequence[str]) -> Judged:
    rows: list[dict[str, Any]] = [one.row() for one in late]
    wrong = [row for row in rows if row["error"] not in errors]
    seen = ", ".join(sorted({row["error"] or "no error" for row in rows}))
    return judged(rows, wrong, f"{plural(len(rows), 'late commit')} ({seen})", NEVER)


def _fenced(evidence: RunEvidence, late: LateCommit) -> bool:
    """Whether the one that has the partition now has the same group.instance.id."""
    processes = [evidence.run.process(name) for name in (late.commit.process, *late.owners)]
    own, *others = [process.settings.get(INSTANCE, "") if process is not None else "" for process in processes]
    return bool(own) and own in others


@claim(
    "late-commit-of-removed-member-unknown",
    source="GroupCoordinator.doCommitOffsets and doTxnCommitOffsets (2.8.2), ConsumerGroup.validateOffsetCommit "
    "(3.9.0): a member that the group does not have",
    basis=Basis.SOURCE,
)
def late_commit_of_removed_member_unknown(evidence: RunEvidence) -> Judged:
    """The coordinator does not know a member that it has removed from the group, and refuses its offsets with
    UNKNOWN_MEMBER_ID.

    Java's consumers make a CommitFailedException of that. Static members whose group.instance.id another process has
    taken are left out: they are fenced.
    """
    late = [one for one in late_commits(evidence) if not _fenced(evidence, one)]
    return _told(late, UNKNOWN_MEMBER)


@claim("late-commit-of-replaced-instance-fenced", source="KIP-345: FENCED_INSTANCE_ID", basis=Basis.KIP)
def late_commit_of_replaced_instance_fenced(evidence: RunEvidence) -> Judged:
    """The coordinator refuses the offsets of a static member with FENCED_INSTANCE_ID once another process has its
    group.instance.id.
    """
    return _told([one for one in late_commits(evidence) if _fenced(evidence, one)], FENCED)
