"""A group's members: who has a partition, and whose offset counts.

    two-owners             two members of a group were given one partition in one generation
    stale-commit-accepted  the offset of a member that the group has fenced counts

The first has a second witness: the group coordinators' topic, where a generation's members stand with their partitions.

A generation of a group is one assignment: each partition has one owner in it (KIP-62; the protocol of KIP-429 gives a
partition to its next owner in a later generation, when the earlier one has given it back). A static member may be
another process in the same generation (KIP-345): one group.instance.id is one member.

A member that does not answer in time is out of its group without knowing, and its partitions have other owners. The
coordinator refuses what it commits then, for it is of an earlier generation. If the offset was taken, the group would
go back, or pass inputs that the new owner has in hand.

A member is fenced for sure if three things hold. It was given the partition and was not told that it lost it. Another
member of the group was given it afterwards. That one has committed an offset of it: the coordinator took it, so the
generation is the new owner's. A commit that is sent after that is late. A member that was told of its loss and commits
all the same is no stranger to the group, and Kafka takes its offset. In a transaction an offset counts if the
transaction was committed.

When the new owner and all others are gone, the group is empty. With the consumer protocol (KIP-848) it then takes
offsets of whoever has left it, or was fenced (ConsumerGroup.validateOffsetCommit).

Consumers of 0.8 agree through ZooKeeper, where nobody refuses an offset: they are not looked at. Nor are members whose
histories are not whole, which may have been told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from checks import excuses
from checks.anomaly import GROUP_FILES, HISTORY, absent_if, also_found, anomaly
from checks.group_files import GroupFiles
from checks.view import EVIDENCE_LIMIT, NO_GENERATION, Evidence, MemberStep, PartitionView, Rows
from evidence.basis import Basis
from evidence.history import schema

REFUSED = "Kafka protocol guide: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID; KIP-447 of offsets in a transaction"


def without_members(view: PartitionView) -> bool:
    """Whether no member of a group was given this partition, or committed an offset of it."""
    return not view.members


@anomaly(
    "two-owners",
    source="Kafka protocol guide: SyncGroup; KIP-62, KIP-345",
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    permitted="before 0.10.1, if the first was gone: a group without members is forgotten, and begins anew",
    permits=excuses.group_forgotten,
    screened=absent_if(without_members),
)
def two_owners(view: PartitionView) -> Rows:
    """Two members of a group were given one partition in one generation of the group.

    By the members' own clients, where these say the generation: librdkafka, and Kafka's own from 2.5 on.
    """
    rows: list[Evidence] = []
    owners: dict[tuple[str, int], MemberStep] = {}
    given_back: dict[str, int] = {}
    for step in view.members:
        if step.kind == schema.REVOKE:
            given_back[step.process] = step.completed_ns
        elif step.kind == schema.ASSIGN:
            given_back.pop(step.process, None)
            rows += _second_owner(step, owners, given_back)
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


def _second_owner(
    step: MemberStep, owners: dict[tuple[str, int], MemberStep], given_back: Mapping[str, int]
) -> Iterator[Evidence]:
    """The row of a member that is given what another one was given in that generation. `owners` keeps who was first."""
    if step.generation == NO_GENERATION:
        return
    first = owners.setdefault((step.of.group, step.generation), step)
    if first.process != step.process and not (step.of.instance and step.of.instance == first.of.instance):
        yield {
            "group": step.of.group,
            "generation": step.generation,
            "owners": [first.process, step.process],
            "given_ns": [first.completed_ns, step.completed_ns],
            "given_back_ns": given_back.get(first.process),
        }


def without_ownerships(files: GroupFiles) -> bool:
    """Whether the coordinators' topic says of nobody that it had this partition."""
    return not any(copy.ownerships for copy in files.copies)


@also_found("two-owners", reads=(GROUP_FILES,), screened=absent_if(without_ownerships))
def two_owners_in_files(files: GroupFiles) -> Rows:
    """One record of a group in the coordinators' topic gives a partition to two members; with the consumer protocol
    (KIP-848), the last records of its members at the end of a batch do.

    A member of that protocol has a partition until it has given it back.
    """
    rows: dict[tuple[str, int], Evidence] = {}
    for copy in files.copies:
        for one in copy.ownerships:
            if len({member.instance or member.member_id for member in one.members}) > 1:
                about = {"group": one.group, "generation": one.generation, "log_offset": one.at, **copy.place()}
                owners = {"owners": [member.member_id for member in one.members]}
                clients = {"clients": [member.client_id for member in one.members]}
                rows.setdefault((one.group, one.at), about | owners | clients)
    return Rows(list(rows.values())[:EVIDENCE_LIMIT], total=len(rows))


@anomaly(
    "stale-commit-accepted",
    source=REFUSED,
    basis=Basis.DOCUMENTATION,
    reads=(HISTORY,),
    permitted="with the consumer protocol, once the sessions of all others have ended: an empty group takes offsets",
    permits=excuses.group_emptied,
    screened=absent_if(without_members),
)
def stale_commit_accepted(view: PartitionView) -> Rows:
    """A member's offset was taken although the group had given its partition to another member, which had committed."""
    rows: list[Evidence] = []
    owned: dict[str, MemberStep] = {}
    committed: dict[str, MemberStep] = {}
    for step, ends in _in_order(view.members):
        if not ends:
            rows += [] if step.process in view.torn else _late(step, owned, committed)
        elif step.kind == schema.ASSIGN:
            owned[step.process] = step
            committed.pop(step.process, None)
        elif step.kind == schema.REVOKE:
            owned.pop(step.process, None)
        else:
            committed[step.process] = step
    return Rows(rows[:EVIDENCE_LIMIT], total=len(rows))


def _in_order(members: Sequence[MemberStep]) -> list[tuple[MemberStep, bool]]:
    """The beginnings of commits and the ends of all steps, in order; of the same time the beginnings first."""
    begins = [(step.invoked_ns, False, number) for number, step in enumerate(members) if step.kind == schema.OFFSETS]
    ends = [(step.completed_ns, True, number) for number, step in enumerate(members)]
    return [(members[number], is_end) for _, is_end, number in sorted(begins + ends)]


def _late(step: MemberStep, owned: Mapping[str, MemberStep], committed: Mapping[str, MemberStep]) -> Iterator[Evidence]:
    """The row of a commit that begins when another member of the group is known to own the partition."""
    own = owned.get(step.process)
    if own is None:
        return
    for other, given in owned.items():
        taken = committed.get(other)
        if taken and given.of.group == step.of.group and given.completed_ns > own.completed_ns:
            yield {
                "group": step.of.group,
                "process": step.process,
                "offset": step.offset,
                "invoked_ns": step.invoked_ns,
                "completed_ns": step.completed_ns,
                "given_ns": own.completed_ns,
                "owner": other,
                "owner_given_ns": given.completed_ns,
                "owner_committed": taken.offset,
                "owner_committed_ns": taken.completed_ns,
            }
