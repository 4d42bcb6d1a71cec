"""What the members of a share group did with the records of one partition (KIP-932): deliveries, and what they said.

A record is delivered, and the member that has it says what is to become of it. The broker answers, record by record. A
delivery has the number of times that the record was delivered so far. That number belongs to the delivery that an
acknowledgement is about: a member can hold a record whose lock has run out and that another one was given since.

A record that is accepted or rejected is never delivered again, whatever number that delivery would have: a broker that
has forgotten what was said begins to count anew. Two members may be given one number, though: a broker that begins to
lead the partition knows of no delivery of which nobody has spoken (KIP-932: what is acquired is not written into the
share groups' state).

A member whose session ends returns what it has not spoken of, and those deliveries count (KAFKA-19972, in every release
whose new clusters have share groups: SharePartition.releaseAcquiredRecords, DeliveryCountOps.NO_OP). The last one that
the limit allows ends the record: it is archived.

What a client was given before may come to its member late, out of the client's buffer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal

from checks.settings import CLOSED_NS
from evidence.events import ClientEnded, Container, ShareProgress, of
from evidence.faults.clients import KillClientProof
from evidence.history.outcomes import OK
from evidence.records import TopicPartition
from evidence.run import RunRecord
from evidence.run_state import RunState
from evidence.shares import ACCEPT, DELIVERED, REJECT, RELEASE
from evidence.spans import Span, widened

Kind = Literal["delivered", "accept", "release", "reject"]
KINDS: Final = (DELIVERED, ACCEPT, RELEASE, REJECT)
FINAL: Final = (ACCEPT, REJECT)
"""What ends the deliveries of a record."""
LIMIT: Final = "group.share.delivery.count.limit"
DEFAULT_LIMIT: Final = 5
LOCKS_MS: Final = {
    "group.share.record.lock.duration.ms": 30_000,
    "group.share.min.record.lock.duration.ms": 15_000,
}
"""How long a member may hold a record, and how long a group may say at least; with their defaults (KIP-932)."""
ACKNOWLEDGES: Final = "share.acknowledgement.mode"
"""A setting that only share consumers have, and each of them here."""
STATE_TOPIC: Final = "__share_group_state"
STATED_NS: Final = 1_000_000_000
"""A leader may have begun to lead so long before that is stated. Ours."""


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
    lock_ns: int = min(LOCKS_MS.values()) * 1_000_000
    """The shortest time for which a member may hold a record."""
    forgotten: Sequence[Span] = ()
    """When a broker may have begun to lead the partition, or its state, and so knows of no delivery of which nobody has
    spoken: while faults last that strike a broker, and when a leader is another one."""
    told: Sequence[ShareProgress] = ()
    """What the coordinator said, in the order of the answers."""
    ended: Mapping[str, int] = field(default_factory=dict)
    """Which members' sessions may have ended, by their processes, and since when at the earliest."""

    @property
    def passed(self) -> int:
        """By what it said, the group is done with all records below this offset; 0 if it never said anything."""
        return max((one.passed for one in self.told), default=0)

    def passed_ns(self, offset: int) -> int:
        """When the coordinator first said that the group is done with a record; 0 if it never did."""
        return min((one.at_ns for one in self.told if one.passed > offset), default=0)


NO_SHARE_GROUPS: Final = ShareGroupState()


def share_group_state(run: RunRecord, run_state: RunState, topic: str, partition: int) -> ShareGroupState:
    """What run.json and the timeline say of the share groups of a partition."""
    told = [one for one in of(run_state.events, ShareProgress) if (one.topic, one.partition) == (topic, partition)]
    return ShareGroupState(
        limit=int(run.settings.get(LIMIT, DEFAULT_LIMIT)),
        lock_ns=min(int(run.settings.get(name, default_ms)) for name, default_ms in LOCKS_MS.items()) * 1_000_000,
        forgotten=tuple(_forgotten(run_state, (topic, partition))),
        told=told,
        ended=_ended(run, run_state),
    )


def _ended(run: RunRecord, run_state: RunState) -> dict[str, int]:
    members = {one.name for one in run.processes if ACKNOWLEDGES in one.settings}
    killed = {name: fact.inject_ns for fact, _ in run_state.proved(KillClientProof) for name in fact.nodes}
    closed = {one.process: one.at_ns - CLOSED_NS for one in of(run_state.events, ClientEnded)}
    return {name: at_ns for name, at_ns in (closed | killed).items() if name in members}


def _forgotten(run_state: RunState, where: TopicPartition) -> Iterator[Span]:
    struck = (one for one in run_state.faults if one.proof_type.strikes and one.proof_type is not KillClientProof)
    yield from ((one.inject_ns, one.until_ns) for one in struck)
    yield from ((one.at_ns, one.at_ns) for one in of(run_state.events, Container) if one.action == "die")
    for place, states in run_state.states.items():
        if place == where or place[0] == STATE_TOPIC:
            led = (
                after.at_ns
                for before, after in pairwise(states)
                if (before.leader, before.leader_epoch) != (after.leader, after.leader_epoch)
            )
            yield from widened(((at_ns, at_ns) for at_ns in led), STATED_NS, 0)


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


def one_too_many(steps: Sequence[ShareStep], group: ShareGroupState, sent_ns: int = 0) -> Iterator[ShareStep]:
    """Of the deliveries of one record, which was sent at this time (0: nobody knows), those that should not have been:
    after it was accepted or rejected, beyond the limit, or to a member while another one held it.
    """
    given, ended = deliveries(steps), [one for one in taken(steps, *FINAL) if one.count]
    last = min((one.count for one in ended), default=group.limit)
    forgotten = [span for span in group.forgotten if span[1] >= sent_ns]
    most = group.limit + len(forgotten)
    for number, one in enumerate(given, 1):
        too_high = one.count > last or one.count > group.limit
        again = after_end(one, ended, forgotten) or _given_twice(one, given, forgotten)
        if too_high or number > most or again or _held(one, steps, ended, forgotten):
            yield one


def _given_twice(one: ShareStep, given: Iterable[ShareStep], forgotten: Sequence[Span]) -> bool:
    """Whether another member had been given the record with the same number, and no broker had forgotten that."""
    others = (step for step in given if step.process != one.process and step.count == one.count > 0)
    return not _begun(forgotten, one.completed_ns) and any(step.completed_ns < one.completed_ns for step in others)


def after_end(one: ShareStep, ended: Iterable[ShareStep], forgotten: Iterable[Span]) -> bool:
    """Whether a delivery came after a broker had taken the record for accepted or rejected, with the same number.

    Of two deliveries with one number the other one may have been made before, and lie in its client since, if a broker
    had forgotten a delivery by then.
    """
    spans = list(forgotten)
    return any(
        one.count == end.count and one.completed_ns > end.completed_ns and not _begun(spans, end.completed_ns)
        for end in ended
    )


def _held(one: ShareStep, steps: Sequence[ShareStep], ended: Iterable[ShareStep], forgotten: Sequence[Span]) -> bool:
    """Whether a delivery was made while another member, which was given the record before with the same number, held
    it: a broker took later what that one said.
    """
    others = {
        step.process
        for step in deliveries(steps)
        if step.process != one.process and step.count == one.count > 0 and step.completed_ns < one.completed_ns
    }
    own_end_ns = [end.completed_ns for end in ended if end.process == one.process]
    return not _begun(forgotten, one.completed_ns) and any(
        said.process in others and said.count == one.count and said.invoked_ns > one.completed_ns
        for said in taken(steps, ACCEPT, REJECT, RELEASE)
        # What is said of a record that the group has passed is taken, and does nothing.
        if not any(end_ns < said.invoked_ns for end_ns in own_end_ns)
    )


def _begun(spans: Iterable[Span], at_ns: int) -> bool:
    return any(begin_ns < at_ns for begin_ns, _ in spans)
