"""What the coordinators' topic says of one partition: who had it, and which offsets were committed of it.

The topic is a file on the brokers' disks (kafkafiles.group_log), of which the last moment of a run has copies: the
second witness of groups, beside what members recorded and what coordinators answered.

A copy bears witness if its broker was in the ISR of the topic's partition while it was made, and a second before, and
if nothing of its log was removed or is damaged. What a coordinator acknowledges is on all replicas in the ISR before
(offsets.commit.required.acks, KIP-211 and before: all by default).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evidence.events import OffsetCommit
from kafkafiles.group_log import Commit, Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Who had the partition, by one record of its group."""

    group: str
    generation: int
    members: tuple[Member, ...]
    written_ms: int
    """When, by the coordinator's clock."""
    at: int
    """The offset of the record in the coordinators' topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCopy:
    """What one replica of a partition of the topic says, of those that bear witness."""

    number: int
    """Of the topic's partition."""
    moment: str
    node: str
    begun_ns: int
    """When its copying began."""
    commits: tuple[Commit, ...] = ()
    ownerships: tuple[Ownership, ...] = ()

    def place(self) -> dict[str, Any]:
        """The copy's moment and broker, as evidence."""
        return {"moment": self.moment, "node": self.node}

    def committed(self, group: str) -> list[Commit]:
        """What counts of a group's commits, or may count, in order."""
        return [one for one in self.commits if one.group == group and one.standing != "aborted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFiles:
    """What the copies of the topic say of one partition of another, and what the timeline does."""

    partitions: int = 0
    """How many the topic has; 0 if that is not known for certain."""
    due_ns: int | None = None
    """When the copying of the topic began, if it was to be copied."""
    copied: frozenset[int] = frozenset()
    """The partitions of the topic of which there are copies, whether these bear witness or not."""
    copies: tuple[GroupCopy, ...] = ()
    told: Sequence[OffsetCommit] = ()
    """The commits that were acknowledged to a client that is no member."""
    outside: frozenset[str] = frozenset()
    """The processes that write their offsets to a store outside Kafka."""
    elsewhere: frozenset[str] = frozenset()
    """The processes that may begin elsewhere than at their group's offset: those, clients of the user's own, and those
    that commit in transactions, whose markers may come later (KIP-447)."""

    def of(self, number: int) -> Iterator[GroupCopy]:
        """The copies of one of the topic's partitions."""
        return (one for one in self.copies if one.number == number)


NO_GROUP_FILES: Final = GroupFiles()
