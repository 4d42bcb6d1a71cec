"""What the members of a share group did with the records of one partition (KIP-932): deliveries, and what they said.

A record is delivered, and the member that has it says what is to become of it. The broker answers, record by record. A
delivery has the number of times that the record was delivered so far. That number belongs to the delivery that an
acknowledgement is about: a member can hold a record whose lock has run out and that another one was given since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from evidence.events import ShareProgress, of
from evidence.history.outcomes import OK
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.shares import ACCEPT, DELIVERED, REJECT, RELEASE

Kind = Literal["delivered", "accept", "release", "reject"]
KINDS: Final = (DELIVERED, ACCEPT, RELEASE, REJECT)
FINAL: Final = (ACCEPT, REJECT)
"""What ends the deliveries of a record."""
LIMIT: Final = "group.share.delivery.count.limit"
DEFAULT_LIMIT: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareStep:
    """A record was delivered to a member, or a member said what is to become of it."""

    kind: Kind
    process: str
    offset: int
    count: int
    """Of a delivery: which one it was, as the broker said; of what was said: the delivery that it is about. 0: that is
    not known."""
    invoked_ns: int
    completed_ns: int
    outcome: str
    error: str | None
    producer: int | None = None
    sequence: int | None = None
    """Of a delivery: the record."""

    def row(self) -> dict[str, Any]:
        """The step as evidence."""
        return {
            "step": self.kind,
            "process": self.process,
            "offset": self.offset,
            "delivery": self.count or None,
            "at_ns": self.completed_ns,
            "outcome": self.outcome,
            "error": self.error,
        }


def share_steps(rows: Iterable[dict[str, Any]]) -> tuple[ShareStep, ...]:
    """The steps that one partition's rows of these `KINDS` tell of, in the order in which they were known. What was
    said and answered is one step.
    """
    told: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number, row in enumerate(rows):
        own = number if row["kind"] == DELIVERED else row["invoked_ns"]
        told[row["process"], row["kind"], row["offset"], own] = row  # the answer is the later row
    return tuple(
        _about_deliveries(sorted(told.values(), key=lambda row: row["completed_ns"] or row["invoked_ns"] or 0))
    )


def _about_deliveries(rows: Iterable[dict[str, Any]]) -> Iterable[ShareStep]:
    held: dict[tuple[str, int], int] = {}
    for row in rows:
        key = (row["process"] or "", row["offset"])
        if row["kind"] == DELIVERED:
            held[key] = row["count"] or 0
        yield ShareStep(
            kind=row["kind"],
            process=key[0],
            offset=row["offset"],
            count=held.get(key, 0),
            invoked_ns=row["invoked_ns"] or 0,
            completed_ns=row["completed_ns"] or 0,
            outcome=row["outcome"],
            error=row["error_name"],
            producer=row["producer"],
            sequence=row["sequence"],
        )


@dataclass(frozen=True, slots=True)
class ShareGroupState:
    """What is known of the share groups of one partition beside what their members recorded."""

    limit: int = DEFAULT_LIMIT
    """How often a record is delivered at most."""
    told: Sequence[ShareProgress] = ()
    """What the coordinator said, in the order of the answers."""

    @property
    def passed(self) -> int:
        """By what it said, the group is done with all records below this offset; 0 if it never said anything."""
        return max((one.passed for one in self.told), default=0)


NO_SHARE_GROUPS: Final = ShareGroupState()


def share_group_state(run: RunRecord, run_state: RunState, topic: str, partition: int) -> ShareGroupState:
    """What run.json and the timeline say of the share groups of a partition."""
    told = [one for one in of(run_state.events, ShareProgress) if (one.topic, one.partition) == (topic, partition)]
    return ShareGroupState(int(run.settings.get(LIMIT, DEFAULT_LIMIT)), told)


def by_offset(steps: Iterable[ShareStep]) -> dict[int, list[ShareStep]]:
    """The steps of each offset, by ascending offset."""
    found = defaultdict[int, list[ShareStep]](list)
    for step in steps:
        found[step.offset].append(step)
    return dict(sorted(found.items()))


def deliveries(steps: Iterable[ShareStep]) -> list[ShareStep]:
    """The deliveries among some steps."""
    return [step for step in steps if step.kind == DELIVERED]


def is_late(said: ShareStep, steps: Iterable[ShareStep]) -> bool:
    """Whether another member had been given the record when a member spoke of it."""
    later = (one for one in deliveries(steps) if one.process != said.process and one.count > said.count > 0)
    return said.kind != DELIVERED and any(one.completed_ns < said.invoked_ns for one in later)


def taken(steps: Sequence[ShareStep], *kinds: str) -> list[ShareStep]:
    """What members said of these kinds, of records that they held, and the broker took."""
    ok = [step for step in steps if step.kind in kinds and step.outcome == OK]
    return [step for step in ok if not is_late(step, steps)]
