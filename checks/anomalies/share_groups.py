"""Records that a share group passed over, or delivered more often than it may (KIP-932).

    share-record-lost    the group has passed a record that no member accepted or rejected, and that was not delivered
                         as often as a record may be
    delivered-too-often  a record was delivered again after a broker took it for accepted or rejected, or more often
                         than group.share.delivery.count.limit says, or to two members at once

A record that is in a member's client, and was never handed to the member, was delivered too. The next delivery has a
number that is higher by one. Each member may have held a record so once, one after the other: for as long as its lock
lasts, or until its session ended (checks/shares.py). A record counts as lost only if it was given to members less often
than the limit even with these added.

Limits: all share consumers of a partition are taken for one group. A delivery with a lower number than the accepted one
is not told from one that lay in a client, and one with the same number not where a leader was replaced before.
"""

from __future__ import annotations

from checks.anomaly import HISTORY, SHARE_GROUPS, absent_if, anomaly
from checks.shares import FINAL, ShareGroupState, by_offset, deliveries, one_too_many, taken
from checks.view import EVIDENCE_LIMIT, NO_IDENTITY, Evidence, PartitionView, Rows, identity_of, pack
from evidence.basis import Basis
from evidence.history import schema

KIP = "KIP-932"


def without_share_groups(view: PartitionView, _: ShareGroupState) -> bool:
    """Whether no member of a share group was given anything here."""
    return not view.shares


def _kept(rows: list[Evidence]) -> Rows:
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


@anomaly(
    "share-record-lost",
    source=KIP,
    basis=Basis.KIP,
    reads=(HISTORY, SHARE_GROUPS),
    screened=absent_if(without_share_groups),
)
def share_record_lost(view: PartitionView, group: ShareGroupState) -> Rows:
    """A share group passed a record that was neither accepted nor rejected nor delivered as often as it may be.

    Records that readers were given, and that the group is done with, as its coordinator told. What a member said and
    nobody answered may have been taken.
    """
    if not view.shares:
        return Rows()
    steps, polls = by_offset(view.shares), view.polls
    members = {step.process for step in view.shares} | set(group.ended)
    known = {int(polls.offset[row]): int(polls.value[row]) for row in range(len(polls)) if polls.good[row]}
    begun = min(steps)  # the group may begin anywhere
    sent_ns = sent_at(view)
    rows: list[Evidence] = []
    for offset, value in sorted(known.items()):
        of_record = steps.get(offset, [])
        done = any(step.kind in FINAL and step.outcome != schema.FAIL for step in of_record)
        times = max((step.count for step in deliveries(of_record)), default=0)
        passed_ns = group.passed_ns(offset)
        ended = sum(at_ns <= passed_ns for at_ns in group.ended.values())
        held = min(len(members), ended + (passed_ns - sent_ns.get(value, 0)) // group.lock_ns)
        if begun <= offset < group.passed and not done and times + held < group.limit:
            rows.append({"offset": offset, **identity_of(value), "deliveries": times, "passed": group.passed})
    return _kept(rows)


@anomaly(
    "delivered-too-often",
    source=KIP,
    basis=Basis.KIP,
    reads=(HISTORY, SHARE_GROUPS),
    screened=absent_if(without_share_groups),
)
def delivered_too_often(view: PartitionView, group: ShareGroupState) -> Rows:
    """A record was delivered again after it was accepted or rejected, or more often than the limit, or while another
    member held it.

    Deliveries with a higher number than that which a broker took for accepted or rejected, or than the limit; with the
    same number, and later. Also more of them than the limit, though each broker that leads the partition may forget
    one. Also one with the number that another member was given before, if no broker may have forgotten that, or if it
    took later what that member said.
    """
    rows: list[Evidence] = []
    sent_ns = sent_at(view)
    for steps in by_offset(view.shares).values():
        ended = min((step.count for step in taken(steps, *FINAL) if step.count), default=group.limit)
        record = next((pack(step.producer, step.sequence) for step in steps if step.producer is not None), NO_IDENTITY)
        too_many = one_too_many(steps, group, sent_ns.get(record, 0))
        rows += [step.row() | {"ended_with": ended} for step in too_many]
    return _kept(rows)


def sent_at(view: PartitionView) -> dict[int, int]:
    """When each record was handed to its producer, by its identity."""
    sends = view.sends
    return {int(sends.value[row]): int(sends.invoked_ns[row]) for row in range(len(sends)) if sends.invoked_ns[row] > 0}
