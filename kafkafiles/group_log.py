"""`__consumer_offsets` as events: what group coordinators wrote of groups' members, assignments and offsets.

    python -m kafkafiles.group_log broker-1/__consumer_offsets-0      a line for each event

`kafkafiles.group_records` decodes one record. Here they are put together:

- `read_events` has every record of a replica's log in order, transactions' markers among them.
- `commits_of` says what was committed for which group and partition, and whether it counts. Offsets that were sent to a
  transaction (KIP-98) count if the transaction's marker, which follows them in this log, is a commit.
- `generations_of` says which member had which partitions. A record of a classic group has all its members. One of a
  group with the consumer protocol (KIP-848) has one member: its members are what the records up to the end of a batch
  make. A coordinator writes the records of one change in one batch.

A log that was compacted has the last record of each key for sure, and earlier ones may be gone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Final, Literal

from kafkafiles import batches as log
from kafkafiles.errors import ParseError
from kafkafiles.field_tables import Fields
from kafkafiles.group_records import (
    CONSUMER,
    CURRENT_ASSIGNMENT,
    GROUP_METADATA,
    LEGACY_OFFSET_COMMIT,
    OFFSET_COMMIT,
    decode_record,
)

TOPIC: Final = "__consumer_offsets"
COMMIT_MARKER: Final = "COMMIT"
ABORT_MARKER: Final = "ABORT"
_MARKERS: Final = {log.CONTROL_COMMIT: COMMIT_MARKER, log.CONTROL_ABORT: ABORT_MARKER}
_COMMITS: Final = (OFFSET_COMMIT, LEGACY_OFFSET_COMMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEvent:
    """One record of the log.

    `kind` is the record's type as Kafka names it (`OFFSET_COMMIT`, `GROUP_METADATA`, …), `COMMIT` or `ABORT` for a
    transaction's marker, `UNKNOWN` for a type or a version that this does not know, and `CORRUPT` for what cannot be
    decoded. `timestamp_ms` is the coordinator's clock.
    """

    offset: int
    timestamp_ms: int
    batch: tuple[int, int]
    """The segment of its batch, by its first offset, and the position there: what one batch has was written at once."""
    kind: str
    version: int = -1
    key: Fields
    fields: Fields | None
    """None of a record that removes what its key names."""
    producer: tuple[int, int] | None = None
    """Of a record or a marker of a transaction: the producer's id and epoch."""


Standing = Literal["counts", "aborted", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """An offset that was committed for a group and a partition, or was removed (`offset` is None)."""

    group: str
    topic: str
    partition: int
    offset: int | None
    metadata: str
    committed_ms: int
    """When, by the coordinator's clock."""
    at: int
    """The offset of the record in the log."""
    standing: Standing
    """Whether it counts; of a transaction without a marker in the log that is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a generation, and what was given to it."""

    member_id: str
    instance: str
    """Its group.instance.id; "" if it is no static member (KIP-345), or if its record does not say so (KIP-848)."""
    client_id: str
    partitions: frozenset[tuple[str, int]]
    """By topic, with the consumer protocol by topic id. Those that it has still to give back are among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A group's members as the coordinator wrote them down."""

    group: str
    generation: int
    """With the consumer protocol, the highest epoch of its members."""
    members: tuple[Member, ...]
    written_ms: int
    at: int
    """The offset of the record, or of the last one of the batch."""


# Reading


def read_events(directory: Path) -> Iterator[GroupEvent]:
    """The events of a replica's directory, segment by segment. Raises OSError. The torn end of a log is passed over."""
    for path in sorted(directory.glob("[0-9]*.log")):
        yield from events_of(path.read_bytes(), int(path.stem))


def events_of(buffer: log.Buffer, segment: int = 0) -> Iterator[GroupEvent]:
    """The events of the bytes of a `segment`, named by its first offset. What cannot be decoded is an event of kind
    `CORRUPT`, with the reason.
    """
    for one in log.records(buffer):
        if not isinstance(one, log.Corrupt):
            if one.valid:
                yield _event(one, segment)
        elif one.kind not in ("torn", "zero-padding"):
            fields = {"position": one.position, "size": one.size, "reason": one.reason}
            batch = (segment, one.position)
            yield GroupEvent(offset=-1, timestamp_ms=-1, batch=batch, kind="CORRUPT", key={}, fields=fields)


def _event(record: log.Record, segment: int) -> GroupEvent:
    event = GroupEvent(
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        batch=(segment, record.position),
        kind="UNKNOWN",
        key={},
        fields={},
        producer=(record.producer_id, record.producer_epoch) if record.transactional else None,
    )
    if record.control is not None:
        return replace(event, kind=_MARKERS.get(record.control, "UNKNOWN"))
    found = decode_record(record.key, record.value)
    return replace(event, kind=found.kind, version=found.version, key=found.key, fields=found.fields)


# Putting together


def commits_of(events: Iterable[GroupEvent]) -> list[Commit]:
    """What was committed and removed, in the order of the log."""
    found: list[Commit] = []
    pending: dict[int, list[int]] = {}
    """By producer id, which of them are of its transaction that has no marker yet."""
    for event in events:
        if event.kind in _COMMITS:
            if event.producer is not None:
                pending.setdefault(event.producer[0], []).append(len(found))
            found.append(_commit(event))
        elif event.producer is not None and event.kind in (COMMIT_MARKER, ABORT_MARKER):
            standing: Standing = "counts" if event.kind == COMMIT_MARKER else "aborted"
            for number in pending.pop(event.producer[0], ()):
                found[number] = replace(found[number], standing=standing)
    return found


def _commit(event: GroupEvent) -> Commit:
    fields = event.fields or {}
    return Commit(
        group=event.key["group"] or "",
        topic=event.key["topic"] or "",
        partition=event.key["partition"],
        offset=fields.get("offset"),
        metadata=fields.get("metadata") or "",
        committed_ms=fields.get("commit_timestamp", event.timestamp_ms),
        at=event.offset,
        standing="counts" if event.producer is None else "open",
    )


def generations_of(events: Iterable[GroupEvent]) -> list[Generation]:
    """The generations of every group that has members, in the order of the log. A classic group that has the consumer
    protocol type is told of when its members have their assignments; of others nobody but their members can read them.
    """
    found: list[Generation] = []
    current: dict[str, dict[str, tuple[int, Member]]] = {}
    """With the consumer protocol: the members of each group, with their epochs."""
    for _, batch in groupby(events, key=lambda event: event.batch):
        changed: dict[str, GroupEvent] = {}
        for event in batch:
            if event.kind == GROUP_METADATA and event.fields and event.fields["protocol_type"] == CONSUMER:
                found.append(_classic(event))
            elif event.kind == CURRENT_ASSIGNMENT:
                group, member_id = event.key["group_id"] or "", event.key["member_id"] or ""
                members = current.setdefault(group, {})
                members.pop(member_id, None)
                if event.fields is not None:
                    members[member_id] = event.fields["member_epoch"], _current(member_id, event.fields)
                changed[group] = event
        found += [_of_epochs(group, list(current[group].values()), last) for group, last in changed.items()]
    return found


def _classic(event: GroupEvent) -> Generation:
    fields = event.fields or {}
    return Generation(
        group=event.key["group"] or "",
        generation=fields["generation"],
        members=tuple(_member(one) for one in fields["members"]),
        written_ms=event.timestamp_ms,
        at=event.offset,
    )


def _member(fields: Fields) -> Member:
    given = fields["assignment"]
    owned = (given["assigned_partitions"] or ()) if isinstance(given, dict) else ()
    return Member(
        member_id=fields["member_id"] or "",
        instance=fields.get("group_instance_id") or "",
        client_id=fields["client_id"] or "",
        partitions=_pairs(owned, "topic"),
    )


def _current(member_id: str, fields: Fields) -> Member:
    assigned, pending = fields["assigned_partitions"] or (), fields["partitions_pending_revocation"] or ()
    return Member(member_id=member_id, instance="", client_id="", partitions=_pairs((*assigned, *pending), "topic_id"))


def _pairs(owned: Sequence[Fields], topic: str) -> frozenset[tuple[str, int]]:
    return frozenset((one[topic] or "", number) for one in owned for number in one["partitions"] or ())


def _of_epochs(group: str, members: Sequence[tuple[int, Member]], last: GroupEvent) -> Generation:
    return Generation(
        group=group,
        generation=max((epoch for epoch, _ in members), default=-1),
        members=tuple(member for _, member in members),
        written_ms=last.timestamp_ms,
        at=last.offset,
    )


def is_whole(events: Iterable[GroupEvent]) -> bool:
    """Whether a log begins at offset 0 and has every offset up to its end, so that nothing of it was removed."""
    return all(event.offset == place for place, event in enumerate(events))


# The command


def _line(event: GroupEvent) -> str:
    of = "" if event.producer is None else f" producer {event.producer[0]} epoch {event.producer[1]}"
    key = " ".join(f"{name}={value}" for name, value in event.key.items())
    value = "removed" if event.fields is None else " ".join(f"{name}={value}" for name, value in event.fields.items())
    return f"{event.offset} {event.timestamp_ms}{of} {event.kind} {key} {value}".rstrip()


def main(arguments: Sequence[str]) -> int:
    """Print the events of partition directories. Exit status 254 for one that cannot be read."""
    for name in arguments:
        try:
            if not any(Path(name).glob("[0-9]*.log")):
                raise ParseError(f"{name}: no segment of a log is there")
            sys.stdout.writelines(f"{_line(event)}\n" for event in read_events(Path(name)))
        except (OSError, ParseError) as error:
            sys.stderr.write(f"{error}\n")
            return 254
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
